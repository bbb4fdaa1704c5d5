//! Time: a `timerfd` in the same epoll instance. A timeout of the wait itself would be rounded (`epoll_wait`, 1 ms), be
//! delayed by the thread's timer slack of 50 us, need kernel 5.11 (`epoll_pwait2`), and set up a kernel timer for each wait;
//! this one is set only when the next deadline moves nearer.

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd, RawFd},
};

use crate::socket;

/// The timer of a shard.
pub(super) struct Alarm {
    timer: OwnedFd,
    /// When it fires next; `u64::MAX` for never.
    armed_ns: u64,
}

impl Alarm {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Alarm { timer: socket::timer()?, armed_ns: u64::MAX })
    }

    pub(super) fn fd(&self) -> RawFd {
        self.timer.as_raw_fd()
    }

    /// Has the wait end at `at_ns` or earlier; `u64::MAX` asks for nothing.
    #[inline]
    pub(super) fn set(&mut self, at_ns: u64) {
        if at_ns < self.armed_ns {
            self.armed_ns = at_ns;
            socket::arm_timer(self.timer.as_raw_fd(), at_ns);
        }
    }

    /// Takes note of the time: what lies before it has fired, and setting the timer again takes the report of that back.
    #[inline]
    pub(super) fn pass(&mut self, now_ns: u64) {
        if self.armed_ns <= now_ns {
            self.armed_ns = u64::MAX;
        }
    }
}
