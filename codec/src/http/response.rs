//! Response heads, read by the load generator (RFC 9112 section 4, RFC 9110 section 15).
//!
//! Owns the lenient side: odd but unambiguous answers are taken, and what would leave the next answer's start in doubt
//! is refused. Must not match answers to requests and must not read bodies.

use super::body::BodyLength;
use super::class;
use super::field::{self, FieldError, Headers, Line};
use super::framing::{self, Codings};
use super::limits::Limits;
use super::persistence::ConnectionOptions;
use super::scan::HeadScan;
use super::version::Version;
use crate::step::Step;

/// A response head; the header lines borrow from the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseHead<'a> {
    /// The status, 100 to 999.
    pub status: u16,
    /// The version of the answer.
    pub version: Version,
    /// Whether another request may follow on this connection; never with [`BodyLength::UntilClose`].
    pub keep_alive: bool,
    /// What body follows (RFC 9112 section 6.3): none after HEAD, 1xx, 204 and 304, whatever the fields say.
    pub body: BodyLength,
    /// A 1xx head: the final answer to the same request is still to come. Skip it and parse on.
    pub interim: bool,
    /// All header lines.
    pub headers: Headers<'a>,
}

/// Why a response head is refused; the connection must be dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum ResponseError {
    /// The head does not end within [`Limits::head_bytes`].
    #[error("the response head is longer than the limit")]
    HeadTooLong,
    /// More header lines than [`Limits::headers`].
    #[error("the response has more header lines than the limit")]
    TooManyHeaders,
    /// The first line does not start with `HTTP/1.d` and a space.
    #[error("the response does not start with an HTTP/1 version")]
    BadVersion,
    /// No three-digit status of 100 or more, or something other than a space or CRLF behind it.
    #[error("the status code is malformed")]
    BadStatus,
    /// A control byte in the reason phrase.
    #[error("the reason phrase holds a control byte")]
    BadReason,
    /// A malformed line.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// A Content-Length that is not 1 to 19 digits without leading zero; lists are refused too.
    #[error("the Content-Length is not a plain decimal number")]
    BadContentLength,
    /// Two Content-Length lines, equal or not.
    #[error("the response has more than one Content-Length header")]
    TwoContentLengths,
    /// A Transfer-Encoding that is empty, or has `chunked` elsewhere than once at the end.
    #[error("the Transfer-Encoding is malformed")]
    BadTransferEncoding,
    /// Two Transfer-Encoding lines.
    #[error("the response has more than one Transfer-Encoding header")]
    TwoTransferEncodings,
    /// Transfer-Encoding on HTTP/1.0, whose framing RFC 9112 section 6.1 calls faulty.
    #[error("an HTTP/1.0 response carries Transfer-Encoding")]
    TransferEncodingOn10,
    /// Content-Length beside Transfer-Encoding.
    #[error("the response has both Content-Length and Transfer-Encoding")]
    LengthAndChunked,
    /// 101 without an Upgrade asked for.
    #[error("the server switched protocols without being asked")]
    UnaskedUpgrade,
}

/// Reads one response head at the start of `input`. `request_was_head` says whether it answers a HEAD request.
///
/// Until the answer is `Complete`, call again with the same start, more bytes and the same `scan`; after `Complete`
/// the scan is ready for the next head.
///
/// # Errors
///
/// [`ResponseError`]: count it and drop the connection.
#[inline]
pub fn parse<'a>(
    input: &'a [u8],
    scan: &mut HeadScan,
    request_was_head: bool,
    limits: &Limits,
) -> Result<Step<ResponseHead<'a>>, ResponseError> {
    if scan.should_parse(input, limits.head_bytes) {
        let window = &input[..input.len().min(limits.head_bytes)];
        if let Some((value, consumed)) = parse_head(window, request_was_head, limits)? {
            scan.reset();
            return Ok(Step::Complete { value, consumed });
        }
        if window.len() == limits.head_bytes {
            return Err(ResponseError::HeadTooLong);
        }
        scan.ran_out(input);
    }
    Ok(Step::NeedMore { at_least: input.len() + 1 })
}

struct StatusLine {
    version: Version,
    status: u16,
    next: usize,
}

fn parse_head<'a>(
    head: &'a [u8],
    request_was_head: bool,
    limits: &Limits,
) -> Result<Option<(ResponseHead<'a>, usize)>, ResponseError> {
    let Some(line) = read_status_line(head)? else {
        return Ok(None);
    };
    let lines = &head[line.next..];
    let mut rest = lines;
    let mut meaning = Meaning::default();
    let mut count = 0;
    loop {
        match field::read_line(rest)? {
            Line::Field { name, value, rest: next } => {
                count += 1;
                if count > limits.headers {
                    return Err(ResponseError::TooManyHeaders);
                }
                meaning.add(name, value)?;
                rest = next;
            }
            Line::End { rest: after } => {
                let headers = Headers::new(&lines[..lines.len() - rest.len()]);
                let used = head.len() - after.len();
                let value = meaning.conclude(&line, request_was_head, headers)?;
                return Ok(Some((value, used)));
            }
            Line::Partial => return Ok(None),
        }
    }
}

/// Reads the status line; the reason phrase may be empty and the space before it missing. `None` where the line is
/// not whole.
#[inline]
fn read_status_line(head: &[u8]) -> Result<Option<StatusLine>, ResponseError> {
    let Some((start, rest)) = head.split_first_chunk::<12>() else {
        return short_status_line(head);
    };
    let (version, status) = read_version_and_status(start)?;
    let reason_len = match rest.first() {
        None => return Ok(None),
        Some(b' ') => 1 + reason_run(&rest[1..]),
        Some(b'\r' | b'\n') => 0,
        Some(_) => return Err(ResponseError::BadStatus),
    };
    match &rest[reason_len..] {
        [b'\r', b'\n', ..] => Ok(Some(StatusLine { version, status, next: 12 + reason_len + 2 })),
        [] | [b'\r'] => Ok(None),
        [b'\r', ..] => Err(FieldError::BareCr.into()),
        [b'\n', ..] => Err(FieldError::BareLf.into()),
        _ => Err(ResponseError::BadReason),
    }
}

#[inline]
fn read_version_and_status(start: &[u8; 12]) -> Result<(Version, u16), ResponseError> {
    let [token @ .., b' ', hundreds, tens, ones] = start else {
        return Err(ResponseError::BadVersion);
    };
    let version = Version::read(token).map_err(|_| ResponseError::BadVersion)?;
    let digit = |byte: u8| u16::from(byte.wrapping_sub(b'0'));
    match (digit(*hundreds), digit(*tens), digit(*ones)) {
        (hundreds @ 1..=9, tens @ 0..=9, ones @ 0..=9) => Ok((version, hundreds * 100 + tens * 10 + ones)),
        _ => Err(ResponseError::BadStatus),
    }
}

/// A status line of fewer than twelve bytes: incomplete, unless it is already wrong or ended. An ended one is judged
/// with zeros behind it, which is as wrong as any bytes are there.
#[cold]
fn short_status_line(head: &[u8]) -> Result<Option<StatusLine>, ResponseError> {
    let name = b"HTTP/1.";
    let shared = head.len().min(name.len());
    if head[..shared] != name[..shared] {
        return Err(ResponseError::BadVersion);
    }
    if memchr::memchr(b'\n', head).is_some() {
        let mut start = [0; 12];
        start[..head.len()].copy_from_slice(head);
        read_version_and_status(&start)?;
    }
    Ok(None)
}

fn reason_run(rest: &[u8]) -> usize {
    let mut run = class::visible_run::<0x20>(rest);
    while rest.get(run) == Some(&b'\t') {
        run += 1;
        run += class::visible_run::<0x20>(&rest[run..]);
    }
    run
}

/// What the fields seen so far say about the connection.
#[derive(Default)]
struct Meaning {
    content_length: Option<u64>,
    codings: Option<Codings>,
    options: ConnectionOptions,
}

impl Meaning {
    #[inline]
    fn add(&mut self, name: &[u8], value: &[u8]) -> Result<(), ResponseError> {
        match name.len() {
            10 if class::is_name(name, b"connection") => self.options.add(value),
            14 if class::is_name(name, b"content-length") => {
                if self.content_length.is_some() {
                    return Err(ResponseError::TwoContentLengths);
                }
                let length = framing::content_length(value).ok_or(ResponseError::BadContentLength)?;
                self.content_length = Some(length);
            }
            17 if class::is_name(name, b"transfer-encoding") => {
                if self.codings.is_some() {
                    return Err(ResponseError::TwoTransferEncodings);
                }
                match framing::codings(value) {
                    Codings::Malformed => return Err(ResponseError::BadTransferEncoding),
                    codings => self.codings = Some(codings),
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// RFC 9112 section 6.3, with the conflicts that leave the end in doubt refused first.
    #[inline]
    fn conclude<'a>(
        self,
        line: &StatusLine,
        request_was_head: bool,
        headers: Headers<'a>,
    ) -> Result<ResponseHead<'a>, ResponseError> {
        if line.status == 101 {
            return Err(ResponseError::UnaskedUpgrade);
        }
        if self.codings.is_some() {
            if self.content_length.is_some() {
                return Err(ResponseError::LengthAndChunked);
            }
            if line.version == Version::Http10 {
                return Err(ResponseError::TransferEncodingOn10);
            }
        }
        let interim = line.status < 200;
        let body = if request_was_head || interim || matches!(line.status, 204 | 304) {
            BodyLength::None
        } else {
            match (self.codings, self.content_length) {
                (None, Some(length)) => BodyLength::Length(length),
                (Some(Codings::Chunked | Codings::OthersThenChunked), _) => BodyLength::Chunked,
                (Some(Codings::Others | Codings::Malformed), _) | (None, None) => BodyLength::UntilClose,
            }
        };
        Ok(ResponseHead {
            status: line.status,
            version: line.version,
            keep_alive: body != BodyLength::UntilClose && self.options.persists(line.version),
            body,
            interim,
            headers,
        })
    }
}
