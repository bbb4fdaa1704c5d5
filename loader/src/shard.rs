//! The loader's protocol on one thread: connections of the plan, requests in, answers out, outcomes counted.
//!
//! On the way of a request nothing is allocated, no clock is read (the engine passes the time) and no shared memory is touched.
//! Making connections and making them again is in `reconnect`, deadlines are in `deadlines`.

use std::{collections::VecDeque, io, sync::Arc};

use codec::limits::PREFIX_BYTES;
use engine::{Board, Burden, Cause, Conn, Cx, Flow, Next, Origin, Outbox, Shard, Taken};
use results::{Outcome, Requests};

use crate::{
    lane::{Flight, Lane, State},
    limits::{CLOSE_GRACE_NS, PACE_STEP_NS, QUOTED_BYTES},
    measure::{Edge, Measure},
    pacer::Pacer,
    phase::Timeline,
    plan::Share,
    record::Record,
    schedule::Schedule,
    several::Several,
    shared::Shared,
    wire::{Answer, End, Fault, Found, Memo, Wire},
};

/// One thread's worth of load. `MANY` for a run with several requests ([`Shared::has_several`]).
pub struct LoadShard<W, const MANY: bool = false> {
    pub(crate) shared: Arc<Shared>,
    board: Arc<Board>,
    pub(crate) index: usize,
    pub(crate) share: Share,
    pub(crate) lanes: Vec<Lane<W>>,
    /// The lane of each of the engine's connections.
    lane_of: Vec<u32>,
    pub(crate) measure: Measure,
    memo: Memo,
    pub(crate) several: Several,
    pub(crate) pacer: Pacer,
    /// Open loop: lanes with room for a request, the one that has waited longest first. Some have gone since.
    listed: VecDeque<u32>,
    /// When connections are begun before the start, where that has a rate; made with the first of them.
    pub(crate) connects: Option<Schedule>,
    pub(crate) times: Timeline,
    burden: Option<Box<Burden>>,
    /// Requests one connection may have under way.
    pub(crate) depth: usize,
    /// Requests under way on all connections.
    pub(crate) in_flight: usize,
    /// Connects under way.
    pub(crate) connecting: usize,
    /// The first lane that was not asked for yet.
    pub(crate) next_lane: usize,
    /// Lanes that will not be tried again.
    pub(crate) gave_up: usize,
    pub(crate) scan_at_ns: u64,
    pub(crate) scanned_ns: u64,
    /// The start has come and all lanes may speak.
    pub(crate) released: bool,
    pub(crate) stopping: bool,
    pub(crate) finished: bool,
}

impl<W: Wire, const MANY: bool> LoadShard<W, MANY> {
    /// The shard with this index. `board` is the fleet's.
    pub fn new(shared: Arc<Shared>, board: Arc<Board>, index: usize) -> Self {
        debug_assert_eq!(shared.has_several(), MANY, "a shard made for what the run has");
        let share = shared.plan.share(index);
        let lanes = share.connections as usize;
        // With few counted requests every connection gets its part of them.
        let fair = share.requests.map_or(u64::MAX, |requests| requests.div_ceil(lanes.max(1) as u64));
        let depth = (shared.plan.pipeline as usize).min(usize::try_from(fair).unwrap_or(usize::MAX)).max(1);
        let addresses = shared.route.addresses();
        let schedule = shared.plan.rate_per_s.map(|rate| Schedule::new(rate, shared.plan.threads.into(), index as u64));
        let mut measure = Measure::new(shared.plan.length);
        if schedule.is_some() {
            measure.pace();
        }
        let first = share.first_connection as usize;
        let kinds = if MANY { depth } else { 0 };
        Self {
            lanes: (0..lanes).map(|lane| Lane::new(depth, kinds, (first + lane) % addresses)).collect(),
            lane_of: Vec::with_capacity(2 * lanes),
            measure,
            memo: Memo::default(),
            burden: Burden::of(shared.plan.handicap),
            several: match &shared.plan.mix {
                Some(mix) if MANY => Several::new(&shared.plan, mix, index),
                _ => Several::default(),
            },
            pacer: Pacer::new(share.requests, schedule),
            listed: VecDeque::new(),
            connects: None,
            times: Timeline::default(),
            depth,
            in_flight: 0,
            connecting: 0,
            next_lane: 0,
            gave_up: 0,
            scan_at_ns: 0,
            scanned_ns: 0,
            released: false,
            stopping: false,
            finished: false,
            share,
            shared,
            board,
            index,
        }
    }

    /// What was measured.
    pub fn measure(&self) -> &Measure {
        &self.measure
    }

    /// Takes what was measured out of a shard that has ended.
    pub fn into_measure(self) -> Measure {
        self.into_records().0
    }

    /// The same with the records of each of several requests; none where there is one.
    pub(crate) fn into_records(mut self) -> (Measure, Vec<Record>) {
        self.settle_rest();
        self.measure.settled(0);
        (self.measure, self.several.parts.into_iter().map(|part| part.record).collect())
    }

    /// Outcomes and body bytes of each of several requests so far, as they are named in the mix; none where there is one request.
    pub fn rows(&self) -> Vec<(Requests, u64)> {
        self.several.parts.iter().map(|part| (part.record.requests, part.record.body_bytes)).collect()
    }

    /// The instants between the phases, as far as this shard knows them.
    pub fn timeline(&self) -> Timeline {
        self.times
    }

    /// Connections to each address, by index, over all lanes that were ever open.
    pub fn reached_by_address(&self) -> Vec<u32> {
        let mut counts = vec![0; self.shared.addresses.len()];
        for lane in self.lanes.iter().filter(|lane| lane.reached) {
            counts[lane.address] += 1;
        }
        counts
    }

    #[inline]
    fn lane_at(&self, conn: Conn) -> usize {
        self.lane_of[conn.index()] as usize
    }

    /// Reads every whole answer in `input` and counts it. The connection is of no further use when `Err`.
    #[inline]
    fn take_answers(&mut self, index: usize, input: &[u8], now_ns: u64) -> Result<(usize, usize), ()> {
        let mut consumed = 0;
        loop {
            let lane = &mut self.lanes[index];
            let rest = &input[consumed..];
            if lane.sent.is_empty() {
                if rest.is_empty() {
                    return Ok((consumed, 0));
                }
                self.unasked(index, rest, now_ns);
                return Err(());
            }
            let (asked, which) = Self::asked_first(&self.shared, &lane.kinds);
            let memo = if MANY { &mut self.several.parts[which].memo } else { &mut self.memo };
            match lane.wire.read(rest, asked, memo) {
                Ok(seen) => {
                    consumed += seen.consumed;
                    match seen.found {
                        Found::Need(need) => return Ok((consumed, need)),
                        Found::Answer(answer) => {
                            self.answered(index, &answer, now_ns);
                            if !answer.reusable {
                                self.leave(index, now_ns);
                                return Ok((input.len(), 0));
                            }
                            if self.lanes[index].is_spent() {
                                self.lanes[index].state = State::Dropped;
                                return Err(());
                            }
                        }
                    }
                }
                Err(fault) => {
                    self.garbled(index, fault, rest);
                    return Err(());
                }
            }
        }
    }

    /// The oldest request under way was answered.
    #[inline]
    fn answered(&mut self, index: usize, answer: &Answer, now_ns: u64) {
        let lane = &mut self.lanes[index];
        if lane.sent.len() == self.depth {
            lane.free_since_ns = now_ns;
        }
        let Some((flight, which)) = lane.pop::<MANY>() else { return };
        lane.answered = true;
        lane.strikes = 0;
        self.in_flight -= 1;
        let outcome = if W::HAS_STATUS && !Self::expected(&self.shared, which).status(answer.status) {
            Outcome::BadStatus
        } else if !answer.body_matches {
            Outcome::BadBody
        } else {
            Outcome::Ok
        };
        let status = W::HAS_STATUS.then_some(answer.status);
        self.measure.answered(flight, now_ns, outcome, status, answer.body_bytes);
        if let Some(record) = self.record(which, flight.due_ns) {
            record.answered(outcome, now_ns.saturating_sub(flight.due_ns), status, answer.body_bytes);
        }
        if outcome != Outcome::Ok {
            self.explain_answer(flight.due_ns, which, outcome, answer);
        }
    }

    #[cold]
    fn explain_answer(&mut self, due_ns: u64, which: usize, outcome: Outcome, answer: &Answer) {
        let expect = Self::expected(&self.shared, which);
        let explain = || match (outcome, &expect.body) {
            (Outcome::BadBody, Some(body)) => {
                format!("the body ({} bytes) is not the expected one ({} bytes)", answer.body_bytes, body.len())
            }
            (Outcome::BadBody, None) => {
                let (got, asked) = (answer.body_bytes + PREFIX_BYTES as u64, self.shared.asked.reply_bytes);
                format!("a reply of {got} bytes where {asked} were asked for")
            }
            _ => format!("status {}, expected {expect}", answer.status),
        };
        self.measure.tally(due_ns).sample(outcome, || Self::named(&self.shared, which, explain()));
    }

    /// The server announced that it closes: nothing more is sent, and what was sent behind the last answer is lost.
    #[cold]
    fn leave(&mut self, index: usize, now_ns: u64) {
        self.fail_rest(index, Outcome::Reset, || {
            "the server closed the connection after an earlier pipelined request".into()
        });
        if let State::Open { conn } = self.lanes[index].state {
            self.lanes[index].state = State::Leaving { conn, until_ns: now_ns + CLOSE_GRACE_NS };
        }
    }

    /// The bytes were no answer: the request they stand for broke the rules, the ones behind it lose their connection.
    #[cold]
    fn garbled(&mut self, index: usize, fault: Fault, rest: &[u8]) {
        let start = rest.get(..QUOTED_BYTES).unwrap_or(rest).escape_ascii();
        let bytes = rest.len();
        self.fail_first(index, fault.outcome(), || format!("{fault}; the {bytes} bytes there begin with \"{start}\""));
        self.fail_rest(index, Outcome::Reset, || format!("dropped with its connection: {fault}"));
        self.lanes[index].state = State::Dropped;
    }

    /// An answer that no request asked for: a failure of its own.
    #[cold]
    fn unasked(&mut self, index: usize, rest: &[u8], now_ns: u64) {
        let start = rest.get(..QUOTED_BYTES).unwrap_or(rest).escape_ascii();
        let tally = self.measure.tally(now_ns);
        tally.never_sent(Outcome::Protocol, 1);
        tally.sample(Outcome::Protocol, || format!("{}; it begins with \"{start}\"", Fault::Unasked));
        self.lanes[index].state = State::Dropped;
    }

    /// The peer closed its side after everything that was read so far.
    #[cold]
    fn ended_by_peer(&mut self, index: usize, now_ns: u64) {
        let shared = Arc::clone(&self.shared);
        let lane = &mut self.lanes[index];
        let (asked, _) = Self::asked_first(&shared, &lane.kinds);
        match lane.wire.end(asked) {
            End::Answer(answer) => self.answered(index, &answer, now_ns),
            End::Cut(fault) => self.fail_first(index, fault.outcome(), || fault.to_string()),
            End::Nothing => {}
        }
        self.fail_rest(index, Outcome::Reset, || "the server closed the connection before it answered".into());
        self.lanes[index].state = State::Dropped;
    }

    /// The oldest request under way failed.
    pub(crate) fn fail_first(&mut self, index: usize, outcome: Outcome, message: impl FnOnce() -> String) {
        if let Some((flight, which)) = self.take_first(index) {
            let tally = self.measure.tally(flight.due_ns);
            tally.ended(outcome, 1);
            tally.sample(outcome, || Self::named(&self.shared, which, message()));
            if let Some(record) = self.record(which, flight.due_ns) {
                record.failed(outcome, None);
            }
        }
    }

    /// Every request under way failed alike.
    pub(crate) fn fail_rest(&mut self, index: usize, outcome: Outcome, message: impl Fn() -> String) {
        while !self.lanes[index].sent.is_empty() {
            self.fail_first(index, outcome, &message);
        }
    }

    /// Sends as many requests as the connection, the outbox and the plan have room for, as one batch.
    #[inline]
    fn refill(&mut self, index: usize, out: &mut Outbox, cx: &mut Cx<'_>) {
        let now_ns = cx.now_ns;
        if !self.times.sends(now_ns) {
            return;
        }
        if self.pacer.is_paced() {
            self.refill_due(index, out, cx);
            return;
        }
        if MANY {
            self.refill_several(index, out, now_ns);
            return;
        }
        let lane = &mut self.lanes[index];
        let free = lane.free(self.depth);
        if free == 0 || !matches!(lane.state, State::Open { .. }) {
            return;
        }
        let count = self.pacer.grant(free.min(self.shared.request.fits(out.room_bytes())), now_ns);
        if count == 0 {
            return;
        }
        self.shared.request.write(out, count);
        lane.push(count, now_ns);
        lane.left -= count as u64;
        self.in_flight += count;
        self.measure.tally(now_ns).sent(count as u64);
    }

    /// Open loop: sends what is due, oldest first, as far as the connection has room; only one where others have room too.
    fn refill_due(&mut self, index: usize, out: &mut Outbox, cx: &mut Cx<'_>) {
        let lane = &mut self.lanes[index];
        if !matches!(lane.state, State::Open { .. }) {
            return;
        }
        let free = lane.free(self.depth);
        let others = self.listed.len() - usize::from(lane.listed);
        if MANY {
            self.refill_several_due(index, if others > 0 { free.min(1) } else { free }, out, cx);
            self.pace(cx);
            return;
        }
        let room = free.min(self.shared.request.fits(out.room_bytes()));
        let most = if others > 0 { room.min(1) } else { room };
        let mut count = 0;
        while count < most {
            let Some(due_ns) = self.pacer.take_due(cx.now_ns, self.times.until_ns) else { break };
            let flight = Flight { due_ns, sent_ns: cx.now_ns };
            lane.sent.push_back(flight);
            self.measure.sent_due(flight, lane.free_since_ns);
            count += 1;
        }
        if count > 0 {
            self.shared.request.write(out, count);
            lane.left -= count as u64;
            self.in_flight += count;
        }
        if free > count {
            self.list(index);
        }
        self.pace(cx);
    }

    /// Open loop: this lane has room for a request.
    pub(crate) fn list(&mut self, index: usize) {
        if !std::mem::replace(&mut self.lanes[index].listed, true) {
            self.listed.push_back(index as u32);
        }
    }

    /// Open loop: lets lanes with room send what is due, or has the next tick made when something will be. Without such a lane
    /// there is nothing to do: whoever gets room next takes the oldest.
    pub(crate) fn pace(&mut self, cx: &mut Cx<'_>) {
        let next_ns = self.pacer.next_due_ns();
        if next_ns >= self.times.until_ns || self.listed.is_empty() || !self.released {
            return;
        }
        if next_ns > cx.now_ns {
            cx.tick_at(next_ns.max(cx.now_ns + PACE_STEP_NS));
            return;
        }
        let mut wanted = self.pacer.waiting(cx.now_ns);
        while wanted > 0 {
            let Some(index) = self.listed.pop_front() else { break };
            let lane = &mut self.lanes[index as usize];
            lane.listed = false;
            // The others have lost their connection since.
            if let State::Open { conn } = lane.state
                && lane.free(self.depth) > 0
            {
                cx.wake(conn);
                wanted -= 1;
            }
        }
    }

    /// Ends the run of this shard once it has nothing left to wait for.
    #[inline]
    pub(crate) fn finish_if_over(&mut self, cx: &mut Cx<'_>) {
        if self.in_flight == 0 && self.is_over(cx.now_ns) {
            self.finish(cx);
        }
    }

    #[cold]
    fn is_over(&self, now_ns: u64) -> bool {
        let counted_out = self.pacer.is_exhausted() && self.measure.is_measured(now_ns);
        self.stopping || now_ns >= self.times.until_ns || counted_out || self.gave_up == self.lanes.len()
    }

    /// Gives every request its outcome and ends the shard.
    pub(crate) fn finish(&mut self, cx: &mut Cx<'_>) {
        if std::mem::replace(&mut self.finished, true) {
            return;
        }
        let open_ended = self.measure.begin.is_some() && self.measure.end.is_none();
        if open_ended {
            self.measure.end = Some(self.edge(cx.now_ns));
        }
        self.count_missing();
        self.settle_rest();
        self.measure.settled(cx.now_ns);
        cx.finish();
    }

    /// What is still under way is unfinished, what was counted and not sent is not sent; idempotent.
    fn settle_rest(&mut self) {
        for index in 0..self.lanes.len() {
            self.fail_rest(index, Outcome::Unfinished, || "under way when the run ended".into());
        }
        debug_assert_eq!(self.in_flight, 0, "requests under way are those of all lanes");
        let (early, rest) = self.pacer.take_rest(self.times.until_ns);
        if early > 0 {
            self.measure.warmup.never_sent(Outcome::NotSent, early);
        }
        if rest > 0 {
            self.measure.measured.never_sent(Outcome::NotSent, rest);
            let (gave_up, late) = (self.gave_up, self.pacer.is_paced() && !self.stopping);
            self.measure.measured.sample(Outcome::NotSent, || match gave_up {
                0 if late => "due, but no connection had room for them before the sending ended".into(),
                0 => "the run was stopped before they were sent".into(),
                _ => format!("{gave_up} connections failed too often in a row and were given up"),
            });
        }
    }

    pub(crate) fn edge(&self, at_ns: u64) -> Edge {
        Edge::take(&self.board, self.index, at_ns)
    }

    /// Counts the requests under way on a connection that ended without being asked to.
    #[cold]
    fn lost(&mut self, index: usize, cause: Cause) {
        let errno = |errno: i32| io::Error::from_raw_os_error(errno);
        match cause {
            Cause::Shutdown => {
                self.fail_rest(index, Outcome::Unfinished, || "under way when the run was stopped".into())
            }
            Cause::ReceiveFailed(code) => {
                self.fail_rest(index, Outcome::Reset, || format!("receiving: {}", errno(code)))
            }
            Cause::SendFailed(code) => self.fail_rest(index, Outcome::Reset, || format!("sending: {}", errno(code))),
            Cause::WriteStalled => {
                self.fail_rest(index, Outcome::Reset, || "the server took no bytes for longer than the timeout".into());
            }
            Cause::OverMemory => {
                self.fail_rest(index, Outcome::Reset, || "the loader's memory limit was reached".into());
            }
            Cause::PeerClosed | Cause::Finished | Cause::Requested => {
                self.fail_rest(index, Outcome::Reset, || "the server closed the connection before it answered".into());
            }
        }
    }
}

impl<W: Wire, const MANY: bool> Shard for LoadShard<W, MANY> {
    fn open(&mut self, conn: Conn, origin: Origin, cx: &mut Cx<'_>) {
        let Origin::Connected { target } = origin else { return cx.close(conn) };
        let index = self.shared.route.lane(target);
        if self.lane_of.len() <= conn.index() {
            self.lane_of.resize(conn.index() + 1, 0);
        }
        self.lane_of[conn.index()] = index as u32;
        self.connected(index, conn, cx);
    }

    fn connect_failed(&mut self, target: usize, error: &io::Error, cx: &mut Cx<'_>) {
        self.measure.clock(cx.now_ns);
        let index = self.shared.route.lane(target);
        self.not_connected(index, error, cx);
    }

    #[inline]
    fn data(&mut self, conn: Conn, input: &[u8], eof: bool, out: Option<&mut Outbox>, cx: &mut Cx<'_>) -> Taken {
        if let Some(burden) = &mut self.burden {
            burden.pay();
        }
        self.measure.clock(cx.now_ns);
        let index = self.lane_at(conn);
        let (consumed, need) = match self.lanes[index].state {
            State::Open { .. } => match self.take_answers(index, input, cx.now_ns) {
                Ok(taken) => taken,
                Err(()) => {
                    self.finish_if_over(cx);
                    return Taken { consumed: input.len(), next: Next::Abort };
                }
            },
            // Whatever comes after an announced close is no answer (RFC 9112 section 9.6).
            _ => (input.len(), 0),
        };
        if eof {
            self.ended_by_peer(index, cx.now_ns);
            self.finish_if_over(cx);
            return Taken { consumed: input.len(), next: Next::Abort };
        }
        if let Some(out) = out {
            self.refill(index, out, cx);
        }
        if let State::Leaving { until_ns, .. } = self.lanes[index].state {
            self.look_at(until_ns, cx);
        }
        self.finish_if_over(cx);
        Taken { consumed, next: Next::Need(need) }
    }

    fn fill(&mut self, conn: Conn, out: &mut Outbox, cx: &mut Cx<'_>) -> Flow {
        let index = self.lane_at(conn);
        self.refill(index, out, cx);
        Flow::Idle
    }

    fn tick(&mut self, cx: &mut Cx<'_>) {
        if self.finished {
            return;
        }
        self.measure.clock(cx.now_ns);
        self.advance(cx);
        if self.finished {
            return;
        }
        if cx.now_ns >= self.scan_at_ns {
            self.scan(cx);
        }
        let next_ns = self.next_tick_ns(cx.now_ns);
        cx.tick_at(next_ns);
        if self.pacer.is_paced() {
            self.pace(cx);
        }
    }

    fn closed(&mut self, conn: Conn, cause: Cause, cx: &mut Cx<'_>) {
        self.measure.clock(cx.now_ns);
        let index = self.lane_at(conn);
        self.shared.gate.closed();
        self.lost(index, cause);
        self.disconnected(index, cx);
        self.finish_if_over(cx);
    }

    fn drain(&mut self, cx: &mut Cx<'_>) {
        self.stopping = true;
        let stop_ns = self.shared.gate.stop_ns().min(cx.now_ns);
        self.measure.clock(cx.now_ns);
        self.times.cut(stop_ns, self.shared.plan.drain_ns());
        self.measure.series.cut(self.times.until_ns);
        if !self.finished {
            self.advance(cx);
        }
    }
}
