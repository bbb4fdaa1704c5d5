//! Requests that are given as bytes: checked with the codec to be exactly one request of the wire, so that what follows it on a
//! connection is understood as meant by the server, and its answer by us. Pure; nothing is changed or added.

use codec::{
    Step,
    http::{BodyError, BodyReader, HeadScan, Limits, Method, RequestError, request},
    limits::{MAX_FRAME_BYTES, PREFIX_BYTES},
    zap::{
        frame::{self, FrameError, LengthError},
        request::Request,
    },
};
use thiserror::Error;

use crate::target::WireName;

/// What has to be known of a request besides its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawRequest {
    /// The method.
    pub method: String,
    /// The request target.
    pub target: String,
    /// Its answer has no body whatever its head says: HEAD on HTTP.
    pub is_head: bool,
    /// It is the last one on its connection: on HTTP, `Connection: close`, or version 1.0 without `keep-alive`.
    pub closes: bool,
}

/// Why bytes are not one request.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RawError {
    /// Nothing at all.
    #[error("it is empty")]
    Empty,
    /// An HTTP head that breaks a rule.
    #[error("at byte {at}: {source}{}", if *.bare_lf { " (lines end in CR LF, as `printf 'GET / HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n'` writes them)" } else { "" })]
    Head {
        /// Where the rule is broken, from 0.
        at: usize,
        /// Which rule.
        source: RequestError,
        /// A line feed stands there without its carriage return.
        bare_lf: bool,
    },
    /// An HTTP head without an end.
    #[error("its head does not end: no empty line follows in its {bytes} bytes")]
    HeadUnfinished {
        /// Bytes of the file.
        bytes: usize,
    },
    /// A chunked body that breaks a rule.
    #[error("at byte {at}: {source}")]
    Body {
        /// Where the piece with the fault begins.
        at: usize,
        /// Which rule.
        source: BodyError,
    },
    /// A body that is shorter than announced.
    #[error("its body has {found} bytes from byte {at} on, and its head announces {}", match .announced { Some(bytes) => format!("{bytes}"), None => "chunks up to one of size 0".into() })]
    BodyUnfinished {
        /// Where the body begins.
        at: usize,
        /// Bytes there.
        found: usize,
        /// Bytes that a Content-Length announces; `None` for chunks.
        announced: Option<u64>,
    },
    /// Bytes behind the request.
    #[error(
        "the request ends at byte {at} and {rest} bytes follow: a file holds exactly one request; a body needs a Content-Length, and editors add a line end"
    )]
    MoreBytes {
        /// Where it ends.
        at: usize,
        /// Bytes behind it.
        rest: usize,
    },
    /// A method after whose answer the connection is no HTTP any more.
    #[error("CONNECT makes a tunnel of its connection: nothing can be measured on it")]
    Connect,
    /// A ZAP frame without its length.
    #[error("it begins with a frame and not with the frame's length: put the four bytes {:02x?} before it", .frame_bytes.to_be_bytes())]
    NoPrefix {
        /// Bytes of the frame.
        frame_bytes: u32,
    },
    /// Fewer bytes than a ZAP length prefix has.
    #[error("its {bytes} bytes are less than the length of a frame has")]
    NoLength {
        /// Bytes of the file.
        bytes: usize,
    },
    /// A ZAP length prefix that is none.
    #[error("at byte 0: {0}")]
    Length(LengthError),
    /// A ZAP frame that ends early.
    #[error("its length prefix announces a frame of {announced} bytes, and {found} follow it")]
    FrameUnfinished {
        /// Bytes announced.
        announced: usize,
        /// Bytes there.
        found: usize,
    },
    /// A ZAP frame that is not one of a request.
    #[error("{}{source}", match .at { Some(at) => format!("at byte {at}: "), None => String::new() })]
    Frame {
        /// Where the faulty field of its header is.
        at: Option<usize>,
        /// What is wrong.
        source: FrameError,
    },
    /// The floor wire.
    #[error("a floor URL says all there is to say of its requests: leave the file out")]
    Floor,
}

/// Checks that `bytes` are one whole request as it travels on the wire: on HTTP head and body, on ZAP the frame with the length before it.
///
/// # Errors
/// [`RawError`], saying where and what.
pub fn check(wire: WireName, bytes: &[u8]) -> Result<RawRequest, RawError> {
    match wire {
        WireName::Floor(_) => Err(RawError::Floor),
        _ if bytes.is_empty() => Err(RawError::Empty),
        WireName::Http => check_http(bytes),
        WireName::Zap => check_zap(bytes),
    }
}

fn parse_head(bytes: &[u8]) -> Result<Step<request::RequestHead<'_>>, RequestError> {
    request::parse(bytes, &mut HeadScan::new(), &Limits::DEFAULT)
}

fn check_http(bytes: &[u8]) -> Result<RawRequest, RawError> {
    let (head, body_at) = match parse_head(bytes) {
        Ok(Step::Complete { value, consumed }) => (value, consumed),
        Ok(Step::NeedMore { .. }) => return Err(RawError::HeadUnfinished { bytes: bytes.len() }),
        Err(source) => {
            let at = fault_at(bytes);
            return Err(RawError::Head { at, source, bare_lf: is_bare_lf(bytes, at) });
        }
    };
    if head.method == Method::Connect {
        return Err(RawError::Connect);
    }
    let end = body_end(bytes, body_at, head.body)?;
    if end < bytes.len() {
        return Err(RawError::MoreBytes { at: end, rest: bytes.len() - end });
    }
    Ok(RawRequest {
        method: String::from_utf8_lossy(head.method.as_bytes()).into_owned(),
        target: String::from_utf8_lossy(head.target).into_owned(),
        is_head: head.method == Method::Head,
        closes: !head.keep_alive,
    })
}

/// The byte with which a faulty head becomes one: a prefix of it up to there is not refused yet. What is refused stays so with more
/// bytes, hence the search by halves.
fn fault_at(bytes: &[u8]) -> usize {
    let (mut fine, mut faulty) = (0, bytes.len());
    while fine + 1 < faulty {
        let middle = fine.midpoint(faulty);
        if parse_head(&bytes[..middle]).is_err() {
            faulty = middle;
        } else {
            fine = middle;
        }
    }
    faulty.saturating_sub(1)
}

fn is_bare_lf(bytes: &[u8], at: usize) -> bool {
    bytes.get(at) == Some(&b'\n') && (at == 0 || bytes[at - 1] != b'\r')
}

/// Where the body ends that begins at `body_at`.
fn body_end(bytes: &[u8], body_at: usize, length: codec::http::BodyLength) -> Result<usize, RawError> {
    let announced = if let codec::http::BodyLength::Length(bytes) = length { Some(bytes) } else { None };
    let mut reader = BodyReader::new(length);
    let mut at = body_at;
    while !reader.is_done() {
        let piece = reader.read(&bytes[at..]).map_err(|source| RawError::Body { at, source })?;
        at += piece.consumed;
        if at == bytes.len() && !piece.done {
            return Err(RawError::BodyUnfinished { at: body_at, found: bytes.len() - body_at, announced });
        }
    }
    Ok(at)
}

fn check_zap(bytes: &[u8]) -> Result<RawRequest, RawError> {
    if bytes.starts_with(&frame::MAGIC) {
        return Err(RawError::NoPrefix { frame_bytes: u32::try_from(bytes.len()).unwrap_or(u32::MAX) });
    }
    match frame::split(bytes, MAX_FRAME_BYTES).map_err(RawError::Length)? {
        Step::NeedMore { .. } if bytes.len() < PREFIX_BYTES => Err(RawError::NoLength { bytes: bytes.len() }),
        Step::NeedMore { at_least } => {
            Err(RawError::FrameUnfinished { announced: at_least - PREFIX_BYTES, found: bytes.len() - PREFIX_BYTES })
        }
        Step::Complete { value: frame, consumed } => {
            let request = Request::decode(frame).map_err(|source| RawError::Frame { at: field_at(source), source })?;
            if consumed < bytes.len() {
                return Err(RawError::MoreBytes { at: consumed, rest: bytes.len() - consumed });
            }
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let (method, target) = (text(request.method()), text(request.target()));
            Ok(RawRequest { method, target, is_head: false, closes: false })
        }
    }
}

/// Where the field of a frame's header lies that a fault is about (ZAP wire section 2), prefix included.
fn field_at(fault: FrameError) -> Option<usize> {
    let in_header = match fault {
        FrameError::Magic => 0,
        FrameError::Version => 4,
        FrameError::Kind { .. } => 7,
        FrameError::Root => 8,
        FrameError::TooSmall => 12,
        FrameError::Headers(_) | FrameError::Trailer(_) => return None,
    };
    Some(PREFIX_BYTES + in_header)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http(text: &str) -> Result<RawRequest, String> {
        check(WireName::Http, text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn one_http_request_and_what_its_answer_depends_on() {
        for (text, method, target, is_head, closes) in [
            ("GET /x?y HTTP/1.1\r\nHost: a\r\n\r\n", "GET", "/x?y", false, false),
            ("HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "HEAD", "/", true, true),
            ("GET / HTTP/1.0\r\n\r\n", "GET", "/", false, true),
            ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "GET", "/", false, false),
            ("OPTIONS * HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", "OPTIONS", "*", false, false),
            (
                "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
                "POST",
                "/",
                false,
                false,
            ),
        ] {
            let want = RawRequest { method: method.into(), target: target.into(), is_head, closes };
            assert_eq!(http(text), Ok(want), "{text}");
        }
    }

    #[test]
    fn what_is_no_http_request_says_where_and_why() {
        for (text, want) in [
            ("", "it is empty"),
            ("GET / HTTP/1.1\nHost: a\n\n", "at byte 14: "),
            ("GET / HTTP/1.1\nHost: a\n\n", "lines end in CR LF"),
            ("GET / HTTP/1.1\r\nHost: a\n\n", "at byte 23: "),
            ("GET / HTTP/1.1\r\nHo st: a\r\n\r\n", "at byte 18: "),
            ("GET / HTTP/1.1\r\nA: b\r\n\r\n", "at byte 23: the request has no Host header"),
            ("GET / HTTP/2.0\r\n\r\n", "not supported"),
            ("GET / HTTP/1.1\r\nHost: a\r\n", "its head does not end: no empty line follows in its 25 bytes"),
            (
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc",
                "3 bytes from byte 47 on, and its head announces 5",
            ),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc\n", "ends at byte 50 and 1 bytes follow"),
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\nabc", "a body needs a Content-Length"),
            (
                "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
                "chunks up to one of size 0",
            ),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz", "at byte 56: a chunk size"),
            ("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", "tunnel"),
        ] {
            let error = http(text).expect_err(text);
            assert!(error.contains(want), "{text:?}: {error}");
        }
    }

    #[test]
    fn one_zap_request_with_its_length() {
        let mut bytes = Vec::new();
        let head = codec::zap::request::RequestHead { method: b"POST", target: b"/x", proto: b"", headers: () };
        codec::zap::request::encode(&mut bytes, &head, b"body", ()).expect("encodes");
        let zap = |bytes: &[u8]| check(WireName::Zap, bytes).map_err(|error| error.to_string());
        let want = RawRequest { method: "POST".into(), target: "/x".into(), is_head: false, closes: false };
        assert_eq!(zap(&bytes), Ok(want));
        let changed = |at: usize, byte: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = byte;
            bytes
        };
        let frame_bytes = bytes.len() - 4;
        for (bytes, want) in [
            (Vec::new(), "it is empty".to_owned()),
            (bytes[4..].to_vec(), format!("put the four bytes {:02x?} before it", (frame_bytes as u32).to_be_bytes())),
            (bytes[..3].to_vec(), "its 3 bytes are less".to_owned()),
            (bytes[..9].to_vec(), format!("a frame of {frame_bytes} bytes, and 5 follow it")),
            ([&bytes[..], b"\n"].concat(), format!("ends at byte {} and 1 bytes follow", bytes.len())),
            (changed(4, b'X'), "at byte 4: zap: invalid magic".to_owned()),
            (changed(8, 9), "at byte 8: zap: unsupported version".to_owned()),
            (changed(11, 2), "at byte 11: http: frame type 0x2, want 0x1".to_owned()),
            (changed(0, 0xff), "at byte 0: http: frame size".to_owned()),
        ] {
            let error = zap(&bytes).expect_err("no request");
            assert!(error.contains(&want), "{want}: {error}");
        }
        assert_eq!(check(WireName::Floor(codec::floor::Sizes::default()), b"x"), Err(RawError::Floor));
    }
}
