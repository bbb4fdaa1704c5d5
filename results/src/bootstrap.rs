//! The interval of a ratio of two means, by resampling with a fixed seed.

use crate::limits::RESAMPLES;
use crate::ratio::student;

/// Where resampling starts. Any number does; a fixed one makes the same files give the same interval.
const SEED: u64 = 0x007a_6170_7269_6e67;

/// A 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The interval of `mean(new) / mean(base)`. Both sides must hold at least two positive numbers, else it is all that is possible.
#[must_use]
pub fn ratio_of_means(base: &[f64], new: &[f64]) -> Interval {
    if base.len() < 2 || new.len() < 2 {
        return Interval { low: 0.0, high: f64::INFINITY };
    }
    let mut chance = SplitMix { state: SEED };
    let mut ratios: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let base = chance.resampled_mean(base);
            chance.resampled_mean(new) / base
        })
        .collect();
    within(&mut ratios, base.len().min(new.len()))
}

/// The ratio `new / base` over pairs that were measured one right after the other, and its interval: the geometric mean, from resamples of
/// whole pairs, so that what drifts on the host from pair to pair cancels. It takes two pairs of positive numbers, else the interval is all
/// that is possible.
#[must_use]
pub fn ratio_of_pairs(pairs: &[(f64, f64)]) -> (f64, Interval) {
    let logs: Vec<f64> = pairs.iter().map(|(base, new)| (new / base).ln()).collect();
    let ratio = (logs.iter().sum::<f64>() / logs.len().max(1) as f64).exp();
    if logs.len() < 2 || !ratio.is_finite() {
        return (ratio, Interval { low: 0.0, high: f64::INFINITY });
    }
    let mut chance = SplitMix { state: SEED };
    let mut ratios: Vec<f64> = (0..RESAMPLES).map(|_| chance.resampled_mean(&logs).exp()).collect();
    (ratio, within(&mut ratios, logs.len()))
}

/// What lies between the tails of resampled ratios of `n` values.
fn within(ratios: &mut [f64], n: usize) -> Interval {
    ratios.sort_by(f64::total_cmp);
    let last = RESAMPLES - 1;
    let below = ((tail(n as f64) * RESAMPLES as f64).floor() as usize).min(last);
    Interval { low: ratios[below], high: ratios[last - below] }
}

/// The share cut off on each side for `n` runs: what the normal distribution has beyond Student's percentile, that in turn made wider
/// by the bias of a resample's variance.
fn tail(n: f64) -> f64 {
    let reach = (n / (n - 1.0)).sqrt() * student(n - 1.0);
    1.0 - normal(reach)
}

/// The normal distribution up to a positive `z`: Abramowitz and Stegun, 26.2.17, off by less than 7.5e-8.
fn normal(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let factors = [1.330_274_429, -1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_530];
    let polynomial = factors.into_iter().fold(0.0, |sum, factor| (sum + factor) * t);
    1.0 - (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * polynomial
}

/// Steele, Lea and Flood's generator: small, and good enough to pick runs.
struct SplitMix {
    state: u64,
}

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// The mean of as many values as there are, each picked anew.
    fn resampled_mean(&mut self, values: &[f64]) -> f64 {
        let sum: f64 =
            (0..values.len()).map(|_| values[((u128::from(self.next()) * values.len() as u128) >> 64) as usize]).sum();
        sum / values.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_distribution_is_as_in_the_tables() {
        for (z, value) in [(0.0, 0.5), (1.0, 0.841_345), (1.96, 0.975_002), (3.0, 0.998_650)] {
            assert!((normal(z) - value).abs() < 1e-6, "{z}: {}", normal(z));
        }
    }

    #[test]
    fn tails_are_cut_less_the_fewer_runs_there_are() {
        assert!((tail(5.0) - 0.000_96).abs() < 0.000_05, "{}", tail(5.0));
        assert!((tail(10_000.0) - 0.025).abs() < 0.000_1, "{}", tail(10_000.0));
    }

    #[test]
    fn the_same_values_give_the_same_interval_and_constants_give_a_point() {
        let (base, new) = ([9.0, 10.0, 11.0, 10.5, 9.5], [19.0, 20.0, 21.0, 20.5, 19.5]);
        assert_eq!(ratio_of_means(&base, &new), ratio_of_means(&base, &new));
        let interval = ratio_of_means(&base, &new);
        assert!(interval.low > 1.7 && interval.low < 2.0 && interval.high > 2.0 && interval.high < 2.3, "{interval:?}");
        let (ratio, paired) = ratio_of_pairs(&[(1.0, 2.0), (5.0, 10.0), (3.0, 6.1), (2.0, 3.9), (9.0, 18.0)]);
        assert!((ratio - 2.0).abs() < 0.01 && paired.low > 1.94 && paired.high < 2.04, "{ratio} {paired:?}");
        assert_eq!(ratio_of_pairs(&[(1.0, 2.0)]).1.high, f64::INFINITY);
        let point = ratio_of_means(&[4.0; 5], &[2.0; 7]);
        assert_eq!((point.low, point.high), (0.5, 0.5));
        assert_eq!(ratio_of_means(&[], &[1.0]).high, f64::INFINITY);
    }
}
