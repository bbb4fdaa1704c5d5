//! Each well-formed vector reads as the index says, and writing what was read gives the vector byte for byte.
#![allow(clippy::unwrap_used)] // helpers of tests

use codec::rpc;
use codec::zap::frame::{Frame, Kind};
use codec::zap::pairs::Pairs;
use codec::zap::peek::peek;
use codec::zap::request::{self, Request, RequestHead};
use codec::zap::response::{self, Response, ResponseHead};
use codec::zap::{record, stream};
use codec::{Step, zap};

mod vectors;
use vectors::vector;

type Header = (&'static str, &'static str);

const HOST: Header = ("Host", "localhost");
const OCTETS: Header = ("Content-Type", "application/octet-stream");
const PLAIN: Header = ("Content-Type", "text/plain");
const CHECKSUM: Header = ("X-Checksum", "abc123");
const BENCH: [Header; 12] = [
    HOST,
    OCTETS,
    ("X-Bench-02", "value-02"),
    ("X-Bench-03", "value-03"),
    ("X-Bench-04", "value-04"),
    ("X-Bench-05", "value-05"),
    ("X-Bench-06", "value-06"),
    ("X-Bench-07", "value-07"),
    ("X-Bench-08", "value-08"),
    ("X-Bench-09", "value-09"),
    ("X-Bench-10", "value-10"),
    ("X-Bench-11", "value-11"),
];

/// A body as the index counts them: byte i is 'a' + i mod 26.
fn letters(bytes: usize) -> Vec<u8> {
    (b'a'..=b'z').cycle().take(bytes).collect()
}

fn shown(pairs: Pairs<'_>) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    pairs.iter().map(|(n, v)| (text(n), text(v))).collect()
}

fn owned(headers: &[Header]) -> Vec<(String, String)> {
    headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect()
}

/// The frame behind its length prefix, which has to be right.
fn unprefixed(written: &[u8]) -> &[u8] {
    match zap::frame::split(written, zap::frame::MAX_FRAME_BYTES) {
        Ok(Step::Complete { value, consumed }) if consumed == written.len() => value,
        other => panic!("{other:?}"),
    }
}

struct WantRequest {
    file: &'static str,
    method: &'static str,
    target: &'static str,
    headers: &'static [Header],
    body: Vec<u8>,
    trailer: &'static [Header],
}

fn echo(file: &'static str, headers: usize, body_bytes: usize) -> WantRequest {
    WantRequest {
        file,
        method: "POST",
        target: "/echo",
        headers: &BENCH[..headers],
        body: letters(body_bytes),
        trailer: &[],
    }
}

fn health(file: &'static str, headers: &'static [Header]) -> WantRequest {
    WantRequest { file, method: "GET", target: "/health", headers, body: Vec::new(), trailer: &[] }
}

#[test]
fn requests() {
    let wants = [
        health("req_get_health", &[HOST]),
        health("req_no_headers", &[]),
        echo("req_post_echo_h04_b16", 4, 16),
        echo("req_post_echo_h04_b256", 4, 256),
        echo("req_post_echo_h04_b4096", 4, 4096),
        echo("req_post_echo_h08_b16", 8, 16),
        echo("req_post_echo_h08_b256", 8, 256),
        echo("req_post_echo_h12_b256", 12, 256),
        echo("req_post_echo_h12_b4096", 12, 4096),
        WantRequest { trailer: &[CHECKSUM], ..echo("req_trailer", 1, 16) },
        WantRequest {
            target: "/rpc",
            headers: &[HOST, ("Content-Type", "application/zap")],
            body: vector("rpc_request"),
            ..echo("req_post_rpc", 0, 0)
        },
    ];
    for want in &wants {
        let file = want.file;
        let bytes = vector(file);
        let read = Request::decode(&bytes).unwrap_or_else(|e| panic!("{file}: {e}"));
        assert_eq!(read.method, want.method.as_bytes(), "{file}");
        assert_eq!(read.target, want.target.as_bytes(), "{file}");
        assert_eq!(read.proto, b"HTTP/1.1", "{file}");
        assert_eq!(shown(read.headers), owned(want.headers), "{file}");
        assert_eq!(read.body, want.body, "{file}");
        assert_eq!(shown(read.trailer), owned(want.trailer), "{file}");

        // From what was read, and from the table.
        let mut out = Vec::new();
        let head = RequestHead { method: read.method, target: read.target, proto: read.proto, headers: read.headers };
        request::encode(&mut out, &head, read.body, read.trailer).unwrap();
        assert_eq!(unprefixed(&out), bytes, "{file}");

        let head = RequestHead {
            method: want.method.as_bytes(),
            target: want.target.as_bytes(),
            proto: b"",
            headers: want.headers,
        };
        out.clear();
        request::encode(&mut out, &head, &want.body, want.trailer).unwrap();
        assert_eq!(unprefixed(&out), bytes, "{file}");

        if want.trailer.is_empty() {
            out.clear();
            request::encode_with_body_len(&mut out, &head, want.body.len()).unwrap();
            out.extend_from_slice(&want.body);
            assert_eq!(unprefixed(&out), bytes, "{file}");
        }
    }
}

struct WantResponse {
    file: &'static str,
    kind: Kind,
    status: u16,
    reason: &'static str,
    headers: &'static [Header],
    body: &'static str,
    trailer: &'static [Header],
}

const OK: WantResponse = WantResponse {
    file: "resp_200_ok",
    kind: Kind::Response,
    status: 200,
    reason: "OK",
    headers: &[PLAIN],
    body: "ok",
    trailer: &[],
};

#[test]
fn responses() {
    let wants = [
        OK,
        WantResponse {
            file: "resp_204",
            status: 204,
            reason: "No Content",
            headers: &[("Content-Type", "text/plain; charset=utf-8")],
            body: "",
            ..OK
        },
        WantResponse { file: "resp_204_no_ct", status: 204, reason: "No Content", headers: &[], body: "", ..OK },
        WantResponse { file: "resp_404", status: 404, reason: "Not Found", body: "not found", ..OK },
        WantResponse { file: "resp_404_reason", status: 404, reason: "Nothing Here", body: "nope", ..OK },
        WantResponse { file: "resp_500", status: 500, reason: "Internal Server Error", body: "boom", ..OK },
        WantResponse {
            file: "resp_set_cookie_twice",
            headers: &[PLAIN, ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")],
            ..OK
        },
        WantResponse { file: "resp_trailer", trailer: &[CHECKSUM], ..OK },
        WantResponse {
            file: "stream_head",
            kind: Kind::Head,
            headers: &[("Content-Type", "text/event-stream")],
            body: "",
            ..OK
        },
    ];
    for want in &wants {
        let file = want.file;
        let bytes = vector(file);
        let read = Response::decode(&bytes).unwrap_or_else(|e| panic!("{file}: {e}"));
        assert_eq!(read.kind, want.kind, "{file}");
        assert_eq!(read.status, want.status, "{file}");
        assert_eq!(read.reason, want.reason.as_bytes(), "{file}");
        assert_eq!(read.proto, b"HTTP/1.1", "{file}");
        assert_eq!(shown(read.headers), owned(want.headers), "{file}");
        assert_eq!(read.body, want.body.as_bytes(), "{file}");
        assert_eq!(shown(read.trailer), owned(want.trailer), "{file}");

        let mut out = Vec::new();
        let head = ResponseHead { status: read.status, reason: read.reason, proto: read.proto, headers: read.headers };
        write_response(&mut out, read.kind, &head, &read);
        assert_eq!(unprefixed(&out), bytes, "{file}");

        // The phrase is the standard's wherever the file does not say another.
        if file != "resp_404_reason" {
            out.clear();
            write_response(&mut out, read.kind, &ResponseHead::new(want.status, read.headers), &read);
            assert_eq!(unprefixed(&out), bytes, "{file}");
        }
        if want.kind == Kind::Response && want.trailer.is_empty() {
            out.clear();
            response::encode_with_body_len(&mut out, &head, want.body.len()).unwrap();
            out.extend_from_slice(want.body.as_bytes());
            assert_eq!(unprefixed(&out), bytes, "{file}");
        }
    }
}

fn write_response(out: &mut Vec<u8>, kind: Kind, head: &ResponseHead<'_, Pairs<'_>>, read: &Response<'_>) {
    if kind == Kind::Head {
        response::encode_head(out, head).unwrap();
    } else {
        response::encode(out, head, read.body, read.trailer).unwrap();
    }
}

#[test]
fn stream_frames() {
    for (file, chunk) in [("stream_data", &b"data: hello\n\n"[..]), ("stream_data_empty", b"")] {
        let bytes = vector(file);
        assert_eq!(stream::decode_data(&bytes), Ok(chunk), "{file}");
        let mut out = Vec::new();
        stream::encode_data(&mut out, chunk).unwrap();
        assert_eq!(unprefixed(&out), bytes, "{file}");
        out.clear();
        stream::data_prefix(&mut out, chunk.len()).unwrap();
        out.extend_from_slice(chunk);
        assert_eq!(unprefixed(&out), bytes, "{file}");
    }
    let bytes = vector("stream_end");
    assert_eq!(stream::decode_end(&bytes), Ok(Pairs::EMPTY));
    let mut out = Vec::new();
    stream::encode_end(&mut out, ()).unwrap();
    assert_eq!(unprefixed(&out), bytes);

    out.clear();
    stream::encode_end(&mut out, [CHECKSUM]).unwrap();
    let trailer = stream::decode_end(unprefixed(&out)).unwrap();
    assert_eq!(shown(trailer), owned(&[CHECKSUM]));
}

#[test]
fn records() {
    let bytes = vector("rpc_request");
    assert_eq!(bytes.len(), 82);
    let read = record::Request::decode(&bytes).unwrap();
    assert_eq!(read, rpc::SAMPLE_REQUEST);
    let mut out = Vec::new();
    read.encode(&mut out).unwrap();
    assert_eq!(out, bytes);
    assert_eq!(read.encoded_bytes(), 82);

    let bytes = vector("rpc_response");
    assert_eq!(bytes.len(), 80);
    let read = record::Response::decode(&bytes).unwrap();
    let want = record::Response { id: 1, balance: rpc::BALANCE_BASE, nonce: rpc::NONCE, block_hash: &rpc::BLOCK_HASH };
    assert_eq!(read, want);
    out.clear();
    read.encode(&mut out).unwrap();
    assert_eq!(out, bytes);
    assert_eq!(read.encoded_bytes(), 80);
}

#[test]
fn a_record_is_written_straight_behind_its_frame() {
    let mut nested = Vec::new();
    let head = RequestHead {
        method: b"POST",
        target: b"/rpc",
        proto: b"HTTP/1.1",
        headers: [HOST, ("Content-Type", "application/zap")],
    };
    request::encode_with_body_len(&mut nested, &head, rpc::SAMPLE_REQUEST.encoded_bytes()).unwrap();
    rpc::SAMPLE_REQUEST.encode(&mut nested).unwrap();
    assert_eq!(unprefixed(&nested), vector("req_post_rpc"));
}

#[test]
fn status_zero_is_ok_written_and_read() {
    let mut out = Vec::new();
    response::encode(&mut out, &ResponseHead::new(0, [PLAIN]), b"ok", ()).unwrap();
    assert_eq!(unprefixed(&out), vector("resp_200_ok"));
    let mut bytes = vector("resp_200_ok");
    bytes[16..18].fill(0);
    assert_eq!(Response::decode(&bytes).unwrap().status, 200);
    let Ok(Step::Complete { value, .. }) = peek(&bytes, bytes.len()) else {
        panic!("a whole frame is enough");
    };
    assert_eq!(value.status, 200);
}

#[test]
fn every_frame_names_its_kind() {
    for name in vectors::names() {
        let want = match name.as_str() {
            n if n.starts_with("bad_") || n.starts_with("rpc_") => continue,
            n if n.starts_with("req_") => Kind::Request,
            n if n.starts_with("resp_") => Kind::Response,
            "stream_head" => Kind::Head,
            "stream_data" | "stream_data_empty" => Kind::Data,
            "stream_end" => Kind::End,
            other => panic!("{other} has no expectation"),
        };
        assert_eq!(Frame::parse(&vector(&name)).unwrap().kind(), Some(want), "{name}");
    }
}
