//! Run and bench files on disk: what is written is read back, and what cannot be read is named.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use results::{Bench, ExitCode, Output, ReadError, Run};
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
}

/// The file was written by the first version of this schema and is never regenerated: old files stay readable.
#[test]
fn a_file_of_version_1_0_is_read() {
    let run = Run::read(&fixture("run-1.0.json")).expect("an old file");
    assert_eq!((run.requests.ok, run.config.wire.as_str()), (893_711, "zap"));
    assert_eq!(run.requests.adds_up(), Ok(()));
    let histogram = run.latency.histogram().expect("its histogram decodes");
    assert_eq!(results::Distribution::of(&histogram), run.latency);
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
            Value::Object(fields) => fields.iter().for_each(|(key, value)| walk(key, value)),
            Value::Array(items) => items.iter().for_each(|item| walk(key, item)),
            _ => {}
        }
    }
    for run in [common::bad_run(), Run::default()] {
        walk("run", &serde_json::to_value(run).expect("a run is plain data"));
    }
    walk("bench", &serde_json::to_value(common::bench()).expect("a bench is plain data"));
}

#[test]
fn exit_codes_follow_from_the_run() {
    let good = common::good_run("zap", 8, 5000, 90_000);
    assert!(good.exit_codes(0).is_empty());
    let bad = common::bad_run();
    assert_eq!(bad.exit_codes(60), [ExitCode::Interrupted]);
    assert_eq!(bad.exit_codes(59), [ExitCode::Interrupted, ExitCode::RequestsFailed]);
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
    Output::open(&path).expect("opens").write(&common::good_run("zap", 64, 893_711, 211_000)).expect("writes");
}
