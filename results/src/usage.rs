//! CPU and memory of the two sides over the measured window.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cores::{CoreBusy, busiest_share};

/// How often the threads of a process left their CPUs (`getrusage(2)` calls them so).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ContextSwitches {
    /// They waited for something.
    pub voluntary: u64,
    /// Something else had to run.
    pub involuntary: u64,
}

/// What CPU quotas of a process's control groups took from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Throttling {
    /// Periods in which a group had used up its quota.
    pub periods: u64,
    /// Time its CPUs stood still for that, summed over the CPUs.
    pub throttled_ns: u64,
}

/// The server process, watched over exactly the measured window.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ServerBlock {
    /// Process id.
    pub pid: u32,
    /// Length of the window.
    pub window_ns: u64,
    /// CPU time of all its threads.
    pub cpu_ns: u64,
    /// CPU time per `ok` request; null without one.
    pub cpu_ns_per_request: Option<u64>,
    /// Each of its cores: whatever ran there, interrupts included.
    pub core_busy: Vec<CoreBusy>,
    /// Busy time of its cores per `ok` request; null without cores or requests.
    pub core_busy_ns_per_request: Option<u64>,
    /// Resident memory when the window began.
    pub rss_start_bytes: u64,
    /// Resident memory when it ended.
    pub rss_end_bytes: u64,
    /// Most resident memory: since the window began where the kernel lets the mark be reset, else since the process began.
    pub rss_peak_bytes: u64,
    /// Context switches of its threads; null where the kernel does not tell. Since version 1.1, as the next one.
    #[serde(default)]
    pub context_switches: Option<ContextSwitches>,
    /// What its CPU quota took; null where no group of it can have one.
    #[serde(default)]
    pub throttling: Option<Throttling>,
}

impl ServerBlock {
    /// Fills the per-request figures from the number of `ok` requests in the window.
    #[must_use]
    pub fn per_request(mut self, ok: u64) -> Self {
        self.cpu_ns_per_request = divide(self.cpu_ns, ok);
        self.core_busy_ns_per_request = core_busy_per_request(&self.core_busy, ok);
        self
    }

    /// Busy share of its busiest core, 0 to 1.
    #[must_use]
    pub fn busiest_core(&self) -> Option<f64> {
        busiest_share(&self.core_busy)
    }

    /// What its resident memory grew by over the window, in bytes; below zero where it gave some back.
    #[must_use]
    pub fn rss_growth_bytes(&self) -> f64 {
        self.rss_end_bytes as f64 - self.rss_start_bytes as f64
    }
}

/// The loader process itself over the measured window.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LoaderBlock {
    /// Length of the window.
    pub window_ns: u64,
    /// CPU time of all its threads.
    pub cpu_ns: u64,
    /// CPU time per `ok` request; null without one.
    pub cpu_ns_per_request: Option<u64>,
    /// Each of its cores; empty when not pinned.
    pub core_busy: Vec<CoreBusy>,
    /// Busy time of its cores per `ok` request; null without cores or requests.
    pub core_busy_ns_per_request: Option<u64>,
    /// Most resident memory.
    pub rss_peak_bytes: Option<u64>,
    /// Calls of `io_uring_enter` (or `epoll_wait`), where the engine counts them.
    pub enters: Option<u64>,
    /// Operations submitted.
    pub sqes: Option<u64>,
    /// Completions taken.
    pub cqes: Option<u64>,
    /// Context switches of its threads; null where the kernel does not tell. Since version 1.1, as the next one.
    #[serde(default)]
    pub context_switches: Option<ContextSwitches>,
    /// What its CPU quota took; null where no group of it can have one.
    #[serde(default)]
    pub throttling: Option<Throttling>,
}

impl LoaderBlock {
    /// Fills the per-request figures from the number of `ok` requests in the window.
    #[must_use]
    pub fn per_request(mut self, ok: u64) -> Self {
        self.cpu_ns_per_request = divide(self.cpu_ns, ok);
        self.core_busy_ns_per_request = core_busy_per_request(&self.core_busy, ok);
        self
    }

    /// Busy share of its busiest core, 0 to 1.
    #[must_use]
    pub fn busiest_core(&self) -> Option<f64> {
        busiest_share(&self.core_busy)
    }
}

/// The same watch taken over the loader's own process.
impl From<ServerBlock> for LoaderBlock {
    fn from(watched: ServerBlock) -> Self {
        Self {
            window_ns: watched.window_ns,
            cpu_ns: watched.cpu_ns,
            cpu_ns_per_request: watched.cpu_ns_per_request,
            core_busy: watched.core_busy,
            core_busy_ns_per_request: watched.core_busy_ns_per_request,
            rss_peak_bytes: Some(watched.rss_peak_bytes),
            enters: None,
            sqes: None,
            cqes: None,
            context_switches: watched.context_switches,
            throttling: watched.throttling,
        }
    }
}

fn core_busy_per_request(cores: &[CoreBusy], ok: u64) -> Option<u64> {
    if cores.is_empty() {
        return None;
    }
    divide(cores.iter().fold(0, |sum: u64, core| sum.saturating_add(core.busy_ns)), ok)
}

/// Rounded to the nearest nanosecond.
fn divide(total_ns: u64, requests: u64) -> Option<u64> {
    (requests > 0).then(|| total_ns.saturating_add(requests / 2) / requests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn per_request_rounds_and_knows_nothing_without_requests() {
        let busy = |core, busy_ns| CoreBusy { core, window_ns: 1000, busy_ns, ..CoreBusy::default() };
        let block = ServerBlock { cpu_ns: 11, core_busy: vec![busy(0, 10), busy(1, 20)], ..ServerBlock::default() };
        let filled = block.clone().per_request(4);
        assert_eq!((filled.cpu_ns_per_request, filled.core_busy_ns_per_request), (Some(3), Some(8)));
        let empty = block.per_request(0);
        assert_eq!((empty.cpu_ns_per_request, empty.core_busy_ns_per_request), (None, None));
        assert_eq!(LoaderBlock::default().per_request(5).core_busy_ns_per_request, None);
    }
}
