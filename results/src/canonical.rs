//! The canonical codec suite: three cases in every mode, as other implementations of it report them.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::codec::Toolchain;
use crate::environment::Environment;
use crate::exit_code::ExitCode;
use crate::reader::{self, ReadError, Schema};
use crate::timestamp;
use crate::validity::{self, Validity};

/// Name and version of the file written by this build.
pub const SCHEMA: Schema = Schema { name: "zapring.canonical", major: 1, minor: 0 };

/// One round of the suite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Canonical {
    /// `zapring.canonical`.
    #[schemars(extend("const" = SCHEMA.name))]
    pub schema: String,
    /// Major version.
    #[schemars(extend("const" = SCHEMA.major))]
    pub schema_major: u32,
    /// Minor version.
    #[schemars(extend("const" = SCHEMA.minor))]
    pub schema_minor: u32,
    /// The major version again, under the name that other implementations of the suite give it.
    pub schema_version: u32,
    /// Unique per host.
    pub run_id: String,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// Stopped by the user: measurements are missing.
    pub interrupted: bool,
    /// The command line that was typed.
    pub command: Vec<String>,
    /// The core that everything ran on, the child at the other end of the pipe included; null when not pinned.
    pub core: Option<u32>,
    /// The host before the first measurement.
    pub host: Environment,
    /// What measured it.
    pub toolchain: Toolchain,
    /// Iterations of each case.
    pub iterations: Iterations,
    /// The measurements in the order they were made.
    pub runs: Vec<CanonicalRun>,
    /// Reasons to doubt it.
    pub validity: Vec<Validity>,
}

/// How often each case is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Iterations {
    /// Parking lots of up to 199 cars.
    pub carsales: u64,
    /// Lists of up to 999 search results.
    pub catrank: u64,
    /// Arithmetic expressions.
    pub eval: u64,
}

/// One measurement. Every iteration made a request of its own, read it, answered it, and checked the answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CanonicalRun {
    /// `carsales`, `catrank` or `eval`.
    pub case: String,
    /// `object` (no bytes leave the builder), `bytes` (written and read again) or `pipe` (a child process answers).
    pub mode: String,
    /// `none` or `packed`.
    pub compression: String,
    /// `reuse` where buffers are kept from one iteration to the next, `no-reuse` where each gets new ones.
    pub scratch: String,
    /// Iterations.
    pub iterations: u64,
    /// How long all of them took.
    pub elapsed_ns: u64,
    /// Bytes of all requests and answers as they were carried; in mode `object` as they were built.
    pub message_bytes: u64,
    /// Allocations of the measuring thread, the child's not included.
    pub allocations: u64,
}

impl CanonicalRun {
    /// Iterations per second; `None` for no time.
    #[must_use]
    pub fn per_s(&self) -> Option<f64> {
        (self.elapsed_ns > 0).then(|| self.iterations as f64 * 1e9 / self.elapsed_ns as f64)
    }
}

impl Canonical {
    /// Reads a file of the suite.
    ///
    /// # Errors
    /// [`ReadError`]: missing, truncated, broken, another schema, or a newer major version.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        reader::read(path, SCHEMA)
    }

    /// The file name used when none is given: `canonical-20261130T133533Z.json`.
    #[must_use]
    pub fn file_name(started_unix_ns: u64) -> String {
        format!("canonical-{}.json", timestamp::compact(started_unix_ns))
    }

    /// Every exit code this calls for.
    #[must_use]
    pub fn exit_codes(&self) -> Vec<ExitCode> {
        validity::exit_codes(self.interrupted, &self.validity, false)
    }
}

/// Nothing measured, of this build's schema version.
impl Default for Canonical {
    fn default() -> Self {
        Self {
            schema: SCHEMA.name.to_owned(),
            schema_major: SCHEMA.major,
            schema_minor: SCHEMA.minor,
            schema_version: SCHEMA.major,
            run_id: String::new(),
            started_at: String::new(),
            interrupted: false,
            command: Vec::new(),
            core: None,
            host: Environment::default(),
            toolchain: Toolchain::default(),
            iterations: Iterations::default(),
            runs: Vec::new(),
            validity: Vec::new(),
        }
    }
}
