//! What was measured of one of several requests, beside the whole. All memory is taken at the start.

use results::{Histogram, Outcome, Requests};

use crate::statuses::Statuses;

/// The measured part of one request on one shard, or of several together.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// Sent, and what became of them; planned is sent here, because what was never sent was nobody's turn.
    pub(crate) requests: Requests,
    /// As the whole's: from due, in closed loop from sent, until done or timed out.
    pub(crate) latency: Histogram,
    /// Answers by status.
    pub(crate) statuses: Statuses,
    /// Body bytes of answers.
    pub(crate) body_bytes: u64,
}

impl Record {
    #[inline]
    pub(crate) fn sent(&mut self) {
        self.requests.planned += 1;
        self.requests.sent += 1;
    }

    #[inline]
    pub(crate) fn answered(&mut self, outcome: Outcome, latency_ns: u64, status: Option<u16>, body_bytes: u64) {
        self.requests.add(outcome, 1);
        self.latency.record(latency_ns);
        self.body_bytes += body_bytes;
        if let Some(status) = status {
            self.statuses.add(status);
        }
    }

    /// Ended without an answer, `latency_ns` after it was due where that counts as a latency.
    pub(crate) fn failed(&mut self, outcome: Outcome, latency_ns: Option<u64>) {
        self.requests.add(outcome, 1);
        if let Some(latency_ns) = latency_ns {
            self.latency.record(latency_ns);
        }
    }

    pub(crate) fn merge(&mut self, other: Record) {
        self.requests.merge(&other.requests);
        self.latency.merge(&other.latency);
        self.statuses.merge(other.statuses);
        self.body_bytes += other.body_bytes;
    }
}
