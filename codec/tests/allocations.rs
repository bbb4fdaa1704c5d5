//! Reading allocates nothing, and writing into a buffer that is large enough neither.
//!
//! A test file of its own, because it counts through the allocator of the whole process, per thread.
#![allow(clippy::unwrap_used)] // helpers of tests

use std::hint::black_box;

use codec::rpc;
use codec::zap::frame::{Frame, split};
use codec::zap::pairs::Each;
use codec::zap::peek::peek;
use codec::zap::request::{self, Request, RequestHead};
use codec::zap::response::{self, Response, ResponseHead};
use codec::zap::template::Template;
use codec::zap::{record, stream};

mod vectors;
use vectors::{names, vector};

#[global_allocator]
static COUNTING: counting::Counting = counting::Counting;

/// Allocations of this thread while `f` ran.
fn allocations(f: impl FnOnce()) -> u64 {
    let before = counting::of_this_thread();
    f();
    counting::of_this_thread() - before
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(black_box(Box::new(1)))), 1);
    assert_eq!(
        allocations(|| {
            let mut grown: Vec<u8> = Vec::with_capacity(1);
            grown.reserve(64);
            black_box(&grown);
        }),
        2
    );
}

#[test]
fn reading_allocates_nothing() {
    for name in names() {
        let frame = vector(&name);
        let mut prefixed = (frame.len() as u32).to_be_bytes().to_vec();
        prefixed.extend_from_slice(&frame);
        let counted = allocations(|| {
            let _ = black_box(split(&prefixed, 1 << 20));
            let _ = black_box(Frame::parse(&frame));
            let _ = black_box(peek(&frame, frame.len()));
            let _ = black_box(stream::decode_data(&frame));
            let _ = black_box(stream::decode_end(&frame));
            let _ = black_box(record::Response::decode(&frame));
            if let Ok(read) = record::Request::decode(&frame) {
                black_box(rpc::answer(&read));
            }
            if let Ok(read) = Request::decode(&frame) {
                black_box((read.host(), read.headers.iter().count()));
            }
            if let Ok(read) = Response::decode(&frame) {
                black_box((read.headers.get(b"x"), read.trailer.iter().count()));
            }
        });
        assert_eq!(counted, 0, "{name}");
    }
}

const HEADERS: [(&str, &str); 3] = [("Host", "a"), ("Content-Length", "1"), ("X", "y")];

fn template() -> Template {
    Template::response(&ResponseHead::new(200, HEADERS)).unwrap()
}

fn write_each(out: &mut Vec<u8>, template: &Template) {
    template.encode(out, b"body").unwrap();
    template.encode_with_body_len(out, 1 << 20).unwrap();
    let head = RequestHead { method: b"POST", target: b"/echo", proto: b"", headers: HEADERS };
    request::encode(out, &head, b"body", HEADERS).unwrap();
    request::encode_with_body_len(out, &head, 1 << 20).unwrap();
    let head = ResponseHead::new(413, Each(HEADERS.iter().copied()));
    response::encode(out, &head, b"body", ()).unwrap();
    response::encode_head(out, &head).unwrap();
    response::encode_with_body_len(out, &head, 1 << 20).unwrap();
    stream::encode_data(out, b"chunk").unwrap();
    stream::data_prefix(out, 1 << 20).unwrap();
    stream::encode_end(out, HEADERS).unwrap();
    rpc::SAMPLE_REQUEST.encode(out).unwrap();
    rpc::answer(&rpc::SAMPLE_REQUEST).encode(out).unwrap();
}

#[test]
fn writing_into_a_warm_buffer_allocates_nothing() {
    let template = template();
    let mut out = Vec::new();
    write_each(&mut out, &template);
    out.clear();
    assert_eq!(allocations(|| write_each(&mut out, &template)), 0);
}

#[test]
fn a_cold_buffer_grows_once_per_message() {
    let body = vec![b'x'; 100_000];
    let mut out = Vec::new();
    let counted = allocations(|| {
        let head = ResponseHead::new(200, HEADERS);
        response::encode(&mut out, &head, &body, HEADERS).unwrap();
    });
    assert_eq!(counted, 1);

    let template = template();
    let mut out = Vec::new();
    assert_eq!(allocations(|| template.encode(&mut out, &body).unwrap()), 1);
}
