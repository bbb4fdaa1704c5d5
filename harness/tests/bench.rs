//! The bench against a stand-in executable: what it starts, what it makes of the answers, and that nothing is left behind.

#[path = "fake/mod.rs"]
mod fake;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fake::Stage;
use harness::bench::run;
use harness::{
    BenchEnd, BenchError, BenchPlan, BenchResult, Census, CoreLayout, RigError, ShardCounts, Totals, bench::Step,
};
use results::{ExitCode, Placement, ValidityCode};

/// A plan over the stand-in.
struct Case {
    stage: Stage,
    plan: BenchPlan,
}

impl Case {
    fn new(server_mode: &str, loader_mode: &str) -> Self {
        let stage = Stage::new(server_mode, loader_mode);
        let mut plan = BenchPlan::new(stage.rig.exe.clone(), stage.rig.cores.clone(), "0.0.0");
        plan.rig = stage.rig.clone();
        plan.levels = "1,8".parse().expect("a valid ramp");
        Self { stage, plan }
    }

    fn run(&self) -> Result<BenchResult, BenchError> {
        let result = run(&self.plan, &AtomicBool::new(false), &mut |_| ());
        self.stage.assert_nothing_left();
        result
    }

    fn failure(&self) -> (BenchError, usize) {
        let result = self.run().expect("the server comes up");
        let BenchEnd::Failed(error) = result.end else { panic!("ended as {:?}", result.end) };
        assert!(result.bench.interrupted);
        (error, result.bench.rows.len())
    }
}

#[test]
fn all_runs_of_the_plan_are_made_in_order() {
    let case = Case::new("ok", "ok");
    let mut steps = Vec::new();
    let mut note = |step: Step<'_>| {
        steps.push(match step {
            Step::Starting => "starting".to_owned(),
            Step::Serving { .. } => "serving".to_owned(),
            Step::Begin { index, total, wire, connections } => format!("{index}/{total} {wire} {connections}"),
            Step::Done { run } => format!("{} ok", run.requests.ok),
        });
    };
    let result = run(&case.plan, &AtomicBool::new(false), &mut note).expect("the server comes up");
    case.stage.assert_nothing_left();
    assert!(matches!(result.end, BenchEnd::Complete));
    assert!(!result.bench.interrupted);
    let rows: Vec<_> = result.bench.rows.iter().map(|row| format!("{}/{}", row.wire, row.connections)).collect();
    assert_eq!(rows, ["http/1", "zap/1", "http/8", "zap/8"]);
    let expected = [
        "starting",
        "serving",
        "0/4 http 1",
        "1000 ok",
        "1/4 zap 1",
        "1000 ok",
        "2/4 http 8",
        "1000 ok",
        "3/4 zap 8",
        "1000 ok",
    ];
    assert_eq!(steps, expected);
    let ratios: Vec<_> = result.bench.ratios.iter().map(|ratio| (ratio.connections, ratio.ok_per_s)).collect();
    assert_eq!(ratios, [(1, Some(1.0)), (8, Some(1.0))]);

    let calls = case.stage.lines("calls");
    let server_pid = &case.stage.lines("pids")[0];
    assert!(
        calls[0].starts_with(
            "serve --listen http://127.0.0.1:0 --listen zap://127.0.0.1:0 --cores 0-1 --incoming-cpus 2-3 "
        ),
        "{calls:?}"
    );
    let load = format!(
        "load zap://127.0.0.1:4242/health -c 8 -t 2 -d 200ms --warmup 0s --cores 2-3 --watch-pid {server_pid} --watch-cores 0-1 --json - --quiet "
    );
    assert!(calls[4].starts_with(&load), "{calls:?}");
}

#[test]
fn failed_requests_are_a_result() {
    let case = Case::new("ok", "failures");
    let result = case.run().expect("the server comes up");
    assert!(matches!(result.end, BenchEnd::Complete));
    assert_eq!(result.bench.rows.len(), 4);
}

#[test]
fn a_server_that_does_not_start_says_why() {
    let error = Case::new("dies_at_start", "ok").run().expect_err("it exits at once");
    assert_eq!(
        error.to_string(),
        "the server ended before it was ready (exit 32); it said:\n  | address 127.0.0.1:0 is taken"
    );
    assert_eq!(error.exit_code(), ExitCode::Address);
}

#[test]
fn a_server_that_is_never_ready_is_given_up() {
    let mut case = Case::new("never_ready", "ok");
    case.plan.rig.ready_wait = Duration::from_millis(500);
    let error = case.run().expect_err("it never says so");
    assert!(matches!(error, BenchError::Rig(RigError::ServerNotReady { .. })), "{error}");
    assert!(error.to_string().contains("still thinking"), "{error}");
}

#[test]
fn a_wire_without_a_listener_is_named() {
    let error = Case::new("no_zap", "ok").run().expect_err("zap is not served");
    assert!(matches!(&error, BenchError::Rig(RigError::NoListener { wire, .. }) if wire == "zap"), "{error}");
}

#[test]
fn a_server_that_dies_during_a_run_is_named() {
    let case = Case::new("dies_midway", "slow");
    let started = Instant::now();
    let (error, rows) = case.failure();
    assert_eq!(
        error.to_string(),
        "the server died during http with 1 connections (exit 3); it said:\n  | the ring broke"
    );
    assert_eq!(rows, 0);
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_server_that_ignores_sigterm_is_killed_with_its_children() {
    let result = Case::new("deaf", "ok").run().expect("the server comes up");
    assert!(matches!(result.end, BenchEnd::Complete));
}

#[test]
fn a_loader_that_hangs_is_killed_with_its_children() {
    let mut case = Case::new("ok", "hangs");
    case.plan.rig.load_slack = Duration::from_millis(300);
    let (error, _) = case.failure();
    assert!(matches!(error, BenchError::Rig(RigError::LoaderHung { .. })), "{error}");
}

#[test]
fn unusable_output_is_named() {
    for (mode, wanted) in [
        ("garbage", "the loader's output is broken: expected"),
        ("truncated", "the loader's output is truncated"),
        ("floods", "the loader's output is larger than 16777216 bytes"),
    ] {
        let (error, _) = Case::new("ok", mode).failure();
        assert!(error.to_string().contains(wanted), "{mode}: {error}");
        assert_eq!(error.exit_code(), ExitCode::ResultNotRead);
    }
}

#[test]
fn a_loader_that_refuses_passes_its_exit_code_on() {
    let (error, _) = Case::new("ok", "refused").failure();
    assert_eq!(
        error.to_string(),
        "the loader failed during http with 1 connections (exit 2); it said:\n  | error: unexpected argument"
    );
    assert_eq!(error.exit_code(), ExitCode::Usage);
}

#[test]
fn the_stop_flag_ends_it_with_what_there_is() {
    let case = Case::new("ok", "ok");
    let stop = AtomicBool::new(false);
    let mut after_two = |step: Step<'_>| {
        if matches!(step, Step::Begin { index: 2, .. }) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let result = run(&case.plan, &stop, &mut after_two).expect("the server comes up");
    case.stage.assert_nothing_left();
    assert!(matches!(result.end, BenchEnd::Interrupted));
    assert!(result.bench.interrupted);
    // The third run may have been fast enough to end before the flag was seen.
    assert!((2..=3).contains(&result.bench.rows.len()));
    assert!(result.bench.exit_codes(0).contains(&ExitCode::Interrupted));
}

#[test]
fn the_stop_flag_ends_a_run_under_way() {
    let case = Case::new("ok", "slow");
    let stop = Arc::new(AtomicBool::new(false));
    let raise = Arc::clone(&stop);
    let raiser = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(500));
        raise.store(true, Ordering::Relaxed);
    });
    let started = Instant::now();
    let result = run(&case.plan, &stop, &mut |_| ()).expect("the server comes up");
    assert!(matches!(result.end, BenchEnd::Interrupted), "{:?}", result.end);
    assert!(started.elapsed() < Duration::from_secs(5));
    raiser.join().expect("it only sleeps and stores");
    case.stage.assert_nothing_left();
}

#[test]
fn a_missing_program_is_named() {
    let mut case = Case::new("ok", "ok");
    case.plan.rig.exe = "/nonexistent/zapring".into();
    let error = run(&case.plan, &AtomicBool::new(false), &mut |_| ()).expect_err("no such program");
    assert!(error.to_string().starts_with("cannot start /nonexistent/zapring serve --listen"), "{error}");
}

/// A census over made-up answers: before the first run nothing but the asking connection on shard 0, then as told per run.
fn census(accepted_per_run: &'static [[u64; 2]]) -> Census {
    let asked = AtomicU64::new(0);
    Census::new("http", move |address| {
        assert_eq!(address, "http://127.0.0.1:4242");
        let times = asked.fetch_add(1, Ordering::Relaxed) as usize;
        // Asked before and after every run: of the runs that began, those are over whose second question this is.
        let runs = accepted_per_run.iter().take(times.div_ceil(2));
        let mut accepted = runs.fold(vec![0, 0], |sum: Vec<u64>, run| vec![sum[0] + run[0], sum[1] + run[1]]);
        accepted[0] += times as u64 + 1;
        Ok(ShardCounts { accepted, asked: 0, totals: Totals::default() })
    })
}

fn codes(result: &BenchResult, row: usize) -> Vec<ValidityCode> {
    result.bench.rows[row].run.validity.iter().map(|doubt| doubt.code).collect()
}

#[test]
fn the_spread_of_connections_is_asked_for_around_every_run() {
    let mut case = Case::new("ok", "ok");
    case.plan.rig.census = Some(census(&[[1, 0], [1, 0], [4, 4], [7, 1]]));
    let result = case.run().expect("the server comes up");
    let spread = |row: usize| result.bench.rows[row].spread.clone().expect("somebody asked");
    assert_eq!((spread(2).per_shard, spread(2).driven), (vec![4, 4], 2));
    assert_eq!(spread(3).range(), Some((1, 7)));
    assert!(codes(&result, 2).is_empty());
    assert_eq!(codes(&result, 3), [ValidityCode::UnevenSpread]);
}

#[test]
fn in_paired_placement_both_sides_have_every_core_and_strays_are_named() {
    let mut case = Case::new("ok", "ok");
    case.plan.levels = "8".parse().expect("a valid ramp");
    case.plan.rig.cores = CoreLayout::paired(&"0-1".parse().expect("a valid list"));
    case.plan.rig.census = Some(census(&[[4, 4], [5, 3]]));
    let result = case.run().expect("the server comes up");
    let calls = case.stage.lines("calls");
    assert!(calls[0].contains(" --cores 0-1 --incoming-cpus 0-1 "), "{calls:?}");
    assert!(calls[1].contains(" -c 8 -t 2 ") && calls[1].contains(" --cores 0-1 "), "{calls:?}");
    assert_eq!(result.bench.placement, Placement::Paired);
    assert_eq!(result.bench.rows[0].run.config.placement, Placement::Paired);
    assert!(codes(&result, 0).is_empty(), "cores are shared on purpose");
    assert_eq!(codes(&result, 1), [ValidityCode::Unpaired]);
}

#[test]
fn an_answer_that_is_none_is_a_doubt_and_no_failure() {
    let mut case = Case::new("ok", "ok");
    case.plan.rig.census = Some(Census::new("http", |_| Err("no such route".to_owned())));
    let result = case.run().expect("the server comes up");
    assert!(matches!(result.end, BenchEnd::Complete));
    assert_eq!((&result.bench.rows[3].spread, codes(&result, 3)), (&None, vec![ValidityCode::SpreadUnknown]));
}
