//! Figures of each request of a run that has several, of the categories they belong to, and those that were left out.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bytes::Bytes;
use crate::latency::Distribution;
use crate::rates::Rates;
use crate::requests::Requests;
use crate::run::Run;

/// One request, over the measured part. What was planned and never sent was no request's turn and is in the whole's counts only, and so
/// are answers that nobody asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RequestRow {
    /// Its name in the scenario, or its file as given.
    pub name: String,
    /// Its category; null without.
    pub category: Option<String>,
    /// How often it was sent beside the others.
    pub weight: u32,
    /// Its method.
    pub method: String,
    /// Its target.
    pub target: String,
    /// Bytes of it on the wire.
    pub request_bytes: u64,
    /// Status codes that counted as success.
    pub expect: String,
    /// What became of those sent; planned is sent.
    pub requests: Requests,
    /// Answers by exact status code.
    pub status_codes: BTreeMap<u16, u64>,
    /// Body bytes of answers.
    pub body_received_bytes: u64,
    /// Latency, as the whole's.
    pub latency: Distribution,
}

/// The requests of one category together.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CategoryRow {
    /// Its name.
    pub category: String,
    /// What became of its requests.
    pub requests: Requests,
    /// Answers by exact status code.
    pub status_codes: BTreeMap<u16, u64>,
    /// Body bytes of answers.
    pub body_received_bytes: u64,
    /// Latency, as the whole's.
    pub latency: Distribution,
}

/// A request that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedRequest {
    /// Its name.
    pub name: String,
    /// Its category; null without.
    pub category: Option<String>,
    /// The environment variable that was not set.
    pub requires_env: String,
}

impl RequestRow {
    /// A run as if there had been this request only, for reports that have a line for each run: its counts, codes and latency, and what
    /// was asked. What was not measured for it alone is as in a run that did nothing.
    #[must_use]
    pub fn as_run(&self, run: &Run) -> Run {
        let mut config = run.config.clone();
        config.method.clone_from(&self.method);
        config.expect.clone_from(&self.expect);
        Run {
            run_id: run.run_id.clone(),
            started_at: run.started_at.clone(),
            mode: run.mode,
            interrupted: run.interrupted,
            traced: run.traced,
            elapsed_ns: run.elapsed_ns,
            config,
            environment: run.environment.clone(),
            requests: self.requests,
            rates: Rates::of(&self.requests, run.elapsed_ns),
            latency: self.latency.clone(),
            bytes: Bytes { body_received: self.body_received_bytes, ..Bytes::default() },
            status_codes: self.status_codes.clone(),
            ..Run::default()
        }
    }
}
