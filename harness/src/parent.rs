//! The child's half of never being left behind: it asks the kernel to end it when its parent ends.

use std::io;

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

/// Why the promise could not be made.
#[derive(Debug, thiserror::Error)]
pub enum DieWithParentError {
    /// The parent was gone before the promise was made.
    #[error("the parent {expected} is gone and process {found} took its place: there is nobody left to serve")]
    ParentGone {
        /// The parent that started this process.
        expected: u32,
        /// The parent now; 0 when it is outside this PID namespace.
        found: u32,
    },
    /// The kernel refused.
    #[error("prctl(PR_SET_PDEATHSIG): {0}")]
    Refused(#[from] io::Error),
}

/// Makes this process end (SIGKILL) when the thread that started it does, and checks that `expected_ppid` is still the parent: it may
/// have ended before the call. Call it first thing, before anything that takes time.
///
/// The kernel watches the parent's *thread*, not its process (prctl(2)): whoever starts such a child keeps that thread alive.
///
/// # Errors
/// [`DieWithParentError`].
pub fn die_with_parent(expected_ppid: u32) -> Result<(), DieWithParentError> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from)?;
    let found = getppid().map_or(0, |pid| Pid::as_raw_pid(pid).unsigned_abs());
    if found == expected_ppid { Ok(()) } else { Err(DieWithParentError::ParentGone { expected: expected_ppid, found }) }
}
