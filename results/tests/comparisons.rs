//! Comparing sets of runs: what is found, what is not, and what is refused.

mod common;

use proptest::prelude::*;
use results::compare::{Ask, Comparison, Figure, Verdict, compare};
use results::limits::NOISE_THRESHOLD;
use results::{Mode, Outcome, Run, Validity, ValidityCode};

/// Numbers that look like chance and are the same every time: about normal, mean 0, deviation 1.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        let mut uniform = || {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        };
        (0..12).map(|_| uniform()).sum::<f64>() - 6.0
    }
}

/// So many runs around a rate, whose costs move with it.
fn side(name: &str, count: usize, ok_per_s: f64, noise: f64, seed: u64) -> Vec<Run> {
    let like = common::good_run("zap", 64, 3000, 211_000);
    let mut chance = Noise(seed);
    let run = |index: usize| {
        let mut run = like.clone();
        run.run_id = format!("{name}-{index}");
        run.started_at = format!("2026-11-30T13:35:{index:02}.000Z");
        let rate = (ok_per_s * (1.0 + noise * chance.next())).max(1.0);
        run.rates.ok_per_s = Some(rate);
        run.loader.cpu_ns_per_request = Some((9e8 / rate) as u64);
        run.server.as_mut().expect("watched").cpu_ns_per_request = Some((8e8 / rate) as u64);
        run
    };
    (0..count).map(run).collect()
}

fn compared(base: &[Run], new: &[Run]) -> Comparison {
    across(base, new, &[])
}

fn across(base: &[Run], new: &[Run], keys: &[&str]) -> Comparison {
    let ask = Ask { threshold: NOISE_THRESHOLD, across: keys.iter().map(|key| (*key).to_owned()).collect() };
    compare(&base.iter().collect::<Vec<_>>(), &new.iter().collect::<Vec<_>>(), &ask)
}

fn notes(comparison: &Comparison) -> String {
    comparison.levels.iter().flat_map(|level| level.notes.clone()).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_same_distribution_is_the_same() {
    let is_same = |seed: &u64| {
        let (base, new) = (side("a", 5, 3e5, 0.01, *seed), side("b", 5, 3e5, 0.01, seed + 1000));
        compared(&base, &new).verdict == Verdict::Same
    };
    let same = (0..20).filter(is_same).count();
    assert!(same >= 19, "{same} of 20");
}

#[test]
fn drift_cancels_where_the_sides_were_measured_in_turns() {
    // The host becomes twice as slow under way, for both alike.
    let drifting = |name: &str, half_s: usize, seed: u64| {
        let mut runs = side(name, 12, 3e5, 0.01, seed);
        for (index, run) in runs.iter_mut().enumerate() {
            let slower = 1.0 + index as f64 / 11.0;
            run.started_at = format!("2026-11-30T13:35:{:02}.000Z", 2 * index + half_s);
            run.rates.ok_per_s = run.rates.ok_per_s.map(|rate| rate / slower);
            run.loader.cpu_ns_per_request = run.loader.cpu_ns_per_request.map(|ns| (ns as f64 * slower) as u64);
            let server = run.server.as_mut().expect("watched");
            server.cpu_ns_per_request = server.cpu_ns_per_request.map(|ns| (ns as f64 * slower) as u64);
        }
        runs
    };
    let (base, new) = (drifting("a", 0, 1), drifting("b", 1, 2));
    assert_eq!(compared(&base, &new).verdict, Verdict::Same);
    let mut later = drifting("b", 1, 2);
    later.iter_mut().for_each(|run| run.started_at = run.started_at.replace("13:35", "13:36"));
    let apart = compared(&base, &later);
    assert_eq!(apart.verdict, Verdict::Inconclusive, "means of two sides that each drifted");
    assert!(notes(&apart).contains("one after the other"));
}

#[test]
fn noise_alone_is_hardly_ever_a_difference() {
    let mut wrong = 0;
    for seed in 0..200 {
        let (base, new) = (side("a", 5, 3e5, 0.10, seed), side("b", 5, 3e5, 0.10, seed + 1000));
        let verdict = compared(&base, &new).verdict;
        wrong += usize::from(verdict == Verdict::Regressed || verdict == Verdict::Improved);
    }
    assert!(wrong <= 10, "{wrong} of 200");
}

#[test]
fn thirty_percent_is_found_both_ways() {
    for seed in 0..20 {
        let (base, new) = (side("a", 5, 3e5, 0.03, seed), side("b", 5, 2.1e5, 0.03, seed + 1000));
        let worse = compared(&base, &new);
        assert_eq!(worse.verdict, Verdict::Regressed, "{seed}");
        assert!(worse.levels[0].figures.iter().all(|figure| figure.verdict == Verdict::Regressed), "{worse:?}");
        assert_eq!(compared(&new, &base).verdict, Verdict::Improved, "{seed}");
    }
}

#[test]
fn too_few_or_too_noisy_is_inconclusive() {
    let few = compared(&side("a", 4, 3e5, 0.0, 1), &side("b", 9, 1e5, 0.0, 2));
    assert_eq!(few.verdict, Verdict::Inconclusive);
    assert!(notes(&few).contains("4 and 9 runs counted; it takes 5 on each side"), "{few:?}");
    assert!(few.levels[0].figures[0].interval.is_none());
    assert_eq!(compared(&side("a", 5, 3e5, 0.3, 1), &side("b", 5, 3e5, 0.3, 2)).verdict, Verdict::Inconclusive);
    assert_eq!(compared(&[], &[]).verdict, Verdict::Inconclusive);
    assert_eq!(compared(&side("a", 5, 3e5, 0.0, 1), &[]).verdict, Verdict::Inconclusive);
}

#[test]
fn runs_that_must_not_count_do_not() {
    let (base, mut new) = (side("a", 7, 3e5, 0.0, 1), side("b", 7, 3e5, 0.0, 2));
    new[0].interrupted = true;
    new[1].validity.push(Validity::fatal(ValidityCode::SendLag, "late"));
    new[2] = new[3].clone();
    let comparison = compared(&base, &new);
    assert_eq!((comparison.levels[0].runs, comparison.verdict), ((7, 4), Verdict::Inconclusive));
    for words in [
        "b-0 does not count: interrupted",
        "b-1 does not count: not trusted, send_lag",
        "b-3 does not count: given twice",
    ] {
        assert!(notes(&comparison).contains(words), "{comparison:?}");
    }
}

#[test]
fn what_differs_is_said() {
    let (base, new) = (side("a", 5, 3e5, 0.0, 1), side("b", 5, 3e5, 0.0, 2));
    type Change = fn(&mut Run);
    let changes: [(&str, Change); 8] = [
        ("engine", |run| run.config.engine.name = "epoll".to_owned()),
        ("connections", |run| run.config.connections = 8),
        ("target", |run| run.config.url = "zap://127.0.0.1:41231/echo".to_owned()),
        ("pipeline", |run| run.config.pipeline = 16),
        ("placement", |run| run.config.placement = results::Placement::Paired),
        ("kernel", |run| run.environment.kernel_release = Some("7.0".to_owned())),
        ("cpu_model", |run| run.environment.cpu_model = None),
        ("server_cores", |run| run.server.as_mut().expect("watched").core_busy.clear()),
    ];
    for (key, change) in changes {
        // One run that differs is enough, on either side.
        for (all, swapped) in [(true, false), (false, false), (true, true)] {
            let mut changed = new.clone();
            changed.iter_mut().skip(if all || key == "connections" { 0 } else { 4 }).for_each(change);
            let (base, new) = if swapped { (&changed, &base) } else { (&base, &changed) };
            let comparison = compared(base, new);
            let found: Vec<&str> = comparison.levels[0].differences.iter().map(|found| found.key).collect();
            assert_eq!((comparison.verdict, found), (Verdict::NotComparable, vec![key]));
            assert_eq!(across(base, new, &[key]).verdict, Verdict::Same, "{key} was allowed to differ");
        }
    }
}

#[test]
fn what_only_names_a_run_may_differ() {
    let (base, mut new) = (side("a", 5, 3e5, 0.0, 1), side("b", 5, 3e5, 0.0, 2));
    for run in &mut new {
        run.config.url = "zap://127.0.0.1:50000/health".to_owned();
        run.environment.zapring_version = "0.2.0".to_owned();
        run.environment.load_average = None;
        run.started_at.replace_range(11..13, "15");
    }
    let comparison = compared(&base, &new);
    assert_eq!(comparison.verdict, Verdict::Same, "{comparison:?}");
    assert!(notes(&comparison).contains("one after the other"), "{comparison:?}");
    assert!(!notes(&compared(&base, &side("b", 5, 3e5, 0.0, 2))).contains("one after the other"));
}

#[test]
fn levels_are_compared_each_with_its_own() {
    let both = |name: &str, zap: f64, http: f64| {
        let mut runs = side(name, 5, zap, 0.0, 1);
        runs.extend(side(&format!("{name}-http"), 5, http, 0.0, 2).into_iter().map(|mut run| {
            run.config.wire = "http".to_owned();
            run
        }));
        runs
    };
    let comparison = compared(&both("a", 3e5, 2e5), &both("b", 3e5, 1e5));
    let verdicts: Vec<_> = comparison.levels.iter().map(|level| (level.name.as_str(), level.verdict)).collect();
    assert_eq!(verdicts, [("zap/64", Verdict::Same), ("http/64", Verdict::Regressed)]);
    assert_eq!(comparison.verdict, Verdict::Regressed);
    let missing = compared(&both("a", 3e5, 2e5), &side("b", 5, 3e5, 0.0, 3));
    assert_eq!((missing.levels[1].runs, missing.verdict), ((5, 0), Verdict::Inconclusive));
}

#[test]
fn nothing_but_failures_is_a_regression() {
    let (base, mut new) = (side("a", 5, 3e5, 0.0, 1), side("b", 5, 3e5, 0.0, 2));
    for run in &mut new {
        run.requests.add(Outcome::Timeout, 3000);
        run.rates.ok_per_s = Some(0.0);
        run.loader.cpu_ns_per_request = None;
    }
    let comparison = compared(&base, &new);
    assert_eq!(comparison.verdict, Verdict::Regressed);
    assert!(notes(&comparison).contains("new: 15000 requests failed in 5 of 5 runs"), "{comparison:?}");
    assert!(notes(&comparison).contains("loader CPU us/req: only 5 of 5 and 0 of 5 runs have it"), "{comparison:?}");
    assert_eq!(
        compared(&new, &new.clone()).levels[0].figures[0].verdict,
        Verdict::Inconclusive,
        "nothing over nothing"
    );
}

#[test]
fn figures_are_taken_only_where_they_mean_something() {
    let mut runs = side("a", 1, 3e5, 0.0, 1);
    assert_eq!(Figure::P99.of(&runs[0]), None, "closed loop");
    runs[0].mode = Mode::OpenLoop;
    runs[0].latency.p99_ns = Some(1500);
    assert_eq!(Figure::P99.of(&runs[0]), Some(1.5));
    runs[0].validity.push(Validity::note(ValidityCode::Spinning, ""));
    assert_eq!(Figure::LoaderCpu.of(&runs[0]), None, "a loader that spins");
    runs[0].rates.ok_per_s = Some(f64::NAN);
    assert_eq!(Figure::OkPerS.of(&runs[0]), None);
}

#[test]
fn comparison_text() {
    let (base, mut new) = (side("a", 5, 3e5, 0.01, 1), side("b", 6, 2.4e5, 0.01, 2));
    new[5].requests.add(Outcome::Reset, 2);
    let regressed = results::report::compare::text(&compared(&base, &new));
    new.iter_mut().for_each(|run| run.config.engine.name = "epoll\u{1b}[2J".to_owned());
    new.truncate(3);
    let refused = results::report::compare::text(&compared(&base, &new));
    insta::assert_snapshot!(format!("{regressed}\n{refused}"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_rates_give_a_verdict(base in prop::collection::vec(prop::num::f64::ANY, 0..8), new in prop::collection::vec(prop::num::f64::ANY, 0..8)) {
        let runs = |name: &str, rates: &[f64]| {
            let mut runs = side(name, rates.len(), 1.0, 0.0, 1);
            runs.iter_mut().zip(rates).for_each(|(run, rate)| run.rates.ok_per_s = Some(*rate));
            runs
        };
        let comparison = compared(&runs("a", &base), &runs("b", &new));
        prop_assert!(base.len() >= 5 && new.len() >= 5 || comparison.verdict == Verdict::Inconclusive);
        let _ = results::report::compare::text(&comparison);
    }

    #[test]
    fn a_scale_does_not_matter_and_order_within_a_side_neither(scale in 1e-3..1e6_f64, factor in 0.5..2.0_f64, turn in 0..5_usize) {
        let (base, new) = (side("a", 5, 3e5, 0.002, 1), side("b", 5, 3e5 * factor, 0.002, 2));
        let scaled = |runs: &[Run]| {
            let mut runs = runs.to_vec();
            runs.iter_mut().for_each(|run| run.rates.ok_per_s = run.rates.ok_per_s.map(|rate| rate * scale));
            runs.rotate_left(turn);
            runs
        };
        let (plain, other) = (compared(&base, &new), compared(&scaled(&base), &scaled(&new)));
        let of = |comparison: &Comparison| comparison.levels[0].figures[0].clone();
        prop_assert!((of(&plain).ratio / of(&other).ratio - 1.0).abs() < 1e-9);
        // At the very edge of the threshold the resamples decide.
        let near_edge = (factor - 1.05).abs() < 0.02 || (factor - 1.0 / 1.05).abs() < 0.02;
        prop_assert!(near_edge || of(&plain).verdict == of(&other).verdict);
    }
}
