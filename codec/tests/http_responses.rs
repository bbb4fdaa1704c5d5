//! What the load generator must read in, or refuse of, each odd response head. Tests are named for the rows of the
//! list of known loader faults (C1 to C11).

use codec::Step;
use codec::http::limits::{MAX_HEAD_BYTES, MAX_HEADERS};
use codec::http::response::{self, ResponseError, ResponseHead};
use codec::http::{BodyLength, BodyReader, FieldError, HeadScan, Limits, Version};

fn parse(input: &[u8], was_head: bool) -> Result<Step<ResponseHead<'_>>, ResponseError> {
    response::parse(input, &mut HeadScan::new(), was_head, &Limits::DEFAULT)
}

fn accept(input: &[u8]) -> ResponseHead<'_> {
    match parse(input, false) {
        Ok(Step::Complete { value, consumed }) => {
            assert_eq!(consumed, input.len());
            value
        }
        other => panic!("{:?} gave {other:?}", input.escape_ascii().to_string()),
    }
}

/// Asserts the error of `input`, also when it comes one byte at a time.
fn refuse(input: &[u8], error: ResponseError) {
    let shown = input[..input.len().min(200)].escape_ascii().to_string();
    assert_eq!(parse(input, false), Err(error), "{shown}");
    let mut scan = HeadScan::new();
    let bytewise =
        (1..=input.len()).find_map(|len| response::parse(&input[..len], &mut scan, false, &Limits::DEFAULT).err());
    assert_eq!(bytewise, Some(error), "byte by byte: {shown}");
}

#[test]
fn plain_heads_are_read() {
    let head = accept(b"HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\nX: y\r\n\r\n");
    assert_eq!(head.status, 404);
    assert_eq!(head.version, Version::Http11);
    assert!(head.keep_alive && !head.interim);
    assert_eq!(head.body, BodyLength::Length(3));
    assert_eq!(head.headers.get(b"x"), Some(&b"y"[..]));
}

#[test]
fn c1_neither_length_nor_chunked_means_until_close() {
    let head = accept(b"HTTP/1.1 200 OK\r\n\r\n");
    assert_eq!(head.body, BodyLength::UntilClose);
    assert!(!head.keep_alive);
    let mut reader = BodyReader::new(head.body);
    let piece = reader.read(b"all of it").unwrap();
    assert_eq!((piece.data, piece.done), (&b"all of it"[..], false));
    assert_eq!(reader.finish_eof(), Ok(()));
    assert!(reader.is_done());
}

#[test]
fn c2_close_with_a_length_is_a_whole_answer() {
    let head = accept(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\n");
    assert_eq!(head.body, BodyLength::Length(5));
    assert!(!head.keep_alive);
}

#[test]
fn c4_an_answer_to_head_has_no_body() {
    for fields in ["Content-Length: 1234", "Transfer-Encoding: chunked", "X: y"] {
        let input = format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n");
        let step = parse(input.as_bytes(), true).unwrap();
        let (head, _) = step.complete().unwrap();
        assert_eq!(head.body, BodyLength::None);
        assert!(head.keep_alive);
        assert!(BodyReader::new(head.body).is_done());
    }
}

#[test]
fn c5_204_and_304_have_no_body() {
    for status in ["204 No Content", "304 Not Modified"] {
        for fields in ["", "Content-Length: 7\r\n", "Transfer-Encoding: chunked\r\n"] {
            let input = format!("HTTP/1.1 {status}\r\n{fields}\r\n");
            let head = accept(input.as_bytes());
            assert_eq!(head.body, BodyLength::None);
            assert!(head.keep_alive);
        }
    }
}

#[test]
fn c6_interim_heads_are_skipped_and_101_is_an_error() {
    let input = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102\r\n\r\n\
        HTTP/1.1 103 Early Hints\r\nLink: x\r\nContent-Length: 9\r\n\r\n\
        HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
    let mut scan = HeadScan::new();
    let (mut at, mut seen) = (0, Vec::new());
    while at < input.len() {
        let step = response::parse(&input[at..], &mut scan, false, &Limits::DEFAULT).unwrap();
        let (head, consumed) = step.complete().unwrap();
        assert_eq!(head.interim, head.status < 200);
        assert_eq!(head.interim, head.body == BodyLength::None);
        seen.push(head.status);
        at += consumed;
    }
    assert_eq!(seen, [100, 102, 103, 200]);
    refuse(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n",
        ResponseError::UnaskedUpgrade,
    );
}

#[test]
fn c7_chunked_is_recognised() {
    for value in ["chunked", "Chunked", "gzip, chunked"] {
        let input = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {value}\r\n\r\n");
        assert_eq!(accept(input.as_bytes()).body, BodyLength::Chunked);
    }
    let head = accept(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n");
    assert_eq!(head.body, BodyLength::UntilClose);
}

#[test]
fn c10_lenient_heads_are_accepted() {
    for input in [
        &b"HTTP/1.1 200\r\nContent-Length: 5\r\n\r\n"[..],
        b"HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length:5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nCONTENT-LENGTH:\t 5 \t\r\n\r\n",
        b"HTTP/1.1 200 \xe9\ttab  and spaces\r\nContent-Length: 5\r\n\r\n",
        b"HTTP/1.2 200 OK\r\nContent-Length: 5\r\n\r\n",
    ] {
        let head = accept(input);
        assert_eq!((head.status, head.body), (200, BodyLength::Length(5)));
        assert_eq!(head.version, Version::Http11);
    }
    let head = accept(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n");
    assert_eq!(head.version, Version::Http10);
    assert!(!head.keep_alive);
    assert!(accept(b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\n").keep_alive);
    assert_eq!(accept(b"HTTP/1.1 999 x\r\n\r\n").status, 999);
}

#[test]
fn c11_doubtful_framing_is_refused() {
    use ResponseError::{
        BadContentLength, BadTransferEncoding, LengthAndChunked, TransferEncodingOn10, TwoContentLengths,
        TwoTransferEncodings,
    };
    for (fields, error) in [
        ("Transfer-Encoding: chunked\r\nContent-Length: 5", LengthAndChunked),
        ("Content-Length: 5\r\nTransfer-Encoding: chunked", LengthAndChunked),
        ("Content-Length: 5\r\nContent-Length: 6", TwoContentLengths),
        ("Content-Length: 5\r\nContent-Length: 5", TwoContentLengths),
        ("Content-Length: 5, 5", BadContentLength),
        ("Content-Length: -5", BadContentLength),
        ("Content-Length: 12345678901234567890", BadContentLength),
        ("Content-Length: ", BadContentLength),
        ("Transfer-Encoding: chunked, chunked", BadTransferEncoding),
        ("Transfer-Encoding: chunked, gzip", BadTransferEncoding),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", TwoTransferEncodings),
    ] {
        refuse(format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n").as_bytes(), error);
    }
    refuse(b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", TransferEncodingOn10);
}

#[test]
fn what_is_no_response_is_refused() {
    use ResponseError::{BadReason, BadStatus, BadVersion};
    for (input, error) in [
        (&b"HTTP/2.0 200 OK\r\n\r\n"[..], BadVersion),
        (b"http/1.1 200 OK\r\n\r\n", BadVersion),
        (b"\r\nHTTP/1.1 200 OK\r\n\r\n", BadVersion),
        (b"GET / HTTP/1.1\r\n\r\n", BadVersion),
        (b"\0\0\0\x20ZAP\0", BadVersion),
        (b"HTTP/1.1  200 OK\r\n\r\n", BadStatus),
        (b"HTTP/1.1 099 OK\r\n\r\n", BadStatus),
        (b"HTTP/1.1 2x0 OK\r\n\r\n", BadStatus),
        (b"HTTP/1.1 20 OK\r\n\r\n", BadStatus),
        (b"HTTP/1.1 2000 OK\r\n\r\n", BadStatus),
        (b"HTTP/1.1\r\n\r\n", BadVersion),
        (b"HTTP/1.1\n\n", BadVersion),
        (b"HTTP/1.\n\n", BadVersion),
        (b"HTTP/1.1 2\n\n", BadStatus),
        (b"HTTP/1.1 20\r\n\r\n", BadStatus),
        (b"HTTP/1.1 200 O\0K\r\n\r\n", BadReason),
        (b"HTTP/1.1 200 O\rK\r\n\r\n", ResponseError::Field(FieldError::BareCr)),
        (b"HTTP/1.1 200 OK\n\n", ResponseError::Field(FieldError::BareLf)),
        (b"HTTP/1.1 200 OK\r\nX: y\n\n", ResponseError::Field(FieldError::BareLf)),
        (b"HTTP/1.1 200 OK\r\nX : y\r\n\r\n", ResponseError::Field(FieldError::SpaceBeforeColon)),
        (b"HTTP/1.1 200 OK\r\nX: y\r\n z\r\n\r\n", ResponseError::Field(FieldError::Folded)),
    ] {
        refuse(input, error);
    }
}

#[test]
fn long_heads_are_refused() {
    let mut input = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
    input.resize(MAX_HEAD_BYTES, b'x');
    refuse(&input, ResponseError::HeadTooLong);
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a:b\r\n".repeat(MAX_HEADERS + 1));
    refuse(many.as_bytes(), ResponseError::TooManyHeaders);
}
