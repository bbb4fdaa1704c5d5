//! A request of a run, encoded once. Nothing is added behind the user's back but what the wire needs: a Host where none was
//! given, and on HTTP a Content-Length where there is a body (or POST, PUT, PATCH without one) and the user framed nothing.

use std::fmt;

use bytes::Bytes;
use codec::{
    floor::FloorError,
    http::{
        ask::{self, Ask, AskError},
        persistence::ConnectionOptions,
    },
    zap::{EncodeError, request},
};
use engine::Outbox;
use results::Header;
use thiserror::Error;

use crate::{
    limits::{REPEATED_BYTES, SHARE_FROM_BYTES},
    target::{Target, WireName},
};

/// Why the request cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RequestError {
    /// A part would change the shape of the request.
    #[error("cannot write the request {method} {target}: {source}")]
    Http {
        /// The method.
        method: String,
        /// The request target.
        target: String,
        /// Which part.
        source: AskError,
    },
    /// The frame would be larger than the wire allows.
    #[error("cannot write the request: its frame would have {} bytes, the ZAP wire allows {}", match .0 { EncodeError::TooLarge { frame_bytes } => frame_bytes }, codec::limits::MAX_FRAME_BYTES)]
    Zap(EncodeError),
    /// Sizes that the floor wire does not have.
    #[error("cannot write the request: {0}")]
    Floor(FloorError),
}

/// The bytes of one request, ready to be sent any number of times.
#[derive(Clone)]
pub struct Request {
    one: Bytes,
    /// As many requests back to back as are copied at once; at least one.
    repeated: Bytes,
    copies: usize,
}

impl Request {
    /// Encodes the request that `method`, the target's path and host, `headers` and `body` make, for up to `pipeline` at once.
    ///
    /// On ZAP a `Content-Length` or `Trailer` among the headers is left out: the frame says it. On floor only the target counts.
    ///
    /// # Errors
    /// [`RequestError`] where a part does not fit into the wire.
    pub fn encode(
        target: &Target,
        method: &str,
        headers: &[Header],
        body: &[u8],
        pipeline: u32,
    ) -> Result<Self, RequestError> {
        let mut pairs: Vec<(&[u8], &[u8])> = Vec::new();
        let mut one = Vec::new();
        pairs.extend(headers.iter().map(|header| (header.name.as_bytes(), header.value.as_bytes())));
        match target.wire {
            WireName::Http => {
                let parts = Ask {
                    method: method.as_bytes(),
                    target: target.request_target.as_bytes(),
                    host: target.host.as_bytes(),
                    headers: &pairs,
                    body,
                };
                ask::write_request(&mut one, &parts).map_err(|source| RequestError::Http {
                    method: method.into(),
                    target: target.request_target.clone(),
                    source,
                })?;
            }
            WireName::Zap => {
                if !headers.iter().any(|header| header.name.eq_ignore_ascii_case("host")) {
                    pairs.insert(0, (b"Host", target.host.as_bytes()));
                }
                let head = request::RequestHead {
                    method: method.as_bytes(),
                    target: target.request_target.as_bytes(),
                    proto: b"",
                    headers: &pairs[..],
                };
                request::encode(&mut one, &head, body, ()).map_err(RequestError::Zap)?;
            }
            WireName::Floor(sizes) => sizes.write_request(&mut one).map_err(RequestError::Floor)?,
        }
        Ok(Self::of_bytes(one.into(), pipeline))
    }

    /// A request that is encoded already, for up to `pipeline` at once; it has at least one byte.
    pub fn of_bytes(one: Bytes, pipeline: u32) -> Self {
        let copies = (REPEATED_BYTES / one.len()).clamp(1, pipeline.max(1) as usize);
        let repeated = if copies == 1 { one.clone() } else { Bytes::from(one.repeat(copies)) };
        Self { repeated, one, copies }
    }

    /// Bytes of one request.
    #[inline]
    pub fn len_bytes(&self) -> usize {
        self.one.len()
    }

    /// The same bytes, shared.
    pub(crate) fn to_bytes(&self) -> Bytes {
        self.one.clone()
    }

    /// One request as it stands on the wire.
    pub fn bytes(&self) -> &[u8] {
        &self.one
    }

    /// How many requests may go into an outbox with this much room: at least one while there is any.
    #[inline]
    pub(crate) fn fits(&self, room_bytes: usize) -> usize {
        if room_bytes >= self.repeated.len() {
            return (room_bytes / self.one.len()).max(1);
        }
        (room_bytes / self.one.len()).max(usize::from(room_bytes > 0))
    }

    /// Appends `count` requests.
    #[inline]
    pub(crate) fn write(&self, out: &mut Outbox, mut count: usize) {
        if self.one.len() >= SHARE_FROM_BYTES {
            for _ in 0..count {
                out.share(self.one.clone());
            }
            return;
        }
        while count > 0 {
            let now = count.min(self.copies);
            out.bytes().extend_from_slice(&self.repeated[..now * self.one.len()]);
            count -= now;
        }
    }
}

/// Without the bytes: there may be a secret in them.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("bytes", &self.one.len()).field("copies", &self.copies).finish()
    }
}

/// Whether headers make a request the last one on its connection (RFC 9112 section 9.6).
pub(crate) fn closes(headers: &[Header]) -> bool {
    let mut options = ConnectionOptions::default();
    for header in headers.iter().filter(|header| header.name.eq_ignore_ascii_case("connection")) {
        options.add(header.value.as_bytes());
    }
    options.close
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(url: &str, method: &str, headers: &[(&str, &str)], body: &[u8]) -> Request {
        let headers: Vec<Header> =
            headers.iter().map(|(name, value)| Header { name: (*name).into(), value: (*value).into() }).collect();
        Request::encode(&Target::parse(url).expect("a URL"), method, &headers, body, 16).expect("encodes")
    }

    #[test]
    fn http_gains_a_host_and_a_length_and_nothing_else() {
        type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a [u8], &'a str);
        let table: [Case<'_>; 5] = [
            ("GET", &[], b"", "GET /x HTTP/1.1\r\nHost: a:1\r\n\r\n"),
            (
                "GET",
                &[("host", "b"), ("A", "1"), ("A", "2")],
                b"",
                "GET /x HTTP/1.1\r\nhost: b\r\nA: 1\r\nA: 2\r\n\r\n",
            ),
            ("POST", &[], b"hey", "POST /x HTTP/1.1\r\nHost: a:1\r\nContent-Length: 3\r\n\r\nhey"),
            ("POST", &[], b"", "POST /x HTTP/1.1\r\nHost: a:1\r\nContent-Length: 0\r\n\r\n"),
            (
                "POST",
                &[("Content-Length", "9")],
                b"hey",
                "POST /x HTTP/1.1\r\nHost: a:1\r\nContent-Length: 9\r\n\r\nhey",
            ),
        ];
        for (method, headers, body, want) in table {
            let request = encode("http://a:1/x", method, headers, body);
            assert_eq!(String::from_utf8_lossy(request.bytes()), want);
        }
    }

    #[test]
    fn zap_reads_back_with_a_host_and_nothing_else() {
        let request = encode("zap://a:1/x?y", "POST", &[("A", "1"), ("Content-Length", "9")], b"hey");
        let read = codec::zap::request::Request::decode(&request.bytes()[4..]).expect("our own frame");
        assert_eq!(
            (read.method, read.target, read.proto, read.body),
            (&b"POST"[..], &b"/x?y"[..], &b"HTTP/1.1"[..], &b"hey"[..])
        );
        let pairs: Vec<_> = read.headers.iter().collect();
        assert_eq!(pairs, [(&b"Host"[..], &b"a:1"[..]), (b"A", b"1")]);
        let own = encode("zap://a:1/x", "GET", &[("HOST", "b")], b"");
        let read = codec::zap::request::Request::decode(&own.bytes()[4..]).expect("our own frame");
        assert_eq!((read.headers.len(), read.host()), (1, Some(&b"b"[..])));
    }

    #[test]
    fn floor_says_what_it_wants_and_pads() {
        let request = encode("floor://a", "GET", &[], b"");
        assert_eq!((request.len_bytes(), &request.bytes()[..8]), (111, &[0, 0, 0, 107, 0, 0, 0, 114][..]));
        assert_eq!(encode("floor://a/9/256", "GET", &[], b"").bytes(), [0, 0, 0, 5, 0, 0, 1, 0, 0]);
    }

    #[test]
    fn any_number_is_written_back_to_back() {
        for body in [0, SHARE_FROM_BYTES, 3 * REPEATED_BYTES] {
            let request = encode("http://a/", "POST", &[], &vec![b'x'; body]);
            for count in [0, 1, 2, 15, 16, 17, 40] {
                let mut out = Outbox::new(REPEATED_BYTES);
                request.write(&mut out, count);
                assert_eq!(out.to_vec(), request.bytes().repeat(count), "{count} of {body}");
            }
        }
    }

    #[test]
    fn as_many_fit_as_there_is_room_for_and_one_if_there_is_any() {
        let request = encode("http://a/", "GET", &[], b"");
        let len = request.len_bytes();
        for (room, want) in [(0, 0), (1, 1), (len, 1), (2 * len - 1, 1), (2 * len, 2), (100 * len + 1, 100)] {
            assert_eq!(request.fits(room), want, "{room}");
        }
        let large = encode("http://a/", "POST", &[], &vec![b'x'; 2 * REPEATED_BYTES]);
        assert_eq!((large.fits(0), large.fits(1), large.fits(REPEATED_BYTES)), (0, 1, 1));
    }

    #[test]
    fn a_part_that_does_not_fit_is_named() {
        let target = Target::parse("http://a/").expect("a URL");
        let error = Request::encode(&target, "GE T", &[], b"", 1).expect_err("no token");
        assert!(error.to_string().contains("GE T"), "{error}");
        let zap = Target::parse("zap://a/").expect("a URL");
        let body = vec![0; codec::limits::MAX_FRAME_BYTES];
        let error = Request::encode(&zap, "POST", &[], &body, 1).expect_err("too large");
        assert!(error.to_string().contains("67108864"), "{error}");
    }
}
