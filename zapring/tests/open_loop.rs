//! Open loop for real: the rate is kept, a rate that is out of reach is said to be, and a server that stands still shows where it
//! should.

mod support;

use std::{
    process::{Child, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use results::{Distribution, Run};
use support::{ENGINES, Server, signal, zapring};

const MS: u64 = 1_000_000;

/// How often a shape is looked for: other programs of the host can hold up a server or a loader for as long as they like.
const TRIES: usize = 4;

/// What is paced needs the cores to itself.
static CORES: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    CORES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tries until it is as it should be; what was wrong every time else.
fn tried(mut once: impl FnMut() -> Result<(), String>) {
    let mut said = Vec::new();
    for _ in 0..TRIES {
        match once() {
            Ok(()) => return,
            Err(difference) => said.push(difference),
        }
    }
    panic!("{said:#?}");
}

/// Starts a load whose run file comes on standard output.
fn start(engine: &str, url: &str, args: &[&str]) -> Child {
    zapring()
        .args(["load", url, "--engine", engine, "--json", "-", "--quiet"])
        .args(args)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary under test")
}

/// Its exit code and run file.
fn end(load: Child) -> (i32, Run) {
    let output = load.wait_with_output().expect("our child");
    let run = Run::parse(&output.stdout, "standard output").expect("a run file");
    (output.status.code().expect("an exit code"), run)
}

fn above(distribution: &Distribution, ns: u64) -> u64 {
    let histogram = distribution.histogram().expect("its own histogram");
    histogram.count() - histogram.inner().count_between(0, ns)
}

fn quantile(distribution: &Distribution, quantile: f64) -> u64 {
    distribution.histogram().expect("its own histogram").inner().value_at_quantile(quantile)
}

/// Whether a rate was kept, in words if not. What no load may do, however busy the machine is, is asserted.
fn kept(engine: &str, url: &str, (rate, connections, pipeline): (u64, &str, &str)) -> Result<(), String> {
    let args = ["-R", &rate.to_string(), "-c", connections, "--pipeline", pipeline, "-d", "400ms", "--warmup", "100ms"];
    let (code, run) = end(start(engine, url, &args));
    let requests = run.requests;
    let label = format!("{engine} {url} at {rate}/s: {requests:?} {:?}", run.validity);
    let planned = rate * 2 / 5;
    assert_eq!(requests.planned, planned, "{label}");
    assert!(requests.adds_up().is_ok() && requests.sent == requests.ok, "{label}");
    assert!(run.late.is_some_and(|late| late <= planned), "{label}");
    for part in [&run.service_time, &run.conn_wait, &run.send_lag] {
        assert_eq!(part.as_ref().expect("an open loop").count, requests.sent, "{label}");
    }
    let enough = requests.sent + planned / 100 >= planned;
    assert_eq!(code, if enough { 0 } else { 11 }, "{label}");
    if enough { Ok(()) } else { Err(label) }
}

#[test]
fn the_rate_is_kept_on_every_engine_and_wire() {
    let _alone = alone();
    for engine in ENGINES {
        let server = Server::start(engine, &["--cores", "0"]);
        for url in [server.http_url("/health"), server.zap_url("/health"), server.floor_url("")] {
            for load in [(10_000, "64", "1"), (5, "3", "1"), (2_000, "1", "16")] {
                tried(|| kept(engine, &url, load));
            }
        }
    }
}

#[test]
fn a_rate_out_of_reach_is_not_trusted() {
    let _alone = alone();
    let server = Server::start("monoio", &["--cores", "0"]);
    for engine in ["monoio", "uring"] {
        let args = ["-R", "50M", "-c", "8", "-d", "500ms", "--warmup", "0"];
        let (code, run) = end(start(engine, &server.http_url("/health"), &args));
        assert_eq!(code, 11, "{:?}", run.validity);
        assert!(run.validity.iter().any(|doubt| doubt.code.key() == "rate_not_reached" && doubt.fatal));
        assert_eq!(run.requests.planned, 25_000_000);
        assert_eq!(run.requests.adds_up(), Ok(()));
        assert!(run.requests.not_sent > 0);
    }
}

/// Runs a load, stops the server for half of it, and returns the run and how long the server stood still.
fn freeze(engine: &str, args: &[&str]) -> (Run, u64) {
    let server = Server::start(engine, &["--cores", "0"]);
    let common = ["-c", "16", "-d", "2s", "--warmup", "200ms", "--timeout", "10s", "--cores", "1"];
    let load = start(engine, &server.http_url("/health"), &[&common[..], args].concat());
    thread::sleep(Duration::from_millis(700));
    let begun = Instant::now();
    signal(server.pid(), "STOP");
    thread::sleep(Duration::from_secs(1));
    signal(server.pid(), "CONT");
    let frozen_ns = begun.elapsed().as_nanos() as u64;
    let (_, run) = end(load);
    assert_eq!(run.requests.adds_up(), Ok(()));
    (run, frozen_ns)
}

/// The shape of a freeze in open loop; what differs from it, in words.
fn open_freeze(engine: &str) -> Result<(), String> {
    let (run, frozen_ns) = freeze(engine, &["-R", "2000"]);
    let [service, wait, lag] =
        [&run.service_time, &run.conn_wait, &run.send_lag].map(|part| part.as_ref().expect("open"));
    let half = frozen_ns / 2;
    // Half of the requests were due while it stood still, for from nothing to all of that time.
    for (name, part) in [("latency", &run.latency), ("conn_wait", wait)] {
        let quarter = quantile(part, 0.75);
        if !(half / 2..half * 3 / 2).contains(&quarter) {
            return Err(format!("{engine}: upper quartile of {name} is {quarter} ns of {frozen_ns}"));
        }
    }
    let (lag, long) = (quantile(lag, 0.99), above(service, half));
    if lag >= 100 * MS || !(1..=2 * 16).contains(&long) || run.requests.ok < 3960 {
        return Err(format!("{engine}: send lag {lag} ns, {long} long service times, {:?}", run.requests));
    }
    Ok(())
}

#[test]
fn a_server_that_stands_still_shows_in_the_latency_and_not_as_the_loaders_fault() {
    let _alone = alone();
    for engine in ["monoio", "uring"] {
        tried(|| open_freeze(engine));
    }
}

/// The shape of a freeze in closed loop: those under way are long, once, and nothing else is known.
fn closed_freeze(engine: &str) -> Result<(), String> {
    let (run, frozen_ns) = freeze(engine, &[]);
    assert!(run.service_time.is_none() && run.conn_wait.is_none() && run.send_lag.is_none() && run.late.is_none());
    let (long, max_ns) = (above(&run.latency, frozen_ns / 2), run.latency.max_ns.expect("a maximum"));
    if (1..=2 * 16).contains(&long) && max_ns > frozen_ns * 9 / 10 {
        return Ok(());
    }
    Err(format!("{engine}: {long} long latencies of 16 connections, {max_ns} ns at most of {frozen_ns}"))
}

#[test]
fn in_closed_loop_only_those_under_way_are_long() {
    let _alone = alone();
    for engine in ["monoio", "uring"] {
        tried(|| closed_freeze(engine));
    }
}
