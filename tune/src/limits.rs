//! The named bounds of this crate, each with its unit and its reason.

use std::time::Duration;

/// Highest CPU number taken from a list or mask: the largest `NR_CPUS` a Linux kernel is built with is 8192.
pub const MAX_CPU: u32 = 8191;

/// Most bytes read of one file below `/proc` or `/sys`. The longest, `/proc/interrupts`, has some 11 bytes per CPU and interrupt.
pub const MAX_FACT_BYTES: u64 = 64 * 1024 * 1024;

/// Most network interfaces that are looked at: a host with more has them for its containers.
pub const MAX_NICS: usize = 256;

/// Most receive or transmit queues of one interface: the kernel's `netdev_max_tx_queues` bounds are far above, devices stay below.
pub const MAX_QUEUES: u32 = 4096;

/// Most processes that are asked for their name or sockets.
pub const MAX_PROCESSES: usize = 65_536;

/// Most packet sockets that are reported with their owners.
pub const MAX_SNIFFERS: usize = 64;

/// Most idle states of a CPU (`CPUIDLE_STATE_MAX` is 10).
pub const MAX_IDLE_STATES: u32 = 16;

/// Most journals that are kept: with more, the oldest closed ones are removed.
pub const MAX_JOURNALS: usize = 64;

/// Most bytes of one journal. A thousand CPUs with three idle states each, and as many queues, take about 2 MiB.
pub const MAX_JOURNAL_BYTES: u64 = 64 * 1024 * 1024;

/// Longest wait for a link to come back after its rings or channels were changed. Ten-gigabit copper takes about five seconds.
pub const LINK_WAIT: Duration = Duration::from_secs(30);

/// How often a link is looked at meanwhile.
pub const LINK_POLL: Duration = Duration::from_millis(50);

/// How long a link may look up right after a change before it goes down: drivers reset themselves with some delay.
pub const LINK_SETTLE: Duration = Duration::from_millis(200);

/// Exit latency in microseconds beyond which an idle state is switched off for latency: a wake-up from C1 is below it, from a deep state not.
pub const IDLE_LATENCY_US: u64 = 10;

/// Connections that flow steering is sized for unless told otherwise (the example of the kernel's scaling.rst).
pub const DEFAULT_CONNECTIONS: u32 = 32_768;

/// Most entries of a flow table: the kernel's own bound is 2^29; more than this is memory for nothing.
pub const MAX_FLOWS: u64 = 1 << 24;

/// Load average per CPU beyond which a host is busy with something else.
pub const BUSY_LOAD_PER_CPU: f64 = 0.3;
