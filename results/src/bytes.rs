//! Bytes moved during the measured part.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes on the wire as the loader saw them: what it handed to and took from its sockets (heads, framing and bodies, not TCP or IP).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Bytes {
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// Body bytes among those received.
    pub body_received: u64,
}

impl Bytes {
    /// Adds another shard's bytes.
    pub const fn merge(&mut self, other: &Self) {
        self.sent += other.sent;
        self.received += other.received;
        self.body_received += other.body_received;
    }
}
