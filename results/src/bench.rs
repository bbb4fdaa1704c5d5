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
    /// The server's command line, without the folder of its program.
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

    /// Fills `ratios`: `wire` over `base` for every level that has both, in the order of the rows. Of a level with several rows the nth of one
    /// wire is held against the nth of the other, and the geometric mean of those ratios is kept.
    pub fn compare_wires(&mut self, wire: &str, base: &str) {
        self.ratios.clear();
        let mut levels = Vec::new();
        for row in self.rows.iter().filter(|row| row.wire == wire) {
            if !levels.contains(&row.level()) {
                levels.push(row.level());
            }
        }
        let of = |wire: &'_ str, level| {
            self.rows.iter().filter(move |row| row.wire == wire && row.level() == level).collect()
        };
        let ratios = levels.into_iter().filter_map(|level| {
            let (rows, others): (Vec<&BenchRow>, Vec<&BenchRow>) = (of(wire, level), of(base, level));
            let pairs: Vec<_> = rows.into_iter().zip(others).collect();
            Ratio::of(&pairs)
        });
        self.ratios = ratios.collect();
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

    /// Of runs on one level, each with its own base; `None` without any.
    fn of(pairs: &[(&BenchRow, &BenchRow)]) -> Option<Self> {
        let (row, base) = pairs.first()?;
        let cpu = |row: &BenchRow| {
            let cpu_ns = row.run.server.as_ref()?.cpu_ns;
            (row.run.requests.ok > 0).then(|| cpu_ns as f64 / row.run.requests.ok as f64)
        };
        Some(Self {
            scenario: row.run.config.scenario.clone(),
            connections: row.connections,
            wire: row.wire.clone(),
            base: base.wire.clone(),
            ok_per_s: mean_ratio(pairs, |row| row.run.rates.ok_per_s),
            server_cpu_per_request: mean_ratio(pairs, cpu),
        })
    }
}

/// The geometric mean, to a ten-thousandth, so that files are stable; `None` when one of them would not be a finite number.
fn mean_ratio(pairs: &[(&BenchRow, &BenchRow)], figure: impl Fn(&BenchRow) -> Option<f64>) -> Option<f64> {
    let ratio = |(row, base): &(&BenchRow, &BenchRow)| Some(figure(row)? / figure(base).filter(|base| *base > 0.0)?);
    let ratios: Vec<f64> = pairs.iter().map(ratio).collect::<Option<_>>()?;
    let mean = match ratios.as_slice() {
        // Its logarithm would cost the last digits, and a rate of zero is a ratio too.
        [one] => *one,
        several => (several.iter().map(|ratio| ratio.ln()).sum::<f64>() / several.len() as f64).exp(),
    };
    mean.is_finite().then(|| (mean * 10_000.0).round() / 10_000.0)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn row(wire: &str, connections: u32, ok_per_s: f64) -> BenchRow {
        let mut run = Run::default();
        run.rates.ok_per_s = Some(ok_per_s);
        BenchRow { wire: wire.to_owned(), connections, spread: None, counts: None, run }
    }

    #[test]
    fn wires_are_compared_row_by_row_within_a_level() {
        let rows = vec![
            row("http", 1, 100.0),
            row("zap", 1, 150.0),
            row("http", 8, 1000.0),
            row("zap", 8, 2000.0),
            row("zap", 8, 4000.0),
            row("http", 8, 500.0),
            row("zap", 64, 1.0),
        ];
        let mut bench = Bench { rows, ..Bench::default() };
        bench.compare_wires("zap", "http");
        let found: Vec<_> = bench.ratios.iter().map(|ratio| (ratio.connections, ratio.ok_per_s)).collect();
        assert_eq!(found, [(1, Some(1.5)), (8, Some(4.0))]);
        assert!(bench.ratios.iter().all(|ratio| ratio.server_cpu_per_request.is_none()));
    }
}
