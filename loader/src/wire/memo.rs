//! The last small answer's bytes and what they meant, so that the same bytes need not be parsed again.
//!
//! A server asked the same question over and over mostly gives the same head until its Date changes. Reading is a pure function of
//! the bytes, so equal bytes have an equal meaning, and comparing costs a tenth of parsing. Every answer is still checked in full.

use super::Answer;
use crate::limits::MEMO_BYTES;

/// One shard's memory of the last answer that fits.
#[derive(Debug)]
pub struct Memo {
    /// On HTTP the head; on ZAP the whole frame with its prefix. Empty for nothing.
    bytes: Vec<u8>,
    answer: Answer,
}

impl Default for Memo {
    fn default() -> Self {
        let answer = Answer { status: 0, body_bytes: 0, body_matches: true, reusable: true };
        Memo { bytes: Vec::with_capacity(MEMO_BYTES), answer }
    }
}

impl Memo {
    /// The remembered answer and its length, if `input` begins with its bytes.
    #[inline]
    pub(super) fn recall(&self, input: &[u8]) -> Option<(Answer, usize)> {
        let length = self.bytes.len();
        let known = length > 0 && input.get(..length) == Some(&self.bytes[..]);
        known.then_some((self.answer, length))
    }

    /// Remembers an answer in place of the last one, if it is small enough.
    #[inline]
    pub(super) fn keep(&mut self, bytes: &[u8], answer: Answer) {
        if bytes.len() <= MEMO_BYTES {
            self.bytes.clear();
            self.bytes.extend_from_slice(bytes);
            self.answer = answer;
        }
    }
}
