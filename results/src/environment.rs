//! The host a run ran on. Collected elsewhere; this is the record of it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Facts about the host. What could not be read is null or empty, never guessed. What a file of before version 1.2 does not have is null or
/// empty too.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Kernel release, as `uname -r` prints it.
    pub kernel_release: Option<String>,
    /// Machine architecture, as in `x86_64` or `aarch64`.
    pub architecture: String,
    /// CPU model name of the first core.
    pub cpu_model: Option<String>,
    /// Online CPU numbers by type of core; several on hosts with large and small ones. Since version 1.2.
    #[serde(default)]
    pub core_types: Vec<CoreType>,
    /// Online CPU numbers.
    pub cpus_online: Vec<u32>,
    /// CPU numbers this process may run on.
    pub cpus_allowed: Vec<u32>,
    /// CPU numbers that the scheduler leaves alone (`isolcpus=`). Since version 1.2, as the next.
    #[serde(default)]
    pub cpus_isolated: Vec<u32>,
    /// CPU numbers without a timer tick while one thread runs (`nohz_full=`).
    #[serde(default)]
    pub cpus_tickless: Vec<u32>,
    /// Installed memory.
    pub memory_bytes: Option<u64>,
    /// Load average over 1, 5 and 15 minutes before the run.
    pub load_average: Option<[f64; 3]>,
    /// Frequency governor of the first online CPU; null where the host has none (virtual machines).
    pub governor: Option<String>,
    /// Every governor in use, with its CPU numbers. Since version 1.2, as the next three.
    #[serde(default)]
    pub governors: BTreeMap<String, Vec<u32>>,
    /// What sets frequencies, as in `intel_pstate`.
    #[serde(default)]
    pub frequency_driver: Option<String>,
    /// Whether cores may run faster than their nominal frequency.
    #[serde(default)]
    pub turbo: Option<bool>,
    /// What the kernel reads the time from, as in `tsc`.
    #[serde(default)]
    pub clock_source: Option<String>,
    /// Whether two hardware threads share a core; null where the host does not tell.
    pub smt_active: Option<bool>,
    /// What the kernel says about each known flaw of the CPU, as in `Mitigation: PTI`. Since version 1.2, as the next three.
    #[serde(default)]
    pub mitigations: BTreeMap<String, String>,
    /// Settings of the kernel that change what is measured, by name.
    #[serde(default)]
    pub sysctls: BTreeMap<String, String>,
    /// Limits of this process.
    #[serde(default)]
    pub limits: Vec<ProcessLimit>,
    /// The interface through which the target is reached; null on loopback.
    #[serde(default)]
    pub nic: Option<Nic>,
    /// The version of zapring that made the file.
    pub zapring_version: String,
    /// The commit it was built from, with `-dirty` behind it when the sources were changed since; null when built without git. Since version
    /// 1.2.
    #[serde(default)]
    pub zapring_commit: Option<String>,
    /// How the host was tuned by `zapring tune`; null where that is not known. Since version 1.2.
    #[serde(default)]
    pub tuning: Option<Tuning>,
}

/// What the journals of `zapring tune` say.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Tuning {
    /// `untuned`, or the state of the newest journal that is not undone: `applied`, `applying` or `dirty`.
    pub state: String,
    /// That journal's id.
    pub journal: Option<String>,
    /// The profile that was applied, as in `throughput`.
    pub profile: Option<String>,
}

/// Cores that are alike.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CoreType {
    /// Model name; on arm64 implementer, part, variant and revision.
    pub model: Option<String>,
    /// The kernel's measure of what a core can do, 1024 for the fastest (`cpu_capacity`); null where all are alike.
    pub capacity: Option<u64>,
    /// Highest frequency in hertz; null where the host does not tell.
    pub most_hz: Option<u64>,
    /// CPU numbers.
    pub cpus: Vec<u32>,
}

/// One limit of a process (`getrlimit(2)`). Null is no limit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ProcessLimit {
    /// As in `max_open_files` or `max_locked_memory_bytes`.
    pub name: String,
    /// What applies.
    pub soft: Option<u64>,
    /// What it may be raised to.
    pub hard: Option<u64>,
}

/// A network interface.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Nic {
    /// As in `eth0`.
    pub name: String,
    /// Its driver; null for a virtual interface.
    pub driver: Option<String>,
    /// Largest packet without the link's own header.
    pub mtu_bytes: Option<u64>,
    /// Speed of each direction in bits per second; null where it is no device or does not tell.
    pub speed_bits_per_s: Option<u64>,
    /// Receive queues.
    pub receive_queues: u64,
    /// Send queues.
    pub send_queues: u64,
    /// The memory node it is attached to; null where there is only one.
    pub numa_node: Option<u64>,
}
