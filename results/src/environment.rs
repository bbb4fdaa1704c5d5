//! The host a run ran on. Collected elsewhere; this is the record of it.

use serde::{Deserialize, Serialize};

/// Facts about the host. What could not be read is null or empty, never guessed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Environment {
    /// Kernel release, as `uname -r` prints it.
    pub kernel_release: Option<String>,
    /// Machine architecture, as in `x86_64` or `aarch64`.
    pub architecture: String,
    /// CPU model name of the first core.
    pub cpu_model: Option<String>,
    /// Online CPU numbers.
    pub cpus_online: Vec<u32>,
    /// CPU numbers this process may run on.
    pub cpus_allowed: Vec<u32>,
    /// Installed memory.
    pub memory_bytes: Option<u64>,
    /// Load average over 1, 5 and 15 minutes before the run.
    pub load_average: Option<[f64; 3]>,
    /// Frequency governor of the first online CPU; null where the host has none (virtual machines).
    pub governor: Option<String>,
    /// Whether two hardware threads share a core; null where the host does not tell.
    pub smt_active: Option<bool>,
    /// The version of zapring that made the file.
    pub zapring_version: String,
}
