//! The codec axis from outside: the tables and files, instructions, the canonical suite over a real pipe, and the scenarios end to end.

mod support;

use std::process::Stdio;

use serde_json::Value;
use support::{Server, succeeded, tool, zapring};

/// The document of a codec command, with its text.
fn document(args: &[&str]) -> (String, Value) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("codec.json");
    let text = succeeded(&zapring().arg("codec").args(args).arg("--json").arg(&path).output().expect("it runs"));
    (text, serde_json::from_slice(&std::fs::read(&path).expect("written")).expect("JSON"))
}

#[test]
fn the_axis_is_a_table_and_a_file_that_a_report_is_made_of() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("codec.json");
    let output = zapring().args(["codec", "--only", "rpc/", "--json"]).arg(&path).output().expect("it runs");
    let text = succeeded(&output);
    for words in
        ["rpc decode: serde_json takes", "rpc handler: serde_json takes", "sonic-rs", "simd-json", "echo-large"]
    {
        assert!(text.contains(words), "{words}\n{text}");
    }
    let axis: Value = serde_json::from_slice(&std::fs::read(&path).expect("written")).expect("JSON");
    assert_eq!((&axis["schema"], &axis["schema_major"]), (&"zapring.codec".into(), &1.into()));
    let cases = axis["cases"].as_array().expect("cases");
    assert_eq!(cases.len(), 16, "four operations by four codecs");
    for case in cases {
        let rounds = case["elapsed_ns"].as_array().expect("rounds");
        assert!(rounds.len() > 10 && rounds.iter().all(|ns| ns.as_u64().is_some_and(|ns| ns > 0)), "{case}");
        assert!(case["codec"] != "zap" || case["allocations"] == 0, "{case}");
        assert!(case["instructions"].is_null(), "nobody asked");
    }
    assert!(axis["core"].is_u64() && axis["toolchain"]["rustc"].as_str().is_some_and(|text| text.contains("rustc")));
    let again = succeeded(&zapring().arg("report").arg(&path).output().expect("it runs"));
    assert_eq!(again, text, "the report is made of the file alone");
    let refused = zapring().arg("compare").arg(&path).arg("--").arg(&path).output().expect("it runs");
    assert_eq!(refused.status.code(), Some(51), "{}", String::from_utf8_lossy(&refused.stderr));
}

#[test]
fn instructions_are_counted_where_valgrind_is() {
    if tool("valgrind", "valgrind").is_none() {
        return;
    }
    let (text, axis) = document(&["--only", "rpc/encode/zap", "--instructions"]);
    assert!(text.contains("instructions"), "{text}");
    let counted = axis["cases"][0]["instructions"].as_f64().expect("a figure");
    // Not a bar: only that it is the operation and not the start of the program.
    assert!((10.0..20_000.0).contains(&counted), "{counted}");
}

#[test]
fn the_canonical_suite_has_twenty_right_measurements() {
    let (text, suite) = document(&["--suite", "canonical", "--preset", "quick"]);
    assert!(text.contains("every answer was checked"), "{text}");
    assert_eq!((&suite["schema"], &suite["schema_version"]), (&"zapring.canonical".into(), &1.into()));
    let runs = suite["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 20);
    for (case, iterations) in [("carsales", 10), ("catrank", 5), ("eval", 5)] {
        let of: Vec<&Value> = runs.iter().filter(|run| run["case"] == case).collect();
        assert_eq!(of.len(), iterations);
        for run in of {
            assert_eq!(run["iterations"], suite["iterations"][case], "{run}");
            assert!(run["message_bytes"].as_u64().is_some_and(|bytes| bytes > 0), "{run}");
        }
    }
    let bytes = |mode: &str, compression: &str| {
        let of = |run: &&Value| run["case"] == "carsales" && run["mode"] == mode && run["compression"] == compression;
        runs.iter().find(of).and_then(|run| run["message_bytes"].as_u64()).expect("a measurement")
    };
    assert_eq!(bytes("bytes", "none"), bytes("pipe", "none"), "the same messages whoever answers");
    assert!(bytes("pipe", "packed") < bytes("pipe", "none"), "cars have zero bytes to pack");
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (args, words) in [
        (&["--only", "yaml/"][..], "no case \"yaml/\""),
        (&["--suite", "canonical", "--only", "rpc"], "are for --suite axis"),
        (&["--preset", "quick"], "is for --suite canonical"),
        (&["--preset", "huge"], "give quick, default or full"),
        (&["--core", "4096"], "cannot pin to core 4096"),
        (&["--answer", "eval"], "is no measurement"),
    ] {
        let output = zapring().arg("codec").args(args).stdin(Stdio::null()).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(words), "{args:?}: {said}");
    }
}

#[test]
fn every_scenario_ends_well_on_both_wires_with_every_library() {
    for json in ["serde", "sonic", "simd"] {
        let server = Server::start("epoll", &["--json", json]);
        // Only the rpc is made by the library.
        let scenarios = ["rpc", "hello", "echo-tiny", "echo-small", "echo-chat", "echo-medium", "echo-large", "stream"];
        for scenario in &scenarios[..if json == "serde" { scenarios.len() } else { 1 }] {
            for url in [server.zap_url(""), server.http_url("")] {
                let load = ["load", &url, "--scenario", scenario, "-c", "2", "-n", "50", "--engine", "epoll"];
                let output = zapring().args(load).args(["--json", "-"]).output().expect("it runs");
                let run: Value = serde_json::from_slice(&output.stdout).expect("JSON");
                let said = String::from_utf8_lossy(&output.stderr);
                assert_eq!(
                    (&run["requests"]["ok"], output.status.code()),
                    (&50.into(), Some(0)),
                    "{url} {scenario}: {said}"
                );
                assert_eq!(run["config"]["scenario"], *scenario);
            }
        }
    }
}

#[test]
fn a_scenario_says_all_that_is_asked() {
    for (args, words) in [
        (&["zap://127.0.0.1:1/echo", "--scenario", "rpc"][..], "asks for /rpc"),
        (&["floor://127.0.0.1:1", "--scenario", "rpc"], "means nothing on floor"),
        (&["zap://127.0.0.1:1", "--scenario", "everything"], "hello, rpc, echo-tiny"),
        (&["zap://127.0.0.1:1", "--scenario", "rpc", "-b", "x"], "cannot be used with"),
    ] {
        let output = zapring().arg("load").args(args).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(words), "{args:?}: {said}");
    }
}

#[test]
fn a_bench_of_a_scenario_and_of_a_fixed_number_of_requests() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("bench.json");
    let bench = |args: &[&str]| {
        let output =
            zapring().arg("bench").args(args).args(["--warmup", "20ms", "--quiet", "--out"]).arg(&path).output();
        let text = succeeded(&output.expect("it runs"));
        let document: Value = serde_json::from_slice(&std::fs::read(&path).expect("written")).expect("JSON");
        (text, document)
    };
    let (text, document) = bench(&["--scenario", "rpc", "--json", "simd", "--shape", "sequential"]);
    assert!(text.contains("scenario") && text.contains(" rpc"), "{text}");
    for row in document["rows"].as_array().expect("rows") {
        assert_eq!((&row["connections"], &row["run"]["requests"]["ok"]), (&1.into(), &5000.into()), "{row}");
    }
    assert!(document["server_command"].as_array().expect("words").windows(2).any(|pair| pair == ["--json", "simd"]));
    let (_, document) = bench(&["--scenario", "all", "--levels", "2", "-d", "60ms"]);
    let rows = document["rows"].as_array().expect("rows");
    assert_eq!((rows.len(), document["ratios"].as_array().map(Vec::len)), (16, Some(8)));
    assert!(rows.iter().all(|row| row["run"]["requests"]["bad_body"] == 0), "{document}");
    let floor = zapring().args(["bench", "--scenario", "rpc", "--wires", "floor"]).output().expect("it runs");
    assert_eq!(floor.status.code(), Some(2));
}
