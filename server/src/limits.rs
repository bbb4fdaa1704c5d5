//! Every bound of the server that is not an option, with its unit and its reason.

/// How often deadlines are looked at while there are connections: a quarter of the shortest time anyone would set.
pub const SCAN_INTERVAL_NS: u64 = 250_000_000;

/// Requests that one call answers before other connections get their turn; a full send of small answers.
pub const MAX_REQUESTS_PER_CALL: u64 = 256;

/// Bytes of a counted HTTP body up to which it is waited for in one piece, so that it is never copied on its way in.
/// Longer ones are collected, since the input buffer would have to hold all of them.
pub const MAX_CONTIGUOUS_BODY_BYTES: u64 = 64 * 1024;

/// Bytes of a body that nobody wants and that is skipped to keep the connection; a longer one ends it.
pub const MAX_SKIPPED_BODY_BYTES: u64 = 1024 * 1024;

/// Bytes of body buffer that a connection keeps from one collected body to the next.
pub const KEPT_BODY_BYTES: usize = 16 * 1024;

/// Bytes by which a body buffer grows at first; it doubles from there.
pub const MIN_BODY_GROWTH_BYTES: usize = 4 * 1024;

/// Bytes of a body from which an answer that copies or keeps it is checked against the memory left, and from which a
/// collected body is sent without copying it.
pub const LARGE_BODY_BYTES: usize = 64 * 1024;

/// Bytes of the text buffer that a shard keeps between answers.
pub const KEPT_SCRATCH_BYTES: usize = 64 * 1024;

/// Bytes of the pattern behind `/bytes` and `/stream`: just below 64 KiB and a multiple of its 26 letters, so that byte
/// `i` of an answer is letter `i mod 26` however often the pattern is repeated.
pub const PATTERN_BYTES: usize = 26 * 2520;

/// Pattern or padding bytes up to which a copy costs less than a piece of its own in a vectored send.
pub const MAX_COPIED_PATTERN_BYTES: usize = 1024;

/// Bytes of the constant that replies on the floor wire are cut from; a longer reply is several pieces of it, none of them copied.
pub const PADDING_BYTES: usize = 64 * 1024;

/// Largest `n` of `/bytes/{n}`, in bytes: half of what a ZAP frame can carry.
pub const MAX_ANSWER_BODY_BYTES: usize = 32 * 1024 * 1024;

/// Largest number of chunks of `/stream/{chunks}/{size}`.
pub const MAX_STREAM_CHUNKS: usize = 1_000_000;

/// Largest chunk of `/stream/{chunks}/{size}`, in bytes.
pub const MAX_STREAM_CHUNK_BYTES: usize = 16 * 1024 * 1024;
