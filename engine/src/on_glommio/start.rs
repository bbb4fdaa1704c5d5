//! Starting glommio's executor: what it would panic about, or exit the process for, is asked before it is.

use std::{
    io,
    panic::{self, AssertUnwindSafe},
    time::Duration,
};

use glommio::{LocalExecutor, LocalExecutorBuilder, Placement};
use io_uring::{IoUring, Probe, opcode};

use crate::{
    fleet::LaunchError,
    ladder::{self, HostFacts, RingError},
    limits, rlimit,
};

/// An executor for the calling thread, which is pinned already.
pub(super) fn executor(shard: usize, depth: u32) -> Result<LocalExecutor, LaunchError> {
    let refused = |source| LaunchError::Ring { shard, source };
    check_memlock().map_err(refused)?;
    check_kernel().map_err(refused)?;
    let made = panic::catch_unwind(AssertUnwindSafe(|| {
        LocalExecutorBuilder::new(Placement::Unbound)
            .io_memory(0)
            .ring_depth(depth as usize)
            .preempt_timer(Duration::from_nanos(limits::GLOMMIO_PREEMPT_NS))
            .make()
    }));
    let failed = |source| LaunchError::System { shard, what: "making a glommio executor", source };
    match made {
        Ok(Ok(executor)) => Ok(executor),
        Ok(Err(error)) => Err(failed(error.into())),
        Err(_) => Err(failed(io::Error::other("it panicked; see the message above"))),
    }
}

/// glommio refuses to start below a limit of its own, whatever the kernel charges.
fn check_memlock() -> Result<(), RingError> {
    let wanted_bytes = limits::GLOMMIO_MEMLOCK_BYTES;
    if rlimit::memlock_bytes() < wanted_bytes {
        rlimit::raise_memlock();
    }
    match rlimit::memlock_bytes() {
        limit_bytes if limit_bytes < wanted_bytes => Err(RingError::GlommioMemlock { limit_bytes, wanted_bytes }),
        _ => Ok(()),
    }
}

/// glommio panics where io_uring is refused, and ends the process where an operation is missing.
fn check_kernel() -> Result<(), RingError> {
    let facts = || HostFacts::read("/proc".as_ref());
    let (ring, _) = ladder::climb(|_| IoUring::new(1), facts)?;
    let mut probe = Probe::new();
    // The newest of the operations it asks for came with 5.6, as did the question.
    let known = ring.submitter().register_probe(&mut probe).is_ok()
        && [opcode::Recv::CODE, opcode::Statx::CODE, opcode::Fallocate::CODE]
            .into_iter()
            .all(|code| probe.is_supported(code));
    if known { Ok(()) } else { Err(RingError::GlommioKernel { release: facts().release }) }
}
