//! Reasons to doubt a run, as data with advice.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exit_code::ExitCode;

/// The closed list of doubts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ValidityCode {
    /// Less than 99 % of the asked rate was sent.
    RateNotReached,
    /// The loader sent late by its own fault.
    SendLag,
    /// The loader's cores were full: the figure is a lower bound.
    LoaderSaturated,
    /// A completion queue overflowed.
    RingOverflow,
    /// The measured part is too short for its figures.
    TooShort,
    /// Too few samples for the percentiles.
    TooFewSamples,
    /// The CPU frequency may have moved during the run.
    FrequencyScaling,
    /// Server and loader share a core.
    SharedCores,
    /// Both ends are on one host.
    Loopback,
    /// The host's settings are not on record.
    NoTuningRecord,
    /// Requests failed during the warm-up.
    WarmupFailures,
    /// The outcomes do not add up to what was planned: a bug in the loader.
    SumsDisagree,
    /// The server's CPU and memory could not be watched.
    ServerNotWatched,
    /// The loader looked for work in user memory instead of sleeping.
    Spinning,
    /// The server's shards got very different numbers of connections.
    UnevenSpread,
    /// In paired placement, a connection did not come to the shard of the core that made it.
    Unpaired,
    /// There were fewer connections than shards: some shards did nothing.
    IdleShards,
    /// How the connections lay over the server's shards could not be found out.
    SpreadUnknown,
    /// Too few rounds of a comparison for its ratios.
    TooFewRounds,
    /// The server's heap kept growing.
    Leak,
    /// A code of a newer minor version.
    #[serde(other)]
    Other,
}

impl ValidityCode {
    /// The key in the run file.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::RateNotReached => "rate_not_reached",
            Self::SendLag => "send_lag",
            Self::LoaderSaturated => "loader_saturated",
            Self::RingOverflow => "ring_overflow",
            Self::TooShort => "too_short",
            Self::TooFewSamples => "too_few_samples",
            Self::FrequencyScaling => "frequency_scaling",
            Self::SharedCores => "shared_cores",
            Self::Loopback => "loopback",
            Self::NoTuningRecord => "no_tuning_record",
            Self::WarmupFailures => "warmup_failures",
            Self::SumsDisagree => "sums_disagree",
            Self::ServerNotWatched => "server_not_watched",
            Self::Spinning => "spinning",
            Self::UnevenSpread => "uneven_spread",
            Self::Unpaired => "unpaired",
            Self::IdleShards => "idle_shards",
            Self::SpreadUnknown => "spread_unknown",
            Self::TooFewRounds => "too_few_rounds",
            Self::Leak => "leak",
            Self::Other => "other",
        }
    }

    /// What to do about it.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match self {
            Self::RateNotReached => "ask for a lower rate, or give the loader more cores and connections",
            Self::SendLag => "give the loader more cores, or ask for a lower rate",
            Self::LoaderSaturated => "read the rate as \"at least\"; give the loader more cores",
            Self::RingOverflow => "use more shards or fewer connections per shard",
            Self::TooShort => "run longer with -d",
            Self::TooFewSamples => "run longer with -d; percentiles without enough samples above them print as -",
            Self::FrequencyScaling => "set the performance governor",
            Self::SharedCores => "give server and loader cores of their own with --cores",
            Self::Loopback => "no network was crossed; run the loader on another host for figures about one",
            Self::NoTuningRecord => "record the host's settings before the run",
            Self::WarmupFailures => "look at the failures of the warm-up; the server may not have been ready",
            Self::SumsDisagree => "this is a bug in zapring; please report it with the run file",
            Self::ServerNotWatched => "watch the server from its own host and user",
            Self::Spinning => "read the latency; for CPU figures run without --spin",
            Self::UnevenSpread => {
                "use more connections; steering them needs as many loader cores as server cores and Linux 6.1"
            }
            Self::Unpaired => {
                "steering connections to the core they come from needs Linux 6.1; do not call this paired"
            }
            Self::IdleShards => "use at least as many connections as there are loader cores",
            Self::SpreadUnknown => "look at the server's own counts, GET /stats",
            Self::TooFewRounds => "let it make at least three rounds, and watch the side that is compared",
            Self::Leak => "compare with more rounds: what is made once levels off, a leak does not",
            Self::Other => "read this file with the version that wrote it",
        }
    }
}

/// One doubt about a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Validity {
    /// Which.
    pub code: ValidityCode,
    /// Whether the figures must not be believed.
    pub fatal: bool,
    /// The figures that led to it.
    pub detail: String,
    /// What to do about it.
    pub advice: String,
}

impl Validity {
    /// A doubt that leaves the run usable.
    #[must_use]
    pub fn note(code: ValidityCode, detail: impl Into<String>) -> Self {
        Self { code, fatal: false, detail: detail.into(), advice: code.advice().to_owned() }
    }

    /// A doubt that makes the run untrusted (exit code 11).
    #[must_use]
    pub fn fatal(code: ValidityCode, detail: impl Into<String>) -> Self {
        Self { fatal: true, ..Self::note(code, detail) }
    }
}

/// The exit codes that a document's own state calls for.
pub(crate) fn exit_codes(interrupted: bool, doubts: &[Validity], failed: bool) -> Vec<ExitCode> {
    let fatal = doubts.iter().any(|doubt| doubt.fatal);
    let codes =
        [(interrupted, ExitCode::Interrupted), (fatal, ExitCode::NotTrusted), (failed, ExitCode::RequestsFailed)];
    codes.into_iter().filter_map(|(applies, code)| applies.then_some(code)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_round_trip_and_unknown_codes_are_read() {
        let code = ValidityCode::TooFewSamples;
        assert_eq!(serde_json::to_value(code).expect("a unit variant"), code.key());
        let newer: ValidityCode = serde_json::from_str("\"moon_phase\"").expect("unknown codes are kept as other");
        assert_eq!(newer, ValidityCode::Other);
    }
}
