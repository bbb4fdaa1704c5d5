//! The named bounds of this crate, each with its unit and its reason.

/// Most bytes read from a run or bench file. A bench of eight rows with its histograms is below 1 MiB; beyond this it is no run file.
pub const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;

/// Lowest discernible latency, in nanoseconds. One, so that three digits hold at every value: a coarser unit would save a fifth of the
/// memory and lose the third digit below 64 us.
pub const HISTOGRAM_LOW_NS: u64 = 1;

/// Highest latency kept, in nanoseconds (one hour). Longer ones are counted as this.
pub const HISTOGRAM_HIGH_NS: u64 = 3_600_000_000_000;

/// Significant decimal digits kept by every histogram.
pub const HISTOGRAM_DIGITS: u8 = 3;

/// Samples that must lie above a percentile before it is printed; with fewer it says nothing about the tail.
pub const MIN_SAMPLES_ABOVE: u64 = 10;

/// A request of an open loop that is sent longer than this after it was due, in nanoseconds, is late.
pub const LATE_NS: u64 = 1_000_000;

/// Most characters kept of one error sample, so that a peer cannot grow the run file.
pub const MAX_SAMPLE_CHARS: usize = 400;

/// Runs that each side of a comparison needs: with fewer, no difference can be told from noise.
pub const MIN_RUNS: usize = 5;

/// Pairs from which on runs made in turns are compared pair by pair: resamples of fewer promise more than there is.
pub const MIN_PAIRS: usize = 10;

/// Resamples of a bootstrap. With five runs a side 0.1 % is cut off at each end: ten of these.
pub const RESAMPLES: usize = 10_000;

/// A ratio closer to 1 than this share is no difference unless asked otherwise: two benches of the same program differ by some percent.
pub const NOISE_THRESHOLD: f64 = 0.05;

/// Growth of a server's heap over a bench, in bytes, beyond which it is called a leak: contexts and buffers of more connections are below it.
pub const LEAK_BYTES: i64 = 8 << 20;

/// Most curves in one chart: as many as there are colours.
pub const MAX_CHART_CURVES: usize = 7;

/// Most bars or intervals in one chart: more cannot be read.
pub const MAX_CHART_BARS: usize = 64;

/// Shortest window that is judged, in nanoseconds: ten of the longest ticks in which the kernel counts a core's time.
pub const MIN_VERDICT_NS: u64 = 10 * TICK_NS;

/// The longest tick in which a kernel counts a core's time, in nanoseconds (`USER_HZ` of `/proc/stat` is 100 everywhere).
pub const TICK_NS: u64 = 10_000_000;

/// Fewest rounds on a side of a gate.
pub const MIN_ROUNDS: usize = 5;

/// Width of a gate's band, in standard errors of the ratio: about one false alarm in thirty thousand checks of normal noise.
pub const BAND_ERRORS: f64 = 4.0;

/// Least band of a ratio within a round, as a share: what two builds of the same source differ by, laid out in memory in another way.
pub const MIN_BAND: f64 = 0.10;

/// Least band of a cost in yardsticks, as a share: hosts do not slow down everything alike.
pub const MIN_BAND_IN_YARDSTICKS: f64 = 0.20;

/// A wider band, as a share, says nothing about what a gate is for.
pub const MAX_BAND: f64 = 0.30;

/// Growth of a gate's peak RSS that is too much, as a share and in bytes; it takes both.
pub const RSS_GROWTH_SHARE: f64 = 0.15;

/// See [`RSS_GROWTH_SHARE`].
pub const RSS_GROWTH_BYTES: u64 = 8 << 20;

/// Growth of RSS over the second half of a gate's rounds, in bytes, that is still level where it grew in every one of them.
pub const LEVEL_BYTES: u64 = 1 << 20;

/// Most rows of a run over time. Twenty minutes of seconds; a longer run has steps of 2, 4, 8... seconds. A loader shard holds so many
/// coarse histograms of 8.25 KiB at most, 10 MiB, of which only what is written to is memory.
pub const MAX_SERIES_ROWS: usize = 1200;
