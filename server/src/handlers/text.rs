//! The constant answers: `/health`, and TechEmpower's `/plaintext` and `/json`.

use serde::Serialize;

use crate::answer::{Answer, Body, JSON, TEXT};

pub(crate) fn health() -> Answer<'static> {
    Answer::text(200, b"ok")
}

pub(crate) fn plaintext() -> Answer<'static> {
    Answer::new(200, TEXT, Body::Slice(b"Hello, World!")).dated()
}

#[derive(Serialize)]
struct Message {
    message: &'static str,
}

/// Serialised anew for each request: that is what the scenario measures.
pub(super) fn json(scratch: &mut Vec<u8>) -> Answer<'_> {
    serde_json::to_writer(&mut *scratch, &Message { message: "Hello, World!" })
        .expect("a text field serialises into memory");
    Answer::new(200, JSON, Body::Slice(scratch)).dated()
}
