//! Direct descriptors: sockets also known to the ring by the number of their slot, so that an operation takes no reference to the
//! file of its own.
//!
//! Only from kernel 6.15 on, the first that can be told from its features. Before 6.13 a removed file was not let go before every
//! operation had ended that had begun on any file of the ring: with receives that stay armed, closed sockets would pile up behind
//! the longest idle connection.

use std::{
    io,
    os::fd::{AsRawFd, RawFd},
};

use io_uring::{opcode, squeue};

use super::{mapping::Mapping, ring::Ring};
use crate::{limits, rlimit};

/// What a slot is set to when it is emptied.
static NONE: RawFd = -1;

/// The ring's table of sockets.
#[derive(Debug)]
pub(super) struct Files {
    /// A descriptor for each slot, for the kernel to read when it carries out an update.
    table: Mapping,
    slots: u32,
}

impl Files {
    /// An empty table for a new ring; `None` where the kernel has none that suits.
    ///
    /// # Errors
    /// What `mmap(2)` or `io_uring_register(2)` said, other than that there is no such table or no memory for it.
    pub(super) fn register(ring: &Ring, connections: usize) -> io::Result<Option<Self>> {
        if !ring.params().is_feature_no_iowait() {
            return Ok(None);
        }
        let most = connections.min(limits::DIRECT_DESCRIPTORS as usize) as u64;
        // The kernel refuses a table longer than the limit of descriptors.
        let slots = most.min(rlimit::nofile()).max(1) as u32;
        match ring.submitter().register_files_sparse(slots) {
            Ok(()) => {}
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOMEM | libc::EMFILE)) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
        Ok(Some(Files { table: Mapping::new(slots as usize * size_of::<RawFd>())?, slots }))
    }

    /// Whether there is room for a slot.
    #[inline]
    pub(super) fn holds(&self, slot: u32) -> bool {
        slot < self.slots
    }

    /// The operation that makes a socket known by its slot. It tells only of failure.
    pub(super) fn put(&mut self, slot: u32, socket: &impl AsRawFd) -> squeue::Entry {
        assert!(self.holds(slot), "a slot beyond the table");
        // SAFETY: within the mapping (asserted), aligned, and ours: the kernel only reads.
        let at = unsafe { self.table.as_ptr().cast::<RawFd>().add(slot as usize) };
        // SAFETY: as above. An earlier update of the slot has been read: the operations that used it have completed since.
        unsafe { at.write(socket.as_raw_fd()) };
        update(at, slot)
    }

    /// The operation that lets go of a slot's socket. It tells only of failure.
    pub(super) fn clear(&self, slot: u32) -> squeue::Entry {
        update(&raw const NONE, slot)
    }
}

fn update(descriptor: *const RawFd, slot: u32) -> squeue::Entry {
    // The table has at most `limits::DIRECT_DESCRIPTORS` slots.
    let entry = opcode::FilesUpdate::new(descriptor, 1).offset(slot.cast_signed()).build();
    entry.flags(squeue::Flags::SKIP_SUCCESS)
}
