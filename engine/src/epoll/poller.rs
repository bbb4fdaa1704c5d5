//! One epoll instance: what it watches, and one wait per turn.

use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
};

use super::source::Source;
use crate::limits;

/// What a connection is watched for, edge-triggered. `EPOLLRDHUP` tells that the end follows the bytes that are there, and
/// `EPOLLPRI` that a receive will stop at an urgent mark: in both a short receive is not the last one.
pub(super) const INPUT: u32 = (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLPRI | libc::EPOLLET) as u32;

/// The same, and room for output: only once a send has found none.
pub(super) const INPUT_AND_OUTPUT: u32 = INPUT | libc::EPOLLOUT as u32;

/// For what is read to its end in bounded pieces: reported again while there is more.
pub(super) const LEVEL: u32 = libc::EPOLLIN as u32;

/// For the timer: one report for each time it fires, without reading it.
pub(super) const EDGE: u32 = (libc::EPOLLIN | libc::EPOLLET) as u32;

/// An epoll instance and room for one batch of its events.
pub(super) struct Poller {
    epoll: OwnedFd,
    events: Vec<libc::epoll_event>,
}

impl Poller {
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: plain numbers.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a descriptor that epoll_create1 just made belongs to nobody else.
        let epoll = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Poller { epoll, events: Vec::with_capacity(limits::EVENTS_PER_WAIT) })
    }

    /// Begins to watch a descriptor; closing it ends that. What is ready already is reported by the next wait.
    ///
    /// # Errors
    /// `ENOSPC` when the user watches as many as `fs.epoll.max_user_watches` allows, `ENOMEM`.
    pub(super) fn add(&self, fd: RawFd, interest: u32, source: Source) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, interest, source)
    }

    /// Watches a descriptor for something else; what is ready already is reported by the next wait.
    pub(super) fn change(&self, fd: RawFd, interest: u32, source: Source) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, interest, source)
    }

    /// Ceases to watch a descriptor that stays open.
    pub(super) fn remove(&self, fd: RawFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, fd, 0, Source::Alarm)
    }

    fn control(&self, operation: libc::c_int, fd: RawFd, interest: u32, source: Source) -> io::Result<()> {
        let mut event = libc::epoll_event { events: interest, u64: source.encode() };
        // SAFETY: `event` is a valid epoll_event, which the kernel copies.
        match unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), operation, fd, &mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Takes the next batch of events, waiting for one if asked to; returns how many there are. Interrupted: none.
    #[inline]
    pub(super) fn wait(&mut self, block: bool) -> io::Result<usize> {
        self.events.clear();
        let timeout_ms = if block { -1 } else { 0 };
        // SAFETY: the vector's memory has room for as many events as are asked for.
        let got = unsafe {
            libc::epoll_wait(
                self.epoll.as_raw_fd(),
                self.events.as_mut_ptr(),
                self.events.capacity() as libc::c_int,
                timeout_ms,
            )
        };
        if got < 0 {
            let error = io::Error::last_os_error();
            return if error.raw_os_error() == Some(libc::EINTR) { Ok(0) } else { Err(error) };
        }
        // SAFETY: the kernel has written that many events, at most the capacity.
        unsafe { self.events.set_len(got as usize) };
        Ok(got as usize)
    }

    /// An event of the last batch: what it is about and `EPOLL*` bits.
    #[inline]
    pub(super) fn event(&self, index: usize) -> (Source, u32) {
        let event = self.events[index];
        (Source::decode(event.u64), event.events)
    }
}
