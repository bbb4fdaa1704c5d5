//! Nanoseconds and bytes per second of reading and writing each kind of ZAP message.
//!
//! Run with `cargo bench -p codec --bench zap`; `cargo test` runs each once and checks what it reads. Allocations are printed once per
//! operation.
#![allow(missing_docs)] // criterion's macros define public functions without any

use std::hint::black_box;

use codec::Step;
use codec::rpc;
use codec::scenario::Scenario;
use codec::zap::frame::{MAX_FRAME_BYTES, split};
use codec::zap::pairs::{PairSource, Pairs};
use codec::zap::peek::peek;
use codec::zap::record;
use codec::zap::request::{self, Request, RequestHead};
use codec::zap::response::{self, Response, ResponseHead};
use codec::zap::stream;
use codec::zap::template::Template;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

#[global_allocator]
static COUNTING: counting::Counting = counting::Counting;

type Header = (&'static str, &'static str);

const ECHO_HEADERS: [Header; 4] = [
    ("Host", "localhost"),
    ("Content-Type", "application/octet-stream"),
    ("X-Bench-02", "value-02"),
    ("X-Bench-03", "value-03"),
];
const PLAIN: [Header; 1] = [("Content-Type", "text/plain")];

fn get_health() -> RequestHead<'static, &'static [Header]> {
    RequestHead { method: b"GET", target: b"/health", proto: b"HTTP/1.1", headers: &ECHO_HEADERS[..1] }
}

fn post_echo() -> RequestHead<'static, &'static [Header]> {
    RequestHead { method: b"POST", target: b"/echo", headers: &ECHO_HEADERS, ..get_health() }
}

/// Allocations of a thousand operations, which must be none.
fn count(name: &str, mut once: impl FnMut()) {
    let before = counting::of_this_thread();
    (0..1000).for_each(|_| once());
    let allocations = counting::of_this_thread() - before;
    println!("{name}: {allocations} allocations in 1000 operations");
    assert_eq!(allocations, 0, "{name}");
}

/// Times `write` into a warm buffer and `read` of what it wrote, prefix included. A read gives a number that every
/// field goes into, so that none is skipped and none has to be stored for the bench's sake; it must be `want`.
fn pair(c: &mut Criterion, name: &str, write: impl Fn(&mut Vec<u8>), read: impl Fn(&[u8]) -> u64, want: u64) {
    let mut out = Vec::new();
    write(&mut out);
    let sent = out.clone();
    assert_eq!(read(&sent), want, "{name} reads what was not written");
    count(&format!("{name}/decode"), || {
        black_box(read(black_box(&sent)));
    });
    count(&format!("{name}/encode"), || {
        out.clear();
        write(&mut out);
        black_box(&out);
    });
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Bytes(sent.len() as u64));
    group.bench_function("decode", |b| b.iter(|| read(black_box(&sent))));
    group.bench_function("encode", |b| {
        b.iter(|| {
            out.clear();
            write(&mut out);
            black_box(&out);
        });
    });
    group.finish();
}

/// A number that a field's length and first byte go into.
fn fold(field: &[u8]) -> u64 {
    field.len() as u64 ^ u64::from(field.first().copied().unwrap_or(0))
}

/// What [`fold_request`] gives for a request of this head and body without a trailer.
fn request_sum(head: &RequestHead<'_, &[Header]>, body: &[u8]) -> u64 {
    fold(head.method) ^ fold(head.target) ^ fold(head.proto) ^ head.headers.len() as u64 ^ fold(body)
}

/// What [`fold_response`] gives for a `200 OK` with so many headers.
fn response_sum(headers: u64, body: &[u8]) -> u64 {
    200 ^ fold(b"OK") ^ fold(b"HTTP/1.1") ^ headers ^ fold(body)
}

fn fold_request(read: &Request<'_>) -> u64 {
    fold(read.method())
        ^ fold(read.target())
        ^ fold(read.proto)
        ^ read.headers.len() as u64
        ^ fold(read.body)
        ^ read.trailer.len() as u64
}

fn fold_response(read: &Response<'_>) -> u64 {
    u64::from(read.status)
        ^ fold(read.reason)
        ^ fold(read.proto)
        ^ read.headers.len() as u64
        ^ fold(read.body)
        ^ read.trailer.len() as u64
}

fn fold_record(sent: &[u8]) -> u64 {
    let read = record::Response::decode(sent).expect("the bench wrote it");
    read.id ^ read.balance ^ read.nonce ^ fold(read.block_hash)
}

/// The frame of a stream that holds one.
fn only_frame(sent: &[u8]) -> &[u8] {
    match split(sent, MAX_FRAME_BYTES) {
        Ok(step) => step.complete().expect("the bench wrote it whole").0,
        Err(error) => panic!("{error}"),
    }
}

fn requests(c: &mut Criterion) {
    let read = |sent: &[u8]| fold_request(&Request::decode(only_frame(sent)).expect("the bench wrote it"));
    let write = |head: RequestHead<'static, &'static [Header]>, body: &'static [u8]| {
        move |out: &mut Vec<u8>| {
            request::encode(out, black_box(&head), black_box(body), ()).expect("is small");
        }
    };
    let cases: [(&str, _, &'static [u8]); 3] = [
        ("request/get_health", get_health(), b""),
        ("request/echo_4_headers_256", post_echo(), &[b'x'; 256]),
        ("request/echo_4_headers_4096", post_echo(), &[b'x'; 4096]),
    ];
    for (name, head, body) in cases {
        pair(c, name, write(head, body), read, request_sum(&head, body));
    }
}

/// The request of every scenario, as the loader writes it.
fn scenarios(c: &mut Criterion) {
    for scenario in Scenario::ALL {
        let headers: Vec<Header> = std::iter::once(("Host", "localhost")).chain(scenario.headers(true)).collect();
        let body = scenario.body(true);
        let head = || RequestHead {
            method: scenario.method().as_bytes(),
            target: scenario.path().as_bytes(),
            headers: &headers[..],
            ..get_health()
        };
        pair(
            c,
            &format!("scenario/{scenario}"),
            |out| request::encode(out, black_box(&head()), black_box(&body), ()).expect("is small"),
            |sent| fold_request(&Request::decode(only_frame(sent)).expect("the bench wrote it")),
            request_sum(&head(), &body),
        );
    }
}

/// Header blocks on their own.
fn blocks(c: &mut Criterion) {
    for count in [1, 4, 8, 12] {
        let headers: Vec<Header> = ECHO_HEADERS.into_iter().cycle().take(count).collect();
        let want = headers.iter().fold(0, |sum, (name, value)| sum ^ fold(name.as_bytes()) ^ fold(value.as_bytes()));
        pair(
            c,
            &format!("header_block/{count}"),
            |out| {
                let headers = black_box(&headers[..]);
                headers.append_block(out, headers.block_size());
            },
            |sent| {
                let pairs = Pairs::parse(sent).expect("the bench wrote it");
                pairs.iter().fold(0, |sum, (name, value)| sum ^ fold(name) ^ fold(value))
            },
            want,
        );
    }
}

fn responses(c: &mut Criterion) {
    let read = |sent: &[u8]| fold_response(&Response::decode(only_frame(sent)).expect("the bench wrote it"));
    let write = |body: &'static [u8]| {
        move |out: &mut Vec<u8>| {
            let head = ResponseHead::new(200, PLAIN);
            response::encode(out, black_box(&head), black_box(body), ()).expect("is small");
        }
    };
    pair(c, "response/ok", write(b"ok"), read, response_sum(1, b"ok"));
    let template = Template::response(&ResponseHead::new(200, PLAIN)).expect("is small");
    pair(
        c,
        "response/ok_by_template",
        |out| black_box(&template).encode(out, black_box(b"ok")).expect("is small"),
        read,
        response_sum(1, b"ok"),
    );
    pair(c, "response/4096", write(&[b'x'; 4096]), read, response_sum(1, &[b'x'; 4096]));
    pair(
        c,
        "response/1_mib_prefix",
        |out| {
            let head = ResponseHead::new(200, PLAIN);
            response::encode_with_body_len(out, black_box(&head), 1 << 20).expect("is small");
        },
        |sent| {
            let frame_bytes = sent.len() - 4 + (1 << 20);
            match peek(&sent[4..], frame_bytes).expect("the bench wrote it") {
                Step::Complete { value, .. } => u64::from(value.status) ^ value.body_bytes as u64,
                Step::NeedMore { at_least } => at_least as u64,
            }
        },
        200 ^ 1 << 20,
    );
}

fn streams(c: &mut Criterion) {
    pair(
        c,
        "stream/head",
        |out| {
            let head = ResponseHead::new(200, PLAIN);
            response::encode_head(out, black_box(&head)).expect("is small");
        },
        |sent| fold_response(&Response::decode(only_frame(sent)).expect("the bench wrote it")),
        response_sum(1, b""),
    );
    pair(
        c,
        "stream/data_256",
        |out| stream::encode_data(out, black_box(&[b'x'; 256])).expect("is small"),
        |sent| fold(stream::decode_data(only_frame(sent)).expect("the bench wrote it")),
        fold(&[b'x'; 256]),
    );
    pair(
        c,
        "stream/end",
        |out| stream::encode_end(out, ()).expect("is small"),
        |sent| {
            let trailer = stream::decode_end(only_frame(sent)).expect("the bench wrote it");
            trailer.len() as u64
        },
        0,
    );
}

fn records(c: &mut Criterion) {
    let answer = rpc::answer(&rpc::SAMPLE_REQUEST);
    pair(
        c,
        "record/request",
        |out| black_box(&rpc::SAMPLE_REQUEST).encode(out).expect("is small"),
        |sent| rpc::answer(&record::Request::decode(sent).expect("the bench wrote it")).balance,
        answer.balance,
    );
    let answer_sum = answer.id ^ answer.balance ^ answer.nonce ^ fold(answer.block_hash);
    pair(c, "record/response", |out| black_box(&answer).encode(out).expect("is small"), fold_record, answer_sum);
    // As server and loader have it: the texts are constants, the numbers are not.
    let split_at = rpc::SAMPLE_REQUEST.encoded_bytes();
    pair(
        c,
        "record/rpc_pair",
        |out| {
            let call = record::Request { id: black_box(1), block: black_box(0x10d4f), ..rpc::SAMPLE_REQUEST };
            call.encode(out).expect("is small");
            rpc::answer(&call).encode(out).expect("is small");
        },
        |sent| {
            let (call, answer) = sent.split_at(split_at);
            let call = record::Request::decode(call).expect("the bench wrote it");
            rpc::answer(&call).balance ^ fold_record(answer)
        },
        answer.balance ^ answer_sum,
    );
}

criterion_group!(benches, requests, scenarios, blocks, responses, streams, records);
criterion_main!(benches);
