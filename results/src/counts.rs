//! What a server counted of itself while one run was made: counts do not move with the noise of a host.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Differences over one run, warm-up and end included, and with the few requests that asked for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ServerCounts {
    /// Requests on every wire.
    pub requests: u64,
    /// Operations given to the kernel: submission queue entries, or system calls on epoll.
    pub operations: u64,
    /// Completions taken from rings; 0 on engines without one.
    pub completions: u64,
    /// Waits (`io_uring_enter(2)`, `epoll_wait(2)`); 0 where the engine cannot see them.
    pub enters: u64,
    /// Allocations; null where the server does not count them (`--debug-alloc`).
    pub allocations: Option<u64>,
    /// Bytes on the heap before the run, since counting began; null as above.
    pub live_start_bytes: Option<i64>,
    /// And after it.
    pub live_end_bytes: Option<i64>,
    /// Instructions that its threads retired in user space, as the processor counts them; null where nobody asked or there is no counter.
    /// Since version 1.2 of a bench and 1.1 of a baseline.
    #[serde(default)]
    pub instructions: Option<u64>,
}

impl ServerCounts {
    /// A count per request; `None` without requests.
    #[must_use]
    pub fn per_request(&self, count: u64) -> Option<f64> {
        (self.requests > 0).then(|| count as f64 / self.requests as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_known_per_request_without_any() {
        let counts = ServerCounts { requests: 4, operations: 6, ..ServerCounts::default() };
        assert_eq!(counts.per_request(counts.operations), Some(1.5));
        assert_eq!(ServerCounts::default().per_request(3), None);
    }
}
