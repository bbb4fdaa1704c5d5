//! What one shard measured. All memory is taken at the start; recording an expected answer allocates nothing.

use std::collections::BTreeMap;

use engine::{Board, ShardFigures};
use results::{Histogram, Outcome, SeriesRow, limits::LATE_NS};

use crate::{lane::Flight, outcome::Tally, plan::Length, series::Series, statuses::Statuses};

/// Counters of a shard at one edge of the measured part.
#[derive(Debug, Clone, Copy)]
pub struct Edge {
    /// When it was taken.
    pub at_ns: u64,
    /// CPU time of the shard's thread until then.
    pub cpu_ns: u64,
    /// What its engine had counted.
    pub figures: ShardFigures,
}

impl Edge {
    pub(crate) fn take(board: &Board, shard: usize, at_ns: u64) -> Self {
        Edge { at_ns, cpu_ns: engine::thread_cpu_ns(), figures: board.shard(shard).read() }
    }
}

/// What is recorded of an open loop besides its latency.
#[derive(Debug)]
pub struct Paced {
    /// Sent until done, or until timed out.
    pub service_time: Histogram,
    /// Due until a connection had room.
    pub conn_wait: Histogram,
    /// The later of the two until sent: the loader's own fault.
    pub send_lag: Histogram,
    /// Requests sent more than [`LATE_NS`] after they were due.
    pub late: u64,
}

impl Default for Paced {
    fn default() -> Self {
        Paced { service_time: Histogram::new(), conn_wait: Histogram::new(), send_lag: Histogram::new(), late: 0 }
    }
}

/// The record of one shard.
#[derive(Debug)]
pub struct Measure {
    /// Requests due from then on are measured, earlier ones are warm-up; in closed loop they are due when they are sent. `u64::MAX`
    /// until the start is known.
    from_ns: u64,
    /// Due until done, or until timed out.
    pub latency: Histogram,
    /// What an open loop has besides; `None` in closed loop.
    pub paced: Option<Box<Paced>>,
    /// Asked for until open, of every connection made.
    pub connect: Histogram,
    /// Outcomes of the warm-up.
    pub warmup: Tally,
    /// Outcomes of the measured part.
    pub measured: Tally,
    /// The measured part over time; see [`Measure::over_time`].
    pub(crate) series: Series,
    /// Body bytes of measured answers.
    pub body_bytes: u64,
    /// Connections made again since the measured part began.
    pub reconnects: u64,
    /// The edge at which the measured part began.
    pub begin: Option<Edge>,
    /// The edge at which it ended.
    pub end: Option<Edge>,
    pub(crate) statuses: Statuses,
}

impl Measure {
    /// For a run of this length.
    pub(crate) fn new(length: Length) -> Self {
        Self {
            from_ns: u64::MAX,
            latency: Histogram::new(),
            paced: None,
            connect: Histogram::new(),
            warmup: Tally::default(),
            measured: Tally::default(),
            series: Series::new(length),
            body_bytes: 0,
            reconnects: 0,
            begin: None,
            end: None,
            statuses: Statuses::default(),
        }
    }

    /// The measured part is known.
    pub(crate) fn starts_at(&mut self, from_ns: u64, until_ns: u64) {
        self.from_ns = from_ns;
        self.series.starts_at(from_ns, until_ns);
    }

    /// The time has come to here: what ends from now on belongs to this second.
    #[inline]
    pub(crate) fn clock(&mut self, now_ns: u64) {
        if self.series.is_over(now_ns) {
            self.series.turn(now_ns, &self.measured.requests);
        }
    }

    /// Every request has its outcome.
    pub(crate) fn settled(&mut self, now_ns: u64) {
        self.series.end(now_ns, &self.measured.requests);
    }

    /// Records an open loop from now on.
    pub(crate) fn pace(&mut self) {
        self.paced = Some(Box::default());
    }

    /// Whether something due (or begun) at `at_ns` is measured.
    #[inline]
    pub(crate) fn is_measured(&self, at_ns: u64) -> bool {
        at_ns >= self.from_ns
    }

    /// The tally for requests due at `due_ns`.
    #[inline]
    pub(crate) fn tally(&mut self, due_ns: u64) -> &mut Tally {
        if due_ns >= self.from_ns { &mut self.measured } else { &mut self.warmup }
    }

    /// Open loop: a request is sent now, on a connection that has had room since `free_since_ns`.
    #[inline]
    pub(crate) fn sent_due(&mut self, flight: Flight, free_since_ns: u64) {
        let Flight { due_ns, sent_ns } = flight;
        self.tally(due_ns).sent(1);
        if due_ns < self.from_ns {
            return;
        }
        if let Some(paced) = &mut self.paced {
            paced.conn_wait.record(free_since_ns.saturating_sub(due_ns));
            paced.send_lag.record(sent_ns.saturating_sub(due_ns.max(free_since_ns)));
            paced.late += u64::from(sent_ns.saturating_sub(due_ns) > LATE_NS);
        }
    }

    /// A complete answer to a request, with its status where its wire has one.
    #[inline]
    pub(crate) fn answered(
        &mut self,
        flight: Flight,
        now_ns: u64,
        outcome: Outcome,
        status: Option<u16>,
        body_bytes: u64,
    ) {
        if flight.due_ns < self.from_ns {
            self.warmup.ended(outcome, 1);
            return;
        }
        self.measured.ended(outcome, 1);
        self.record(flight, now_ns);
        self.body_bytes += body_bytes;
        if let Some(status) = status {
            self.statuses.add(status);
        }
    }

    #[inline]
    fn record(&mut self, flight: Flight, now_ns: u64) {
        let latency_ns = now_ns.saturating_sub(flight.due_ns);
        self.latency.record(latency_ns);
        self.series.record(latency_ns);
        if let Some(paced) = &mut self.paced {
            paced.service_time.record(now_ns.saturating_sub(flight.sent_ns));
        }
    }

    /// A request that timed out at this age.
    pub(crate) fn timed_out(&mut self, flight: Flight, now_ns: u64) {
        if self.is_measured(flight.due_ns) {
            self.record(flight, now_ns);
        }
        self.tally(flight.due_ns).ended(Outcome::Timeout, 1);
    }

    /// Adds another shard's record. The edges stay this one's.
    pub fn merge(&mut self, other: Measure) {
        self.latency.merge(&other.latency);
        if let (Some(ours), Some(theirs)) = (&mut self.paced, &other.paced) {
            ours.service_time.merge(&theirs.service_time);
            ours.conn_wait.merge(&theirs.conn_wait);
            ours.send_lag.merge(&theirs.send_lag);
            ours.late += theirs.late;
        } else if self.paced.is_none() {
            self.paced = other.paced;
        }
        self.connect.merge(&other.connect);
        self.warmup.merge(other.warmup);
        self.measured.merge(other.measured);
        self.series.merge(other.series);
        self.body_bytes += other.body_bytes;
        self.reconnects += other.reconnects;
        self.statuses.merge(other.statuses);
    }

    /// The measured part of `elapsed_ns` over time, and what ended after it.
    pub fn over_time(&self, elapsed_ns: u64) -> Vec<SeriesRow> {
        self.series.rows(elapsed_ns)
    }

    /// Measured answers by exact status.
    pub fn status_codes(&self) -> BTreeMap<u16, u64> {
        self.statuses.counts()
    }
}
