//! The request line (RFC 9112 section 3): method, target, version, with one space between and CRLF behind.
//!
//! Owns that line's grammar and the forms of a target. Does not split paths further and resolves nothing.

use super::class;
use super::field::FieldError;
use super::limits::{Limits, MAX_METHOD_BYTES, MAX_VERSION_BYTES};
use super::method::Method;
use super::request::RequestError;
use super::version::{Version, VersionError};

/// One request line.
pub(super) struct RequestLine<'a> {
    pub(super) method: Method<'a>,
    pub(super) target: &'a [u8],
    pub(super) version: Version,
    /// Where the first header line starts.
    pub(super) next: usize,
}

/// Reads the request line at the start of `head`; `None` where it is not whole.
#[inline]
pub(super) fn read<'a>(head: &'a [u8], limits: &Limits) -> Result<Option<RequestLine<'a>>, RequestError> {
    let (method, target_start) = if head.starts_with(b"GET ") {
        (Method::Get, 4)
    } else {
        match read_method(head)? {
            Some(found) => found,
            None => return Ok(None),
        }
    };
    let rest = &head[target_start..];
    let target_len = class::visible_run::<0x21>(rest);
    if target_len > limits.target_bytes {
        return Err(RequestError::TargetTooLong);
    }
    match rest.get(target_len) {
        Some(b' ') => {}
        Some(_) => return bad_target_end(&rest[target_len..]),
        None => return Ok(None),
    }
    let target = &rest[..target_len];
    if target.first() != Some(&b'/') {
        check_form(method, target)?;
    }
    let rest = &rest[target_len + 1..];
    let (version, version_len) = match rest.first_chunk::<10>() {
        Some(b"HTTP/1.1\r\n") => (Version::Http11, 10),
        _ => match read_version(rest)? {
            Some(version) => (version, 10),
            None => return Ok(None),
        },
    };
    Ok(Some(RequestLine { method, target, version, next: target_start + target_len + 1 + version_len }))
}

/// The method and where the target starts.
fn read_method(head: &[u8]) -> Result<Option<(Method<'_>, usize)>, RequestError> {
    let window = &head[..head.len().min(MAX_METHOD_BYTES + 1)];
    let len = class::token_run(window);
    if len > MAX_METHOD_BYTES {
        return Err(RequestError::MethodTooLong);
    }
    match head.get(len) {
        None => Ok(None),
        Some(b' ') if len > 0 => Ok(Some((Method::from_token(&head[..len]), len + 1))),
        Some(_) => Err(RequestError::BadMethod),
    }
}

/// A target that no space follows: the line ends there, or a control byte stands there.
#[cold]
fn bad_target_end(end: &[u8]) -> Result<Option<RequestLine<'_>>, RequestError> {
    match end {
        [b'\r'] => Ok(None),
        [b'\r', b'\n', ..] | [b'\n', ..] => Err(RequestError::NoVersion),
        _ => Err(RequestError::BadTarget),
    }
}

/// The forms other than origin-form: `*` for OPTIONS, an authority for CONNECT, an absolute URI.
#[cold]
fn check_form(method: Method<'_>, target: &[u8]) -> Result<(), RequestError> {
    let known = match target {
        [] => false,
        b"*" => method == Method::Options,
        _ => method == Method::Connect || authority_start(target).is_some(),
    };
    if known { Ok(()) } else { Err(RequestError::BadTarget) }
}

/// Where the authority of an absolute URI starts: behind a scheme and `://`.
fn authority_start(target: &[u8]) -> Option<usize> {
    let scheme_len = memchr::memchr(b':', target)?;
    let scheme = &target[..scheme_len];
    let named = scheme.first().is_some_and(u8::is_ascii_alphabetic)
        && scheme.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    (named && target[scheme_len..].starts_with(b"://")).then_some(scheme_len + 3)
}

/// An absolute URI without scheme and authority: path and query, a path of `/` where it has neither. A query without a
/// path is returned with its `?` first. Other targets are returned as they are.
#[cold]
pub(super) fn without_authority(target: &[u8]) -> &[u8] {
    let Some(start) = authority_start(target) else {
        return target;
    };
    let rest = &target[start..];
    match memchr::memchr2(b'/', b'?', rest) {
        Some(end) => &rest[end..],
        None => b"/",
    }
}

/// The version and its CRLF, ten bytes together; `None` where the line is not whole.
#[cold]
fn read_version(rest: &[u8]) -> Result<Option<Version>, RequestError> {
    let window = &rest[..rest.len().min(MAX_VERSION_BYTES)];
    let Some(line_len) = memchr::memchr(b'\n', window) else {
        return if window.len() == MAX_VERSION_BYTES { Err(RequestError::BadVersion) } else { Ok(None) };
    };
    let (token, end) = window[..=line_len].split_first_chunk::<8>().ok_or(RequestError::BadVersion)?;
    let version = Version::read(token).map_err(|error| match error {
        VersionError::Malformed => RequestError::BadVersion,
        VersionError::Unsupported => RequestError::UnsupportedVersion,
    })?;
    match end {
        b"\r\n" => Ok(Some(version)),
        b"\n" => Err(FieldError::BareLf.into()),
        _ => Err(RequestError::BadVersion),
    }
}
