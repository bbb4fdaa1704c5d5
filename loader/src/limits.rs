//! Every bound of the loader, with its unit and its reason.

/// Connections of one run. Two million descriptors is what a large host grants (`fs.nr_open` defaults to half of it).
pub const MAX_CONNECTIONS: u32 = 2_000_000;

/// Local addresses that connections are made from: each gives some ten thousand ports, so 2 million connections to one address need
/// less than a hundred.
pub const MAX_SOURCES: usize = 4096;

/// Different requests of one run. Each has a histogram of its own on every thread: 270 KiB of address space, of which a run touches some
/// ten.
pub const MAX_NAMED_REQUESTS: usize = 128;

/// Weight of one of several requests: shares down to one in ten thousand.
pub const MAX_WEIGHT: u32 = 10_000;

/// Places of the order in which several requests are sent, two bytes each: the sum of their weights without a common factor.
pub const MAX_ORDER: usize = 65_536;

/// Bytes of one request file, and of one body file: the largest ZAP frame with its length.
pub const MAX_REQUEST_FILE_BYTES: u64 = codec::limits::MAX_FRAME_BYTES as u64 + 4;

/// Bytes of all requests of a run together.
pub const MAX_MIX_BYTES: u64 = 256 * 1024 * 1024;

/// Bytes of a scenario file, its body files not counted: some hundred times what its requests need.
pub const MAX_SCENARIO_BYTES: u64 = 1024 * 1024;

/// Characters of a request's name and of its category: what a table can show.
pub const MAX_NAME_CHARS: usize = 64;

/// Requests one connection may have under way: above this a batch is larger than any socket buffer and only adds latency.
pub const MAX_PIPELINE: u32 = 4096;

/// Threads of one run; the largest hosts have fewer cores.
pub const MAX_THREADS: u32 = 1024;

/// Longest time accepted anywhere, in nanoseconds: 30 days. Sums of a few such times stay far below 2^63.
pub const MAX_TIME_NS: u64 = 30 * 24 * 3600 * 1_000_000_000;

/// Requests of one run; such a run takes a year at 30 M requests/s.
pub const MAX_REQUESTS: u64 = 1_000_000_000_000_000;

/// Highest rate of an open loop over all connections, in requests per second: a due time each nanosecond.
pub const MAX_RATE_PER_S: u64 = 1_000_000_000;

/// Finest step of pacing, in nanoseconds: requests that are due within it are sent together. A wake-up for each at a hundred
/// thousand per second and thread would cost more than the requests.
pub const PACE_STEP_NS: u64 = 20_000;

/// Bytes of repeated requests kept ready to be copied at once: what one turn may put into an outbox.
pub const REPEATED_BYTES: usize = engine::limits::OUT_BUDGET_BYTES;

/// A request of at least this many bytes is sent as a shared slice instead of being copied: a copy of it would cost more than
/// the second piece of a vectored send.
pub const SHARE_FROM_BYTES: usize = 16 * 1024;

/// Frames up to this many bytes, prefix included, are waited for and decoded whole; of larger ones only the beginning is read
/// and the rest skipped as it arrives, so that memory does not follow what a server announces.
pub const WHOLE_FRAME_BYTES: usize = 16 * 1024;

/// How far into a frame its root object may lie before the answer is refused: what the codec's writers (and the reference's)
/// produce needs 56 bytes.
pub const MAX_PEEK_BYTES: usize = 64 * 1024;

/// Connects under way at once on one shard before the start: below the usual accept backlog (`net.core.somaxconn`, 4096) for
/// tens of shards, because a dropped SYN costs a second.
pub const MAX_CONNECTING: usize = 128;

/// Wait before a connection is tried again after its first failure in a row, in nanoseconds; it doubles with each further one.
pub const FIRST_BACK_OFF_NS: u64 = 10_000_000;

/// Longest wait before a connection is tried again, in nanoseconds.
pub const MAX_BACK_OFF_NS: u64 = 1_000_000_000;

/// Failures in a row, without one complete answer between them, after which a connection of a run bounded by `-n` gives up;
/// a run bounded by time ends by itself. At the back-offs above this is about four seconds plus the timeouts.
pub const GIVE_UP_STRIKES: u32 = 10;

/// How long a connection whose server announced its close is waited for to end, in nanoseconds, so that the server and not we
/// hold the port in TIME_WAIT; then it is closed.
pub const CLOSE_GRACE_NS: u64 = 100_000_000;

/// Step of the one scan for timeouts, back-offs and close waits, in nanoseconds: no deadline is missed by more.
pub const SCAN_STEP_NS: u64 = 10_000_000;

/// Finest step of that scan when the timeout itself is short, in nanoseconds.
pub const MIN_SCAN_STEP_NS: u64 = 1_000_000;

/// How often a shard looks for the common start while connections are being made, in nanoseconds.
pub const START_POLL_NS: u64 = 1_000_000;

/// From the decision to start until the start, in nanoseconds: several [`START_POLL_NS`], so that every shard knows in time.
pub const START_LEAD_NS: u64 = 5_000_000;

/// Longest sleep of the thread that waits for the run, in nanoseconds: how late a stop is noticed.
pub const WATCH_STEP_NS: u64 = 20_000_000;

/// Memory that connections of one shard may hold, in bytes: as much as a read of the largest step on each of some thousands.
pub const SHARD_MEMORY_BYTES: usize = 4 << 30;

/// Bytes of a garbled answer that are quoted in its error sample.
pub const QUOTED_BYTES: usize = 32;

/// A measured part shorter than this, in nanoseconds, is noted as too short: start and end then weigh as much as the middle.
pub const SHORT_WINDOW_NS: u64 = 1_000_000_000;

/// Descriptors a shard needs besides its connections: ring, timer, control channel, and the process's own.
pub const SPARE_DESCRIPTORS: u64 = 32;

/// Bytes of a unix socket's path: `sun_path` less its ending NUL.
pub const MAX_UNIX_PATH_BYTES: usize = 107;

/// Longest answer head (on ZAP: answer frame) that is remembered to be compared with the next, in bytes. Heads of benchmark
/// answers have 60 to 300; comparing more than this costs as much as parsing.
pub const MEMO_BYTES: usize = 512;
