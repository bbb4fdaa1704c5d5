//! A request as handlers see it, whichever wire it came on.

use codec::{
    http::{Headers, Method},
    zap::pairs::Pairs,
};

use crate::{route::Route, wire::Wire};

/// The methods that routes tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    Head,
    Post,
    Other,
}

impl Verb {
    #[inline]
    pub(crate) fn of_http(method: Method<'_>) -> Self {
        match method {
            Method::Get => Verb::Get,
            Method::Head => Verb::Head,
            Method::Post => Verb::Post,
            _ => Verb::Other,
        }
    }

    #[inline]
    pub(crate) fn of_token(method: &[u8]) -> Self {
        match method {
            b"GET" => Verb::Get,
            b"HEAD" => Verb::Head,
            b"POST" => Verb::Post,
            _ => Verb::Other,
        }
    }
}

/// The header fields of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fields<'a> {
    Http(Headers<'a>),
    Zap(Pairs<'a>),
}

impl Fields<'_> {
    /// Shows the fields that an echo gives back, in the order they came: the first `Content-Type` and every `X-*`.
    #[inline]
    pub(crate) fn each_echoed(&self, mut visit: impl FnMut(&[u8], &[u8])) {
        let mut typed = false;
        let mut show = |name: &[u8], value: &[u8]| {
            let extension = matches!(name, [b'x' | b'X', b'-', ..]);
            let content_type = !extension && !typed && name.eq_ignore_ascii_case(b"content-type");
            typed |= content_type;
            if extension || content_type {
                visit(name, value);
            }
        };
        match self {
            Fields::Http(headers) => headers.iter().for_each(|(name, value)| show(name, value)),
            Fields::Zap(pairs) => pairs.iter().for_each(|(name, value)| show(name, value)),
        }
    }
}

/// One request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) wire: Wire,
    pub(crate) route: Route,
    /// The target without its query.
    pub(crate) path: &'a [u8],
    /// The whole body.
    pub(crate) body: &'a [u8],
}
