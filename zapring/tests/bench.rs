//! Bench and sweep with the real server and loader: where connections went, and what is written.

mod support;

use serde_json::Value;
use support::{ENGINES, zapring};

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
        for row in bench["rows"].as_array().expect("rows") {
            assert_eq!(row["run"]["config"]["placement"], "paired");
            let opened: Vec<&Value> =
                row["run"]["cores"].as_array().expect("cores").iter().map(|core| &core["connections"]).collect();
            let accepted = row["spread"]["per_shard"].as_array().expect("it was asked");
            let (driven, idle) = accepted.split_at(opened.len());
            assert_eq!(driven.iter().collect::<Vec<_>>(), opened, "{engine}");
            assert!(idle.iter().all(|count| *count == 0), "{engine}: {accepted:?}");
        }
        assert!(text.contains("both sides share each core: the cores were"), "{text}");
        assert!(text.contains("idle_shards: only the shards on cores"), "{text}");
        for wrong in ["unpaired", "spread_unknown", "shared_cores"] {
            assert!(!text.contains(wrong), "{text}");
        }
    }
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
