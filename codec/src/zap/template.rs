//! A message laid out once: everything up to the body, for heads that are the same each time.
//!
//! Owns the patching of the four numbers that follow from the body's length. Its bytes are those that
//! [`request::encode`] and [`response::encode`] write for the same head without a trailer; it only gets there with one
//! copy. Must not be used where headers differ from message to message.

use super::encoder::EncodeError;
use super::pairs::PairSource;
use super::request::{self, RequestHead};
use super::response::{self, ResponseHead};
use super::slot::SLOT_BYTES;
use crate::limits::{HEADER_BYTES, MAX_FRAME_BYTES, MESSAGE_SECTION_BYTES, PREFIX_BYTES};

/// Where the header's size stands, counted from the prefix.
const SIZE_AT: usize = PREFIX_BYTES + 12;
/// Where the body's slot stands in requests and responses alike, counted from the prefix.
const BODY_SLOT_AT: usize = PREFIX_BYTES + HEADER_BYTES + response::BODY;
/// Bytes in which all that depends on the body's length stands.
const PATCHED_BYTES: usize = PREFIX_BYTES + HEADER_BYTES + MESSAGE_SECTION_BYTES;

/// Length prefix and frame up to the body, for bodies of any length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// The part that is patched, as it stands for an empty body.
    fixed: [u8; PATCHED_BYTES],
    /// The fields in front of the body.
    fields: Box<[u8]>,
}

impl Template {
    /// The template of a request.
    ///
    /// # Errors
    ///
    /// [`EncodeError::TooLarge`] where the head alone is longer than a frame may be.
    pub fn request(head: &RequestHead<'_, impl PairSource>) -> Result<Self, EncodeError> {
        let mut bytes = Vec::new();
        request::encode(&mut bytes, head, &[], ())?;
        Ok(Self::cut(&bytes))
    }

    /// The template of a response.
    ///
    /// # Errors
    ///
    /// [`EncodeError::TooLarge`] where the head alone is longer than a frame may be.
    pub fn response(head: &ResponseHead<'_, impl PairSource>) -> Result<Self, EncodeError> {
        let mut bytes = Vec::new();
        response::encode(&mut bytes, head, &[], ())?;
        Ok(Self::cut(&bytes))
    }

    fn cut(bytes: &[u8]) -> Self {
        let (fixed, fields) = bytes.split_first_chunk().expect("an encoder writes the whole fixed part first");
        Self { fixed: *fixed, fields: fields.into() }
    }

    /// Bytes that stand in front of the body, length prefix included.
    #[inline]
    pub fn prefix_bytes(&self) -> usize {
        PATCHED_BYTES + self.fields.len()
    }

    /// Appends length prefix and frame to `out`, which grows at most once.
    ///
    /// # Errors
    ///
    /// [`EncodeError::TooLarge`]; `out` is then as it was.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>, body: &[u8]) -> Result<(), EncodeError> {
        self.append(out, body.len(), body.len())?;
        out.extend_from_slice(body);
        Ok(())
    }

    /// Appends length prefix and frame up to the body. `body_bytes` bytes sent after it complete the frame, from
    /// wherever they are.
    ///
    /// # Errors
    ///
    /// [`EncodeError::TooLarge`]; `out` is then as it was.
    #[inline]
    pub fn encode_with_body_len(&self, out: &mut Vec<u8>, body_bytes: usize) -> Result<(), EncodeError> {
        self.append(out, body_bytes, 0)
    }

    #[inline]
    fn append(&self, out: &mut Vec<u8>, body_bytes: usize, reserve_bytes: usize) -> Result<(), EncodeError> {
        let frame_bytes = (self.prefix_bytes() - PREFIX_BYTES).saturating_add(body_bytes);
        if frame_bytes > MAX_FRAME_BYTES {
            return Err(EncodeError::TooLarge { frame_bytes });
        }
        let mut fixed = self.fixed;
        let size = frame_bytes as u32;
        fixed[..PREFIX_BYTES].copy_from_slice(&size.to_be_bytes());
        fixed[SIZE_AT..SIZE_AT + 4].copy_from_slice(&size.to_le_bytes());
        if body_bytes > 0 {
            // An empty body has no slot. Otherwise it starts where the fields end, counted from its slot.
            let relative = (self.prefix_bytes() - BODY_SLOT_AT) as u64;
            let slot = relative | (body_bytes as u64) << 32;
            fixed[BODY_SLOT_AT..BODY_SLOT_AT + SLOT_BYTES].copy_from_slice(&slot.to_le_bytes());
        }
        out.reserve(self.prefix_bytes() + reserve_bytes);
        out.extend_from_slice(&fixed);
        out.extend_from_slice(&self.fields);
        Ok(())
    }
}
