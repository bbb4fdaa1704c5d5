//! Request methods (RFC 9110 section 9, RFC 5789).
//!
//! Owns the names. Methods are case-sensitive, so `get` is [`Method::Other`].

/// A request method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method<'a> {
    /// `GET`
    Get,
    /// `HEAD`
    Head,
    /// `POST`
    Post,
    /// `PUT`
    Put,
    /// `DELETE`
    Delete,
    /// `OPTIONS`
    Options,
    /// `PATCH`
    Patch,
    /// `CONNECT`
    Connect,
    /// `TRACE`
    Trace,
    /// Any other token, as received; servers answer 501 or 405.
    Other(&'a [u8]),
}

impl<'a> Method<'a> {
    /// The method that `token` names.
    pub fn from_token(token: &'a [u8]) -> Self {
        match token {
            b"GET" => Self::Get,
            b"HEAD" => Self::Head,
            b"POST" => Self::Post,
            b"PUT" => Self::Put,
            b"DELETE" => Self::Delete,
            b"OPTIONS" => Self::Options,
            b"PATCH" => Self::Patch,
            b"CONNECT" => Self::Connect,
            b"TRACE" => Self::Trace,
            _ => Self::Other(token),
        }
    }

    /// The token as written on the wire.
    pub fn as_bytes(self) -> &'a [u8] {
        match self {
            Self::Get => b"GET",
            Self::Head => b"HEAD",
            Self::Post => b"POST",
            Self::Put => b"PUT",
            Self::Delete => b"DELETE",
            Self::Options => b"OPTIONS",
            Self::Patch => b"PATCH",
            Self::Connect => b"CONNECT",
            Self::Trace => b"TRACE",
            Self::Other(token) => token,
        }
    }
}
