//! Making connections, and making them again: at once after a connection that carried answers, after a growing wait after one
//! that did not, and not at all once nothing more will be sent.

use std::io;

use engine::{Conn, Cx};
use results::Outcome;

use crate::{
    lane::{Lane, State},
    limits::{GIVE_UP_STRIKES, MAX_CONNECTING},
    phase::ConnectFailure,
    schedule::Schedule,
    shard::LoadShard,
    wire::Wire,
};

/// `EMFILE` and `ENFILE`, the same number on every Linux architecture: no descriptor left in the process, or on the host.
const OUT_OF_DESCRIPTORS: [i32; 2] = [24, 23];

impl<W: Wire, const MANY: bool> LoadShard<W, MANY> {
    /// Asks for lanes that were not asked for yet: a bounded number at once before the start, at the rate asked for if there is one;
    /// all of them after it.
    pub(crate) fn connect_more(&mut self, cx: &mut Cx<'_>) {
        if let (None, Some(rate)) = (&self.connects, self.shared.plan.connect_rate_per_s) {
            let mut connects = Schedule::new(rate, self.shared.plan.threads.into(), self.index as u64);
            connects.starts_at(cx.now_ns);
            self.connects = Some(connects);
        }
        while self.next_lane < self.lanes.len() && (self.released || self.connecting < MAX_CONNECTING) {
            if let (false, Some(connects)) = (self.released, &mut self.connects)
                && connects.take(cx.now_ns).is_none()
            {
                cx.tick_at(connects.next_ns());
                return;
            }
            let index = self.next_lane;
            self.next_lane += 1;
            self.connect(index, cx);
        }
    }

    pub(crate) fn connect(&mut self, index: usize, cx: &mut Cx<'_>) {
        let lane = &mut self.lanes[index];
        lane.state = State::Connecting { since_ns: cx.now_ns };
        self.connecting += 1;
        let target = self.shared.route.target(index, lane.address);
        match self.shared.source(self.share.first_connection as usize + index, lane.address) {
            Some(source) => cx.connect_from(target, source),
            None => cx.connect(target),
        }
    }

    /// A lane's connection was made.
    pub(crate) fn connected(&mut self, index: usize, conn: Conn, cx: &mut Cx<'_>) {
        let now_ns = cx.now_ns;
        let lane = &mut self.lanes[index];
        if let State::Connecting { since_ns } = lane.state {
            self.measure.connect.record(now_ns.saturating_sub(since_ns));
        }
        self.connecting -= 1;
        self.measure.reconnects += u64::from(lane.reached && self.measure.is_measured(now_ns));
        self.shared.gate.opened(!lane.reached);
        lane.state = State::Open { conn };
        lane.wire.reset();
        lane.answered = false;
        lane.reached = true;
        lane.free_since_ns = now_ns;
        lane.left = self.shared.per_conn;
        lane.addresses_failed = 0;
        self.connect_more(cx);
    }

    /// A lane's connection could not be made. Before the start that is not a request's failure: every address is tried, then
    /// all again after a wait, as long as the session waits. Later each try is a planned request that could not be sent.
    pub(crate) fn not_connected(&mut self, index: usize, error: &io::Error, cx: &mut Cx<'_>) {
        self.connecting -= 1;
        if self.finished {
            self.lanes[index].state = State::Resting;
            return;
        }
        self.note_failure(index, error);
        let route = self.shared.route;
        let lane = &mut self.lanes[index];
        if !lane.reached {
            lane.address = route.next_address(lane.address);
            lane.addresses_failed += 1;
            if lane.addresses_failed < route.addresses() && !self.stopping {
                self.connect(index, cx);
                return;
            }
            lane.addresses_failed = 0;
            if !std::mem::replace(&mut lane.refused, true) {
                self.shared.gate.was_refused();
            }
        }
        if self.released {
            self.count_failure(error, cx.now_ns);
        }
        self.strike(index, cx);
        self.connect_more(cx);
        self.finish_if_over(cx);
    }

    fn note_failure(&self, index: usize, error: &io::Error) {
        let no_port = error.kind() == io::ErrorKind::AddrNotAvailable;
        let hopeless = no_port || error.raw_os_error().is_some_and(|errno| OUT_OF_DESCRIPTORS.contains(&errno));
        self.shared.gate.failed(hopeless, || ConnectFailure {
            address: self.shared.addresses[self.lanes[index].address].clone(),
            errno: error.raw_os_error(),
            message: self.explain(error),
        });
    }

    /// A failed connect in words; the lack of a local port with its arithmetic.
    fn explain(&self, error: &io::Error) -> String {
        match error.kind() {
            io::ErrorKind::AddrNotAvailable => format!("{error}: {}", self.shared.ports_text),
            _ => error.to_string(),
        }
    }

    fn count_failure(&mut self, error: &io::Error, now_ns: u64) {
        if self.pacer.is_paced() {
            // No request was planned for this connection: those that are due wait for another one.
            let text = self.explain(error);
            self.measure.tally(now_ns).sample(Outcome::Connect, || text);
            return;
        }
        let counted = self.pacer.is_counted() && self.measure.is_measured(now_ns);
        if counted && self.pacer.grant(1, now_ns) == 0 {
            return;
        }
        let text = self.explain(error);
        let tally = self.measure.tally(now_ns);
        tally.never_sent(Outcome::Connect, 1);
        tally.sample(Outcome::Connect, || text);
    }

    /// A lane's connection has ended, and so have its requests.
    pub(crate) fn disconnected(&mut self, index: usize, cx: &mut Cx<'_>) {
        let lane = &mut self.lanes[index];
        lane.wire.reset();
        lane.state = State::Resting;
        if lane.answered && self.wants_connections(cx.now_ns) {
            self.connect(index, cx);
        } else {
            self.strike(index, cx);
        }
    }

    /// Whether requests may still be sent on a connection made now.
    pub(crate) fn wants_connections(&self, now_ns: u64) -> bool {
        !self.finished && !self.stopping && now_ns < self.times.until_ns && !self.pacer.is_exhausted()
    }

    /// One more failure without an answer: wait, or give up.
    fn strike(&mut self, index: usize, cx: &mut Cx<'_>) {
        let wants = self.wants_connections(cx.now_ns);
        let lane = &mut self.lanes[index];
        lane.strikes = lane.strikes.saturating_add(1);
        if !wants {
            lane.state = State::Resting;
        } else if self.pacer.is_counted() && self.released && lane.strikes >= GIVE_UP_STRIKES {
            lane.state = State::Resting;
            if !std::mem::replace(&mut lane.gave_up, true) {
                self.gave_up += 1;
            }
        } else {
            let retry_ns = cx.now_ns + lane.back_off_ns();
            lane.state = State::Waiting { retry_ns };
            self.look_at(retry_ns, cx);
        }
    }

    /// Lanes that were never open and are still being tried at the end of a run bounded by time: each a request that could not be
    /// sent. Tries that failed were counted when they did.
    pub(crate) fn count_missing(&mut self) {
        let is_missing = |lane: &&Lane<W>| !lane.reached && matches!(lane.state, State::Connecting { .. });
        let missing = self.lanes.iter().filter(is_missing).count() as u64;
        if missing == 0 || self.pacer.is_counted() || self.pacer.is_paced() || self.measure.begin.is_none() {
            return;
        }
        self.measure.measured.never_sent(Outcome::Connect, missing);
        self.measure.measured.sample(Outcome::Connect, || format!("{missing} connections of a thread were never open"));
    }
}
