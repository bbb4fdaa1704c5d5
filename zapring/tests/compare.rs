//! Comparing stored runs: the exit code says what a script needs to know.

mod support;

use std::{fs, path::Path};

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

fn compare(args: &[&[String]]) -> (Option<i32>, String, String) {
    let output = zapring().arg("compare").args(args.concat()).output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
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
