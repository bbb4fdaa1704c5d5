//! Properties of the HTTP/1.1 half: what is written reads back, however it is split; what is cut short or changed never
//! panics; whatever we accept, httparse reads the same way.

use codec::Step;
use codec::http::answer::{self, ConnectionHeader, HeadParts};
use codec::http::ask::{self, Ask};
use codec::http::request::RequestError;
use codec::http::response::ResponseError;
use codec::http::{BodyError, BodyLength, BodyReader, HeadScan, Limits, chunk, request, response};
use proptest::collection::vec;
use proptest::prelude::*;

/// One message as a peer understands it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Message {
    /// Method and target, or status.
    start: (Vec<u8>, Vec<u8>),
    keep_alive: bool,
    headers: Vec<(Vec<u8>, Vec<u8>)>,
    content: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Fault {
    Request(RequestError),
    Response(ResponseError),
    Body(BodyError),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Requests,
    Responses,
}

/// A connection that reads a stream of messages, as a server or loader would.
struct Connection {
    side: Side,
    scan: HeadScan,
    at: usize,
    body: Option<BodyReader>,
    messages: Vec<Message>,
}

impl Connection {
    fn new(side: Side) -> Self {
        Self { side, scan: HeadScan::new(), at: 0, body: None, messages: Vec::new() }
    }

    /// Reads what can be read of `stream`, which may have grown.
    fn advance(&mut self, stream: &[u8]) -> Result<(), Fault> {
        loop {
            if let Some(reader) = &mut self.body {
                let piece = reader.read(&stream[self.at..]).map_err(Fault::Body)?;
                let message = self.messages.last_mut().expect("a body follows a head");
                message.content.extend_from_slice(piece.data);
                self.at += piece.consumed;
                if !piece.done {
                    if self.at == stream.len() {
                        return Ok(());
                    }
                    continue;
                }
                self.body = None;
            }
            let Some((message, body, consumed)) = self.head(&stream[self.at..])? else {
                return Ok(());
            };
            self.at += consumed;
            self.messages.push(message);
            self.body = Some(BodyReader::new(body));
        }
    }

    fn head(&mut self, input: &[u8]) -> Result<Option<(Message, BodyLength, usize)>, Fault> {
        let limits = &Limits::DEFAULT;
        let owned = |headers: codec::http::Headers<'_>| headers.iter().map(|(n, v)| (n.to_vec(), v.to_vec())).collect();
        match self.side {
            Side::Requests => match request::parse(input, &mut self.scan, limits).map_err(Fault::Request)? {
                Step::Complete { value, consumed } => {
                    let message = Message {
                        start: (value.method.as_bytes().to_vec(), value.target.to_vec()),
                        keep_alive: value.keep_alive,
                        headers: owned(value.headers),
                        content: Vec::new(),
                    };
                    Ok(Some((message, value.body, consumed)))
                }
                Step::NeedMore { at_least } => {
                    assert!(at_least > input.len());
                    Ok(None)
                }
            },
            Side::Responses => {
                let step = response::parse(input, &mut self.scan, false, limits);
                match step.map_err(Fault::Response)? {
                    Step::Complete { value, consumed } => {
                        let message = Message {
                            start: (value.status.to_string().into_bytes(), Vec::new()),
                            keep_alive: value.keep_alive,
                            headers: owned(value.headers),
                            content: Vec::new(),
                        };
                        Ok(Some((message, value.body, consumed)))
                    }
                    Step::NeedMore { at_least } => {
                        assert!(at_least > input.len());
                        Ok(None)
                    }
                }
            }
        }
    }
}

/// What comes of `stream` when it arrives up to each of `cuts` in turn, then whole.
fn read_in_steps(side: Side, stream: &[u8], cuts: &[usize]) -> Result<Vec<Message>, Fault> {
    let mut connection = Connection::new(side);
    for &cut in cuts {
        connection.advance(&stream[..cut])?;
    }
    connection.advance(stream)?;
    Ok(connection.messages)
}

fn token() -> impl Strategy<Value = Vec<u8>> {
    "[!#$%&'*+.^`|~0-9A-Za-z-]{1,20}".prop_map(String::into_bytes)
}

fn header_value() -> impl Strategy<Value = Vec<u8>> {
    let middle = prop_oneof![Just(b' '), Just(b'\t'), 0x21..=0x7eu8, 0x80..=0xffu8];
    vec(middle, 0..40).prop_map(|value| value.trim_ascii().to_vec())
}

/// Names that change nothing about framing.
fn headers() -> impl Strategy<Value = Vec<(Vec<u8>, Vec<u8>)>> {
    let name = token().prop_map(|name| [b"x-", &name[..]].concat());
    vec((name, header_value()), 0..6)
}

fn target() -> impl Strategy<Value = Vec<u8>> {
    vec(0x21..=0x7eu8, 0..60).prop_map(|rest| [b"/", &rest[..]].concat())
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..200)
}

prop_compose! {
    /// One request and what must be read of it.
    fn one_request()(
        method in token(),
        target in target(),
        mut headers in headers(),
        content in content(),
        chunked in any::<bool>(),
        close in any::<bool>(),
    ) -> (Vec<u8>, Message) {
        let mut want = vec![(b"Host".to_vec(), b"h:80".to_vec())];
        if close {
            headers.push((b"Connection".to_vec(), b"close".to_vec()));
        }
        if chunked {
            headers.push((b"Transfer-Encoding".to_vec(), b"chunked".to_vec()));
        }
        want.extend(headers.clone());
        if !chunked && (!content.is_empty() || matches!(&method[..], b"POST" | b"PUT" | b"PATCH")) {
            want.push((b"Content-Length".to_vec(), content.len().to_string().into_bytes()));
        }
        let pairs: Vec<(&[u8], &[u8])> = headers.iter().map(|(n, v)| (&n[..], &v[..])).collect();
        let mut out = Vec::new();
        let ask = Ask {
            method: &method,
            target: &target,
            host: b"h:80",
            headers: &pairs,
            body: &content,
        };
        ask::write_request(&mut out, &ask).expect("the parts are well formed");
        let message = Message { start: (method, target), keep_alive: !close, headers: want, content };
        (out, message)
    }
}

prop_compose! {
    /// One response with a body and what must be read of it.
    fn one_response()(
        status in 200..=999u16,
        headers in headers(),
        content in content(),
        chunk_bytes in proptest::option::of(1..50usize),
        close in any::<bool>(),
    ) -> (Vec<u8>, Message) {
        let status = if matches!(status, 204 | 304) { 200 } else { status };
        let length = match chunk_bytes {
            Some(_) => BodyLength::Chunked,
            None => BodyLength::Length(content.len() as u64),
        };
        let pairs: Vec<(&[u8], &[u8])> = headers.iter().map(|(n, v)| (&n[..], &v[..])).collect();
        let connection = if close { ConnectionHeader::Close } else { ConnectionHeader::None };
        let parts = HeadParts { status, length, connection, extra: &pairs, ..HeadParts::default() };
        let mut out = Vec::new();
        answer::write_head(&mut out, &parts);
        let mut want = Vec::new();
        match chunk_bytes {
            Some(chunk_bytes) => {
                want.push((b"Transfer-Encoding".to_vec(), b"chunked".to_vec()));
                for data in content.chunks(chunk_bytes) {
                    chunk::write_chunk(&mut out, data);
                }
                chunk::write_last_chunk(&mut out);
            }
            None => {
                let bytes = content.len().to_string().into_bytes();
                want.push((b"Content-Length".to_vec(), bytes));
                out.extend_from_slice(&content);
            }
        }
        if close {
            want.push((b"Connection".to_vec(), b"close".to_vec()));
        }
        want.extend(headers);
        let start = (status.to_string().into_bytes(), Vec::new());
        (out, Message { start, keep_alive: !close, headers: want, content })
    }
}

fn stream(one: impl Strategy<Value = (Vec<u8>, Message)>) -> impl Strategy<Value = (Vec<u8>, Vec<Message>)> {
    vec(one, 1..4).prop_map(|all| {
        let (bytes, messages): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        (bytes.concat(), messages)
    })
}

fn any_stream() -> impl Strategy<Value = (Side, Vec<u8>, Vec<Message>)> {
    prop_oneof![
        stream(one_request()).prop_map(|(bytes, want)| (Side::Requests, bytes, want)),
        stream(one_response()).prop_map(|(bytes, want)| (Side::Responses, bytes, want)),
    ]
}

/// Bytes that look like heads often enough to get past the first line.
fn nearly_a_head() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        8 => prop::sample::select(vec![
            &b"\r\n"[..], b"\r\n\r\n", b"\n", b"\r", b": ", b":", b" ", b"\t", b"\0",
            b"GET / HTTP/1.1\r\n", b"POST /a HTTP/1.0\r\n", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 ",
            b"Host: a\r\n", b"Content-Length: ", b"Transfer-Encoding: chunked\r\n", b"5",
            b"Connection: close\r\n", b"Expect: 100-continue\r\n", b"0\r\n\r\n", b"x",
        ]).prop_map(<[u8]>::to_vec),
        1 => vec(any::<u8>(), 0..4),
    ];
    vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn streams_round_trip_whole_and_byte_by_byte((side, bytes, want) in any_stream()) {
        prop_assert_eq!(read_in_steps(side, &bytes, &[]), Ok(want.clone()));
        let every: Vec<usize> = (0..bytes.len()).collect();
        prop_assert_eq!(read_in_steps(side, &bytes, &every), Ok(want));
    }

    #[test]
    fn streams_round_trip_at_random_cuts(
        (side, bytes, want) in any_stream(),
        cuts in vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        cuts.sort_unstable();
        prop_assert_eq!(read_in_steps(side, &bytes, &cuts), Ok(want));
    }

    #[test]
    fn truncated_streams_give_a_prefix((side, bytes, want) in any_stream(), cut in any::<prop::sample::Index>()) {
        let cut = cut.index(bytes.len());
        let messages = read_in_steps(side, &bytes[..cut], &[]).expect("a cut is no error");
        prop_assert!(messages.len() <= want.len());
        if let Some((last, whole)) = messages.split_last() {
            prop_assert_eq!(whole, &want[..whole.len()]);
            prop_assert!(want[whole.len()].content.starts_with(&last.content));
        }
    }

    #[test]
    fn flipped_bytes_never_panic_and_split_alike(
        (side, mut bytes, _) in any_stream(),
        at in any::<prop::sample::Index>(),
        flip in 1..=255u8,
        cut in any::<prop::sample::Index>(),
    ) {
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        let whole = read_in_steps(side, &bytes, &[]);
        let parts = read_in_steps(side, &bytes, &[cut.index(bytes.len())]);
        // A stream that an error ends may show it later when split, never another one.
        if let (Ok(whole), Ok(parts)) = (&whole, &parts) {
            prop_assert_eq!(whole, parts);
        }
        if let (Err(whole), Err(parts)) = (&whole, &parts) {
            prop_assert_eq!(whole, parts);
        }
        prop_assert!(!(whole.is_ok() && parts.is_err()));
    }

    #[test]
    fn bytes_near_a_head_split_alike_and_are_never_waited_on(bytes in nearly_a_head()) {
        for side in [Side::Requests, Side::Responses] {
            let whole = read_in_steps(side, &bytes, &[]);
            let every: Vec<usize> = (0..bytes.len()).collect();
            let parts = read_in_steps(side, &bytes, &every);
            if parts.is_err() || whole.is_ok() {
                prop_assert_eq!(&whole, &parts);
            }
        }
        let first = bytes.iter().position(|b| !b"\r\n".contains(b)).unwrap_or(bytes.len());
        let ended = |end: &[u8]| bytes[first..].windows(end.len()).any(|window| window == end);
        if ended(b"\n\n") || ended(b"\n\r\n") {
            let step = request::parse(&bytes, &mut HeadScan::new(), &Limits::DEFAULT);
            let waits = matches!(step, Ok(Step::NeedMore { .. }));
            prop_assert!(!waits);
        }
    }

    #[test]
    fn chunked_bodies_survive_every_pair_of_cuts(data in vec(any::<u8>(), 0..40), chunk_bytes in 1..20usize) {
        let mut body = Vec::new();
        for part in data.chunks(chunk_bytes) {
            chunk::write_chunk(&mut body, part);
        }
        chunk::write_last_chunk(&mut body);
        for first in 0..body.len() {
            for second in first..body.len() {
                let mut reader = BodyReader::new(BodyLength::Chunked);
                let (mut at, mut content) = (0, Vec::new());
                for end in [first, second, body.len()] {
                    while at < end {
                        let piece = reader.read(&body[at..end]).expect("the body is valid");
                        at += piece.consumed;
                        content.extend_from_slice(piece.data);
                    }
                }
                prop_assert!(reader.is_done());
                prop_assert_eq!(&content, &data);
            }
        }
    }

    #[test]
    fn what_we_accept_httparse_reads_alike(
        bytes in prop_oneof![nearly_a_head(), one_request().prop_map(|(bytes, _)| bytes)],
    ) {
        let step = request::parse(&bytes, &mut HeadScan::new(), &Limits::DEFAULT);
        let Ok(Step::Complete { value, consumed }) = step else {
            return Ok(());
        };
        let mut table = [httparse::EMPTY_HEADER; 128];
        let mut other = httparse::Request::new(&mut table);
        prop_assert_eq!(other.parse(&bytes), Ok(httparse::Status::Complete(consumed)));
        prop_assert_eq!(other.method.map(str::as_bytes), Some(value.method.as_bytes()));
        prop_assert_eq!(other.path.map(str::as_bytes), Some(value.target));
        let theirs: Vec<_> = other.headers.iter().map(|h| (h.name.as_bytes(), h.value)).collect();
        let ours: Vec<_> = value.headers.iter().collect();
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn response_heads_we_accept_httparse_reads_alike(
        bytes in prop_oneof![nearly_a_head(), one_response().prop_map(|(bytes, _)| bytes)],
    ) {
        let step = response::parse(&bytes, &mut HeadScan::new(), false, &Limits::DEFAULT);
        let Ok(Step::Complete { value, consumed }) = step else {
            return Ok(());
        };
        let mut table = [httparse::EMPTY_HEADER; 128];
        let mut other = httparse::Response::new(&mut table);
        prop_assert_eq!(other.parse(&bytes), Ok(httparse::Status::Complete(consumed)));
        prop_assert_eq!(other.code, Some(value.status));
        let theirs: Vec<_> = other.headers.iter().map(|h| (h.name.as_bytes(), h.value)).collect();
        let ours: Vec<_> = value.headers.iter().collect();
        prop_assert_eq!(ours, theirs);
    }
}
