//! Our own engine: one ring per shard, and a loop that flushes submissions, drains completions into a list, runs the handlers,
//! and flushes again. Nothing acts inside the drain.

mod listening;
mod ring;
mod token;

use std::{
    io,
    mem::ManuallyDrop,
    os::fd::{AsRawFd, OwnedFd, RawFd},
    sync::Arc,
};

use io_uring::{opcode, types};

use self::{
    listening::Listening,
    ring::{Completion, Ring},
    token::{GENERATIONS, Kind, Token},
};
use crate::{
    address::{self, Address},
    clock,
    control::{self, MESSAGE_BYTES, Message},
    core::{Core, Duty},
    fleet::{Lane, LaunchError},
    ladder::{self, HostFacts},
    shard::{Conn, Shard},
    socket,
};

/// Runs a shard until it has ended and returns its protocol; the outer error is for what stands in the way of a start.
pub(crate) fn run<S: Shard>(mut lane: Lane, shard: S) -> Result<io::Result<S>, LaunchError> {
    let index = lane.index;
    let size = lane.options;
    let (ring, rung) = ladder::climb(|rung| Ring::new(rung, size), || HostFacts::read("/proc".as_ref()))
        .map_err(|source| LaunchError::Ring { shard: index, source })?;
    let (sq_entries, cq_entries) = ring.sizes();
    lane.ready(Some(rung), sq_entries, cq_entries);
    let mut worker = LeakOnPanic(ManuallyDrop::new(Worker::new(ring, lane, shard)));
    if let Err(error) = worker.0.serve() {
        // Operations may still be in flight: what they point to must stay.
        return Ok(Err(error));
    }
    // SAFETY: taken once; the guard's own drop does nothing.
    let worker = unsafe { ManuallyDrop::take(&mut worker.0) };
    let Worker { ring, core, .. } = worker;
    drop(ring);
    Ok(Ok(core.into_shard()))
}

/// Operations in flight point into the worker: unless it ended in order it is leaked.
struct LeakOnPanic<S>(ManuallyDrop<Worker<S>>);

/// What the loop keeps for a connection beside the core's slot.
#[derive(Default)]
struct Link {
    socket: Option<OwnedFd>,
    generation: u32,
    receiving: bool,
    sending: bool,
    connecting: bool,
    let_go: bool,
    /// The header of a vectored send; boxed so that it stays where it is.
    message: Option<Box<MessageHeader>>,
}

struct MessageHeader(libc::msghdr);

struct Worker<S> {
    ring: Ring,
    core: Core<S>,
    links: Vec<Link>,
    listening: Listening,
    targets: Arc<[Address]>,
    control: OwnedFd,
    control_buffer: Box<[u8; MESSAGE_BYTES]>,
    control_have: usize,
    control_armed: bool,
    completions: Vec<Completion>,
    dirty: Vec<Conn>,
}

impl<S: Shard> Worker<S> {
    fn new(ring: Ring, lane: Lane, shard: S) -> Self {
        let core = Core::new(shard, lane.limits, lane.board, lane.index, clock::now_ns());
        Worker {
            ring,
            core,
            links: Vec::new(),
            listening: Listening::new(lane.listeners, lane.dealt, lane.deal_to),
            targets: lane.targets,
            control: lane.control.into(),
            control_buffer: Box::new([0; MESSAGE_BYTES]),
            control_have: 0,
            control_armed: false,
            completions: Vec::new(),
            dirty: Vec::new(),
        }
    }

    fn serve(&mut self) -> io::Result<()> {
        self.arm_control()?;
        self.core.tick();
        loop {
            self.settle()?;
            if self.core.ended() && self.control_armed {
                socket::shut_both(self.control.as_raw_fd());
            }
            if self.core.ended() && !self.control_armed && self.listening.is_quiet() {
                return Ok(());
            }
            let wake_at_ns = self.core.next_tick_ns().min(self.listening.resume_at_ns());
            let timeout_ns = match wake_at_ns {
                u64::MAX => u64::MAX,
                at_ns => at_ns.saturating_sub(clock::now_ns()),
            };
            self.ring.enter(timeout_ns)?;
            let mut completions = std::mem::take(&mut self.completions);
            self.ring.drain(&mut completions);
            self.ring.report(&self.core, completions.len());
            let now_ns = clock::now_ns();
            self.core.at(now_ns);
            for completion in completions.drain(..) {
                self.handle(completion)?;
            }
            self.completions = completions;
            if now_ns >= self.core.next_tick_ns() {
                self.core.tick();
            }
            self.listening.resume(now_ns);
        }
    }

    /// Carries out what handlers left behind, until nothing is left.
    #[inline]
    fn settle(&mut self) -> io::Result<()> {
        loop {
            let mut dirty = std::mem::take(&mut self.dirty);
            self.core.take_dirty(&mut dirty);
            let more = !dirty.is_empty();
            for conn in dirty.drain(..) {
                self.look(conn)?;
            }
            self.dirty = dirty;
            while let Some(target) = self.core.next_connect() {
                self.connect(target)?;
            }
            if !more {
                break;
            }
        }
        if self.core.ending() {
            self.listening.shut(&mut self.ring)?;
        } else {
            self.listening.arm(&mut self.ring)?;
        }
        Ok(())
    }

    fn handle(&mut self, completion: Completion) -> io::Result<()> {
        let Some(token) = Token::decode(completion.data) else { return Ok(()) };
        let result = match completion.result {
            errno @ i32::MIN..=-1 => Err(-errno),
            bytes => Ok(bytes as usize),
        };
        match token.kind {
            Kind::Accept => {
                let accepted = self.listening.accepted(token.slot as usize, completion, &self.core);
                if let Some((socket, listener)) = accepted {
                    self.adopt(socket, listener);
                }
                return Ok(());
            }
            Kind::Control => {
                self.control_armed = false;
                return self.controlled(result);
            }
            Kind::Cancel => return Ok(()),
            Kind::Receive | Kind::Send | Kind::Connect => {}
        }
        let conn = Conn(token.slot);
        let Some(link) = self.links.get_mut(conn.index()).filter(|link| link.generation == token.generation) else {
            // A completion of an earlier connection: never this one's business.
            return Ok(());
        };
        match token.kind {
            Kind::Receive => {
                link.receiving = false;
                if matches!(result, Err(libc::EINTR | libc::EAGAIN)) {
                    self.core.not_received(conn);
                    return Ok(());
                }
                if let Ok(bytes) = result {
                    // SAFETY: the receive has ended and wrote that many bytes into the room it was lent.
                    unsafe { self.core.inbox(conn).commit(bytes) };
                }
                self.core.received(conn, result);
            }
            Kind::Send => {
                link.sending = false;
                let result = if matches!(result, Err(libc::EINTR | libc::EAGAIN)) { Ok(0) } else { result };
                self.core.sent(conn, result);
            }
            _ => {
                link.connecting = false;
                let ended = match &link.socket {
                    Some(socket) => address::finish_connect(socket)
                        .and_then(|()| socket::set_nonblocking(socket.as_raw_fd(), false)),
                    None => Err(io::Error::from_raw_os_error(libc::ENOTCONN)),
                };
                match ended {
                    Ok(()) => self.core.connected(conn),
                    Err(error) => self.core.connect_failed(conn, &error),
                }
                self.core.touch(conn);
            }
        }
        Ok(())
    }

    fn link(&mut self, conn: Conn) -> &mut Link {
        if self.links.len() <= conn.index() {
            self.links.resize_with(conn.index() + 1, Link::default);
        }
        &mut self.links[conn.index()]
    }

    fn adopt(&mut self, socket: OwnedFd, listener: usize) {
        if let Some(conn) = self.core.accepted(listener) {
            self.link(conn).socket = Some(socket);
        }
    }

    fn connect(&mut self, target: usize) -> io::Result<()> {
        let conn = self.core.connecting(target);
        match address::begin_connect(&self.targets[target]) {
            Ok(socket) => {
                let fd = socket.as_raw_fd();
                let link = self.link(conn);
                link.socket = Some(socket);
                link.connecting = true;
                let token = Token { kind: Kind::Connect, generation: link.generation, slot: conn.0 };
                let entry = opcode::PollAdd::new(types::Fd(fd), libc::POLLOUT as u32).build().user_data(token.encode());
                // SAFETY: a poll points to no memory.
                unsafe { self.ring.push(&entry) }
            }
            Err(error) => {
                self.link(conn);
                self.core.connect_failed(conn, &error);
                Ok(())
            }
        }
    }

    /// Does what a connection wants next.
    #[inline]
    fn look(&mut self, conn: Conn) -> io::Result<()> {
        let link = &mut self.links[conn.index()];
        let fd = link.socket.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        match self.core.duty(conn) {
            Duty::LetGo => {
                self.let_go(conn, fd);
                return Ok(());
            }
            Duty::ShutWrite => {
                socket::shut_write(fd);
                self.core.shut_down(conn);
            }
            Duty::None => {}
        }
        if !link.sending && self.core.wants_send(conn) {
            link.sending = true;
            self.begin_send(conn, fd)?;
        }
        let link = &mut self.links[conn.index()];
        if !link.receiving && self.core.wants_receive(conn) {
            let token = Token { kind: Kind::Receive, generation: link.generation, slot: conn.0 };
            if let Some(inbox) = self.core.receive_into(conn) {
                link.receiving = true;
                let (at, room) = inbox.spare();
                let room = u32::try_from(room).unwrap_or(u32::MAX);
                let entry = opcode::Recv::new(types::Fd(fd), at, room).build().user_data(token.encode());
                // SAFETY: the room lies on the heap, owned by the slot's inbox, which the core leaves alone until `received`;
                // the worker outlives the ring's operations.
                unsafe { self.ring.push(&entry)? };
            }
        }
        Ok(())
    }

    fn begin_send(&mut self, conn: Conn, fd: RawFd) -> io::Result<()> {
        let link = &mut self.links[conn.index()];
        let token = Token { kind: Kind::Send, generation: link.generation, slot: conn.0 };
        let outbox = self.core.send_from(conn);
        let entry = match outbox.contiguous() {
            Some(bytes) => {
                let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                opcode::Send::new(types::Fd(fd), bytes.as_ptr(), len).flags(libc::MSG_NOSIGNAL).build()
            }
            None => {
                let pieces = outbox.iovecs();
                // SAFETY: an all-zero msghdr is a valid empty one.
                let header = link.message.get_or_insert_with(|| Box::new(MessageHeader(unsafe { std::mem::zeroed() })));
                header.0.msg_iov = pieces.as_mut_ptr();
                header.0.msg_iovlen = pieces.len() as _;
                opcode::SendMsg::new(types::Fd(fd), &header.0).flags(libc::MSG_NOSIGNAL as u32).build()
            }
        };
        // SAFETY: bytes, pieces and header lie on the heap, owned by the slot's outbox and the link, which stay unchanged until
        // `sent`; the worker outlives the ring's operations.
        unsafe { self.ring.push(&entry.user_data(token.encode())) }
    }

    /// Shuts the socket down, and closes it once no operation is in flight.
    fn let_go(&mut self, conn: Conn, fd: RawFd) {
        let link = &mut self.links[conn.index()];
        if !std::mem::replace(&mut link.let_go, true) && fd >= 0 {
            socket::shut_both(fd);
        }
        if link.receiving || link.sending || link.connecting {
            return;
        }
        *link =
            Link { generation: (link.generation + 1) % GENERATIONS, message: link.message.take(), ..Link::default() };
        self.core.release(conn);
    }

    fn arm_control(&mut self) -> io::Result<()> {
        self.control_armed = true;
        let token = Token { kind: Kind::Control, generation: 0, slot: 0 };
        let room = &mut self.control_buffer[self.control_have..];
        let entry = opcode::Recv::new(types::Fd(self.control.as_raw_fd()), room.as_mut_ptr(), room.len() as u32);
        // SAFETY: the buffer is boxed, and touched only when the receive has completed.
        unsafe { self.ring.push(&entry.build().user_data(token.encode())) }
    }

    fn controlled(&mut self, result: Result<usize, i32>) -> io::Result<()> {
        match result {
            Ok(0) => {
                // The fleet is gone, or this shard has ended.
                self.core.drain();
                return Ok(());
            }
            Ok(bytes) => self.control_have += bytes,
            Err(_) => {}
        }
        if self.control_have == MESSAGE_BYTES {
            self.control_have = 0;
            match Message::decode(&self.control_buffer) {
                Some(Message::Drain) => self.core.drain(),
                Some(Message::Adopt { fd, listener }) => self.adopt(control::own(fd), listener as usize),
                None => {}
            }
        }
        self.arm_control()
    }
}
