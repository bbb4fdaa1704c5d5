//! Cost of HTTP/1.1 heads and bodies, per byte and per message, and our head parser beside one built on httparse.
//!
//! Run with `cargo bench -p codec --bench http`; the numbers decide which parser `request` uses, as its module text
//! says. `cargo test` runs each once and checks that both parsers read the same.

use std::hint::black_box;
use std::mem::MaybeUninit;

use codec::Step;
use codec::http::answer::{self, HeadParts};
use codec::http::{BodyLength, BodyReader, HeadScan, Limits, chunk, request, response};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const WRK: &[u8] = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";

const CURL: &[u8] = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: curl/8.5.0\r\nAccept: */*\r\n\r\n";

const BROWSER: &[u8] = b"GET /docs/api/index.html?section=install&lang=en HTTP/1.1\r\n\
Host: www.example.org\r\n\
User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n\
Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n\
Accept-Language: en-US,en;q=0.5\r\n\
Accept-Encoding: gzip, deflate, br, zstd\r\n\
Connection: keep-alive\r\n\
Cookie: session=0123456789abcdef0123456789abcdef; theme=dark; consent=yes\r\n\
Upgrade-Insecure-Requests: 1\r\n\
Sec-Fetch-Dest: document\r\n\
Sec-Fetch-Mode: navigate\r\n\
Sec-Fetch-Site: none\r\n\
Priority: u=0, i\r\n\r\n";

const SHORT_ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";

const FULL_ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nServer: example\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
Content-Type: text/plain; charset=utf-8\r\nContent-Length: 13\r\nConnection: keep-alive\r\n\r\n";

/// Bytes of a Host value, as `request::parse` checks them.
static HOST: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        table[byte] = b.is_ascii_alphanumeric() || matches!(b, b'!' | b'$'..=b'.' | b':'..=b';' | b'=' | b'[' | b']');
        table[byte] |= matches!(b, b'_' | b'~');
        byte += 1;
    }
    table
};

/// What a server must know of a head, found by httparse and one pass over its table: the same meaning and nearly the
/// same strictness as `request::parse`, without its error names and other versions than 1.0 and 1.1.
fn parse_with_httparse(input: &[u8]) -> Option<(&str, usize, bool, BodyLength)> {
    let mut table = [const { MaybeUninit::<httparse::Header<'_>>::uninit() }; 100];
    let mut head = httparse::Request::new(&mut []);
    let used = match head.parse_with_uninit_headers(input, &mut table) {
        Ok(httparse::Status::Complete(used)) => used,
        _ => return None,
    };
    let (mut close, mut keep, mut hosts) = (false, false, 0);
    let (mut length, mut chunked) = (None, false);
    for header in head.headers.iter() {
        // Every line must start behind CRLF: httparse takes a bare LF.
        let at = header.name.as_ptr() as usize - input.as_ptr() as usize;
        if input[at - 2] != b'\r' {
            return None;
        }
        let (name, value) = (header.name, header.value);
        match name.len() {
            4 if name.eq_ignore_ascii_case("host") => {
                hosts += 1;
                if !value.iter().fold(true, |all, &b| all & HOST[b as usize]) {
                    return None;
                }
            }
            10 if name.eq_ignore_ascii_case("connection") => {
                close |= value.eq_ignore_ascii_case(b"close");
                keep |= value.eq_ignore_ascii_case(b"keep-alive");
            }
            14 if name.eq_ignore_ascii_case("content-length") => {
                length = Some(std::str::from_utf8(value).ok()?.parse().ok()?);
            }
            17 if name.eq_ignore_ascii_case("transfer-encoding") => chunked = true,
            _ => {}
        }
    }
    if hosts != 1 || !input[..used].ends_with(b"\r\n\r\n") {
        return None;
    }
    let body = match (chunked, length) {
        (false, None) => BodyLength::None,
        (false, Some(length)) => BodyLength::Length(length),
        (true, None) => BodyLength::Chunked,
        (true, Some(_)) => return None,
    };
    let target = head.path?;
    let path_len = target.bytes().position(|b| b == b'?');
    let path = &target[..path_len.unwrap_or(target.len())];
    Some((path, used, !close && (head.version? == 1 || keep), body))
}

fn request_heads(criterion: &mut Criterion) {
    for (name, head, path) in
        [("wrk_1", WRK, "/health"), ("curl_3", CURL, "/health"), ("browser_12", BROWSER, "/docs/api/index.html")]
    {
        let (ours, consumed) = request::parse(head, &mut HeadScan::new(), &Limits::DEFAULT)
            .ok()
            .and_then(Step::complete)
            .expect("the head is valid and whole");
        assert_eq!(
            (ours.path(), consumed, ours.keep_alive, ours.body),
            (path.as_bytes(), head.len(), true, BodyLength::None)
        );
        assert_eq!(parse_with_httparse(head), Some((path, head.len(), true, BodyLength::None)));
        let mut group = criterion.benchmark_group(format!("request_head/{name}"));
        group.throughput(Throughput::Bytes(head.len() as u64));
        group.bench_function("ours", |bencher| {
            let mut scan = HeadScan::new();
            bencher.iter(|| match request::parse(black_box(head), &mut scan, &Limits::DEFAULT) {
                Ok(Step::Complete { value, consumed }) => {
                    black_box((value.path(), value.keep_alive, value.body, consumed));
                }
                other => panic!("a valid head gave {other:?}"),
            });
        });
        group.bench_function("httparse", |bencher| {
            bencher.iter(|| parse_with_httparse(black_box(head)).expect("the head is valid"));
        });
        group.finish();
    }
}

fn response_heads(criterion: &mut Criterion) {
    for (name, head, length) in [("short_1", SHORT_ANSWER, 2), ("full_5", FULL_ANSWER, 13)] {
        let (read, consumed) = response::parse(head, &mut HeadScan::new(), false, &Limits::DEFAULT)
            .ok()
            .and_then(Step::complete)
            .expect("the head is valid and whole");
        assert_eq!((read.status, consumed, read.body), (200, head.len(), BodyLength::Length(length)));
        let mut group = criterion.benchmark_group(format!("response_head/{name}"));
        group.throughput(Throughput::Bytes(head.len() as u64));
        group.bench_function("ours", |bencher| {
            let mut scan = HeadScan::new();
            bencher.iter(|| match response::parse(black_box(head), &mut scan, false, &Limits::DEFAULT) {
                Ok(Step::Complete { value, consumed }) => {
                    black_box((value.status, value.keep_alive, value.body, consumed));
                }
                other => panic!("a valid head gave {other:?}"),
            });
        });
        group.finish();
    }
}

fn answers(criterion: &mut Criterion) {
    let parts = HeadParts {
        content_type: Some(b"text/plain"),
        date: Some(b"Sun, 06 Nov 1994 08:49:37 GMT"),
        length: BodyLength::Length(13),
        ..HeadParts::default()
    };
    let mut out = Vec::with_capacity(1024);
    answer::write_head(&mut out, &parts);
    assert!(out.starts_with(b"HTTP/1.1 200 OK\r\n") && out.ends_with(b"\r\n\r\n"));
    let mut group = criterion.benchmark_group("answer_head");
    group.throughput(Throughput::Bytes(out.len() as u64));
    group.bench_function("full", |bencher| {
        bencher.iter(|| {
            out.clear();
            answer::write_head(&mut out, black_box(&parts));
            black_box(out.len())
        });
    });
    group.finish();
}

fn chunked_bodies(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("chunked_decode");
    for chunk_bytes in [16, 1024, 16 * 1024] {
        let mut body = Vec::new();
        for _ in 0..64 * 1024 / chunk_bytes {
            chunk::write_chunk(&mut body, &vec![b'x'; chunk_bytes]);
        }
        chunk::write_last_chunk(&mut body);
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(format!("64KiB_in_{chunk_bytes}"), |bencher| {
            bencher.iter(|| {
                let mut reader = BodyReader::new(BodyLength::Chunked);
                let (mut at, mut content_bytes) = (0, 0);
                while !reader.is_done() {
                    let piece = reader.read(black_box(&body[at..])).expect("the body is valid");
                    at += piece.consumed;
                    content_bytes += piece.data.len();
                }
                assert_eq!(content_bytes, 64 * 1024);
            });
        });
    }
    group.finish();
}

criterion_group!(benches, request_heads, response_heads, answers, chunked_bodies);
criterion_main!(benches);
