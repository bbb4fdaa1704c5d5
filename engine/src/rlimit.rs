//! The process limits that connections and rings need.

use std::io;

/// Raises the soft limit of open descriptors to the hard one, and returns it. Rings must be made after this: some of them keep
/// the limit they were made under.
///
/// # Errors
/// What `getrlimit(2)` or `setrlimit(2)` said.
pub fn raise_nofile() -> io::Result<u64> {
    let mut limit = read(libc::RLIMIT_NOFILE)?;
    if limit.rlim_cur < limit.rlim_max {
        limit.rlim_cur = limit.rlim_max;
        // SAFETY: `limit` is a valid rlimit.
        if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(limit.rlim_cur)
}

/// The soft limit of locked memory in bytes; `u64::MAX` for none, 0 when it cannot be read.
pub fn memlock_bytes() -> u64 {
    read(libc::RLIMIT_MEMLOCK).map_or(0, |limit| limit.rlim_cur)
}

/// The soft limit of open descriptors; 0 when it cannot be read.
pub(crate) fn nofile() -> u64 {
    read(libc::RLIMIT_NOFILE).map_or(0, |limit| limit.rlim_cur)
}

/// Raises the soft limit of locked memory to the hard one, as far as that goes.
pub(crate) fn raise_memlock() {
    if let Ok(mut limit) = read(libc::RLIMIT_MEMLOCK) {
        limit.rlim_cur = limit.rlim_max;
        // SAFETY: `limit` is a valid rlimit; a refusal shows when the limit is read again.
        unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &limit) };
    }
}

fn read(which: libc::__rlimit_resource_t) -> io::Result<libc::rlimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid rlimit to write to.
    if unsafe { libc::getrlimit(which, &mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(limit)
}
