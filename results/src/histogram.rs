//! One latency distribution being recorded: an HdrHistogram with fixed bounds, its merging and its interchange form.

use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};

use crate::limits::{HISTOGRAM_DIGITS, HISTOGRAM_HIGH_NS, HISTOGRAM_LOW_NS};

/// A histogram of nanoseconds, 1 ns to one hour, three significant digits. All memory (about 270 KiB) is taken by `new`; recording
/// never allocates.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    inner: hdrhistogram::Histogram<u64>,
}

/// A stored histogram could not be decoded.
#[derive(Debug, thiserror::Error)]
pub enum HistogramError {
    /// Not base64.
    #[error("histogram_v2 is not base64: {0}")]
    NotBase64(#[from] base64::DecodeError),
    /// Not an HdrHistogram.
    #[error("histogram_v2 does not hold an HdrHistogram in V2 form: {0:?}")]
    NotV2(hdrhistogram::serialization::DeserializeError),
}

impl Histogram {
    /// An empty histogram.
    #[must_use]
    pub fn new() -> Self {
        let inner = hdrhistogram::Histogram::new_with_bounds(HISTOGRAM_LOW_NS, HISTOGRAM_HIGH_NS, HISTOGRAM_DIGITS)
            .expect("the bounds in limits.rs are valid: low is at least 1, high at least twice low, digits at most 5");
        Self { inner }
    }

    /// Counts one latency in nanoseconds. Below 1 ns counts as 1, above one hour as one hour.
    pub fn record(&mut self, latency_ns: u64) {
        self.inner.saturating_record(latency_ns.clamp(HISTOGRAM_LOW_NS, HISTOGRAM_HIGH_NS));
    }

    /// Counts `n` times the same latency.
    pub fn record_n(&mut self, latency_ns: u64, n: u64) {
        self.inner.saturating_record_n(latency_ns.clamp(HISTOGRAM_LOW_NS, HISTOGRAM_HIGH_NS), n);
    }

    /// Adds all samples of another histogram.
    pub fn merge(&mut self, other: &Self) {
        self.inner
            .add(&other.inner)
            .expect("every value of a histogram with equal bounds, or a decoded one within them, fits");
    }

    /// Forgets all samples and keeps the memory.
    pub fn clear(&mut self) {
        self.inner.reset();
    }

    /// Number of samples.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.inner.len()
    }

    /// Whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    /// The counting histogram itself, for reports.
    #[must_use]
    pub const fn inner(&self) -> &hdrhistogram::Histogram<u64> {
        &self.inner
    }

    /// The V2 compressed interchange form in base64, as HdrHistogram libraries of other languages read it.
    #[must_use]
    pub fn to_v2_base64(&self) -> String {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.inner, &mut bytes)
            .expect("writing to memory cannot fail and the array is far below 4 GiB");
        STANDARD.encode(bytes)
    }

    /// Decodes what [`Histogram::to_v2_base64`] wrote (V2, compressed or not), keeping the samples within our bounds.
    ///
    /// # Errors
    /// [`HistogramError`] when the text is not base64 or holds something else.
    pub fn from_v2_base64(text: &str) -> Result<Self, HistogramError> {
        let bytes = STANDARD.decode(text)?;
        let decoded: hdrhistogram::Histogram<u64> =
            Deserializer::new().deserialize(&mut Cursor::new(bytes)).map_err(HistogramError::NotV2)?;
        let mut histogram = Self::new();
        for value in decoded.iter_recorded() {
            histogram.record_n(value.value_iterated_to(), value.count_at_value());
        }
        Ok(histogram)
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v2_round_trip() {
        let mut histogram = Histogram::new();
        for step in 0..5000_u64 {
            histogram.record(1 + step * step * 977);
        }
        histogram.record_n(80_000, 12);
        let decoded = Histogram::from_v2_base64(&histogram.to_v2_base64()).expect("what was encoded decodes");
        assert_eq!(decoded, histogram);
        let empty = Histogram::from_v2_base64(&Histogram::new().to_v2_base64()).expect("an empty one too");
        assert!(empty.is_empty());
    }

    #[test]
    fn merge_is_recording_into_one() {
        let (mut left, mut right, mut both) = (Histogram::new(), Histogram::new(), Histogram::new());
        for value in 1..1000 {
            let side = if value % 3 == 0 { &mut left } else { &mut right };
            side.record(value * 1013);
            both.record(value * 1013);
        }
        left.merge(&right);
        assert_eq!(left, both);
    }

    #[test]
    fn out_of_range_is_counted_at_the_bounds() {
        let mut histogram = Histogram::new();
        histogram.record(0);
        histogram.record(u64::MAX);
        assert_eq!((histogram.count(), histogram.inner().min()), (2, 1));
        assert!(histogram.inner().equivalent(histogram.inner().max(), HISTOGRAM_HIGH_NS));
    }

    #[test]
    fn keeps_three_digits_at_every_scale() {
        for exponent in 0..12 {
            let value = 1234 * 10_u64.pow(exponent) / 1000 + 1;
            let mut histogram = Histogram::new();
            histogram.record(value);
            let error = histogram.inner().max().abs_diff(value) as f64 / value as f64;
            assert!(error <= 0.001, "{value} came back {error} off");
        }
    }

    #[test]
    fn broken_text_is_named() {
        assert!(matches!(Histogram::from_v2_base64("%%"), Err(HistogramError::NotBase64(_))));
        assert!(matches!(Histogram::from_v2_base64("AAAA"), Err(HistogramError::NotV2(_))));
    }
}
