//! Whether a build costs more than its baseline. A pure function of two sets of rounds.
//!
//! Costs are held against a band that follows from how much single rounds of one build differ (the A/A spread), so that a noisy host
//! widens it instead of raising alarms. Counts do not move with noise and have fixed margins.

use crate::baseline::{Baseline, GatePoint};
use crate::counts::ServerCounts;
use crate::exit_code::ExitCode;
use crate::limits::{
    BAND_ERRORS, LEAK_BYTES, LEVEL_BYTES, MAX_BAND, MIN_BAND, MIN_BAND_IN_YARDSTICKS, MIN_ROUNDS, RSS_GROWTH_BYTES,
    RSS_GROWTH_SHARE,
};
use crate::median::median;

/// How one check ended, from good to bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// As before, or better.
    Held,
    /// The band is too wide to tell: too noisy, or too few rounds.
    Unclear,
    /// Worse.
    Worse,
}

impl Outcome {
    /// The word in reports.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Unclear => "unclear",
            Self::Worse => "worse",
        }
    }
}

/// One figure held against the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// What, as in `http server CPU`.
    pub name: String,
    /// The baseline's figure, in `unit`.
    pub base: f64,
    /// The new one.
    pub new: f64,
    /// Of both.
    pub unit: &'static str,
    /// The most that it may be, in `unit`.
    pub most: f64,
    /// What follows.
    pub outcome: Outcome,
}

/// All checks.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Configuration and environment that differ: nothing is held against anything then.
    pub differences: Vec<String>,
    /// In the order of the report.
    pub checks: Vec<Check>,
    /// What was measured in other units, for the reader: CPU us per request as it stood.
    pub notes: Vec<String>,
}

impl Report {
    /// The worst of all checks.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.checks.iter().map(|check| check.outcome).max().unwrap_or(Outcome::Unclear)
    }

    /// What the command ends with.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        if !self.differences.is_empty() {
            return ExitCode::NotComparable;
        }
        match self.outcome() {
            Outcome::Held => ExitCode::Ok,
            Outcome::Unclear => ExitCode::Inconclusive,
            Outcome::Worse => ExitCode::Regressed,
        }
    }
}

/// Holds `new` against `base`.
#[must_use]
pub fn judge(base: &Baseline, new: &Baseline) -> Report {
    let mut report = Report { differences: differences(base, new), checks: Vec::new(), notes: Vec::new() };
    let wires = &base.config.wires;
    for wire in wires {
        for (side, cpu_ns) in SIDES {
            let in_yardsticks = |of: &Baseline| {
                figures(of, wire, |yardstick_ns, point| Some(cpu_ns(point)? / positive(yardstick_ns as f64)?))
            };
            let name = format!("{wire} {side} CPU");
            report.checks.extend(cost(
                name,
                "exchanges/req",
                MIN_BAND_IN_YARDSTICKS,
                &in_yardsticks(base),
                &in_yardsticks(new),
            ));
        }
    }
    for (index, wire) in wires.iter().enumerate() {
        for other in &wires[..index] {
            let name = format!("{wire}/{other} server CPU");
            report.checks.extend(cost(name, "ratio", MIN_BAND, &ratios(base, wire, other), &ratios(new, wire, other)));
        }
    }
    for wire in wires {
        for count in &COUNTS {
            report.checks.extend(counted(count, wire, base, new));
        }
    }
    report.checks.extend(memory(base, new));
    report.checks.extend(levelling(new));
    report.checks.extend(failures(new));
    report.notes = notes(base, new);
    report
}

type Cpu = fn(&GatePoint) -> Option<f64>;

const SIDES: [(&str, Cpu); 2] = [
    ("server", |point| per_request(point.server_cpu_ns, point.ok)),
    ("loader", |point| per_request(point.loader_cpu_ns, point.ok)),
];

fn per_request(total: u64, requests: u64) -> Option<f64> {
    positive(total as f64).filter(|_| requests > 0).map(|total| total / requests as f64)
}

fn positive(value: f64) -> Option<f64> {
    (value > 0.0).then_some(value)
}

fn figures(of: &Baseline, wire: &str, figure: impl Fn(u64, &GatePoint) -> Option<f64>) -> Vec<f64> {
    of.points(wire).filter_map(|(yardstick_ns, point)| figure(yardstick_ns, point)).collect()
}

/// The server's cost on one wire over that on another, round by round: drift of the host cancels within a round.
fn ratios(of: &Baseline, wire: &str, other: &str) -> Vec<f64> {
    let server = |point: &GatePoint| per_request(point.server_cpu_ns, point.ok);
    let find = |points: &[GatePoint], wire: &str| points.iter().find(|point| point.wire == wire).and_then(server);
    of.rounds.iter().filter_map(|round| Some(find(&round.points, wire)? / find(&round.points, other)?)).collect()
}

/// A cost within its band: the ratio of the medians may be above 1 by so much as rounds of one build differ.
fn cost(name: String, unit: &'static str, least_band: f64, base: &[f64], new: &[f64]) -> Option<Check> {
    if base.is_empty() && new.is_empty() {
        return None;
    }
    let (base_median, new_median) = (middle(base), middle(new));
    let band = band(base, new).max(least_band);
    let most = base_median * (1.0 + band);
    let outcome = if base.len() < MIN_ROUNDS || new.len() < MIN_ROUNDS || base_median <= 0.0 {
        Outcome::Unclear
    } else if new_median > most {
        Outcome::Worse
    } else if band > MAX_BAND && new_median > base_median * (1.0 + least_band) {
        // So wide a band would let through what the gate is for. Where the figure has hardly moved, it has not.
        Outcome::Unclear
    } else {
        Outcome::Held
    };
    Some(Check { name, base: base_median, new: new_median, unit, most, outcome })
}

/// So many standard errors of the ratio of two medians, from the spread of both sides around their own.
fn band(base: &[f64], new: &[f64]) -> f64 {
    // A median's standard error is 1.2533 standard deviations over the root of the count, for a normal distribution.
    let error = |values: &[f64]| 1.2533 * spread(values) / (values.len().max(1) as f64).sqrt();
    BAND_ERRORS * error(base).hypot(error(new))
}

/// The relative standard deviation, from the median absolute deviation of the logarithms: one round in a storm does not count.
fn spread(values: &[f64]) -> f64 {
    let logs: Vec<f64> = values.iter().filter(|value| **value > 0.0).map(|value| value.ln()).collect();
    let centre = middle(&logs);
    let apart: Vec<f64> = logs.iter().map(|log| (log - centre).abs()).collect();
    1.4826 * middle(&apart)
}

/// Zero for nothing.
fn middle(values: &[f64]) -> f64 {
    median(values.iter().copied()).unwrap_or(0.0)
}

/// A count per request and how much more it may be: a share, and an amount.
struct Count {
    name: &'static str,
    of: fn(&ServerCounts) -> Option<u64>,
    share: f64,
    amount: f64,
}

/// Operations and completions follow from the protocol alone; how often a thread waits also from the host's mood. An allocation in every
/// fiftieth request is already one that should not be. Instructions move with how many requests a turn finds ready.
const COUNTS: [Count; 5] = [
    Count { name: "allocations", of: |counts| counts.allocations, share: 0.0, amount: 0.02 },
    Count { name: "operations", of: |counts| Some(counts.operations), share: 0.05, amount: 0.0 },
    Count { name: "completions", of: |counts| Some(counts.completions), share: 0.10, amount: 0.0 },
    Count { name: "instructions", of: |counts| counts.instructions, share: 0.05, amount: 0.0 },
    Count { name: "waits", of: |counts| Some(counts.enters), share: 0.50, amount: 0.5 },
];

fn counted(count: &Count, wire: &str, base: &Baseline, new: &Baseline) -> Option<Check> {
    // The median round: one that was held up waits more often.
    let per_request = |of: &Baseline| {
        let each = figures(of, wire, |_, point| {
            let counts = point.counts?;
            counts.per_request((count.of)(&counts)?)
        });
        median(each)
    };
    let (base, new) = (per_request(base)?, per_request(new)?);
    let most = base * (1.0 + count.share) + count.amount;
    let outcome = if new > most { Outcome::Worse } else { Outcome::Held };
    Some(Check { name: format!("{wire} {}", count.name), base, new, unit: "/req", most, outcome })
}

const MIB: f64 = 1_048_576.0;

/// The peak may grow by a share and by an amount; it must exceed both to be worse.
fn memory(base: &Baseline, new: &Baseline) -> Option<Check> {
    let peak = |of: &Baseline| of.rounds.iter().flat_map(|round| &round.points).map(|point| point.rss_peak_bytes).max();
    let (base, new) = (peak(base)? as f64, peak(new)? as f64);
    let most = (base * (1.0 + RSS_GROWTH_SHARE)).max(base + RSS_GROWTH_BYTES as f64);
    let outcome = if new > most { Outcome::Worse } else { Outcome::Held };
    Some(Check {
        name: "peak RSS".to_owned(),
        base: base / MIB,
        new: new / MIB,
        unit: "MiB",
        most: most / MIB,
        outcome,
    })
}

/// What is made once levels off. A leak is memory that still grew in every round of the second half, or a heap that grew beyond
/// [`LEAK_BYTES`].
fn levelling(new: &Baseline) -> Vec<Check> {
    let ends: Vec<&GatePoint> = new.rounds.iter().filter_map(|round| round.points.last()).collect();
    let mut checks = Vec::new();
    let half = ends.len() / 2;
    if let (Some(first), Some(last)) = (ends.get(half), ends.last())
        && ends.len() >= MIN_ROUNDS
    {
        let grown = last.rss_end_bytes as f64 - first.rss_end_bytes as f64;
        let always = ends[half..].windows(2).all(|pair| pair[1].rss_end_bytes > pair[0].rss_end_bytes);
        let outcome = if always && grown > LEVEL_BYTES as f64 { Outcome::Worse } else { Outcome::Held };
        let name = "RSS growth in the second half".to_owned();
        checks.push(Check { name, base: 0.0, new: grown / MIB, unit: "MiB", most: LEVEL_BYTES as f64 / MIB, outcome });
    }
    let live = |point: Option<&&GatePoint>| point?.counts?.live_end_bytes;
    if let Some((first, last)) = live(ends.first()).zip(live(ends.last())) {
        let grown = last.saturating_sub(first);
        let outcome = if grown > LEAK_BYTES { Outcome::Worse } else { Outcome::Held };
        let name = "heap growth after the first round".to_owned();
        let (new, most) = (grown as f64 / MIB, LEAK_BYTES as f64 / MIB);
        checks.push(Check { name, base: 0.0, new, unit: "MiB", most, outcome });
    }
    checks
}

fn failures(new: &Baseline) -> Option<Check> {
    let failed: u64 = new.rounds.iter().flat_map(|round| &round.points).map(|point| point.failed).sum();
    (failed > 0).then(|| Check {
        name: "failed requests".to_owned(),
        base: 0.0,
        new: failed as f64,
        unit: "",
        most: 0.0,
        outcome: Outcome::Worse,
    })
}

/// What must be the same for a cost to be one build's against another's. The configuration is the baseline's own.
fn differences(base: &Baseline, new: &Baseline) -> Vec<String> {
    let (was, is) = (&base.environment, &new.environment);
    let known = |word: &Option<String>| word.clone().unwrap_or_else(|| "unknown".to_owned());
    let facts = [
        ("CPU model", known(&was.cpu_model), known(&is.cpu_model)),
        ("architecture", was.architecture.clone(), is.architecture.clone()),
        ("kernel", known(&was.kernel_release), known(&is.kernel_release)),
        ("governor", known(&was.governor), known(&is.governor)),
        ("CPUs online", format!("{:?}", was.cpus_online), format!("{:?}", is.cpus_online)),
    ];
    let mut differences: Vec<String> = facts
        .into_iter()
        .filter(|(_, was, is)| was != is)
        .map(|(fact, was, is)| format!("{fact}: {was} in the baseline, {is} now"))
        .collect();
    if base.config != new.config {
        differences.push("configuration: it was measured in another way than the baseline".to_owned());
    }
    differences
}

/// CPU time per request as it stood, and the yardstick it was held against.
fn notes(base: &Baseline, new: &Baseline) -> Vec<String> {
    let us = |values: &[f64]| middle(values) / 1e3;
    let yardstick = |of: &Baseline| us(&of.rounds.iter().map(|round| round.yardstick_ns as f64).collect::<Vec<_>>());
    let mut notes = vec![format!(
        "one plain exchange over TCP cost {:.2} us of CPU in the baseline and {:.2} us now",
        yardstick(base),
        yardstick(new)
    )];
    for wire in &base.config.wires {
        let server = |of: &Baseline| us(&figures(of, wire, |_, point| per_request(point.server_cpu_ns, point.ok)));
        notes.push(format!(
            "{wire}: server CPU {:.2} us/req in the baseline, {:.2} us/req now",
            server(base),
            server(new)
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::{GateConfig, Round};

    /// Rounds on floor and http; `http` changes a point of http, and `noise` moves a whole round.
    fn rounds(count: u64, noise: impl Fn(u64) -> f64, http: impl Fn(u64, &mut GatePoint)) -> Baseline {
        let scaled = |round: u64, ns: u64| (ns as f64 * noise(round)) as u64;
        let point = |round: u64, wire: &str| GatePoint {
            wire: wire.to_owned(),
            ok: 1000,
            server_cpu_ns: scaled(round, 5_000_000),
            loader_cpu_ns: scaled(round, 6_000_000),
            rss_end_bytes: 10 << 20,
            rss_peak_bytes: 11 << 20,
            counts: Some(ServerCounts {
                requests: 1000,
                operations: 1010,
                completions: 2000,
                enters: 40,
                allocations: Some(1),
                live_start_bytes: Some(0),
                live_end_bytes: Some(0),
                instructions: Some(2_000_000),
            }),
            ..GatePoint::default()
        };
        let round = |number: u64| {
            let mut points = vec![point(number, "floor"), point(number, "http")];
            http(number, &mut points[1]);
            Round { yardstick_ns: scaled(number, 6_000), points }
        };
        Baseline {
            config: GateConfig { wires: vec!["floor".to_owned(), "http".to_owned()], ..GateConfig::default() },
            rounds: (0..count).map(round).collect(),
            ..Baseline::default()
        }
    }

    fn base() -> Baseline {
        rounds(12, |round| 1.0 + (round % 3) as f64 * 0.01, |_, _| {})
    }

    fn worse(report: &Report) -> Vec<&str> {
        report.checks.iter().filter(|check| check.outcome == Outcome::Worse).map(|check| check.name.as_str()).collect()
    }

    #[test]
    fn the_same_build_holds_on_a_host_that_has_become_twice_as_slow() {
        let new = rounds(7, |round| 2.0 + (round % 2) as f64 * 0.3, |_, _| {});
        let report = judge(&base(), &new);
        assert_eq!((report.outcome(), report.exit_code()), (Outcome::Held, ExitCode::Ok), "{:#?}", report.checks);
        assert_eq!(report.notes[0], "one plain exchange over TCP cost 6.06 us of CPU in the baseline and 12.00 us now");
    }

    #[test]
    fn what_has_become_worse_is_named() {
        type Change = fn(u64, &mut GatePoint);
        let table: [(Change, &[&str]); 8] = [
            (
                |_, point| point.server_cpu_ns = point.server_cpu_ns * 13 / 10,
                &["http server CPU", "http/floor server CPU"],
            ),
            (|_, point| point.loader_cpu_ns = point.loader_cpu_ns * 13 / 10, &["http loader CPU"]),
            (
                |_, point| point.counts.iter_mut().for_each(|counts| counts.allocations = Some(1000)),
                &["http allocations"],
            ),
            (|_, point| point.counts.iter_mut().for_each(|counts| counts.operations = 2000), &["http operations"]),
            (
                |_, point| point.counts.iter_mut().for_each(|counts| counts.instructions = Some(2_200_000)),
                &["http instructions"],
            ),
            (|_, point| point.rss_peak_bytes = 30 << 20, &["peak RSS"]),
            (|round, point| point.rss_end_bytes += round << 20, &["RSS growth in the second half"]),
            (|_, point| point.failed = 1, &["failed requests"]),
        ];
        for (change, names) in table {
            let report = judge(&base(), &rounds(7, |_| 1.0, change));
            assert_eq!(worse(&report), names);
            assert_eq!(report.exit_code(), ExitCode::Regressed);
        }
        let leak = |round: u64, point: &mut GatePoint| {
            point.counts.iter_mut().for_each(|counts| counts.live_end_bytes = Some((round as i64) << 21));
        };
        assert_eq!(worse(&judge(&base(), &rounds(7, |_| 1.0, leak))), ["heap growth after the first round"]);
    }

    #[test]
    fn instructions_are_held_where_both_sides_have_them_and_within_a_margin() {
        let with = |count| {
            rounds(7, |_| 1.0, move |_, point| point.counts.iter_mut().for_each(|counts| counts.instructions = count))
        };
        let check = |base: &Baseline, new: &Baseline| {
            judge(base, new).checks.into_iter().find(|check| check.name == "http instructions")
        };
        let held = check(&base(), &with(Some(2_090_000))).expect("both sides have them");
        assert_eq!((held.outcome, held.base, held.new, held.most), (Outcome::Held, 2000.0, 2090.0, 2100.0));
        assert_eq!(check(&base(), &with(None)), None);
        assert_eq!(check(&with(None), &base()), None);
        assert_eq!(judge(&base(), &with(None)).outcome(), Outcome::Held);
    }

    #[test]
    fn memory_that_levels_off_is_no_leak_however_much_it_is() {
        let settles = |round: u64, point: &mut GatePoint| point.rss_end_bytes += round.min(3) << 20;
        assert_eq!(worse(&judge(&base(), &rounds(7, |_| 1.0, settles))), [""; 0]);
        // 8 MiB of growth are within the margin though they are more than 15 %, and 15 % though they are more than 8 MiB.
        let grown = |bytes: u64| move |_: u64, point: &mut GatePoint| point.rss_peak_bytes = bytes;
        assert_eq!(judge(&base(), &rounds(7, |_| 1.0, grown(19 << 20))).outcome(), Outcome::Held);
        let large = rounds(12, |_| 1.0, grown(100 << 20));
        assert_eq!(judge(&large, &rounds(7, |_| 1.0, grown(114 << 20))).outcome(), Outcome::Held);
        assert_eq!(judge(&large, &rounds(7, |_| 1.0, grown(116 << 20))).outcome(), Outcome::Worse);
    }

    #[test]
    fn noise_widens_the_band_and_too_few_rounds_say_nothing() {
        // Rounds of http that differ from each other as much as the slower build does.
        let restless = |round: u64, point: &mut GatePoint| point.server_cpu_ns = 4_000_000 + round % 4 * 1_600_000;
        let report =
            judge(&rounds(5, |_| 1.0, restless), &rounds(5, |_| 1.0, |_, point| point.server_cpu_ns = 7_000_000));
        assert_eq!((report.outcome(), report.exit_code()), (Outcome::Unclear, ExitCode::Inconclusive));
        assert_eq!(judge(&base(), &rounds(4, |_| 1.0, |_, _| {})).outcome(), Outcome::Unclear);
        assert_eq!(judge(&base(), &Baseline::default()).exit_code(), ExitCode::NotComparable, "another configuration");
    }

    #[test]
    fn another_host_is_named() {
        let (base, mut new) = (base(), base());
        new.environment.kernel_release = Some("9.0".to_owned());
        let report = judge(&base, &new);
        assert_eq!(report.differences, ["kernel: unknown in the baseline, 9.0 now"]);
        assert_eq!(report.exit_code(), ExitCode::NotComparable);
        let text = crate::report::gate::text(&report, 12, 12);
        assert!(text.ends_with("outcome: not comparable; make a new baseline here with gate --init\n"), "{text}");
    }
}
