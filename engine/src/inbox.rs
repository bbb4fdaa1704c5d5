//! What a peer sent and the protocol has not consumed: contiguous, growing with the bytes that arrive, small when idle.

use crate::limits;

/// The input of one connection.
#[derive(Debug)]
pub(crate) struct Inbox {
    buf: Vec<u8>,
    start: usize,
    read_bytes: usize,
    small_reads: u8,
}

impl Default for Inbox {
    fn default() -> Self {
        Inbox { buf: Vec::new(), start: 0, read_bytes: limits::IDLE_INPUT_BYTES, small_reads: 0 }
    }
}

impl Inbox {
    /// What has arrived and was not consumed.
    #[inline]
    pub(crate) fn unread(&self) -> &[u8] {
        &self.buf[self.start..]
    }

    #[inline]
    pub(crate) fn unread_bytes(&self) -> usize {
        self.buf.len() - self.start
    }

    #[inline]
    pub(crate) fn capacity_bytes(&self) -> usize {
        self.buf.capacity()
    }

    #[inline]
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.start += bytes;
        assert!(self.start <= self.buf.len(), "a protocol consumed more than it was given");
        if self.start == self.buf.len() {
            self.start = 0;
            self.buf.clear();
        }
    }

    /// Throws away what is unread, keeping the memory.
    pub(crate) fn discard(&mut self) -> usize {
        let bytes = self.unread_bytes();
        self.consume(bytes);
        bytes
    }

    /// The capacity the next read wants when `need` contiguous bytes are waited for; at most twice of what has arrived, plus
    /// one read.
    pub(crate) fn wanted_bytes(&self, need: usize) -> usize {
        let have = self.unread_bytes();
        let step = have.max(self.read_bytes).min(limits::MAX_GROWTH_BYTES);
        have + need.saturating_sub(have).min(step).max(self.read_bytes)
    }

    /// Makes room for the next read, see [`Inbox::wanted_bytes`]; moves the unread bytes to the front only when it must.
    pub(crate) fn prepare(&mut self, need: usize) {
        let wanted = self.wanted_bytes(need);
        if self.buf.is_empty() && self.small_reads >= limits::SMALL_READS_BEFORE_SHRINK {
            self.small_reads = 0;
            self.read_bytes = limits::IDLE_INPUT_BYTES;
            if self.buf.capacity() > limits::IDLE_INPUT_BYTES {
                self.buf = Vec::with_capacity(limits::IDLE_INPUT_BYTES);
                return;
            }
        }
        if self.buf.capacity() - self.buf.len() >= wanted - self.unread_bytes() {
            return;
        }
        self.compact();
        if self.buf.capacity() < wanted {
            self.buf.reserve_exact(wanted - self.buf.len());
        }
    }

    /// Where the next read goes: address and room. The address stays valid until the inbox is changed or dropped.
    #[inline]
    pub(crate) fn spare(&mut self) -> (*mut u8, usize) {
        let spare = self.buf.spare_capacity_mut();
        (spare.as_mut_ptr().cast(), spare.len())
    }

    /// Takes over `bytes` that a read put into [`Inbox::spare`].
    ///
    /// # Safety
    /// The kernel has written that many bytes there, and the inbox was not changed since `spare` was called.
    #[inline]
    pub(crate) unsafe fn commit(&mut self, bytes: usize) {
        let room = self.buf.capacity() - self.buf.len();
        assert!(bytes <= room, "a read cannot return more than it was given room for");
        // SAFETY: within capacity (asserted), initialised by the kernel (the caller's promise).
        unsafe { self.buf.set_len(self.buf.len() + bytes) };
        self.adapt(bytes, room);
    }

    /// Capacity that [`Inbox::append`] of so many bytes would add.
    pub(crate) fn growth_bytes(&self, bytes: usize) -> usize {
        if self.buf.capacity() - self.buf.len() >= bytes {
            return 0;
        }
        let wanted = (self.unread_bytes() + bytes).next_power_of_two().max(limits::IDLE_INPUT_BYTES);
        wanted.saturating_sub(self.buf.capacity())
    }

    /// Appends bytes that were received elsewhere. Grows to a power of two, so that many small appends cost linear time.
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        if self.buf.capacity() - self.buf.len() < bytes.len() {
            self.compact();
            let wanted = (self.buf.len() + bytes.len()).next_power_of_two().max(limits::IDLE_INPUT_BYTES);
            self.buf.reserve_exact(wanted.saturating_sub(self.buf.len()));
        }
        self.buf.extend_from_slice(bytes);
    }

    /// Gives back memory that an empty inbox kept from one unusually large request; for engines that only append.
    #[inline]
    pub(crate) fn relax(&mut self) {
        if self.buf.capacity() > limits::MAX_READ_BYTES && self.buf.is_empty() {
            self.buf = Vec::new();
        }
    }

    /// Moves the unread bytes to the front.
    fn compact(&mut self) {
        if self.start > 0 {
            self.buf.copy_within(self.start.., 0);
            self.buf.truncate(self.buf.len() - self.start);
            self.start = 0;
        }
    }

    fn adapt(&mut self, bytes: usize, room: usize) {
        if bytes == room {
            self.read_bytes = (self.read_bytes * 2).min(limits::MAX_READ_BYTES);
        }
        if bytes < self.buf.capacity() / 4 {
            self.small_reads = self.small_reads.saturating_add(1);
        } else {
            self.small_reads = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads `bytes` as an engine would: prepare, let the "kernel" write, commit.
    fn read(inbox: &mut Inbox, need: usize, bytes: &[u8]) -> usize {
        inbox.prepare(need);
        let (at, room) = inbox.spare();
        let n = bytes.len().min(room);
        // SAFETY: `room` bytes are writable at `at`; they are written before they are committed.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), at, n);
            inbox.commit(n);
        }
        n
    }

    #[test]
    fn an_announced_frame_takes_memory_only_as_it_arrives() {
        let mut inbox = Inbox::default();
        let need = 64 * 1024 * 1024;
        let mut arrived = 0;
        while arrived < 3 * 1024 * 1024 {
            arrived += read(&mut inbox, need, &[1; 1000]);
            assert!(inbox.capacity_bytes() <= 2 * arrived + limits::MAX_READ_BYTES, "{arrived}");
        }
        assert_eq!(inbox.unread_bytes(), arrived);
    }

    #[test]
    fn a_busy_inbox_grows_and_an_idle_one_shrinks() {
        let mut inbox = Inbox::default();
        for _ in 0..10 {
            let big = vec![2; limits::MAX_READ_BYTES];
            read(&mut inbox, 0, &big);
            inbox.discard();
        }
        assert_eq!(inbox.capacity_bytes(), limits::MAX_READ_BYTES);
        for _ in 0..=limits::SMALL_READS_BEFORE_SHRINK {
            read(&mut inbox, 0, b"small");
            inbox.discard();
        }
        assert_eq!(inbox.capacity_bytes(), limits::IDLE_INPUT_BYTES);
    }

    #[test]
    fn unread_bytes_survive_moves_and_growth() {
        let mut inbox = Inbox::default();
        let source: Vec<u8> = (0..=255).cycle().take(100_000).collect();
        let mut fed = 0;
        let mut taken = 0;
        while fed < source.len() {
            let to = source.len().min(fed + 777);
            fed += read(&mut inbox, 900, &source[fed..to]);
            let eat = inbox.unread_bytes() / 3;
            assert_eq!(&inbox.unread()[..eat], &source[taken..taken + eat]);
            inbox.consume(eat);
            taken += eat;
        }
        assert_eq!(inbox.unread(), &source[taken..]);
    }

    #[test]
    #[should_panic(expected = "consumed more")]
    fn consuming_more_than_there_is_is_a_bug() {
        let mut inbox = Inbox::default();
        inbox.append(b"ab");
        inbox.consume(3);
    }
}
