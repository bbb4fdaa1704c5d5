//! Writing requests (RFC 9112 sections 3 and 6).
//!
//! Owns the bytes of one request that the load generator repeats. Adds nothing behind the user's back but a Host and
//! the framing of the body, each only where the user gave none. Runs once per distinct request, so it checks all it
//! is given.

use super::answer::write_field;
use super::{chunk, class};

/// The parts of a request.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// The method, a token.
    pub method: &'a [u8],
    /// The target, as it shall stand in the request line.
    pub target: &'a [u8],
    /// The Host value, used where `headers` has no Host.
    pub host: &'a [u8],
    /// (name, value) pairs, written in order and as they are.
    pub headers: &'a [(&'a [u8], &'a [u8])],
    /// The content. Where `headers` says `Transfer-Encoding`, it is written as one chunk.
    pub body: &'a [u8],
}

/// Why a request cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum AskError {
    /// The method is not a token.
    #[error("the method is empty or holds a byte that is not allowed in a token")]
    BadMethod,
    /// The target is empty or holds white space or a control byte.
    #[error("the request target is empty or holds white space or a control byte")]
    BadTarget,
    /// The host holds a byte that no host has.
    #[error("the host holds a byte that is not allowed in a host name")]
    BadHost,
    /// A header name is not a token.
    #[error("a header name is empty or holds a byte that is not allowed in a token")]
    BadHeaderName,
    /// A header value holds a control byte.
    #[error("a header value holds a control byte")]
    BadHeaderValue,
}

impl Ask<'_> {
    fn has(&self, name: &[u8]) -> bool {
        self.headers.iter().any(|(found, _)| found.eq_ignore_ascii_case(name))
    }

    fn check(&self) -> Result<(), AskError> {
        if !class::is_token(self.method) {
            return Err(AskError::BadMethod);
        }
        if !class::is_target(self.target) {
            return Err(AskError::BadTarget);
        }
        if !class::is_host(self.host) {
            return Err(AskError::BadHost);
        }
        for (name, value) in self.headers {
            if !class::is_token(name) {
                return Err(AskError::BadHeaderName);
            }
            if !class::is_field_value(value) {
                return Err(AskError::BadHeaderValue);
            }
        }
        Ok(())
    }
}

/// Appends one HTTP/1.1 request, head and body. Host comes first. Content-Length comes last, and only where the user
/// framed nothing and either there is a body or the method is one whose empty body must be said to be empty (POST, PUT
/// and PATCH, RFC 9110 section 8.6).
///
/// # Errors
///
/// [`AskError`] where a part would change the shape of the request; nothing is appended then.
pub fn write_request(out: &mut Vec<u8>, ask: &Ask<'_>) -> Result<(), AskError> {
    ask.check()?;
    out.extend_from_slice(ask.method);
    out.push(b' ');
    out.extend_from_slice(ask.target);
    out.extend_from_slice(b" HTTP/1.1\r\n");
    if !ask.has(b"host") {
        write_field(out, b"Host", ask.host);
    }
    for (name, value) in ask.headers {
        write_field(out, name, value);
    }
    let chunked = ask.has(b"transfer-encoding");
    let wanted = !ask.body.is_empty() || matches!(ask.method, b"POST" | b"PUT" | b"PATCH");
    if wanted && !chunked && !ask.has(b"content-length") {
        let bytes = ask.body.len();
        write_field(out, b"Content-Length", itoa::Buffer::new().format(bytes).as_bytes());
    }
    out.extend_from_slice(b"\r\n");
    if chunked {
        chunk::write_chunk(out, ask.body);
        chunk::write_last_chunk(out);
    } else {
        out.extend_from_slice(ask.body);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(ask: &Ask<'_>) -> Result<String, AskError> {
        let mut out = Vec::new();
        write_request(&mut out, ask)?;
        Ok(String::from_utf8(out).unwrap())
    }

    const GET: Ask<'static> = Ask { method: b"GET", target: b"/x", host: b"a:1", headers: &[], body: b"" };

    #[test]
    fn a_get_gains_a_host_and_nothing_else() {
        assert_eq!(write(&GET).unwrap(), "GET /x HTTP/1.1\r\nHost: a:1\r\n\r\n");
    }

    #[test]
    fn what_the_user_gave_is_not_given_twice() {
        let ask = Ask { method: b"POST", headers: &[(b"hOst", b"b"), (b"content-LENGTH", b"2")], body: b"hi", ..GET };
        assert_eq!(write(&ask).unwrap(), "POST /x HTTP/1.1\r\nhOst: b\r\ncontent-LENGTH: 2\r\n\r\nhi");
    }

    #[test]
    fn a_length_is_added_where_needed() {
        for (method, body, want) in [
            ("GET", "", ""),
            ("GET", "hey", "Content-Length: 3\r\n"),
            ("DELETE", "", ""),
            ("POST", "", "Content-Length: 0\r\n"),
            ("PUT", "hey", "Content-Length: 3\r\n"),
            ("PATCH", "", "Content-Length: 0\r\n"),
        ] {
            let ask = Ask { method: method.as_bytes(), body: body.as_bytes(), ..GET };
            let want = format!("{method} /x HTTP/1.1\r\nHost: a:1\r\n{want}\r\n{body}");
            assert_eq!(write(&ask).unwrap(), want);
        }
    }

    #[test]
    fn a_chunked_body_is_one_chunk() {
        let ask =
            Ask { method: b"POST", headers: &[(b"Transfer-Encoding", b"chunked")], body: b"0123456789abcdef", ..GET };
        assert_eq!(
            write(&ask).unwrap(),
            "POST /x HTTP/1.1\r\nHost: a:1\r\nTransfer-Encoding: chunked\r\n\r\n\
             10\r\n0123456789abcdef\r\n0\r\n\r\n"
        );
    }

    #[test]
    fn parts_that_would_change_the_shape_are_refused() {
        let cases: &[(Ask<'_>, AskError)] = &[
            (Ask { method: b"", ..GET }, AskError::BadMethod),
            (Ask { method: b"GE T", ..GET }, AskError::BadMethod),
            (Ask { target: b"", ..GET }, AskError::BadTarget),
            (Ask { target: b"/a b", ..GET }, AskError::BadTarget),
            (Ask { target: b"/\r\n", ..GET }, AskError::BadTarget),
            (Ask { host: b"a\r\nb: c", ..GET }, AskError::BadHost),
            (Ask { headers: &[(b"a b", b"")], ..GET }, AskError::BadHeaderName),
            (Ask { headers: &[(b"", b"")], ..GET }, AskError::BadHeaderName),
            (Ask { headers: &[(b"a", b"b\nc")], ..GET }, AskError::BadHeaderValue),
        ];
        for (ask, want) in cases {
            assert_eq!(write(ask), Err(*want));
        }
    }
}
