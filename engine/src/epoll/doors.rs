//! The listening sockets of a shard: accepting in bounded pieces, pausing while the process has no descriptor to spare, dealing.

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd},
};

use super::{
    poller::{self, Poller},
    source::Source,
};
use crate::{
    board::ShardCounts,
    control::{Dealer, Remote},
    limits, socket,
};

/// One listening socket. Level-triggered, so that accepting may stop in the middle of a crowd.
struct Door {
    socket: OwnedFd,
    listener: usize,
    dealt: bool,
    paused_until_ns: Option<u64>,
}

/// All listening sockets of a shard.
pub(super) struct Doors {
    doors: Vec<Door>,
    dealer: Dealer,
    /// The earliest end of a pause; `u64::MAX` for none.
    resume_at_ns: u64,
}

/// What became of one try to accept.
pub(super) enum Accepted {
    /// A connection for this shard, and the plan's listener it came to.
    Ours(OwnedFd, usize),
    /// One that was dealt to the shard whose turn it is, or that was gone already.
    NotOurs,
    /// Nobody waits, or accepting is paused.
    Enough,
}

impl Doors {
    pub(super) fn new(
        sockets: Vec<(usize, OwnedFd)>,
        dealt: &[usize],
        deal_to: Vec<Remote>,
        poller: &Poller,
    ) -> io::Result<Self> {
        let mut doors = Vec::new();
        for (slot, (listener, socket)) in sockets.into_iter().enumerate() {
            socket::set_nonblocking(socket.as_raw_fd(), true)?;
            poller.add(socket.as_raw_fd(), poller::LEVEL, Source::Door(slot as u32))?;
            doors.push(Door { socket, listener, dealt: dealt.contains(&listener), paused_until_ns: None });
        }
        Ok(Doors { doors, dealer: Dealer::new(deal_to), resume_at_ns: u64::MAX })
    }

    /// Accepts one connection.
    pub(super) fn accept(&mut self, slot: usize, poller: &Poller, now_ns: u64, counts: &ShardCounts) -> Accepted {
        let Some(door) = self.doors.get(slot) else { return Accepted::Enough };
        counts.operations.add(1);
        let socket = match socket::accept(door.socket.as_raw_fd(), true) {
            Ok(socket) => socket,
            Err(error) => match error.raw_os_error().unwrap_or(libc::EIO) {
                libc::EAGAIN => return Accepted::Enough,
                errno if socket::is_of_one_connection(errno) => return Accepted::NotOurs,
                errno => {
                    counts.accept_pauses.add(u64::from(socket::is_exhausted(errno)));
                    // Any other error would be reported at every wait.
                    self.pause(slot, poller, now_ns);
                    return Accepted::Enough;
                }
            },
        };
        if !door.dealt {
            return Accepted::Ours(socket, door.listener);
        }
        if self.dealer.deal(socket, door.listener).is_err() {
            counts.connections_refused.add(1);
        }
        Accepted::NotOurs
    }

    fn pause(&mut self, slot: usize, poller: &Poller, now_ns: u64) {
        let until_ns = now_ns + limits::ACCEPT_PAUSE_NS;
        let door = &mut self.doors[slot];
        door.paused_until_ns = Some(until_ns);
        self.resume_at_ns = self.resume_at_ns.min(until_ns);
        // It was watched until now; that it cannot be forgotten would be a bug, and only costs CPU.
        let removed = poller.remove(door.socket.as_raw_fd());
        debug_assert!(removed.is_ok());
    }

    /// When a paused door wants to be tried again; `u64::MAX` for never.
    #[inline]
    pub(super) fn resume_at_ns(&self) -> u64 {
        self.resume_at_ns
    }

    /// Watches the doors again whose pause is over.
    pub(super) fn resume(&mut self, poller: &Poller, now_ns: u64) {
        if now_ns < self.resume_at_ns {
            return;
        }
        for (slot, door) in self.doors.iter_mut().enumerate() {
            if door.paused_until_ns.is_some_and(|until_ns| now_ns >= until_ns) {
                let watched = poller.add(door.socket.as_raw_fd(), poller::LEVEL, Source::Door(slot as u32));
                // Short of kernel memory: another pause.
                door.paused_until_ns = watched.err().map(|_| now_ns + limits::ACCEPT_PAUSE_NS);
            }
        }
        self.resume_at_ns = self.doors.iter().filter_map(|door| door.paused_until_ns).min().unwrap_or(u64::MAX);
    }

    /// Stops accepting: peers are refused from now on.
    pub(super) fn shut(&mut self) {
        self.doors.clear();
        self.resume_at_ns = u64::MAX;
    }
}
