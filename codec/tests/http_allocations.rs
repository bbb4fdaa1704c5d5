//! Reading and writing on the hot path allocates nothing. Counted by this binary's own allocator, so one test only.

use std::hint::black_box;

use codec::Step;
use codec::http::answer::{self, ConnectionHeader, HeadParts};
use codec::http::{BodyLength, BodyReader, HeadScan, Limits, chunk, request, response};

#[global_allocator]
static COUNTING: counting::Counting = counting::Counting;

/// One server turn and one loader turn over the same buffers.
fn turn(out: &mut Vec<u8>, answer: &mut Vec<u8>) {
    let asked = b"\r\nPOST /echo?x HTTP/1.1\r\nHost: a\r\nConnection: TE, keep-alive\r\n\
        Transfer-Encoding: chunked\r\n\r\n5;e\r\nhello\r\n0\r\nX: y\r\n\r\n";
    let mut scan = HeadScan::new();
    let mut head = None;
    for len in 1..=asked.len() {
        match request::parse(&asked[..len], &mut scan, &Limits::DEFAULT) {
            Ok(Step::Complete { value, consumed }) => {
                head = Some((value, consumed));
                break;
            }
            Ok(Step::NeedMore { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    let (head, mut at) = head.expect("the head is whole");
    black_box((head.path(), head.query(), head.headers.get(b"te")));
    out.clear();
    let mut reader = BodyReader::new(head.body);
    while !reader.is_done() {
        let piece = reader.read(&asked[at..]).expect("the body is valid");
        at += piece.consumed;
        out.extend_from_slice(piece.data);
    }
    answer.clear();
    let parts = HeadParts {
        content_type: Some(b"text/plain"),
        date: Some(b"Sun, 06 Nov 1994 08:49:37 GMT"),
        length: BodyLength::Chunked,
        connection: ConnectionHeader::KeepAlive,
        extra: &[(b"X-A", b"b")],
        ..HeadParts::default()
    };
    answer::write_head(answer, &parts);
    chunk::write_chunk(answer, out);
    chunk::write_last_chunk(answer);
    let step = response::parse(answer, &mut scan, false, &Limits::DEFAULT);
    assert!(matches!(step, Ok(Step::Complete { value, .. }) if value.status == 200));
    let refused = request::parse(b"GET / HTTP/1.1\r\n\r\n", &mut scan, &Limits::DEFAULT);
    assert_eq!(refused.map_err(|error| error.status()), Err(400));
}

#[test]
fn turns_allocate_nothing_once_the_buffers_have_grown() {
    let (mut out, mut answer) = (Vec::with_capacity(1024), Vec::with_capacity(1024));
    turn(&mut out, &mut answer);
    let before = counting::of_this_thread();
    for _ in 0..100 {
        turn(&mut out, &mut answer);
    }
    let after = counting::of_this_thread();
    assert_eq!(after - before, 0);
}
