//! The sweep against a stand-in executable: what it starts in which order, what it makes of the answers, and that nothing is left behind.

#[path = "fake/mod.rs"]
mod fake;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fake::Stage;
use harness::sweep::{Factor, Step, run};
use harness::{RigError, SweepEnd, SweepError, SweepPlan, SweepResult};
use results::sweep::Side;
use results::{ExitCode, Sweep};

/// A sweep over `buffers` and `min-wait` of the stand-in.
struct Case {
    stage: Stage,
    plan: SweepPlan,
}

impl Case {
    fn new(server_mode: &str, loader_mode: &str) -> Self {
        let stage = Stage::new(server_mode, loader_mode);
        let mut plan = SweepPlan::new(stage.rig.clone(), "0.0.0");
        plan.rig.targets.truncate(1);
        plan.rounds = 3;
        let factor = |name: &str, base: &str, values: &[&str]| Factor {
            name: name.to_owned(),
            base: base.to_owned(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        };
        plan.factors = vec![factor("buffers", "1024", &["64", "1024"]), factor("min-wait", "0us", &["20us"])];
        Self { stage, plan }
    }

    fn run(&self) -> Result<SweepResult, SweepError> {
        let result = run(&self.plan, &AtomicBool::new(false), &mut |_| ());
        self.stage.assert_nothing_left();
        result
    }

    fn calls(&self, command: &str) -> Vec<String> {
        self.stage.lines("calls").into_iter().filter(|call| call.starts_with(command)).collect()
    }
}

#[test]
fn every_setting_has_a_server_of_its_own_in_every_round() {
    let case = Case::new("ok", "ok");
    let mut steps = Vec::new();
    let mut note = |step: Step<'_>| {
        if let Step::Begin { index, total, round, setting } = step {
            assert_eq!((index, total), (steps.len(), 12));
            steps.push((round, setting.to_owned()));
        }
    };
    let result = run(&case.plan, &AtomicBool::new(false), &mut note).expect("every run ends well");
    case.stage.assert_nothing_left();
    assert!(matches!(result.end, SweepEnd::Complete));
    for round in 0..3 {
        let mut names: Vec<&str> =
            steps.iter().filter(|(other, _)| *other == round).map(|(_, name)| name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["base", "base again", "buffers 64", "min-wait 20us"], "round {round}");
    }
    let (servers, loads) = (case.calls("serve"), case.calls("load"));
    assert_eq!((servers.len(), loads.len()), (12, 12));
    let with = |words: &str| servers.iter().filter(|call| call.ends_with(words)).count();
    assert_eq!(with("--buffers 1024 --min-wait 0us"), 6);
    assert_eq!((with("--buffers 64 --min-wait 0us"), with("--buffers 1024 --min-wait 20us")), (3, 3));
    assert!(loads.iter().all(|call| !call.contains("--buffers")), "{loads:?}");
    assert!(loads.iter().all(|call| call.contains("load http://127.0.0.1:4242/health -c 64 ")), "{loads:?}");
}

#[test]
fn a_cheaper_setting_is_found_and_said() {
    let mut case = Case::new("ok", "ok");
    case.plan.side = Side::Loader;
    case.stage.write_run("run-buffers-64.json", 2400);
    let sweep = case.run().expect("every run ends well").sweep;
    assert!(case.calls("serve").iter().all(|call| !call.contains("--buffers")));
    let best: Vec<_> = sweep.best.iter().map(|best| (best.factor.as_str(), best.value.as_str())).collect();
    assert_eq!(best, [("buffers", "64"), ("min-wait", "0us")]);
    let text = results::report::sweep::text(&sweep);
    assert!(text.contains("buffers: best 64: 0.800 (0.800 to 0.800) of the CPU of 1024"), "{text}");
    assert!(text.contains("min-wait: keep 0us: nothing tried is really cheaper"), "{text}");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("sweep.json");
    results::Output::open(&path).expect("opens").write(&sweep).expect("writes");
    assert_eq!(Sweep::read(&path).expect("just written"), sweep);
}

#[test]
fn a_setting_that_is_refused_is_named_with_its_exit_code() {
    let case = Case::new("refuses_64", "ok");
    let error = match case.run() {
        Err(error) => error,
        Ok(SweepResult { end: SweepEnd::Failed(error), sweep }) => {
            assert!(sweep.interrupted);
            error
        }
        Ok(other) => panic!("ended as {:?}", other.end),
    };
    assert!(
        matches!(&error, SweepError::Setting { source, .. } if matches!(**source, RigError::ServerNotStarted { .. }))
    );
    assert!(error.to_string().starts_with("with buffers 64: the server ended before it was ready (exit 2)"), "{error}");
    assert_eq!(error.exit_code(), ExitCode::Usage);
}

#[test]
fn the_first_failure_of_all_leaves_no_result() {
    let error = Case::new("dies_at_start", "ok").run().expect_err("no server comes up");
    assert_eq!(error.exit_code(), ExitCode::Address);
    let error = Case::new("ok", "garbage").run().expect_err("no loader has a result");
    assert_eq!(error.exit_code(), ExitCode::ResultNotRead);
}

#[test]
fn a_plan_that_compares_nothing_starts_nothing() {
    let mut case = Case::new("ok", "ok");
    case.plan.factors.clear();
    let error = run(&case.plan, &AtomicBool::new(false), &mut |_| ()).expect_err("nothing differs");
    assert_eq!(error.exit_code(), ExitCode::Usage);
    assert!(case.stage.lines("pids").is_empty());
}

#[test]
fn the_stop_flag_ends_it_with_what_there_is() {
    let case = Case::new("ok", "ok");
    let stop = AtomicBool::new(false);
    let mut after_five = |step: Step<'_>| {
        if matches!(step, Step::Begin { index: 5, .. }) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let result = run(&case.plan, &stop, &mut after_five).expect("every run ends well");
    case.stage.assert_nothing_left();
    assert!(matches!(result.end, SweepEnd::Interrupted));
    let points: usize = result.sweep.settings.iter().map(|setting| setting.points.len()).sum();
    assert!((5..=6).contains(&points), "{points}");
    assert!(result.sweep.exit_codes(0).contains(&ExitCode::Interrupted));
}

#[test]
fn the_stop_flag_ends_a_run_under_way() {
    let case = Case::new("ok", "slow");
    let stop = AtomicBool::new(false);
    let started = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(400));
            stop.store(true, Ordering::Relaxed);
        });
        let result = run(&case.plan, &stop, &mut |_| ()).expect("it is stopped, not failed");
        assert!(matches!(result.end, SweepEnd::Interrupted));
    });
    case.stage.assert_nothing_left();
    assert!(started.elapsed() < Duration::from_secs(5));
}
