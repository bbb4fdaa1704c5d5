//! Accepting on a ring: multishot where the kernel has it, paused while the process has no descriptor to spare.

use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

use io_uring::{opcode, types};

use super::{
    ring::{Completion, Ring},
    token::{Kind, Token},
};
use crate::{
    clock,
    control::{Dealer, Remote},
    core::Core,
    limits,
    shard::Shard,
    socket,
};

/// One listening socket.
struct Door {
    socket: OwnedFd,
    listener: usize,
    dealt: bool,
    armed: bool,
    paused_until_ns: Option<u64>,
}

/// All listening sockets of a shard.
pub(super) struct Listening {
    doors: Vec<Door>,
    dealer: Dealer,
    multishot: bool,
    shut: bool,
}

impl Listening {
    pub(super) fn new(
        sockets: Vec<(usize, OwnedFd)>,
        dealt: Vec<usize>,
        deal_to: Vec<Remote>,
        multishot: bool,
    ) -> Self {
        let doors = sockets
            .into_iter()
            .map(|(listener, socket)| Door {
                socket,
                listener,
                dealt: dealt.contains(&listener),
                armed: false,
                paused_until_ns: None,
            })
            .collect();
        Listening { doors, dealer: Dealer::new(deal_to), multishot, shut: false }
    }

    /// Queues an accept for every door that is neither armed nor paused.
    pub(super) fn arm(&mut self, ring: &mut Ring) -> io::Result<()> {
        for (slot, door) in self.doors.iter_mut().enumerate() {
            if door.armed || door.paused_until_ns.is_some() {
                continue;
            }
            door.armed = true;
            let token = Token { kind: Kind::Accept, generation: 0, slot: slot as u32 };
            let fd = types::Fd(door.socket.as_raw_fd());
            let entry = if self.multishot {
                opcode::AcceptMulti::new(fd).flags(libc::SOCK_CLOEXEC).build()
            } else {
                opcode::Accept::new(fd, std::ptr::null_mut(), std::ptr::null_mut()).flags(libc::SOCK_CLOEXEC).build()
            };
            // SAFETY: no address is asked for, so the entry points to no memory.
            unsafe { ring.push(&entry.user_data(token.encode()))? };
        }
        Ok(())
    }

    /// Takes an accept's completion; returns a connection that belongs to this shard.
    pub(super) fn accepted<S: Shard>(
        &mut self,
        slot: usize,
        completion: Completion,
        core: &Core<S>,
    ) -> Option<(OwnedFd, usize)> {
        let door = &mut self.doors[slot];
        door.armed = completion.more;
        if completion.result < 0 {
            match -completion.result {
                // Multishot accept came with 5.19.
                libc::EINVAL if self.multishot && !self.shut => self.multishot = false,
                errno if socket::is_exhausted(errno) => {
                    door.paused_until_ns = Some(clock::now_ns() + limits::ACCEPT_PAUSE_NS);
                    core.counts().accept_pauses.add(1);
                }
                _ => {}
            }
            return None;
        }
        // SAFETY: the kernel made this descriptor for us; nobody else knows it.
        let socket = unsafe { OwnedFd::from_raw_fd(completion.result) };
        if self.shut {
            return None;
        }
        if !door.dealt {
            return Some((socket, door.listener));
        }
        if self.dealer.deal(socket, door.listener).is_err() {
            core.counts().connections_refused.add(1);
        }
        None
    }

    /// When a paused door wants to be tried again; `u64::MAX` for never.
    pub(super) fn resume_at_ns(&self) -> u64 {
        self.doors.iter().filter_map(|door| door.paused_until_ns).min().unwrap_or(u64::MAX)
    }

    /// Lets doors be armed again whose pause is over.
    pub(super) fn resume(&mut self, now_ns: u64) {
        for door in &mut self.doors {
            if door.paused_until_ns.is_some_and(|until_ns| now_ns >= until_ns) {
                door.paused_until_ns = None;
            }
        }
    }

    /// Stops accepting: peers are refused from now on, and pending accepts are cancelled (a shutdown alone does not end one on
    /// a unix socket, whose non-blocking accept goes on saying `EAGAIN`).
    pub(super) fn shut(&mut self, ring: &mut Ring) -> io::Result<()> {
        if !std::mem::replace(&mut self.shut, true) {
            for (slot, door) in self.doors.iter().enumerate() {
                socket::shut_both(door.socket.as_raw_fd());
                if door.armed {
                    let [accept, cancel] = [Kind::Accept, Kind::Cancel]
                        .map(|kind| Token { kind, generation: 0, slot: slot as u32 }.encode());
                    // SAFETY: a cancellation points to no memory.
                    unsafe { ring.push(&opcode::AsyncCancel::new(accept).build().user_data(cancel))? };
                }
            }
        }
        for door in &mut self.doors {
            door.paused_until_ns = None;
        }
        Ok(())
    }

    /// Whether no accept is pending.
    pub(super) fn is_quiet(&self) -> bool {
        self.doors.iter().all(|door| !door.armed)
    }
}
