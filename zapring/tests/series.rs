//! A run over time for real: a server that stands still has seconds without an answer, on every engine and in both loop modes.

mod support;

use std::{
    process::{Child, Stdio},
    thread,
    time::Duration,
};

use results::Run;
use support::{ENGINES, Server, signal, wait_until, zapring};

fn start(url: &str, args: &[&str]) -> Child {
    zapring()
        .args(["load", url, "--json", "-", "--quiet", "--timeout", "20s"])
        .args(args)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary under test")
}

fn end(load: Child) -> Run {
    let output = load.wait_with_output().expect("our child");
    Run::parse(&output.stdout, "standard output").expect("a run file")
}

/// The rows cover the measured part without a gap, and add up to its outcomes.
fn adds_up(run: &Run, label: &str) {
    let measured: Vec<_> = run.series.iter().filter(|row| !row.drain).collect();
    assert_eq!(measured.iter().map(|row| row.step_ns).sum::<u64>(), run.elapsed_ns, "{label}");
    assert!(measured.iter().enumerate().all(|(index, row)| row.second == index as u64), "{label}");
    let sums = run.series.iter().fold((0, 0), |(ok, failed), row| (ok + row.ok, failed + row.failed));
    assert_eq!(sums, (run.requests.ok, run.requests.failed()), "{label}");
    let max_ns = run.series.iter().filter_map(|row| row.max_ns).max();
    // One is exact, the other to three digits.
    let near = run.latency.max_ns.zip(max_ns).is_some_and(|(all, rows)| all.abs_diff(rows) <= all / 500);
    assert!(near, "{label}: {:?} and {max_ns:?}", run.latency.max_ns);
}

#[test]
fn seconds_in_which_the_server_stands_still_have_no_answer() {
    let server = Server::start("monoio", &["--cores", "0"]);
    let mut loads = Vec::new();
    for engine in ENGINES {
        for mode in [&["-R", "400"][..], &[]] {
            let args =
                [&["--engine", engine, "-c", "4", "-t", "2", "-d", "7s", "--warmup", "300ms"][..], mode].concat();
            loads.push((format!("{engine} {mode:?}"), start(&server.http_url("/health"), &args)));
        }
    }
    wait_until("all loads are connected", || {
        server.stats()["connections"]["connections_open"].as_u64().is_some_and(|open| open >= 4 * loads.len() as u64)
    });
    thread::sleep(Duration::from_millis(1500));
    signal(server.pid(), "STOP");
    thread::sleep(Duration::from_millis(2500));
    signal(server.pid(), "CONT");
    for (label, load) in loads {
        let run = end(load);
        let rows = &run.series;
        adds_up(&run, &label);
        let frozen = rows.iter().position(|row| row.ok == 0 && !row.drain);
        let frozen = frozen.unwrap_or_else(|| panic!("{label}: no second without an answer: {rows:?}"));
        assert!(rows[..frozen].iter().any(|row| row.ok > 0), "{label}: nothing before it stood still: {rows:?}");
        let after = rows[frozen..].iter().find(|row| row.ok > 0);
        assert!(after.is_some_and(|row| row.max_ns > Some(1_000_000_000)), "{label}: {rows:?}");
        assert_eq!((rows[frozen].p50_ns, rows[frozen].max_ns), (None, None), "{label}");
    }
}

#[test]
fn a_part_of_a_second_has_its_length_and_a_counted_run_its_rows() {
    let server = Server::start("monoio", &["--cores", "0"]);
    let run = end(start(&server.http_url("/health"), &["-c", "4", "-d", "1300ms", "--warmup", "0"]));
    adds_up(&run, "time");
    let steps: Vec<u64> = run.series.iter().filter(|row| !row.drain).map(|row| row.step_ns).collect();
    assert_eq!(steps, [1_000_000_000, 300_000_000]);
    let run = end(start(&server.zap_url("/health"), &["-c", "4", "-n", "5000", "-t", "2"]));
    adds_up(&run, "count");
    assert_eq!(run.series.iter().map(|row| row.ok).sum::<u64>(), 5000);
}
