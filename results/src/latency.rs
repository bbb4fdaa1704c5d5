//! One latency distribution as the run file keeps it: headline figures, and the histogram they came from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::histogram::{Histogram, HistogramError};
use crate::limits::MIN_SAMPLES_ABOVE;

/// Figures of one distribution. Null where there is no sample; a percentile is also null with fewer than ten samples above it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// Samples.
    pub count: u64,
    /// Smallest.
    pub min_ns: Option<u64>,
    /// Mean, rounded.
    pub mean_ns: Option<u64>,
    /// Standard deviation, rounded.
    pub stddev_ns: Option<u64>,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 90th percentile.
    pub p90_ns: Option<u64>,
    /// 95th percentile.
    pub p95_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile.
    pub p99_9_ns: Option<u64>,
    /// 99.99th percentile.
    pub p99_99_ns: Option<u64>,
    /// Largest.
    pub max_ns: Option<u64>,
    /// The whole distribution: HdrHistogram V2 (compressed), base64. Null without samples.
    #[schemars(extend("contentEncoding" = "base64"))]
    pub histogram_v2: Option<String>,
}

impl Distribution {
    /// The figures of a recorded histogram.
    #[must_use]
    pub fn of(histogram: &Histogram) -> Self {
        let inner = histogram.inner();
        if histogram.is_empty() {
            return Self::default();
        }
        Self {
            count: inner.len(),
            min_ns: Some(inner.min()),
            mean_ns: Some(inner.mean().round() as u64),
            stddev_ns: Some(inner.stdev().round() as u64),
            p50_ns: percentile(histogram, 50_000),
            p90_ns: percentile(histogram, 90_000),
            p95_ns: percentile(histogram, 95_000),
            p99_ns: percentile(histogram, 99_000),
            p99_9_ns: percentile(histogram, 99_900),
            p99_99_ns: percentile(histogram, 99_990),
            max_ns: Some(inner.max()),
            histogram_v2: Some(histogram.to_v2_base64()),
        }
    }

    /// The stored histogram, for merging and for figures not kept here. Empty when none is stored.
    ///
    /// # Errors
    /// [`HistogramError`] when the stored text is broken.
    pub fn histogram(&self) -> Result<Histogram, HistogramError> {
        match &self.histogram_v2 {
            Some(text) => Histogram::from_v2_base64(text),
            None => Ok(Histogram::new()),
        }
    }
}

/// The percentile, given in thousandths of a percent (99.9 % is 99,900), in nanoseconds; `None` with fewer than
/// [`MIN_SAMPLES_ABOVE`] samples above it.
#[must_use]
pub fn percentile(histogram: &Histogram, thousandths: u32) -> Option<u64> {
    let count = histogram.count();
    let at_or_below = (u128::from(count) * u128::from(thousandths)).div_ceil(100_000);
    let above = u128::from(count).saturating_sub(at_or_below);
    (above >= u128::from(MIN_SAMPLES_ABOVE))
        .then(|| histogram.inner().value_at_quantile(f64::from(thousandths) / 100_000.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_first(count: u64) -> Distribution {
        let mut histogram = Histogram::new();
        for value in 1..=count {
            histogram.record(value * 1000);
        }
        Distribution::of(&histogram)
    }

    #[test]
    fn a_percentile_needs_ten_samples_above_it() {
        let table = [(19, false, false), (20, true, false), (999, true, false), (1000, true, true)];
        for (count, p50, p99) in table {
            let distribution = of_first(count);
            assert_eq!((distribution.p50_ns.is_some(), distribution.p99_ns.is_some()), (p50, p99), "{count} samples");
        }
    }

    #[test]
    fn nothing_recorded_is_null_everywhere() {
        let value = serde_json::to_value(Distribution::of(&Histogram::new())).expect("plain fields");
        let object = value.as_object().expect("a struct is an object");
        assert!(object.iter().all(|(key, value)| key == "count" || value.is_null()));
    }

    #[test]
    fn figures_are_within_a_thousandth() {
        let distribution = of_first(100_000);
        let close = |got: Option<u64>, want: u64| got.is_some_and(|got| got.abs_diff(want) <= want / 1000);
        assert!(close(distribution.p50_ns, 50_000_000) && close(distribution.p99_9_ns, 99_900_000));
        assert!(close(distribution.mean_ns, 50_000_500) && close(distribution.max_ns, 100_000_000));
        let again = Distribution::of(&distribution.histogram().expect("its own histogram decodes"));
        assert_eq!(again, distribution);
    }
}
