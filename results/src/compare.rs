//! Two sets of runs compared: which figures differ by more than noise, or why nothing can be said.
//!
//! A pure function of the files: the chance in the bootstrap has a fixed seed, so that the same files give the same words.
//!
//! Per figure, the ratio of the two sides and its 95 % interval from [`crate::limits::RESAMPLES`] resamples. Where the runs were made in turns, one of each
//! side after the other and [`MIN_PAIRS`] times, they are compared pair by pair and whole pairs are resampled: what drifts on the host cancels. Else it is the ratio of the
//! means, and both sides are resampled. The tails cut off are those of Hesterberg's expanded percentile interval ("What Teachers Should Know About the Bootstrap", 2015, section 4.3), since
//! the plain one is too narrow for five runs.

use crate::bootstrap::{Interval, ratio_of_means, ratio_of_pairs};
use crate::config::Mode;
use crate::document::Document;
use crate::exit_code::ExitCode;
use crate::likeness::{Difference, differences};
use crate::limits::{MIN_PAIRS, MIN_RUNS};
use crate::report::rows::level_name;
use crate::run::Run;
use crate::validity::ValidityCode;

/// How a comparison ended, from good to bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Every figure lies within the threshold.
    Same,
    /// Better by more than the threshold, and not by noise.
    Improved,
    /// Too few runs, or too noisy, to say any of the others.
    Inconclusive,
    /// Worse by more than the threshold, and not by noise.
    Regressed,
    /// Configuration or environment differ.
    NotComparable,
}

impl Verdict {
    /// The word in reports.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Improved => "improved",
            Self::Inconclusive => "inconclusive",
            Self::Regressed => "regressed",
            Self::NotComparable => "not comparable",
        }
    }

    /// What the command ends with.
    #[must_use]
    pub const fn exit_code(self) -> ExitCode {
        match self {
            Self::Same | Self::Improved => ExitCode::Ok,
            Self::Inconclusive => ExitCode::Inconclusive,
            Self::Regressed => ExitCode::Regressed,
            Self::NotComparable => ExitCode::NotComparable,
        }
    }
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Requests per second that were right. More is better.
    OkPerS,
    /// CPU time of the server's threads per request.
    ServerCpu,
    /// CPU time of the loader's threads per request.
    LoaderCpu,
    /// 99th percentile of the latency, in open loop only.
    P99,
}

impl Figure {
    /// All, in the order of the report.
    pub const ALL: [Self; 4] = [Self::OkPerS, Self::ServerCpu, Self::LoaderCpu, Self::P99];

    /// The name in reports, with its unit.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OkPerS => "ok req/s",
            Self::ServerCpu => "server CPU us/req",
            Self::LoaderCpu => "loader CPU us/req",
            Self::P99 => "p99 us",
        }
    }

    /// Whether a higher one is better.
    #[must_use]
    pub const fn more_is_better(self) -> bool {
        matches!(self, Self::OkPerS)
    }

    /// The figure of one run in its unit; `None` where the file does not have it or it means nothing.
    #[must_use]
    pub fn of(self, run: &Run) -> Option<f64> {
        let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
        let spinning = run.validity.iter().any(|doubt| doubt.code == ValidityCode::Spinning);
        let figure = match self {
            Self::OkPerS => run.rates.ok_per_s,
            Self::ServerCpu => us(run.server.as_ref().and_then(|server| server.cpu_ns_per_request)),
            Self::LoaderCpu => us(run.loader.cpu_ns_per_request).filter(|_| !spinning),
            Self::P99 => us(run.latency.p99_ns).filter(|_| run.mode == Mode::OpenLoop),
        };
        // No good answer at all is a rate to compare, while a cost of nothing is one that was not measured.
        figure.filter(|figure| figure.is_finite() && (*figure > 0.0 || self == Self::OkPerS))
    }
}

/// What may be asked of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// Ratios closer to 1 than this share are no difference: 0.05 is 5 %.
    pub threshold: f64,
    /// Keys of the configuration and environment that may differ, because they are what is compared.
    pub across: Vec<String>,
}

/// One figure of both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Which.
    pub figure: Figure,
    /// Mean of the base.
    pub base: f64,
    /// Mean of the other side.
    pub new: f64,
    /// The new side over the base. Its ends are `None` with too few runs.
    pub ratio: f64,
    /// Its interval.
    pub interval: Option<Interval>,
    /// What follows.
    pub verdict: Verdict,
}

/// The runs of one wire and level.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// As in `zap/64`.
    pub name: String,
    /// Runs that counted: of the base, of the other side.
    pub runs: (usize, usize),
    /// What differs and must not.
    pub differences: Vec<Difference>,
    /// Figures that both sides have.
    pub figures: Vec<Compared>,
    /// What else is to be known.
    pub notes: Vec<String>,
    /// What follows.
    pub verdict: Verdict,
}

/// All levels.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The threshold that was used.
    pub threshold: f64,
    /// In the order of the base's runs.
    pub levels: Vec<Level>,
    /// The worst of all levels.
    pub verdict: Verdict,
}

/// The runs of a side: of run files and of benches. A sweep compares already and has none.
#[must_use]
pub fn runs(documents: &[Document]) -> Vec<&Run> {
    documents
        .iter()
        .flat_map(|document| match document {
            Document::Run(run) => vec![&**run],
            Document::Bench(bench) => bench.rows.iter().map(|row| &row.run).collect(),
            Document::Sweep(_) | Document::Versus(_) | Document::Codec(_) | Document::Canonical(_) => Vec::new(),
        })
        .collect()
}

/// Compares two sides, level by level. When each has runs of one level only, those are compared, whatever they are called.
#[must_use]
pub fn compare(base: &[&Run], new: &[&Run], ask: &Ask) -> Comparison {
    let (base_levels, new_levels) = (levels(base), levels(new));
    let levels: Vec<Level> = if base_levels.len() == 1 && new_levels.len() == 1 {
        let name = if base_levels == new_levels {
            base_levels[0].clone()
        } else {
            format!("{} against {}", new_levels[0], base_levels[0])
        };
        vec![level(name, base, new, ask)]
    } else {
        let new_only = new_levels.iter().filter(|name| !base_levels.contains(name));
        base_levels
            .iter()
            .chain(new_only)
            .map(|name| level(name.clone(), &of(base, name), &of(new, name), ask))
            .collect()
    };
    let verdict = levels.iter().map(|level| level.verdict).max().unwrap_or(Verdict::Inconclusive);
    Comparison { threshold: ask.threshold, levels, verdict }
}

fn levels(runs: &[&Run]) -> Vec<String> {
    let mut names = Vec::new();
    for name in runs.iter().map(|run| level_name(run)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn of<'a>(runs: &[&'a Run], name: &str) -> Vec<&'a Run> {
    runs.iter().copied().filter(|run| level_name(run) == name).collect()
}

fn level(name: String, base: &[&Run], new: &[&Run], ask: &Ask) -> Level {
    let mut notes = Vec::new();
    let (base, new) = (usable(base, "base", &mut notes), usable(new, "new", &mut notes));
    let differences: Vec<Difference> =
        differences(&base, &new).into_iter().filter(|found| !ask.across.iter().any(|key| key == found.key)).collect();
    not_interleaved(&base, &new, &mut notes);
    let enough = base.len() >= MIN_RUNS && new.len() >= MIN_RUNS;
    if !enough {
        notes.push(format!(
            "{} and {} runs counted; it takes {MIN_RUNS} on each side to tell a difference from noise",
            base.len(),
            new.len()
        ));
    }
    let figures: Vec<Compared> =
        Figure::ALL.into_iter().filter_map(|figure| compared(figure, &base, &new, ask.threshold, &mut notes)).collect();
    let verdict = if !differences.is_empty() {
        Verdict::NotComparable
    } else if !enough || !figures.iter().any(|compared| compared.figure == Figure::OkPerS) {
        Verdict::Inconclusive
    } else {
        figures.iter().map(|compared| compared.verdict).max().unwrap_or(Verdict::Inconclusive)
    };
    Level { name, runs: (base.len(), new.len()), differences, figures, notes, verdict }
}

/// The runs that count; why others do not goes into `notes`.
fn usable<'a>(runs: &[&'a Run], side: &str, notes: &mut Vec<String>) -> Vec<&'a Run> {
    let mut kept: Vec<&Run> = Vec::new();
    let (mut failed_runs, mut failed) = (0, 0_u64);
    for run in runs {
        let fatal = run.validity.iter().find(|doubt| doubt.fatal);
        let twice = !run.run_id.is_empty() && kept.iter().any(|other| is_same_run(other, run));
        let why = match (run.interrupted, fatal, twice) {
            (true, ..) => "interrupted".to_owned(),
            (_, Some(doubt), _) => format!("not trusted, {}", doubt.code.key()),
            (_, _, true) => "given twice".to_owned(),
            _ => {
                failed_runs += usize::from(run.failed() > 0);
                failed = failed.saturating_add(run.failed());
                kept.push(run);
                continue;
            }
        };
        notes.push(format!("{side}: run {} does not count: {why}", run.run_id));
    }
    if failed > 0 {
        notes.push(format!("{side}: {failed} requests failed in {failed_runs} of {} runs", kept.len()));
    }
    kept
}

/// Run ids are unique per host; wire and figures tell apart what tests and tools made by hand.
fn is_same_run(left: &Run, right: &Run) -> bool {
    left.run_id == right.run_id && left.started_at == right.started_at && left.requests == right.requests
}

/// Start times are RFC 3339 in UTC, so that they sort as text.
fn not_interleaved(base: &[&Run], new: &[&Run], notes: &mut Vec<String>) {
    let times = |runs: &[&Run]| {
        let of = |pick: fn(&str, &str) -> bool| {
            runs.iter().map(|run| run.started_at.clone()).reduce(|a, b| if pick(&a, &b) { a } else { b })
        };
        Some((of(|a, b| a < b)?, of(|a, b| a > b)?))
    };
    if let (Some(base), Some(new)) = (times(base), times(new))
        && (base.1 < new.0 || new.1 < base.0)
    {
        notes.push(
            "the sides were measured one after the other: what drifted on the host meanwhile counts as a difference"
                .to_owned(),
        );
    }
}

/// The runs in pairs, one of each side, when that is how they were made and there are [`MIN_PAIRS`]: in the order of their starts, each two hold one of each.
fn in_turns<'a>(base: &[&'a Run], new: &[&'a Run]) -> Option<Vec<(&'a Run, &'a Run)>> {
    let mut all: Vec<(&Run, bool)> =
        base.iter().map(|run| (*run, false)).chain(new.iter().map(|run| (*run, true))).collect();
    all.sort_by(|left, right| left.0.started_at.cmp(&right.0.started_at));
    let pair = |two: &[(&'a Run, bool)]| match two {
        [(base, false), (new, true)] | [(new, true), (base, false)] => Some((*base, *new)),
        _ => None,
    };
    let pairs: Vec<_> = all.chunks(2).map(pair).collect::<Option<_>>()?;
    (pairs.len() >= MIN_PAIRS).then_some(pairs)
}

fn compared(figure: Figure, base: &[&Run], new: &[&Run], threshold: f64, notes: &mut Vec<String>) -> Option<Compared> {
    let of = |runs: &[&Run]| runs.iter().filter_map(|run| figure.of(run)).collect::<Vec<f64>>();
    let (base_figures, new_figures) = (of(base), of(new));
    if base_figures.is_empty() && new_figures.is_empty() {
        return None;
    }
    if base_figures.len() < base.len() || new_figures.len() < new.len() {
        notes.push(format!(
            "{}: only {} of {} and {} of {} runs have it, so it is not compared",
            figure.name(),
            base_figures.len(),
            base.len(),
            new_figures.len(),
            new.len()
        ));
        return None;
    }
    if base_figures.is_empty() || new_figures.is_empty() {
        return None;
    }
    let mean = |figures: &[f64]| figures.iter().sum::<f64>() / figures.len() as f64;
    let enough = base_figures.len() >= MIN_RUNS && new_figures.len() >= MIN_RUNS;
    let pairs = in_turns(base, new).map(|pairs| {
        pairs.iter().filter_map(|(base, new)| Some((figure.of(base)?, figure.of(new)?))).collect::<Vec<_>>()
    });
    let (base, new) = (mean(&base_figures), mean(&new_figures));
    let (ratio, interval) = match pairs.filter(|pairs| pairs.iter().all(|(base, new)| *base > 0.0 && *new > 0.0)) {
        Some(pairs) => ratio_of_pairs(&pairs),
        None => (new / base, ratio_of_means(&base_figures, &new_figures)),
    };
    let interval = enough.then_some(interval);
    let verdict = interval.map_or(Verdict::Inconclusive, |interval| judge(figure, ratio, interval, threshold));
    Some(Compared { figure, base, new, ratio, interval, verdict })
}

/// Same when the whole interval lies within the threshold; different when it excludes 1 and the ratio itself lies beyond the threshold.
fn judge(figure: Figure, ratio: f64, interval: Interval, threshold: f64) -> Verdict {
    let (low, high) = (1.0 / (1.0 + threshold), 1.0 + threshold);
    if interval.low >= low && interval.high <= high {
        Verdict::Same
    } else if interval.low > 1.0 && ratio > high {
        if figure.more_is_better() { Verdict::Improved } else { Verdict::Regressed }
    } else if interval.high < 1.0 && ratio < low {
        if figure.more_is_better() { Verdict::Regressed } else { Verdict::Improved }
    } else {
        Verdict::Inconclusive
    }
}
