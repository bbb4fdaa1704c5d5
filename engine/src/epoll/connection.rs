//! One connection's turn: receives, sends and its end, as many operations in a row as it may have.

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd, RawFd},
};

use super::{
    Worker,
    poller::{self, INPUT, INPUT_AND_OUTPUT},
    source::{GENERATIONS, Source},
};
use crate::{
    address,
    core::Duty,
    directory::Dial,
    limits,
    shard::{Conn, Shard},
    socket,
};

/// What the loop keeps for a connection beside the core's slot.
#[derive(Default)]
pub(super) struct Link {
    socket: Option<OwnedFd>,
    generation: u32,
    connecting: bool,
    /// Bytes or the end may be there: an event said so, and no receive has found otherwise since.
    readable: bool,
    /// A short receive is not the last one: the end follows, or it stopped at an urgent mark.
    short_is_not_last: bool,
    /// Room for output may be there: no send has found otherwise since the last event.
    writable: bool,
    watches_output: bool,
    /// The outbox is in flight: a send found no room.
    sending: bool,
    /// It is in one of the worker's lists.
    pub(super) queued: bool,
    /// The round in which it had its last turn.
    pub(super) round: u32,
}

impl Link {
    #[inline]
    fn fd(&self) -> RawFd {
        self.socket.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    #[inline]
    fn source(&self, conn: Conn) -> Source {
        Source::Connection { generation: self.generation, slot: conn.0 }
    }
}

impl<S: Shard> Worker<S> {
    /// The link of a slot, made when the slot is new.
    fn link(&mut self, conn: Conn) -> &mut Link {
        if self.links.len() <= conn.index() {
            self.links.resize_with(conn.index() + 1, Link::default);
        }
        &mut self.links[conn.index()]
    }

    /// Takes a connected socket in, if the shard has room.
    pub(super) fn adopt(&mut self, socket: OwnedFd, listener: usize) {
        let Some(conn) = self.core.accepted(listener) else { return };
        let link = self.link(conn);
        link.writable = true;
        if let Err(error) = self.watch(conn, socket, INPUT) {
            self.core.received(conn, Err(error.raw_os_error().unwrap_or(libc::EIO)));
        }
    }

    /// Begins to connect. A unix socket is connected at once; a TCP socket becomes writable when it is done.
    pub(super) fn connect(&mut self, dial: Dial) {
        let conn = self.core.connecting(dial.target);
        self.link(conn).connecting = true;
        let begun = self.directory.begin(dial);
        let interest = if self.directory.is_tcp(dial) { INPUT_AND_OUTPUT } else { INPUT };
        match begun.and_then(|socket| self.watch(conn, socket, interest)) {
            Ok(()) if interest == INPUT => {
                self.link(conn).writable = true;
                self.core.touch(conn);
            }
            Ok(()) => {}
            Err(error) => self.core.connect_failed(conn, &error),
        }
    }

    fn watch(&mut self, conn: Conn, socket: OwnedFd, interest: u32) -> io::Result<()> {
        let link = &mut self.links[conn.index()];
        link.watches_output = interest == INPUT_AND_OUTPUT;
        let source = link.source(conn);
        let fd = link.socket.insert(socket).as_raw_fd();
        self.poller.add(fd, interest, source)
    }

    /// Takes note of an event; the turn comes later.
    #[inline]
    pub(super) fn notice(&mut self, slot: u32, generation: u32, events: u32) -> io::Result<()> {
        const ENDS: u32 = (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32;
        const INPUTS: u32 = (libc::EPOLLIN | libc::EPOLLPRI) as u32 | ENDS;
        const OUTPUTS: u32 = (libc::EPOLLOUT | libc::EPOLLHUP | libc::EPOLLERR) as u32;
        let conn = Conn(slot);
        let Some(link) = self.links.get_mut(conn.index()).filter(|link| link.generation == generation) else {
            return Ok(());
        };
        link.readable |= events & INPUTS != 0;
        link.short_is_not_last |= events & (ENDS | libc::EPOLLPRI as u32) != 0;
        link.writable |= events & OUTPUTS != 0;
        if events == libc::EPOLLOUT as u32 && !link.sending && !link.connecting {
            // A unix socket says so whenever its peer has read something. Nobody waits for it.
            link.watches_output = false;
            return self.poller.change(link.fd(), INPUT, link.source(conn));
        }
        self.enqueue(conn);
        Ok(())
    }

    /// Does what a connection wants, up to a bound; what is left then waits until the others had their turn.
    #[inline]
    pub(super) fn turn(&mut self, conn: Conn) -> io::Result<()> {
        let link = &mut self.links[conn.index()];
        link.queued = false;
        link.round = self.round;
        for _ in 0..limits::OPERATIONS_PER_TURN {
            if !self.step(conn)? {
                return Ok(());
            }
        }
        self.enqueue(conn);
        Ok(())
    }

    /// One operation; false when there is none to make now.
    #[inline]
    fn step(&mut self, conn: Conn) -> io::Result<bool> {
        let link = &mut self.links[conn.index()];
        let fd = link.fd();
        match self.core.duty(conn) {
            Duty::LetGo => {
                self.let_go(conn);
                return Ok(false);
            }
            Duty::ShutWrite => {
                socket::shut_write(fd);
                self.core.shut_down(conn);
            }
            Duty::None => {}
        }
        if link.connecting {
            let ended = link.writable;
            if ended {
                self.finish_connect(conn);
            }
            return Ok(ended);
        }
        if link.sending || self.core.wants_send(conn) {
            if link.writable {
                self.send(conn, fd)?;
                return Ok(true);
            }
            if !std::mem::replace(&mut link.sending, true) {
                // In flight from now on, so that its deadline is looked at.
                self.core.send_from(conn);
            }
        }
        if link.readable && self.core.wants_receive(conn) {
            self.receive(conn, fd);
            return Ok(true);
        }
        Ok(false)
    }

    fn finish_connect(&mut self, conn: Conn) {
        let link = &mut self.links[conn.index()];
        link.connecting = false;
        let ended = match &link.socket {
            Some(socket) => address::finish_connect(socket),
            None => Err(io::Error::from_raw_os_error(libc::ENOTCONN)),
        };
        match ended {
            Ok(()) => self.core.connected(conn),
            Err(error) => self.core.connect_failed(conn, &error),
        }
    }

    #[inline]
    fn receive(&mut self, conn: Conn, fd: RawFd) {
        // Without memory for it the connection has ended there.
        let Some(inbox) = self.core.receive_into(conn) else { return };
        let (at, room) = inbox.spare();
        // SAFETY: the room belongs to the slot's inbox, which nobody touches during the call.
        let result = unsafe { socket::receive(fd, at, room) };
        self.core.counts().operations.add(1);
        let link = &mut self.links[conn.index()];
        match result {
            Ok(bytes) => {
                // Less than asked for: the next event tells of more, another receive would only say EAGAIN.
                link.readable = bytes == room || (link.short_is_not_last && bytes > 0);
                // SAFETY: the receive has written that many bytes into the room it was given.
                unsafe { self.core.inbox(conn).commit(bytes) };
                self.core.received(conn, Ok(bytes));
            }
            Err(libc::EINTR) => self.core.not_received(conn),
            Err(libc::EAGAIN) => {
                link.readable = false;
                link.short_is_not_last = false;
                self.core.not_received(conn);
            }
            Err(errno) => self.core.received(conn, Err(errno)),
        }
    }

    #[inline]
    fn send(&mut self, conn: Conn, fd: RawFd) -> io::Result<()> {
        let outbox = self.core.send_from(conn);
        let (result, given) = match outbox.contiguous() {
            Some(bytes) => (socket::send(fd, bytes), bytes.len()),
            None => {
                let pieces = outbox.iovecs();
                let given = pieces.iter().map(|piece| piece.iov_len).sum();
                // SAFETY: the pieces belong to the slot's outbox, which nobody touches during the call.
                (unsafe { socket::send_pieces(fd, pieces) }, given)
            }
        };
        self.core.counts().operations.add(1);
        let link = &mut self.links[conn.index()];
        link.sending = matches!(result, Err(libc::EAGAIN | libc::EINTR));
        let full = match result {
            Ok(bytes) => bytes < given,
            Err(errno) => errno == libc::EAGAIN,
        };
        if full {
            link.writable = false;
            if !std::mem::replace(&mut link.watches_output, true) {
                self.poller.change(fd, poller::INPUT_AND_OUTPUT, link.source(conn))?;
            }
        }
        if !link.sending {
            self.core.sent(conn, result);
        }
        Ok(())
    }

    /// Closes the descriptor, which ends the watch, and gives the slot back. Nothing is ever in flight in the kernel.
    fn let_go(&mut self, conn: Conn) {
        let link = &mut self.links[conn.index()];
        *link = Link {
            generation: (link.generation + 1) % GENERATIONS,
            queued: link.queued,
            round: link.round,
            ..Link::default()
        };
        self.core.release(conn);
    }
}
