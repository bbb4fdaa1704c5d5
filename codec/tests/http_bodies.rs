//! Bodies: where they end, how they split, and what chunk framing is refused (rows B7, B11, B12, B14, C7, C9).

use codec::http::limits::{MAX_CHUNK_EXTENSION_BYTES, MAX_CHUNK_SIZE_DIGITS, MAX_TRAILER_BYTES};
use codec::http::{BodyError, BodyLength, BodyReader};

/// Reads the body at the start of `input` with its bytes arriving in runs of `step`: its content and the bytes it took,
/// or `None` where it is not complete.
fn read(length: BodyLength, input: &[u8], step: usize) -> Result<Option<(Vec<u8>, usize)>, BodyError> {
    let mut reader = BodyReader::new(length);
    let (mut at, mut content) = (0, Vec::new());
    for end in (0..input.len()).step_by(step).skip(1).chain([input.len()]) {
        loop {
            let piece = reader.read(&input[at..end])?;
            at += piece.consumed;
            content.extend_from_slice(piece.data);
            assert_eq!(piece.done, reader.is_done());
            if piece.done {
                return Ok(Some((content, at)));
            }
            if at == end {
                break;
            }
        }
    }
    Ok(None)
}

/// The same from runs of every length; all must agree.
fn chunked(input: &[u8]) -> Result<Option<(Vec<u8>, usize)>, BodyError> {
    let whole = read(BodyLength::Chunked, input, input.len().max(1));
    for step in 1..input.len().min(64) {
        let shown = input.escape_ascii();
        assert_eq!(read(BodyLength::Chunked, input, step), whole, "{step}: {shown}");
    }
    whole
}

fn done(content: &str, bytes: usize) -> Result<Option<(Vec<u8>, usize)>, BodyError> {
    Ok(Some((content.into(), bytes)))
}

#[test]
fn b11_counted_bodies_end_exactly() {
    let input = b"helloGET / HTTP/1.1\r\n";
    for step in 1..input.len() {
        assert_eq!(read(BodyLength::Length(5), input, step), done("hello", 5));
        assert_eq!(read(BodyLength::Length(0), input, step), done("", 0));
        assert_eq!(read(BodyLength::None, input, step), done("", 0));
        assert_eq!(read(BodyLength::Length(99), input, step), Ok(None));
    }
    assert_eq!(BodyReader::new(BodyLength::Length(7)).known_left(), 7);
}

#[test]
fn c7_chunks_are_joined_and_framing_is_dropped() {
    for (input, content) in [
        ("0\r\n\r\n", ""),
        ("5\r\nhello\r\n0\r\n\r\n", "hello"),
        ("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", "hello world"),
        ("a\r\n0123456789\r\n0\r\n\r\n", "0123456789"),
        ("A\r\n0123456789\r\n0\r\n\r\n", "0123456789"),
        ("00005\r\nhello\r\n000\r\n\r\n", "hello"),
        ("0000000000000005\r\nhello\r\n0\r\n\r\n", "hello"),
        ("5;a\r\nhello\r\n0;b=\"c;d\"\r\n\r\n", "hello"),
        ("5; a = b\t\r\nhello\r\n0\r\n\r\n", "hello"),
        ("5;\r\nhello\r\n0\r\n\r\n", "hello"),
        ("2\r\n\r\n\r\n0\r\n\r\n", "\r\n"),
        ("5\r\n0\r\n\r\n\r\n0\r\n\r\n", "0\r\n\r\n"),
    ] {
        assert_eq!(chunked(input.as_bytes()), done(content, input.len()), "{input}");
        let followed = format!("{input}GET / HTTP/1.1\r\n");
        assert_eq!(chunked(followed.as_bytes()), done(content, input.len()), "{input}");
    }
}

#[test]
fn b12_odd_chunk_sizes_are_refused() {
    for line in
        ["0x5", "+5", "-1", "5_0", " 5", "5 ;ext", "5 ", "\t5", "", ";a", "g", "5,5", "5\u{e9}", "\r5", "5\r5", "0\r0"]
    {
        let input = format!("{line}\r\nhello\r\n0\r\n\r\n");
        assert_eq!(chunked(input.as_bytes()), Err(BodyError::BadChunkSize), "{line:?}");
    }
    for line in ["FFFFFFFFFFFFFFFFF", "00000000000000005", "10000000000000000"] {
        let input = format!("{line}\r\nhello\r\n0\r\n\r\n");
        assert_eq!(chunked(input.as_bytes()), Err(BodyError::ChunkSizeTooLong));
    }
    let most = "f".repeat(usize::from(MAX_CHUNK_SIZE_DIGITS));
    let mut reader = BodyReader::new(BodyLength::Chunked);
    let input = format!("{most}\r\nx");
    let piece = reader.read(input.as_bytes()).unwrap();
    assert_eq!((piece.data, piece.consumed), (&b"x"[..], input.len()));
    assert_eq!(reader.known_left(), u64::MAX - 1);
}

#[test]
fn b7_bare_line_feeds_in_chunk_framing_are_refused() {
    for (input, error) in [
        (&b"5\nhello\r\n0\r\n\r\n"[..], BodyError::BadChunkSize),
        (b"5\r\nhello\n0\r\n\r\n", BodyError::BadChunkEnd),
        (b"5\r\nhello0\r\n\r\n", BodyError::BadChunkEnd),
        (b"5\r\nhello!\r\n0\r\n\r\n", BodyError::BadChunkEnd),
        (b"5\r\nhello\r\r\n0\r\n\r\n", BodyError::BadChunkEnd),
        (b"5\r\nhell\r\n0\r\n\r\n", BodyError::BadChunkEnd),
        (b"0\n\r\n", BodyError::BadChunkSize),
        (b"0\r\n\n", BodyError::BadTrailer),
        (b"0\r\n\rx", BodyError::BadTrailer),
        (b"5;a\nhello\r\n0\r\n\r\n", BodyError::BadChunkExtension),
        (b"5;a\0\r\nhello\r\n0\r\n\r\n", BodyError::BadChunkExtension),
        (b"5;a\rb\r\nhello\r\n0\r\n\r\n", BodyError::BadChunkSize),
        (b"0\r\nX: y\n\r\n", BodyError::BadTrailer),
    ] {
        assert_eq!(chunked(input), Err(error), "{}", input.escape_ascii());
    }
}

#[test]
fn chunk_extensions_are_bounded_per_chunk() {
    let most = usize::from(MAX_CHUNK_EXTENSION_BYTES);
    let one = |bytes: usize| format!("1;{}\r\nx\r\n", "e".repeat(bytes - 1));
    let input = one(most).repeat(3) + "0\r\n\r\n";
    assert_eq!(chunked(input.as_bytes()), done("xxx", input.len()));
    let input = one(most + 1) + "0\r\n\r\n";
    assert_eq!(chunked(input.as_bytes()), Err(BodyError::ChunkExtensionTooLong));
}

#[test]
fn b14_trailers_are_skipped_and_bounded() {
    for trailers in [
        "X: y\r\n",
        "X:\r\n",
        "Content-Length: 5\r\nHost: b\r\nTransfer-Encoding: chunked\r\n",
        "X: \u{e9} tab\there\r\n",
    ] {
        let input = format!("5\r\nhello\r\n0\r\n{trailers}\r\n");
        let followed = format!("{input}GET /");
        assert_eq!(chunked(followed.as_bytes()), done("hello", input.len()));
    }
    for trailers in ["no colon\r\n", ": x\r\n", " X: y\r\n", "X : y\r\n", "X: y\r\n z\r\n", "X: \0\r\n"] {
        let input = format!("0\r\n{trailers}\r\n");
        assert_eq!(chunked(input.as_bytes()), Err(BodyError::BadTrailer), "{trailers:?}");
    }
    let filled = |bytes: usize| format!("0\r\nX: {}\r\n\r\n", "y".repeat(bytes - 5));
    let most = usize::from(MAX_TRAILER_BYTES);
    let input = filled(most);
    assert_eq!(chunked(input.as_bytes()), done("", input.len()));
    assert_eq!(chunked(filled(most + 1).as_bytes()), Err(BodyError::TrailersTooLong));
    let many = format!("0\r\n{}\r\n", "a:\r\n".repeat(most / 4 + 1));
    assert_eq!(chunked(many.as_bytes()), Err(BodyError::TrailersTooLong));
}

#[test]
fn c9_an_early_close_is_seen_at_every_byte() {
    let input = b"5;x\r\nhello\r\n0\r\nX: y\r\n\r\n";
    for cut in 0..input.len() {
        let mut reader = BodyReader::new(BodyLength::Chunked);
        let mut at = 0;
        while at < cut {
            at += reader.read(&input[at..cut]).unwrap().consumed;
        }
        assert_eq!(reader.finish_eof(), Err(BodyError::Truncated), "cut at {cut}");
    }
    let mut reader = BodyReader::new(BodyLength::Length(5));
    reader.read(b"hell").unwrap();
    assert_eq!(reader.finish_eof(), Err(BodyError::Truncated));
    reader.read(b"o").unwrap();
    assert_eq!(reader.finish_eof(), Ok(()));
}

#[test]
fn a_read_of_nothing_changes_nothing() {
    for length in [BodyLength::Length(3), BodyLength::Chunked, BodyLength::UntilClose] {
        let mut reader = BodyReader::new(length);
        let before = reader;
        let piece = reader.read(b"").unwrap();
        assert_eq!((piece.data, piece.consumed, piece.done), (&b""[..], 0, false));
        assert_eq!(reader, before);
    }
    let piece = BodyReader::new(BodyLength::None).read(b"next").unwrap();
    assert_eq!((piece.consumed, piece.done), (0, true));
}
