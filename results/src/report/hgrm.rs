//! A latency distribution as HdrHistogram's percentile text, values in milliseconds, as its plotter and other tools read it.
//!
//! Source: HdrHistogram 2.2 for Java, `AbstractHistogram.outputPercentileDistribution`.

use std::fmt::Write as _;

use crate::histogram::{Histogram, HistogramError};
use crate::run::Run;

/// Steps per halving of the distance to 100 %, the usual number.
const TICKS: u32 = 5;

/// Nanoseconds in one printed unit.
const MS: f64 = 1e6;

/// The latencies of all these runs as one distribution.
///
/// # Errors
/// [`HistogramError`] when a stored histogram is broken.
pub fn merged<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Result<Histogram, HistogramError> {
    let mut all = Histogram::new();
    for run in runs {
        all.merge(&run.latency.histogram()?);
    }
    Ok(all)
}

/// The distribution's text. Six decimals, so that nanoseconds are kept; three is what others print.
#[must_use]
pub fn text(histogram: &Histogram) -> String {
    let inner = histogram.inner();
    let mut out = String::new();
    let mut line = |text: std::fmt::Arguments<'_>| writeln!(out, "{text}").expect("writing to a String cannot fail");
    line(format_args!("{:>12} {:>14} {:>10} {:>14}\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)"));
    let mut total: u64 = 0;
    for value in inner.iter_quantiles(TICKS).filter(|_| !histogram.is_empty()) {
        total = total.saturating_add(value.count_since_last_iteration());
        let (value_ms, quantile) = (value.value_iterated_to() as f64 / MS, value.quantile_iterated_to());
        let rest = 1.0 - quantile;
        if rest > 0.0 {
            line(format_args!("{value_ms:12.6} {quantile:.12} {total:10} {:14.2}", 1.0 / rest));
        } else {
            line(format_args!("{value_ms:12.6} {quantile:.12} {total:10}"));
        }
    }
    line(format_args!("#[Mean    = {:12.6}, StdDeviation   = {:12.6}]", inner.mean() / MS, inner.stdev() / MS));
    let (max_ms, count) = (if histogram.is_empty() { 0.0 } else { inner.max() as f64 / MS }, histogram.count());
    line(format_args!("#[Max     = {max_ms:12.6}, Total count    = {count:12}]"));
    let (buckets, sub_buckets) = shape(inner.high(), inner.sigfig());
    line(format_args!("#[Buckets = {buckets:12}, SubBuckets     = {sub_buckets:12}]"));
    out
}

/// How many halves of ever wider steps, and steps in each, such a histogram has when its smallest step is 1.
fn shape(high: u64, digits: u8) -> (u32, u64) {
    let sub_buckets = (2 * 10_u64.saturating_pow(u32::from(digits))).next_power_of_two();
    let (mut buckets, mut reach) = (1, sub_buckets);
    while reach <= high && reach < u64::MAX / 2 {
        reach *= 2;
        buckets += 1;
    }
    (buckets, sub_buckets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_counts_what_lies_at_or_below_it_and_the_last_is_all() {
        let mut histogram = Histogram::new();
        (1..=10_000).for_each(|us| histogram.record(us * 1000));
        let text = text(&histogram);
        let rows: Vec<Vec<f64>> = text
            .lines()
            .skip(2)
            .take_while(|line| !line.starts_with('#'))
            .map(|line| line.split_whitespace().map(|word| word.parse().expect("a number")).collect())
            .collect();
        for row in &rows {
            let at_or_below = histogram.inner().count_between(0, (row[0] * 1e6).round() as u64);
            assert_eq!(at_or_below as f64, row[2], "{row:?}");
        }
        assert!(rows.windows(2).all(|pair| pair[0][0] <= pair[1][0] && pair[0][1] < pair[1][1]));
        let last = rows.last().expect("rows");
        assert_eq!((last.len(), last[1], last[2]), (3, 1.0, 10_000.0));
    }

    #[test]
    fn nothing_recorded_has_no_rows() {
        let text = text(&Histogram::new());
        assert_eq!(text.lines().filter(|line| !line.starts_with('#')).count(), 2, "{text}");
    }
}
