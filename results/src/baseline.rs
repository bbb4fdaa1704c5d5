//! A baseline: what a build cost in several rounds, to hold later builds against. A gate measures the same again, in the same form.
//!
//! Hosts drift, virtual ones by a factor within minutes. Every round therefore also holds what a plain exchange over the kernel's TCP cost
//! at that moment, in code that is no part of what is measured (the yardstick), and costs are compared in that unit.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counts::ServerCounts;
use crate::environment::Environment;
use crate::reader::{self, ReadError, Schema};
use crate::run::Run;

/// Name and version of the baseline written by this build.
pub const SCHEMA: Schema = Schema { name: "zapring.baseline", major: 1, minor: 1 };

/// Rounds of a build under one configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Baseline {
    /// `zapring.baseline`.
    #[schemars(extend("const" = SCHEMA.name))]
    pub schema: String,
    /// Major version.
    #[schemars(extend("const" = SCHEMA.major))]
    pub schema_major: u32,
    /// Minor version.
    #[schemars(extend("const" = SCHEMA.minor))]
    pub schema_minor: u32,
    /// Unique per host.
    pub run_id: String,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// The command line that was typed.
    pub command: Vec<String>,
    /// How it was measured; a gate measures in the same way.
    pub config: GateConfig,
    /// The host before the first round.
    pub environment: Environment,
    /// In the order they were made, all against one server process.
    pub rounds: Vec<Round>,
}

/// How the rounds of a baseline are made.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct GateConfig {
    /// Wires, in the order of the first round.
    pub wires: Vec<String>,
    /// What is asked of the server, but on floor.
    pub path: String,
    /// Connections of every run.
    pub connections: u32,
    /// Measured part of each run.
    pub duration_ns: u64,
    /// Warm-up before it.
    pub warmup_ns: u64,
    /// The server's engine.
    pub server_engine: String,
    /// The loader's engine.
    pub loader_engine: String,
    /// Cores of the server.
    pub server_cores: Vec<u32>,
    /// Cores of the loader.
    pub loader_cores: Vec<u32>,
}

/// One round: the yardstick, and a run on every wire.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Round {
    /// CPU time of one plain exchange on the same cores, mean of both ends.
    pub yardstick_ns: u64,
    /// One per wire.
    pub points: Vec<GatePoint>,
}

/// What one run said.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct GatePoint {
    /// The wire.
    pub wire: String,
    /// Good answers.
    pub ok: u64,
    /// Requests that failed, during the warm-up too.
    pub failed: u64,
    /// CPU time of the server's threads.
    pub server_cpu_ns: u64,
    /// CPU time of the loader's threads.
    pub loader_cpu_ns: u64,
    /// The server's resident memory at the end.
    pub rss_end_bytes: u64,
    /// Its most resident memory over the run.
    pub rss_peak_bytes: u64,
    /// What the server counted of itself; null where it could not be asked.
    pub counts: Option<ServerCounts>,
}

impl GatePoint {
    /// What counts of a run.
    #[must_use]
    pub fn of(wire: &str, run: &Run, counts: Option<ServerCounts>) -> Self {
        let server = run.server.clone().unwrap_or_default();
        Self {
            wire: wire.to_owned(),
            ok: run.requests.ok,
            failed: run.requests.failed() + run.warmup.map_or(0, |warmup| warmup.requests.failed()),
            server_cpu_ns: server.cpu_ns,
            loader_cpu_ns: run.loader.cpu_ns,
            rss_end_bytes: server.rss_end_bytes,
            rss_peak_bytes: server.rss_peak_bytes,
            counts,
        }
    }
}

impl Baseline {
    /// Reads a baseline.
    ///
    /// # Errors
    /// [`ReadError`]: missing, truncated, broken, another schema, or a newer major version.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        reader::read(path, SCHEMA)
    }

    /// Whether instructions were counted in any of its runs.
    #[must_use]
    pub fn has_instructions(&self) -> bool {
        let mut points = self.rounds.iter().flat_map(|round| &round.points);
        points.any(|point| point.counts.is_some_and(|counts| counts.instructions.is_some()))
    }

    /// The points of one wire, in the order of the rounds, each with its round's yardstick.
    pub fn points<'a>(&'a self, wire: &'a str) -> impl Iterator<Item = (u64, &'a GatePoint)> {
        self.rounds.iter().flat_map(move |round| {
            round.points.iter().filter(move |point| point.wire == wire).map(|point| (round.yardstick_ns, point))
        })
    }
}

/// An empty baseline of this build's schema version.
impl Default for Baseline {
    fn default() -> Self {
        Self {
            schema: SCHEMA.name.to_owned(),
            schema_major: SCHEMA.major,
            schema_minor: SCHEMA.minor,
            run_id: String::new(),
            started_at: String::new(),
            command: Vec::new(),
            config: GateConfig::default(),
            environment: Environment::default(),
            rounds: Vec::new(),
        }
    }
}
