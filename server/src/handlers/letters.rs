//! `GET /bytes/{n}` and `GET /stream/{chunks}/{size}`: letters of the shared pattern, counted or streamed.

use std::io::Write;

use bytes::Bytes;

use crate::{
    answer::{Answer, Body, OCTETS},
    limits::{
        MAX_ANSWER_BODY_BYTES, MAX_COPIED_PATTERN_BYTES, MAX_STREAM_CHUNK_BYTES, MAX_STREAM_CHUNKS, PATTERN_BYTES,
    },
    route::{BYTES_PREFIX, STREAM_PREFIX},
};

/// Why a number in a path is not served.
enum NumberError {
    Malformed,
    AboveLimit,
}

/// Plain decimal digits, at most `limit`.
fn number(digits: &[u8], limit: usize) -> Result<usize, NumberError> {
    if digits.is_empty() {
        return Err(NumberError::Malformed);
    }
    let mut value: usize = 0;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(NumberError::Malformed);
        }
        value = value.saturating_mul(10).saturating_add(usize::from(digit));
    }
    if value > limit { Err(NumberError::AboveLimit) } else { Ok(value) }
}

fn refused<'a>(error: NumberError, what: &str, limit: usize, scratch: &'a mut Vec<u8>) -> Answer<'a> {
    let status = match error {
        NumberError::Malformed => 400,
        NumberError::AboveLimit => 413,
    };
    write!(scratch, "{what} must be a decimal number from 0 to {limit}").expect("memory takes any text");
    Answer::text(status, scratch)
}

pub(super) fn counted<'a>(path: &[u8], pattern: &Bytes, scratch: &'a mut Vec<u8>) -> Answer<'a> {
    match number(&path[BYTES_PREFIX.len()..], MAX_ANSWER_BODY_BYTES) {
        Ok(body_bytes) if (MAX_COPIED_PATTERN_BYTES..=PATTERN_BYTES).contains(&body_bytes) => {
            Answer::new(200, OCTETS, Body::Shared(pattern.slice(..body_bytes)))
        }
        Ok(body_bytes) => Answer::new(200, OCTETS, Body::Counted { body_bytes }),
        Err(error) => refused(error, "the number of bytes", MAX_ANSWER_BODY_BYTES, scratch),
    }
}

pub(super) fn stream<'a>(path: &[u8], scratch: &'a mut Vec<u8>) -> Answer<'a> {
    let rest = &path[STREAM_PREFIX.len()..];
    let (chunks, chunk_bytes) = match rest.iter().position(|&byte| byte == b'/') {
        Some(slash) => (&rest[..slash], &rest[slash + 1..]),
        None => (rest, &[][..]),
    };
    let chunks = match number(chunks, MAX_STREAM_CHUNKS) {
        Ok(chunks) => chunks,
        Err(error) => return refused(error, "the number of chunks", MAX_STREAM_CHUNKS, scratch),
    };
    match number(chunk_bytes, MAX_STREAM_CHUNK_BYTES) {
        Ok(chunk_bytes) => Answer::new(200, OCTETS, Body::Chunks { chunks, chunk_bytes }),
        Err(error) => refused(error, "the bytes of a chunk", MAX_STREAM_CHUNK_BYTES, scratch),
    }
}
