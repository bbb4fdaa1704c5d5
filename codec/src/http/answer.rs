//! Writing response heads (RFC 9112 sections 4 and 6).
//!
//! Owns status lines and which framing fields a status may carry. Must not know routes, clocks or bodies: the date
//! comes in as text, and after a HEAD request the caller passes the length of the answer it does not send.

use super::body::BodyLength;

/// What the Connection field of a head says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ConnectionHeader {
    /// No Connection field: the version's default holds.
    #[default]
    None,
    /// `close`
    Close,
    /// `keep-alive`, which a 1.0 client needs to see.
    KeepAlive,
}

/// The parts of a response head.
#[derive(Debug, Clone, Copy)]
pub struct HeadParts<'a> {
    /// The status, 100 to 999.
    pub status: u16,
    /// The Content-Type value, if any.
    pub content_type: Option<&'a [u8]>,
    /// The Date value in IMF-fixdate form (RFC 9110 section 5.6.7), if any.
    pub date: Option<&'a [u8; 29]>,
    /// The body's length. `None` on a status that can have content is written as `Content-Length: 0`, since saying
    /// nothing would mean a body until close; 1xx and 204 carry no framing field whatever stands here (RFC 9110
    /// section 8.6), and 304 only a `Length`. `UntilClose` writes no length and turns `connection` into `Close`.
    pub length: BodyLength,
    /// The Connection field.
    pub connection: ConnectionHeader,
    /// Further (name, value) pairs, written as they are. Must hold no CR or LF.
    pub extra: &'a [(&'a [u8], &'a [u8])],
}

impl Default for HeadParts<'_> {
    /// `200 OK` without content.
    fn default() -> Self {
        Self {
            status: 200,
            content_type: None,
            date: None,
            length: BodyLength::None,
            connection: ConnectionHeader::None,
            extra: &[],
        }
    }
}

/// Bytes of the fixed parts of a head at most: the longest status line, Date, lengths, Connection and all names.
const FIXED_BYTES: usize = 256;

/// Appends a whole head, its empty line included, for HTTP/1.1 (which is what a server writes to 1.0 clients too,
/// RFC 9112 section 2.3).
#[inline]
pub fn write_head(out: &mut Vec<u8>, parts: &HeadParts<'_>) {
    debug_assert!(
        parts.extra.iter().all(|(name, value)| { super::class::is_token(name) && super::class::is_field_value(value) })
    );
    out.reserve(FIXED_BYTES + parts.content_type.map_or(0, <[u8]>::len));
    write_status_line(out, parts.status);
    if let Some(date) = parts.date {
        out.extend_from_slice(b"Date: ");
        out.extend_from_slice(date);
        out.extend_from_slice(b"\r\n");
    }
    if let Some(content_type) = parts.content_type {
        write_field(out, b"Content-Type", content_type);
    }
    write_length(out, parts);
    let connection = match parts.length {
        BodyLength::UntilClose => ConnectionHeader::Close,
        _ => parts.connection,
    };
    match connection {
        ConnectionHeader::None => {}
        ConnectionHeader::Close => out.extend_from_slice(b"Connection: close\r\n"),
        ConnectionHeader::KeepAlive => out.extend_from_slice(b"Connection: keep-alive\r\n"),
    }
    for (name, value) in parts.extra {
        write_field(out, name, value);
    }
    out.extend_from_slice(b"\r\n");
}

/// Appends `HTTP/1.1 100 Continue` and its empty line.
pub fn write_continue(out: &mut Vec<u8>) {
    out.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
}

fn write_length(out: &mut Vec<u8>, parts: &HeadParts<'_>) {
    let bytes = match (parts.status, parts.length) {
        (100..=199 | 204, _) | (_, BodyLength::UntilClose) => return,
        (304, BodyLength::None | BodyLength::Chunked) => return,
        (_, BodyLength::Chunked) => {
            out.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
            return;
        }
        (_, BodyLength::Length(bytes)) => bytes,
        (_, BodyLength::None) => 0,
    };
    out.extend_from_slice(b"Content-Length: ");
    out.extend_from_slice(itoa::Buffer::new().format(bytes).as_bytes());
    out.extend_from_slice(b"\r\n");
}

#[inline]
pub(super) fn write_field(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.extend_from_slice(name);
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// Defines the reason phrases and the whole status lines from one table.
macro_rules! statuses {
    ($($code:literal $reason:literal)*) => {
        /// The reason phrase of a registered status (RFC 9110 section 15, RFC 6585), empty for others.
        pub fn reason(status: u16) -> &'static str {
            match status {
                $($code => $reason,)*
                _ => "",
            }
        }

        fn write_status_line(out: &mut Vec<u8>, status: u16) {
            let line: &[u8] = match status {
                $($code => concat!("HTTP/1.1 ", $code, " ", $reason, "\r\n").as_bytes(),)*
                _ => return write_unknown_status_line(out, status),
            };
            out.extend_from_slice(line);
        }

        #[cfg(test)]
        const KNOWN: &[u16] = &[$($code),*];
    };
}

statuses! {
    100 "Continue"
    101 "Switching Protocols"
    103 "Early Hints"
    200 "OK"
    201 "Created"
    202 "Accepted"
    203 "Non-Authoritative Information"
    204 "No Content"
    205 "Reset Content"
    206 "Partial Content"
    300 "Multiple Choices"
    301 "Moved Permanently"
    302 "Found"
    303 "See Other"
    304 "Not Modified"
    307 "Temporary Redirect"
    308 "Permanent Redirect"
    400 "Bad Request"
    401 "Unauthorized"
    402 "Payment Required"
    403 "Forbidden"
    404 "Not Found"
    405 "Method Not Allowed"
    406 "Not Acceptable"
    407 "Proxy Authentication Required"
    408 "Request Timeout"
    409 "Conflict"
    410 "Gone"
    411 "Length Required"
    412 "Precondition Failed"
    413 "Content Too Large"
    414 "URI Too Long"
    415 "Unsupported Media Type"
    416 "Range Not Satisfiable"
    417 "Expectation Failed"
    421 "Misdirected Request"
    422 "Unprocessable Content"
    425 "Too Early"
    426 "Upgrade Required"
    428 "Precondition Required"
    429 "Too Many Requests"
    431 "Request Header Fields Too Large"
    451 "Unavailable For Legal Reasons"
    500 "Internal Server Error"
    501 "Not Implemented"
    502 "Bad Gateway"
    503 "Service Unavailable"
    504 "Gateway Timeout"
    505 "HTTP Version Not Supported"
    511 "Network Authentication Required"
}

/// A status without a registered reason: the phrase is empty, the space before it is not optional for a sender.
#[cold]
fn write_unknown_status_line(out: &mut Vec<u8>, status: u16) {
    debug_assert!((100..=999).contains(&status), "a status has three digits");
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(itoa::Buffer::new().format(status).as_bytes());
    out.extend_from_slice(b" \r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(parts: &HeadParts<'_>) -> String {
        let mut out = Vec::new();
        write_head(&mut out, parts);
        assert!(out.len() <= FIXED_BYTES || !parts.extra.is_empty());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn all_parts_stand_in_order() {
        let parts = HeadParts {
            status: 200,
            content_type: Some(b"text/plain"),
            date: Some(b"Sun, 06 Nov 1994 08:49:37 GMT"),
            length: BodyLength::Length(12_345),
            connection: ConnectionHeader::KeepAlive,
            extra: &[(b"X-A", b"1"), (b"X-B", b"")],
        };
        assert_eq!(
            head(&parts),
            "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: text/plain\r\n\
             Content-Length: 12345\r\nConnection: keep-alive\r\nX-A: 1\r\nX-B: \r\n\r\n"
        );
    }

    #[test]
    fn framing_fields_follow_status_and_length() {
        let length = "Content-Length: 7\r\n";
        let zero = "Content-Length: 0\r\n";
        let chunked = "Transfer-Encoding: chunked\r\n";
        let close = "Connection: close\r\n";
        for (status, body, want) in [
            (200, BodyLength::None, zero),
            (200, BodyLength::Length(7), length),
            (200, BodyLength::Length(0), zero),
            (200, BodyLength::Chunked, chunked),
            (200, BodyLength::UntilClose, close),
            (404, BodyLength::None, zero),
            (204, BodyLength::None, ""),
            (204, BodyLength::Length(7), ""),
            (204, BodyLength::Chunked, ""),
            (304, BodyLength::None, ""),
            (304, BodyLength::Length(7), length),
            (304, BodyLength::Chunked, ""),
            (100, BodyLength::None, ""),
            (103, BodyLength::Length(7), ""),
        ] {
            let parts = HeadParts { status, length: body, ..HeadParts::default() };
            let want = format!("HTTP/1.1 {status} {}\r\n{want}\r\n", reason(status));
            assert_eq!(head(&parts), want, "{status} {body:?}");
        }
    }

    #[test]
    fn every_status_has_a_line_and_unknown_ones_an_empty_reason() {
        for status in 100..=999 {
            let parts = HeadParts { status, ..HeadParts::default() };
            let line = format!("HTTP/1.1 {status} {}\r\n", reason(status));
            assert!(head(&parts).starts_with(&line));
            assert_eq!(KNOWN.contains(&status), !reason(status).is_empty());
        }
    }
}
