//! What a hostile, broken or merely unusual HTTP peer gets. Tests carry the number of the fault they belong to.

mod driver;

use driver::*;
use server::{ServerOptions, Wire};

/// Something that must never be served behind a refusal.
const SMUGGLED: &str = "GET /plaintext HTTP/1.1\r\nHost: a\r\n\r\n";

/// `input` is answered with one answer of this status, then the connection closes, whatever follows.
fn refused(input: &str, status: u16) {
    let (reply, end) = ask(&format!("{input}{SMUGGLED}"));
    assert_eq!((reply.status, end), (status, End::Closed), "{input:?}: {}", reply.text());
    assert_eq!(reply.header("connection"), Some("close"), "{input:?}");
    assert!(!reply.body.is_empty(), "{input:?}: says what is wrong");
}

fn get(headers: &str) -> String {
    format!("GET /health HTTP/1.1\r\nHost: a\r\n{headers}\r\n")
}

fn post(headers: &str, body: &str) -> String {
    format!("POST /echo HTTP/1.1\r\nHost: a\r\n{headers}\r\n{body}")
}

#[test]
fn b1_length_and_chunked_is_refused_and_nothing_smuggled() {
    refused(&post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400);
    refused(&post("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", "0\r\n\r\n"), 400);
}

#[test]
fn b2_two_lengths_are_refused() {
    for headers in
        ["Content-Length: 5\r\nContent-Length: 6\r\n", "Content-Length: 5, 5\r\n", "Content-Length: 5, 6\r\n"]
    {
        refused(&post(headers, "hello"), 400);
    }
}

#[test]
fn b3_odd_lengths_are_refused() {
    for value in ["+5", "-1", "0x5", "1_0", "5 5", "", "18446744073709551616", "00005"] {
        refused(&post(&format!("Content-Length: {value}\r\n"), "hello"), 400);
    }
}

#[test]
fn b4_a_space_before_the_colon_is_refused() {
    refused(&post("Content-Length : 5\r\n", "hello"), 400);
}

#[test]
fn b5_folded_lines_are_refused() {
    refused(&get("X: a\r\n folded\r\n"), 400);
    refused(&post("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n"), 400);
}

#[test]
fn b7_bare_line_feeds_are_refused_and_never_hang() {
    refused("GET /health HTTP/1.1\nHost: a\n\n", 400);
    refused("GET /health HTTP/1.1\r\nHost: a\n\r\n", 400);
    refused(&post("Transfer-Encoding: chunked\r\n", "5\nhello\r\n0\r\n\r\n"), 400);
    refused(&post("Transfer-Encoding: chunked\r\n", "5\r\nhello\n0\r\n\r\n"), 400);
}

#[test]
fn b8_a_bare_cr_or_nul_is_refused() {
    for headers in ["X: a\rb\r\n", "X: a\0b\r\n"] {
        refused(&get(headers), 400);
    }
    refused("GET /he\0alth HTTP/1.1\r\nHost: a\r\n\r\n", 400);
    refused("GET /he\ralth HTTP/1.1\r\nHost: a\r\n\r\n", 400);
}

/// Requests of every shape, and the bytes that answer them on one connection.
fn mixed() -> (String, Vec<u8>) {
    let large = "y".repeat(300);
    let input = [
        get(""),
        post("Content-Length: 5\r\nX-A: 1\r\n", "hello"),
        post("Transfer-Encoding: chunked\r\nContent-Type: t\r\n", "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nTrail: er\r\n\r\n"),
        format!("GET /none HTTP/1.1\r\nHost: a\r\nContent-Length: 300\r\n\r\n{large}"),
        "GET /stream/2/3 HTTP/1.1\r\nHost: a\r\n\r\n".into(),
        "\r\nGET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n".into(),
    ]
    .concat();
    let (bytes, end) = exchange(Wire::Http, input.as_bytes());
    assert_eq!(end, End::Open);
    (input, bytes)
}

#[test]
fn b9_a_cut_at_any_byte_changes_no_answer() {
    let (input, whole) = mixed();
    let statuses: Vec<u16> = replies(&whole).iter().map(|reply| reply.status).collect();
    assert_eq!(statuses, [200, 200, 200, 404, 200, 200]);
    for cut in 0..=input.len() {
        let mut driver = Driver::plain();
        let conn = driver.open(Wire::Http);
        driver.send(conn, &input.as_bytes()[..cut]);
        driver.send(conn, &input.as_bytes()[cut..]);
        assert_eq!(driver.take(conn), whole, "cut at {cut}");
    }
    let mut driver = Driver::plain();
    let conn = driver.open(Wire::Http);
    for byte in input.as_bytes() {
        driver.send(conn, &[*byte]);
        driver.advance(1_000_000);
    }
    assert_eq!(driver.take(conn), whole, "one byte at a time");
}

#[test]
fn b10_sixteen_in_one_segment_are_answered_in_order_with_one_send() {
    let mut driver = Driver::plain();
    let conn = driver.open(Wire::Http);
    let input: String =
        (0..16).map(|n| post(&format!("Content-Length: 2\r\nX-N: {n}\r\n"), &format!("{n:02}"))).collect();
    driver.send(conn, input.as_bytes());
    assert_eq!(driver.sends(conn), 1);
    let all = replies(&driver.take(conn));
    assert_eq!(all.len(), 16);
    for (n, reply) in all.iter().enumerate() {
        assert_eq!((reply.text(), reply.header("x-n")), (&*format!("{n:02}"), Some(&*n.to_string())));
    }
}

#[test]
fn b11_an_unwanted_body_is_skipped_exactly() {
    let body = get("").repeat(2);
    for (request, status) in [
        (format!("GET /health HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}", body.len()), 200),
        (format!("POST /none HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}", body.len()), 404),
        (
            format!(
                "POST /health HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
                body.len()
            ),
            405,
        ),
        ("GET /health HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n".into(), 200),
    ] {
        let (bytes, end) = exchange(Wire::Http, format!("{request}{SMUGGLED}").as_bytes());
        let all = replies(&bytes);
        assert_eq!((all.len(), all[0].status, all[1].text()), (2, status, "Hello, World!"), "{request}");
        assert_eq!(end, End::Open);
    }
}

#[test]
fn b11_a_long_unwanted_body_is_skipped_in_pieces_without_holding_it() {
    for chunked in [false, true] {
        let mut driver = Driver::plain();
        let conn = driver.open(Wire::Http);
        let before = engine::Shard::held_bytes(&driver.shard);
        let framing = if chunked { "Transfer-Encoding: chunked" } else { "Content-Length: 1000000" };
        driver.send(conn, format!("DELETE /none HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n").as_bytes());
        for _ in 0..1000 {
            let piece = if chunked { format!("3e8\r\n{}\r\n", "z".repeat(1000)) } else { "z".repeat(1000) };
            driver.send(conn, piece.as_bytes());
            assert_eq!(driver.unread_bytes(conn), 0);
            assert!(engine::Shard::held_bytes(&driver.shard) < before + 1000);
        }
        driver.send(conn, if chunked { b"0\r\n\r\n" } else { b"" });
        driver.send(conn, SMUGGLED.as_bytes());
        let statuses: Vec<u16> = replies(&driver.take(conn)).iter().map(|reply| reply.status).collect();
        assert_eq!((statuses, driver.end(conn)), (vec![404, 200], End::Open));
    }
}

#[test]
fn b11_a_body_too_long_to_skip_ends_the_connection_after_the_answer() {
    let (reply, end) = ask("GET /health HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\n\r\nsome of it");
    assert_eq!((reply.status, reply.header("connection"), end), (200, Some("close"), End::Closed));
    let (reply, end) = ask("GET /health HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n100001\r\nsome of it");
    assert_eq!((reply.status, reply.header("connection"), end), (200, Some("close"), End::Closed));
}

#[test]
fn b11_a_chunked_body_that_grows_too_long_to_skip_ends_the_connection_after_the_answer() {
    let mut driver = Driver::plain();
    let conn = driver.open(Wire::Http);
    driver.send(conn, b"PUT /health HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    let piece = format!("10000\r\n{}\r\n", "z".repeat(65_536));
    for _ in 0..16 {
        driver.send(conn, piece.as_bytes());
        assert_eq!((driver.take(conn), driver.end(conn)), (vec![], End::Open));
    }
    driver.send(conn, b"1\r\n");
    let all = replies(&driver.take(conn));
    assert_eq!((all.len(), all[0].status, driver.end(conn)), (1, 405, End::Closed));
}

#[test]
fn gathered_bodies_follow_each_other_on_one_connection() {
    let mut driver = Driver::plain();
    let conn = driver.open(Wire::Http);
    for (n, bytes) in [10, 70_000, 3, 0, 100_000, 5].into_iter().enumerate() {
        let body = String::from_utf8(letters(bytes)).unwrap();
        let head = post(&format!("Transfer-Encoding: chunked\r\nX-N: {n}\r\n"), "");
        let chunk = if bytes == 0 { String::new() } else { format!("{bytes:x}\r\n{body}\r\n") };
        let input = format!("{head}{chunk}0\r\n\r\n");
        let (first, second) = input.split_at(head.len() + 2);
        driver.send(conn, first.as_bytes());
        driver.send(conn, second.as_bytes());
        let reply = replies(&driver.take(conn)).remove(0);
        assert!(reply.text() == body, "{bytes}: {}", reply.body.len());
        assert_eq!(reply.header("x-n"), Some(&*n.to_string()));
    }
}

#[test]
fn b12_odd_chunk_sizes_are_refused() {
    for size in ["0x5", "+5", "-1", "5_0", " 5", "5 ;ext", "FFFFFFFFFFFFFFFFF", "", ";ext", "g"] {
        refused(&post("Transfer-Encoding: chunked\r\n", &format!("{size}\r\nhello\r\n0\r\n\r\n")), 400);
    }
    // A size that no memory could hold is refused before any of it has come.
    refused(&post("Transfer-Encoding: chunked\r\n", "FFFFFFFFFFFFFFFF\r\n"), 413);
}

#[test]
fn b14_trailers_are_ignored() {
    for trailer in ["Content-Length: 99", "Host: b", "Transfer-Encoding: chunked", "X-A: 1"] {
        let input = post("Transfer-Encoding: chunked\r\n", &format!("2\r\nhi\r\n0\r\n{trailer}\r\n\r\n"));
        let (bytes, end) = exchange(Wire::Http, format!("{input}{SMUGGLED}").as_bytes());
        let all = replies(&bytes);
        assert_eq!((all.len(), all[0].text(), all[0].header("x-a"), end), (2, "hi", None, End::Open));
    }
}

#[test]
fn b15_other_transfer_codings_are_refused() {
    for (headers, status) in [
        ("Transfer-Encoding: xchunked\r\n", 501),
        ("Transfer-Encoding: chunked, gzip\r\n", 400),
        ("Transfer-Encoding: gzip, chunked\r\n", 501),
        ("Transfer-Encoding: identity\r\n", 501),
        ("Transfer-Encoding: chunked, chunked\r\n", 400),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400),
        ("Transfer-Encoding: chunked\x0b\r\n", 400),
        ("Transfer_Encoding: chunked\r\n", 400),
    ] {
        refused(&post(headers, "0\r\n\r\n"), status);
    }
}

#[test]
fn b16_chunked_on_http_1_0_is_refused() {
    refused("POST /echo HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400);
}

#[test]
fn b17_host_is_wanted_once_on_1_1() {
    refused("GET /health HTTP/1.1\r\n\r\n", 400);
    refused("GET /health HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400);
    assert_eq!(ask("GET /health HTTP/1.1\r\nHost:\r\n\r\n").0.status, 200);
    assert_eq!(ask("GET /health HTTP/1.0\r\n\r\n").0.status, 200);
}

#[test]
fn b19_connection_rules() {
    for (version, headers, kept, says) in [
        ("1.0", "", false, Some("close")),
        ("1.0", "Connection: keep-alive\r\n", true, Some("keep-alive")),
        ("1.1", "", true, None),
        ("1.1", "Connection: close\r\n", false, Some("close")),
        ("1.1", "Connection: Close\r\n", false, Some("close")),
        ("1.1", "Connection: keep-alive, close\r\n", false, Some("close")),
        ("1.1", "Connection: keep-alive\r\n", true, None),
    ] {
        for target in ["/health", "/json", "/none", "/bytes/70000"] {
            let (reply, end) = ask(&format!("GET {target} HTTP/{version}\r\nHost: a\r\n{headers}\r\n"));
            assert_eq!(reply.header("connection"), says, "{version} {headers} {target}");
            assert_eq!(end == End::Open, kept, "{version} {headers} {target}");
        }
    }
}

#[test]
fn b19_a_stream_to_a_1_0_client_ends_with_the_connection() {
    let (reply, end) = ask("GET /stream/3/2 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_eq!((reply.text(), reply.header("connection"), end), ("ababab", Some("close"), End::Closed));
    assert_eq!((reply.header("transfer-encoding"), reply.header("content-length")), (None, None));
}

#[test]
fn b20_head_has_a_length_and_no_body_and_keeps_the_connection() {
    let (bytes, end) = exchange(Wire::Http, format!("HEAD /health HTTP/1.1\r\nHost: a\r\n\r\n{}", get("")).as_bytes());
    let mut rest = &bytes[..];
    let head = next_reply(&mut rest, true);
    assert_eq!((head.status, head.header("content-length"), end), (200, Some("2"), End::Open));
    assert_eq!(next_reply(&mut rest, false).text(), "ok");
    assert!(rest.is_empty());
}

#[test]
fn b21_expectations() {
    let head = post("Content-Length: 5\r\nExpect: 100-continue\r\n", "");
    for large in [false, true] {
        let body = if large { "x".repeat(200_000) } else { "hello".into() };
        let head = head.replace(": 5", &format!(": {}", body.len()));
        let mut driver = Driver::plain();
        let conn = driver.open(Wire::Http);
        driver.send(conn, head.as_bytes());
        assert_eq!(driver.take(conn), b"HTTP/1.1 100 Continue\r\n\r\n");
        driver.send(conn, &body.as_bytes()[..2]);
        driver.send(conn, &body.as_bytes()[2..]);
        let all = replies(&driver.take(conn));
        assert_eq!((all.len(), all[0].status, all[0].text()), (1, 200, &*body), "body late");
        driver.send(conn, head.as_bytes());
        assert_eq!(driver.take(conn), b"HTTP/1.1 100 Continue\r\n\r\n", "asked again for the next request");
    }
    let (reply, _) = ask(&format!("{head}hello"));
    assert_eq!((reply.status, reply.text()), (200, "hello"), "body at once");
    let mut driver = Driver::plain();
    let conn = driver.open(Wire::Http);
    driver.send(conn, format!("{head}he").as_bytes());
    assert_eq!(driver.take(conn), b"", "the body has begun without permission");
    driver.send(conn, b"llo");
    assert_eq!(replies(&driver.take(conn))[0].text(), "hello");
    driver.send(conn, head.as_bytes());
    driver.take(conn);
    driver.finish(conn);
    assert_eq!(driver.take(conn), b"", "permission is given once");
    let (reply, _) = ask("POST /echo HTTP/1.0\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello");
    assert_eq!((reply.status, reply.text()), (200, "hello"), "no 1xx to a 1.0 client");
    refused(&get("Expect: 200-ok\r\n"), 417);
    let (reply, end) = ask(&head.replace("/echo", "/none"));
    assert_eq!((reply.status, end), (404, End::Closed), "a body that nobody wants is not asked for");
    let (reply, end) = ask(&head.replace(": 5", ": 999999999999"));
    assert_eq!((reply.status, end), (413, End::Closed));
}

#[test]
fn b21_a_chunked_body_may_wait_for_permission_too() {
    let mut driver = Driver::plain();
    let conn = driver.open(Wire::Http);
    driver.send(conn, post("Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n", "").as_bytes());
    assert_eq!(driver.take(conn), b"HTTP/1.1 100 Continue\r\n\r\n");
    driver.send(conn, b"2\r\nhi\r\n0\r\n\r\n");
    assert_eq!(replies(&driver.take(conn))[0].text(), "hi");
}

#[test]
fn b22_long_heads_are_refused_while_memory_is_constant() {
    let header = |name: usize, value: usize| format!("{}: {}\r\n", "n".repeat(name), "v".repeat(value));
    for (input, status) in [
        (get(&header(3, 8192).repeat(100)), 431),
        (get(&header(3, 65_536)), 431),
        (get(&header(1, 0).repeat(5000)), 431),
        (get(&header(65_536, 1)), 431),
        (format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "u".repeat(65_536)), 414),
    ] {
        refused(&input, status);
        let mut driver = Driver::plain();
        let conn = driver.open(Wire::Http);
        for piece in input.as_bytes().chunks(1000) {
            if driver.end(conn) == End::Open {
                driver.send(conn, piece);
                assert!(driver.unread_bytes(conn) < 17 * 1024 + 1000);
            }
        }
        assert_eq!((replies(&driver.take(conn))[0].status, driver.end(conn)), (status, End::Closed));
    }
}

#[test]
fn b22_bodies_over_the_limit_are_refused() {
    let mut driver = Driver::new(ServerOptions { max_body_bytes: 1000, ..ServerOptions::default() });
    for (input, status) in [
        (post("Content-Length: 1000\r\n", &"x".repeat(1000)), 200),
        (post("Content-Length: 1001\r\n", &"x".repeat(1001)), 413),
        (post("Content-Length: 1001\r\n", ""), 413),
        (post("Content-Length: 9999999999999999999\r\n", ""), 413),
        (post("Transfer-Encoding: chunked\r\n", "3e9\r\nx"), 413),
        (post("Transfer-Encoding: chunked\r\n", &format!("1f4\r\n{}\r\n", "x".repeat(500)).repeat(3)), 413),
    ] {
        let conn = driver.open(Wire::Http);
        driver.send(conn, input.as_bytes());
        let all = replies(&driver.take(conn));
        assert_eq!((all.len(), all[0].status), (1, status), "{:.80}", input);
        assert_eq!(driver.end(conn) == End::Closed, status == 413);
    }
}

#[test]
fn b26_empty_lines_before_and_garbage_behind() {
    assert_eq!(ask(&format!("\r\n\r\n{}", get(""))).0.status, 200);
    refused(&format!("{}{}", "\r\n".repeat(9), get("")), 400);
    let (reply, end) = ask(&get("Connection: close\r\n").replace("\r\n\r\n", "\r\n\r\n\0\0garbage"));
    assert_eq!((reply.status, end), (200, End::Closed));
}

#[test]
fn b27_versions() {
    assert_eq!(ask("GET /health HTTP/1.2\r\nHost: a\r\n\r\n").0.status, 200);
    for (version, status) in
        [(" HTTP/2.0", 505), (" http/1.1", 400), (" HTTP/1.10", 400), ("", 400), (" HTTP/0.9", 505)]
    {
        refused(&format!("GET /health{version}\r\nHost: a\r\n\r\n"), status);
    }
    refused("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400);
}

#[test]
fn b28_methods_and_spaces() {
    for method in ["get", "GETX"] {
        let (reply, end) = ask(&format!("{method} /health HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert_eq!((reply.status, reply.header("allow"), end), (405, Some("GET, HEAD"), End::Open));
    }
    refused(&format!("{} /health HTTP/1.1\r\nHost: a\r\n\r\n", "M".repeat(10_240)), 501);
    for line in [
        "G\"T /health HTTP/1.1",
        "GET  /health HTTP/1.1",
        "GET /health  HTTP/1.1",
        "GET\t/health\tHTTP/1.1",
        " GET /health HTTP/1.1",
    ] {
        refused(&format!("{line}\r\nHost: a\r\n\r\n"), 400);
    }
}

#[test]
fn b29_odd_header_names_are_refused() {
    for headers in ["[x]: 1\r\n", "\u{e9}: 1\r\n", ": 1\r\n", "no colon\r\n", "a b: 1\r\n"] {
        refused(&get(headers), 400);
    }
}

#[test]
fn b30_other_protocols_on_the_http_port_are_refused() {
    let hello = [0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3];
    for bytes in [&frame("GET", "/health", &[], b"")[..], &hello] {
        let (answer, end) = exchange(Wire::Http, bytes);
        assert_eq!((replies(&answer)[0].status, end), (400, End::Closed));
    }
}

#[test]
fn b31_answers_are_functions_of_the_request() {
    for n in [0, 1, 77, 1000, 70_001] {
        let (reply, _) = ask(&format!("GET /bytes/{n}?cache={n} HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert!(reply.body == letters(n), "{n}");
        let body = letters(n).iter().rev().copied().collect::<Vec<_>>();
        let body = String::from_utf8(body).unwrap();
        let (reply, _) = ask(&post(&format!("Content-Length: {n}\r\n"), &body));
        assert!(reply.text() == body, "{n}");
    }
    assert_eq!(ask("GET http://any.host/health?x HTTP/1.1\r\nHost: a\r\n\r\n").0.text(), "ok");
    assert_eq!(ask("GET http://any.host HTTP/1.1\r\nHost: a\r\n\r\n").0.status, 404);
    assert_eq!(ask("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").0.status, 404);
}

#[test]
fn b32_the_date_is_this_second_on_both_wires() {
    let mut driver = Driver::plain();
    let http = driver.open(Wire::Http);
    let zap = driver.open(Wire::Zap);
    for (wait_ns, clock) in [(0, "08:49:37"), (999_999_999, "08:49:37"), (1, "08:49:38"), (30 * SECOND_NS, "08:50:08")]
    {
        // Ticks would set the date back to the fixed wall clock of these tests; time passes without them.
        driver.now_ns += wait_ns;
        for target in ["/plaintext", "/json"] {
            driver.send(http, format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
            driver.send(zap, &frame("GET", target, &[], b""));
            let want = format!("Sun, 06 Nov 1994 {clock} GMT");
            assert_eq!(replies(&driver.take(http))[0].header("date"), Some(&*want));
            assert_eq!(zap_replies(&driver.take(zap))[0].header("date"), Some(&*want));
        }
    }
}

#[test]
fn a_peer_that_closes_its_side_gets_its_answers_and_no_more() {
    let mut driver = Driver::plain();
    let conn = driver.open(Wire::Http);
    driver.send(conn, format!("{}GET /hea", get("")).as_bytes());
    driver.finish(conn);
    assert_eq!((replies(&driver.take(conn)).len(), driver.end(conn)), (1, End::Closed));
    let conn = driver.open(Wire::Http);
    driver.send(conn, post("Content-Length: 100000\r\n", "cut short").as_bytes());
    driver.finish(conn);
    assert_eq!((driver.take(conn), driver.end(conn)), (vec![], End::Closed));
}
