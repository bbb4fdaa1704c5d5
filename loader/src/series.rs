//! What ended in each second of the measured part on one shard: counts, and a coarse histogram that the engine's time picks.
//!
//! All memory is taken at the start, and a page of it is touched in the second it belongs to. A request costs one more count; the outcomes of a
//! second are what the tally grew by in it.

use results::{
    Requests, SeriesRow,
    limits::{MAX_SERIES_ROWS, MIN_SAMPLES_ABOVE},
};

use crate::plan::Length;

/// The step of all runs that have few enough seconds, in nanoseconds.
const SECOND_NS: u64 = 1_000_000_000;

/// Resolution of the histograms below 2 us, in nanoseconds, as a power of two: 32.
const UNIT_BITS: u32 = 5;

/// Buckets for each doubling of the latency, as a power of two: with 32 a bucket is 3 % wide, and its middle within 2 % of all in it.
const SUB_BITS: u32 = 5;

/// Doublings from 32 ns to more than an hour.
const DOUBLINGS: u32 = 32;

/// Buckets of one row.
const BUCKETS: usize = ((DOUBLINGS + 1) as usize) << SUB_BITS;

/// The highest latency that has a bucket of its own, in units.
const MOST_UNITS: u64 = (1 << (DOUBLINGS + SUB_BITS)) - 1;

/// What ended in one step, but for the histogram.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    ok: u64,
    failed: u64,
    max_ns: u64,
}

/// The rows of one shard. The last one is for what ends after the measured part.
#[derive(Debug)]
pub(crate) struct Series {
    from_ns: u64,
    until_ns: u64,
    /// When nothing was waited for any more.
    ended_ns: u64,
    step_ns: u64,
    /// When the current row is over.
    next_ns: u64,
    current: usize,
    /// Where its histogram begins.
    base: usize,
    /// Its largest latency.
    max_ns: u64,
    rows: Vec<Row>,
    /// One histogram per row.
    counts: Vec<u64>,
    /// Outcomes until the current row began: `ok`, and all others.
    before: (u64, u64),
}

impl Series {
    /// For a run of this length. One bounded by requests has room for [`MAX_SERIES_ROWS`], and doubles its step whenever they are full.
    pub(crate) fn new(length: Length) -> Self {
        let (step_ns, rows) = match length {
            Length::Time { duration_ns } => {
                let mut step_ns = SECOND_NS;
                while duration_ns.div_ceil(step_ns) > MAX_SERIES_ROWS as u64 {
                    step_ns *= 2;
                }
                (step_ns, duration_ns.div_ceil(step_ns) as usize)
            }
            Length::Requests { .. } => (SECOND_NS, MAX_SERIES_ROWS),
        };
        Series {
            from_ns: u64::MAX,
            until_ns: u64::MAX,
            ended_ns: 0,
            step_ns,
            next_ns: u64::MAX,
            current: 0,
            base: 0,
            max_ns: 0,
            rows: vec![Row::default(); rows + 1],
            counts: vec![0; (rows + 1) * BUCKETS],
            before: (0, 0),
        }
    }

    /// The measured part is known.
    pub(crate) fn starts_at(&mut self, from_ns: u64, until_ns: u64) {
        (self.from_ns, self.until_ns, self.next_ns) = (from_ns, until_ns, from_ns);
    }

    /// The measured part ends then, if not before.
    pub(crate) fn cut(&mut self, until_ns: u64) {
        self.until_ns = self.until_ns.min(until_ns);
        self.next_ns = self.next_ns.min(self.until_ns);
    }

    /// Nothing is waited for any more.
    pub(crate) fn end(&mut self, now_ns: u64, outcomes: &Requests) {
        self.ended_ns = self.ended_ns.max(now_ns);
        self.settle(outcomes);
    }

    /// Whether the current row is over.
    #[inline]
    pub(crate) fn is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.next_ns
    }

    /// Goes on to the row of this time. `outcomes` are the shard's so far.
    #[cold]
    pub(crate) fn turn(&mut self, now_ns: u64, outcomes: &Requests) {
        self.settle(outcomes);
        let drain = self.rows.len() - 1;
        if now_ns >= self.until_ns {
            self.go_to(drain, u64::MAX);
            return;
        }
        let at = |step_ns| ((now_ns - self.from_ns) / step_ns) as usize;
        let mut step_ns = self.step_ns;
        while at(step_ns) >= drain {
            step_ns *= 2;
        }
        let row = at(step_ns);
        self.go_to(row, (self.from_ns + (row as u64 + 1) * step_ns).min(self.until_ns));
        self.coarsen(step_ns);
    }

    fn go_to(&mut self, row: usize, next_ns: u64) {
        (self.current, self.base, self.next_ns) = (row, row * BUCKETS, next_ns);
    }

    /// One latency, in nanoseconds.
    #[inline]
    pub(crate) fn record(&mut self, latency_ns: u64) {
        // Always there: the row is one of them, and the bucket too.
        if let Some(count) = self.counts.get_mut(self.base + bucket(latency_ns)) {
            *count += 1;
        }
        self.max_ns = self.max_ns.max(latency_ns);
    }

    /// Gives the current row what the outcomes have grown by since it began.
    fn settle(&mut self, outcomes: &Requests) {
        let now = (outcomes.ok, outcomes.failed());
        let row = &mut self.rows[self.current];
        row.ok += now.0 - self.before.0;
        row.failed += now.1 - self.before.1;
        row.max_ns = row.max_ns.max(std::mem::take(&mut self.max_ns));
        self.before = now;
    }

    /// Joins rows until each has this step; the one for the drain stays.
    fn coarsen(&mut self, step_ns: u64) {
        while self.step_ns < step_ns {
            self.step_ns *= 2;
            let rows = self.rows.len() - 1;
            for into in 0..rows {
                for from in [2 * into, 2 * into + 1].into_iter().filter(|from| *from != into) {
                    let moved = if from < rows { std::mem::take(&mut self.rows[from]) } else { Row::default() };
                    self.rows[into].add(moved);
                    for bucket in (0..BUCKETS).filter(|_| from < rows) {
                        self.counts[into * BUCKETS + bucket] +=
                            std::mem::take(&mut self.counts[from * BUCKETS + bucket]);
                    }
                }
            }
        }
    }

    /// Adds another shard's rows of the same run.
    pub(crate) fn merge(&mut self, mut other: Series) {
        let step_ns = self.step_ns.max(other.step_ns);
        self.coarsen(step_ns);
        other.coarsen(step_ns);
        for (ours, theirs) in self.rows.iter_mut().zip(other.rows) {
            ours.add(theirs);
        }
        for (ours, theirs) in self.counts.iter_mut().zip(other.counts) {
            *ours += theirs;
        }
        self.ended_ns = self.ended_ns.max(other.ended_ns);
    }

    /// The rows of a measured part of `elapsed_ns`, and that of the drain if anything ended in it.
    pub(crate) fn rows(&self, elapsed_ns: u64) -> Vec<SeriesRow> {
        let drain = self.rows.len() - 1;
        let count = (elapsed_ns.div_ceil(self.step_ns) as usize).min(drain);
        let mut rows: Vec<SeriesRow> = (0..count)
            .map(|index| {
                let begins_ns = index as u64 * self.step_ns;
                let step_ns = self.step_ns.min(elapsed_ns - begins_ns);
                SeriesRow { second: begins_ns / SECOND_NS, step_ns, ..self.row(index) }
            })
            .collect();
        let last = self.row(drain);
        if last.ok > 0 || last.failed > 0 {
            let step_ns = self.ended_ns.saturating_sub(self.from_ns.saturating_add(elapsed_ns));
            rows.push(SeriesRow { second: elapsed_ns / SECOND_NS, step_ns, drain: true, ..last });
        }
        rows
    }

    fn row(&self, index: usize) -> SeriesRow {
        let Row { ok, failed, max_ns } = self.rows[index];
        let counts = &self.counts[index * BUCKETS..][..BUCKETS];
        let samples: u64 = counts.iter().sum();
        let percentile = |percent| percentile(counts, samples, percent).map(|ns| ns.min(max_ns));
        SeriesRow {
            ok,
            failed,
            p50_ns: percentile(50),
            p99_ns: percentile(99),
            max_ns: (samples > 0).then_some(max_ns),
            ..SeriesRow::default()
        }
    }
}

impl Row {
    fn add(&mut self, other: Row) {
        self.ok += other.ok;
        self.failed += other.failed;
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// The bucket of a latency: linear in units of 32 ns up to 2 us, then 32 for each doubling.
#[inline]
fn bucket(latency_ns: u64) -> usize {
    let units = (latency_ns >> UNIT_BITS).min(MOST_UNITS);
    let doublings = (units | 1 << SUB_BITS).ilog2() - SUB_BITS;
    ((doublings << SUB_BITS) as usize) + (units >> doublings) as usize
}

/// The middle of a bucket, in nanoseconds.
fn middle_ns(bucket: usize) -> u64 {
    let doublings = (bucket >> SUB_BITS).saturating_sub(1) as u64;
    let units = (bucket as u64 - (doublings << SUB_BITS)) << doublings;
    (units << UNIT_BITS) + (1 << (doublings + u64::from(UNIT_BITS) - 1))
}

/// `None` with too few samples above it.
fn percentile(counts: &[u64], samples: u64, percent: u64) -> Option<u64> {
    let at_or_below = (samples * percent).div_ceil(100);
    if samples - at_or_below < MIN_SAMPLES_ABOVE {
        return None;
    }
    let mut sum = 0;
    let reached = |count: &u64| {
        sum += count;
        sum >= at_or_below
    };
    counts.iter().position(reached).map(middle_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM_NS: u64 = 77 * SECOND_NS;

    /// A shard's series and tally, driven by hand.
    struct Driven {
        series: Series,
        outcomes: Requests,
    }

    impl Driven {
        fn new(length: Length, until_ns: u64) -> Self {
            let mut series = Series::new(length);
            series.starts_at(FROM_NS, until_ns);
            Driven { series, outcomes: Requests::default() }
        }

        fn timed(duration_ns: u64) -> Self {
            Self::new(Length::Time { duration_ns }, FROM_NS + duration_ns)
        }

        fn ok(&mut self, after_ns: u64, latency_ns: u64) {
            if self.series.is_over(FROM_NS + after_ns) {
                self.series.turn(FROM_NS + after_ns, &self.outcomes);
            }
            self.outcomes.ok += 1;
            self.series.record(latency_ns);
        }

        fn end(mut self, after_ns: u64) -> Series {
            self.series.end(FROM_NS + after_ns, &self.outcomes);
            self.series
        }
    }

    fn counts(rows: &[SeriesRow]) -> Vec<(u64, u64, u64, u64)> {
        rows.iter().map(|row| (row.second, row.step_ns / 1_000_000, row.ok, row.failed)).collect()
    }

    #[test]
    fn every_bucket_holds_its_middle_and_all_in_it_are_near() {
        for bucket_index in 0..BUCKETS {
            assert_eq!(bucket(middle_ns(bucket_index)), bucket_index);
        }
        let mut ns = 1_u64;
        while ns < 3_600_000_000_000 {
            let off = middle_ns(bucket(ns)).abs_diff(ns) as f64;
            assert!(off <= 16.0_f64.max(ns as f64 * 0.016), "{ns} is {off} off");
            ns += ns / 7 + 1;
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn seconds_without_an_answer_and_the_last_part_have_rows() {
        let mut driven = Driven::timed(4_500_000_000);
        for index in 0..2000 {
            driven.ok(index * 400_000, 50_000 + index);
        }
        driven.ok(3_000_000_000, 2_500_000_000);
        driven.outcomes.reset += 2;
        driven.ok(4_499_999_999, 10);
        // After the measured part.
        driven.ok(4_500_000_000, 7_000);
        let rows = driven.end(5_000_000_000).rows(4_500_000_000);
        assert_eq!(
            counts(&rows),
            [(0, 1000, 2000, 0), (1, 1000, 0, 0), (2, 1000, 0, 0), (3, 1000, 1, 2), (4, 500, 1, 0), (4, 500, 1, 0)]
        );
        assert_eq!(rows.iter().map(|row| row.drain).collect::<Vec<_>>(), [false, false, false, false, false, true]);
        let near = |ns: Option<u64>, want: u64| ns.is_some_and(|ns| ns.abs_diff(want) <= want / 50);
        assert!(near(rows[0].p50_ns, 51_000) && near(rows[0].p99_ns, 51_980), "{:?}", rows[0]);
        assert_eq!((rows[0].max_ns, rows[1].max_ns, rows[3].max_ns), (Some(51_999), None, Some(2_500_000_000)));
        assert_eq!((rows[3].p50_ns, rows[3].p99_ns), (None, None), "one sample is no percentile");
    }

    #[test]
    fn a_cut_run_ends_where_it_was_cut() {
        let mut driven = Driven::timed(10 * SECOND_NS);
        driven.ok(100, 1);
        driven.series.cut(FROM_NS + 1_500_000_000);
        driven.ok(1_499_999_999, 1);
        driven.ok(1_600_000_000, 1);
        let rows = driven.end(1_600_000_000).rows(1_500_000_000);
        assert_eq!(counts(&rows), [(0, 1000, 1, 0), (1, 500, 1, 0), (1, 100, 1, 0)]);
        assert!(rows[2].drain);
    }

    #[test]
    fn hours_have_coarser_steps_and_no_more_rows() {
        let hours = 10 * 3600 * SECOND_NS;
        let series = Driven::timed(hours).end(hours);
        let rows = series.rows(hours);
        assert_eq!((rows.len(), rows[1].second, rows[1].step_ns), (1125, 32, 32 * SECOND_NS));
        assert_eq!(rows.iter().map(|row| row.step_ns).sum::<u64>(), hours);
    }

    #[test]
    fn a_counted_run_doubles_its_step_when_its_rows_are_full() {
        let seconds = MAX_SERIES_ROWS as u64 * 3;
        let mut driven = Driven::new(Length::Requests { total: 1 }, u64::MAX);
        for second in 0..seconds {
            driven.ok(second * SECOND_NS, second);
        }
        let elapsed_ns = seconds * SECOND_NS;
        let series = driven.end(elapsed_ns);
        let rows = series.rows(elapsed_ns);
        assert_eq!(rows.len() as u64, seconds / 4);
        assert!(rows.iter().all(|row| row.ok == 4 && row.step_ns == 4 * SECOND_NS));
        assert_eq!(series.counts.iter().sum::<u64>(), seconds);
        assert!(rows.iter().enumerate().all(|(index, row)| row.max_ns == Some(4 * index as u64 + 3)));
        assert_eq!(series.counts.len(), (MAX_SERIES_ROWS + 1) * BUCKETS);
    }

    #[test]
    fn shards_of_one_run_add_up_whatever_their_steps() {
        let mut long = Driven::new(Length::Requests { total: 1 }, u64::MAX);
        long.ok(0, 1000);
        long.ok(1300 * SECOND_NS, 1000);
        let mut short = Driven::new(Length::Requests { total: 1 }, u64::MAX);
        for second in 0..4 {
            short.ok(second * SECOND_NS, 9000);
        }
        let mut series = short.end(4 * SECOND_NS);
        series.merge(long.end(1301 * SECOND_NS));
        let rows = series.rows(1301 * SECOND_NS);
        assert_eq!(counts(&rows[..3]), [(0, 2000, 3, 0), (2, 2000, 2, 0), (4, 2000, 0, 0)]);
        assert_eq!(counts(&rows[650..]), [(1300, 1000, 1, 0)]);
    }
}
