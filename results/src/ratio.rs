//! The ratio of two things measured in interleaved pairs, with its interval.
//!
//! Each pair gives one log ratio; slow drift of the machine cancels within a pair. The interval is Student's over the mean of
//! the logs, so it is multiplicative, and the same for A/B as for B/A turned upside down.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// z of a two-sided 95 % interval.
const Z: f64 = 1.959_963_985;

/// A ratio and the interval it lies in with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairedRatio {
    /// Pairs it was made from.
    pub pairs: u64,
    /// Geometric mean of the ratios.
    pub ratio: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl PairedRatio {
    /// The ratio `a / b` over pairs; `None` for fewer than three, or when a value is not a positive number.
    #[must_use]
    pub fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        let usable = |value: f64| value.is_finite() && value > 0.0;
        if pairs.len() < 3 || !pairs.iter().all(|(a, b)| usable(*a) && usable(*b)) {
            return None;
        }
        let logs: Vec<f64> = pairs.iter().map(|(a, b)| (a / b).ln()).collect();
        let n = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / n;
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let half = student(n - 1.0) * (variance / n).sqrt();
        Some(Self { pairs: pairs.len() as u64, ratio: mean.exp(), low: (mean - half).exp(), high: (mean + half).exp() })
    }

    /// The ratio over the rounds that both sides were measured in, by the number of the round; `None` as with [`PairedRatio::of`].
    #[must_use]
    pub fn of_rounds(ours: &BTreeMap<u32, f64>, base: &BTreeMap<u32, f64>) -> Option<Self> {
        let pairs: Vec<(f64, f64)> =
            ours.iter().filter_map(|(round, value)| Some((*value, *base.get(round)?))).collect();
        Self::of(&pairs)
    }

    /// The same to a ten-thousandth, so that files are stable.
    #[must_use]
    pub fn rounded(self) -> Self {
        let round = |value: f64| (value * 10_000.0).round() / 10_000.0;
        Self { ratio: round(self.ratio), low: round(self.low), high: round(self.high), ..self }
    }

    /// Whether the interval allows a ratio of at most `bar`.
    #[must_use]
    pub fn allows_at_most(&self, bar: f64) -> bool {
        self.low <= bar
    }
}

/// The 97.5th percentile of Student's distribution: the normal one, corrected by the Cornish-Fisher expansion to third order.
pub(crate) fn student(freedom: f64) -> f64 {
    let [z3, z5, z7] = [3, 5, 7].map(|power| Z.powi(power));
    Z + (z3 + Z) / (4.0 * freedom)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * Z) / (96.0 * freedom.powi(2))
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * Z) / (384.0 * freedom.powi(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_is_as_in_the_tables() {
        for (freedom, value) in [(4.0, 2.776), (9.0, 2.262), (14.0, 2.145), (29.0, 2.045), (1000.0, 1.962)] {
            assert!((student(freedom) - value).abs() < 0.01, "{freedom}: {}", student(freedom));
        }
    }

    #[test]
    fn rounds_that_only_one_side_has_are_left_out() {
        let ours = (0..5).map(|round| (round, 2.0)).collect();
        let base = (2..9).map(|round| (round, 4.0)).collect();
        let ratio = PairedRatio::of_rounds(&ours, &base).expect("three rounds of both");
        assert_eq!((ratio.pairs, ratio.ratio), (3, 0.5));
        assert_eq!(PairedRatio::of_rounds(&ours, &BTreeMap::new()), None);
    }

    #[test]
    fn drift_within_the_run_cancels() {
        // The machine becomes three times slower under way; B always takes a tenth more.
        let pairs: Vec<(f64, f64)> = (0..15).map(|i| 1.0 + f64::from(i) * 0.2).map(|a| (a, a * 1.1)).collect();
        let ratio = PairedRatio::of(&pairs).expect("fifteen pairs");
        assert!((ratio.ratio - 1.0 / 1.1).abs() < 1e-12 && ratio.high - ratio.low < 1e-9, "{ratio:?}");
    }

    #[test]
    fn noise_widens_the_interval_and_turning_it_round_mirrors_it() {
        let pairs: Vec<(f64, f64)> = (0..16).map(|i| (if i % 2 == 0 { 1.1 } else { 0.9 }, 1.0)).collect();
        let ratio = PairedRatio::of(&pairs).expect("sixteen pairs");
        assert!(ratio.low < 1.0 && ratio.high > 1.0, "{ratio:?}");
        let turned: Vec<(f64, f64)> = pairs.iter().map(|(a, b)| (*b, *a)).collect();
        let turned = PairedRatio::of(&turned).expect("sixteen pairs");
        assert!((turned.low * ratio.high - 1.0).abs() < 1e-12);
        assert!(ratio.allows_at_most(1.0) && !ratio.allows_at_most(0.9));
    }

    #[test]
    fn too_little_or_impossible_is_none() {
        assert_eq!(PairedRatio::of(&[(1.0, 1.0), (1.0, 1.0)]), None);
        assert_eq!(PairedRatio::of(&[(1.0, 1.0), (1.0, 0.0), (1.0, 1.0)]), None);
        assert_eq!(PairedRatio::of(&[(1.0, f64::NAN); 5]), None);
    }
}
