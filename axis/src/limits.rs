//! Every bound of the axis, with its unit and its reason.

/// What one batch of operations should take, in nanoseconds: far above the clock's step and a timer interrupt, far below what a
/// neighbour on the host lets pass undisturbed.
pub const BATCH_NS: u64 = 1_000_000;

/// Rounds; each case has one batch in each, so that what drifts on the host drifts for all. The median of so many is steady to a percent.
pub const ROUNDS: usize = 101;

/// Operations of one batch at most: at a nanosecond each they take longer than [`BATCH_NS`].
pub const MAX_BATCH_OPERATIONS: u64 = 1 << 22;

/// Operations over which allocations are counted. A buffer that still grows shows as a fraction.
pub const COUNTED_OPERATIONS: u64 = 1000;

/// Operations under callgrind, beside a run with none.
pub const CALLGRIND_OPERATIONS: u64 = 500;

/// Turns in which the server may finish one answer; a stream of 16 KiB takes two.
pub const MAX_ANSWER_TURNS: usize = 64;

/// Bytes of one message over the pipe: the largest of the canonical suite has 400 KiB; what announces more is not one of ours.
pub const MAX_PIPE_MESSAGE_BYTES: usize = 64 * 1024 * 1024;
