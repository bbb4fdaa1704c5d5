//! The ring itself: made with the flags that the kernel grants, fed without losing an entry, entered once per turn.

use std::io;

use io_uring::{
    IoUring, cqueue, squeue,
    types::{SubmitArgs, Timespec},
};

use crate::{EngineOptions, ladder::Rung, shard::Shard};

/// One completion, copied out of the ring so that handlers run after the drain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Completion {
    pub(super) data: u64,
    pub(super) result: i32,
    pub(super) more: bool,
}

/// A ring and what it counted since it was last asked.
pub(super) struct Ring {
    ring: IoUring,
    pub(super) enters: u64,
    pub(super) pushed: u64,
}

impl Ring {
    /// One try with these flags.
    pub(super) fn new(rung: Rung, size: EngineOptions) -> io::Result<Self> {
        let mut setup = IoUring::builder();
        setup.setup_cqsize(size.cq_entries.next_power_of_two()).setup_clamp().dontfork();
        if rung.single_issuer {
            setup.setup_single_issuer();
        }
        if rung.defer_taskrun {
            setup.setup_defer_taskrun();
        }
        if rung.coop_taskrun {
            setup.setup_coop_taskrun();
        }
        let ring = setup.build(size.sq_entries)?;
        Ok(Ring { ring, enters: 0, pushed: 0 })
    }

    pub(super) fn sizes(&self) -> (u32, u32) {
        (self.ring.params().sq_entries(), self.ring.params().cq_entries())
    }

    /// Queues an operation; when the queue is full it is submitted first.
    ///
    /// # Safety
    /// Everything the entry points to stays valid and unchanged until its last completion.
    #[inline]
    pub(super) unsafe fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        self.pushed += 1;
        // SAFETY: the caller's promise.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            self.enters += 1;
            match self.ring.submit() {
                Ok(_) => {}
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Submits what is queued and waits for at least one completion, or until `timeout_ns` has passed; `u64::MAX` waits for ever.
    /// Always enters the kernel with `GETEVENTS`, so that deferred task work runs and overflown completions are flushed.
    #[inline]
    pub(super) fn enter(&mut self, timeout_ns: u64) -> io::Result<()> {
        self.enters += 1;
        let result = if timeout_ns == u64::MAX {
            self.ring.submit_and_wait(1)
        } else {
            let timeout = Timespec::new().sec(timeout_ns / 1_000_000_000).nsec((timeout_ns % 1_000_000_000) as u32);
            self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&timeout))
        };
        match result {
            Ok(_) => Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::ETIME) || is_passing(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Moves all completions that are there into `into`.
    #[inline]
    pub(super) fn drain(&mut self, into: &mut Vec<Completion>) {
        into.extend(self.ring.completion().map(|entry: cqueue::Entry| Completion {
            data: entry.user_data(),
            result: entry.result(),
            more: cqueue::more(entry.flags()),
        }));
    }

    /// Moves what was counted since the last call to the shard's counters.
    #[inline]
    pub(super) fn report<S: Shard>(&mut self, core: &crate::core::Core<S>, completions: usize) {
        let counts = core.counts();
        counts.enters.add(std::mem::take(&mut self.enters));
        counts.operations.add(std::mem::take(&mut self.pushed));
        counts.completions.add(completions as u64);
    }
}

/// Interrupted, or the kernel wants completions reaped first: come back after a drain.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EBUSY | libc::EAGAIN))
}
