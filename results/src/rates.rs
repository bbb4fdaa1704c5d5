//! Requests per second, four ways.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::requests::Requests;

/// Rates over the measured part of the run. Null when that part has no length.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Rates {
    /// Planned requests per second.
    pub planned_per_s: Option<f64>,
    /// Sent requests per second.
    pub sent_per_s: Option<f64>,
    /// Complete answers per second, good or bad.
    pub done_per_s: Option<f64>,
    /// Successful answers per second: the headline.
    pub ok_per_s: Option<f64>,
}

impl Rates {
    /// The rates of these counts over `elapsed_ns`.
    #[must_use]
    pub fn of(requests: &Requests, elapsed_ns: u64) -> Self {
        Self {
            planned_per_s: per_second(requests.planned, elapsed_ns),
            sent_per_s: per_second(requests.sent, elapsed_ns),
            done_per_s: per_second(requests.done(), elapsed_ns),
            ok_per_s: per_second(requests.ok, elapsed_ns),
        }
    }
}

/// `count` per second over `elapsed_ns`, to a thousandth so that files are stable; `None` when no time has passed.
#[must_use]
pub fn per_second(count: u64, elapsed_ns: u64) -> Option<f64> {
    if elapsed_ns == 0 {
        return None;
    }
    let thousandths = (u128::from(count) * 1_000_000_000_000 + u128::from(elapsed_ns) / 2) / u128::from(elapsed_ns);
    Some(thousandths as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_counts() {
        let requests =
            Requests { planned: 10, sent: 9, ok: 5, bad_status: 2, reset: 2, not_sent: 1, ..Requests::default() };
        let rates = Rates::of(&requests, 2_000_000_000);
        assert_eq!(
            rates,
            Rates { planned_per_s: Some(5.0), sent_per_s: Some(4.5), done_per_s: Some(3.5), ok_per_s: Some(2.5) }
        );
        assert_eq!(Rates::of(&requests, 0), Rates::default());
        assert_eq!(per_second(u64::MAX, 1).map(f64::is_finite), Some(true));
    }
}
