//! The few socket and timer calls that engines make directly.

use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
};

/// Accepts one connection; blocking or not as the engine needs its sockets, close-on-exec always.
///
/// # Errors
/// `WouldBlock` when none waits; see accept(2).
pub(crate) fn accept(listener: RawFd, nonblocking: bool) -> io::Result<OwnedFd> {
    let flags = libc::SOCK_CLOEXEC | if nonblocking { libc::SOCK_NONBLOCK } else { 0 };
    // SAFETY: no address is asked for, so no memory is written.
    let fd = unsafe { libc::accept4(listener, std::ptr::null_mut(), std::ptr::null_mut(), flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a descriptor that accept4 just made belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Whether an error of accept means that the process or the host has no descriptor or memory left.
pub(crate) fn is_exhausted(errno: i32) -> bool {
    matches!(errno, libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::ENOBUFS)
}

/// Whether an error of accept is about the one connection that was to be accepted, see accept(2), or of the call alone.
pub(crate) fn is_of_one_connection(errno: i32) -> bool {
    matches!(
        errno,
        libc::ECONNABORTED
            | libc::EINTR
            | libc::EPERM
            | libc::EPROTO
            | libc::ENOPROTOOPT
            | libc::ENETDOWN
            | libc::ENETUNREACH
            | libc::EHOSTDOWN
            | libc::EHOSTUNREACH
            | libc::ENONET
    )
}

/// Receives what is there, without waiting; 0 means that the peer closed its side. The error is an errno.
///
/// # Safety
/// `room` bytes are writable at `at`, and nobody else uses them during the call.
#[inline]
pub(crate) unsafe fn receive(fd: RawFd, at: *mut u8, room: usize) -> Result<usize, i32> {
    // SAFETY: the caller's promise.
    moved(unsafe { libc::recv(fd, at.cast(), room, libc::MSG_DONTWAIT) })
}

/// Sends as much as there is room for, without waiting. The error is an errno.
#[inline]
pub(crate) fn send(fd: RawFd, bytes: &[u8]) -> Result<usize, i32> {
    // SAFETY: the slice is readable during the call.
    moved(unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) })
}

/// The same for several pieces in one call; at most 1024 (`IOV_MAX`).
///
/// # Safety
/// Every piece is readable during the call.
pub(crate) unsafe fn send_pieces(fd: RawFd, pieces: &mut [libc::iovec]) -> Result<usize, i32> {
    // SAFETY: an all-zero msghdr is a valid empty one: no address, no control data.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = pieces.as_mut_ptr();
    header.msg_iovlen = pieces.len() as _;
    // SAFETY: the header lives until the call returns, and the pieces are readable (the caller's promise).
    moved(unsafe { libc::sendmsg(fd, &header, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) })
}

#[inline]
fn moved(result: libc::ssize_t) -> Result<usize, i32> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
}

/// Shuts down the sending side: the peer sees the end after the bytes.
pub(crate) fn shut_write(fd: RawFd) {
    // SAFETY: plain numbers; a failure (the peer is gone) needs no answer.
    unsafe { libc::shutdown(fd, libc::SHUT_WR) };
}

/// Shuts down both sides, which ends every operation that is pending on the socket.
pub(crate) fn shut_both(fd: RawFd) {
    // SAFETY: plain numbers; a failure (not connected any more) needs no answer.
    unsafe { libc::shutdown(fd, libc::SHUT_RDWR) };
}

/// Sets or clears `O_NONBLOCK`.
pub(crate) fn set_nonblocking(fd: RawFd, on: bool) -> io::Result<()> {
    // SAFETY: fcntl with plain numbers.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    let wanted = if on { flags | libc::O_NONBLOCK } else { flags & !libc::O_NONBLOCK };
    // SAFETY: as above.
    if flags < 0 || (wanted != flags && unsafe { libc::fcntl(fd, libc::F_SETFL, wanted) } < 0) {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Has a descriptor closed in programs that this process starts.
pub(crate) fn set_cloexec(fd: RawFd) {
    // SAFETY: plain numbers; it fails only for a descriptor that is not open.
    unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
}

/// A `timerfd` on `CLOCK_MONOTONIC`.
pub(crate) fn timer() -> io::Result<OwnedFd> {
    // SAFETY: plain numbers.
    let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC | libc::TFD_NONBLOCK) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a descriptor that timerfd_create just made belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Has the timer become readable at `at_ns`; a time that has passed makes it readable at once.
pub(crate) fn arm_timer(fd: RawFd, at_ns: u64) {
    let at_ns = at_ns.max(1);
    let spec = libc::itimerspec {
        it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 },
        it_value: libc::timespec {
            tv_sec: (at_ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (at_ns % 1_000_000_000) as libc::c_long,
        },
    };
    // SAFETY: `spec` is a valid itimerspec; the old value is not asked for.
    let result = unsafe { libc::timerfd_settime(fd, libc::TFD_TIMER_ABSTIME, &spec, std::ptr::null_mut()) };
    debug_assert_eq!(result, 0, "a timerfd and a valid time");
}

/// Takes note that the timer fired, so that it can be waited for again.
pub(crate) fn clear_timer(fd: &impl AsRawFd) {
    let mut count = [0_u8; 8];
    // SAFETY: eight writable bytes; the descriptor does not block.
    unsafe { libc::read(fd.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
}
