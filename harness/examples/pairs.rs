//! CPU microseconds per request of servers that run already, in interleaved rounds, as ratios with their interval and an A/A row.
//!
//! ```text
//! pairs --exe zapring --core 1 [--scenario NAME] NAME=URL@PID NAME=URL@PID ...
//! ```
//!
//! Each URL is served by a process that somebody has started and pinned; its CPU time is read from `/proc/PID` over the measured part of
//! each run. The first entry is the base, and runs twice in every round: the second time is the A/A row. Loaders are compared by
//! `zapring versus`, which shares out what they cost among the requests that the server counted, not those that a loader reports.

use std::{
    error::Error,
    process::{Command, ExitCode, Stdio},
};

use results::{PairedRatio, Run};

type Failure = Box<dyn Error>;

/// One measured thing.
struct Entry {
    name: String,
    what: String,
    us_per_request: Vec<f64>,
    requests_per_s: Vec<f64>,
}

struct Options {
    exe: String,
    core: String,
    connections: String,
    pipeline: String,
    engine: String,
    /// What the loader is asked for beside the URL.
    more: Vec<String>,
    seconds: f64,
    rounds: usize,
    entries: Vec<Entry>,
}

fn options() -> Result<Options, Failure> {
    let mut args = std::env::args().skip(1);
    let mut options = Options {
        exe: "zapring".into(),
        core: "1".into(),
        connections: "64".into(),
        pipeline: "1".into(),
        engine: "monoio".into(),
        more: Vec::new(),
        seconds: 2.0,
        rounds: 15,
        entries: Vec::new(),
    };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--exe" => options.exe = value()?,
            "--core" => options.core = value()?,
            "--connections" => options.connections = value()?,
            "--pipeline" => options.pipeline = value()?,
            "--engine" => options.engine = value()?,
            "--scenario" => options.more.extend(["--scenario".to_owned(), value()?]),
            "--seconds" => options.seconds = value()?.parse()?,
            "--rounds" => options.rounds = value()?.parse()?,
            entry => {
                let (name, what) =
                    entry.split_once('=').ok_or(format!("{entry:?} is neither an option nor NAME=..."))?;
                options.entries.push(Entry {
                    name: name.into(),
                    what: what.into(),
                    us_per_request: Vec::new(),
                    requests_per_s: Vec::new(),
                });
            }
        }
    }
    let again = options.entries.first().map(|base| (format!("{} again", base.name), base.what.clone()));
    let (name, what) = again.ok_or("give at least one NAME=...")?;
    options.entries.push(Entry { name, what, us_per_request: Vec::new(), requests_per_s: Vec::new() });
    Ok(options)
}

/// One run against a server; its CPU microseconds per request, and the rate.
fn server_run(options: &Options, what: &str) -> Result<(f64, f64), Failure> {
    let (url, pid) = what.rsplit_once('@').ok_or(format!("{what:?} is not URL@PID"))?;
    let duration = format!("{}ms", (options.seconds * 1000.0) as u64);
    let output = Command::new(&options.exe)
        .args(["load", url, "--cores", &options.core, "-c", &options.connections, "--pipeline", &options.pipeline])
        .args(["-d", &duration, "--warmup", "300ms", "--engine", &options.engine, "--watch-pid", pid])
        .args(["--json", "-", "--quiet"])
        .args(&options.more)
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("the load on {url} ended with {}", output.status).into());
    }
    let run = Run::parse(&output.stdout, url)?;
    let server = run.server.as_ref().ok_or("the server was not watched")?;
    Ok((server.cpu_ns as f64 / 1000.0 / run.requests.ok as f64, run.rates.ok_per_s.unwrap_or(0.0)))
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() -> Result<ExitCode, Failure> {
    let mut options = options()?;
    let total = options.entries.len();
    for round in 0..options.rounds {
        for turn in 0..total {
            // Another one begins each round, so that nobody always follows the same neighbour.
            let index = (round + turn) % total;
            let what = options.entries[index].what.clone();
            let (us, rate) = server_run(&options, &what)?;
            options.entries[index].us_per_request.push(us);
            options.entries[index].requests_per_s.push(rate);
        }
    }
    let base = &options.entries[0];
    println!(
        "{} rounds of {} s, {} connections, pipeline {}",
        options.rounds, options.seconds, options.connections, options.pipeline
    );
    println!(
        "{:<16} {:>12} {:>10}  ratio of CPU us/request to {} (95 % interval)",
        "server", "CPU us/req", "req/s", base.name
    );
    for entry in &options.entries {
        let pairs: Vec<(f64, f64)> =
            entry.us_per_request.iter().copied().zip(base.us_per_request.iter().copied()).collect();
        let ratio = PairedRatio::of(&pairs).filter(|_| entry.name != base.name);
        let ratio = ratio.map_or(String::new(), |r| format!("{:.3} ({:.3} to {:.3})", r.ratio, r.low, r.high));
        println!(
            "{:<16} {:>12.3} {:>10.0}  {ratio}",
            entry.name,
            median(&entry.us_per_request),
            median(&entry.requests_per_s)
        );
    }
    Ok(ExitCode::SUCCESS)
}
