//! The named bounds of this crate, each with its unit and its reason.

use std::time::Duration;

/// Highest CPU number taken from a list: the largest `NR_CPUS` a Linux kernel is built with is 8192. Keeps `0-4000000000` from becoming
/// a list of that length.
pub const MAX_CORE: u32 = 8191;

/// Bytes of a child's standard output that are kept, the first ones. A run with all its histograms is below 1 MiB.
pub const MAX_STDOUT_BYTES: usize = 16 * 1024 * 1024;

/// Bytes of a child's standard error that are kept, the last ones: enough for a panic with its backtrace.
pub const MAX_STDERR_BYTES: usize = 16 * 1024;

/// Longest wait for the rest of a child's output after it has ended. A grandchild that holds the pipe open does not hold us up longer.
pub const OUTPUT_WAIT: Duration = Duration::from_secs(1);

/// The highest `kernel.perf_event_paranoid` at which a process without privileges may count what another of its user does in user space.
/// Some distributions have a higher one of their own, which forbids it.
pub const UNPRIVILEGED_PARANOID: i64 = 2;

/// How often a child is looked at while waiting for it. Coarse, so that the watcher costs the measured cores nothing.
pub const POLL: Duration = Duration::from_millis(20);

/// Longest wait for a server to say that it is ready.
pub const READY_WAIT: Duration = Duration::from_secs(10);

/// How long a child may take to end after SIGTERM before SIGKILL.
pub const STOP_GRACE: Duration = Duration::from_secs(3);

/// What a load run may take beyond warm-up and duration: connecting, draining, writing its result.
pub const LOAD_SLACK: Duration = Duration::from_secs(20);

/// Most levels of a ramp.
pub const MAX_LEVELS: usize = 64;

/// Most connections of a level: as many as there are descriptors on a large host.
pub const MAX_CONNECTIONS: u32 = 10_000_000;

/// Fewest rounds of a sweep: a ratio of fewer pairs has no interval.
pub const MIN_ROUNDS: u32 = 3;

/// Most rounds of a sweep: a night of two-second runs.
pub const MAX_ROUNDS: u32 = 1000;

/// Most settings of a sweep, the base and its repetition included: with more, some will look better by chance.
pub const MAX_SETTINGS: usize = 64;

/// Most control groups above a process that are asked for their quota: far more than container runtimes nest.
pub const MAX_GROUP_DEPTH: usize = 32;

/// Most flaws of the CPU that are recorded: kernels of 2026 know about twenty.
pub const MAX_FLAWS: usize = 100;

/// Most network interfaces that are watched: a host with more has them for its containers.
pub const MAX_LINKS: usize = 256;

/// Connections of the yardstick: enough that neither side sleeps between two of them.
pub const YARDSTICK_CONNECTIONS: usize = 16;

/// Longest wait of the yardstick for its other half.
pub const YARDSTICK_PATIENCE: Duration = Duration::from_secs(5);

/// Most rounds of two builds in turns: the runs of both are kept whole, some 10 kB each.
pub const MAX_TURNS: u32 = 1000;

/// Most rounds of a gate.
pub const MAX_GATE_ROUNDS: u32 = 100;

/// Most processes below one that are looked at: a server with more workers than a large host has cores is none that is compared.
pub const MAX_FAMILY: usize = 4096;

/// Most servers and loaders of a comparison, the bases' repetitions included.
pub const MAX_CONTENDERS: usize = 128;

/// Bytes of a body that are shown where it is not the one that was expected: a line of a report.
pub const QUOTED_BODY_BYTES: usize = 64;

/// Most bytes of a list of peers: some hundred entries.
pub const MAX_PEERS_BYTES: u64 = 1 << 20;
