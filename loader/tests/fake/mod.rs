//! An engine without sockets or clock: it calls a shard as the contract says, and the test plays the server and the time.
#![allow(dead_code, unreachable_pub, reason = "each test file is a crate of its own and uses its part of it")]

use std::{collections::VecDeque, io, sync::Arc};

use engine::{Address, Board, Cause, Conn, Cx, Flow, Next, Origin, Outbox, Shard, Wishes, limits::OUT_BUDGET_BYTES};
use loader::{LoadPlan, LoadShard, Measure, Shared, Target, wire::Wire};
use results::{Outcome, Requests};

/// The time at which every scene begins.
pub const BEGIN_NS: u64 = 1_000_000_000_000;
pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000 * MS;

/// A plan of one thread and one connection that measures from the start for ten seconds.
pub fn plan(url: &str) -> LoadPlan {
    let target = Target::parse(url).expect("a valid URL");
    LoadPlan { connections: 1, warmup_ns: Some(0), ..LoadPlan::new(target) }
}

struct Slot {
    open: bool,
    inbox: Vec<u8>,
    outbox: Outbox,
    sending: bool,
    more: bool,
    need: usize,
    eof: bool,
}

/// The engine and the world around one shard.
pub struct Scene<W, const MANY: bool = false> {
    pub shard: LoadShard<W, MANY>,
    pub shared: Arc<Shared>,
    pub now_ns: u64,
    wishes: Wishes,
    slots: Vec<Slot>,
    tick_at_ns: u64,
    /// Targets the shard wants connections to.
    pub connects: VecDeque<usize>,
    /// Connections closed, in order.
    pub closed: Vec<Conn>,
    pub finished: bool,
    /// Ticks made.
    pub ticks: u64,
    /// Largest number of bytes that waited in an inbox after the shard had looked.
    pub most_unread: usize,
}

impl<W: Wire> Scene<W> {
    pub fn new(plan: LoadPlan) -> Self {
        Self::with_addresses(plan, 1)
    }

    /// A shard whose target has several addresses.
    pub fn with_addresses(plan: LoadPlan, addresses: u16) -> Self {
        Self::of_several(plan, addresses, 0)
    }

    /// A scene whose connections are all open and whose start has come.
    pub fn started(plan: LoadPlan) -> Self {
        Self::begun(plan, 0)
    }

    /// The same for one shard of several.
    pub fn started_as(plan: LoadPlan, index: usize) -> Self {
        Self::begun(plan, index)
    }
}

impl<W: Wire> Scene<W, true> {
    /// As [`Scene::started_as`], for a plan with several requests.
    pub fn mixed(plan: LoadPlan, index: usize) -> Self {
        Self::begun(plan, index)
    }
}

impl<W: Wire, const MANY: bool> Scene<W, MANY> {
    fn begun(plan: LoadPlan, index: usize) -> Self {
        let mut scene = Self::of_several(plan, 1, index);
        scene.accept_all();
        scene.start();
        scene
    }

    fn of_several(plan: LoadPlan, addresses: u16, index: usize) -> Self {
        plan.check().expect("a sound plan");
        let address = |port| Address::Tcp(([127, 0, 0, 1], port).into());
        let shared =
            Arc::new(Shared::new(plan, (1..=addresses).map(address).collect()).expect("a request that encodes"));
        let shard = LoadShard::new(Arc::clone(&shared), Arc::new(Board::new(index + 1)), index);
        let mut scene = Scene {
            shard,
            shared,
            now_ns: BEGIN_NS,
            wishes: Wishes::default(),
            slots: Vec::new(),
            tick_at_ns: BEGIN_NS,
            connects: VecDeque::new(),
            closed: Vec::new(),
            finished: false,
            ticks: 0,
            most_unread: 0,
        };
        scene.at(BEGIN_NS);
        scene
    }

    pub fn start(&mut self) {
        self.shared.gate.start_at(self.now_ns);
        self.tick_at_ns = self.now_ns;
        self.at(self.now_ns);
    }

    fn call<T>(&mut self, with: impl FnOnce(&mut LoadShard<W, MANY>, &mut Cx<'_>) -> T) -> T {
        let mut cx = Cx::new(self.now_ns, usize::MAX, &mut self.wishes);
        let result = with(&mut self.shard, &mut cx);
        self.tick_at_ns = self.tick_at_ns.min(std::mem::replace(&mut self.wishes.tick_at_ns, u64::MAX));
        result
    }

    /// Carries out wishes.
    fn settle(&mut self) {
        while !self.wishes.is_empty() {
            if let Some(conn) = self.wishes.close.pop() {
                self.kill(conn, Cause::Requested);
            } else if let Some(conn) = self.wishes.wake.pop() {
                self.slots[conn.index()].more = true;
                self.pump(conn);
            } else if let Some(dial) = self.wishes.connect.pop() {
                self.connects.push_back(dial.target);
            } else if std::mem::take(&mut self.wishes.finish) {
                self.finished = true;
                self.connects.clear();
                for index in 0..self.slots.len() {
                    self.kill(Conn::new(index as u32), Cause::Shutdown);
                }
            }
        }
    }

    /// Moves the time on, making every tick that was asked for on the way.
    pub fn at(&mut self, now_ns: u64) {
        while self.tick_at_ns <= now_ns && !self.finished {
            self.now_ns = self.now_ns.max(self.tick_at_ns);
            self.tick_at_ns = u64::MAX;
            self.ticks += 1;
            self.call(|shard, cx| shard.tick(cx));
            self.settle();
        }
        self.now_ns = now_ns.max(self.now_ns);
    }

    pub fn after(&mut self, ns: u64) {
        self.at(self.now_ns + ns);
    }

    /// One connect that was asked for succeeds.
    pub fn accept(&mut self) -> Option<Conn> {
        let target = self.connects.pop_front()?;
        let index = self.slots.iter().position(|slot| !slot.open).unwrap_or(self.slots.len());
        let slot = Slot {
            open: true,
            inbox: Vec::new(),
            outbox: Outbox::new(OUT_BUDGET_BYTES),
            sending: false,
            more: true,
            need: 0,
            eof: false,
        };
        if index == self.slots.len() {
            self.slots.push(slot);
        } else {
            self.slots[index] = slot;
        }
        let conn = Conn::new(index as u32);
        self.call(|shard, cx| shard.open(conn, Origin::Connected { target }, cx));
        self.pump(conn);
        self.settle();
        Some(conn)
    }

    pub fn accept_all(&mut self) -> Vec<Conn> {
        std::iter::from_fn(|| self.accept()).collect()
    }

    /// One connect that was asked for fails.
    pub fn refuse(&mut self, errno: i32) -> bool {
        let Some(target) = self.connects.pop_front() else { return false };
        let error = io::Error::from_raw_os_error(errno);
        self.call(|shard, cx| shard.connect_failed(target, &error, cx));
        self.settle();
        true
    }

    pub fn is_open(&self, conn: Conn) -> bool {
        self.slots.get(conn.index()).is_some_and(|slot| slot.open)
    }

    pub fn open_conns(&self) -> Vec<Conn> {
        (0..self.slots.len()).map(|index| Conn::new(index as u32)).filter(|conn| self.is_open(*conn)).collect()
    }

    /// Begins to send what is in the outbox: until [`Scene::sent`] the shard gets no outbox.
    pub fn begin_send(&mut self, conn: Conn) -> Vec<u8> {
        let slot = &mut self.slots[conn.index()];
        if slot.sending || slot.outbox.is_empty() {
            return Vec::new();
        }
        slot.sending = true;
        slot.outbox.to_vec()
    }

    /// The send under way has completed.
    pub fn sent(&mut self, conn: Conn) {
        let slot = &mut self.slots[conn.index()];
        if std::mem::take(&mut slot.sending) {
            slot.outbox.clear();
            slot.more = true;
            self.pump(conn);
            self.settle();
        }
    }

    /// What the shard has sent on this connection since the last call.
    pub fn take(&mut self, conn: Conn) -> Vec<u8> {
        let mut all = Vec::new();
        while self.is_open(conn) {
            let bytes = self.begin_send(conn);
            self.sent(conn);
            if bytes.is_empty() {
                break;
            }
            all.extend(bytes);
        }
        all
    }

    /// Whole requests among what [`Scene::take`] gives.
    pub fn take_requests(&mut self, conn: Conn) -> usize {
        let one = self.shared.request().bytes().to_vec();
        let bytes = self.take(conn);
        assert!(bytes.chunks(one.len()).all(|request| request == one), "only whole requests are sent");
        bytes.len() / one.len()
    }

    /// The server's bytes arrive, in one read.
    pub fn receive(&mut self, conn: Conn, bytes: &[u8]) {
        if self.is_open(conn) {
            self.slots[conn.index()].inbox.extend_from_slice(bytes);
            self.pump(conn);
            self.settle();
        }
    }

    /// The server closes its side.
    pub fn eof(&mut self, conn: Conn) {
        if self.is_open(conn) {
            self.slots[conn.index()].eof = true;
            self.pump(conn);
            self.settle();
        }
    }

    /// The connection breaks.
    pub fn break_off(&mut self, conn: Conn, cause: Cause) {
        self.kill(conn, cause);
        self.settle();
    }

    /// The user stops the run.
    pub fn stop(&mut self) {
        self.shared.gate.stop_at(self.now_ns);
        self.call(|shard, cx| shard.drain(cx));
        self.settle();
    }

    fn pump(&mut self, conn: Conn) {
        loop {
            let slot = &mut self.slots[conn.index()];
            if !slot.open {
                return;
            }
            if slot.more && !slot.sending && slot.outbox.is_empty() {
                slot.more = false;
                let mut outbox = std::mem::take(&mut slot.outbox);
                let flow = self.call(|shard, cx| shard.fill(conn, &mut outbox, cx));
                assert_eq!(flow, Flow::Idle);
                self.slots[conn.index()].outbox = outbox;
                continue;
            }
            let unread = slot.inbox.len();
            if (unread == 0 || unread < slot.need) && !slot.eof {
                return;
            }
            let (input, eof, sending) = (std::mem::take(&mut slot.inbox), slot.eof, slot.sending);
            let mut outbox = std::mem::take(&mut slot.outbox);
            let out = if sending { None } else { Some(&mut outbox) };
            let taken = self.call(|shard, cx| shard.data(conn, &input, eof, out, cx));
            let slot = &mut self.slots[conn.index()];
            slot.outbox = outbox;
            slot.inbox = input;
            slot.inbox.drain(..taken.consumed);
            self.most_unread = self.most_unread.max(slot.inbox.len());
            match taken.next {
                Next::Need(need) => {
                    slot.need = need.max(slot.inbox.len() + 1);
                    if eof {
                        self.kill(conn, Cause::PeerClosed);
                    }
                }
                Next::Abort => self.kill(conn, Cause::Finished),
                other => panic!("the loader never says {other:?}"),
            }
            return;
        }
    }

    fn kill(&mut self, conn: Conn, cause: Cause) {
        if self.is_open(conn) {
            self.slots[conn.index()].open = false;
            self.closed.push(conn);
            self.call(|shard, cx| shard.closed(conn, cause, cx));
        }
    }

    pub fn measure(&self) -> &Measure {
        self.shard.measure()
    }

    /// Outcomes and body bytes of each of several requests.
    pub fn rows(&self) -> Vec<(Requests, u64)> {
        self.shard.rows()
    }

    /// Measured outcomes so far.
    pub fn requests(&self) -> Requests {
        self.measure().measured.requests
    }

    pub fn sample(&self, outcome: Outcome) -> String {
        let tally = &self.measure().measured;
        let found = tally.samples().find(|(kind, _)| *kind == outcome);
        found.map(|(_, text)| text.to_owned()).unwrap_or_default()
    }

    /// Measured outcomes once the run is over.
    pub fn into_requests(self) -> Requests {
        let measure = self.shard.into_measure();
        let requests = measure.measured.requests;
        let rows = measure.over_time(u64::MAX / 2);
        let sums = rows.iter().fold((0, 0), |(ok, failed), row| (ok + row.ok, failed + row.failed));
        assert_eq!(sums, (requests.ok, requests.failed()), "the rows over time add up: {rows:?}");
        requests
    }
}

/// The counts of a run as (outcome, count), zeros left out.
pub fn counts(requests: &Requests) -> Vec<(Outcome, u64)> {
    Outcome::ALL.into_iter().map(|outcome| (outcome, requests.count(outcome))).filter(|(_, count)| *count > 0).collect()
}

pub const REFUSED: i32 = 111;
pub const TIMED_OUT: i32 = 110;
pub const NO_PORT: i32 = 99;
pub const NO_DESCRIPTOR: i32 = 24;
pub const RESET: i32 = 104;
