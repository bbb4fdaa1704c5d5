//! The part of an engine that moves no bytes: slots, bounds, deadlines, and when the protocol is called with what. Pure of I/O,
//! so that every engine behaves alike and a seeded fake can drive it.

use std::{io, sync::Arc};

use crate::{
    board::{Board, ShardCounts},
    clock,
    cx::{Cx, Wishes},
    directory::Dial,
    inbox::Inbox,
    limits::{self, Limits},
    outbox::Outbox,
    shard::{Cause, Conn, Flow, Next, Origin, Shard},
};

/// Where a connection is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nobody's.
    Free,
    /// Being made; `since_ns` is when it was begun.
    Connecting {
        target: usize,
        since_ns: u64,
    },
    Open,
    /// The protocol is done; what is in the outbox goes out first.
    Closing,
    /// Our side is shut down; the peer's last bytes are drained until it closes too.
    Lingering {
        until_ns: u64,
        drained_bytes: usize,
    },
    /// The protocol was told the end; the engine must let go of the descriptor and then call [`Core::release`].
    Dead,
}

/// One connection as the core sees it.
struct Slot {
    phase: Phase,
    inbox: Inbox,
    outbox: Outbox,
    need: usize,
    hold: bool,
    more: bool,
    eof: bool,
    eof_told: bool,
    shut: bool,
    receiving: bool,
    sending_since_ns: Option<u64>,
    charged_bytes: usize,
    dirty: bool,
}

impl Slot {
    fn new() -> Self {
        Slot {
            phase: Phase::Free,
            inbox: Inbox::default(),
            outbox: Outbox::new(limits::OUT_BUDGET_BYTES),
            need: 0,
            hold: false,
            more: false,
            eof: false,
            eof_told: false,
            shut: false,
            receiving: false,
            sending_since_ns: None,
            charged_bytes: 0,
            dirty: false,
        }
    }

    /// Back to the state of a new slot, keeping a small input buffer.
    fn reset(&mut self) {
        let mut inbox = std::mem::take(&mut self.inbox);
        inbox.discard();
        let mut outbox = std::mem::replace(&mut self.outbox, Outbox::new(0));
        outbox.clear();
        *self = Slot { dirty: self.dirty, charged_bytes: self.charged_bytes, ..Slot::new() };
        if inbox.capacity_bytes() <= limits::IDLE_INPUT_BYTES {
            self.inbox = inbox;
        }
        if outbox.held_bytes() <= limits::IDLE_INPUT_BYTES {
            self.outbox = outbox;
        }
    }

    /// Whether the protocol would see something new if it were called with the input now.
    #[inline]
    fn readable(&self) -> bool {
        if self.hold {
            return false;
        }
        let unread = self.inbox.unread_bytes();
        (unread > 0 && unread >= self.need) || (self.eof && !self.eof_told)
    }
}

/// What an engine should do for a connection next, besides sending and receiving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Duty {
    None,
    /// Shut down the sending side, then tell [`Core::shut_down`].
    ShutWrite,
    /// Shut down both sides so that pending operations end; when none is left close the descriptor and [`Core::release`].
    LetGo,
}

/// The state of one shard.
pub(crate) struct Core<S> {
    pub(crate) shard: S,
    slots: Vec<Slot>,
    free: Vec<u32>,
    open: usize,
    wishes: Wishes,
    limits: Limits,
    held_bytes: usize,
    board: Arc<Board>,
    index: usize,
    now_ns: u64,
    tick_at_ns: u64,
    scan_at_ns: u64,
    drain_until_ns: Option<u64>,
    finished: bool,
    /// Connections whose engine should look at them again, in the order they were touched.
    dirty: Vec<Conn>,
    /// Connects the engine should begin.
    connects: Vec<Dial>,
}

impl<S: Shard> Core<S> {
    pub(crate) fn new(shard: S, limits: Limits, board: Arc<Board>, index: usize, now_ns: u64) -> Self {
        Core {
            shard,
            slots: Vec::new(),
            free: Vec::new(),
            open: 0,
            wishes: Wishes::default(),
            limits,
            held_bytes: 0,
            board,
            index,
            now_ns,
            tick_at_ns: now_ns,
            scan_at_ns: u64::MAX,
            drain_until_ns: None,
            finished: false,
            dirty: Vec::new(),
            connects: Vec::new(),
        }
    }

    #[inline]
    pub(crate) fn counts(&self) -> &ShardCounts {
        self.board.shard(self.index)
    }

    /// Sets the time for the calls that follow.
    #[inline]
    pub(crate) fn at(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
    }

    /// A slot for a connection that was accepted; `None` when the shard is full or ending: close it at once.
    pub(crate) fn accepted(&mut self, listener: usize) -> Option<Conn> {
        let full = self.open >= self.limits.max_connections || self.memory_left_bytes() < limits::IDLE_INPUT_BYTES;
        if full || self.ending() {
            self.counts().connections_refused.add(1);
            return None;
        }
        let conn = self.take_slot();
        self.opened(conn, Origin::Accepted { listener });
        Some(conn)
    }

    /// A slot for a connection being made; [`Core::connected`] or [`Core::connect_failed`] follows.
    pub(crate) fn connecting(&mut self, target: usize) -> Conn {
        let conn = self.take_slot();
        self.slots[conn.index()].phase = Phase::Connecting { target, since_ns: self.now_ns };
        self.scan_soon();
        conn
    }

    /// The connection in this slot was made.
    pub(crate) fn connected(&mut self, conn: Conn) {
        if let Phase::Connecting { target, .. } = self.slots[conn.index()].phase {
            self.opened(conn, Origin::Connected { target });
        }
    }

    /// The connection in this slot could not be made. The engine lets go of it as usual.
    pub(crate) fn connect_failed(&mut self, conn: Conn, error: &io::Error) {
        let Phase::Connecting { target, .. } = self.slots[conn.index()].phase else { return };
        self.slots[conn.index()].phase = Phase::Dead;
        self.counts().connects_failed.add(1);
        self.touch(conn);
        self.call(|shard, cx| shard.connect_failed(target, error, cx));
        self.settle();
    }

    fn take_slot(&mut self) -> Conn {
        self.open += 1;
        match self.free.pop() {
            Some(index) => Conn(index),
            None => {
                self.slots.push(Slot::new());
                Conn(u32::try_from(self.slots.len() - 1).expect("connections are bounded far below 2^32"))
            }
        }
    }

    fn opened(&mut self, conn: Conn, origin: Origin) {
        let slot = &mut self.slots[conn.index()];
        slot.phase = Phase::Open;
        slot.more = true;
        self.counts().connections_opened.add(1);
        self.counts().connections_open.add(1);
        self.touch(conn);
        self.call(|shard, cx| shard.open(conn, origin, cx));
        self.pump(conn);
        self.settle();
    }

    /// Whether a receive should be begun. The engine calls [`Core::receive_into`] next.
    #[inline]
    pub(crate) fn wants_receive(&self, conn: Conn) -> bool {
        let slot = &self.slots[conn.index()];
        !slot.receiving
            && !slot.eof
            && match slot.phase {
                Phase::Open => slot.inbox.unread_bytes() == 0 || !(slot.hold || slot.readable()),
                Phase::Lingering { .. } => true,
                _ => false,
            }
    }

    /// The input buffer with room for one read, or `None` when that would take the shard over its memory limit: the connection
    /// has been ended then. The read is in flight until [`Core::received`].
    #[inline]
    pub(crate) fn receive_into(&mut self, conn: Conn) -> Option<&mut Inbox> {
        let slot = &mut self.slots[conn.index()];
        let more = slot.inbox.wanted_bytes(slot.need).saturating_sub(slot.inbox.capacity_bytes());
        if more > self.memory_left_bytes() {
            self.kill(conn, Cause::OverMemory);
            return None;
        }
        let slot = &mut self.slots[conn.index()];
        slot.inbox.prepare(slot.need);
        slot.receiving = true;
        self.account(conn);
        Some(&mut self.slots[conn.index()].inbox)
    }

    /// A receive completed: the bytes are in the inbox already, 0 means that the peer closed its side.
    #[inline]
    pub(crate) fn received(&mut self, conn: Conn, result: Result<usize, i32>) {
        let slot = &mut self.slots[conn.index()];
        slot.receiving = false;
        match result {
            Ok(bytes) => {
                slot.eof = bytes == 0;
                if let Phase::Lingering { drained_bytes, .. } = &mut slot.phase {
                    *drained_bytes += slot.inbox.discard();
                    if slot.eof || *drained_bytes > limits::LINGER_BYTES {
                        self.kill(conn, Cause::Finished);
                    }
                }
                let counts = self.counts();
                counts.receives.add(1);
                counts.received_bytes.add(bytes as u64);
                self.pump(conn);
            }
            Err(errno) => match slot.phase {
                Phase::Lingering { .. } => self.kill(conn, Cause::Finished),
                _ => self.kill(conn, Cause::ReceiveFailed(errno)),
            },
        }
        self.touch(conn);
        self.settle();
    }

    /// Bytes arrived that lie in memory of the engine's: shown to the protocol where they are, if nothing was kept before them.
    /// For engines that lend no inbox to the kernel; the end of the peer's side is told by [`Core::received`] with 0.
    #[inline]
    pub(crate) fn received_from(&mut self, conn: Conn, bytes: &[u8]) {
        let counts = self.counts();
        counts.receives.add(1);
        counts.received_bytes.add(bytes.len() as u64);
        let slot = &mut self.slots[conn.index()];
        match &mut slot.phase {
            Phase::Open => {
                let idle = slot.inbox.unread_bytes() == 0 && !slot.hold;
                let may_speak = slot.more && slot.sending_since_ns.is_none();
                if idle && !may_speak && bytes.len() >= slot.need {
                    slot.inbox.relax();
                    self.offer(conn, Some(bytes));
                } else {
                    self.keep(conn, bytes);
                }
                self.pump(conn);
            }
            Phase::Lingering { drained_bytes, .. } => {
                *drained_bytes += bytes.len();
                if *drained_bytes > limits::LINGER_BYTES {
                    self.kill(conn, Cause::Finished);
                }
            }
            // Nobody wants them any more.
            Phase::Closing | Phase::Dead | Phase::Free | Phase::Connecting { .. } => {}
        }
        self.touch(conn);
        self.settle();
    }

    /// How many bytes are waited for beyond those that have arrived; 0 when anything will do.
    #[inline]
    pub(crate) fn missing_bytes(&self, conn: Conn) -> usize {
        let slot = &self.slots[conn.index()];
        slot.need.saturating_sub(slot.inbox.unread_bytes())
    }

    /// Whether so much input waits for the protocol that nothing more should be received: the back-pressure of engines that
    /// receive without being asked each time.
    #[inline]
    pub(crate) fn is_clogged(&self, conn: Conn) -> bool {
        let slot = &self.slots[conn.index()];
        slot.inbox.unread_bytes() >= limits::MAX_READ_BYTES && (slot.hold || slot.readable())
    }

    /// A receive ended without news, interrupted say; the engine may begin another.
    pub(crate) fn not_received(&mut self, conn: Conn) {
        self.slots[conn.index()].receiving = false;
        self.touch(conn);
    }

    /// The input buffer of a receive in flight, for engines that lend it to the operation.
    #[inline]
    pub(crate) fn inbox(&mut self, conn: Conn) -> &mut Inbox {
        &mut self.slots[conn.index()].inbox
    }

    /// Whether a send should be begun. The engine calls [`Core::send_from`] next.
    #[inline]
    pub(crate) fn wants_send(&self, conn: Conn) -> bool {
        let slot = &self.slots[conn.index()];
        slot.sending_since_ns.is_none() && matches!(slot.phase, Phase::Open | Phase::Closing) && !slot.outbox.is_empty()
    }

    /// Whether the end of the send that is about to begin can wait a little: nothing follows it, only what the peer says next.
    #[inline]
    pub(crate) fn is_last_send(&self, conn: Conn) -> bool {
        let slot = &self.slots[conn.index()];
        slot.phase == Phase::Open && !slot.more
    }

    /// Connections that are open.
    #[inline]
    pub(crate) fn open_connections(&self) -> usize {
        self.open
    }

    /// The outbox to send from; it is in flight until [`Core::sent`] and must not be changed meanwhile.
    #[inline]
    pub(crate) fn send_from(&mut self, conn: Conn) -> &mut Outbox {
        self.scan_soon();
        let now_ns = self.now_ns;
        let slot = &mut self.slots[conn.index()];
        slot.sending_since_ns = Some(now_ns);
        &mut slot.outbox
    }

    /// A send completed; the outbox is back in its place. After a short one [`Core::wants_send`] says yes again.
    #[inline]
    pub(crate) fn sent(&mut self, conn: Conn, result: Result<usize, i32>) {
        let slot = &mut self.slots[conn.index()];
        slot.sending_since_ns = None;
        match result {
            Ok(bytes) => {
                if slot.outbox.advance(bytes) {
                    slot.outbox.clear();
                    slot.more = true;
                    slot.hold = false;
                }
                let counts = self.counts();
                counts.sends.add(1);
                counts.sent_bytes.add(bytes as u64);
                self.pump(conn);
            }
            Err(errno) => self.kill(conn, Cause::SendFailed(errno)),
        }
        self.touch(conn);
        self.settle();
    }

    /// Lets the protocol speak and listen, as far as it can without I/O.
    #[inline]
    fn pump(&mut self, conn: Conn) {
        let index = conn.index();
        loop {
            let slot = &mut self.slots[index];
            if slot.phase != Phase::Open {
                break;
            }
            let sending = slot.sending_since_ns.is_some();
            if slot.more && !sending && slot.outbox.is_empty() {
                slot.more = false;
                let memory_left_bytes =
                    self.limits.max_memory_bytes.saturating_sub(self.held_bytes + self.shard.held_bytes());
                let mut cx = Cx { now_ns: self.now_ns, memory_left_bytes, wishes: &mut self.wishes };
                match self.shard.fill(conn, &mut slot.outbox, &mut cx) {
                    Flow::Idle => slot.hold = false,
                    Flow::More => slot.more = !slot.outbox.is_empty(),
                    Flow::Close => slot.phase = Phase::Closing,
                }
                continue;
            }
            if slot.receiving || !slot.readable() || (slot.more && !sending) {
                break;
            }
            self.offer(conn, None);
            break;
        }
        self.wind_down(conn);
        self.account(conn);
    }

    /// Calls the protocol with what is in the inbox, or with bytes that lie elsewhere and of which only the rest goes there.
    #[inline]
    fn offer(&mut self, conn: Conn, elsewhere: Option<&[u8]>) {
        let slot = &mut self.slots[conn.index()];
        let sending = slot.sending_since_ns.is_some();
        let eof = slot.eof;
        let memory_left_bytes = self.limits.max_memory_bytes.saturating_sub(self.held_bytes + self.shard.held_bytes());
        let mut cx = Cx { now_ns: self.now_ns, memory_left_bytes, wishes: &mut self.wishes };
        let out = if sending { None } else { Some(&mut slot.outbox) };
        let input = elsewhere.unwrap_or(slot.inbox.unread());
        let taken = self.shard.data(conn, input, eof, out, &mut cx);
        slot.eof_told = eof;
        match elsewhere {
            None => slot.inbox.consume(taken.consumed),
            Some(bytes) if taken.consumed < bytes.len() => self.keep(conn, &bytes[taken.consumed..]),
            Some(_) => {}
        }
        let slot = &mut self.slots[conn.index()];
        if slot.phase != Phase::Open {
            // What was left over took the shard over its memory limit.
            return;
        }
        match taken.next {
            Next::Need(need) => {
                // A protocol that asks for what it already has would never be called again.
                slot.need = need.max(slot.inbox.unread_bytes() + 1);
                if eof && !sending && slot.outbox.is_empty() && !slot.more {
                    // It waits for bytes that cannot come and has nothing to say.
                    self.kill(conn, Cause::PeerClosed);
                }
            }
            Next::Hold => {
                slot.hold = true;
                slot.need = 0;
                slot.eof_told = false;
            }
            Next::Close => slot.phase = Phase::Closing,
            Next::Abort => self.kill(conn, Cause::Finished),
        }
    }

    /// Copies bytes that were received elsewhere into the inbox, or ends the connection that would take the shard over its
    /// memory limit with them.
    fn keep(&mut self, conn: Conn, bytes: &[u8]) {
        let slot = &mut self.slots[conn.index()];
        if slot.inbox.growth_bytes(bytes.len()) > self.memory_left_bytes() {
            self.kill(conn, Cause::OverMemory);
            return;
        }
        let slot = &mut self.slots[conn.index()];
        slot.inbox.append(bytes);
    }

    /// Moves a closing connection on once its last bytes are out.
    fn wind_down(&mut self, conn: Conn) {
        let slot = &mut self.slots[conn.index()];
        if slot.phase == Phase::Closing && slot.sending_since_ns.is_none() && slot.outbox.is_empty() {
            if slot.eof {
                self.kill(conn, Cause::Finished);
            } else {
                let until_ns = self.now_ns + self.limits.linger_ns;
                let slot = &mut self.slots[conn.index()];
                if !slot.receiving {
                    slot.inbox.discard();
                }
                slot.phase = Phase::Lingering { until_ns, drained_bytes: 0 };
                self.scan_soon();
            }
        } else if slot.phase == Phase::Open
            && slot.eof
            && slot.eof_told
            && !slot.hold
            && !slot.more
            && slot.sending_since_ns.is_none()
            && slot.outbox.is_empty()
        {
            self.kill(conn, Cause::PeerClosed);
        }
    }

    /// What else the engine must do for this connection.
    #[inline]
    pub(crate) fn duty(&self, conn: Conn) -> Duty {
        let slot = &self.slots[conn.index()];
        match slot.phase {
            Phase::Dead => Duty::LetGo,
            Phase::Lingering { .. } if !slot.shut => Duty::ShutWrite,
            _ => Duty::None,
        }
    }

    /// The sending side was shut down.
    pub(crate) fn shut_down(&mut self, conn: Conn) {
        self.slots[conn.index()].shut = true;
    }

    /// Ends a connection: the protocol is told now, the slot is free after [`Core::release`].
    fn kill(&mut self, conn: Conn, cause: Cause) {
        let slot = &mut self.slots[conn.index()];
        match slot.phase {
            Phase::Free | Phase::Dead => return,
            Phase::Connecting { .. } => {
                let errno = if cause == Cause::Shutdown { libc::ECANCELED } else { libc::ETIMEDOUT };
                self.connect_failed(conn, &io::Error::from_raw_os_error(errno));
                return;
            }
            Phase::Open | Phase::Closing | Phase::Lingering { .. } => {}
        }
        let lingering = matches!(slot.phase, Phase::Lingering { .. } | Phase::Closing);
        slot.phase = Phase::Dead;
        let counts = self.counts();
        counts.connections_open.set(counts.connections_open.get() - 1);
        match cause {
            Cause::OverMemory => counts.closed_over_memory.add(1),
            Cause::WriteStalled => counts.closed_stalled.add(1),
            _ => {}
        }
        let told = match cause {
            // The protocol had already said its last word; that the peer was slow to go changes nothing.
            Cause::PeerClosed | Cause::Shutdown if lingering => Cause::Finished,
            other => other,
        };
        self.touch(conn);
        self.call(|shard, cx| shard.closed(conn, told, cx));
    }

    /// The descriptor is closed and no operation is in flight: the slot may be used again.
    pub(crate) fn release(&mut self, conn: Conn) {
        let slot = &mut self.slots[conn.index()];
        debug_assert_eq!(slot.phase, Phase::Dead);
        slot.reset();
        self.account(conn);
        self.open -= 1;
        self.free.push(conn.0);
    }

    /// Begins to end: nothing new is accepted, the protocol may finish what it has begun.
    pub(crate) fn drain(&mut self) {
        if self.drain_until_ns.is_some() {
            return;
        }
        self.drain_until_ns = Some(self.now_ns + self.limits.drain_ns);
        self.scan_soon();
        self.call(|shard, cx| shard.drain(cx));
        for index in 0..self.slots.len() {
            let conn = Conn(index as u32);
            match self.slots[index].phase {
                Phase::Connecting { .. } => self.kill(conn, Cause::Shutdown),
                _ => self.wake(conn),
            }
        }
        self.settle();
    }

    fn wake(&mut self, conn: Conn) {
        let Some(slot) = self.slots.get_mut(conn.index()) else { return };
        if slot.phase == Phase::Open {
            slot.more = true;
            slot.hold = false;
            self.touch(conn);
            self.pump(conn);
        }
    }

    /// Whether the shard has ended: nothing is open and nothing will be.
    pub(crate) fn ended(&self) -> bool {
        (self.finished || self.drain_until_ns.is_some()) && self.open == 0 && self.connects.is_empty()
    }

    /// Whether listeners should be closed.
    pub(crate) fn ending(&self) -> bool {
        self.finished || self.drain_until_ns.is_some()
    }

    /// When [`Core::tick`] wants to be called next; `u64::MAX` for never.
    #[inline]
    pub(crate) fn next_tick_ns(&self) -> u64 {
        self.tick_at_ns.min(self.wishes.tick_at_ns).min(self.scan_at_ns)
    }

    /// Calls the protocol's tick and looks at deadlines, where due.
    pub(crate) fn tick(&mut self) {
        self.tick_at_ns = self.tick_at_ns.min(std::mem::replace(&mut self.wishes.tick_at_ns, u64::MAX));
        if self.now_ns >= self.tick_at_ns {
            self.tick_at_ns = u64::MAX;
            self.call(|shard, cx| shard.tick(cx));
            self.settle();
        }
        if self.now_ns >= self.scan_at_ns {
            self.scan_at_ns = u64::MAX;
            self.scan();
            self.settle();
        }
    }

    #[inline]
    fn scan_soon(&mut self) {
        if self.scan_at_ns == u64::MAX {
            self.scan_at_ns = self.now_ns + limits::SCAN_INTERVAL_NS;
        }
    }

    /// One look at every connection's deadline; cheaper than a timer for each.
    fn scan(&mut self) {
        let (now_ns, limits) = (self.now_ns, self.limits);
        let out_of_time = self.drain_until_ns.is_some_and(|until_ns| now_ns >= until_ns);
        let mut again = self.drain_until_ns.is_some() && !out_of_time;
        for index in 0..self.slots.len() {
            let conn = Conn(index as u32);
            let slot = &self.slots[index];
            let overdue = |since_ns: u64, limit_ns: u64| now_ns.saturating_sub(since_ns) >= limit_ns;
            let cause = match (slot.phase, slot.sending_since_ns) {
                (Phase::Free | Phase::Dead, _) => continue,
                _ if out_of_time => Some(Cause::Shutdown),
                (Phase::Connecting { since_ns, .. }, _) => {
                    again = true;
                    overdue(since_ns, limits.connect_timeout_ns).then_some(Cause::WriteStalled)
                }
                (Phase::Lingering { until_ns, .. }, _) => {
                    again = true;
                    (now_ns >= until_ns).then_some(Cause::Finished)
                }
                (_, Some(since_ns)) => {
                    again = true;
                    overdue(since_ns, limits.write_stall_ns).then_some(Cause::WriteStalled)
                }
                _ => None,
            };
            if let Some(cause) = cause {
                self.kill(conn, cause);
            }
        }
        if again {
            self.scan_soon();
        }
        self.counts().cpu_ns.set(clock::thread_cpu_ns());
    }

    /// Carries out wishes until there are none.
    #[inline]
    fn settle(&mut self) {
        while !self.wishes.is_empty() {
            if let Some(conn) = self.wishes.close.pop() {
                if self.slots.get(conn.index()).is_some() {
                    self.kill(conn, Cause::Requested);
                }
            } else if let Some(conn) = self.wishes.wake.pop() {
                self.wake(conn);
            } else if let Some(dial) = self.wishes.connect.pop() {
                if !self.ending() {
                    self.connects.push(dial);
                }
            } else if std::mem::take(&mut self.wishes.finish) && !self.finished {
                self.finished = true;
                self.connects.clear();
                for index in 0..self.slots.len() {
                    self.kill(Conn(index as u32), Cause::Shutdown);
                }
            }
        }
    }

    /// Has the engine look at this connection again.
    #[inline]
    pub(crate) fn touch(&mut self, conn: Conn) {
        let slot = &mut self.slots[conn.index()];
        if !slot.dirty {
            slot.dirty = true;
            self.dirty.push(conn);
        }
    }

    /// Moves the connections that the engine should look at again into `into` (which must be empty), in the order they were
    /// touched.
    #[inline]
    pub(crate) fn take_dirty(&mut self, into: &mut Vec<Conn>) {
        debug_assert!(into.is_empty());
        std::mem::swap(&mut self.dirty, into);
        for conn in into.iter() {
            self.slots[conn.index()].dirty = false;
        }
    }

    /// The next connect the engine should begin.
    pub(crate) fn next_connect(&mut self) -> Option<Dial> {
        self.connects.pop()
    }

    #[inline]
    fn memory_left_bytes(&self) -> usize {
        self.limits.max_memory_bytes.saturating_sub(self.held_bytes + self.shard.held_bytes())
    }

    /// Brings the memory account of a connection up to date and ends it if the shard is over its limit.
    #[inline]
    fn account(&mut self, conn: Conn) {
        let slot = &mut self.slots[conn.index()];
        let holds = slot.inbox.capacity_bytes() + slot.outbox.held_bytes();
        if holds == slot.charged_bytes {
            return;
        }
        let grew = holds > slot.charged_bytes;
        self.held_bytes = self.held_bytes + holds - slot.charged_bytes;
        slot.charged_bytes = holds;
        self.counts().held_bytes.set((self.held_bytes + self.shard.held_bytes()) as u64);
        if grew && self.held_bytes + self.shard.held_bytes() > self.limits.max_memory_bytes {
            self.kill(conn, Cause::OverMemory);
        }
    }

    #[inline]
    fn call(&mut self, with: impl FnOnce(&mut S, &mut Cx<'_>)) {
        let memory_left_bytes = self.memory_left_bytes();
        let mut cx = Cx { now_ns: self.now_ns, memory_left_bytes, wishes: &mut self.wishes };
        with(&mut self.shard, &mut cx);
    }

    /// Ends and returns the protocol.
    pub(crate) fn into_shard(self) -> S {
        self.shard
    }
}

#[cfg(test)]
mod tests;
