//! Comparing stored runs: the exit code says what a script needs to know.

mod support;

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};
use support::zapring;

/// Writes `count` runs of one side, changed from a stored one.
fn side(folder: &Path, name: &str, count: usize, ok_per_s: f64, change: fn(&mut Value)) -> Vec<String> {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results/tests/fixtures/run-1.1.json");
    let stored: Value = serde_json::from_slice(&fs::read(fixture).expect("stored")).expect("JSON");
    let write = |index: usize| {
        let mut run = stored.clone();
        run["run_id"] = json!(format!("{name}-{index}"));
        run["rates"]["ok_per_s"] = json!(ok_per_s * (1.0 + index as f64 / 1000.0));
        change(&mut run);
        let path = folder.join(format!("{name}-{index}.json"));
        fs::write(&path, run.to_string()).expect("written");
        path.display().to_string()
    };
    (0..count).map(write).collect()
}

/// Exit code, standard output and standard error.
type Said = (Option<i32>, String, String);

fn said(command: &mut Command) -> Said {
    let output = command.output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn compare(args: &[&[String]]) -> Said {
    said(zapring().arg("compare").args(args.concat()))
}

#[test]
fn every_verdict_has_its_exit_code() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let same = |_: &mut Value| {};
    let dash = ["--".to_owned()];
    let base = side(folder, "base", 5, 6000.0, same);
    for (new, code, words) in [
        (side(folder, "same", 5, 6010.0, same), 0, "verdict: same"),
        (side(folder, "better", 5, 9000.0, same), 0, "verdict: improved"),
        (side(folder, "worse", 5, 4000.0, same), 20, "verdict: regressed"),
        (side(folder, "few", 4, 4000.0, same), 21, "5 and 4 runs counted; it takes 5 on each side"),
        (
            side(folder, "other", 5, 6000.0, |run| run["config"]["pipeline"] = json!(4)),
            22,
            "differs: pipeline: 1 in base, 4 in new",
        ),
    ] {
        let (status, out, err) = compare(&[&base, &dash, &new]);
        assert_eq!(status, Some(code), "{out}{err}");
        assert!(out.contains(words), "{out}");
        assert_eq!(err.contains(&format!("exit {code}")), code != 0, "{err}");
    }
}

#[test]
fn what_is_compared_may_differ_when_asked() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let base = side(folder.path(), "uring", 5, 6000.0, |_| {});
    let new = side(folder.path(), "epoll", 5, 3000.0, |run| run["config"]["engine"]["name"] = json!("epoll"));
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let (status, out, _) = compare(&[&words(&["--across", "engine"]), &base, &words(&["--"]), &new]);
    assert_eq!(status, Some(20), "{out}");
    let (status, _, err) = compare(&[&words(&["--across", "weather"]), &base, &words(&["--"]), &new]);
    assert!(status == Some(2) && err.contains("weather"), "{err}");
}

#[test]
fn what_is_missing_or_no_run_is_never_a_pass() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let base = side(folder.path(), "base", 5, 6000.0, |_| {});
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let (status, out, err) = compare(&[&base, &words(&["--", "/no/such/run.json"])]);
    assert!(status == Some(51) && out.is_empty() && err.contains("cannot read /no/such/run.json"), "{err}");
    let sweep = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results/tests/fixtures/sweep-1.0.json");
    let (status, _, err) = compare(&[&base, &words(&["--", &sweep.display().to_string()])]);
    assert!(status == Some(51) && err.contains("expected \"zapring.run or zapring.bench\""), "{err}");
    let (status, _, _) = compare(&[&base]);
    assert_eq!(status, Some(2), "no other side");
}

/// Both builds in turns: `against` and what else is asked, with the result in `folder`.
fn in_turns(folder: &Path, against: &Path, args: &[&str]) -> Said {
    let mut command = zapring();
    command
        .args(["bench", "--quiet", "--engine", "uring", "--wires", "http", "--levels", "4"])
        .args(["-d", "40ms", "--warmup", "5ms", "--rounds", "10", "--out"])
        .arg(folder.join("new.json"))
        .arg("--against")
        .arg(against)
        .args(args);
    said(&mut command)
}

#[test]
fn two_builds_are_measured_in_turns() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let this = Path::new(env!("CARGO_BIN_EXE_zapring"));
    let bench = |name: &str| -> results::Bench {
        serde_json::from_slice(&fs::read(folder.join(name)).expect("written")).expect("a bench")
    };

    // Wide open, so that it is the same on any host.
    let (status, out, err) = in_turns(folder, this, &["--threshold", "99"]);
    assert_eq!(status, Some(0), "{out}{err}");
    assert!(out.contains("http/4: same, 10 runs of base and 10 of new"), "{out}");
    assert!(!out.contains("one after the other"), "they were interleaved: {out}");
    let (base, new) = (bench("new-against.json"), bench("new.json"));
    assert_eq!((base.rows.len(), new.rows.len()), (10, 10));
    let starts = |bench: &results::Bench| bench.rows.iter().map(|row| row.run.started_at.clone()).collect::<Vec<_>>();
    let (base, new) = (starts(&base), starts(&new));
    for round in 0..10 {
        assert_eq!(base[round] < new[round], round % 2 == 0, "who is first takes turns: {base:?} {new:?}");
    }

    let (status, out, err) = in_turns(folder, this, &["--handicap-spin", "50us", "--against-out", "/dev/null"]);
    assert_eq!(status, Some(20), "only this build is handicapped: {out}{err}");
    assert!(out.contains("verdict: regressed"), "{out}");
}

#[test]
fn another_build_that_is_none_is_said() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (against, words) in [("/nowhere/zapring", "/nowhere/zapring serve"), ("/bin/false", "/bin/false")] {
        let (status, out, err) = in_turns(folder.path(), Path::new(against), &[]);
        assert!(status.is_some_and(|status| status != 0) && err.contains(words), "{status:?} {out}{err}");
        assert!(!folder.path().join("new.json").exists(), "nothing was measured");
    }
    let (status, _, err) = in_turns(folder.path(), Path::new("/bin/false"), &["--target", "http://127.0.0.1:1/"]);
    assert_eq!(status, Some(2), "{err}");
    let (status, _, err) = in_turns(folder.path(), Path::new("/bin/false"), &["--rounds", "9"]);
    assert_eq!(status, Some(2), "{err}");
}
