//! `zapring bench`.

use std::{
    fs,
    io::IsTerminal,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use engine::Engine;
use harness::{
    BenchEnd, BenchPlan, CoreList, CoreSplit, HostFiles, Levels,
    bench::{self, Step},
    choose,
};
use indicatif::{ProgressBar, ProgressStyle};
use results::{Bench, Ending, ExitCode, Output, report::bench::text};

use crate::{failure::Failure, load, signals, value};

/// Where runs go that nobody gave a place.
const RUNS: &str = "results/runs";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Connection counts, as in 1,8,64,256
    #[arg(long, default_value = "1,8,64,256", value_name = "LIST")]
    levels: Levels,
    /// Wires to drive
    #[arg(long, default_values = ["http", "zap"], value_delimiter = ',', value_name = "LIST", value_parser = ["http", "zap"])]
    wires: Vec<String>,
    /// How long each level is measured
    #[arg(short, long, default_value = "3s", value_parser = value::time, value_name = "TIME")]
    duration: Duration,
    /// Warm-up before each
    #[arg(long, default_value = "1s", value_parser = value::time, value_name = "TIME")]
    warmup: Duration,
    /// Cores of the server [default: half of those this process may use]
    #[arg(long, requires = "loader_cores", value_name = "LIST")]
    server_cores: Option<CoreList>,
    /// Cores of the loader [default: the other half]
    #[arg(long, requires = "server_cores", value_name = "LIST")]
    loader_cores: Option<CoreList>,
    /// How both sides move bytes: monoio or uring (io_uring), epoll
    #[arg(long, value_parser = value::engine, default_value = "monoio", value_name = "NAME")]
    engine: Engine,
    /// How the loader moves bytes, where it differs
    #[arg(long, value_parser = value::engine, value_name = "NAME")]
    loader_engine: Option<Engine>,
    /// What is asked of the server
    #[arg(long, default_value = "/health", value_name = "PATH")]
    path: String,
    /// Requests each connection keeps under way
    #[arg(long, default_value_t = 1, value_name = "N")]
    pipeline: u32,
    /// Where the result goes; - for standard output, the table then goes to standard error [default: a new file in
    /// results/runs]
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// No progress bar
    #[arg(long)]
    quiet: bool,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let plan = plan(args)?;
    let output = Output::open(&path(args)?)?;
    let stop = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&stop);
    signals::on_first(move || raised.store(true, Ordering::Relaxed))
        .map_err(|source| Failure::System { what: "installing signal handlers", source })?;

    let bar = bar(args, &plan);
    let result = bench::run(&plan, &stop, &mut |step| show(&bar, &step))?;
    bar.finish_and_clear();
    let name = output.name().to_owned();
    let to_stderr = output.is_stdout();
    load::print(&text(&result.bench), to_stderr);

    let mut codes = result.bench.exit_codes(0);
    match output.write(&result.bench) {
        Ok(()) if to_stderr => {}
        Ok(()) => println!("written to {name}"),
        Err(error) => {
            eprintln!("zapring: {error}");
            codes.push(error.exit_code());
        }
    }
    match result.end {
        BenchEnd::Complete => {}
        BenchEnd::Interrupted => codes.push(ExitCode::Interrupted),
        BenchEnd::Failed(error) => {
            eprintln!("zapring: {error}");
            codes.push(error.exit_code());
        }
    }
    let ending = Ending::of(&codes);
    if let Some(line) = ending.text() {
        eprintln!("zapring: {line}");
    }
    Ok(ending.code)
}

fn plan(args: &Args) -> Result<BenchPlan, Failure> {
    let exe = std::env::current_exe()
        .map_err(|source| Failure::System { what: "finding this program's own file", source })?;
    let split = match (&args.server_cores, &args.loader_cores) {
        (Some(server), Some(loader)) => {
            value::usable(server)?;
            value::usable(loader)?;
            CoreSplit { server: server.clone(), loader: loader.clone(), shared: server.overlaps(loader) }
        }
        _ => choose(&HostFiles::live().usable_cores()?),
    };
    let mut plan = BenchPlan::new(exe, split, env!("CARGO_PKG_VERSION"));
    plan.command = std::iter::once("zapring".to_owned()).chain(std::env::args().skip(1)).collect();
    plan.wires = args.wires.clone();
    plan.levels = args.levels.clone();
    plan.duration = args.duration;
    plan.warmup = args.warmup;
    plan.server_engine = Some(args.engine.name().to_owned());
    plan.loader_engine = Some(args.loader_engine.unwrap_or(args.engine).name().to_owned());
    plan.target_path = args.path.clone();
    if args.pipeline != 1 {
        plan.loader_args = vec!["--pipeline".into(), args.pipeline.to_string()];
    }
    Ok(plan)
}

/// Where the result goes. The folder of runs is made where it is missing; any other must be there.
fn path(args: &Args) -> Result<PathBuf, Failure> {
    if let Some(path) = &args.out {
        return Ok(path.clone());
    }
    fs::create_dir_all(RUNS).map_err(|source| Failure::System { what: "making the folder results/runs", source })?;
    let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    Ok(PathBuf::from(RUNS).join(Bench::file_name(now_ns)))
}

fn bar(args: &Args, plan: &BenchPlan) -> ProgressBar {
    if args.quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(plan.runs().count() as u64);
    // Drawn once per run, by the thread that waits: nothing is drawn while something is measured.
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}").expect("a template without mistakes");
    bar.set_style(style);
    bar
}

fn show(bar: &ProgressBar, step: &Step<'_>) {
    match step {
        Step::Starting => bar.set_message("starting the server"),
        Step::Serving { .. } => {}
        Step::Begin { wire, connections, .. } => bar.set_message(format!("{wire}, {connections} connections")),
        Step::Done { .. } => bar.inc(1),
    }
}
