//! The response frame, and the head that begins a streamed one: a status, headers, a body, a trailer.
//!
//! Owns the order of its fields and their defaults (ZAP wire §3 to §5). Must not choose a status.

use super::encoder::{EncodeError, MessageEncoder};
use super::frame::{Frame, FrameError, Kind};
use super::pairs::{PairSource, Pairs};
use super::reason;
use super::request::{DEFAULT_PROTO, or_default};
use super::slot::{Fields, Object};
use crate::limits::MESSAGE_SECTION_BYTES;

pub(super) const STATUS: usize = 0;
const REASON: usize = 8;
const PROTO: usize = 16;
const HEADERS: usize = 24;
pub(super) const BODY: usize = 32;
const TRAILER: usize = 40;

/// What a status of 0 means, read or written.
const DEFAULT_STATUS: u16 = 200;

/// A response as it stands in its frame; an absent field is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response<'a> {
    /// [`Kind::Response`], or [`Kind::Head`] where a stream begins.
    pub kind: Kind,
    /// The status, 200 where none or 0 was sent. Any other number is as sent.
    pub status: u16,
    /// The reason phrase, which means nothing.
    pub reason: &'a [u8],
    /// The protocol's name, usually `HTTP/1.1`. It decides nothing on this wire.
    pub proto: &'a [u8],
    /// The headers. A `Content-Length` among them means nothing: the body's slot is the truth.
    pub headers: Pairs<'a>,
    /// The body. Always empty in a head, whose body slot is not looked at.
    pub body: &'a [u8],
    /// The trailer. Always empty in a head, whose trailer slot is not looked at.
    pub trailer: Pairs<'a>,
}

impl<'a> Response<'a> {
    /// Reads a response or head frame, given without its length prefix.
    ///
    /// # Errors
    ///
    /// [`FrameError`], each text and their order as the reference's.
    #[inline(always)]
    pub fn decode(frame: &'a [u8]) -> Result<Self, FrameError> {
        Self::from_frame(&Frame::parse(frame)?)
    }

    /// Reads a response or head out of a frame whose header was checked.
    ///
    /// # Errors
    ///
    /// [`FrameError::Kind`], [`FrameError::Root`], [`FrameError::Headers`] or [`FrameError::Trailer`].
    #[inline(always)]
    pub fn from_frame(frame: &Frame<'a>) -> Result<Self, FrameError> {
        let kind = match frame.kind() {
            Some(Kind::Head) => Kind::Head,
            _ => Kind::Response,
        };
        let root = frame.root_of(kind)?;
        match root.section::<MESSAGE_SECTION_BYTES>() {
            Some(section) => Self::from_fields(kind, section),
            None => Self::from_short_object(kind, root),
        }
    }

    #[cold]
    fn from_short_object(kind: Kind, root: Object<'a>) -> Result<Self, FrameError> {
        Self::from_fields(kind, root)
    }

    // Always inlined, as are its callers: a field that is not looked at then costs nothing.
    #[inline(always)]
    fn from_fields(kind: Kind, fields: impl Fields<'a>) -> Result<Self, FrameError> {
        let headers = Pairs::parse(fields.slot::<HEADERS>()).map_err(FrameError::Headers)?;
        let (body, trailer) = if kind == Kind::Head {
            (&[][..], Pairs::EMPTY)
        } else {
            let trailer = Pairs::parse(fields.slot::<TRAILER>()).map_err(FrameError::Trailer)?;
            (fields.slot::<BODY>(), trailer)
        };
        Ok(Self {
            kind,
            status: status_or_default(fields.u16::<STATUS>()),
            reason: fields.slot::<REASON>(),
            proto: fields.slot::<PROTO>(),
            headers,
            body,
            trailer,
        })
    }
}

#[inline]
pub(super) fn status_or_default(sent: u16) -> u16 {
    if sent == 0 { DEFAULT_STATUS } else { sent }
}

/// What stands before the body of a response that is to be written.
#[derive(Debug, Clone, Copy)]
pub struct ResponseHead<'a, H> {
    /// The status; 0 is written as 200.
    pub status: u16,
    /// The reason; empty is written as the status's phrase ([`reason::phrase`]).
    pub reason: &'a [u8],
    /// The protocol's name; empty is written as `HTTP/1.1`.
    pub proto: &'a [u8],
    /// The headers; `Content-Length` and `Trailer` among them are dropped.
    pub headers: H,
}

impl<H> ResponseHead<'_, H> {
    /// A head with this status and these headers; the rest is as the standard has it.
    #[inline]
    pub fn new(status: u16, headers: H) -> Self {
        Self { status, reason: &[], proto: &[], headers }
    }
}

/// Appends length prefix and response frame to `out`, which grows at most once. Where the head is the same each time, a
/// [`Template`](super::template::Template) writes the same bytes with one copy.
///
/// # Errors
///
/// [`EncodeError::TooLarge`]; `out` is then as it was.
#[inline]
pub fn encode(
    out: &mut Vec<u8>,
    head: &ResponseHead<'_, impl PairSource>,
    body: &[u8],
    trailer: impl PairSource,
) -> Result<(), EncodeError> {
    let trailer_size = trailer.block_size();
    let tail = TailBytes { body: body.len(), trailer: trailer_size.bytes, elsewhere: 0 };
    append_head(out, Kind::Response, head, tail)?;
    out.extend_from_slice(body);
    trailer.append_block(out, trailer_size);
    Ok(())
}

/// Appends length prefix and response frame up to the body. `body_bytes` bytes sent after it complete the frame,
/// from wherever they are; the trailer is absent.
///
/// # Errors
///
/// [`EncodeError::TooLarge`]; `out` is then as it was.
#[inline]
pub fn encode_with_body_len(
    out: &mut Vec<u8>,
    head: &ResponseHead<'_, impl PairSource>,
    body_bytes: usize,
) -> Result<(), EncodeError> {
    let tail = TailBytes { body: body_bytes, trailer: 0, elsewhere: body_bytes };
    append_head(out, Kind::Response, head, tail)
}

/// Appends length prefix and head frame to `out`: the beginning of a streamed response, which
/// [`stream`](super::stream) continues.
///
/// # Errors
///
/// [`EncodeError::TooLarge`]; `out` is then as it was.
#[inline]
pub fn encode_head(out: &mut Vec<u8>, head: &ResponseHead<'_, impl PairSource>) -> Result<(), EncodeError> {
    append_head(out, Kind::Head, head, TailBytes::default())
}

/// Bytes of what follows the head in the frame.
#[derive(Clone, Copy, Default)]
struct TailBytes {
    body: usize,
    trailer: usize,
    /// How many of them are not appended to the same output.
    elsewhere: usize,
}

#[inline]
fn append_head(
    out: &mut Vec<u8>,
    kind: Kind,
    head: &ResponseHead<'_, impl PairSource>,
    tail: TailBytes,
) -> Result<(), EncodeError> {
    let status = status_or_default(head.status);
    let reason = if head.reason.is_empty() { reason::phrase(status).as_bytes() } else { head.reason };
    let proto = or_default(head.proto, DEFAULT_PROTO);
    let headers_size = head.headers.block_size();

    let mut encoder = MessageEncoder::new(Some(kind));
    encoder.u16::<STATUS>(status);
    encoder.slot::<REASON>(reason.len());
    encoder.slot::<PROTO>(proto.len());
    encoder.slot::<HEADERS>(headers_size.bytes);
    encoder.slot::<BODY>(tail.body);
    encoder.slot::<TRAILER>(tail.trailer);
    encoder.seal(out, tail.elsewhere)?;

    out.extend_from_slice(reason);
    out.extend_from_slice(proto);
    head.headers.append_block(out, headers_size);
    Ok(())
}
