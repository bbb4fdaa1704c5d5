//! Method and path to route. Exact and case-sensitive; a query never changes the route.

use crate::request::Verb;

/// What answers a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// `GET /health`
    Health,
    /// `GET /plaintext`
    Plaintext,
    /// `GET /json`
    Json,
    /// `GET /bytes/{n}`
    Bytes,
    /// `GET /stream/{chunks}/{size}`
    Stream,
    /// `GET /stats`
    Stats,
    /// `POST /echo`
    Echo,
    /// `POST /rpc`
    Rpc,
    /// No such path.
    NotFound,
    /// The path exists, for these methods.
    NotAllowed(&'static str),
}

/// What paths that are read answer to; HEAD is a GET whose wire may leave the body out.
const ALLOW_GET: &str = "GET, HEAD";
const ALLOW_POST: &str = "POST";

pub(crate) const BYTES_PREFIX: &[u8] = b"/bytes/";
pub(crate) const STREAM_PREFIX: &[u8] = b"/stream/";

impl Route {
    /// Whether its handler looks at the request's body.
    #[inline]
    pub(crate) fn takes_body(self) -> bool {
        matches!(self, Route::Echo | Route::Rpc)
    }
}

/// The route of a request; there always is one.
#[inline]
pub(crate) fn find(verb: Verb, path: &[u8]) -> Route {
    let (route, allow) = match path {
        b"/health" => (Route::Health, ALLOW_GET),
        b"/plaintext" => (Route::Plaintext, ALLOW_GET),
        b"/json" => (Route::Json, ALLOW_GET),
        b"/echo" => (Route::Echo, ALLOW_POST),
        b"/rpc" => (Route::Rpc, ALLOW_POST),
        b"/stats" => (Route::Stats, ALLOW_GET),
        _ if path.starts_with(BYTES_PREFIX) => (Route::Bytes, ALLOW_GET),
        _ if path.starts_with(STREAM_PREFIX) => (Route::Stream, ALLOW_GET),
        _ => return Route::NotFound,
    };
    let wanted = match verb {
        Verb::Get | Verb::Head => !route.takes_body(),
        Verb::Post => route.takes_body(),
        Verb::Other => false,
    };
    if wanted { route } else { Route::NotAllowed(allow) }
}

/// The path of a target in origin form: what stands before the query.
#[inline]
pub(crate) fn path(target: &[u8]) -> &[u8] {
    match target.iter().position(|&byte| byte == b'?') {
        Some(end) => &target[..end],
        None => target,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_on_every_path() {
        use Route::*;
        let get = NotAllowed(ALLOW_GET);
        let post = NotAllowed(ALLOW_POST);
        for (path, on_get, on_post) in [
            ("/health", Health, get),
            ("/plaintext", Plaintext, get),
            ("/json", Json, get),
            ("/stats", Stats, get),
            ("/bytes/", Bytes, get),
            ("/bytes/12", Bytes, get),
            ("/stream/1/2", Stream, get),
            ("/echo", post, Echo),
            ("/rpc", post, Rpc),
            ("/", NotFound, NotFound),
            ("", NotFound, NotFound),
            ("*", NotFound, NotFound),
            ("/Health", NotFound, NotFound),
            ("/health/", NotFound, NotFound),
            ("/healthy", NotFound, NotFound),
            ("/bytes", NotFound, NotFound),
            ("/stream", NotFound, NotFound),
        ] {
            let found = |verb| find(verb, path.as_bytes());
            assert_eq!(found(Verb::Get), on_get, "{path}");
            assert_eq!(found(Verb::Head), on_get, "{path}");
            assert_eq!(found(Verb::Post), on_post, "{path}");
            let other = if on_get == NotFound {
                NotFound
            } else if on_post == get {
                get
            } else {
                post
            };
            assert_eq!(found(Verb::Other), other, "{path}");
        }
    }

    #[test]
    fn a_query_is_no_part_of_the_path() {
        assert_eq!(path(b"/health?x=/echo"), b"/health");
        assert_eq!(path(b"/health?"), b"/health");
        assert_eq!(path(b"?"), b"");
        assert_eq!(path(b"/health"), b"/health");
    }
}
