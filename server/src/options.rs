//! What a user may set about the server, apart from what the engine bounds (connections, memory, write stalls).

use codec::json::Library;
use engine::Handicap;

use crate::wire::Wire;

/// Options of every shard of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerOptions {
    /// Bytes of one ZAP frame, its length prefix not counted; a longer one is refused from its prefix. At most 64 MiB.
    pub max_frame_bytes: usize,
    /// Bytes of one request body that a handler is given, on both wires; a longer one is answered with 413.
    pub max_body_bytes: usize,
    /// Bounds of an HTTP request head.
    pub http_head: codec::http::Limits,
    /// Who reads and writes the JSON twins of `POST /rpc` on http.
    pub json: Library,
    /// How long a connection may stay open without a request, in nanoseconds; `u64::MAX` for ever.
    pub idle_timeout_ns: u64,
    /// How long the head of a request may take from its first byte on, in nanoseconds. On zap the head is the length.
    pub head_timeout_ns: u64,
    /// How long the body of a request may take from the end of its head on, in nanoseconds. On zap the body is the frame.
    pub body_timeout_ns: u64,
    /// The wire of each listener, in the order of the engine's plan.
    pub wires: Vec<Wire>,
    /// What every arrival of bytes for a handler costs on top; floor has no handlers.
    pub handicap: Handicap,
}

impl Default for ServerOptions {
    fn default() -> Self {
        ServerOptions {
            max_frame_bytes: codec::limits::MAX_FRAME_BYTES,
            max_body_bytes: codec::limits::MAX_FRAME_BYTES,
            http_head: codec::http::Limits::DEFAULT,
            json: Library::default(),
            idle_timeout_ns: 60_000_000_000,
            head_timeout_ns: 10_000_000_000,
            body_timeout_ns: 30_000_000_000,
            wires: Vec::new(),
            handicap: Handicap::default(),
        }
    }
}
