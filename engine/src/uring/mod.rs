//! Our own engine: one ring per shard, and a loop that flushes submissions, drains completions into a list, runs the handlers,
//! and flushes again. Nothing acts inside the drain.

mod buffers;
mod features;
mod files;
mod link;
mod listening;
mod mapping;
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
    buffers::Buffers,
    features::Means,
    files::Files,
    link::{Link, MessageHeader},
    listening::Listening,
    ring::{Completion, Ring},
    token::{Kind, Token},
};
use crate::{
    address, clock,
    control::{self, MESSAGE_BYTES, Message},
    core::{Core, Duty},
    directory::{Dial, Directory},
    fleet::{Lane, LaunchError},
    ladder::{self, HostFacts},
    limits,
    shard::{Conn, Shard},
    socket,
};

/// Runs a shard until it has ended and returns its protocol; the outer error is for what stands in the way of a start.
pub(crate) fn run<S: Shard>(mut lane: Lane, shard: S) -> Result<io::Result<S>, LaunchError> {
    let index = lane.index;
    let size = lane.options;
    let (mut ring, rung) = ladder::climb(|rung| Ring::new(rung, size), || HostFacts::read("/proc".as_ref()))
        .map_err(|source| LaunchError::Ring { shard: index, source })?;
    let (sq_entries, cq_entries) = ring.sizes();
    let means = Means::find(&mut ring, index, size, lane.limits.max_connections)?;
    // With a thread of the kernel's the flags about our own are left out.
    let rung = if size.sqpoll { rung.without_taskrun() } else { rung };
    lane.ready(Some(rung), sq_entries, cq_entries, means.features);
    let mut worker = LeakOnPanic(ManuallyDrop::new(Worker::new(ring, means, lane, shard)));
    if let Err(error) = worker.0.serve() {
        // Operations may still be in flight: what they point to must stay.
        return Ok(Err(error));
    }
    // SAFETY: taken once; the guard's own drop does nothing.
    let worker = unsafe { ManuallyDrop::take(&mut worker.0) };
    let Worker { ring, buffers, files, core, .. } = worker;
    // The ring first: until it is gone the kernel may know the buffers and the table of descriptors.
    drop(ring);
    drop(buffers);
    drop(files);
    Ok(Ok(core.into_shard()))
}

/// Operations in flight point into the worker: unless it ended in order it is leaked.
struct LeakOnPanic<S>(ManuallyDrop<Worker<S>>);

struct Worker<S> {
    ring: Ring,
    /// `None` where the kernel has no provided-buffer rings or no multishot receive: then every receive is one of its own.
    buffers: Option<Buffers>,
    /// `None` without direct descriptors.
    files: Option<Files>,
    /// The kernel had no memory to keep another one.
    files_full: bool,
    core: Core<S>,
    links: Vec<Link>,
    listening: Listening,
    directory: Arc<Directory>,
    control: OwnedFd,
    control_buffer: Box<[u8; MESSAGE_BYTES]>,
    control_have: usize,
    control_armed: bool,
    /// Whether a multishot receive has ever brought bytes.
    multishot_proven: bool,
    completions: Vec<Completion>,
    dirty: Vec<Conn>,
}

impl<S: Shard> Worker<S> {
    fn new(ring: Ring, means: Means, lane: Lane, shard: S) -> Self {
        let core = Core::new(shard, lane.limits, lane.board, lane.index, clock::now_ns());
        Worker {
            ring,
            buffers: means.buffers,
            files: means.files,
            files_full: false,
            core,
            links: Vec::new(),
            listening: Listening::new(lane.listeners, lane.dealt, lane.deal_to, means.features.accept_multishot),
            directory: lane.directory,
            control: lane.control.into(),
            control_buffer: Box::new([0; MESSAGE_BYTES]),
            control_have: 0,
            control_armed: false,
            multishot_proven: false,
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
                // What lets go of the last direct descriptors may still be queued.
                return self.ring.submit();
            }
            let wake_at_ns = self.core.next_tick_ns().min(self.listening.resume_at_ns());
            let timeout_ns = match wake_at_ns {
                u64::MAX => u64::MAX,
                at_ns => at_ns.saturating_sub(clock::now_ns()),
            };
            let gather = (self.core.open_connections() / 2).clamp(1, limits::GATHERED_COMPLETIONS) as u32;
            self.ring.enter(timeout_ns, gather)?;
            let mut completions = std::mem::take(&mut self.completions);
            self.ring.drain(&mut completions);
            self.ring.report(&self.core, completions.len());
            let now_ns = clock::now_ns();
            self.core.at(now_ns);
            for completion in completions.drain(..) {
                self.handle(completion)?;
            }
            self.completions = completions;
            if let Some(buffers) = &self.buffers {
                buffers.publish();
            }
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
            while let Some(dial) = self.core.next_connect() {
                self.connect(dial)?;
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
                    self.adopt(socket, listener)?;
                }
                return Ok(());
            }
            Kind::Control => {
                self.control_armed = false;
                return self.controlled(result);
            }
            Kind::Put => {
                // Closed again before the kernel came to it; otherwise there is no memory, and what follows does without.
                if !matches!(result, Ok(_) | Err(libc::EBADF)) {
                    self.files_full = true;
                }
                return Ok(());
            }
            Kind::Cancel => return Ok(()),
            Kind::Receive | Kind::ReceiveInto | Kind::Send | Kind::Connect => {}
        }
        let conn = Conn(token.slot);
        let known = self.links.get(conn.index()).is_some_and(|link| link.generation == token.generation);
        match token.kind {
            Kind::Receive => self.received(conn, known, completion, result),
            // A completion of an earlier connection: never this one's business.
            _ if !known => {}
            Kind::ReceiveInto => self.received_into(conn, result),
            Kind::Send => {
                self.links[conn.index()].sending = false;
                let result = if matches!(result, Err(libc::EINTR | libc::EAGAIN)) { Ok(0) } else { result };
                self.core.sent(conn, result);
            }
            _ => self.connected(conn)?,
        }
        Ok(())
    }

    /// A completion of a multishot receive. A buffer goes back in any case.
    #[inline]
    fn received(&mut self, conn: Conn, known: bool, completion: Completion, result: Result<usize, i32>) {
        if known && !completion.more {
            let link = &mut self.links[conn.index()];
            link.armed = false;
            link.cancelling = false;
            self.core.touch(conn);
        }
        if let (Some(id), Some(buffers)) = (completion.buffer, self.buffers.as_mut()) {
            if let (Ok(bytes @ 1..), true) = (result, known) {
                self.core.received_from(conn, buffers.bytes(id, bytes));
            }
            buffers.give_back(id);
        }
        match result {
            _ if !known => {}
            Ok(0) => self.core.received(conn, Ok(0)),
            Ok(_) => {}
            Err(libc::ENOBUFS) => {
                self.core.counts().buffers_exhausted.add(1);
                self.links[conn.index()].note_starved();
            }
            // Ended without news: begun again when the connection is looked at.
            Err(libc::ECANCELED | libc::EINTR | libc::EAGAIN) => {}
            // Multishot receive came with 6.0.
            Err(libc::EINVAL) if !self.multishot_proven => self.buffers = None,
            Err(errno) => self.core.received(conn, Err(errno)),
        }
        self.multishot_proven |= result.is_ok();
    }

    fn received_into(&mut self, conn: Conn, result: Result<usize, i32>) {
        let link = &mut self.links[conn.index()];
        link.receiving = false;
        if matches!(result, Err(libc::EINTR | libc::EAGAIN)) {
            self.core.not_received(conn);
            return;
        }
        if let Ok(bytes) = result {
            link.note_received(bytes);
            // SAFETY: the receive has ended and wrote that many bytes into the room it was lent.
            unsafe { self.core.inbox(conn).commit(bytes) };
        }
        self.core.received(conn, result);
    }

    fn connected(&mut self, conn: Conn) -> io::Result<()> {
        let link = &mut self.links[conn.index()];
        link.connecting = false;
        let ended = match &link.socket {
            Some(socket) => {
                address::finish_connect(socket).and_then(|()| socket::set_nonblocking(socket.as_raw_fd(), false))
            }
            None => Err(io::Error::from_raw_os_error(libc::ENOTCONN)),
        };
        match ended {
            Ok(()) => {
                self.put(conn)?;
                self.core.connected(conn);
            }
            Err(error) => self.core.connect_failed(conn, &error),
        }
        self.core.touch(conn);
        Ok(())
    }

    fn link(&mut self, conn: Conn) -> &mut Link {
        if self.links.len() <= conn.index() {
            self.links.resize_with(conn.index() + 1, Link::default);
        }
        &mut self.links[conn.index()]
    }

    fn adopt(&mut self, socket: OwnedFd, listener: usize) -> io::Result<()> {
        let Some(conn) = self.core.accepted(listener) else { return Ok(()) };
        self.link(conn).socket = Some(socket);
        self.put(conn)
    }

    /// Makes a connection's socket known to the ring by the number of its slot, where that is possible.
    fn put(&mut self, conn: Conn) -> io::Result<()> {
        let link = &mut self.links[conn.index()];
        let (Some(files), Some(socket)) = (&mut self.files, &link.socket) else { return Ok(()) };
        if self.files_full || !files.holds(conn.0) {
            return Ok(());
        }
        link.direct = true;
        let token = Token { kind: Kind::Put, generation: link.generation, slot: conn.0 };
        // SAFETY: the table outlives the ring's operations, and an entry of it is not changed before its connection has ended.
        unsafe { self.ring.push(&files.put(conn.0, socket).user_data(token.encode())) }
    }

    fn connect(&mut self, dial: Dial) -> io::Result<()> {
        let conn = self.core.connecting(dial.target);
        match self.directory.begin(dial) {
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
            Duty::LetGo => return self.let_go(conn, fd),
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
        self.begin_receive(conn, fd)
    }

    /// Keeps a multishot receive armed, or begins one of its own: where there are no buffers, and for a connection that waits for
    /// more bytes than some buffers hold, so that these arrive where they are kept.
    #[inline]
    fn begin_receive(&mut self, conn: Conn, fd: RawFd) -> io::Result<()> {
        let link = &mut self.links[conn.index()];
        if link.receiving {
            return Ok(());
        }
        link.note_missing(self.core.missing_bytes(conn));
        let multishot = self.buffers.is_some() && !link.is_bulk();
        if link.armed {
            if !link.cancelling && (!multishot || self.core.is_clogged(conn)) {
                link.cancelling = true;
                let token = Token { kind: Kind::Receive, generation: link.generation, slot: conn.0 };
                let cancel = Token { kind: Kind::Cancel, ..token };
                let entry = opcode::AsyncCancel::new(token.encode()).build().user_data(cancel.encode());
                // SAFETY: a cancellation points to no memory.
                return unsafe { self.ring.push(&entry) };
            }
            return Ok(());
        }
        if !self.core.wants_receive(conn) {
            return Ok(());
        }
        if multishot {
            link.armed = true;
            let token = Token { kind: Kind::Receive, generation: link.generation, slot: conn.0 };
            let entry = link.aim(conn, fd, |fd| opcode::RecvMulti::new(fd, buffers::GROUP).build());
            // SAFETY: the memory is the buffer ring's, which outlives the ring's operations.
            return unsafe { self.ring.push(&entry.user_data(token.encode())) };
        }
        let token = Token { kind: Kind::ReceiveInto, generation: link.generation, slot: conn.0 };
        let Some(inbox) = self.core.receive_into(conn) else { return Ok(()) };
        link.receiving = true;
        let (at, room) = inbox.spare();
        let room = u32::try_from(room).unwrap_or(u32::MAX);
        let entry = link.aim(conn, fd, |fd| opcode::Recv::new(fd, at, room).build());
        // SAFETY: the room lies on the heap, owned by the slot's inbox, which the core leaves alone until `received`; the worker
        // outlives the ring's operations.
        unsafe { self.ring.push(&entry.user_data(token.encode())) }
    }

    fn begin_send(&mut self, conn: Conn, fd: RawFd) -> io::Result<()> {
        let link = &mut self.links[conn.index()];
        let token = Token { kind: Kind::Send, generation: link.generation, slot: conn.0 };
        let last = self.core.is_last_send(conn);
        let outbox = self.core.send_from(conn);
        let entry = match outbox.contiguous() {
            Some(bytes) => {
                let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                let at = bytes.as_ptr();
                link.aim(conn, fd, |fd| opcode::Send::new(fd, at, len).flags(libc::MSG_NOSIGNAL).build())
            }
            None => {
                let pieces = outbox.iovecs();
                // SAFETY: an all-zero msghdr is a valid empty one.
                let header = link.message.get_or_insert_with(|| Box::new(MessageHeader(unsafe { std::mem::zeroed() })));
                header.0.msg_iov = pieces.as_mut_ptr();
                header.0.msg_iovlen = pieces.len() as _;
                let header = &raw const header.0;
                link.aim(conn, fd, |fd| opcode::SendMsg::new(fd, header).flags(libc::MSG_NOSIGNAL as u32).build())
            }
        };
        // SAFETY: bytes, pieces and header lie on the heap, owned by the slot's outbox and the link, which stay unchanged until
        // `sent`; the worker outlives the ring's operations.
        unsafe { self.ring.push(&entry.user_data(token.encode()))? };
        if last {
            self.ring.expect();
        }
        Ok(())
    }

    /// Ends what is in flight by shutting the socket down, and closes it once nothing is.
    fn let_go(&mut self, conn: Conn, fd: RawFd) -> io::Result<()> {
        let link = &mut self.links[conn.index()];
        if link.is_busy() {
            if !std::mem::replace(&mut link.let_go, true) && fd >= 0 {
                socket::shut_both(fd);
            }
            return Ok(());
        }
        if let (true, Some(files)) = (link.direct, &self.files) {
            // The table holds the file as well: the peer sees the end when both have let go, at the next enter.
            let token = Token { kind: Kind::Cancel, generation: link.generation, slot: conn.0 };
            // SAFETY: the entry points to a static.
            unsafe { self.ring.push(&files.clear(conn.0).user_data(token.encode()))? };
        }
        link.renew();
        self.core.release(conn);
        Ok(())
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
                Some(Message::Adopt { fd, listener }) => self.adopt(control::own(fd), listener as usize)?,
                None => {}
            }
        }
        self.arm_control()
    }
}

#[cfg(test)]
mod tests;
