//! What one connection wants to send next: bytes written in place, and shared slices between them that are not copied.

use bytes::Bytes;

use crate::limits;

/// Filled by a protocol while no send is in flight, then sent as one unit.
#[derive(Debug, Default)]
pub struct Outbox {
    buf: Vec<u8>,
    shared: Vec<Shared>,
    shared_bytes: usize,
    budget_bytes: usize,
    /// Bytes of the whole that the kernel has already taken.
    sent_bytes: usize,
    iovecs: Iovecs,
}

/// A slice to be sent after the first `at` bytes of the buffer.
#[derive(Debug)]
struct Shared {
    at: usize,
    bytes: Bytes,
}

impl Outbox {
    /// An outbox that asks its protocol to stop at `budget_bytes`.
    pub fn new(budget_bytes: usize) -> Self {
        Outbox { budget_bytes, ..Outbox::default() }
    }

    /// The buffer to append to. Append only: earlier bytes may belong to earlier answers.
    #[inline]
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.buf
    }

    /// Sends `bytes` after all that was appended so far, without copying it.
    pub fn share(&mut self, bytes: Bytes) {
        if bytes.is_empty() {
            return;
        }
        self.shared_bytes += bytes.len();
        self.shared.push(Shared { at: self.buf.len(), bytes });
    }

    /// Bytes a protocol may still write in this turn; 0 once the budget is reached. An answer already begun may exceed it.
    #[inline]
    pub fn room_bytes(&self) -> usize {
        self.budget_bytes.saturating_sub(self.buf.len() + self.shared_bytes)
    }

    /// Bytes written and not yet sent.
    #[inline]
    pub fn len_bytes(&self) -> usize {
        self.buf.len() + self.shared_bytes - self.sent_bytes
    }

    /// Whether there is nothing to send.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len_bytes() == 0
    }

    /// Everything that would be sent, in order, in one piece; for tests of protocols.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut whole = Vec::with_capacity(self.len_bytes());
        self.pieces(0, |piece| whole.extend_from_slice(piece));
        whole.split_off(self.sent_bytes)
    }

    /// Forgets the contents and keeps the memory, unless it has grown beyond what an idle connection may keep.
    pub fn clear(&mut self) {
        self.buf.clear();
        self.shared.clear();
        self.shared_bytes = 0;
        self.sent_bytes = 0;
        if self.buf.capacity() > limits::KEPT_OUTPUT_BYTES {
            self.buf.shrink_to(limits::KEPT_OUTPUT_BYTES);
        }
    }

    /// Records that the kernel took `bytes` more; true when all is sent.
    #[inline]
    pub(crate) fn advance(&mut self, bytes: usize) -> bool {
        self.sent_bytes += bytes;
        debug_assert!(self.sent_bytes <= self.buf.len() + self.shared_bytes);
        self.is_empty()
    }

    /// Heap bytes owned by this outbox; shared slices belong to everybody and are not counted.
    #[inline]
    pub(crate) fn held_bytes(&self) -> usize {
        self.buf.capacity()
    }

    /// The rest to send when it is one piece of the buffer, as it nearly always is.
    #[inline]
    pub(crate) fn contiguous(&self) -> Option<&[u8]> {
        self.shared.is_empty().then(|| &self.buf[self.sent_bytes..])
    }

    /// The rest to send as an array that `writev(2)` and `sendmsg(2)` take, at most [`limits::MAX_IOVECS`] pieces of it. It
    /// stays where it is, and so do the bytes, until the outbox is changed.
    pub(crate) fn iovecs(&mut self) -> &mut [libc::iovec] {
        let mut list = std::mem::take(&mut self.iovecs.0);
        list.clear();
        self.pieces(self.sent_bytes, |piece| {
            if list.len() < limits::MAX_IOVECS {
                list.push(libc::iovec { iov_base: piece.as_ptr().cast_mut().cast(), iov_len: piece.len() });
            }
        });
        self.iovecs.0 = list;
        &mut self.iovecs.0
    }

    /// Calls `each` for every non-empty piece after the first `skip` bytes.
    fn pieces(&self, mut skip: usize, mut each: impl FnMut(&[u8])) {
        let mut emit = |piece: &[u8]| {
            let cut = skip.min(piece.len());
            skip -= cut;
            if cut < piece.len() {
                each(&piece[cut..]);
            }
        };
        let mut from = 0;
        for shared in &self.shared {
            emit(&self.buf[from..shared.at]);
            emit(&shared.bytes);
            from = shared.at;
        }
        emit(&self.buf[from..]);
    }
}

/// Scratch for [`Outbox::iovecs`]; rebuilt before each use.
#[derive(Debug, Default)]
struct Iovecs(Vec<libc::iovec>);

// SAFETY: the addresses are scratch, rebuilt from the outbox that owns this value before each use and never read by anyone who
// does not hold that outbox; moving them to another thread moves no access.
unsafe impl Send for Iovecs {}

#[cfg(test)]
mod tests {
    use super::*;

    fn mixed() -> Outbox {
        let mut out = Outbox::new(1024);
        out.bytes().extend_from_slice(b"head:");
        out.share(Bytes::from_static(b"shared body"));
        out.bytes().extend_from_slice(b"|next:");
        out.share(Bytes::new());
        out.share(Bytes::from_static(b"second"));
        out
    }

    #[test]
    fn pieces_come_in_the_order_written() {
        assert_eq!(mixed().to_vec(), b"head:shared body|next:second");
        assert_eq!(mixed().len_bytes(), 28);
        assert_eq!(mixed().room_bytes(), 1024 - 28);
    }

    #[test]
    fn a_short_send_at_every_byte_leaves_the_exact_rest() {
        let whole = mixed().to_vec();
        for cut in 0..whole.len() {
            let mut out = mixed();
            assert!(!out.advance(cut) || cut == whole.len());
            let rest: usize = out.iovecs().iter().map(|v| v.iov_len).sum();
            assert_eq!(rest, whole.len() - cut);
            assert_eq!(out.to_vec(), &whole[cut..]);
        }
    }

    #[test]
    fn shared_slices_are_not_copied() {
        let body = Bytes::from(vec![7; 1 << 16]);
        let mut out = Outbox::new(limits::OUT_BUDGET_BYTES);
        out.bytes().extend_from_slice(b"head");
        out.share(body.clone());
        let vecs = out.iovecs();
        assert_eq!(vecs[1].iov_base.cast_const().cast(), body.as_ptr());
        assert!(out.contiguous().is_none());
    }

    #[test]
    fn the_budget_is_a_request_and_not_a_wall() {
        let mut out = Outbox::new(8);
        out.bytes().extend_from_slice(b"longer than eight");
        assert_eq!(out.room_bytes(), 0);
        assert_eq!(out.to_vec(), b"longer than eight");
    }
}
