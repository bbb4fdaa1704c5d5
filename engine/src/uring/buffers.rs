//! Receive buffers shared by all connections of a shard: a ring of them provided to the kernel (5.19), which takes one when bytes
//! arrive. An idle connection owns none.

use std::{
    io,
    sync::atomic::{AtomicU16, Ordering},
};

use io_uring::{Submitter, types::BufRingEntry};

use super::mapping::Mapping;

/// The buffer group of a shard's only buffer ring.
pub(super) const GROUP: u16 = 0;

/// A registered ring of buffers.
#[derive(Debug)]
pub(super) struct Buffers {
    ring: Mapping,
    memory: Mapping,
    count: u16,
    buffer_bytes: u32,
    /// Next place in the ring; wraps by itself.
    tail: u16,
}

impl Buffers {
    /// Maps `count` (a power of two) buffers and registers them.
    ///
    /// # Errors
    /// `EINVAL` before kernel 5.19; `ENOMEM`, where registering is charged to a locked-memory limit.
    pub(super) fn register(submitter: &Submitter<'_>, count: u16, buffer_bytes: u32) -> io::Result<Self> {
        debug_assert!(count.is_power_of_two());
        let ring = Mapping::new(usize::from(count) * size_of::<BufRingEntry>())?;
        let memory = Mapping::new(usize::from(count) * buffer_bytes as usize)?;
        let mut buffers = Buffers { ring, memory, count, buffer_bytes, tail: 0 };
        // SAFETY: page-aligned memory for `count` entries, zeroed, which lives as long as the ring: the worker drops the ring first.
        unsafe { submitter.register_buf_ring_with_flags(buffers.ring.as_ptr() as u64, count, GROUP, 0)? };
        for id in 0..count {
            buffers.give_back(id);
        }
        buffers.publish();
        Ok(buffers)
    }

    /// The bytes that a receive put into a buffer.
    ///
    /// # Panics
    /// On an identifier or length that this ring never handed out: the kernel and we disagree about memory.
    #[inline]
    pub(super) fn bytes(&self, id: u16, len: usize) -> &[u8] {
        assert!(id < self.count && len <= self.buffer_bytes as usize, "a buffer that was never provided");
        let at = usize::from(id) * self.buffer_bytes as usize;
        debug_assert!(at + len <= self.memory.len());
        // SAFETY: within the mapping (asserted); the kernel has handed this buffer over and does not touch it before it is
        // given back, which needs `&mut self`.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().add(at), len) }
    }

    /// Offers a buffer to the kernel again, from the next [`Buffers::publish`] on.
    #[inline]
    pub(super) fn give_back(&mut self, id: u16) {
        debug_assert!(id < self.count);
        let at = usize::from(self.tail & (self.count - 1));
        let address = self.memory.as_ptr() as u64 + u64::from(id) * u64::from(self.buffer_bytes);
        // SAFETY: an entry within the mapping; the kernel reads entries only up to the published tail, and this one lies behind
        // it. Of entry 0 the last two bytes are the tail itself, which these setters leave alone.
        let entry = unsafe { &mut *self.ring.as_ptr().cast::<BufRingEntry>().add(at) };
        entry.set_addr(address);
        entry.set_len(self.buffer_bytes);
        entry.set_bid(id);
        self.tail = self.tail.wrapping_add(1);
    }

    /// Lets the kernel see what was given back.
    #[inline]
    pub(super) fn publish(&self) {
        // SAFETY: the tail lies in the first entry of the ring we mapped; the kernel reads it as an aligned u16.
        let tail = unsafe { &*BufRingEntry::tail(self.ring.as_ptr().cast()).cast::<AtomicU16>() };
        tail.store(self.tail, Ordering::Release);
    }
}
