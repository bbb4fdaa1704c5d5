//! Request heads, read by the server (RFC 9112 section 3, RFC 9110).
//!
//! Owns the strict side: whatever two programs could read in two ways is refused, with the status to answer. Must not
//! decide what a method or target is served with, and must not read bodies.
//!
//! One pass: lines are checked and the five fields that matter for the connection are understood while walking, so
//! nothing is stored but slices and no table of headers is filled.
//!
//! Why not httparse: it takes bare line feeds, knows no version but 1.0 and 1.1 and has one name for many faults, so it
//! needs a second pass over its table and a second look at what it refuses. Doing the same work with it (bench `http`)
//! costs 781, 1265 and 3959 instructions for heads of 1, 3 and 12 lines, ours 515, 900 and 3745. In time the two are
//! level at 1 and 3 lines, which is what load generators send, and httparse, where it finds AVX2, is a tenth faster at
//! 12. It stays as a test oracle: what we accept, it must read alike.

use super::body::BodyLength;
use super::class;
use super::field::{self, FieldError, Headers, Line};
use super::framing::{self, Codings};
use super::limits::{Limits, MAX_LEADING_EMPTY_LINES};
use super::method::Method;
use super::persistence::ConnectionOptions;
use super::request_line::{self, RequestLine};
use super::scan::HeadScan;
use super::version::Version;
use crate::step::Step;

/// A request head; slices borrow from the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestHead<'a> {
    /// The method.
    pub method: Method<'a>,
    /// The target as received, in any of the four forms of RFC 9112 section 3.2.
    pub target: &'a [u8],
    /// The version to answer by.
    pub version: Version,
    /// Whether the connection stays open after the answer (RFC 9112 section 9.3).
    pub keep_alive: bool,
    /// What body follows; never [`BodyLength::UntilClose`]. A server's own size limit (413) is for the caller.
    pub body: BodyLength,
    /// The client waits for `100 Continue` before it sends the body. Only on 1.1 and only where a body follows.
    pub expect_continue: bool,
    /// All header lines.
    pub headers: Headers<'a>,
}

impl<'a> RequestHead<'a> {
    /// The path: the target without its query and, in absolute form, without scheme and authority. An absolute target
    /// without a path has `/` (RFC 9110 section 4.2.3); `*` and CONNECT's `host:port` are returned as they are.
    pub fn path(&self) -> &'a [u8] {
        let target =
            if self.target.first() == Some(&b'/') { self.target } else { request_line::without_authority(self.target) };
        // Targets are short: a plain loop is done before a vectorised search has chosen its path.
        match target.iter().position(|&b| b == b'?') {
            Some(0) => b"/",
            Some(end) => &target[..end],
            None => target,
        }
    }

    /// The query: what stands behind the first `?` of the target, if there is one.
    pub fn query(&self) -> Option<&'a [u8]> {
        memchr::memchr(b'?', self.target).map(|at| &self.target[at + 1..])
    }
}

/// Why a request head is refused. Every refusal ends the connection after its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum RequestError {
    /// The head does not end within [`Limits::head_bytes`].
    #[error("the request head is longer than the limit")]
    HeadTooLong,
    /// More header lines than [`Limits::headers`].
    #[error("the request has more header lines than the limit")]
    TooManyHeaders,
    /// A target longer than [`Limits::target_bytes`].
    #[error("the request target is longer than the limit")]
    TargetTooLong,
    /// A method longer than [`super::limits::MAX_METHOD_BYTES`], and so than any that is implemented.
    #[error("the method is longer than any that is known")]
    MethodTooLong,
    /// More empty lines before the request line than [`MAX_LEADING_EMPTY_LINES`].
    #[error("too many empty lines stand before the request line")]
    TooManyEmptyLines,
    /// The method is not a token followed by one space.
    #[error("the method is not a token followed by a space")]
    BadMethod,
    /// The target is empty, holds a control byte, or has none of the four forms.
    #[error("the request target is malformed")]
    BadTarget,
    /// The request line has no version.
    #[error("the request line has no HTTP version")]
    NoVersion,
    /// The version is not `HTTP/d.d`, or something other than CRLF follows it.
    #[error("the HTTP version is malformed")]
    BadVersion,
    /// A well-formed version with another major than 1.
    #[error("the HTTP version is not supported")]
    UnsupportedVersion,
    /// A malformed line.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// A 1.1 request without Host.
    #[error("the request has no Host header")]
    NoHost,
    /// Two Host lines.
    #[error("the request has more than one Host header")]
    TwoHosts,
    /// A Host value that is not a host with an optional port.
    #[error("the Host header is malformed")]
    BadHost,
    /// A Content-Length that is not 1 to 19 digits without leading zero; lists are refused too.
    #[error("the Content-Length is not a plain decimal number")]
    BadContentLength,
    /// Two Content-Length lines, equal or not.
    #[error("the request has more than one Content-Length header")]
    TwoContentLengths,
    /// A Transfer-Encoding that is empty, or has `chunked` elsewhere than once at the end.
    #[error("the Transfer-Encoding is malformed")]
    BadTransferEncoding,
    /// Two Transfer-Encoding lines.
    #[error("the request has more than one Transfer-Encoding header")]
    TwoTransferEncodings,
    /// A transfer coding other than `chunked`.
    #[error("the request uses a transfer coding other than chunked")]
    UnknownTransferCoding,
    /// Transfer-Encoding on HTTP/1.0.
    #[error("an HTTP/1.0 request carries Transfer-Encoding")]
    TransferEncodingOn10,
    /// Content-Length beside Transfer-Encoding.
    #[error("the request has both Content-Length and Transfer-Encoding")]
    LengthAndChunked,
    /// `Transfer_Encoding` or `Content_Length`, which some programs take for the real field.
    #[error("a header name imitates a framing header with an underscore")]
    ImitatedFraming,
    /// An expectation other than `100-continue`.
    #[error("the expectation is unknown")]
    UnknownExpectation,
}

impl RequestError {
    /// The status to answer with before closing.
    pub fn status(self) -> u16 {
        match self {
            Self::TargetTooLong => 414,
            Self::UnknownExpectation => 417,
            Self::HeadTooLong | Self::TooManyHeaders => 431,
            Self::MethodTooLong | Self::UnknownTransferCoding => 501,
            Self::UnsupportedVersion => 505,
            Self::TooManyEmptyLines
            | Self::BadMethod
            | Self::BadTarget
            | Self::NoVersion
            | Self::BadVersion
            | Self::Field(_)
            | Self::NoHost
            | Self::TwoHosts
            | Self::BadHost
            | Self::BadContentLength
            | Self::TwoContentLengths
            | Self::BadTransferEncoding
            | Self::TwoTransferEncodings
            | Self::TransferEncodingOn10
            | Self::LengthAndChunked
            | Self::ImitatedFraming => 400,
        }
    }
}

/// Reads one request head at the start of `input`. Empty lines before it are skipped and counted as consumed.
///
/// Until the answer is `Complete`, call again with the same start, more bytes and the same `scan`; after `Complete`
/// the scan is ready for the next head. The outcome does not depend on how the bytes were split between calls, except
/// that an error may show before the head is whole.
///
/// # Errors
///
/// [`RequestError`]: answer its [`status`](RequestError::status) and close.
#[inline]
pub fn parse<'a>(input: &'a [u8], scan: &mut HeadScan, limits: &Limits) -> Result<Step<RequestHead<'a>>, RequestError> {
    let need_more = Step::NeedMore { at_least: input.len() + 1 };
    if let Some(b'\r' | b'\n') = input.get(scan.start as usize)
        && !skip_empty_lines(input, scan)?
    {
        return Ok(need_more);
    }
    let start = scan.start as usize;
    let limit = start + limits.head_bytes;
    if scan.should_parse(input, limit) {
        let window = input.get(start..input.len().min(limit)).unwrap_or_default();
        if let Some((value, used)) = parse_head(window, limits)? {
            scan.reset();
            return Ok(Step::Complete { value, consumed: start + used });
        }
        if window.len() == limits.head_bytes {
            return Err(RequestError::HeadTooLong);
        }
        scan.ran_out(input);
    }
    Ok(need_more)
}

/// Moves the scan over empty lines; whether the first byte of a request line has come.
#[cold]
fn skip_empty_lines(input: &[u8], scan: &mut HeadScan) -> Result<bool, RequestError> {
    loop {
        match input.get(scan.start as usize..).unwrap_or_default() {
            [b'\r', b'\n', ..] => scan.start += 2,
            [b'\n', ..] => return Err(FieldError::BareLf.into()),
            [b'\r', _, ..] => return Err(FieldError::BareCr.into()),
            [] | [b'\r'] => return Ok(false),
            _ => return Ok(true),
        }
        if scan.start as usize > 2 * MAX_LEADING_EMPTY_LINES {
            return Err(RequestError::TooManyEmptyLines);
        }
    }
}

/// Reads the head at the start of `head`; `None` where it is not whole.
fn parse_head<'a>(head: &'a [u8], limits: &Limits) -> Result<Option<(RequestHead<'a>, usize)>, RequestError> {
    let Some(line) = request_line::read(head, limits)? else {
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
                    return Err(RequestError::TooManyHeaders);
                }
                meaning.add(name, value)?;
                rest = next;
            }
            Line::End { rest: after } => {
                let headers = Headers::new(&lines[..lines.len() - rest.len()]);
                let used = head.len() - after.len();
                return Ok(Some((meaning.conclude(&line, headers)?, used)));
            }
            Line::Partial => return Ok(None),
        }
    }
}

/// What the fields seen so far say about the connection.
#[derive(Default)]
struct Meaning {
    content_length: Option<u64>,
    transfer_encoding: bool,
    host: bool,
    expect: bool,
    options: ConnectionOptions,
}

impl Meaning {
    /// Takes one field in. Its name's length tells most fields apart before any byte is compared.
    #[inline]
    fn add(&mut self, name: &[u8], value: &[u8]) -> Result<(), RequestError> {
        match name.len() {
            4 if class::is_name(name, b"host") => {
                if self.host {
                    return Err(RequestError::TwoHosts);
                }
                self.host = true;
                if !class::is_host(value) {
                    return Err(RequestError::BadHost);
                }
            }
            6 if class::is_name(name, b"expect") => {
                if !value.eq_ignore_ascii_case(b"100-continue") {
                    return Err(RequestError::UnknownExpectation);
                }
                self.expect = true;
            }
            10 if class::is_name(name, b"connection") => self.options.add(value),
            14 => return self.add_content_length(name, value),
            17 => return self.add_transfer_encoding(name, value),
            _ => {}
        }
        Ok(())
    }

    fn add_content_length(&mut self, name: &[u8], value: &[u8]) -> Result<(), RequestError> {
        if class::is_name(name, b"content-length") {
            if self.content_length.is_some() {
                return Err(RequestError::TwoContentLengths);
            }
            let length = framing::content_length(value).ok_or(RequestError::BadContentLength)?;
            self.content_length = Some(length);
        } else if class::is_name(name, b"content_length") {
            return Err(RequestError::ImitatedFraming);
        }
        Ok(())
    }

    fn add_transfer_encoding(&mut self, name: &[u8], value: &[u8]) -> Result<(), RequestError> {
        if class::is_name(name, b"transfer-encoding") {
            if self.transfer_encoding {
                return Err(RequestError::TwoTransferEncodings);
            }
            self.transfer_encoding = true;
            match framing::codings(value) {
                Codings::Chunked => {}
                Codings::Malformed => return Err(RequestError::BadTransferEncoding),
                Codings::OthersThenChunked | Codings::Others => {
                    return Err(RequestError::UnknownTransferCoding);
                }
            }
        } else if class::is_name(name, b"transfer_encoding") {
            return Err(RequestError::ImitatedFraming);
        }
        Ok(())
    }

    /// The rules that need all fields.
    #[inline]
    fn conclude<'a>(self, line: &RequestLine<'a>, headers: Headers<'a>) -> Result<RequestHead<'a>, RequestError> {
        if !self.host && line.version == Version::Http11 {
            return Err(RequestError::NoHost);
        }
        let body = match (self.transfer_encoding, self.content_length) {
            (false, None) => BodyLength::None,
            (false, Some(length)) => BodyLength::Length(length),
            (true, Some(_)) => return Err(RequestError::LengthAndChunked),
            (true, None) if line.version == Version::Http10 => {
                return Err(RequestError::TransferEncodingOn10);
            }
            (true, None) => BodyLength::Chunked,
        };
        let bodiless = matches!(body, BodyLength::None | BodyLength::Length(0));
        Ok(RequestHead {
            method: line.method,
            target: line.target,
            version: line.version,
            keep_alive: self.options.persists(line.version),
            body,
            expect_continue: self.expect && !bodiless && line.version == Version::Http11,
            headers,
        })
    }
}
