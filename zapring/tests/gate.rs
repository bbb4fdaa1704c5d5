//! The gate for real: an unchanged build holds, and a slower, an allocating and a leaking one do not.

mod support;

use std::{
    fs,
    path::Path,
    process::Output,
    sync::{Mutex, PoisonError},
};

use results::Baseline;
use support::zapring;

/// How often an unchanged build may be found otherwise: other programs of the host can do that.
const TRIES: usize = 4;

/// What is measured needs the cores to itself.
static CORES: Mutex<()> = Mutex::new(());

const SHORT: [&str; 8] = ["--rounds", "5", "-d", "150ms", "--warmup", "40ms", "--wires", "floor,http"];

fn gate(baseline: &Path, args: &[&str]) -> Output {
    zapring().args(["gate", "--quiet", "--baseline"]).arg(baseline).args(args).output().expect("it runs")
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn ended(output: &Output, code: i32) -> String {
    let text = said(output);
    assert_eq!(output.status.code(), Some(code), "{text}");
    text
}

/// A fresh baseline of this build.
fn init(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("baseline.json");
    let text = ended(&gate(&path, &[&["--init"], &SHORT[..]].concat()), 0);
    assert!(text.contains("written to"), "{text}");
    path
}

#[test]
fn an_unchanged_build_holds_and_a_worse_one_does_not() {
    let _alone = CORES.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = init(folder.path());
    let base = Baseline::read(&path).expect("it was just written");
    assert_eq!((base.rounds.len(), base.config.wires.len()), (5, 2));
    assert!(base.rounds.iter().all(|round| round.yardstick_ns > 0 && round.points.len() == 2));

    let held = (0..TRIES).map(|_| gate(&path, &["--rounds", "5"])).find(|output| output.status.success());
    let text = said(&held.expect("an unchanged build holds in one of a few tries"));
    assert!(text.contains("outcome: held"), "{text}");
    assert!(base.has_instructions() || text.contains("instructions are not recorded: the baseline has none"), "{text}");

    // Half as much again, so that a restless host does not hide it.
    let point = base.rounds[0].points.iter().find(|point| point.wire == "http").expect("it was driven");
    let spin = format!("{}us", (point.server_cpu_ns / point.ok / 2000).max(1));
    for (args, what) in [
        (&["--handicap-spin", &spin][..], "http/floor server CPU"),
        (&["--handicap-allocate"], "http allocations"),
        (&["--handicap-leak", "256"], "heap growth after the first round"),
    ] {
        let worse = |_| {
            let output = gate(&path, &[&["--rounds", "5"], args].concat());
            let found = output.status.code() == Some(20) && said(&output).contains(what);
            (!found).then(|| said(&output))
        };
        let missed: Vec<String> = (0..TRIES).map_while(worse).collect();
        assert!(missed.len() < TRIES, "{args:?} was not found: {missed:#?}");
    }
}

#[test]
fn what_it_cannot_hold_against_is_said() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("baseline.json");
    let text = ended(&gate(&path, &[]), 51);
    assert!(text.contains("baseline.json"), "{text}");
    assert!(!path.exists(), "only --init writes");
    fs::write(&path, "{\"schema\": \"zapring.baseline\", \"schema_major\": 2}").expect("written");
    assert!(ended(&gate(&path, &[]), 51).contains("major version 2"));
    for args in [&["-c", "8"][..], &["--wires", "http"], &["--engine", "epoll"], &["--path", "/"]] {
        assert!(ended(&gate(&path, args), 2).contains("--init"), "{args:?}");
    }
    ended(&gate(&path, &["--init", "--rounds", "4"]), 2);
    ended(&gate(&path, &["--server-cores", "0", "--loader-cores", "0"]), 2);
}

#[test]
fn another_host_is_not_comparable() {
    let _alone = CORES.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = init(folder.path());
    let mut base = Baseline::read(&path).expect("it was just written");
    base.environment.cpu_model = Some("Another CPU".to_owned());
    fs::write(&path, serde_json::to_vec(&base).expect("it serialises")).expect("written");
    let measured = folder.path().join("now.json");
    let measured = measured.to_str().expect("text");
    let text = ended(&gate(&path, &["--rounds", "5", "--out", measured]), 22);
    assert!(text.contains("CPU model: Another CPU in the baseline"), "{text}");
    let now = Baseline::read(Path::new(measured)).expect("it was written too");
    assert!(now.rounds.len() >= 5 && now.config == base.config);
}
