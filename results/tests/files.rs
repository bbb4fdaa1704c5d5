//! Run and bench files on disk: what is written is read back, and what cannot be read is named.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use results::{Bench, ExitCode, FloorConfig, Mode, Output, Placement, ReadError, Requests, Run, Sweep, ValidityCode};
use serde_json::Value;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn changed(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut value = serde_json::to_value(common::good_run("zap", 8, 5000, 90_000)).expect("a run is plain data");
    change(&mut value);
    serde_json::to_vec(&value).expect("a value is plain data")
}

#[test]
fn written_is_read_back() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (run_path, bench_path) = (folder.path().join("run.json"), folder.path().join("bench.json"));
    let (run, bench) = (common::bad_run(), common::bench());
    Output::open(&run_path).expect("opens").write(&run).expect("writes");
    Output::open(&bench_path).expect("opens").write(&bench).expect("writes");
    assert_eq!(Run::read(&run_path).expect("just written"), run);
    assert_eq!(Bench::read(&bench_path).expect("just written"), bench);
    let (sweep_path, sweep) = (folder.path().join("sweep.json"), common::sweep());
    Output::open(&sweep_path).expect("opens").write(&sweep).expect("writes");
    assert_eq!(Sweep::read(&sweep_path).expect("just written"), sweep);
}

#[test]
fn a_bench_of_version_1_0_is_read_without_what_came_later() {
    let mut value = serde_json::to_value(common::paired_bench()).expect("a bench is plain data");
    value["schema_minor"] = 0.into();
    value.as_object_mut().expect("an object").remove("placement");
    for row in value["rows"].as_array_mut().expect("rows") {
        row.as_object_mut().expect("an object").remove("spread");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("bench.json");
    Output::open(&path).expect("opens").write(&value).expect("writes");
    let bench = Bench::read(&path).expect("fields were only added");
    assert_eq!((bench.placement, &bench.rows[0].spread), (Placement::Unknown, &None));
}

/// The file was written by the first version of this schema and is never regenerated: old files stay readable.
#[test]
fn a_file_of_version_1_0_is_read() {
    let run = Run::read(&fixture("run-1.0.json")).expect("an old file");
    assert_eq!((run.requests.ok, run.config.wire.as_str()), (893_711, "zap"));
    assert_eq!(run.requests.adds_up(), Ok(()));
    assert!(run.config.engine.options.is_empty() && run.config.floor.is_none(), "what came later is absent");
    let histogram = run.latency.histogram().expect("its histogram decodes");
    assert_eq!(results::Distribution::of(&histogram), run.latency);
}

/// Likewise, by the first version that knows of engine options and floor.
#[test]
fn a_file_of_version_1_1_is_read() {
    let run = Run::read(&fixture("run-1.1.json")).expect("an old file");
    assert_eq!(run.config.engine.options, [("buffers".to_owned(), 64), ("spin_ns".to_owned(), 50_000)].into());
    assert_eq!(run.config.floor, Some(FloorConfig { request_bytes: 111, reply_bytes: 114 }));
    assert!(run.validity.iter().any(|doubt| doubt.code == ValidityCode::Spinning));
}

#[test]
fn a_newer_minor_is_read_and_known_as_such() {
    let bytes = changed(|value| {
        value["schema_minor"] = 7.into();
        value["invented_later"] = true.into();
        value["validity"][0]["code"] = "invented_later".into();
    });
    let run = Run::parse(&bytes, "newer.json").expect("a newer minor only adds");
    assert!(run.is_newer_minor());
}

#[test]
fn a_newer_major_is_refused_even_when_its_fields_changed() {
    let bytes = changed(|value| {
        *value = serde_json::json!({ "schema": "zapring.run", "schema_major": 2, "schema_minor": 0, "other": 1 });
    });
    let error = Run::parse(&bytes, "future.json").expect_err("a newer major");
    assert_eq!(
        error.to_string(),
        "future.json has major version 2 of zapring.run; this build reads up to 1: use a newer zapring"
    );
    assert_eq!(error.exit_code(), ExitCode::ResultNotRead);
}

#[test]
fn another_schema_is_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("bench.json");
    Output::open(&path).expect("opens").write(&common::bench()).expect("writes");
    let error = Run::read(&path).expect_err("a bench is no run");
    assert!(matches!(&error, ReadError::WrongSchema { found, .. } if found == "zapring.bench"), "{error}");
}

#[test]
fn every_truncation_is_called_one() {
    let bytes = changed(|_| ());
    for end in (0..bytes.len()).step_by(37) {
        let error = Run::parse(&bytes[..end], "cut.json").expect_err("a part of a document");
        assert!(matches!(error, ReadError::Truncated { .. }), "cut at {end}: {error}");
    }
}

#[test]
fn a_missing_field_and_a_missing_file_are_named() {
    let bytes = changed(|value| {
        value.as_object_mut().expect("an object").remove("latency");
    });
    let error = Run::parse(&bytes, "part.json").expect_err("a field is missing");
    assert!(error.to_string().contains("part.json is broken: missing field `latency`"), "{error}");
    let error = Run::read(Path::new("/nonexistent/run.json")).expect_err("no such file");
    assert!(error.to_string().starts_with("cannot read /nonexistent/run.json: No such file"), "{error}");
}

#[test]
fn keys_are_snake_case_and_times_are_whole_nanoseconds() {
    fn walk(key: &str, value: &Value) {
        let plain = key.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        assert!(plain, "{key}");
        assert!(!key.ends_with("_ns") || value.is_null() || value.is_u64(), "{key}: {value}");
        match value {
            // The kernel's names.
            Value::Object(_) if key == "sysctls" => {}
            Value::Object(fields) => fields.iter().for_each(|(key, value)| walk(key, value)),
            Value::Array(items) => items.iter().for_each(|item| walk(key, item)),
            _ => {}
        }
    }
    for run in [common::bad_run(), common::floor_run(), Run::default()] {
        walk("run", &serde_json::to_value(run).expect("a run is plain data"));
    }
    walk("bench", &serde_json::to_value(common::paired_bench()).expect("a bench is plain data"));
    walk("sweep", &serde_json::to_value(common::sweep()).expect("a sweep is plain data"));
}

#[test]
fn failures_of_the_warm_up_make_a_run_unclean_and_no_exit_code() {
    let mut run = common::bad_run();
    let doubts: Vec<_> = run.validity.iter().filter(|doubt| doubt.code == ValidityCode::WarmupFailures).collect();
    assert_eq!((doubts.len(), doubts[0].fatal), (1, false));
    assert_eq!(doubts[0].detail, "2 requests failed during the warm-up");
    let text = results::report::load::text(&run, results::report::Detail::Usual);
    assert!(text.contains("10 requests, 2 of them failed") && text.contains("note: warmup_failures"), "{text}");
    (run.interrupted, run.requests) = (false, Requests::default());
    run.limits.clear();
    assert!(run.exit_codes(0).is_empty());
}

#[test]
fn a_run_that_was_spinning_says_that_its_cpu_figures_mean_nothing() {
    let run = common::floor_run();
    let doubt = run.validity.iter().find(|doubt| doubt.code == ValidityCode::Spinning).expect("it was spinning");
    assert!(!doubt.fatal && doubt.detail.contains("CPU figures mean nothing"), "{}", doubt.detail);
    assert!(run.exit_codes(0).is_empty());
}

#[test]
fn exit_codes_follow_from_the_run() {
    let good = common::good_run("zap", 8, 5000, 90_000);
    assert!(good.exit_codes(0).is_empty());
    let bad = common::bad_run();
    assert_eq!(bad.exit_codes(60), [ExitCode::Interrupted, ExitCode::LimitCrossed]);
    assert_eq!(bad.exit_codes(59), [ExitCode::Interrupted, ExitCode::RequestsFailed, ExitCode::LimitCrossed]);
    let mut short = good.clone();
    (short.mode, short.requests.planned, short.requests.not_sent) = (Mode::OpenLoop, short.requests.planned + 5, 5);
    assert!(short.exit_codes(0).is_empty(), "a rate is judged as a rate");
    short.mode = Mode::ClosedLoop;
    assert_eq!(short.exit_codes(0), [ExitCode::RequestsFailed]);
    let mut lost = good;
    lost.requests.planned += 1;
    lost.conclude();
    assert_eq!(lost.exit_codes(0), [ExitCode::NotTrusted]);
    assert_eq!(common::bench().exit_codes(0), [ExitCode::RequestsFailed]);
}

/// Writes the fixture of the current version. Run by hand, once, when a version is published:
/// `cargo test -p results --test files -- --ignored write_the_fixture`.
#[test]
#[ignore = "writes into the source tree; for a new schema version only"]
fn write_the_fixture() {
    let schema = results::run::SCHEMA;
    let path = fixture(&format!("run-{}.{}.json", schema.major, schema.minor));
    assert!(!path.exists(), "{} is published and does not change", path.display());
    fs::create_dir_all(path.parent().expect("inside the crate")).expect("writable");
    Output::open(&path).expect("opens").write(&common::floor_run()).expect("writes");
}
