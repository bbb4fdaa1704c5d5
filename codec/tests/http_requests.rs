//! What the server must read in, or refuse of, each odd request head. Tests are named for the rows of the list of
//! known server faults (B1 to B29); each vector is one line: bytes, outcome.

use codec::Step;
use codec::http::limits::{
    MAX_CONTENT_LENGTH_DIGITS, MAX_HEAD_BYTES, MAX_HEADERS, MAX_LEADING_EMPTY_LINES, MAX_METHOD_BYTES, MAX_TARGET_BYTES,
};
use codec::http::request::{self, RequestError, RequestHead};
use codec::http::{BodyLength, FieldError, HeadScan, Limits, Method, Version};

fn parse(input: &[u8]) -> Result<Step<RequestHead<'_>>, RequestError> {
    request::parse(input, &mut HeadScan::new(), &Limits::DEFAULT)
}

/// The head at the start of `input` and the bytes it took.
fn accept(input: &[u8]) -> (RequestHead<'_>, usize) {
    match parse(input) {
        Ok(Step::Complete { value, consumed }) => (value, consumed),
        other => panic!("{:?} gave {other:?}", input.escape_ascii().to_string()),
    }
}

/// Asserts the error of `input`, also when it comes one byte at a time.
fn refuse(input: &[u8], error: RequestError, status: u16) {
    let shown = input[..input.len().min(200)].escape_ascii().to_string();
    assert_eq!(parse(input), Err(error), "{shown}");
    assert_eq!(error.status(), status, "{error}");
    let mut scan = HeadScan::new();
    let bytewise = (1..=input.len()).find_map(|len| request::parse(&input[..len], &mut scan, &Limits::DEFAULT).err());
    assert_eq!(bytewise, Some(error), "byte by byte: {shown}");
}

/// A 1.1 head with a Host and these further lines.
fn with(lines: &str) -> Vec<u8> {
    format!("POST / HTTP/1.1\r\nHost: a\r\n{lines}\r\n").into_bytes()
}

#[test]
fn plain_heads_are_read() {
    let input = b"GET /a/b?c=d&e HTTP/1.1\r\nhost: h:1\r\nX-A:  1 \t\r\nx-b:\r\n\r\nrest";
    let (head, consumed) = accept(input);
    assert_eq!(consumed, input.len() - 4);
    assert_eq!(head.method, Method::Get);
    assert_eq!(head.target, b"/a/b?c=d&e");
    assert_eq!(head.path(), b"/a/b");
    assert_eq!(head.query(), Some(&b"c=d&e"[..]));
    assert_eq!(head.version, Version::Http11);
    assert!(head.keep_alive && !head.expect_continue);
    assert_eq!(head.body, BodyLength::None);
    let lines: Vec<_> = head.headers.iter().collect();
    assert_eq!(lines, [(&b"host"[..], &b"h:1"[..]), (b"X-A", b"1"), (b"x-b", b"")]);
    assert_eq!(head.headers.get(b"x-a"), Some(&b"1"[..]));
    assert_eq!(head.headers.get(b"x-c"), None);
}

#[test]
fn methods_are_case_sensitive_tokens() {
    for (token, method) in [
        ("GET", Method::Get),
        ("HEAD", Method::Head),
        ("POST", Method::Post),
        ("PUT", Method::Put),
        ("DELETE", Method::Delete),
        ("OPTIONS", Method::Options),
        ("PATCH", Method::Patch),
        ("TRACE", Method::Trace),
        ("BREW", Method::Other(b"BREW")),
    ] {
        let input = format!("{token} / HTTP/1.1\r\nHost: a\r\n\r\n");
        let (head, _) = accept(input.as_bytes());
        assert_eq!(head.method, method);
        assert_eq!(head.method.as_bytes(), token.as_bytes());
    }
}

#[test]
fn targets_of_all_four_forms_have_a_path() {
    for (line, path, query) in [
        ("GET /", "/", None),
        ("GET /?", "/", Some("")),
        ("GET /a?b?c", "/a", Some("b?c")),
        ("GET //a", "//a", None),
        ("GET http://h", "/", None),
        ("GET http://h/", "/", None),
        ("GET http://h:8/x/y?z", "/x/y", Some("z")),
        ("GET http://h?z", "/", Some("z")),
        ("GET HTTP://h/x", "/x", None),
        ("OPTIONS *", "*", None),
        ("CONNECT h:443", "h:443", None),
        ("GET /\u{e9}", "/\u{e9}", None),
    ] {
        let input = format!("{line} HTTP/1.1\r\nHost: a\r\n\r\n");
        let (head, _) = accept(input.as_bytes());
        assert_eq!(head.path(), path.as_bytes(), "{line}");
        assert_eq!(head.query(), query.map(str::as_bytes), "{line}");
    }
    for line in ["GET *", "GET x", "GET h:80", "GET ://h", "GET 1http://h", "GET ?a"] {
        let input = format!("{line} HTTP/1.1\r\nHost: a\r\n\r\n");
        refuse(input.as_bytes(), RequestError::BadTarget, 400);
    }
}

#[test]
fn b1_content_length_beside_transfer_encoding_is_refused() {
    let error = RequestError::LengthAndChunked;
    refuse(
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n\
          0\r\n\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n",
        error,
        400,
    );
    refuse(&with("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n"), error, 400);
}

#[test]
fn b2_repeated_content_lengths_are_refused() {
    let two = RequestError::TwoContentLengths;
    refuse(&with("Content-Length: 5\r\nContent-Length: 6\r\n"), two, 400);
    refuse(&with("Content-Length: 5\r\ncontent-length: 5\r\n"), two, 400);
    refuse(&with("Content-Length: 5, 5\r\n"), RequestError::BadContentLength, 400);
    refuse(&with("Content-Length: 5, 6\r\n"), RequestError::BadContentLength, 400);
}

#[test]
fn b3_odd_content_lengths_are_refused() {
    for value in [
        "+5",
        "-1",
        "0x5",
        "1_0",
        "5 5",
        "",
        "18446744073709551616",
        "18446744073709551615",
        "00005",
        "00",
        "5;",
        "5.0",
        "\u{666}",
        "99999999999999999999999999",
    ] {
        let lines = format!("Content-Length: {value}\r\n");
        refuse(&with(&lines), RequestError::BadContentLength, 400);
    }
    let most = "9".repeat(MAX_CONTENT_LENGTH_DIGITS);
    for value in ["0", "1", "10", &most] {
        let input = with(&format!("Content-Length:{value}\r\n"));
        let want = BodyLength::Length(value.parse().unwrap());
        assert_eq!(accept(&input).0.body, want);
    }
}

#[test]
fn b4_space_before_the_colon_is_refused() {
    let error = FieldError::SpaceBeforeColon.into();
    refuse(&with("Content-Length : 5\r\n"), error, 400);
    refuse(&with("Transfer-Encoding\t: chunked\r\n"), error, 400);
}

#[test]
fn b5_folded_lines_are_refused() {
    let error = FieldError::Folded.into();
    refuse(&with("X: a\r\n folded\r\n"), error, 400);
    refuse(&with("X: a\r\n\tfolded\r\n"), error, 400);
    refuse(&with("Transfer-Encoding: chunked\r\n , gzip\r\n"), error, 400);
    let empty = RequestError::BadTransferEncoding;
    refuse(&with("Transfer-Encoding:\r\n chunked\r\n"), empty, 400);
    refuse(b"GET / HTTP/1.1\r\n Host: a\r\n\r\n", error, 400);
}

#[test]
fn b7_bare_line_feeds_are_refused_and_never_waited_on() {
    let error = FieldError::BareLf.into();
    refuse(b"GET / HTTP/1.1\nHost: a\n\n", error, 400);
    refuse(b"GET / HTTP/1.1\r\nHost: a\n\n", error, 400);
    refuse(b"GET / HTTP/1.1\r\nHost: a\r\n\n", error, 400);
    refuse(b"GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n", error, 400);
    refuse(b"GET / HTTP/1.0\n\n", error, 400);
    refuse(b"\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", error, 400);
    refuse(b"GET /\n\n", RequestError::NoVersion, 400);
}

#[test]
fn b8_bare_carriage_returns_and_nul_bytes_are_refused() {
    refuse(&with("X: a\rb\r\n"), FieldError::BareCr.into(), 400);
    refuse(&with("X: a\r\r\n"), FieldError::BareCr.into(), 400);
    refuse(&with("X: \r\0\r\n"), FieldError::BareCr.into(), 400);
    refuse(&with("\rX: a\r\n"), FieldError::BareCr.into(), 400);
    refuse(b"\rGET / HTTP/1.1\r\nHost: a\r\n\r\n", FieldError::BareCr.into(), 400);
    for byte in (0..32).filter(|b| ![b'\t', b'\r', b'\n'].contains(b)).chain([127]) {
        let value = format!("X: a{}b\r\n", char::from(byte));
        refuse(&with(&value), FieldError::BadValue.into(), 400);
    }
    for byte in (0..32).filter(|&b| b != b'\n').chain([127]) {
        let input = format!("GET /a{}b HTTP/1.1\r\nHost: a\r\n\r\n", char::from(byte));
        refuse(input.as_bytes(), RequestError::BadTarget, 400);
    }
    let input = with("X: \u{80}\u{ff} tab\there\r\n");
    assert_eq!(accept(&input).0.headers.get(b"x"), Some("\u{80}\u{ff} tab\there".as_bytes()));
}

#[test]
fn b15_transfer_encodings_other_than_chunked_are_refused() {
    use RequestError::{BadTransferEncoding, UnknownTransferCoding};
    for (value, error, status) in [
        ("xchunked", UnknownTransferCoding, 501),
        ("chunked, gzip", BadTransferEncoding, 400),
        ("identity", UnknownTransferCoding, 501),
        ("gzip, chunked", UnknownTransferCoding, 501),
        ("gzip", UnknownTransferCoding, 501),
        ("chunked;q=1", UnknownTransferCoding, 501),
        ("\"chunked\"", UnknownTransferCoding, 501),
        ("chunked, chunked", BadTransferEncoding, 400),
        ("chunked,", BadTransferEncoding, 400),
        (",chunked", BadTransferEncoding, 400),
        ("", BadTransferEncoding, 400),
        ("chunked\x0b", FieldError::BadValue.into(), 400),
        ("\x0bchunked", FieldError::BadValue.into(), 400),
    ] {
        let lines = format!("Transfer-Encoding: {value}\r\n");
        refuse(&with(&lines), error, status);
    }
    refuse(
        &with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
        RequestError::TwoTransferEncodings,
        400,
    );
    refuse(&with("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n"), UnknownTransferCoding, 501);
    let imitated = RequestError::ImitatedFraming;
    refuse(&with("Transfer_Encoding: chunked\r\n"), imitated, 400);
    refuse(&with("content_length: 5\r\n"), imitated, 400);
    for value in ["chunked", "Chunked", "CHUNKED", " chunked \t"] {
        let input = with(&format!("transfer-encoding:{value}\r\n"));
        assert_eq!(accept(&input).0.body, BodyLength::Chunked);
    }
}

#[test]
fn b16_transfer_encoding_on_1_0_is_refused() {
    refuse(
        b"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        RequestError::TransferEncodingOn10,
        400,
    );
}

#[test]
fn b17_host_is_there_once_on_1_1() {
    refuse(b"GET / HTTP/1.1\r\n\r\n", RequestError::NoHost, 400);
    refuse(b"GET / HTTP/1.1\r\nX-Host: a\r\n\r\n", RequestError::NoHost, 400);
    let two = RequestError::TwoHosts;
    refuse(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", two, 400);
    refuse(b"GET / HTTP/1.1\r\nHost: a\r\nhOST: a\r\n\r\n", two, 400);
    refuse(b"GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", two, 400);
    for host in ["a b", "a/b", "u@a", "a?b", "a#b", "a\\b", "\u{e9}"] {
        let input = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        refuse(input.as_bytes(), RequestError::BadHost, 400);
    }
    for host in ["", "a", "a:80", "127.0.0.1:8080", "[::1]:80", "xn--9ca.example", "a_b%20"] {
        let input = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        accept(input.as_bytes());
    }
    accept(b"GET / HTTP/1.0\r\n\r\n");
}

#[test]
fn b19_keep_alive_follows_version_and_connection() {
    for (input, keep_alive) in [
        ("GET / HTTP/1.0\r\n\r\n", false),
        ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true),
        ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true),
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", true),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: a\r\nconnection: Close\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, close\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nConnection: close\r\nHost: a\r\nConnection: keep-alive\r\n\r\n", false),
    ] {
        assert_eq!(accept(input.as_bytes()).0.keep_alive, keep_alive, "{input}");
    }
}

#[test]
fn b21_expectations() {
    for (lines, expects) in [
        ("Expect: 100-continue\r\nContent-Length: 5\r\n", true),
        ("expect: 100-Continue\r\nTransfer-Encoding: chunked\r\n", true),
        ("Expect: 100-continue\r\n", false),
        ("Expect: 100-continue\r\nContent-Length: 0\r\n", false),
        ("Content-Length: 5\r\n", false),
    ] {
        assert_eq!(accept(&with(lines)).0.expect_continue, expects, "{lines}");
    }
    let on_10 = b"POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";
    assert!(!accept(on_10).0.expect_continue);
    let unknown = RequestError::UnknownExpectation;
    refuse(&with("Expect: 200-ok\r\nContent-Length: 5\r\n"), unknown, 417);
    refuse(&with("Expect: \r\n"), unknown, 417);
}

#[test]
fn b22_long_parts_are_refused_within_the_limit() {
    let long_line = format!("X: {}\r\n", "x".repeat(64 * 1024));
    refuse(&with(&long_line), RequestError::HeadTooLong, 431);
    let many_long = format!("X: {}\r\n", "x".repeat(8 * 1024)).repeat(100);
    refuse(&with(&many_long), RequestError::HeadTooLong, 431);
    refuse(&with(&"a:b\r\n".repeat(5000)), RequestError::TooManyHeaders, 431);
    let long_name = format!("{}: x\r\n", "x".repeat(64 * 1024));
    refuse(&with(&long_name), RequestError::HeadTooLong, 431);
    let long_target = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(64 * 1024));
    refuse(long_target.as_bytes(), RequestError::TargetTooLong, 414);

    accept(&with(&"a:b\r\n".repeat(MAX_HEADERS - 1)));
    refuse(&with(&"a:b\r\n".repeat(MAX_HEADERS)), RequestError::TooManyHeaders, 431);
    let longest = |bytes: usize| format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(bytes - 1)).into_bytes();
    accept(&longest(MAX_TARGET_BYTES));
    refuse(&longest(MAX_TARGET_BYTES + 1), RequestError::TargetTooLong, 414);
    let filled = |head_bytes: usize| {
        let spare = head_bytes - with("X: \r\n").len();
        with(&format!("X: {}\r\n", "x".repeat(spare)))
    };
    accept(&filled(MAX_HEAD_BYTES));
    refuse(&filled(MAX_HEAD_BYTES + 1), RequestError::HeadTooLong, 431);
}

#[test]
fn b26_empty_lines_before_the_request_line_are_skipped_up_to_a_bound() {
    let head = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    for lines in 0..=MAX_LEADING_EMPTY_LINES {
        let input = "\r\n".repeat(lines) + head;
        assert_eq!(accept(input.as_bytes()).1, input.len());
    }
    let input = "\r\n".repeat(MAX_LEADING_EMPTY_LINES + 1) + head;
    refuse(input.as_bytes(), RequestError::TooManyEmptyLines, 400);
}

#[test]
fn b26_garbage_behind_a_closing_request_is_left_alone() {
    let head = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let input = [&head[..], b"\0\x01garbage"].concat();
    let (value, consumed) = accept(&input);
    assert!(!value.keep_alive);
    assert_eq!(consumed, head.len());
}

#[test]
fn b27_versions() {
    use RequestError::{BadVersion, NoVersion, UnsupportedVersion};
    for (version, error, status) in [
        ("HTTP/2.0", UnsupportedVersion, 505),
        ("HTTP/0.9", UnsupportedVersion, 505),
        ("HTTP/9.9", UnsupportedVersion, 505),
        ("http/1.1", BadVersion, 400),
        ("HTTP/1.10", BadVersion, 400),
        ("HTTP/11.1", BadVersion, 400),
        ("HTTP/1", BadVersion, 400),
        ("HTTP/1.", BadVersion, 400),
        ("HTTP/1.x", BadVersion, 400),
        ("HTTP/1,1", BadVersion, 400),
        ("HTTP/1.1 ", BadVersion, 400),
        ("HTTP/1.1 x", BadVersion, 400),
        ("x", BadVersion, 400),
        ("HTTP/1.1\r", BadVersion, 400),
        ("", BadVersion, 400),
    ] {
        let input = format!("GET / {version}\r\nHost: a\r\n\r\n");
        refuse(input.as_bytes(), error, status);
    }
    refuse(b"GET /\r\nHost: a\r\n\r\n", NoVersion, 400);
    refuse(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", RequestError::BadTarget, 400);
    for version in ["HTTP/1.1", "HTTP/1.2", "HTTP/1.9"] {
        let input = format!("GET / {version}\r\nHost: a\r\n\r\n");
        assert_eq!(accept(input.as_bytes()).0.version, Version::Http11);
    }
    let (head, _) = accept(b"GET / HTTP/1.0\r\n\r\n");
    assert_eq!(head.version, Version::Http10);
}

#[test]
fn b28_methods_and_request_line_spacing() {
    for token in ["get", "GETX"] {
        let input = format!("{token} / HTTP/1.1\r\nHost: a\r\n\r\n");
        let (head, _) = accept(input.as_bytes());
        assert_eq!(head.method, Method::Other(token.as_bytes()));
    }
    let long = |bytes: usize| format!("{} / HTTP/1.1\r\nHost: a\r\n\r\n", "M".repeat(bytes));
    accept(long(MAX_METHOD_BYTES).as_bytes());
    for bytes in [MAX_METHOD_BYTES + 1, 10 * 1024] {
        refuse(long(bytes).as_bytes(), RequestError::MethodTooLong, 501);
    }
    for (line, error) in [
        ("G\"T / HTTP/1.1", RequestError::BadMethod),
        ("G\u{e9}T / HTTP/1.1", RequestError::BadMethod),
        (" GET / HTTP/1.1", RequestError::BadMethod),
        ("GET\t/ HTTP/1.1", RequestError::BadMethod),
        ("GET  / HTTP/1.1", RequestError::BadTarget),
        ("GET /  HTTP/1.1", RequestError::BadVersion),
        ("GET /\tHTTP/1.1", RequestError::BadTarget),
        ("GET /a b HTTP/1.1", RequestError::BadVersion),
        ("GET", RequestError::BadMethod),
        ("GET ", RequestError::NoVersion),
    ] {
        let input = format!("{line}\r\nHost: a\r\n\r\n");
        refuse(input.as_bytes(), error, 400);
    }
}

#[test]
fn b29_header_names_are_tokens() {
    for (line, error) in [
        ("X[]: a", FieldError::BadName),
        ("X\u{e9}: a", FieldError::BadName),
        ("(X): a", FieldError::BadName),
        ("X\0: a", FieldError::BadName),
        ("Content-Length\x0b: 5", FieldError::BadName),
        (": a", FieldError::EmptyName),
        ("no colon", FieldError::SpaceBeforeColon),
        ("nocolon", FieldError::NoColon),
    ] {
        refuse(&with(&format!("{line}\r\n")), error.into(), 400);
    }
    let input = with("!#$%&'*+-.^_`|~09azAZ: a\r\n");
    assert_eq!(accept(&input).0.headers.get(b"!#$%&'*+-.^_`|~09azaz"), Some(&b"a"[..]));
}

#[test]
fn b30_other_protocols_are_refused_at_their_first_bytes() {
    refuse(b"\x16\x03\x01\x02\x00\x01\x00\x01", RequestError::BadMethod, 400);
    refuse(b"\0\0\0\x20ZAP\0\x01\0\0\x01", RequestError::BadMethod, 400);
}

#[test]
fn a_scan_serves_the_next_head_after_each_complete_one() {
    let input = b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut scan = HeadScan::new();
    let mut at = 0;
    for target in [b"/1", b"/2"] {
        let step = request::parse(&input[at..], &mut scan, &Limits::DEFAULT).unwrap();
        let (head, consumed) = step.complete().unwrap();
        assert_eq!(head.target, target);
        at += consumed;
    }
    assert_eq!(at, input.len());
}
