//! A run over time: what ended in each second of the measured part.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rates::per_second;

/// What ended in one step of the measured part, on all shards together. A percentile is null with fewer than ten samples above it, and is
/// the middle of its bucket: within 2 %. The largest is exact.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SeriesRow {
    /// From the beginning of the measured part to the beginning of this row, in seconds.
    pub second: u64,
    /// Its length: one second, or a power of two of them in a run of more seconds than [`crate::limits::MAX_SERIES_ROWS`]. The last row of
    /// the measured part is as long as there was time left.
    pub step_ns: u64,
    /// Requests that ended `ok` in it.
    pub ok: u64,
    /// Requests that ended in any other way in it.
    pub failed: u64,
    /// Median latency of the answered and of the timed out ones.
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// Largest.
    pub max_ns: Option<u64>,
    /// Not a part of the measured part: what ended after it, when nothing was sent any more. Such a row comes last, if at all; with it the
    /// rows add up to the outcomes of the run.
    pub drain: bool,
}

impl SeriesRow {
    /// Requests that ended `ok` per second; `None` for a row without length.
    #[must_use]
    pub fn ok_per_s(&self) -> Option<f64> {
        per_second(self.ok, self.step_ns)
    }

    /// Requests that failed per second; `None` for a row without length.
    #[must_use]
    pub fn failed_per_s(&self) -> Option<f64> {
        per_second(self.failed, self.step_ns)
    }

    /// The middle of the row, in seconds since the measured part began.
    #[must_use]
    pub fn middle_s(&self) -> f64 {
        self.second as f64 + self.step_ns as f64 / 2e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_row_has_its_own_rate_and_middle() {
        let row = SeriesRow { second: 4, step_ns: 500_000_000, ok: 100, failed: 5, ..SeriesRow::default() };
        assert_eq!((row.ok_per_s(), row.failed_per_s(), row.middle_s()), (Some(200.0), Some(10.0), 4.25));
        assert_eq!(SeriesRow::default().ok_per_s(), None);
    }
}
