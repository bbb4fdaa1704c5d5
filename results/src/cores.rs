//! Per-core figures: how busy a core was, and what the loader's shard on it did.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How long one core was busy in a window. Busy is all time but idle, waiting for I/O (an idle ring counts as that) and stolen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CoreBusy {
    /// CPU number.
    pub core: u32,
    /// Length of the window.
    pub window_ns: u64,
    /// Busy time in it, in steps of 10 ms (`USER_HZ`), and no less than the watched threads took that may run nowhere else.
    pub busy_ns: u64,
    /// Time the hypervisor gave to others.
    pub steal_ns: u64,
    /// The part of the busy time that was interrupts (irq and softirq). Null before it was recorded, as the next two. Since version 1.1.
    #[serde(default)]
    pub interrupt_ns: Option<u64>,
    /// Whether interrupts may have run outside of every thread's time: the kernel accounts them apart, or moves the packets of loopback to
    /// other cores. If not, those of loopback traffic are in the time of the threads that send.
    #[serde(default)]
    pub interrupts_apart: Option<bool>,
    /// CPU time of the watched process on this core: of its threads that may run nowhere else, and of all that may run on several.
    #[serde(default)]
    pub own_ns: Option<u64>,
}

impl CoreBusy {
    /// Raises the busy time to what threads took that ran nowhere else, as far as the window goes. A kernel whose timer never stops meets
    /// idle time by ticks too, and those miss a thread that wakes up and sleeps again between them, as one that is paced does.
    pub fn ran_at_least(&mut self, threads_ns: u64) {
        self.busy_ns = self.busy_ns.max(threads_ns.min(self.window_ns));
    }

    /// Busy share of the window, 0 to 1; `None` for an empty window. Ticks can overshoot a short window, so it is capped.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        (self.window_ns > 0).then(|| (self.busy_ns as f64 / self.window_ns as f64).min(1.0))
    }
}

/// The share of the busiest core, `None` without cores. One full core limits its shard however idle the others are.
#[must_use]
pub fn busiest_share(cores: &[CoreBusy]) -> Option<f64> {
    cores.iter().filter_map(CoreBusy::share).reduce(f64::max)
}

/// What one loader shard did on its core.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CoreRow {
    /// CPU number; null when the shard was not pinned.
    pub core: Option<u32>,
    /// Connections of this shard.
    pub connections: u32,
    /// Requests with an `ok` outcome on this shard.
    pub ok: u64,
    /// Busy share of the core during the measured part, 0 to 1.
    pub cpu_busy: Option<f64>,
    /// CPU time of the shard's thread.
    pub cpu_ns: Option<u64>,
    /// Times the shard woke, or entered the kernel to wait.
    pub wakeups: Option<u64>,
    /// Mean completions handled per wake-up.
    pub batch_mean: Option<f64>,
    /// Completion-queue overflows.
    pub ring_overflow: Option<u64>,
}

/// CPU numbers as people and the kernel write them, ascending runs as ranges, in the order given: `0-3,5`.
#[must_use]
pub fn ranges(cores: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for core in cores.iter().copied() {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(core) => *last = core,
            _ => runs.push((core, core)),
        }
    }
    let run = |(first, last): (u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    runs.into_iter().map(run).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_ranges() {
        let table: [(&[u32], &str); 5] = [
            (&[], ""),
            (&[3], "3"),
            (&[0, 1, 2, 3, 5], "0-3,5"),
            (&[7, 3, 4], "7,3-4"),
            (&[u32::MAX, 0], "4294967295,0"),
        ];
        for (cores, text) in table {
            assert_eq!(ranges(cores), text);
        }
    }

    #[test]
    fn shares() {
        let core = |busy_ns| CoreBusy { window_ns: 1000, busy_ns, ..CoreBusy::default() };
        assert_eq!(core(250).share(), Some(0.25));
        assert_eq!(core(1010).share(), Some(1.0));
        assert_eq!(CoreBusy::default().share(), None);
        assert_eq!(busiest_share(&[core(100), core(900), core(500)]), Some(0.9));
        assert_eq!(busiest_share(&[]), None);
    }
}
