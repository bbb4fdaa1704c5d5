//! The floor wire: frames that say how long their reply shall be, and nothing else. What it costs to move them is what any protocol
//! costs at least, so it is what the others are compared with.
//!
//! | frame | bytes |
//! |---|---|
//! | request | `u32` length of what follows it, `u32` bytes of the whole reply wanted, padding |
//! | reply | `u32` length of what follows it, padding |
//!
//! Integers are big-endian, as the length of a ZAP frame is. Padding is never looked at. Every size in this file is that of a whole
//! frame, its length included. There is no error on the wire: what is no request closes the connection.

use thiserror::Error;

use crate::limits::{MAX_FLOOR_REPLY_BYTES, MAX_FLOOR_REQUEST_BYTES, PREFIX_BYTES};
use crate::step::Step;

/// Bytes of the smallest request: the length and the wish.
pub const MIN_REQUEST_BYTES: usize = 8;

/// Bytes of the smallest reply: a length of nothing.
pub const MIN_REPLY_BYTES: usize = PREFIX_BYTES;

/// What goes over the wire, there and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sizes {
    /// Bytes of each request.
    pub request_bytes: usize,
    /// Bytes of each reply.
    pub reply_bytes: usize,
}

/// Those of `GET /health` on ZAP.
impl Default for Sizes {
    fn default() -> Self {
        Sizes { request_bytes: 111, reply_bytes: 114 }
    }
}

/// Why bytes are no frame of this wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FloorError {
    /// A request that is too short to carry its wish, or too long.
    #[error(
        "floor: a request of {bytes} bytes; there are requests of {MIN_REQUEST_BYTES} to {MAX_FLOOR_REQUEST_BYTES} bytes"
    )]
    Request {
        /// Its bytes.
        bytes: usize,
    },
    /// A reply, or the wish for one, that is shorter than its own length, or too long.
    #[error("floor: a reply of {bytes} bytes; there are replies of {MIN_REPLY_BYTES} to {MAX_FLOOR_REPLY_BYTES} bytes")]
    Reply {
        /// Its bytes.
        bytes: usize,
    },
}

impl Sizes {
    /// Checks both against their bounds.
    ///
    /// # Errors
    /// [`FloorError`], naming the first that is outside.
    #[inline]
    pub fn check(self) -> Result<Self, FloorError> {
        if !(MIN_REQUEST_BYTES..=MAX_FLOOR_REQUEST_BYTES).contains(&self.request_bytes) {
            return Err(FloorError::Request { bytes: self.request_bytes });
        }
        if !(MIN_REPLY_BYTES..=MAX_FLOOR_REPLY_BYTES).contains(&self.reply_bytes) {
            return Err(FloorError::Reply { bytes: self.reply_bytes });
        }
        Ok(self)
    }

    /// Appends one request.
    ///
    /// # Errors
    /// As [`Sizes::check`]; nothing is appended then.
    pub fn write_request(self, out: &mut Vec<u8>) -> Result<(), FloorError> {
        self.check()?;
        let end = out.len() + self.request_bytes;
        out.extend_from_slice(&length(self.request_bytes));
        out.extend_from_slice(&(self.reply_bytes as u32).to_be_bytes());
        out.resize(end, 0);
        Ok(())
    }
}

/// The length that begins a frame of `frame_bytes`, at least four and within its bound.
#[inline]
pub fn length(frame_bytes: usize) -> [u8; PREFIX_BYTES] {
    debug_assert!((PREFIX_BYTES..=MAX_FLOOR_REPLY_BYTES).contains(&frame_bytes));
    ((frame_bytes - PREFIX_BYTES) as u32).to_be_bytes()
}

/// Finds the end of the request that `input` begins with; the value is the bytes of the reply wanted.
///
/// # Errors
/// [`FloorError`] as soon as the four bytes that break a bound are there.
#[inline]
pub fn split(input: &[u8]) -> Result<Step<usize>, FloorError> {
    let Some(head) = input.first_chunk::<MIN_REQUEST_BYTES>() else { return beginning(input) };
    // Both integers in one load.
    let head = u64::from_be_bytes(*head);
    let sizes =
        Sizes { request_bytes: (head >> 32) as usize + PREFIX_BYTES, reply_bytes: head as u32 as usize }.check()?;
    if input.len() < sizes.request_bytes {
        return Ok(Step::NeedMore { at_least: sizes.request_bytes });
    }
    Ok(Step::Complete { value: sizes.reply_bytes, consumed: sizes.request_bytes })
}

/// Of a request whose wish has not come yet, the length is checked all the same.
#[cold]
fn beginning(input: &[u8]) -> Result<Step<usize>, FloorError> {
    let Some(length) = input.first_chunk::<PREFIX_BYTES>() else {
        return Ok(Step::NeedMore { at_least: PREFIX_BYTES });
    };
    let request_bytes = u32::from_be_bytes(*length) as usize + PREFIX_BYTES;
    Sizes { request_bytes, ..Sizes::default() }.check()?;
    Ok(Step::NeedMore { at_least: MIN_REQUEST_BYTES })
}

/// The bytes of the reply that `input` begins with, or `None` before its length has come.
///
/// # Errors
/// [`FloorError::Reply`].
#[inline]
pub fn reply_bytes(input: &[u8]) -> Result<Option<usize>, FloorError> {
    let Some(length) = input.first_chunk::<PREFIX_BYTES>() else { return Ok(None) };
    let bytes = u32::from_be_bytes(*length) as usize + PREFIX_BYTES;
    if bytes > MAX_FLOOR_REPLY_BYTES {
        return Err(FloorError::Reply { bytes });
    }
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(request_bytes: usize, reply_bytes: usize) -> Vec<u8> {
        let mut out = b"earlier".to_vec();
        Sizes { request_bytes, reply_bytes }.write_request(&mut out).expect("within bounds");
        out.split_off(7)
    }

    #[test]
    fn the_bytes_of_a_request() {
        assert_eq!(request(10, 258), [0, 0, 0, 6, 0, 0, 1, 2, 0, 0]);
        let Sizes { request_bytes, reply_bytes } = Sizes::default();
        assert_eq!(request(request_bytes, reply_bytes).len(), 111);
    }

    #[test]
    fn what_is_written_is_split_at_its_end_whatever_follows() {
        for (request_bytes, reply_bytes) in
            [(8, 4), (9, 5), (111, 114), (MAX_FLOOR_REQUEST_BYTES, MAX_FLOOR_REPLY_BYTES)]
        {
            let input = [request(request_bytes, reply_bytes), vec![0xff; 3]].concat();
            assert_eq!(split(&input), Ok(Step::Complete { value: reply_bytes, consumed: request_bytes }));
        }
    }

    #[test]
    fn every_truncation_needs_more_and_says_how_much() {
        let input = request(111, 114);
        for end in 0..input.len() {
            let at_least = match end {
                0..4 => 4,
                4..8 => 8,
                _ => 111,
            };
            assert_eq!(split(&input[..end]), Ok(Step::NeedMore { at_least }), "{end}");
        }
    }

    #[test]
    fn what_breaks_a_bound_is_refused_from_its_four_bytes() {
        let (most_request, most_reply) = (MAX_FLOOR_REQUEST_BYTES as u32 - 4, MAX_FLOOR_REPLY_BYTES as u32);
        for length in [0, 1, 3, most_request + 1, u32::MAX, u32::from_be_bytes(*b"GET ")] {
            let error = FloorError::Request { bytes: length as usize + 4 };
            assert_eq!(split(&length.to_be_bytes()), Err(error));
            assert_eq!(split(&[length.to_be_bytes(), [0, 0, 0, 9]].concat()), Err(error));
        }
        for reply in [0, 1, 3, most_reply + 1, u32::MAX] {
            let input = [100_u32.to_be_bytes(), reply.to_be_bytes()].concat();
            assert_eq!(split(&input), Err(FloorError::Reply { bytes: reply as usize }));
        }
        let sizes = Sizes { request_bytes: 7, reply_bytes: 3 };
        assert!(sizes.write_request(&mut Vec::new()).expect_err("too short").to_string().contains("8 to 1048576"));
    }

    #[test]
    fn replies_are_measured_from_their_length() {
        assert_eq!(reply_bytes(&[0, 0, 0]), Ok(None));
        for bytes in [4, 114, MAX_FLOOR_REPLY_BYTES] {
            assert_eq!(reply_bytes(&length(bytes)), Ok(Some(bytes)));
        }
        assert_eq!(reply_bytes(&[1, 0, 0, 0]), Err(FloorError::Reply { bytes: (1 << 24) + 4 }));
    }
}
