//! What an answer is and how long its body is, from the first bytes of a frame that has not wholly arrived.
//!
//! Owns the loader's way not to hold a 64 MiB answer. Must not read header or trailer blocks: a block cut short is
//! found only by a full decode. Everything else it says, errors included, is what a full decode says.

use super::frame::{FrameError, Header, Kind};
use super::response::{BODY, STATUS, status_or_default};
use super::slot::{Object, SLOT_BYTES, extent};
use super::stream::CHUNK;
use crate::limits::HEADER_BYTES;
use crate::step::Step;

/// The beginning of an answer's frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peek {
    /// Any kind but [`Kind::Request`].
    pub kind: Kind,
    /// The status of a response or a head; 0 in data and end frames, which have none.
    pub status: u16,
    /// Where the body or the chunk starts, counted from the start of the frame; 0 where there is none.
    pub body_at: usize,
    /// Bytes of a response's body or of a data frame's chunk; 0 for a head and an end.
    pub body_bytes: usize,
}

/// Reads the beginning of a frame of `frame_bytes` bytes, of which `bytes` have arrived; neither counts the length
/// prefix. `consumed` is what was looked at, so far into the frame and no further.
///
/// A hostile root may lie megabytes into the frame; then so does `at_least`, and it is the caller's to say how much
/// it is willing to hold. What the reference writes is answered from its first 56 bytes.
///
/// # Errors
///
/// [`FrameError`], as a full decode, but for the pairs.
#[inline]
pub fn peek(bytes: &[u8], frame_bytes: usize) -> Result<Step<Peek>, FrameError> {
    if frame_bytes < HEADER_BYTES {
        return Err(FrameError::TooSmall);
    }
    let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
        return Ok(Step::NeedMore { at_least: HEADER_BYTES });
    };
    let header = Header::read(header, frame_bytes)?;
    let kind = match Kind::from_type(header.type_byte) {
        Some(kind) if kind != Kind::Request => kind,
        _ => Kind::Response,
    };
    header.expect(kind)?;
    let root = header.root()?;
    let (body, seen_bytes) = match kind {
        Kind::Request | Kind::Response => (Some(BODY), BODY + SLOT_BYTES),
        Kind::Head => (None, STATUS + size_of::<u16>()),
        Kind::Data => (Some(CHUNK), CHUNK + SLOT_BYTES),
        Kind::End => (None, 0),
    };

    // The message may end within the section; what lies beyond its end is absent and not waited for.
    let need = root.saturating_add(seen_bytes).min(header.size);
    let Some(seen) = bytes.get(..need) else {
        return Ok(Step::NeedMore { at_least: need });
    };
    let status = match kind {
        Kind::Data | Kind::End => 0,
        _ => status_or_default(Object::new(seen, root).u16(STATUS)),
    };
    let target = body
        .and_then(|field| {
            let slot_at = root.checked_add(field)?;
            let slot = *seen.get(slot_at..)?.first_chunk::<SLOT_BYTES>()?;
            extent(slot_at, slot, header.size)
        })
        .filter(|target| !target.is_empty())
        .unwrap_or_default();
    Ok(Step::Complete { value: Peek { kind, status, body_at: target.start, body_bytes: target.len() }, consumed: need })
}
