//! An answer before any wire has written it.

use bytes::Bytes;

/// `Content-Type` values.
pub(crate) const TEXT: &[u8] = b"text/plain";
pub(crate) const JSON: &[u8] = b"application/json";
pub(crate) const ZAP: &[u8] = b"application/zap";
pub(crate) const OCTETS: &[u8] = b"application/octet-stream";

/// The `Server` field of answers that carry one.
pub(crate) const SERVER: &[u8] = b"zapring";

/// What a handler says. Texts made for it borrow from the shard's scratch.
#[derive(Clone, Debug)]
pub(crate) struct Answer<'a> {
    pub(crate) status: u16,
    /// `None` where the request's own is given back, or there is no body.
    pub(crate) content_type: Option<&'static [u8]>,
    /// Carries `Server` and `Date`, as TechEmpower's shapes do.
    pub(crate) dated: bool,
    /// The `Allow` field of a 405.
    pub(crate) allow: Option<&'static str>,
    pub(crate) body: Body<'a>,
}

/// Where an answer's body comes from.
#[derive(Clone, Debug)]
pub(crate) enum Body<'a> {
    /// These bytes, copied.
    Slice(&'a [u8]),
    /// The request's body, with its `Content-Type` and `X-*` fields.
    Echo,
    /// A slice that is sent without copying.
    Shared(Bytes),
    /// So many bytes of the pattern, counted, made while they are sent.
    Counted { body_bytes: usize },
    /// Chunks of the pattern as a stream, made while they are sent.
    Chunks { chunks: usize, chunk_bytes: usize },
}

impl<'a> Answer<'a> {
    pub(crate) fn new(status: u16, content_type: &'static [u8], body: Body<'a>) -> Self {
        Answer { status, content_type: Some(content_type), dated: false, allow: None, body }
    }

    /// A line of text for a person, as errors are answered.
    pub(crate) fn text(status: u16, text: &'a [u8]) -> Self {
        Answer::new(status, TEXT, Body::Slice(text))
    }

    pub(crate) fn dated(self) -> Self {
        Answer { dated: true, ..self }
    }
}
