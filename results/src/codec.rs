//! The codec axis: what every operation of every codec costs in process, and what every message weighs on the wire.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::exit_code::ExitCode;
use crate::median::median;
use crate::reader::{self, ReadError, Schema};
use crate::timestamp;
use crate::validity::{self, Validity};

/// Name and version of the codec file written by this build.
pub const SCHEMA: Schema = Schema { name: "zapring.codec", major: 1, minor: 0 };

/// What a program was built by and for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Toolchain {
    /// `rustc --version`.
    pub rustc: String,
    /// Target triple.
    pub target: String,
    /// `0` to `3`, `s` or `z`.
    pub opt_level: String,
    /// Target features that the compiler could count on.
    pub target_features: Vec<String>,
    /// Whether assertions for debugging were compiled in.
    pub debug_assertions: bool,
}

/// The axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Axis {
    /// `zapring.codec`.
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
    /// Stopped by the user: rounds are missing.
    pub interrupted: bool,
    /// The command line that was typed.
    pub command: Vec<String>,
    /// The core that everything ran on; null when not pinned.
    pub core: Option<u32>,
    /// What measured it.
    pub toolchain: Toolchain,
    /// The host before the first round.
    pub environment: Environment,
    /// Every operation of every codec.
    pub cases: Vec<AxisCase>,
    /// Every message on the wire.
    pub wire_bytes: Vec<WireBytes>,
    /// Reasons to doubt it.
    pub validity: Vec<Validity>,
}

/// One operation of one codec.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct AxisCase {
    /// The message or pair of messages, as in `rpc` or `echo-tiny request`.
    pub message: String,
    /// `decode`, `encode`, `round trip` or `handler`.
    pub operation: String,
    /// `zap`, `http`, or the crate of a JSON library.
    pub codec: String,
    /// Bytes that one operation reads or writes.
    pub bytes: u64,
    /// Operations of each batch.
    pub operations: u64,
    /// How long each batch took, round by round; all cases were interleaved within each round.
    pub elapsed_ns: Vec<u64>,
    /// Allocations and reallocations over `allocations_over` operations.
    pub allocations: u64,
    /// Operations over which they were counted.
    pub allocations_over: u64,
    /// Instructions of one operation under callgrind; null where they were not counted.
    pub instructions: Option<f64>,
}

/// One scenario on one wire, in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct WireBytes {
    /// The scenario.
    pub scenario: String,
    /// `zap` or `http`.
    pub wire: String,
    /// The whole request.
    pub request: u64,
    /// Its body.
    pub request_body: u64,
    /// The whole answer.
    pub answer: u64,
    /// Its body.
    pub answer_body: u64,
    /// Bytes of the answer that the server copies into its output buffer; the rest is sent from where it lies.
    pub answer_copied: u64,
}

impl Axis {
    /// Reads a codec file.
    ///
    /// # Errors
    /// [`ReadError`]: missing, truncated, broken, another schema, or a newer major version.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        reader::read(path, SCHEMA)
    }

    /// The file name used when none is given: `codec-20261130T133533Z.json`.
    #[must_use]
    pub fn file_name(started_unix_ns: u64) -> String {
        format!("codec-{}.json", timestamp::compact(started_unix_ns))
    }

    /// The case of another codec that does the same with the same message.
    #[must_use]
    pub fn twin(&self, case: &AxisCase, codec: &str) -> Option<&AxisCase> {
        let same = |other: &&AxisCase| {
            (&other.message, &other.operation) == (&case.message, &case.operation) && other.codec == codec
        };
        self.cases.iter().find(same)
    }

    /// Every exit code this calls for.
    #[must_use]
    pub fn exit_codes(&self) -> Vec<ExitCode> {
        validity::exit_codes(self.interrupted, &self.validity, false)
    }
}

impl AxisCase {
    /// Nanoseconds of one operation in one round.
    fn ns(&self, round: usize) -> Option<f64> {
        let elapsed_ns = *self.elapsed_ns.get(round)?;
        (self.operations > 0).then(|| elapsed_ns as f64 / self.operations as f64)
    }

    /// Nanoseconds of one operation: the median of the rounds.
    #[must_use]
    pub fn ns_per_operation(&self) -> Option<f64> {
        median((0..self.elapsed_ns.len()).filter_map(|round| self.ns(round)))
    }

    /// How many times as long this takes as the other: the median of the ratios round by round.
    #[must_use]
    pub fn times(&self, base: &Self) -> Option<f64> {
        let rounds = self.elapsed_ns.len().min(base.elapsed_ns.len());
        median((0..rounds).filter_map(|round| Some(self.ns(round)? / base.ns(round).filter(|ns| *ns > 0.0)?)))
    }

    /// Allocations of one operation.
    #[must_use]
    pub fn allocations_per_operation(&self) -> Option<f64> {
        (self.allocations_over > 0).then(|| self.allocations as f64 / self.allocations_over as f64)
    }
}

/// Nothing measured, of this build's schema version.
impl Default for Axis {
    fn default() -> Self {
        Self {
            schema: SCHEMA.name.to_owned(),
            schema_major: SCHEMA.major,
            schema_minor: SCHEMA.minor,
            run_id: String::new(),
            started_at: String::new(),
            interrupted: false,
            command: Vec::new(),
            core: None,
            toolchain: Toolchain::default(),
            environment: Environment::default(),
            cases: Vec::new(),
            wire_bytes: Vec::new(),
            validity: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(codec: &str, operations: u64, elapsed_ns: &[u64]) -> AxisCase {
        AxisCase { codec: codec.to_owned(), operations, elapsed_ns: elapsed_ns.to_vec(), ..AxisCase::default() }
    }

    #[test]
    fn figures_are_medians_and_ratios_are_taken_round_by_round() {
        let (zap, json) = (case("zap", 100, &[1000, 2000, 1000]), case("serde_json", 10, &[2000, 4000, 3000]));
        assert_eq!((zap.ns_per_operation(), json.ns_per_operation()), (Some(10.0), Some(300.0)));
        assert_eq!(json.times(&zap), Some(20.0), "20, 20 and 30");
        assert_eq!(case("zap", 1, &[4, 2]).ns_per_operation(), Some(3.0));
        for nothing in [case("zap", 0, &[1]), case("zap", 1, &[])] {
            assert_eq!((nothing.ns_per_operation(), json.times(&nothing)), (None, None));
        }
        assert_eq!(zap.allocations_per_operation(), None);
    }

    #[test]
    fn twins_do_the_same_with_the_same_message() {
        let mut other = case("serde_json", 1, &[]);
        other.operation = "encode".to_owned();
        let axis = Axis { cases: vec![case("zap", 1, &[]), other], ..Axis::default() };
        assert!(axis.twin(&axis.cases[0], "zap").is_some() && axis.twin(&axis.cases[0], "serde_json").is_none());
    }
}
