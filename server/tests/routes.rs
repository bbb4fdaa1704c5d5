//! Every route on both wires: the same status, type and body.

mod driver;

use codec::json::{Library, SAMPLE_CALL};
use driver::*;
use server::{ServerOptions, Wire};

/// One request on a fresh zap connection, which must stay open.
fn on_zap(method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
    let (bytes, end) = exchange(Wire::Zap, &frame(method, target, headers, body));
    assert_eq!(end, End::Open, "{method} {target}");
    let mut all = zap_replies(&bytes);
    assert_eq!(all.len(), 1, "{method} {target}");
    all.remove(0)
}

/// One request on a fresh http connection, which must stay open.
fn on_http(method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
    let mut input = format!("{method} {target} HTTP/1.1\r\nHost: a\r\n");
    for (name, value) in headers {
        input.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() {
        input.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    input.push_str("\r\n");
    let (bytes, end) = exchange(Wire::Http, &[input.as_bytes(), body].concat());
    assert_eq!(end, End::Open, "{method} {target}");
    let mut rest = &bytes[..];
    let reply = next_reply(&mut rest, method == "HEAD");
    assert!(rest.is_empty(), "{method} {target}: bytes behind the answer");
    reply
}

#[test]
fn health_is_the_golden_answer_on_zap_and_minimal_on_http() {
    let (bytes, _) = exchange(Wire::Zap, &prefixed(&vector("req_get_health")));
    assert_eq!(bytes, prefixed(&vector("resp_200_ok")));
    let (bytes, _) = exchange(Wire::Http, b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(bytes, b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok");
}

#[test]
fn not_found_is_the_golden_answer_on_zap() {
    let (bytes, _) = exchange(Wire::Zap, &frame("GET", "/nowhere", &[], b""));
    assert_eq!(bytes, prefixed(&vector("resp_404")));
}

/// Method, target, status, body; the type of the body follows from them.
type Case<'a> = (&'a str, &'a str, u16, &'a [u8]);

const BYTES: &[u8] = b"the number of bytes must be a decimal number from 0 to 33554432";
const CHUNKS: &[u8] = b"the number of chunks must be a decimal number from 0 to 1000000";
const CHUNK: &[u8] = b"the bytes of a chunk must be a decimal number from 0 to 16777216";

#[test]
fn both_wires_answer_alike() {
    let long = letters(200_000);
    let cases: &[Case<'_>] = &[
        ("GET", "/health", 200, b"ok"),
        ("GET", "/health?any=query", 200, b"ok"),
        ("GET", "/plaintext", 200, b"Hello, World!"),
        ("GET", "/json", 200, br#"{"message":"Hello, World!"}"#),
        ("GET", "/bytes/0", 200, b""),
        ("GET", "/bytes/27", 200, &long[..27]),
        ("GET", "/bytes/1024", 200, &long[..1024]),
        ("GET", "/bytes/1025?x", 200, &long[..1025]),
        ("GET", "/bytes/65520", 200, &long[..65_520]),
        ("GET", "/bytes/65521", 200, &long[..65_521]),
        ("GET", "/bytes/200000", 200, &long),
        ("GET", "/bytes/33554433", 413, BYTES),
        ("GET", "/bytes/99999999999999999999999", 413, BYTES),
        ("GET", "/bytes/", 400, BYTES),
        ("GET", "/bytes/-1", 400, BYTES),
        ("GET", "/bytes/1/2", 400, BYTES),
        ("GET", "/stream/0/9", 200, b""),
        ("GET", "/stream/3/0", 200, b""),
        ("GET", "/stream/3/2", 200, b"ababab"),
        ("GET", "/stream/1/200000", 200, &long),
        ("GET", "/stream/1000001/1", 413, CHUNKS),
        ("GET", "/stream/x/1", 400, CHUNKS),
        ("GET", "/stream/1/16777217", 413, CHUNK),
        ("GET", "/stream/1", 400, CHUNK),
        ("GET", "/stream/1/2/3", 400, CHUNK),
        ("GET", "/", 404, b"not found"),
        ("GET", "/Health", 404, b"not found"),
        ("BREW", "/coffee", 404, b"not found"),
        ("POST", "/health", 405, b"method not allowed"),
        ("PUT", "/echo", 405, b"method not allowed"),
        ("GET", "/echo", 405, b"method not allowed"),
        ("get", "/health", 405, b"method not allowed"),
        ("DELETE", "/rpc", 405, b"method not allowed"),
    ];
    for &(method, target, status, body) in cases {
        let content_type = match target {
            "/json" => "application/json",
            _ if status == 200 && (target.starts_with("/bytes") || target.starts_with("/stream")) => {
                "application/octet-stream"
            }
            _ => "text/plain",
        };
        for (wire, reply) in [("zap", on_zap(method, target, &[], b"")), ("http", on_http(method, target, &[], b""))] {
            let name = format!("{wire} {method} {target}");
            assert_eq!(reply.status, status, "{name}");
            assert_eq!(reply.header("content-type"), Some(content_type), "{name}");
            assert!(reply.body == body, "{name}: {} bytes", reply.body.len());
            let allow = match (status, target) {
                (405, "/echo" | "/rpc") => Some("POST"),
                (405, _) => Some("GET, HEAD"),
                _ => None,
            };
            assert_eq!(reply.header("allow"), allow, "{name}");
            let dated = matches!(target, "/plaintext" | "/json");
            assert_eq!(reply.header("server"), dated.then_some("zapring"), "{name}");
            assert_eq!(reply.header("date"), dated.then_some("Sun, 06 Nov 1994 08:49:37 GMT"), "{name}");
        }
    }
}

#[test]
fn echo_gives_back_body_type_and_extensions_in_order() {
    let headers = [
        ("X-Second", "2"),
        ("Content-Type", "application/octet-stream"),
        ("Accept", "no"),
        ("x-first", "1"),
        ("X-Second", "again"),
        ("X", "no"),
        ("Content-Type", "no"),
        ("X-Empty", ""),
    ];
    let kept = [
        ("X-Second", "2"),
        ("Content-Type", "application/octet-stream"),
        ("x-first", "1"),
        ("X-Second", "again"),
        ("X-Empty", ""),
    ];
    let kept = kept.map(|(name, value)| (name.to_owned(), value.to_owned()));
    for body in [&b""[..], b"x", b"\0\r\n\xff", &letters(100_000)] {
        let zap = on_zap("POST", "/echo", &headers, body);
        assert_eq!((zap.status, &zap.headers[..]), (200, &kept[..]));
        assert!(zap.body == body);
        let mut http = on_http("POST", "/echo", &headers, body);
        let length = ("Content-Length".to_owned(), body.len().to_string());
        assert_eq!(http.headers.remove(0), length);
        assert_eq!((http.status, &http.headers[..]), (200, &kept[..]));
        assert!(http.body == body);
    }
    let bare = on_zap("POST", "/echo", &[], b"x");
    assert_eq!((&bare.headers[..], &bare.body[..]), (&[][..], &b"x"[..]));
}

#[test]
fn golden_echo_requests_come_back() {
    for name in ["req_post_echo_h04_b16", "req_post_echo_h12_b4096", "req_trailer"] {
        let message = vector(name);
        let sent = codec::zap::request::Request::decode(&message).unwrap();
        let (bytes, _) = exchange(Wire::Zap, &prefixed(&message));
        let reply = zap_replies(&bytes).remove(0);
        assert_eq!((reply.status, &reply.body[..]), (200, sent.body), "{name}");
        let host_left_out = sent.headers.len() - 1;
        assert_eq!(reply.headers.len(), host_left_out, "{name}");
    }
}

#[test]
fn rpc_answers_the_golden_record_with_the_fold() {
    let (bytes, _) = exchange(Wire::Zap, &prefixed(&vector("req_post_rpc")));
    let reply = zap_replies(&bytes).remove(0);
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/zap")));
    let mut golden = vector("rpc_response");
    let balance = 10u64.pow(18) ^ 0x10d4f ^ 14 ^ 20 ^ 0xde;
    golden[24..32].copy_from_slice(&balance.to_le_bytes());
    assert_eq!(reply.body, golden);
}

#[test]
fn rpc_json_is_the_twin() {
    let call =
        br#"{"method":"eth_getBalance","account":"0xdeadbeef00112233445566778899aabbccddeeff","block":68943,"id":1}"#;
    let reply = on_http("POST", "/rpc", &[("Content-Type", "application/json")], call);
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")));
    let balance = 10u64.pow(18) ^ 0x10d4f ^ 14 ^ 42 ^ 0x30;
    let hash = "0x0123456789abcdeffedcba98765432100f1e2d3c4b5a69788796a5b4c3d2e1f0";
    assert_eq!(reply.text(), format!(r#"{{"id":1,"balance":{balance},"nonce":42,"blockHash":"{hash}"}}"#));
}

#[test]
fn a_malformed_rpc_is_said_to_be_one_and_the_connection_kept() {
    let zap = on_zap("POST", "/rpc", &[], b"not a record");
    assert_eq!((zap.status, zap.text()), (400, "malformed rpc record: zap: buffer too small"));
    let http = on_http("POST", "/rpc", &[], b"{\"method\":1}");
    assert_eq!(http.status, 400);
    assert!(http.text().starts_with("malformed rpc call: invalid type"), "{}", http.text());
    assert_eq!(on_http("POST", "/rpc", &[], b"").status, 400);
}

#[test]
fn every_json_library_answers_and_refuses_on_a_connection_that_stays() {
    let post = |body: &[u8]| {
        let head = format!("POST /rpc HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.len());
        [head.as_bytes(), body].concat()
    };
    let (mut call, mut answer) = (Vec::new(), Vec::new());
    SAMPLE_CALL.encode(Library::Serde, &mut call);
    SAMPLE_CALL.answer().encode(Library::Serde, &mut answer);
    for json in Library::ALL {
        let mut driver = Driver::new(ServerOptions { json, ..ServerOptions::default() });
        let conn = driver.open(Wire::Http);
        for _ in 0..2 {
            driver.send(conn, &post(b"{\"method\":1}"));
            let refused = replies(&driver.take(conn)).remove(0);
            assert_eq!((refused.status, refused.header("content-type")), (400, Some("text/plain")), "{json}");
            let text = refused.text();
            assert!(text.starts_with("malformed rpc call: ") && !text.contains('\n'), "{json}: {text}");
            driver.send(conn, &post(&call));
            let reply = replies(&driver.take(conn)).remove(0);
            assert_eq!((reply.status, &reply.body[..]), (200, &answer[..]), "{json}");
        }
        assert_eq!(driver.end(conn), End::Open, "{json}");
    }
}

#[test]
fn stats_are_json_about_this_very_server() {
    let mut driver = Driver::plain();
    let zap = driver.open(Wire::Zap);
    driver.send(zap, &frame("GET", "/health", &[], b"").repeat(3));
    let http = driver.open(Wire::Http);
    driver.send(http, b"GET /none HTTP/1.1\r\nHost: a\r\n\r\n");
    driver.take(http);
    driver.send(http, b"GET /stats HTTP/1.1\r\nHost: a\r\n\r\n");
    let reply = replies(&driver.take(http)).remove(0);
    assert_eq!(reply.header("content-type"), Some("application/json"));
    let stats: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
    for requests in [&stats["requests"], &stats["shards"][0]["requests"]] {
        assert_eq!(requests["zap_requests"], 3);
        assert_eq!(requests["http_requests"], 1, "this one is counted when it is answered");
        assert_eq!(requests["answers_4xx"], 1);
    }
    assert!(stats["process"]["rss_bytes"].as_u64().unwrap() > 0);
    assert_eq!(stats["connections"]["enters"], 0);
    assert_eq!(stats["engine"], serde_json::Value::Null);
    driver.send(zap, &frame("GET", "/stats", &[], b""));
    assert_eq!(zap_replies(&driver.take(zap)).len(), 4);
}

#[test]
fn head_is_a_get_without_body_on_http_and_with_body_on_zap() {
    for target in ["/health", "/plaintext", "/json", "/bytes/5", "/bytes/70000", "/stream/2/3", "/none"] {
        let get = on_http("GET", target, &[], b"");
        let head = on_http("HEAD", target, &[], b"");
        assert_eq!((head.status, &head.headers), (get.status, &get.headers), "{target}");
        assert_eq!(on_zap("HEAD", target, &[], b""), on_zap("GET", target, &[], b""), "{target}");
    }
    assert_eq!(on_http("HEAD", "/echo", &[], b"").status, 405);
}

#[test]
fn connection_rules_of_http_mean_nothing_on_zap() {
    let mut out = Vec::new();
    let head = codec::zap::request::RequestHead {
        method: b"GET",
        target: b"/health",
        proto: b"HTTP/1.0",
        headers: [("Connection", "close"), ("Content-Length", "99")].as_slice(),
    };
    codec::zap::request::encode(&mut out, &head, b"unasked body", ()).unwrap();
    let (bytes, end) = exchange(Wire::Zap, &out);
    assert_eq!((bytes, end), (prefixed(&vector("resp_200_ok")), End::Open));
}
