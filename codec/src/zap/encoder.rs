//! The part of a message that has a fixed size: length prefix, header, and the root object's section with its slots.
//!
//! Owns the order on write (ZAP wire §3): root 16, an empty field is a zeroed slot, non-empty fields follow the
//! section in the order in which they are named here, unpadded. Must not write the tail itself: its caller does,
//! in the same order.

use thiserror::Error;

use super::frame::{Kind, MAGIC, VERSION};
use super::slot::SLOT_BYTES;
use crate::limits::{
    CHUNK_SECTION_BYTES, HEADER_BYTES, MAX_FRAME_BYTES, MESSAGE_SECTION_BYTES, PREFIX_BYTES, RECORD_SECTION_BYTES,
};

/// Why a message was not written. The output is then as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// The message would be longer than a frame may be ([`MAX_FRAME_BYTES`]).
    #[error("http: frame size {frame_bytes} exceeds MaxFrameSize={MAX_FRAME_BYTES}")]
    TooLarge {
        /// Bytes that the frame would have, its prefix not counted.
        frame_bytes: usize,
    },
}

const MESSAGE_BYTES: usize = PREFIX_BYTES + HEADER_BYTES + MESSAGE_SECTION_BYTES;
const CHUNK_BYTES: usize = PREFIX_BYTES + HEADER_BYTES + CHUNK_SECTION_BYTES;
const RECORD_BYTES: usize = HEADER_BYTES + RECORD_SECTION_BYTES;

/// The fixed part of a request, a response or a head, length prefix included.
pub(super) type MessageEncoder = Encoder<MESSAGE_BYTES, PREFIX_BYTES>;
/// The fixed part of a data or end frame, length prefix included.
pub(super) type ChunkEncoder = Encoder<CHUNK_BYTES, PREFIX_BYTES>;
/// The fixed part of a typed record, which has no length prefix.
pub(super) type RecordEncoder = Encoder<RECORD_BYTES, 0>;

/// `N` bytes of which the first `START` are the length prefix. Fields must be laid in their order.
///
/// All of it is laid on the stack and copied out once: places and sizes are known when compiling.
pub(super) struct Encoder<const N: usize, const START: usize> {
    bytes: [u8; N],
    /// Bytes of the message so far: the fixed part and the fields laid.
    message_bytes: usize,
}

impl<const N: usize, const START: usize> Encoder<N, START> {
    /// An empty message of the given kind; none for a record, whose flags are 0.
    #[inline(always)]
    pub(super) fn new(kind: Option<Kind>) -> Self {
        let mut encoder = Self { bytes: [0; N], message_bytes: N - START };
        encoder.put(START, MAGIC);
        encoder.put(START + 4, VERSION.to_le_bytes());
        encoder.put(START + 6, [0, kind.map_or(0, |kind| kind as u8)]);
        encoder.put(START + 8, (HEADER_BYTES as u32).to_le_bytes());
        encoder
    }

    #[inline(always)]
    fn put<const M: usize>(&mut self, at: usize, value: [u8; M]) {
        self.bytes[at..at + M].copy_from_slice(&value);
    }

    /// A number at byte `FIELD` of the section.
    #[inline(always)]
    pub(super) fn u16<const FIELD: usize>(&mut self, value: u16) {
        self.put(START + HEADER_BYTES + FIELD, value.to_le_bytes());
    }

    /// A number at byte `FIELD` of the section.
    #[inline(always)]
    pub(super) fn u64<const FIELD: usize>(&mut self, value: u64) {
        self.put(START + HEADER_BYTES + FIELD, value.to_le_bytes());
    }

    /// The slot at byte `FIELD` of the section, for a field of `field_bytes` that comes next in the tail.
    #[inline(always)]
    pub(super) fn slot<const FIELD: usize>(&mut self, field_bytes: usize) {
        if field_bytes == 0 {
            return;
        }
        let at = HEADER_BYTES + FIELD;
        // Truncation is caught by `seal`: a sum above the frame's limit is refused there.
        let relative = (self.message_bytes - at) as u32;
        let length = field_bytes as u32;
        let slot = u64::from(relative) | u64::from(length) << 32;
        let slot: [u8; SLOT_BYTES] = slot.to_le_bytes();
        self.put(START + at, slot);
        self.message_bytes = self.message_bytes.saturating_add(field_bytes);
    }

    /// Appends the fixed part to `out` with room reserved for the whole of it, less `elsewhere_bytes` of the tail
    /// that the caller sends from another place.
    ///
    /// # Errors
    ///
    /// [`EncodeError::TooLarge`]; nothing was appended or reserved.
    #[inline(always)]
    pub(super) fn seal(mut self, out: &mut Vec<u8>, elsewhere_bytes: usize) -> Result<(), EncodeError> {
        let frame_bytes = self.message_bytes;
        if frame_bytes > MAX_FRAME_BYTES {
            return Err(EncodeError::TooLarge { frame_bytes });
        }
        let size = frame_bytes as u32;
        if START == PREFIX_BYTES {
            self.put(0, size.to_be_bytes());
        }
        self.put(START + 12, size.to_le_bytes());
        out.reserve(START + frame_bytes - elsewhere_bytes);
        out.extend_from_slice(&self.bytes);
        Ok(())
    }
}
