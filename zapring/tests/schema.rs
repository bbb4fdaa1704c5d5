//! Files made by real commands follow the schema that the program prints, which is the one that is checked in.

mod support;

use std::path::{Path, PathBuf};

use jsonschema::Validator;
use serde_json::Value;
use support::{Server, succeeded, zapring};

fn schema(name: &str) -> Validator {
    let printed = succeeded(&zapring().args(["schema", name]).output().expect("the binary under test"));
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../results/schema/zapring.{name}.schema.json"));
    assert!(
        std::fs::read_to_string(&path).expect("a stored schema") == printed,
        "{} is old: cargo run -- schema {name} > results/schema/zapring.{name}.schema.json",
        path.display()
    );
    let schema: Value = serde_json::from_str(&printed).expect("JSON");
    jsonschema::options().should_validate_formats(true).build(&schema).expect("a schema")
}

fn assert_follows(validator: &Validator, document: &Value, what: &str) {
    let errors: Vec<String> =
        validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path)).collect();
    assert!(errors.is_empty(), "{what}: {errors:#?}");
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("written")).expect("JSON")
}

#[test]
fn runs_of_both_modes_follow_their_schema() {
    let validator = schema("run");
    let server = Server::start("monoio", &["--cores", "0"]);
    for (url, more) in [
        (server.http_url("/health"), &["-R", "500", "--fail-if", "latency.p99 > 20s"][..]),
        (server.zap_url("/health"), &["-n", "500", "-H", "X: y"]),
        (server.floor_url(""), &["--engine", "uring", "--buffers", "64"]),
        // Answers with a status that is not expected, and a target that cannot be understood as good.
        (server.http_url("/none"), &["--max-failed", "1G"]),
    ] {
        let mut load = zapring();
        load.args(["load", &url, "-c", "4", "--quiet", "--json", "-"]).args(more);
        if !more.contains(&"-n") {
            load.args(["-d", "300ms", "--warmup", "50ms"]);
        }
        let output = load.output().expect("the binary under test");
        let document: Value = serde_json::from_slice(&output.stdout).expect("a run file");
        assert_follows(&validator, &document, &format!("{url} {more:?}"));
        assert_eq!(document["command"][1], "load");
        let environment = &document["environment"];
        assert!(environment["nic"].is_null(), "loopback has no network card");
        assert!(environment["limits"].as_array().is_some_and(|limits| !limits.is_empty()));
    }
}

#[test]
fn a_bench_and_a_sweep_follow_theirs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (bench, page) = (folder.path().join("bench.json"), folder.path().join("bench.html"));
    let paths = |path: &Path| path.display().to_string();
    let output = zapring()
        .args(["bench", "--levels", "1,4", "-d", "1200ms", "--warmup", "50ms", "--quiet"])
        .args(["--out", &paths(&bench), "--html", &paths(&page)])
        .output()
        .expect("the binary under test");
    succeeded(&output);
    assert_follows(&schema("bench"), &read(&bench), "bench");
    let page = std::fs::read_to_string(page).expect("written");
    assert!(page.contains("Requests per second and p99 over time: http") && !page.contains("<script"));

    let sweep = folder.path().join("sweep.json");
    let output = zapring()
        .args(["sweep", "--wire", "http", "--connections", "4", "--rounds", "3", "--buffers", "64"])
        .args(["--ring-entries", "none", "--buffer-size", "none", "--min-wait", "none"])
        .args(["-d", "200ms", "--warmup", "50ms", "--quiet", "--out", &paths(&sweep)])
        .output()
        .expect("the binary under test");
    assert!(sweep.exists(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_follows(&schema("sweep"), &read(&sweep), "sweep");
}

#[test]
fn an_unknown_kind_is_refused_with_those_there_are() {
    let output = zapring().args(["schema", "walk"]).output().expect("the binary under test");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && err.contains("run, bench, sweep"), "{err}");
}
