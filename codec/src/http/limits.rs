//! Every bound of the HTTP/1.1 half, with its unit and its reason.
//!
//! Owns the numbers only. The two that a front end may want to change per listener are fields of [`Limits`]; the rest
//! are constants.

/// Bytes of one head, from the first byte of its first line through the empty line. Curl and browsers stay below
/// 8 KiB with large cookies; 16 KiB is also one connection's first receive buffer, so a head never needs a second.
pub const MAX_HEAD_BYTES: usize = 16 * 1024;

/// Header lines in one head. Browsers send about 20, proxies add 10; more is an attack or a bug.
pub const MAX_HEADERS: usize = 100;

/// Bytes of a request target. RFC 9112 section 3 asks for at least 8000 octets.
pub const MAX_TARGET_BYTES: usize = 8 * 1024;

/// Bytes of a method. The longest registered one, `UPDATEREDIRECTREF`, has 17.
pub const MAX_METHOD_BYTES: usize = 32;

/// Bytes of a version token through its line end that are looked at before giving up: `HTTP/1.1` and CRLF have 10.
pub const MAX_VERSION_BYTES: usize = 16;

/// Empty lines skipped before a request line (RFC 9112 section 2.2 asks for at least one).
pub const MAX_LEADING_EMPTY_LINES: usize = 4;

/// Digits of a Content-Length: 19 nines still fit in a `u64`, so no sum can overflow.
pub const MAX_CONTENT_LENGTH_DIGITS: usize = 19;

/// Hexadecimal digits of a chunk size, leading zeros included: 16 fill a `u64`.
pub const MAX_CHUNK_SIZE_DIGITS: u8 = 16;

/// Bytes of the extensions of one chunk, from its first `;` to the CR. Signed uploads use about 90.
pub const MAX_CHUNK_EXTENSION_BYTES: u16 = 256;

/// Bytes of all trailer lines of one message, line ends included; they are skipped, so few are needed.
pub const MAX_TRAILER_BYTES: u16 = 4 * 1024;

/// Bounds of one head that a caller may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one head, its empty line included and leading empty lines not. At most `u32::MAX / 2`.
    pub head_bytes: usize,
    /// Header lines in one head.
    pub headers: usize,
    /// Bytes of a request target.
    pub target_bytes: usize,
}

impl Limits {
    /// [`MAX_HEAD_BYTES`], [`MAX_HEADERS`] and [`MAX_TARGET_BYTES`].
    pub const DEFAULT: Self = Self { head_bytes: MAX_HEAD_BYTES, headers: MAX_HEADERS, target_bytes: MAX_TARGET_BYTES };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
