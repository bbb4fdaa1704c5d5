//! One load run: the document `zapring load --json` writes and every report is made from.
//!
//! Versions: within a major version fields are only added, and a reader takes a newer minor. A field that a reader of this version
//! cannot do without makes a new major. Every time is an integer number of nanoseconds, every missing figure is null.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::address_use::AddressUse;
use crate::bytes::Bytes;
use crate::config::{Config, Mode};
use crate::cores::CoreRow;
use crate::environment::Environment;
use crate::exit_code::ExitCode;
use crate::host::HostBlock;
use crate::latency::Distribution;
use crate::limits::MAX_SAMPLE_CHARS;
use crate::rates::Rates;
use crate::reader::{self, ReadError, Schema};
use crate::request_row::{CategoryRow, RequestRow, SkippedRequest};
use crate::requests::{Outcome, Requests};
use crate::series::SeriesRow;
use crate::threshold::{LimitRow, Threshold};
use crate::usage::{LoaderBlock, ServerBlock};
use crate::validity::{self, Validity, ValidityCode};
use crate::verdict::VerdictBlock;
use crate::warmup::Warmup;

/// Name and version of the run file written by this build.
pub const SCHEMA: Schema = Schema { name: "zapring.run", major: 1, minor: 2 };

/// One load run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// `zapring.run`.
    #[schemars(extend("const" = SCHEMA.name))]
    pub schema: String,
    /// Major version.
    #[schemars(extend("const" = SCHEMA.major))]
    pub schema_major: u32,
    /// Minor version.
    #[schemars(extend("const" = SCHEMA.minor))]
    pub schema_minor: u32,
    /// Unique per host: see [`crate::timestamp::run_id`].
    pub run_id: String,
    /// Start of the run, RFC 3339 in UTC.
    #[schemars(extend("format" = "date-time"))]
    pub started_at: String,
    /// The command line that was typed; empty before version 1.2.
    #[serde(default)]
    pub command: Vec<String>,
    /// Closed or open loop.
    pub mode: Mode,
    /// Stopped by the user: the figures cover a part of the plan.
    pub interrupted: bool,
    /// Slowed by a per-request log.
    pub traced: bool,
    /// Real length of the measured part.
    pub elapsed_ns: u64,
    /// What was asked.
    pub config: Config,
    /// On what.
    pub environment: Environment,
    /// The target's addresses, with the connections of each; empty before version 1.1.
    #[serde(default)]
    pub addresses: Vec<AddressUse>,
    /// What became of the requests of the measured part.
    pub requests: Requests,
    /// Requests per second of the measured part.
    pub rates: Rates,
    /// Bytes of the measured part.
    pub bytes: Bytes,
    /// Latency of answered requests: from sent in closed loop, from due in open loop, until done.
    pub latency: Distribution,
    /// Open loop: from sent until done. Null in closed loop, where the latency is that. Since version 1.1, as the next three.
    #[serde(default)]
    pub service_time: Option<Distribution>,
    /// Open loop: from due until a connection had room.
    #[serde(default)]
    pub conn_wait: Option<Distribution>,
    /// Open loop: from the later of the two until sent, the loader's own fault.
    #[serde(default)]
    pub send_lag: Option<Distribution>,
    /// Open loop: requests sent more than [`crate::limits::LATE_NS`] after they were due.
    #[serde(default)]
    pub late: Option<u64>,
    /// Figures of each request where they came from request files or a scenario; else empty. Since version 1.1, as the next two.
    #[serde(default)]
    pub named_requests: Vec<RequestRow>,
    /// The same requests by category; empty where none has one.
    #[serde(default)]
    pub categories: Vec<CategoryRow>,
    /// Requests of the scenario that were left out.
    #[serde(default)]
    pub skipped_requests: Vec<SkippedRequest>,
    /// Time to make each connection.
    pub connect: Distribution,
    /// Answers by exact status code.
    pub status_codes: BTreeMap<u16, u64>,
    /// The first message of each kind of failure.
    #[schemars(extend("propertyNames" = serde_json::json!({ "enum": Outcome::ALL.map(Outcome::key) })))]
    pub error_samples: BTreeMap<Outcome, String>,
    /// Connections made again after the first ones, whoever closed them.
    pub reconnects: u64,
    /// What came before the measured part; null without one.
    pub warmup: Option<Warmup>,
    /// One row per loader shard.
    pub cores: Vec<CoreRow>,
    /// The measured part over time, and what ended after it. Since version 1.2.
    #[serde(default)]
    pub series: Vec<SeriesRow>,
    /// The loader's own cost.
    pub loader: LoaderBlock,
    /// The server's cost, where it could be watched.
    pub server: Option<ServerBlock>,
    /// What the host counted over the measured part; null where it was not sampled. Since version 1.1, as the next one.
    #[serde(default)]
    pub host: Option<HostBlock>,
    /// What limited the run.
    #[serde(default)]
    pub verdict: Option<VerdictBlock>,
    /// Limits that were asked to be kept, and what became of them. Since version 1.2.
    #[serde(default)]
    pub limits: Vec<LimitRow>,
    /// Reasons to doubt the figures.
    pub validity: Vec<Validity>,
}

impl Run {
    /// Reads a run file.
    ///
    /// # Errors
    /// [`ReadError`]: missing, truncated, broken, another schema, or a newer major version.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        reader::read(path, SCHEMA)
    }

    /// Parses a run from JSON text; `input` names it in errors.
    ///
    /// # Errors
    /// As [`Run::read`], without `Io`.
    pub fn parse(bytes: &[u8], input: &str) -> Result<Self, ReadError> {
        reader::parse(bytes, SCHEMA, input)
    }

    /// Whether a newer version wrote this file, so that some of its fields were not read and it must not be written back.
    #[must_use]
    pub fn is_newer_minor(&self) -> bool {
        self.schema_major == SCHEMA.major && self.schema_minor > SCHEMA.minor
    }

    /// Keeps the first message of each kind of failure, cut to a bounded length.
    pub fn sample(&mut self, outcome: Outcome, message: &str) {
        self.error_samples.entry(outcome).or_insert_with(|| message.chars().take(MAX_SAMPLE_CHARS).collect());
    }

    /// Fills what follows from the rest: rates, per-request figures of both sides, the verdict, and the doubts that can be seen from the file
    /// itself (sums that disagree, failures of the warm-up, spinning, shared cores). Call once, last.
    pub fn conclude(&mut self) {
        self.rates = Rates::of(&self.requests, self.elapsed_ns);
        self.loader = std::mem::take(&mut self.loader).per_request(self.requests.ok);
        self.server = self.server.take().map(|server| server.per_request(self.requests.ok));
        self.verdict = Some(VerdictBlock::of(self));
        if let Err(mismatch) = self.requests.adds_up() {
            self.validity.push(Validity::fatal(ValidityCode::SumsDisagree, mismatch.to_string()));
        }
        let warmup_failed = self.warmup.map_or(0, |warmup| warmup.requests.failed_in(self.mode));
        if warmup_failed > 0 {
            let detail = format!("{warmup_failed} requests failed during the warm-up");
            self.validity.push(Validity::note(ValidityCode::WarmupFailures, detail));
        }
        if let Some(spin_ns) = self.config.engine.options.get("spin_ns") {
            let spin_us = *spin_ns as f64 / 1e3;
            let detail = format!("the loader spun for up to {spin_us} us before each sleep: CPU figures mean nothing");
            self.validity.push(Validity::note(ValidityCode::Spinning, detail));
        }
        if self.config.placement == crate::config::Placement::Shared {
            self.validity.push(Validity::note(ValidityCode::SharedCores, "server and loader share a core"));
        }
    }

    /// Compares a concluded run with the limits it was to keep.
    pub fn compare_with(&mut self, limits: &[Threshold]) {
        self.limits = limits.iter().map(|limit| limit.of(self)).collect();
    }

    /// The verdict; judged now where the file has none: before version 1.1 there was none, and most of what it is made from is missing.
    #[must_use]
    pub fn judged(&self) -> VerdictBlock {
        self.verdict.clone().unwrap_or_else(|| VerdictBlock::of(self))
    }

    /// Requests that went wrong. What an open loop did not send is no such request of the server: it is judged by the rate, of which up to one
    /// in a hundred is within what was asked, and more is [`ValidityCode::RateNotReached`].
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.requests.failed_in(self.mode)
    }

    /// Every exit code this run calls for; feed it to [`crate::exit_code::Ending::of`].
    #[must_use]
    pub fn exit_codes(&self, max_failed: u64) -> Vec<ExitCode> {
        let failed = self.failed();
        let mut codes = validity::exit_codes(self.interrupted, &self.validity, failed > max_failed);
        codes.extend(self.limits.iter().any(|limit| limit.crossed).then_some(ExitCode::LimitCrossed));
        codes
    }
}

/// An empty run of this build's schema version; the loader fills it.
impl Default for Run {
    fn default() -> Self {
        Self {
            schema: SCHEMA.name.to_owned(),
            schema_major: SCHEMA.major,
            schema_minor: SCHEMA.minor,
            run_id: String::new(),
            started_at: String::new(),
            command: Vec::new(),
            mode: Mode::default(),
            interrupted: false,
            traced: false,
            elapsed_ns: 0,
            config: Config::default(),
            environment: Environment::default(),
            addresses: Vec::new(),
            requests: Requests::default(),
            rates: Rates::default(),
            bytes: Bytes::default(),
            latency: Distribution::default(),
            service_time: None,
            conn_wait: None,
            send_lag: None,
            late: None,
            named_requests: Vec::new(),
            categories: Vec::new(),
            skipped_requests: Vec::new(),
            connect: Distribution::default(),
            status_codes: BTreeMap::new(),
            error_samples: BTreeMap::new(),
            reconnects: 0,
            warmup: None,
            cores: Vec::new(),
            series: Vec::new(),
            loader: LoaderBlock::default(),
            server: None,
            host: None,
            verdict: None,
            limits: Vec::new(),
            validity: Vec::new(),
        }
    }
}
