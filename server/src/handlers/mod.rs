//! What each route answers, the same on both wires but for the shape of an rpc.

mod letters;
mod rpc;
mod text;

use bytes::Bytes;
use codec::json::Reader;

pub(crate) use text::{health, plaintext};

use crate::{
    answer::{Answer, Body, JSON},
    request::Request,
    route::Route,
    stats::Published,
    wire::Wire,
};

/// Answers a request; texts made on the way are written to `scratch`, which is empty.
pub(crate) fn answer<'a>(
    request: &Request<'_>,
    pattern: &Bytes,
    published: &Published,
    json: &mut Reader,
    scratch: &'a mut Vec<u8>,
) -> Answer<'a> {
    match request.route {
        Route::Health => health(),
        Route::Plaintext => plaintext(),
        Route::Json => text::json(scratch),
        Route::Bytes => letters::counted(request.path, pattern, scratch),
        Route::Stream => letters::stream(request.path, scratch),
        Route::Stats => {
            published.write_json(scratch);
            Answer::new(200, JSON, Body::Slice(scratch))
        }
        Route::Echo => Answer { content_type: None, ..Answer::new(200, &[], Body::Echo) },
        Route::Rpc => match request.wire {
            Wire::Zap => rpc::record(request.body, scratch),
            Wire::Http => rpc::json(request.body, json, scratch),
            Wire::Floor => unreachable!("the floor wire has no routes"),
        },
        Route::NotFound => Answer::text(404, b"not found"),
        Route::NotAllowed(allow) => Answer { allow: Some(allow), ..Answer::text(405, b"method not allowed") },
    }
}
