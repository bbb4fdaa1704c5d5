//! What Content-Length and Transfer-Encoding values say (RFC 9112 sections 6.1 to 6.3, RFC 9110 section 8.6).
//!
//! Owns the reading of single values. What a combination of fields means differs by side and stands in `request` and
//! `response`.

use super::limits::MAX_CONTENT_LENGTH_DIGITS;

/// A Content-Length value: digits only, no sign, no list, no leading zero, at most 19 digits.
#[inline]
pub(super) fn content_length(value: &[u8]) -> Option<u64> {
    if value.is_empty() || value.len() > MAX_CONTENT_LENGTH_DIGITS {
        return None;
    }
    if value[0] == b'0' && value.len() > 1 {
        return None;
    }
    let mut length = 0u64;
    for &byte in value {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        length = length * 10 + u64::from(digit);
    }
    Some(length)
}

/// What a Transfer-Encoding value lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codings {
    /// Exactly `chunked`.
    Chunked,
    /// Other codings, then `chunked`.
    OthersThenChunked,
    /// Codings without `chunked`.
    Others,
    /// Nothing, or `chunked` anywhere but once at the end.
    Malformed,
}

/// Reads a Transfer-Encoding value; coding names are compared without regard to ASCII case.
pub(super) fn codings(value: &[u8]) -> Codings {
    if value.eq_ignore_ascii_case(b"chunked") {
        return Codings::Chunked;
    }
    let mut seen_others = false;
    let mut seen_chunked = false;
    for coding in value.split(|&b| b == b',') {
        let coding = coding.trim_ascii();
        if coding.is_empty() || seen_chunked {
            return Codings::Malformed;
        }
        if coding.eq_ignore_ascii_case(b"chunked") {
            seen_chunked = true;
        } else {
            seen_others = true;
        }
    }
    match (seen_others, seen_chunked) {
        (true, true) => Codings::OthersThenChunked,
        (true, false) => Codings::Others,
        (false, _) => Codings::Malformed,
    }
}
