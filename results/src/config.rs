//! What the run was asked to do: every resolved value, and where it came from.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How requests are released.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Each connection sends its next request when an answer frees it: a throughput test.
    #[default]
    ClosedLoop,
    /// Requests are due at a fixed rate, whatever the server does.
    OpenLoop,
}

/// Where server and loader ran with respect to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// On one host, on cores of their own.
    Split,
    /// On one host, one server shard and one loader shard per core, talking only to each other.
    Paired,
    /// On one host, on at least one common core, without pairing.
    Shared,
    /// On two hosts.
    Remote,
    /// The loader was not told where the server runs.
    #[default]
    Unknown,
}

impl Placement {
    /// The word in the file and in reports.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Split => "split",
            Self::Paired => "paired",
            Self::Shared => "shared",
            Self::Remote => "remote",
            Self::Unknown => "unknown",
        }
    }

    /// The placement of two processes on one host: `Shared` when the core lists overlap, `Split` when not, `Unknown` when the server's
    /// list is empty. `Paired` is a promise only the caller can make.
    #[must_use]
    pub fn on_one_host(server_cores: &[u32], loader_cores: &[u32]) -> Self {
        if server_cores.is_empty() {
            Self::Unknown
        } else if server_cores.iter().any(|core| loader_cores.contains(core)) {
            Self::Shared
        } else {
            Self::Split
        }
    }
}

/// Where a value of [`Config`] came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Given on the command line.
    Flag,
    /// Read from a file.
    File,
    /// Not given.
    Default,
}

/// One request header as given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// Name, as spelled by the user.
    pub name: String,
    /// Value, without surrounding blanks.
    pub value: String,
}

/// The engine that moved the loader's bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct EngineConfig {
    /// `monoio`, `uring`, `epoll` or another engine's name.
    pub name: String,
    /// Ring setup flags the kernel granted, in kernel words; empty for engines without a ring.
    pub flags: Vec<String>,
    /// What else the kernel has and the ring engine uses, as in `RECV_MULTISHOT`; empty for the other engines. Since version 1.1.
    #[serde(default)]
    pub features: Vec<String>,
    /// Options that differ from the engine's defaults, by name with unit, as in `buffers` or `spin_ns`; a switch that is on is 1. Since
    /// version 1.1.
    #[serde(default)]
    pub options: BTreeMap<String, u64>,
}

/// What goes over the floor wire, in bytes of whole frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FloorConfig {
    /// Bytes of each request.
    pub request_bytes: u64,
    /// Bytes of each reply.
    pub reply_bytes: u64,
}

/// Every resolved value of a load run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Config {
    /// The target, as given.
    pub url: String,
    /// The wire the scheme picked: `http`, `zap` or `floor`.
    pub wire: String,
    /// Connections over all threads.
    pub connections: u32,
    /// Loader threads, one pinned to each of `cores`.
    pub threads: u32,
    /// Loader cores in pinning order; empty when not pinned.
    pub cores: Vec<u32>,
    /// Asked requests per second over all connections; null in closed loop.
    pub rate_per_s: Option<u64>,
    /// Requests after which a connection was closed and made again; null for none. Since version 1.1, as the next.
    #[serde(default)]
    pub requests_per_conn: Option<u64>,
    /// Connections begun per second before the start; null for as fast as they were accepted.
    #[serde(default)]
    pub connect_rate_per_s: Option<u64>,
    /// Local addresses that connections were made from, as given, blocks included; empty for what the kernel chose. Since version 1.1, as
    /// the next two.
    #[serde(default)]
    pub sources: Vec<String>,
    /// How many addresses these are.
    #[serde(default)]
    pub source_addresses: u32,
    /// `ipv4` or `ipv6` where only such addresses of the target were to be used.
    #[serde(default)]
    pub family: Option<String>,
    /// Requests one connection may have under way.
    pub pipeline: u32,
    /// Requests to send (`-n`); null when the run is bounded by time.
    pub requests: Option<u64>,
    /// Asked length of the measured part; null when bounded by `requests`.
    pub duration_ns: Option<u64>,
    /// Length of the excluded warm-up.
    pub warmup_ns: u64,
    /// A request older than this counts as `timeout`.
    pub timeout_ns: u64,
    /// How long requests under way were waited for at the end, at most. Null before version 1.1.
    #[serde(default)]
    pub drain_ns: Option<u64>,
    /// Request method; empty on floor.
    pub method: String,
    /// Request headers given by the user, in order, duplicates kept.
    pub headers: Vec<Header>,
    /// Request body length.
    pub body_bytes: u64,
    /// Request files, as given, each with its weight; method, headers and body say nothing then. Since version 1.1, as the next.
    #[serde(default)]
    pub request_files: Vec<String>,
    /// The scenario file, likewise.
    #[serde(default)]
    pub scenario_file: Option<String>,
    /// Status codes that count as success, as in `200-299`; empty on floor.
    pub expect: String,
    /// Sizes on the floor wire; null on others. Since version 1.1.
    #[serde(default)]
    pub floor: Option<FloorConfig>,
    /// The name of the scenario that the request was taken from; null for a request of the user's own. Since version 1.2.
    #[serde(default)]
    pub scenario: Option<String>,
    /// Where server and loader ran.
    pub placement: Placement,
    /// The loader's engine.
    pub engine: EngineConfig,
    /// Where each value came from, by key of this block.
    pub origins: BTreeMap<String, Origin>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placement_from_core_lists() {
        assert_eq!(Placement::on_one_host(&[0], &[1]), Placement::Split);
        assert_eq!(Placement::on_one_host(&[0, 1], &[1, 2]), Placement::Shared);
        assert_eq!(Placement::on_one_host(&[], &[1]), Placement::Unknown);
    }
}
