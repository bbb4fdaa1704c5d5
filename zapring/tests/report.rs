//! Reports from stored files: what is written where, and what cannot be read or written.

mod support;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use support::zapring;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../results/tests/fixtures").join(name)
}

fn report(args: &[&str], files: &[PathBuf]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = zapring().arg("report").args(files).args(args).output().expect("it runs");
    (status.code(), String::from_utf8(stdout).expect("text"), String::from_utf8(stderr).expect("text"))
}

#[test]
fn text_of_every_kind_of_file() {
    for (name, words) in [
        ("run-1.0.json", "Requests/sec: 297903.67"),
        ("open-loop-1.1.json", "open loop: 20000 requests/s asked"),
        ("bench-1.1.json", "zapring 0.1.0 bench"),
        ("sweep-1.0.json", "min-wait: best 20us"),
    ] {
        let (code, out, err) = report(&[], &[fixture(name)]);
        assert_eq!((code, err.as_str()), (Some(0), ""), "{name}");
        assert!(out.contains(words), "{name}: {out}");
    }
}

#[test]
fn several_outputs_at_once_and_one_of_them_to_standard_output() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (csv, markdown, html) = (file("out.csv"), file("out.md"), file("out.html"));
    let files = [fixture("run-1.0.json"), fixture("sweep-1.0.json")];
    let (code, out, err) = report(&["--csv", &csv, "--markdown", &markdown, "--html", &html, "--hgrm", "-"], &files);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(out.starts_with("       Value     Percentile TotalCount 1/(1-Percentile)\n\n"), "{out}");
    assert_eq!(fs::read_to_string(csv).expect("written").lines().count(), 1 + 1 + 30);
    assert!(fs::read_to_string(html).expect("written").starts_with("<!doctype html>"));
    assert!(fs::read_to_string(markdown).expect("written").contains("| base again | (A/A) |"));
}

#[test]
fn one_percentile_file_holds_one_distribution() {
    let (code, _, err) = report(&["--hgrm", "-"], &[fixture("bench-1.1.json")]);
    assert_eq!(code, Some(2));
    assert!(err.contains("runs of http/1 and zap/1: pick one with --only http/1"), "{err}");
    let (code, out, _) = report(&["--hgrm", "-", "--only", "zap/64"], &[fixture("bench-1.1.json")]);
    assert!(code == Some(0) && out.contains("#[Mean"), "{out}");
    for (files, words) in [("sweep-1.0.json", "keep no latency"), ("run-1.0.json", "no run of zap/9")] {
        let only: &[&str] = if files.starts_with("run") { &["--only", "zap/9"] } else { &[] };
        let (code, _, err) = report(&[&["--hgrm", "-"], only].concat(), &[fixture(files)]);
        assert!(code == Some(2) && err.contains(words), "{err}");
    }
}

#[test]
fn what_cannot_be_read_is_51() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("run.json");
    let whole = fs::read_to_string(fixture("run-1.1.json")).expect("stored");
    let broken_histogram = whole.replace("HISTFAAAAFl4", "HISTFAAAAFl5");
    for (text, words) in [
        (whole[..whole.len() / 2].to_owned(), "is truncated"),
        (whole.replace("\"schema_major\": 1", "\"schema_major\": 2"), "use a newer zapring"),
        (whole.replace("zapring.run", "k6.run"), "has schema \"k6.run\", expected \"zapring.run, zapring.bench, "),
        ("no JSON".to_owned(), "is broken"),
        (String::new(), "is truncated"),
        (broken_histogram, "distribution is broken"),
    ] {
        fs::write(&path, text).expect("written");
        let (code, out, err) = report(&["--hgrm", "-"], std::slice::from_ref(&path));
        assert_eq!((code, out.as_str()), (Some(51), ""), "{words}: {err}");
        assert!(err.contains(words), "{err}");
    }
    let (code, _, err) = report(&[], &[folder.path().join("none.json")]);
    assert!(code == Some(51) && err.contains("cannot read"), "{err}");
    let (code, _, _) = report(&[], &[folder.path().to_path_buf()]);
    assert_eq!(code, Some(51));
}

#[test]
fn a_newer_minor_is_read_with_a_note() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("run.json");
    let text = fs::read_to_string(fixture("run-1.1.json")).expect("stored");
    fs::write(&path, text.replace("\"schema_minor\": 1", "\"schema_minor\": 99")).expect("written");
    let (code, out, err) = report(&[], std::slice::from_ref(&path));
    assert!(code == Some(0) && out.contains("Requests/sec:"), "{out}");
    assert!(err.contains("is version 1.99 of zapring.run"), "{err}");
}

#[test]
fn what_cannot_be_written_is_50_before_anything_is_read() {
    let (code, _, err) = report(&["--csv", "/no/such/folder/out.csv"], &[PathBuf::from("/no/such/run.json")]);
    assert!(code == Some(50) && err.contains("/no/such/folder"), "{err}");
    let (code, _, err) = report(&["--csv", "-", "--markdown", "-"], &[fixture("run-1.0.json")]);
    assert!(code == Some(2) && err.contains("only one output"), "{err}");
}
