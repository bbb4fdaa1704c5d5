//! One bench: several runs on one host in one go, and how the wires compare.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::Placement;
use crate::counts::ServerCounts;
use crate::environment::Environment;
use crate::exit_code::ExitCode;
use crate::limits::LEAK_BYTES;
use crate::reader::{self, ReadError, Schema};
use crate::run::Run;
use crate::spread::Spread;
use crate::timestamp;
use crate::validity::{self, Validity, ValidityCode};

/// Name and version of the bench file written by this build.
pub const SCHEMA: Schema = Schema { name: "zapring.bench", major: 1, minor: 2 };

/// A bench.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bench {
    /// `zapring.bench`.
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
    /// Start of the bench, RFC 3339 in UTC.
    #[schemars(extend("format" = "date-time"))]
    pub started_at: String,
    /// Stopped by the user or by a failure: rows are missing.
    pub interrupted: bool,
    /// The command line that was typed.
    pub command: Vec<String>,
    /// The server's command line.
    pub server_command: Vec<String>,
    /// Where the two sides ran with respect to each other, as every run says too. `unknown` before version 1.1.
    #[serde(default)]
    pub placement: Placement,
    /// Cores of the server.
    pub server_cores: Vec<u32>,
    /// Cores of the loader.
    pub loader_cores: Vec<u32>,
    /// The host before the first run.
    pub environment: Environment,
    /// Runs in the order they were made.
    pub rows: Vec<BenchRow>,
    /// The second wire against the first, per level.
    pub ratios: Vec<Ratio>,
    /// Reasons to doubt the whole bench.
    pub validity: Vec<Validity>,
}

/// One run of a bench.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchRow {
    /// Wire name, as in the target's scheme.
    pub wire: String,
    /// Connections.
    pub connections: u32,
    /// How the run's connections lay over the server's shards; null where nobody asked. Since version 1.1.
    #[serde(default)]
    pub spread: Option<Spread>,
    /// What the server counted of itself meanwhile; null where nobody asked. Since version 1.1.
    #[serde(default)]
    pub counts: Option<ServerCounts>,
    /// The run.
    pub run: Run,
}

/// One wire divided by another at one level. Null where either figure is missing or zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratio {
    /// The scenario; null for a request of the user's own. Since version 1.2.
    #[serde(default)]
    pub scenario: Option<String>,
    /// Connections.
    pub connections: u32,
    /// The wire above the line.
    pub wire: String,
    /// The wire below the line.
    pub base: String,
    /// Ratio of `ok` requests per second: above 1 the first wire is faster.
    pub ok_per_s: Option<f64>,
    /// Ratio of server CPU time per request: below 1 the first wire is cheaper.
    pub server_cpu_per_request: Option<f64>,
}

impl Bench {
    /// Reads a bench file.
    ///
    /// # Errors
    /// [`ReadError`]: missing, truncated, broken, another schema, or a newer major version.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        reader::read(path, SCHEMA)
    }

    /// The file name used when none is given: `bench-20261130T133533Z.json`.
    #[must_use]
    pub fn file_name(started_unix_ns: u64) -> String {
        format!("bench-{}.json", timestamp::compact(started_unix_ns))
    }

    /// Fills `ratios`: `wire` over `base` for every level that has both, in the order of the rows.
    pub fn compare_wires(&mut self, wire: &str, base: &str) {
        self.ratios.clear();
        for row in self.rows.iter().filter(|row| row.wire == wire) {
            let other = self.rows.iter().find(|other| other.wire == base && other.level() == row.level());
            if let Some(other) = other {
                self.ratios.push(Ratio::of(row, other));
            }
        }
    }

    /// A doubt when the server's heap grew over the whole bench by more than [`LEAK_BYTES`]. The first row is where it starts from: until
    /// then contexts and buffers are made for the first time.
    #[must_use]
    pub fn leak(&self) -> Option<Validity> {
        let live = |row: Option<&BenchRow>| row?.counts?.live_end_bytes;
        let grown = live(self.rows.last())?.saturating_sub(live(self.rows.first())?);
        (grown > LEAK_BYTES).then(|| {
            let mib = grown as f64 / f64::from(1 << 20);
            let detail = format!("the server's heap grew by {mib:.1} MiB from the first run's end to the last one's");
            Validity::note(ValidityCode::Leak, detail)
        })
    }

    /// Every exit code this bench calls for, over all rows.
    #[must_use]
    pub fn exit_codes(&self, max_failed: u64) -> Vec<ExitCode> {
        let mut codes: Vec<ExitCode> = self.rows.iter().flat_map(|row| row.run.exit_codes(max_failed)).collect();
        codes.extend(validity::exit_codes(self.interrupted, &self.validity, false));
        codes
    }
}

impl BenchRow {
    /// What is compared between wires: the scenario, if there is one, and the connections.
    #[must_use]
    pub fn level(&self) -> (Option<&str>, u32) {
        (self.run.config.scenario.as_deref(), self.connections)
    }
}

impl Ratio {
    /// As [`BenchRow::level`].
    #[must_use]
    pub fn level(&self) -> (Option<&str>, u32) {
        (self.scenario.as_deref(), self.connections)
    }

    fn of(row: &BenchRow, base: &BenchRow) -> Self {
        let cpu = |row: &BenchRow| {
            let cpu_ns = row.run.server.as_ref()?.cpu_ns;
            (row.run.requests.ok > 0).then(|| cpu_ns as f64 / row.run.requests.ok as f64)
        };
        Self {
            scenario: row.run.config.scenario.clone(),
            connections: row.connections,
            wire: row.wire.clone(),
            base: base.wire.clone(),
            ok_per_s: divide(row.run.rates.ok_per_s, base.run.rates.ok_per_s),
            server_cpu_per_request: divide(cpu(row), cpu(base)),
        }
    }
}

/// To a ten-thousandth, so that files are stable; `None` when it would not be a finite number.
fn divide(above: Option<f64>, below: Option<f64>) -> Option<f64> {
    let ratio = above? / below.filter(|below| *below > 0.0)?;
    ratio.is_finite().then(|| (ratio * 10_000.0).round() / 10_000.0)
}

/// An empty bench of this build's schema version.
impl Default for Bench {
    fn default() -> Self {
        Self {
            schema: SCHEMA.name.to_owned(),
            schema_major: SCHEMA.major,
            schema_minor: SCHEMA.minor,
            run_id: String::new(),
            started_at: String::new(),
            interrupted: false,
            command: Vec::new(),
            server_command: Vec::new(),
            placement: Placement::default(),
            server_cores: Vec::new(),
            loader_cores: Vec::new(),
            environment: Environment::default(),
            rows: Vec::new(),
            ratios: Vec::new(),
            validity: Vec::new(),
        }
    }
}
