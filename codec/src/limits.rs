//! Every bound of the ZAP half and of the floor wire, with its unit and its reason. The HTTP half keeps its own beside its readers.

/// Bytes of the big-endian length that stands before each frame (ZAP wire §1).
pub const PREFIX_BYTES: usize = 4;

/// Bytes of one frame, its length prefix not counted: 64 MiB, the reference's own limit. A longer length is refused
/// from its four bytes alone, and no writer produces one.
pub const MAX_FRAME_BYTES: usize = 64 * 1024 * 1024;

/// Bytes of the header at the start of each ZAP message (ZAP wire §2). No root object and no slot target lies in it.
pub const HEADER_BYTES: usize = 16;

/// Bytes of the fixed section of a request and of a response: six slots of eight bytes (ZAP wire §3).
pub const MESSAGE_SECTION_BYTES: usize = 48;

/// Bytes of the fixed section of a data and of an end frame: one slot (ZAP wire §3).
pub const CHUNK_SECTION_BYTES: usize = 8;

/// Bytes of the fixed section of both typed records (ZAP wire §6).
pub const RECORD_SECTION_BYTES: usize = 32;

/// Bytes that a pair takes at least, its two lengths. A block's walk is thereby bounded by its bytes, whatever count
/// it announces.
pub const MIN_PAIR_BYTES: usize = 8;

/// Bytes of a request on the floor wire, its length included. The server waits for all of it, so it is kept far below what a ZAP
/// frame may have; 1 MiB is more than any request that a baseline was wanted for.
pub const MAX_FLOOR_REQUEST_BYTES: usize = 1024 * 1024;

/// Bytes of a reply on the floor wire, its length included. It is sent from shared memory, so the bound is only one of work: a peer
/// pays 8 bytes for it.
pub const MAX_FLOOR_REPLY_BYTES: usize = 16 * 1024 * 1024;

/// Bytes of a JSON text that a reader's copy may keep between two texts; a call has 103, and a larger one is an exception.
pub const KEPT_JSON_BYTES: usize = 64 * 1024;
