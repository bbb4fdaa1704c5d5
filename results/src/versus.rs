//! One comparison: servers of several makes under one loader, and loaders of several makes against one server, on the same cores in
//! interleaved rounds.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::exit_code::ExitCode;
use crate::median::lower_median;
use crate::ratio::PairedRatio;
use crate::reader::{self, ReadError, Schema};
use crate::run::Run;
use crate::timestamp;
use crate::validity::{self, Validity, ValidityCode};

/// Name and version of the comparison file written by this build.
pub const SCHEMA: Schema = Schema { name: "zapring.versus", major: 1, minor: 1 };

/// A comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Versus {
    /// `zapring.versus`.
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
    /// Start of the comparison, RFC 3339 in UTC.
    pub started_at: String,
    /// Stopped by the user: runs are missing.
    pub interrupted: bool,
    /// The command line that was typed.
    pub command: Vec<String>,
    /// Connections of every run.
    pub connections: u32,
    /// Requests per second asked of every server; null in closed loop. Loaders always run in closed loop.
    pub rate_per_s: Option<u64>,
    /// Cores of the servers.
    pub server_cores: Vec<u32>,
    /// Cores of the loaders.
    pub loader_cores: Vec<u32>,
    /// Rounds asked for; everybody is run once in each, in another order each time.
    pub rounds: u32,
    /// Asked length of the measured part of every run. Loaders that take whole seconds only get the next longer one.
    pub duration_ns: u64,
    /// Length of the excluded part before it; loaders are measured whole.
    pub warmup_ns: u64,
    /// The host before the first run.
    pub environment: Environment,
    /// Servers, all driven by zapring's loader.
    pub servers: Vec<Contender>,
    /// Loaders, all driving the first server of their wire.
    pub loaders: Vec<Contender>,
    /// What could not take part.
    pub absent: Vec<Absent>,
    /// Reasons to doubt the comparison.
    pub validity: Vec<Validity>,
}

/// A server or a loader and what was measured of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Contender {
    /// Its name in the list of peers.
    pub name: String,
    /// Wire name.
    pub wire: String,
    /// How it was started, as it stands in the list of peers; empty for a server that was running already.
    pub command: Vec<String>,
    /// The one that others of its wire are compared with.
    pub base: bool,
    /// The base a second time: what its ratios show is noise.
    pub again: bool,
    /// Bytes of one whole answer of a server, head and body.
    pub reply_bytes: Option<u64>,
    /// One per round that was made.
    pub points: Vec<Point>,
    /// Why it was not run any more; null when it was.
    pub problem: Option<String>,
    /// CPU time per request over the base's, of its cores; null for the base and for too few rounds.
    pub busy: Option<PairedRatio>,
    /// CPU time per request over the base's, of its threads; null likewise.
    pub cpu: Option<PairedRatio>,
    /// Requests per second over the base's; null likewise.
    pub rate: Option<PairedRatio>,
    /// 99th percentile over the base's; null likewise.
    pub p99: Option<PairedRatio>,
}

/// One run. What it cost is the server's own for servers and the loader's own for loaders.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// The round, from 0.
    pub round: u32,
    /// Requests that were right, by the count of the loader.
    pub ok: u64,
    /// Requests that went wrong, by the same count; not those that an open loop had no room to send.
    pub failed: u64,
    /// Requests per second by the loader's account.
    pub ok_per_s: Option<f64>,
    /// Median latency.
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// CPU time of the process and those it started, per request; of a loader per request in `counted` where that is known.
    pub cpu_ns_per_request: Option<u64>,
    /// Busy time of its cores per request, likewise; interrupts included.
    pub core_busy_ns_per_request: Option<u64>,
    /// Resident memory of a server when the run ended.
    pub rss_bytes: Option<u64>,
    /// What limited the run: the word of the verdict. Null where nobody watched.
    pub limit: Option<String>,
    /// What the server counted meanwhile, of loaders against a server that can be asked.
    pub counted: Option<u64>,
}

/// A peer that could not take part.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Absent {
    /// Its name in the list of peers.
    pub name: String,
    /// `server` or `loader`.
    pub side: String,
    /// Why.
    pub reason: String,
    /// The command that brings it.
    pub install: String,
}

impl Point {
    /// The server's figures of one run of zapring's loader.
    #[must_use]
    pub fn of_server(round: u32, run: &Run) -> Self {
        let server = run.server.as_ref();
        Self {
            round,
            ok: run.requests.ok,
            failed: run.failed(),
            ok_per_s: run.rates.ok_per_s,
            p50_ns: run.latency.p50_ns,
            p99_ns: run.latency.p99_ns,
            cpu_ns_per_request: server.and_then(|server| server.cpu_ns_per_request),
            core_busy_ns_per_request: server.and_then(|server| server.core_busy_ns_per_request),
            rss_bytes: server.map(|server| server.rss_end_bytes),
            limit: server.and(run.verdict.as_ref()).map(|verdict| verdict.word.word().to_owned()),
            counted: None,
        }
    }
}

impl Contender {
    /// The median of a figure over its rounds; the lower of the middle two. `None` without any.
    #[must_use]
    pub fn median(&self, figure: impl Fn(&Point) -> Option<f64>) -> Option<f64> {
        lower_median(self.points.iter().filter_map(figure))
    }

    /// What limited most of its runs; the word of the first where it is even.
    #[must_use]
    pub fn limit(&self) -> Option<&str> {
        let words: Vec<&str> = self.points.iter().filter_map(|point| point.limit.as_deref()).collect();
        let often = |word: &&str| words.iter().filter(|other| *other == word).count();
        words.iter().copied().rev().max_by_key(often)
    }

    /// The ratio to `base`, round by round. A round that lacks either is left out.
    fn ratio(&self, base: &Self, figure: impl Fn(&Point) -> Option<f64>) -> Option<PairedRatio> {
        let by_round = |of: &Self| of.points.iter().filter_map(|point| Some((point.round, figure(point)?))).collect();
        PairedRatio::of_rounds(&by_round(self), &by_round(base)).map(PairedRatio::rounded)
    }
}

/// Fills the ratios of one table, each to the base of its wire.
fn conclude(contenders: &mut [Contender]) {
    let bases: Vec<Contender> = contenders.iter().filter(|one| one.base).cloned().collect();
    for one in contenders.iter_mut().filter(|one| !one.base) {
        let Some(base) = bases.iter().find(|base| base.wire == one.wire) else { continue };
        let ns = |value: Option<u64>| value.map(|ns| ns as f64);
        one.busy = one.ratio(base, |point| ns(point.core_busy_ns_per_request));
        one.cpu = one.ratio(base, |point| ns(point.cpu_ns_per_request));
        one.rate = one.ratio(base, |point| point.ok_per_s);
        one.p99 = one.ratio(base, |point| ns(point.p99_ns));
    }
}

impl Versus {
    /// Reads a comparison file.
    ///
    /// # Errors
    /// [`ReadError`]: missing, truncated, broken, another schema, or a newer major version.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        reader::read(path, SCHEMA)
    }

    /// The file name used when none is given: `versus-20261130T133533Z.json`.
    #[must_use]
    pub fn file_name(started_unix_ns: u64) -> String {
        format!("versus-{}.json", timestamp::compact(started_unix_ns))
    }

    /// Adds the doubts of one run of `name`, each kind once: the first tells enough.
    pub fn absorb_doubts(&mut self, name: &str, run: &Run) {
        for doubt in &run.validity {
            let same = |other: &Validity| (other.code, other.fatal) == (doubt.code, doubt.fatal);
            if !self.validity.iter().any(same) {
                let detail = format!("with {name} (and perhaps others): {}", doubt.detail);
                self.validity.push(Validity { detail, ..doubt.clone() });
            }
        }
    }

    /// Fills what follows from the points. Call once, last.
    pub fn conclude(&mut self) {
        conclude(&mut self.servers);
        conclude(&mut self.loaders);
        let is_lone = |one: &Contender| one.again && one.points.len() < 3;
        if self.servers.iter().chain(&self.loaders).any(is_lone) {
            let detail =
                "a base was run against itself in less than three rounds, so that nothing is known of the noise";
            self.validity.push(Validity::note(ValidityCode::TooFewRounds, detail));
        }
    }

    /// Every exit code this comparison calls for.
    #[must_use]
    pub fn exit_codes(&self, max_failed: u64) -> Vec<ExitCode> {
        let mut all = self.servers.iter().chain(&self.loaders);
        let failed = all.any(|one| one.problem.is_some() || one.points.iter().any(|point| point.failed > max_failed));
        validity::exit_codes(self.interrupted, &self.validity, failed)
    }
}

/// An empty comparison of this build's schema version.
impl Default for Versus {
    fn default() -> Self {
        Self {
            schema: SCHEMA.name.to_owned(),
            schema_major: SCHEMA.major,
            schema_minor: SCHEMA.minor,
            run_id: String::new(),
            started_at: String::new(),
            interrupted: false,
            command: Vec::new(),
            connections: 0,
            rate_per_s: None,
            server_cores: Vec::new(),
            loader_cores: Vec::new(),
            rounds: 0,
            duration_ns: 0,
            warmup_ns: 0,
            environment: Environment::default(),
            servers: Vec::new(),
            loaders: Vec::new(),
            absent: Vec::new(),
            validity: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contender(name: &str, wire: &str, busy_ns: &[u64]) -> Contender {
        let point = |(round, ns): (usize, &u64)| Point {
            round: round as u32,
            core_busy_ns_per_request: Some(*ns),
            limit: Some(if round == 0 { "balanced" } else { "server-bound" }.to_owned()),
            ..Point::default()
        };
        let points = busy_ns.iter().enumerate().map(point).collect();
        Contender { name: name.to_owned(), wire: wire.to_owned(), points, ..Contender::default() }
    }

    #[test]
    fn what_an_open_loop_did_not_send_is_no_failure_of_the_server() {
        let mut run = Run::default();
        (run.requests.ok, run.requests.not_sent, run.requests.timeout) = (90, 7, 3);
        assert_eq!(Point::of_server(0, &run).failed, 10, "closed loop");
        run.mode = crate::config::Mode::OpenLoop;
        assert_eq!(Point::of_server(0, &run).failed, 3);
    }

    #[test]
    fn everybody_is_compared_with_the_base_of_its_own_wire() {
        let base = |wire, busy: &[u64]| Contender { base: true, ..contender("base", wire, busy) };
        let mut versus = Versus {
            servers: vec![
                contender("half", "http", &[2000, 3000, 4000]),
                base("http", &[4000, 6000, 8000]),
                base("zap", &[1, 1, 1]),
                contender("lonely", "floor", &[1, 1, 1]),
                Contender { again: true, ..contender("short", "zap", &[1]) },
            ],
            ..Versus::default()
        };
        versus.conclude();
        let busy = |at: usize| versus.servers[at].busy.map(|ratio| (ratio.pairs, ratio.ratio));
        assert_eq!([0, 1, 2, 3, 4].map(busy), [Some((3, 0.5)), None, None, None, None]);
        assert_eq!(versus.servers[0].cpu, None, "nobody measured it");
        assert_eq!(versus.validity.len(), 1, "one round of the base against itself says nothing");
        assert_eq!(versus.servers[0].median(|point| point.core_busy_ns_per_request.map(|ns| ns as f64)), Some(3000.0));
        assert_eq!((versus.servers[0].limit(), versus.servers[4].limit()), (Some("server-bound"), Some("balanced")));
    }

    #[test]
    fn a_round_without_its_other_half_is_left_out() {
        let base = Contender { base: true, ..contender("base", "http", &[10, 10, 10, 10]) };
        let mut other = contender("other", "http", &[20, 20, 20, 20]);
        other.points.remove(1);
        other.points[0].core_busy_ns_per_request = None;
        let mut both = [base, other];
        conclude(&mut both);
        assert_eq!(both[1].busy, None, "two pairs are too few");
    }
}
