//! The timeline of a run: connecting, warm-up, measured, draining, done. A request belongs to the phase in which it was sent,
//! whenever it ends.
//!
//! All shards share one start instant, set once every connection is open. Each keeps its own copy of the timeline, so that no
//! shared memory is touched on the way of a request.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};

use engine::Address;

use crate::plan::{Length, LoadPlan};

/// A time that has not been decided.
const UNDECIDED: u64 = u64::MAX;

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Connections are being made; nothing is sent.
    Connecting,
    /// Requests are sent and excluded from every figure.
    Warmup,
    /// Requests are sent and measured.
    Measured,
    /// Nothing new is sent; what is under way is waited for.
    Draining,
    /// Over.
    Done,
}

/// The instants between the phases, in `CLOCK_MONOTONIC` nanoseconds; `u64::MAX` where undecided or open-ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeline {
    /// The warm-up begins.
    pub start_ns: u64,
    /// The measured part begins.
    pub measure_from_ns: u64,
    /// The measured part ends, and with it all sending.
    pub until_ns: u64,
    /// What has not come back is unfinished.
    pub drain_until_ns: u64,
}

impl Default for Timeline {
    fn default() -> Self {
        Timeline { start_ns: UNDECIDED, measure_from_ns: UNDECIDED, until_ns: UNDECIDED, drain_until_ns: UNDECIDED }
    }
}

impl Timeline {
    /// The timeline of a plan that starts at `start_ns`. A run bounded by requests has no end until they have their outcomes.
    pub fn of(plan: &LoadPlan, start_ns: u64) -> Self {
        let measure_from_ns = start_ns + plan.warmup_ns();
        let until_ns = match plan.length {
            Length::Time { duration_ns } => measure_from_ns + duration_ns,
            Length::Requests { .. } => UNDECIDED,
        };
        Timeline { start_ns, measure_from_ns, until_ns, drain_until_ns: until_ns.saturating_add(plan.drain_ns()) }
    }

    /// Whether requests may be sent.
    #[inline]
    pub fn sends(&self, now_ns: u64) -> bool {
        self.start_ns <= now_ns && now_ns < self.until_ns
    }

    /// The phase at this time.
    pub fn phase(&self, now_ns: u64) -> Phase {
        match now_ns {
            now if now >= self.drain_until_ns => Phase::Done,
            now if now >= self.until_ns => Phase::Draining,
            now if now >= self.measure_from_ns => Phase::Measured,
            now if now >= self.start_ns => Phase::Warmup,
            _ => Phase::Connecting,
        }
    }

    /// Ends the sending no later than at `at_ns`.
    pub fn cut(&mut self, at_ns: u64, drain_ns: u64) {
        if at_ns < self.until_ns {
            self.until_ns = at_ns;
            self.drain_until_ns = self.drain_until_ns.min(at_ns.saturating_add(drain_ns));
        }
    }

    /// The next instant after `now_ns`; `u64::MAX` for none.
    pub(crate) fn next_after(&self, now_ns: u64) -> u64 {
        let edges = [self.start_ns, self.measure_from_ns, self.until_ns, self.drain_until_ns];
        edges.into_iter().filter(|edge| *edge > now_ns).min().unwrap_or(UNDECIDED)
    }
}

/// The first connection that could not be made.
#[derive(Debug, Clone)]
pub struct ConnectFailure {
    /// Where to.
    pub address: Address,
    /// What the system said.
    pub errno: Option<i32>,
    /// The same in words.
    pub message: String,
}

/// What the shards and the thread that watches them tell each other. Touched when connections open and close, never per request.
#[derive(Debug)]
pub struct Gate {
    start_ns: AtomicU64,
    stop_ns: AtomicU64,
    open: AtomicUsize,
    reached: AtomicUsize,
    refused: AtomicUsize,
    hopeless: AtomicBool,
    failure: Mutex<Option<ConnectFailure>>,
}

impl Default for Gate {
    fn default() -> Self {
        Gate {
            start_ns: AtomicU64::new(UNDECIDED),
            stop_ns: AtomicU64::new(UNDECIDED),
            open: AtomicUsize::new(0),
            reached: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
            hopeless: AtomicBool::new(false),
            failure: Mutex::new(None),
        }
    }
}

impl Gate {
    /// Sets the common start.
    pub fn start_at(&self, start_ns: u64) {
        self.start_ns.store(start_ns, Ordering::Release);
    }

    /// The common start, once set.
    pub fn start_ns(&self) -> Option<u64> {
        let start_ns = self.start_ns.load(Ordering::Acquire);
        (start_ns != UNDECIDED).then_some(start_ns)
    }

    /// Sets the instant at which the user stopped the run; shards read it when they are told to drain.
    pub fn stop_at(&self, stop_ns: u64) {
        self.stop_ns.store(stop_ns, Ordering::Release);
    }

    pub(crate) fn stop_ns(&self) -> u64 {
        self.stop_ns.load(Ordering::Acquire)
    }

    /// Connections open now.
    pub fn open(&self) -> usize {
        self.open.load(Ordering::Acquire)
    }

    /// Connections of the plan that have been open at least once.
    pub fn reached(&self) -> usize {
        self.reached.load(Ordering::Acquire)
    }

    /// Connections of the plan that were tried at every address and have failed at least once.
    pub fn refused(&self) -> usize {
        self.refused.load(Ordering::Acquire)
    }

    /// Whether a failure was of a kind that no retry mends: no local port or descriptor left.
    pub fn is_hopeless(&self) -> bool {
        self.hopeless.load(Ordering::Acquire)
    }

    /// The first failure to connect.
    pub fn failure(&self) -> Option<ConnectFailure> {
        self.failure.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    pub(crate) fn opened(&self, first: bool) {
        self.open.fetch_add(1, Ordering::AcqRel);
        if first {
            self.reached.fetch_add(1, Ordering::AcqRel);
        }
    }

    pub(crate) fn closed(&self) {
        self.open.fetch_sub(1, Ordering::AcqRel);
    }

    pub(crate) fn was_refused(&self) {
        self.refused.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn failed(&self, hopeless: bool, failure: impl FnOnce() -> ConnectFailure) {
        let mut first = self.failure.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // A hopeless failure explains the end better than whatever came before it.
        if first.is_none() || (hopeless && !self.is_hopeless()) {
            *first = Some(failure());
        }
        drop(first);
        if hopeless {
            self.hopeless.store(true, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Target;

    fn plan(length: Length) -> LoadPlan {
        let target = Target::parse("http://127.0.0.1/").expect("a URL");
        LoadPlan { length, warmup_ns: Some(10), timeout_ns: 5, ..LoadPlan::new(target) }
    }

    #[test]
    fn phases_follow_each_other() {
        let times = Timeline::of(&plan(Length::Time { duration_ns: 100 }), 1000);
        let table = [
            (999, Phase::Connecting, false),
            (1000, Phase::Warmup, true),
            (1010, Phase::Measured, true),
            (1109, Phase::Measured, true),
            (1110, Phase::Draining, false),
            (1115, Phase::Done, false),
        ];
        for (now, phase, sends) in table {
            assert_eq!((times.phase(now), times.sends(now)), (phase, sends), "{now}");
        }
        assert_eq!([0, 1000, 1010, 1110, 1115].map(|now| times.next_after(now)), [1000, 1010, 1110, 1115, u64::MAX]);
    }

    #[test]
    fn a_counted_run_is_open_ended_and_a_stop_ends_any() {
        let mut times = Timeline::of(&plan(Length::Requests { total: 3 }), 1000);
        assert_eq!(times.phase(u64::MAX - 1), Phase::Measured);
        times.cut(1200, 7);
        assert_eq!((times.until_ns, times.drain_until_ns), (1200, 1207));
        times.cut(1300, 7);
        assert_eq!(times.until_ns, 1200);
        let mut undecided = Timeline::default();
        assert_eq!(undecided.phase(u64::MAX - 1), Phase::Connecting);
        undecided.cut(5, 7);
        assert!(!undecided.sends(6));
    }
}
