//! The request frame: a method, a target, headers, a body, a trailer.
//!
//! Owns the order of its fields and their defaults (ZAP wire §3 to §5). Must not route.

use super::encoder::{EncodeError, MessageEncoder};
use super::frame::{Frame, FrameError, Kind};
use super::pairs::{PairSource, Pairs};
use super::slot::{Fields, Object};
use crate::limits::MESSAGE_SECTION_BYTES;

const METHOD: usize = 0;
const TARGET: usize = 8;
const PROTO: usize = 16;
const HEADERS: usize = 24;
const BODY: usize = 32;
const TRAILER: usize = 40;

/// What an absent method means.
const DEFAULT_METHOD: &[u8] = b"GET";
/// What an absent target means to a router.
const DEFAULT_TARGET: &[u8] = b"/";
/// What is written where the caller names no proto.
pub(super) const DEFAULT_PROTO: &[u8] = b"HTTP/1.1";

/// A request as it stands in its frame; an absent field is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// The method as sent; see [`method`](Self::method).
    pub method: &'a [u8],
    /// The target as sent; see [`target`](Self::target).
    pub target: &'a [u8],
    /// The protocol's name, usually `HTTP/1.1`. It decides nothing on this wire.
    pub proto: &'a [u8],
    /// The headers. A `Content-Length` among them means nothing: the body's slot is the truth.
    pub headers: Pairs<'a>,
    /// The body.
    pub body: &'a [u8],
    /// The trailer.
    pub trailer: Pairs<'a>,
}

impl<'a> Request<'a> {
    /// Reads a request frame, given without its length prefix.
    ///
    /// # Errors
    ///
    /// [`FrameError`], each text and their order as the reference's.
    #[inline(always)]
    pub fn decode(frame: &'a [u8]) -> Result<Self, FrameError> {
        Self::from_frame(&Frame::parse(frame)?)
    }

    /// Reads a request out of a frame whose header was checked.
    ///
    /// # Errors
    ///
    /// [`FrameError::Kind`], [`FrameError::Root`], [`FrameError::Headers`] or [`FrameError::Trailer`].
    #[inline(always)]
    pub fn from_frame(frame: &Frame<'a>) -> Result<Self, FrameError> {
        let root = frame.root_of(Kind::Request)?;
        match root.section::<MESSAGE_SECTION_BYTES>() {
            Some(section) => Self::from_fields(section),
            None => Self::from_short_object(root),
        }
    }

    #[cold]
    fn from_short_object(root: Object<'a>) -> Result<Self, FrameError> {
        Self::from_fields(root)
    }

    // Always inlined, as are its callers: a field that is not looked at then costs nothing.
    #[inline(always)]
    fn from_fields(fields: impl Fields<'a>) -> Result<Self, FrameError> {
        Ok(Self {
            method: fields.slot::<METHOD>(),
            target: fields.slot::<TARGET>(),
            proto: fields.slot::<PROTO>(),
            headers: Pairs::parse(fields.slot::<HEADERS>()).map_err(FrameError::Headers)?,
            body: fields.slot::<BODY>(),
            trailer: Pairs::parse(fields.slot::<TRAILER>()).map_err(FrameError::Trailer)?,
        })
    }

    /// The method, `GET` where none was sent.
    #[inline]
    pub fn method(&self) -> &'a [u8] {
        or_default(self.method, DEFAULT_METHOD)
    }

    /// The target, `/` where none was sent.
    #[inline]
    pub fn target(&self) -> &'a [u8] {
        or_default(self.target, DEFAULT_TARGET)
    }

    /// The value of the last `Host` header.
    #[inline]
    pub fn host(&self) -> Option<&'a [u8]> {
        self.headers.get(b"host")
    }
}

#[inline]
pub(super) fn or_default<'a>(sent: &'a [u8], default: &'a [u8]) -> &'a [u8] {
    if sent.is_empty() { default } else { sent }
}

/// What stands before the body of a request that is to be written.
#[derive(Debug, Clone, Copy)]
pub struct RequestHead<'a, H> {
    /// The method; empty is written as `GET`.
    pub method: &'a [u8],
    /// The target; empty is written as absent.
    pub target: &'a [u8],
    /// The protocol's name; empty is written as `HTTP/1.1`.
    pub proto: &'a [u8],
    /// The headers; `Content-Length` and `Trailer` among them are dropped.
    pub headers: H,
}

/// Appends length prefix and request frame to `out`, which grows at most once. Where the head is the same each time, a
/// [`Template`](super::template::Template) writes the same bytes with one copy.
///
/// # Errors
///
/// [`EncodeError::TooLarge`]; `out` is then as it was.
#[inline]
pub fn encode(
    out: &mut Vec<u8>,
    head: &RequestHead<'_, impl PairSource>,
    body: &[u8],
    trailer: impl PairSource,
) -> Result<(), EncodeError> {
    let trailer_size = trailer.block_size();
    append_head(out, head, body.len(), trailer_size.bytes, 0)?;
    out.extend_from_slice(body);
    trailer.append_block(out, trailer_size);
    Ok(())
}

/// Appends length prefix and request frame up to the body. `body_bytes` bytes sent after it complete the frame,
/// from wherever they are; the trailer is absent.
///
/// # Errors
///
/// [`EncodeError::TooLarge`]; `out` is then as it was.
#[inline]
pub fn encode_with_body_len(
    out: &mut Vec<u8>,
    head: &RequestHead<'_, impl PairSource>,
    body_bytes: usize,
) -> Result<(), EncodeError> {
    append_head(out, head, body_bytes, 0, body_bytes)
}

#[inline]
fn append_head(
    out: &mut Vec<u8>,
    head: &RequestHead<'_, impl PairSource>,
    body_bytes: usize,
    trailer_bytes: usize,
    elsewhere_bytes: usize,
) -> Result<(), EncodeError> {
    let method = or_default(head.method, DEFAULT_METHOD);
    let proto = or_default(head.proto, DEFAULT_PROTO);
    let headers_size = head.headers.block_size();

    let mut encoder = MessageEncoder::new(Some(Kind::Request));
    encoder.slot::<METHOD>(method.len());
    encoder.slot::<TARGET>(head.target.len());
    encoder.slot::<PROTO>(proto.len());
    encoder.slot::<HEADERS>(headers_size.bytes);
    encoder.slot::<BODY>(body_bytes);
    encoder.slot::<TRAILER>(trailer_bytes);
    encoder.seal(out, elsewhere_bytes)?;

    out.extend_from_slice(method);
    out.extend_from_slice(head.target);
    out.extend_from_slice(proto);
    head.headers.append_block(out, headers_size);
    Ok(())
}
