//! The bench against a stand-in executable: what it starts, what it makes of the answers, and that nothing is left behind.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use harness::bench::run;
use harness::{BenchEnd, BenchError, BenchPlan, BenchResult, Step, choose};
use results::{ExitCode, Outcome, Output, Run};

/// A plan over the stand-in, and the folder in which its processes leave their traces.
struct Stage {
    folder: tempfile::TempDir,
    plan: BenchPlan,
}

impl Stage {
    fn new(server_mode: &str, loader_mode: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let exe = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake/zapring.sh");
        let mut plan = BenchPlan::new(exe, choose(&"0-3".parse().expect("a valid list")), "0.0.0");
        plan.levels = "1,8".parse().expect("a valid ramp");
        plan.duration = Duration::from_millis(200);
        plan.warmup = Duration::ZERO;
        plan.ready_wait = Duration::from_secs(5);
        let args = |mode: &str| {
            let folder = folder.path().to_string_lossy().into_owned();
            vec!["--fake".to_owned(), mode.to_owned(), "--folder".to_owned(), folder]
        };
        plan.server_args = args(server_mode);
        plan.loader_args = args(loader_mode);
        let mut result = Run { elapsed_ns: 200_000_000, ..Run::default() };
        (result.requests.planned, result.requests.sent) = (1000, 1000);
        result.requests.add(Outcome::Ok, 1000);
        result.conclude();
        Output::open(&folder.path().join("run.json")).expect("opens").write(&result).expect("writes");
        Self { folder, plan }
    }

    fn run(&self) -> Result<BenchResult, BenchError> {
        let result = run(&self.plan, &AtomicBool::new(false), &mut |_| ());
        self.assert_nothing_left();
        result
    }

    fn failure(&self) -> (BenchError, usize) {
        let result = self.run().expect("the server comes up");
        let BenchEnd::Failed(error) = result.end else { panic!("ended as {:?}", result.end) };
        assert!(result.bench.interrupted);
        (error, result.bench.rows.len())
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Every process that was started is gone. Killed grandchildren are reaped by init, which takes a moment.
    fn assert_nothing_left(&self) {
        let pids = self.lines("pids");
        assert!(!pids.is_empty(), "nothing was started");
        let deadline = Instant::now() + Duration::from_secs(5);
        for pid in pids {
            while is_running(&pid) {
                assert!(Instant::now() < deadline, "process {pid} is left");
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

fn is_running(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

#[test]
fn all_runs_of_the_plan_are_made_in_order() {
    let stage = Stage::new("ok", "ok");
    let mut steps = Vec::new();
    let mut note = |step: Step<'_>| {
        steps.push(match step {
            Step::Starting => "starting".to_owned(),
            Step::Serving { .. } => "serving".to_owned(),
            Step::Begin { index, total, wire, connections } => format!("{index}/{total} {wire} {connections}"),
            Step::Done { run } => format!("{} ok", run.requests.ok),
        });
    };
    let result = run(&stage.plan, &AtomicBool::new(false), &mut note).expect("the server comes up");
    stage.assert_nothing_left();
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

    let calls = stage.lines("calls");
    let server_pid = &stage.lines("pids")[0];
    assert!(
        calls[0].starts_with("serve --listen http://127.0.0.1:0 --listen zap://127.0.0.1:0 --cores 0-1 "),
        "{calls:?}"
    );
    let load = format!(
        "load zap://127.0.0.1:4242/health -c 8 -t 2 -d 200ms --warmup 0s --cores 2-3 --watch-pid {server_pid} --watch-cores 0-1 --json - --quiet "
    );
    assert!(calls[4].starts_with(&load), "{calls:?}");
}

#[test]
fn failed_requests_are_a_result() {
    let stage = Stage::new("ok", "failures");
    let result = stage.run().expect("the server comes up");
    assert!(matches!(result.end, BenchEnd::Complete));
    assert_eq!(result.bench.rows.len(), 4);
}

#[test]
fn a_server_that_does_not_start_says_why() {
    let error = Stage::new("dies_at_start", "ok").run().expect_err("it exits at once");
    assert_eq!(
        error.to_string(),
        "the server ended before it was ready (exit 32); it said:\n  | address 127.0.0.1:0 is taken"
    );
    assert_eq!(error.exit_code(), ExitCode::Address);
}

#[test]
fn a_server_that_is_never_ready_is_given_up() {
    let mut stage = Stage::new("never_ready", "ok");
    stage.plan.ready_wait = Duration::from_millis(500);
    let error = stage.run().expect_err("it never says so");
    assert!(matches!(error, BenchError::ServerNotReady { .. }), "{error}");
    assert!(error.to_string().contains("still thinking"), "{error}");
}

#[test]
fn a_wire_without_a_listener_is_named() {
    let error = Stage::new("no_zap", "ok").run().expect_err("zap is not served");
    assert!(matches!(&error, BenchError::NoListener { wire, .. } if wire == "zap"), "{error}");
}

#[test]
fn a_server_that_dies_during_a_run_is_named() {
    let stage = Stage::new("dies_midway", "slow");
    let started = Instant::now();
    let (error, rows) = stage.failure();
    assert_eq!(
        error.to_string(),
        "the server died during http with 1 connections (exit 3); it said:\n  | the ring broke"
    );
    assert_eq!(rows, 0);
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_server_that_ignores_sigterm_is_killed_with_its_children() {
    let result = Stage::new("deaf", "ok").run().expect("the server comes up");
    assert!(matches!(result.end, BenchEnd::Complete));
}

#[test]
fn a_loader_that_hangs_is_killed_with_its_children() {
    let mut stage = Stage::new("ok", "hangs");
    stage.plan.load_slack = Duration::from_millis(300);
    let (error, _) = stage.failure();
    assert!(matches!(error, BenchError::LoaderHung { .. }), "{error}");
}

#[test]
fn unusable_output_is_named() {
    for (mode, wanted) in [
        ("garbage", "the loader's output is broken: expected"),
        ("truncated", "the loader's output is truncated"),
        ("floods", "the loader's output is larger than 16777216 bytes"),
    ] {
        let (error, _) = Stage::new("ok", mode).failure();
        assert!(error.to_string().contains(wanted), "{mode}: {error}");
        assert_eq!(error.exit_code(), ExitCode::ResultNotRead);
    }
}

#[test]
fn a_loader_that_refuses_passes_its_exit_code_on() {
    let (error, _) = Stage::new("ok", "refused").failure();
    assert_eq!(
        error.to_string(),
        "the loader failed during http with 1 connections (exit 2); it said:\n  | error: unexpected argument"
    );
    assert_eq!(error.exit_code(), ExitCode::Usage);
}

#[test]
fn the_stop_flag_ends_it_with_what_there_is() {
    let stage = Stage::new("ok", "ok");
    let stop = AtomicBool::new(false);
    let mut after_two = |step: Step<'_>| {
        if matches!(step, Step::Begin { index: 2, .. }) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let result = run(&stage.plan, &stop, &mut after_two).expect("the server comes up");
    stage.assert_nothing_left();
    assert!(matches!(result.end, BenchEnd::Interrupted));
    assert!(result.bench.interrupted);
    // The third run may have been fast enough to end before the flag was seen.
    assert!((2..=3).contains(&result.bench.rows.len()));
    assert!(result.bench.exit_codes(0).contains(&ExitCode::Interrupted));
}

#[test]
fn the_stop_flag_ends_a_run_under_way() {
    let stage = Stage::new("ok", "slow");
    let stop = Arc::new(AtomicBool::new(false));
    let raise = Arc::clone(&stop);
    let raiser = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(500));
        raise.store(true, Ordering::Relaxed);
    });
    let started = Instant::now();
    let result = run(&stage.plan, &stop, &mut |_| ()).expect("the server comes up");
    assert!(matches!(result.end, BenchEnd::Interrupted), "{:?}", result.end);
    assert!(started.elapsed() < Duration::from_secs(5));
    raiser.join().expect("it only sleeps and stores");
    stage.assert_nothing_left();
}

#[test]
fn a_missing_program_is_named() {
    let mut stage = Stage::new("ok", "ok");
    stage.plan.exe = "/nonexistent/zapring".into();
    let error = run(&stage.plan, &AtomicBool::new(false), &mut |_| ()).expect_err("no such program");
    assert!(error.to_string().starts_with("cannot start /nonexistent/zapring serve --listen"), "{error}");
}
