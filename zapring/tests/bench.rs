//! Bench and sweep with the real server and loader: where connections went, and what is written.

mod support;

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

use serde_json::Value;
use support::{ENGINES, Server, ask, signal, succeeded, zapring};

/// Runs a command that writes a document; its text and the document.
fn document(args: &[&str]) -> (String, Value) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("out.json");
    let output = zapring().args(args).args(["--quiet", "--out"]).arg(&path).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?} ended with {}: {said}", output.status);
    let bytes = std::fs::read(&path).expect("it was written");
    (String::from_utf8_lossy(&output.stdout).into_owned(), serde_json::from_slice(&bytes).expect("JSON"))
}

/// Whether there are two cores, and a kernel (6.1) that steers connections.
fn can_steer() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if cores < 2 || version < (6, 1) {
        eprintln!("skipped: {cores} cores and Linux {}; it takes 2 cores and Linux 6.1", release.trim());
    }
    cores >= 2 && version >= (6, 1)
}

#[test]
fn paired_connections_stay_on_their_core() {
    if !can_steer() {
        return;
    }
    for engine in ENGINES {
        let args = ["bench", "--placement", "paired", "--engine", engine, "--wires", "zap", "--levels", "1,16"];
        let (text, bench) = document(&[&args[..], &["-d", "200ms", "--warmup", "50ms"]].concat());
        assert_eq!(bench["placement"], "paired");
        assert_eq!(bench["server_command"][0], "zapring", "without the folder that it has on this host");
        for row in bench["rows"].as_array().expect("rows") {
            assert_eq!(row["run"]["config"]["placement"], "paired");
            let opened: Vec<&Value> =
                row["run"]["cores"].as_array().expect("cores").iter().map(|core| &core["connections"]).collect();
            let accepted = row["spread"]["per_shard"].as_array().expect("it was asked");
            let (driven, idle) = accepted.split_at(opened.len());
            assert_eq!(driven.iter().collect::<Vec<_>>(), opened, "{engine}");
            assert!(idle.iter().all(|count| *count == 0), "{engine}: {accepted:?}");
        }
        // Other tests may run on these cores meanwhile.
        let said = ["both sides share each core: the cores were", "starved: "];
        assert!(said.iter().any(|words| text.contains(words)), "{text}");
        assert!(text.contains("idle_shards: only the shards on cores"), "{text}");
        for wrong in ["unpaired", "spread_unknown", "shared_cores"] {
            assert!(!text.contains(wrong), "{text}");
        }
    }
}

#[test]
fn a_heap_that_grows_is_called_a_leak_and_allocations_are_counted_per_request() {
    let common = ["bench", "--debug-alloc", "--engine", "uring", "--wires", "http", "-d", "300ms", "--warmup", "50ms"];
    let per_request = |row: &Value| {
        let counts = &row["counts"];
        counts["allocations"].as_u64().expect("counted") as f64 / counts["requests"].as_u64().expect("counted") as f64
    };
    let leaks = |bench: &Value| {
        let doubts = bench["validity"].as_array().expect("a list").clone();
        doubts.iter().any(|doubt| doubt["code"] == "leak")
    };
    let of = |more: &[&str]| document(&[&common[..], &["--levels", "4,8"], more].concat());
    let (text, clean) = of(&[]);
    assert!(text.contains("allocs") && !leaks(&clean), "{text}");
    for row in clean["rows"].as_array().expect("rows") {
        assert!(per_request(row) < 0.1, "{}", row["counts"]);
        assert!(row["counts"]["operations"].as_u64() > row["counts"]["requests"].as_u64(), "{}", row["counts"]);
    }
    let (_, allocating) = of(&["--handicap-allocate"]);
    assert!(
        allocating["rows"].as_array().expect("rows").iter().all(|row| per_request(row) > 0.4) && !leaks(&allocating)
    );
    // Enough for a slow host to be beyond the bound of a leak, and for a fast one not to be at the handicap's own before the second run.
    let (text, leaking) = of(&["--handicap-leak", "3KiB"]);
    assert!(leaks(&leaking) && text.contains("note: leak: the server's heap grew by"), "{text}");
}

#[test]
fn instructions_are_counted_or_it_is_said_why_not() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("bench.json");
    let asked = ["bench", "--instructions", "--engine", "epoll", "--wires", "http", "--levels", "2", "-d", "100ms"];
    let output = zapring().args(asked).args(["--warmup", "20ms", "--quiet", "--out"]).arg(&path).output();
    let output = output.expect("it runs");
    let (text, said) = (succeeded(&output), String::from_utf8_lossy(&output.stderr));
    let bench: Value = serde_json::from_slice(&std::fs::read(&path).expect("written")).expect("JSON");
    let counts = &bench["rows"][0]["counts"];
    if let Some(instructions) = counts["instructions"].as_u64() {
        // More than a few hundred a request, and the column is there.
        assert!(instructions / counts["requests"].as_u64().expect("counted") > 100, "{counts}");
        assert!(text.contains("instr"), "{text}");
    } else {
        assert!(said.contains("note: instructions are not recorded: "), "{said}");
        assert!(!text.contains("instr"), "{text}");
    }
}

#[test]
fn users_ramp_up_to_their_number() {
    let (_, bench) = document(&["bench", "--vusers", "4", "--wires", "floor", "-d", "50ms", "--warmup", "10ms"]);
    let levels: Vec<u64> =
        bench["rows"].as_array().expect("rows").iter().filter_map(|row| row["connections"].as_u64()).collect();
    assert_eq!(levels, [1, 2, 4]);
}

#[test]
fn a_server_that_is_there_already_is_driven_and_left_alone() {
    let server = Server::start("uring", &["--cores", "0"]);
    let (http, zap, pid) = (server.http_url("/bytes/9"), server.zap_url("/health"), server.pid().to_string());
    let args = ["bench", "--target", &http, "--target", &zap, "--levels", "1,4", "-d", "100ms", "--warmup", "20ms"];
    let (_, bench) = document(&args);
    let rows = bench["rows"].as_array().expect("rows");
    let url = |row: &Value| row["run"]["config"]["url"].as_str().expect("text").to_owned();
    assert_eq!(rows.iter().map(url).collect::<Vec<_>>(), [http.clone(), zap.clone(), http.clone(), zap]);
    assert!(rows.iter().all(|row| row["run"]["server"].is_null() && row["run"]["requests"]["ok"].as_u64() > Some(0)));
    assert_eq!((&bench["server_command"], &bench["placement"]), (&serde_json::json!([]), &"unknown".into()));
    assert!(bench["ratios"][0]["ok_per_s"].is_f64(), "the wires are compared");

    let watched = ["bench", "--target", &http, "--target-pid", &pid, "--server-cores", "0", "--loader-cores", "0"];
    let (_, bench) = document(&[&watched[..], &["--levels", "4", "-d", "100ms", "--warmup", "20ms"]].concat());
    assert_eq!(bench["rows"][0]["run"]["server"]["pid"], server.pid());
    assert_eq!(bench["server_cores"], serde_json::json!([0]));
    assert!(server.is_well());
}

#[test]
fn a_target_must_be_one_and_only_once() {
    for (args, code, words) in [
        (&["--target", "http://127.0.0.1:9/a", "--target", "http://127.0.0.1:9/b"][..], 2, "http is driven already"),
        (&["--target", "https://127.0.0.1/"], 2, "https"),
        (&["--target", "http://127.0.0.1:9/", "--path", "/x"], 2, "cannot be used with"),
        (&["--target-pid", "1"], 2, "--target"),
        (&["--target", "http://127.0.0.1:9/", "--levels", "1", "-d", "50ms"], 32, "is the server running"),
    ] {
        let output = zapring().args(["bench", "--out", "-"]).args(args).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(words), "{args:?}: {said}");
    }
}

#[test]
fn a_server_alone_waits_for_somebody_elses_load() {
    let mut bench =
        zapring().args(["bench", "--server", "--wires", "http"]).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut lines = BufReader::new(bench.stdout.take().expect("piped")).lines().map(|line| line.expect("text"));
    let first = lines.next().expect("what it serves");
    let server: u32 = first.split(' ').nth(1).and_then(|pid| pid.parse().ok()).expect("a process id");
    let wrk = lines.next().expect("how to drive it");
    let (_, url) = wrk.split_once("http://").expect("a URL");
    let (address, path) = url.split_at(url.find('/').expect("a path"));
    assert!(wrk.trim_start().starts_with("taskset -c ") && path == "/health", "{wrk}");
    let address = address.parse().expect("an address");
    let answer = ask(address, b"GET /health HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
    assert!(answer.ends_with(b"ok"));
    signal(bench.id(), "INT");
    assert!(bench.wait().expect("our child").success());
    assert!(std::net::TcpStream::connect(address).is_err(), "nobody is left");
    assert!(!std::path::Path::new(&format!("/proc/{server}")).exists());
}

#[test]
fn flags_of_the_other_placement_are_refused() {
    for (args, words) in [
        (&["--placement", "paired", "--server-cores", "0", "--loader-cores", "0"][..], "give --cores"),
        (&["--cores", "0"], "give --server-cores and --loader-cores"),
        (&["--placement", "sideways"], "possible values: split, paired"),
    ] {
        let output = zapring().arg("bench").args(args).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn a_sweep_compares_every_setting_with_the_base() {
    let args = ["sweep", "--wire", "floor", "--connections", "8", "--rounds", "3", "-d", "60ms", "--warmup", "20ms"];
    let lists = ["--ring-entries", "none", "--buffers", "64,1024", "--buffer-size", "none", "--min-wait", "none"];
    let (text, sweep) = document(&[&args[..], &lists[..]].concat());
    assert_eq!(sweep["schema"], "zapring.sweep");
    let settings = sweep["settings"].as_array().expect("settings");
    assert_eq!(settings.len(), 3, "the base, the base again, and 64 buffers");
    for setting in settings {
        assert_eq!(setting["points"].as_array().map(Vec::len), Some(3), "{setting}");
        assert!(setting["points"].as_array().expect("points").iter().all(|point| point["failed"] == 0), "{setting}");
    }
    assert!(settings[1]["cpu"]["ratio"].is_f64() && settings[2]["real"].is_boolean());
    assert!(text.contains("base again") && text.contains("(A/A)") && text.contains("buffers: "), "{text}");
}
