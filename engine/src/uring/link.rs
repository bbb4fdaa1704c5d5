//! What the loop keeps for a connection beside the core's slot: its descriptor and the operations in flight.

use std::os::fd::{OwnedFd, RawFd};

use io_uring::{squeue, types};

use super::token::GENERATIONS;
use crate::shard::Conn;

/// Waiting for this much or more makes a connection receive for itself: copying out of several buffers costs more than a
/// submission.
const BULK_BYTES: usize = 16 * 1024;

/// Small receives in a row after which a connection goes back to shared buffers.
const BULK_PATIENCE: u8 = 16;

/// One connection of the ring's.
#[derive(Default)]
pub(super) struct Link {
    pub(super) socket: Option<OwnedFd>,
    pub(super) generation: u32,
    /// A multishot receive is armed.
    pub(super) armed: bool,
    /// And is being cancelled.
    pub(super) cancelling: bool,
    /// A receive into the inbox is in flight.
    pub(super) receiving: bool,
    pub(super) sending: bool,
    pub(super) connecting: bool,
    /// The socket was shut down so that operations end.
    pub(super) let_go: bool,
    /// The ring knows the socket by the number of its slot.
    pub(super) direct: bool,
    bulk: u8,
    /// The header of a vectored send; boxed so that it stays where it is.
    pub(super) message: Option<Box<MessageHeader>>,
}

pub(super) struct MessageHeader(pub(super) libc::msghdr);

impl Link {
    /// An operation on the socket: by the number of the slot where the ring knows it, else by its descriptor.
    #[inline]
    pub(super) fn aim(
        &self,
        conn: Conn,
        fd: RawFd,
        operation: impl FnOnce(types::Fd) -> squeue::Entry,
    ) -> squeue::Entry {
        if self.direct {
            operation(types::Fd(conn.0.cast_signed())).flags(squeue::Flags::FIXED_FILE)
        } else {
            operation(types::Fd(fd))
        }
    }

    /// Whether the kernel still works on it.
    pub(super) fn is_busy(&self) -> bool {
        self.armed || self.receiving || self.sending || self.connecting
    }

    /// Closes the descriptor and makes the link ready for the next connection in its slot.
    pub(super) fn renew(&mut self) {
        let generation = (self.generation + 1) % GENERATIONS;
        *self = Link { generation, message: self.message.take(), ..Link::default() };
    }

    /// Takes note of how much is waited for.
    #[inline]
    pub(super) fn note_missing(&mut self, bytes: usize) {
        if bytes >= BULK_BYTES {
            self.bulk = BULK_PATIENCE;
        }
    }

    /// Takes note of how much a receive of its own brought.
    pub(super) fn note_received(&mut self, bytes: usize) {
        self.bulk = if bytes >= BULK_BYTES / 4 { BULK_PATIENCE } else { self.bulk.saturating_sub(1) };
    }

    /// No shared buffer was left for it: the next receive is one of its own. Old kernels let one flooding connection take all
    /// buffers at every turn, and whoever is armed behind it would starve.
    pub(super) fn note_starved(&mut self) {
        self.bulk = self.bulk.max(1);
    }

    /// Whether it receives for itself.
    #[inline]
    pub(super) fn is_bulk(&self) -> bool {
        self.bulk > 0
    }
}
