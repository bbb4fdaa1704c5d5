//! Every bound of the engines, with its unit and its reason.

/// Input buffer of a connection that waits for its next request: one small read, so that many idle connections are cheap.
pub const IDLE_INPUT_BYTES: usize = 1024;

/// Largest single read of a connection that is not waiting for a known number of bytes. Bounds the work per turn.
pub const MAX_READ_BYTES: usize = 64 * 1024;

/// Largest step by which an input buffer grows while a large frame arrives: memory follows what arrived.
pub const MAX_GROWTH_BYTES: usize = 4 * 1024 * 1024;

/// Reads in a row that must use less than a quarter of an input buffer before it shrinks.
pub const SMALL_READS_BEFORE_SHRINK: u8 = 16;

/// What one connection may put into its outbox per turn before others get theirs.
pub const OUT_BUDGET_BYTES: usize = 64 * 1024;

/// Output memory a connection keeps between answers.
pub const KEPT_OUTPUT_BYTES: usize = 2 * OUT_BUDGET_BYTES;

/// Pieces per vectored send; the kernel's own limit is 1024 (`IOV_MAX`).
pub const MAX_IOVECS: usize = 64;

/// Operations one connection may complete in a row before the others of its shard get a turn.
pub const OPERATIONS_PER_TURN: usize = 8;

/// Connections a shard accepts in a row before those it has get a turn.
pub const ACCEPTS_PER_TURN: usize = 64;

/// Messages a shard takes from its control channel in a row: as many connections as one dealing shard accepts in a row.
pub const MESSAGES_PER_TURN: usize = ACCEPTS_PER_TURN;

/// Events taken from epoll at once. The time is read once for all of them: at 5 to 10 us a turn it is at most a millisecond old.
pub const EVENTS_PER_WAIT: usize = 128;

/// Backlog asked of `listen(2)`; the kernel lowers it to `net.core.somaxconn`.
pub const BACKLOG: i32 = 65_535;

/// How long accepting pauses after the process ran out of descriptors.
pub const ACCEPT_PAUSE_NS: u64 = 100_000_000;

/// How often the deadlines of sends and lingering closes are looked at, while there are any.
pub const SCAN_INTERVAL_NS: u64 = 100_000_000;

/// Bytes a closing connection drains from its peer before it gives up.
pub const LINGER_BYTES: usize = 1024 * 1024;

/// Submission queue entries of a ring: what one turn of a busy shard queues, below the kernel's 32,768.
pub const RING_ENTRIES: u32 = 1024;

/// Completion queue entries of a ring: a completion per connection and operation under load.
pub const CQ_ENTRIES: u32 = 8192;

/// Receive buffers of a shard: as many connections as may have bytes waiting in one turn.
pub const BUFFERS: u16 = 1024;

/// Bytes of a receive buffer: several pipelined requests; what is longer arrives in several.
pub const BUFFER_BYTES: u32 = 4096;

/// Sockets that a ring knows as direct descriptors; those beyond go by their numbers. The kernel takes 8 bytes for each.
pub const DIRECT_DESCRIPTORS: u32 = 1 << 16;

/// Completions that `--min-wait` gathers at most; with fewer than twice as many connections half of their number.
pub const GATHERED_COMPLETIONS: usize = 32;

/// Locked memory that glommio insists on for each executor, whether the kernel charges rings to it or not.
pub const GLOMMIO_MEMLOCK_BYTES: u64 = 512 * 1024;

/// How long glommio's tasks may run before it looks for news. Its default of 100 ms would let one peer that sends without end
/// keep the others waiting that long; and when the time is over before the first task's turn, none has its turn at all, so it
/// must be long beside what a slow machine needs for one look.
pub const GLOMMIO_PREEMPT_NS: u64 = 10_000_000;

/// Wait for one shard to end after it was told to, beyond the drain time, before it is reported as stuck.
pub const JOIN_GRACE_NS: u64 = 2_000_000_000;

/// Most bytes that a shard with a leak on purpose ([`crate::Handicap`]) keeps: far beyond what any check allows, and no danger to the host.
pub const MAX_LEAK_BYTES: usize = 256 << 20;

/// Bounds of one shard's connections.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections open at once on this shard; more are accepted and closed at once, and counted.
    pub max_connections: usize,
    /// Bytes this shard's connections may hold in user memory: inputs, outputs, and what the protocol reports. The connection
    /// that wants more is closed, and counted.
    pub max_memory_bytes: usize,
    /// A send without progress for this long ends its connection.
    pub write_stall_ns: u64,
    /// A connection that could not be made in this time has failed.
    pub connect_timeout_ns: u64,
    /// How long a closing connection waits for its peer to close too.
    pub linger_ns: u64,
    /// How long connections may take to finish once the engine was told to stop.
    pub drain_ns: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_connections: 1 << 20,
            max_memory_bytes: 1 << 30,
            write_stall_ns: 30_000_000_000,
            connect_timeout_ns: 5_000_000_000,
            linger_ns: 500_000_000,
            drain_ns: 700_000_000,
        }
    }
}
