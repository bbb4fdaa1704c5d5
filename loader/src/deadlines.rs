//! Everything that happens because time passes: the common start, the edges of the measured part, timeouts, retries. One coarse
//! scan over all connections, no timer per request; on a server that answers in time it is made once per timeout.

use engine::Cx;
use results::Outcome;

use crate::{
    lane::State,
    limits::{MIN_SCAN_STEP_NS, SCAN_STEP_NS, START_POLL_NS},
    phase::Timeline,
    shard::LoadShard,
    wire::Wire,
};

impl<W: Wire, const MANY: bool> LoadShard<W, MANY> {
    /// Moves along the timeline.
    pub(crate) fn advance(&mut self, cx: &mut Cx<'_>) {
        let now_ns = cx.now_ns;
        self.connect_more(cx);
        if self.times.start_ns == u64::MAX
            && !self.stopping
            && let Some(start_ns) = self.shared.gate.start_ns()
        {
            self.times = Timeline::of(&self.shared.plan, start_ns);
            self.measure.starts_at(self.times.measure_from_ns, self.times.until_ns);
            self.pacer.starts_at(start_ns, self.times.measure_from_ns);
            self.several.turn.starts_at(self.times.measure_from_ns);
        }
        if !self.released && now_ns >= self.times.start_ns {
            self.release(cx);
        }
        if self.measure.begin.is_none() && now_ns >= self.times.measure_from_ns {
            self.measure.begin = Some(self.edge(now_ns));
            let missed = self.pacer.skip_warmup();
            if missed > 0 {
                self.measure.warmup.never_sent(Outcome::NotSent, missed);
                self.measure.warmup.sample(Outcome::NotSent, || {
                    "due in the warm-up, but no connection had room for them before it ended".into()
                });
            }
        }
        if self.measure.begin.is_some() && self.measure.end.is_none() && now_ns >= self.times.until_ns {
            self.measure.end = Some(self.edge(now_ns));
        }
        if now_ns >= self.times.drain_until_ns {
            self.scan(cx);
            self.finish(cx);
        } else {
            self.finish_if_over(cx);
        }
    }

    /// Lets every open lane speak, and has the others tried at once: their waits so far were not the run's.
    fn release(&mut self, cx: &mut Cx<'_>) {
        self.released = true;
        for index in 0..self.lanes.len() {
            let lane = &mut self.lanes[index];
            lane.strikes = 0;
            match lane.state {
                State::Open { .. } if self.pacer.is_paced() => self.list(index),
                State::Open { conn } => cx.wake(conn),
                State::Waiting { .. } => self.connect(index, cx),
                _ => {}
            }
        }
        self.connect_more(cx);
    }

    /// When the next tick is due.
    pub(crate) fn next_tick_ns(&self, now_ns: u64) -> u64 {
        let edge_ns = match self.times.start_ns {
            u64::MAX => now_ns + START_POLL_NS,
            _ => self.times.next_after(now_ns),
        };
        edge_ns.min(self.scan_at_ns)
    }

    /// The scan's step: fine enough for a short timeout.
    fn scan_step_ns(&self) -> u64 {
        (self.shared.plan.timeout_ns / 8).clamp(MIN_SCAN_STEP_NS, SCAN_STEP_NS)
    }

    /// Has the scan made at this time, or up to a step later if one was just made.
    pub(crate) fn look_at(&mut self, at_ns: u64, cx: &mut Cx<'_>) {
        let at_ns = at_ns.max(self.scanned_ns + self.scan_step_ns());
        if at_ns < self.scan_at_ns {
            self.scan_at_ns = at_ns;
            cx.tick_at(at_ns);
        }
    }

    /// One look at every connection. The next one is due when the first of them can have run out of time: a request sent later
    /// runs out later.
    pub(crate) fn scan(&mut self, cx: &mut Cx<'_>) {
        let now_ns = cx.now_ns;
        let timeout_ns = self.shared.plan.timeout_ns;
        let reconnects = self.wants_connections(now_ns);
        let mut next_ns = now_ns + timeout_ns;
        for index in 0..self.lanes.len() {
            let lane = &mut self.lanes[index];
            match lane.state {
                State::Open { conn } => {
                    let Some(oldest) = lane.sent.front() else { continue };
                    let out_ns = oldest.sent_ns + timeout_ns;
                    if out_ns > now_ns {
                        next_ns = next_ns.min(out_ns);
                    } else {
                        self.time_out(index, now_ns);
                        cx.close(conn);
                    }
                }
                State::Leaving { conn, until_ns } => {
                    if until_ns > now_ns {
                        next_ns = next_ns.min(until_ns);
                    } else {
                        lane.state = State::Dropped;
                        cx.close(conn);
                    }
                }
                State::Waiting { retry_ns } => {
                    if retry_ns > now_ns {
                        next_ns = next_ns.min(retry_ns);
                    } else if reconnects {
                        self.connect(index, cx);
                    } else {
                        lane.state = State::Resting;
                    }
                }
                State::Resting | State::Connecting { .. } | State::Dropped => {}
            }
        }
        self.scanned_ns = now_ns;
        self.scan_at_ns = next_ns.max(now_ns + self.scan_step_ns());
        self.finish_if_over(cx);
    }

    /// The requests of this connection that are too old have timed out, each recorded at its age; the younger ones behind them
    /// lose their connection.
    fn time_out(&mut self, index: usize, now_ns: u64) {
        let timeout_ns = self.shared.plan.timeout_ns;
        while let Some(&flight) = self.lanes[index].sent.front() {
            if flight.sent_ns + timeout_ns > now_ns {
                break;
            }
            let Some((_, which)) = self.take_first(index) else { break };
            self.measure.timed_out(flight, now_ns);
            self.measure.tally(flight.due_ns).sample(Outcome::Timeout, || {
                let text = format!("no complete answer within {} ms", timeout_ns as f64 / 1e6);
                Self::named(&self.shared, which, text)
            });
            if let Some(record) = self.record(which, flight.due_ns) {
                record.failed(Outcome::Timeout, Some(now_ns.saturating_sub(flight.due_ns)));
            }
        }
        self.fail_rest(index, Outcome::Reset, || {
            "its connection was dropped because an earlier pipelined request timed out".into()
        });
        self.lanes[index].state = State::Dropped;
    }
}
