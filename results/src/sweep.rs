//! One sweep: settings of an engine tried in turn around one base, in interleaved rounds, and which of them is really better.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::Placement;
use crate::environment::Environment;
use crate::exit_code::ExitCode;
use crate::median::lower_median;
use crate::ratio::PairedRatio;
use crate::reader::{self, ReadError, Schema};
use crate::run::Run;
use crate::timestamp;
use crate::validity::{self, Validity, ValidityCode};

/// Name and version of the sweep file written by this build.
pub const SCHEMA: Schema = Schema { name: "zapring.sweep", major: 1, minor: 1 };

/// Which side gets the settings, and whose cost is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The server.
    #[default]
    Server,
    /// The loader.
    Loader,
    /// Both, and the sum of their costs.
    Both,
}

impl Side {
    /// The word on the command line, in files and in reports.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Loader => "loader",
            Self::Both => "both",
        }
    }
}

/// A sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sweep {
    /// `zapring.sweep`.
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
    /// Start of the sweep, RFC 3339 in UTC.
    #[schemars(extend("format" = "date-time"))]
    pub started_at: String,
    /// Stopped by the user or by a failure: runs are missing.
    pub interrupted: bool,
    /// The command line that was typed.
    pub command: Vec<String>,
    /// The side that was swept.
    pub side: Side,
    /// Wire name.
    pub wire: String,
    /// Connections of every run.
    pub connections: u32,
    /// Engine of the server, by name.
    pub server_engine: String,
    /// Engine of the loader, by name.
    pub loader_engine: String,
    /// Where the two sides ran with respect to each other.
    pub placement: Placement,
    /// Cores of the server.
    pub server_cores: Vec<u32>,
    /// Cores of the loader.
    pub loader_cores: Vec<u32>,
    /// Rounds asked for; every setting is run once in each, in another order each time.
    pub rounds: u32,
    /// Asked length of the measured part of every run.
    pub duration_ns: u64,
    /// Length of the excluded part before it.
    pub warmup_ns: u64,
    /// The host before the first run.
    pub environment: Environment,
    /// The base, the base again, and every other setting.
    pub settings: Vec<Setting>,
    /// The best of each factor.
    pub best: Vec<Best>,
    /// Reasons to doubt the sweep.
    pub validity: Vec<Validity>,
}

/// One setting and what was measured with it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// What differs from the base; null for the base itself.
    pub change: Option<Change>,
    /// The base a second time: what its ratio shows is noise.
    pub again: bool,
    /// The arguments that made it, of the swept side.
    pub args: Vec<String>,
    /// One per round that was made.
    pub points: Vec<Point>,
    /// Cost of the swept side over the base's: CPU time per request; null for the base and for too few rounds.
    pub cpu: Option<PairedRatio>,
    /// Requests per second over the base's; null likewise.
    pub rate: Option<PairedRatio>,
    /// Whether the difference in cost is real; null where it cannot be told.
    pub real: Option<bool>,
}

/// How a setting differs from the base.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The factor, as in `ring-entries`.
    pub factor: String,
    /// Its value.
    pub value: String,
    /// The base's value.
    pub base: String,
}

/// One run of a setting, without its histograms.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// The round, from 0.
    pub round: u32,
    /// Requests with an `ok` outcome.
    pub ok: u64,
    /// All others.
    pub failed: u64,
    /// Requests per second; null without any.
    pub ok_per_s: Option<f64>,
    /// CPU time of the server's threads per request.
    pub server_cpu_ns_per_request: Option<u64>,
    /// CPU time of the loader's threads per request.
    pub loader_cpu_ns_per_request: Option<u64>,
    /// Busy time of the server's cores per request.
    pub server_core_busy_ns_per_request: Option<u64>,
    /// Busy time of the loader's cores per request.
    pub loader_core_busy_ns_per_request: Option<u64>,
    /// Median latency.
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
}

/// What a factor came to.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Best {
    /// The factor.
    pub factor: String,
    /// Its value in the base.
    pub base: String,
    /// The value with the lowest cost of those that really cost less; the base's where there is none.
    pub value: String,
    /// The cost of `value` over the base's; null where the base is best.
    pub cpu: Option<PairedRatio>,
}

impl Point {
    /// The figures of one run.
    #[must_use]
    pub fn of(round: u32, run: &Run) -> Self {
        let server = run.server.as_ref();
        Self {
            round,
            ok: run.requests.ok,
            failed: run.requests.failed(),
            ok_per_s: run.rates.ok_per_s,
            server_cpu_ns_per_request: server.and_then(|server| server.cpu_ns_per_request),
            loader_cpu_ns_per_request: run.loader.cpu_ns_per_request,
            server_core_busy_ns_per_request: server.and_then(|server| server.core_busy_ns_per_request),
            loader_core_busy_ns_per_request: run.loader.core_busy_ns_per_request,
            p50_ns: run.latency.p50_ns,
            p99_ns: run.latency.p99_ns,
        }
    }

    /// CPU time per request of the swept side.
    #[must_use]
    pub fn cpu_ns(&self, side: Side) -> Option<u64> {
        of_side(side, self.server_cpu_ns_per_request, self.loader_cpu_ns_per_request)
    }

    /// Busy time of the swept side's cores per request.
    #[must_use]
    pub fn core_busy_ns(&self, side: Side) -> Option<u64> {
        of_side(side, self.server_core_busy_ns_per_request, self.loader_core_busy_ns_per_request)
    }
}

fn of_side(side: Side, server_ns: Option<u64>, loader_ns: Option<u64>) -> Option<u64> {
    match side {
        Side::Server => server_ns,
        Side::Loader => loader_ns,
        Side::Both => Some(server_ns?.saturating_add(loader_ns?)),
    }
}

impl Setting {
    /// The median of a figure over its rounds; the lower of the middle two. `None` without any.
    #[must_use]
    pub fn median(&self, figure: impl Fn(&Point) -> Option<f64>) -> Option<f64> {
        lower_median(self.points.iter().filter_map(figure))
    }

    /// The ratio to `base`, round by round. A round that lacks either is left out.
    fn ratio(&self, base: &Self, figure: impl Fn(&Point) -> Option<f64>) -> Option<PairedRatio> {
        let by_round = |of: &Self| of.points.iter().filter_map(|point| Some((point.round, figure(point)?))).collect();
        PairedRatio::of_rounds(&by_round(self), &by_round(base))
    }
}

/// Whether a ratio is more than noise: its interval excludes 1, and it lies further from 1 than either end of the interval of the base
/// against itself.
#[must_use]
pub fn is_real(ratio: &PairedRatio, again: &PairedRatio) -> bool {
    let noise = again.low.ln().abs().max(again.high.ln().abs());
    (ratio.high < 1.0 || ratio.low > 1.0) && ratio.ratio.ln().abs() > noise
}

impl Sweep {
    /// Reads a sweep file.
    ///
    /// # Errors
    /// [`ReadError`]: missing, truncated, broken, another schema, or a newer major version.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        reader::read(path, SCHEMA)
    }

    /// The file name used when none is given: `sweep-20261130T133533Z.json`.
    #[must_use]
    pub fn file_name(started_unix_ns: u64) -> String {
        format!("sweep-{}.json", timestamp::compact(started_unix_ns))
    }

    /// Adds the doubts of one run of the setting called `name`, each kind once: the first tells enough.
    pub fn absorb_doubts(&mut self, name: &str, run: &Run) {
        for doubt in &run.validity {
            let same = |other: &Validity| (other.code, other.fatal) == (doubt.code, doubt.fatal);
            if !self.validity.iter().any(same) {
                let detail = format!("with {name} (and perhaps others): {}", doubt.detail);
                self.validity.push(Validity { detail, ..doubt.clone() });
            }
        }
    }

    /// Fills what follows from the points: ratios, what is real, and the best of each factor. Call once, last.
    pub fn conclude(&mut self) {
        let side = self.side;
        let Some(base) = self.settings.iter().find(|setting| setting.change.is_none() && !setting.again).cloned()
        else {
            return;
        };
        for setting in self.settings.iter_mut().filter(|setting| setting.change.is_some() || setting.again) {
            setting.cpu = setting.ratio(&base, |point| point.cpu_ns(side).map(|ns| ns as f64));
            setting.rate = setting.ratio(&base, |point| point.ok_per_s);
        }
        let again = self.settings.iter().find(|setting| setting.again).and_then(|setting| setting.cpu);
        for setting in self.settings.iter_mut().filter(|setting| setting.change.is_some()) {
            setting.real = setting.cpu.zip(again).map(|(ratio, again)| is_real(&ratio, &again));
        }
        if again.is_none() {
            let detail = "the base was not run against itself in three rounds, so that nothing is known to be real";
            self.validity.push(Validity::note(ValidityCode::TooFewRounds, detail));
        }
        for setting in &mut self.settings {
            setting.cpu = setting.cpu.map(PairedRatio::rounded);
            setting.rate = setting.rate.map(PairedRatio::rounded);
        }
        self.best = self.bests();
    }

    /// The best of every factor, in the order of the settings. Nothing is best where nothing is known.
    fn bests(&self) -> Vec<Best> {
        let mut bests: Vec<Best> = Vec::new();
        for setting in &self.settings {
            let (Some(change), Some(ratio), Some(real)) = (&setting.change, setting.cpu, setting.real) else {
                continue;
            };
            let index = bests.iter().position(|best| best.factor == change.factor).unwrap_or_else(|| {
                let (factor, base) = (change.factor.clone(), change.base.clone());
                bests.push(Best { factor, value: base.clone(), base, cpu: None });
                bests.len() - 1
            });
            let lowest = bests[index].cpu.map_or(1.0, |best| best.ratio);
            if real && ratio.ratio < lowest {
                bests[index].value = change.value.clone();
                bests[index].cpu = Some(ratio);
            }
        }
        bests
    }

    /// Every exit code this sweep calls for.
    #[must_use]
    pub fn exit_codes(&self, max_failed: u64) -> Vec<ExitCode> {
        let mut points = self.settings.iter().flat_map(|setting| &setting.points);
        validity::exit_codes(self.interrupted, &self.validity, points.any(|point| point.failed > max_failed))
    }
}

/// An empty sweep of this build's schema version.
impl Default for Sweep {
    fn default() -> Self {
        Self {
            schema: SCHEMA.name.to_owned(),
            schema_major: SCHEMA.major,
            schema_minor: SCHEMA.minor,
            run_id: String::new(),
            started_at: String::new(),
            interrupted: false,
            command: Vec::new(),
            side: Side::default(),
            wire: String::new(),
            connections: 0,
            server_engine: String::new(),
            loader_engine: String::new(),
            placement: Placement::default(),
            server_cores: Vec::new(),
            loader_cores: Vec::new(),
            rounds: 0,
            duration_ns: 0,
            warmup_ns: 0,
            environment: Environment::default(),
            settings: Vec::new(),
            best: Vec::new(),
            validity: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(value: Option<&str>, again: bool, cpu_ns: &[u64]) -> Setting {
        let change = value.map(|value| Change { factor: "buffers".into(), value: value.into(), base: "1024".into() });
        let point = |(round, ns): (usize, &u64)| Point {
            round: round as u32,
            ok: 1,
            ok_per_s: Some(1e9 / *ns as f64),
            server_cpu_ns_per_request: Some(*ns),
            loader_cpu_ns_per_request: Some(1000),
            ..Point::default()
        };
        Setting { change, again, points: cpu_ns.iter().enumerate().map(point).collect(), ..Setting::default() }
    }

    fn sweep(settings: Vec<Setting>) -> Sweep {
        let mut sweep = Sweep { settings, ..Sweep::default() };
        sweep.conclude();
        sweep
    }

    #[test]
    fn the_best_is_the_cheapest_that_is_more_than_noise() {
        let base = [3000, 3010, 2990, 3005, 2995];
        let scaled = |factor: f64| base.map(|ns| (ns as f64 * factor) as u64);
        let sweep = sweep(vec![
            setting(None, false, &base),
            setting(None, true, &[3030, 2980, 3020, 2970, 3010]),
            setting(Some("64"), false, &scaled(1.2)),
            setting(Some("128"), false, &scaled(0.9)),
            setting(Some("256"), false, &scaled(0.8)),
            setting(Some("512"), false, &scaled(0.999)),
        ]);
        let real: Vec<_> = sweep.settings.iter().map(|setting| setting.real).collect();
        assert_eq!(real, [None, None, Some(true), Some(true), Some(true), Some(false)]);
        let best = &sweep.best[0];
        assert_eq!((sweep.best.len(), best.value.as_str(), best.base.as_str()), (1, "256", "1024"));
        assert!((best.cpu.expect("it is not the base").ratio - 0.8).abs() < 0.01);
    }

    #[test]
    fn noise_alone_leaves_the_base_best() {
        let base = [3000, 3010, 2990, 3005, 2995];
        let sweep = sweep(vec![
            setting(None, false, &base),
            setting(None, true, &[3300, 2700, 3200, 2800, 3000]),
            setting(Some("64"), false, &base.map(|ns| ns * 97 / 100)),
        ]);
        assert_eq!(sweep.settings[2].real, Some(false), "three per cent within a noise of ten");
        assert_eq!((sweep.best[0].value.as_str(), sweep.best[0].cpu), ("1024", None));
    }

    #[test]
    fn too_few_rounds_tell_nothing() {
        let short = [3000, 3000];
        let sweep =
            sweep(vec![setting(None, false, &short), setting(None, true, &short), setting(Some("64"), false, &[1, 1])]);
        assert_eq!((sweep.settings[2].real, sweep.best.len(), sweep.validity.len()), (None, 0, 1));
        assert!(Sweep::default().exit_codes(0).is_empty());
    }

    #[test]
    fn a_round_that_one_of_them_lacks_is_left_out() {
        let mut other = setting(Some("64"), false, &[2000, 2000, 2000, 9000]);
        other.points.remove(0);
        let sweep = sweep(vec![setting(None, false, &[1000, 1000, 1000]), other]);
        assert_eq!(sweep.settings[1].cpu, None, "two rounds in common");
    }

    #[test]
    fn doubts_of_runs_are_kept_once_and_a_fatal_one_is_not_hidden_by_a_note() {
        let mut run = Run {
            validity: vec![
                Validity::note(ValidityCode::TooShort, "60 ms"),
                Validity::note(ValidityCode::TooShort, "6 ms"),
            ],
            ..Run::default()
        };
        let mut sweep = Sweep::default();
        sweep.absorb_doubts("base", &run);
        sweep.absorb_doubts("buffers 64", &run);
        assert_eq!(sweep.validity.len(), 1);
        assert_eq!(sweep.validity[0].detail, "with base (and perhaps others): 60 ms");
        run.validity = vec![Validity::fatal(ValidityCode::TooShort, "0 ms")];
        sweep.absorb_doubts("buffers 64", &run);
        assert_eq!(sweep.exit_codes(0), [ExitCode::NotTrusted]);
    }

    #[test]
    fn both_sides_are_a_sum() {
        let point = &setting(None, false, &[3000]).points[0];
        let sides = [Side::Server, Side::Loader, Side::Both].map(|side| point.cpu_ns(side));
        assert_eq!(sides, [Some(3000), Some(1000), Some(4000)]);
        let unwatched = Point { server_cpu_ns_per_request: None, ..point.clone() };
        assert_eq!(unwatched.cpu_ns(Side::Both), None);
    }
}
