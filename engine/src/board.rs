//! What each shard counted, readable by anyone at any time: one writer, relaxed loads and stores, a cache line pair of its own.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde::Serialize;

/// A number that one thread writes and others read.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds `n`; only the owning thread may.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }

    /// Replaces the value; only the owning thread may.
    #[inline]
    pub fn set(&self, n: u64) {
        self.0.store(n, Relaxed);
    }

    /// The latest value, or one a moment old.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters of one shard. 128-byte aligned: prefetchers pull pairs of lines on x86-64 and big arm64 cores.
        #[derive(Debug, Default)]
        #[repr(align(128))]
        pub struct ShardCounts { $($(#[$doc])* pub $name: Count,)* }

        /// A copy of [`ShardCounts`] at one moment.
        #[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
        pub struct ShardFigures { $($(#[$doc])* pub $name: u64,)* }

        impl ShardCounts {
            /// The figures now; not one consistent cut, each is right on its own.
            pub fn read(&self) -> ShardFigures {
                ShardFigures { $($name: self.$name.get(),)* }
            }
        }

        impl std::ops::AddAssign for ShardFigures {
            fn add_assign(&mut self, other: Self) { $(self.$name = self.$name.wrapping_add(other.$name);)* }
        }

        impl std::ops::Sub for ShardFigures {
            type Output = Self;
            fn sub(self, other: Self) -> Self { ShardFigures { $($name: self.$name.wrapping_sub(other.$name),)* } }
        }
    };
}

counts! {
    /// Connections open now.
    connections_open,
    /// Connections accepted or made.
    connections_opened,
    /// Connections accepted and closed at once, because the shard was full.
    connections_refused,
    /// Connections that could not be made.
    connects_failed,
    /// Connections closed because the shard's memory limit was reached.
    closed_over_memory,
    /// Connections closed because a send made no progress.
    closed_stalled,
    /// Times accepting paused because the process had no descriptor left.
    accept_pauses,
    /// Bytes received.
    received_bytes,
    /// Bytes sent.
    sent_bytes,
    /// Receives completed.
    receives,
    /// Sends completed, short ones included.
    sends,
    /// Operations given to the kernel: submission queue entries on our own ring; calls of receive, send and accept on epoll; receives
    /// and sends begun elsewhere.
    operations,
    /// Completions taken from the ring; 0 on engines without one.
    completions,
    /// Waits of a poller (`epoll_wait(2)`) or of a ring (`io_uring_enter(2)`); 0 where the engine cannot see them (monoio).
    enters,
    /// Turns in which the kernel held back completions because the queue was full (`IORING_SQ_CQ_OVERFLOW`); none is lost, but a
    /// run with any is not clean.
    ring_overflows,
    /// Receives that found no provided buffer (`ENOBUFS`) and were begun again.
    buffers_exhausted,
    /// Bytes that connections hold in user memory now.
    held_bytes,
    /// This thread's CPU time in nanoseconds, refreshed at least once a second while there is work.
    cpu_ns,
}

/// The counters of all shards of a fleet.
#[derive(Debug)]
pub struct Board {
    shards: Box<[ShardCounts]>,
}

impl Board {
    /// A board of zeros for `shards` shards.
    pub fn new(shards: usize) -> Self {
        Board { shards: (0..shards).map(|_| ShardCounts::default()).collect() }
    }

    /// The counters of one shard.
    #[inline]
    pub fn shard(&self, index: usize) -> &ShardCounts {
        &self.shards[index]
    }

    /// The figures of every shard.
    pub fn read(&self) -> Vec<ShardFigures> {
        self.shards.iter().map(ShardCounts::read).collect()
    }

    /// The sum over all shards.
    pub fn total(&self) -> ShardFigures {
        let mut total = ShardFigures::default();
        for shard in &self.shards {
            total += shard.read();
        }
        total
    }
}
