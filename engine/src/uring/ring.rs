//! The ring itself: made with the flags that the kernel grants, fed without losing an entry, entered once per turn.

use std::{
    io,
    os::fd::AsRawFd,
    time::{Duration, Instant},
};

use io_uring::{IoUring, Parameters, Submitter, cqueue, squeue, types::Timespec};

use crate::{EngineOptions, ladder::Rung, shard::Shard};

/// `IORING_ENTER_*` flags of `io_uring_enter(2)`.
const ENTER_GETEVENTS: u32 = 1;
const ENTER_SQ_WAKEUP: u32 = 1 << 1;
const ENTER_EXT_ARG: u32 = 1 << 3;
/// Kernel 6.15: waiting on the ring is not shown as waiting for a disk.
const ENTER_NO_IOWAIT: u32 = 1 << 7;

/// How long the kernel thread of `SQPOLL` spins before it sleeps, in milliseconds.
const SQPOLL_IDLE_MS: u32 = 1000;

/// As good as for ever: an hour.
const LONG_NS: u64 = 3_600_000_000_000;

/// `struct io_uring_getevents_arg`; `min_wait_usec` since kernel 6.12, a padding before.
#[repr(C)]
struct WaitArgument {
    sigmask: u64,
    sigmask_bytes: u32,
    min_wait_us: u32,
    timeout: u64,
}

/// One completion, copied out of the ring so that handlers run after the drain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Completion {
    pub(super) data: u64,
    pub(super) result: i32,
    pub(super) more: bool,
    /// The provided buffer that holds the bytes.
    pub(super) buffer: Option<u16>,
}

/// A ring and what it counted since it was last asked.
pub(super) struct Ring {
    ring: IoUring,
    /// Completions that had to be taken out of turn, so that the kernel takes submissions again.
    early: Vec<Completion>,
    /// How long a wait may gather completions, `--min-wait`; 0 for not at all.
    min_wait_us: u32,
    /// Completions that the next enter brings at once and nobody waits for, if it is to gather.
    expected: u32,
    spin: Duration,
    wait_flags: u32,
    enters: u64,
    pushed: u64,
    overflows: u32,
    /// Errors that the next calls end with, in this order from the last on.
    #[cfg(test)]
    pub(super) refusals: Vec<i32>,
}

impl Ring {
    /// One try with these flags.
    pub(super) fn new(rung: Rung, options: EngineOptions) -> io::Result<Self> {
        let mut setup = IoUring::builder();
        setup.setup_cqsize(options.cq_entries.next_power_of_two()).setup_clamp().dontfork();
        if options.sqpoll {
            // The kernel's thread runs the work: the flags about ours exclude it.
            setup.setup_sqpoll(SQPOLL_IDLE_MS);
        }
        if rung.single_issuer {
            setup.setup_single_issuer();
        }
        if rung.defer_taskrun && !options.sqpoll {
            setup.setup_defer_taskrun();
        }
        if rung.coop_taskrun && !options.sqpoll {
            setup.setup_coop_taskrun().setup_taskrun_flag();
        }
        let ring = setup.build(options.sq_entries)?;
        if !ring.params().is_feature_ext_arg() {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "the uring engine needs kernel 5.11 or newer (IORING_FEAT_EXT_ARG)",
            ));
        }
        if options.napi_busy_poll_us > 0 {
            register_napi(&ring, options.napi_busy_poll_us)?;
        }
        if options.min_wait_ns > 0 && !ring.params().is_feature_min_timeout() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "--min-wait needs kernel 6.12 or newer"));
        }
        let wait_flags = if ring.params().is_feature_no_iowait() { ENTER_NO_IOWAIT } else { 0 };
        Ok(Ring {
            early: Vec::new(),
            min_wait_us: u32::try_from(options.min_wait_ns / 1000).unwrap_or(u32::MAX),
            expected: 0,
            spin: Duration::from_nanos(options.spin_ns),
            wait_flags,
            enters: 0,
            pushed: 0,
            overflows: 0,
            #[cfg(test)]
            refusals: Vec::new(),
            ring,
        })
    }

    pub(super) fn sizes(&self) -> (u32, u32) {
        (self.ring.params().sq_entries(), self.ring.params().cq_entries())
    }

    /// What the kernel says of itself at setup.
    pub(super) fn params(&self) -> &Parameters {
        self.ring.params()
    }

    /// Operations pushed since they were last reported.
    #[cfg(test)]
    pub(super) fn pushed(&self) -> u64 {
        self.pushed
    }

    pub(super) fn submitter(&self) -> Submitter<'_> {
        self.ring.submitter()
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
            self.submit()?;
        }
        Ok(())
    }

    /// Hands what is queued to the kernel, now. Where it takes nothing (`EBUSY`: old kernels want completions reaped first), room
    /// is made in the completion queue: without that this would be tried for ever.
    #[cold]
    pub(super) fn submit(&mut self) -> io::Result<()> {
        self.enters += 1;
        let result = match self.refusal() {
            Some(error) => Err(error),
            None => self.ring.submit(),
        };
        match result {
            Ok(_) => {}
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
        if self.ring.submission().is_full() {
            let mut early = std::mem::take(&mut self.early);
            self.take(&mut early);
            self.early = early;
            self.call(0, 0)?;
        }
        Ok(())
    }

    /// An error that a test has in store for the next call.
    #[inline]
    fn refusal(&mut self) -> Option<io::Error> {
        #[cfg(test)]
        return self.refusals.pop().map(io::Error::from_raw_os_error);
        #[cfg(not(test))]
        None
    }

    /// Says of the operation pushed last that it completes at once and that its end is no news: a wait is for others.
    #[inline]
    pub(super) fn expect(&mut self) {
        self.expected += 1;
    }

    /// Submits what is queued and waits for news, or until `timeout_ns` has passed; `u64::MAX` waits for ever. `gather` is how
    /// many completions `--min-wait` is to wait for, at least one. Always enters the kernel with `GETEVENTS`, so that deferred task work runs
    /// and overflown completions are flushed.
    #[inline]
    pub(super) fn enter(&mut self, timeout_ns: u64, gather: u32) -> io::Result<()> {
        let expected = std::mem::take(&mut self.expected);
        if !self.spin.is_zero() && self.early.is_empty() && self.spin(timeout_ns)? {
            return Ok(());
        }
        if !self.early.is_empty() {
            // Never asleep on what was taken early.
            return self.call(0, 0);
        }
        // Without `--min-wait` the completions of sends, which are there at once, end the wait too: the turn is then without news, and the
        // next one sleeps. Waiting for more than those needs a bound, which is a timer for every wait; that costs more than the turn it
        // saves, and makes either side wait for the other.
        let want = if self.min_wait_us > 0 { expected + gather } else { 1 };
        self.call(want, timeout_ns)
    }

    /// Looks for work in user memory for a while; true when there is some.
    #[cold]
    fn spin(&mut self, timeout_ns: u64) -> io::Result<bool> {
        if !self.ring.submission().is_empty() {
            self.call(0, 0)?;
        }
        let limit = self.spin.min(Duration::from_nanos(timeout_ns));
        let begun = Instant::now();
        loop {
            if !self.ring.completion().is_empty() {
                return Ok(true);
            }
            if self.ring.submission().taskrun() {
                // Completions are ready but have to be fetched.
                self.call(0, 0)?;
                continue;
            }
            if begun.elapsed() >= limit {
                return Ok(false);
            }
            std::hint::spin_loop();
        }
    }

    /// How long to insist on several completions, in microseconds: a wait for the first needs no bound, and none may outlast the
    /// timeout, which the kernel looks at only afterwards.
    #[inline]
    fn bound_us(&self, want: u32, timeout_ns: u64) -> u32 {
        if want <= 1 {
            return 0;
        }
        self.min_wait_us.min(u32::try_from(timeout_ns / 1000).unwrap_or(u32::MAX))
    }

    /// One `io_uring_enter(2)`: submits what is queued, waits for `want` completions, runs deferred task work.
    #[inline]
    fn call(&mut self, want: u32, timeout_ns: u64) -> io::Result<()> {
        self.enters += 1;
        let min_wait_us = self.bound_us(want, timeout_ns);
        // Without a timeout the kernel ends the wait with its bound, whether there is anything or not; with one it sleeps on.
        let timeout_ns = if min_wait_us > 0 { timeout_ns.min(LONG_NS) } else { timeout_ns };
        let timeout = Timespec::new().sec(timeout_ns / 1_000_000_000).nsec((timeout_ns % 1_000_000_000) as u32);
        let argument = WaitArgument {
            sigmask: 0,
            sigmask_bytes: 0,
            min_wait_us,
            timeout: if timeout_ns == u64::MAX || want == 0 { 0 } else { &raw const timeout as u64 },
        };
        let mut flags = ENTER_GETEVENTS | ENTER_EXT_ARG | self.wait_flags;
        let mut queue = self.ring.submission();
        queue.sync();
        let mut submit = queue.len() as u32;
        self.overflows = self.overflows.max(u32::from(queue.cq_overflow()));
        let needs_wakeup = queue.need_wakeup();
        drop(queue);
        if self.ring.params().is_setup_sqpoll() {
            submit = 0;
            if needs_wakeup {
                flags |= ENTER_SQ_WAKEUP;
            }
        }
        let result = match self.refusal() {
            Some(error) => Err(error),
            // SAFETY: the argument and the timeout it points to live until the call returns.
            None => unsafe { self.ring.submitter().enter(submit, want, flags, Some(&argument)) },
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
        if !self.early.is_empty() {
            into.append(&mut self.early);
        }
        self.take(into);
    }

    #[inline]
    fn take(&mut self, into: &mut Vec<Completion>) {
        into.extend(self.ring.completion().map(|entry: cqueue::Entry| Completion {
            data: entry.user_data(),
            result: entry.result(),
            more: cqueue::more(entry.flags()),
            buffer: cqueue::buffer_select(entry.flags()),
        }));
    }

    /// Moves what was counted since the last call to the shard's counters.
    #[inline]
    pub(super) fn report<S: Shard>(&mut self, core: &crate::core::Core<S>, completions: usize) {
        let counts = core.counts();
        counts.enters.add(std::mem::take(&mut self.enters));
        counts.operations.add(std::mem::take(&mut self.pushed));
        counts.completions.add(completions as u64);
        if std::mem::take(&mut self.overflows) > 0 {
            counts.ring_overflows.add(1);
        }
    }
}

/// Has the ring poll the device queue of its sockets for so long before it sleeps; `IORING_REGISTER_NAPI`, kernel 6.9.
fn register_napi(ring: &IoUring, busy_poll_us: u32) -> io::Result<()> {
    const REGISTER_NAPI: libc::c_uint = 27;
    /// `struct io_uring_napi`.
    #[repr(C)]
    struct Napi {
        busy_poll_us: u32,
        prefer_busy_poll: u8,
        opcode: u8,
        pad: [u8; 2],
        parameter: u32,
        reserved: u32,
    }
    let mut napi = Napi { busy_poll_us, prefer_busy_poll: 1, opcode: 0, pad: [0; 2], parameter: 0, reserved: 0 };
    // SAFETY: a valid structure, which the kernel reads and fills with the values that were in force before.
    let result =
        unsafe { libc::syscall(libc::SYS_io_uring_register, ring.as_raw_fd(), REGISTER_NAPI, &raw mut napi, 1) };
    if result < 0 {
        let error = io::Error::last_os_error();
        return Err(match error.raw_os_error() {
            Some(libc::EINVAL) => io::Error::new(
                io::ErrorKind::Unsupported,
                "--napi-busy-poll needs kernel 6.9 or newer, built with CONFIG_NET_RX_BUSY_POLL",
            ),
            _ => error,
        });
    }
    Ok(())
}

/// Interrupted, or the kernel wants completions reaped first: come back after a drain.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EBUSY | libc::EAGAIN))
}
