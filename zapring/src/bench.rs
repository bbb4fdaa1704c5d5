//! `zapring bench`.

use std::{
    collections::BTreeMap,
    num::NonZero,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::ValueEnum;
use codec::{json::Library, scenario::Scenario};
use engine::{Address, Engine};
use harness::{
    BenchError, BenchPlan, CoreLayout, CoreList, Elsewhere, HostFiles, Levels, Rig, Target,
    bench::{self, Step},
    limits::MAX_TURNS,
};
use indicatif::ProgressBar;
use results::{
    Bench, ExitCode, Placement, Run,
    compare::{Ask, Verdict, compare},
    limits::{MIN_PAIRS, NOISE_THRESHOLD},
    report::{self, bench::text},
};

use crate::{
    census::census,
    document::{self, DocumentArgs, Made},
    engine_args::EngineArgs,
    failure::Failure,
    handicap_args::HandicapArgs,
    load,
    side_cores::SideCores,
    tune, value,
};

/// How long a run is by default, after a third of it as warm-up.
const RUN: Duration = Duration::from_secs(3);

/// And one of two builds in turns, after a fifth of it: many short pairs say more than a few long ones, because a host's mood changes within seconds.
const TURN: Duration = Duration::from_millis(100);

/// So many times the rounds that were asked for are made where they do not suffice to say anything.
const MORE: u32 = 4;

/// Where the two sides run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Placed {
    /// On cores of their own: what a server can do for others
    Split,
    /// One server shard and one loader thread on every core, talking only to each other: what the machine can do at most
    Paired,
}

/// The loads of a fixed number of requests that zap-proto/bench makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shape {
    /// One connection, 5,000 requests one after the other
    Sequential,
    /// 32 connections, 1,000 requests each
    Parallel,
}

impl Shape {
    /// Connections, and requests over all of them.
    fn counts(self) -> (u32, u64) {
        match self {
            Shape::Sequential => (1, 5000),
            Shape::Parallel => (32, 32 * 1000),
        }
    }
}

/// What is asked, where it has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    One(Scenario),
    All,
}

fn asked(text: &str) -> Result<Asked, String> {
    if text == "all" {
        Ok(Asked::All)
    } else {
        text.parse().map(Asked::One).map_err(|error| format!("{error}, or all"))
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Connection counts [default: 1,8,64,256, or 64 with --scenario all or --against]
    #[arg(long, value_name = "LIST")]
    levels: Option<Levels>,
    /// Users up to so many instead: levels of 1, a quarter, a half, and all of them
    #[arg(long, conflicts_with = "levels", value_name = "N")]
    vusers: Option<NonZero<u32>>,
    /// Wires to drive
    #[arg(long, default_values = ["http", "zap"], value_delimiter = ',', value_name = "LIST", value_parser = ["http", "zap", "floor"])]
    wires: Vec<String>,
    /// A fixed number of requests instead of levels and a duration, as zap-proto/bench has them
    #[arg(long, value_enum, value_name = "NAME", conflicts_with_all = ["levels", "vusers", "duration"])]
    shape: Option<Shape>,
    /// How long each wire is measured at each level [default: 3s, or 100ms with --against]
    #[arg(short, long, value_parser = value::time, value_name = "TIME")]
    duration: Option<Duration>,
    /// Warm-up before each [default: 1s, or 20ms with --against]
    #[arg(long, value_parser = value::time, value_name = "TIME")]
    warmup: Option<Duration>,
    /// Another build of zapring to measure in turns with this one: a server of each, many short runs, and what differs by more than noise
    #[arg(long, conflicts_with_all = ["server", "target", "shape", "html", "instructions"], value_name = "PROGRAM")]
    against: Option<PathBuf>,
    /// How often each run is made on each side; up to four times as often while nothing can be said [default: 60]
    #[arg(long, requires = "against", value_parser = clap::value_parser!(u32).range(MIN_PAIRS as i64..=i64::from(MAX_TURNS)), value_name = "N")]
    rounds: Option<u32>,
    /// Where the other build's result goes [default: beside --out, with -against before the extension]
    #[arg(long, requires = "against", value_name = "PATH")]
    against_out: Option<PathBuf>,
    /// Smaller differences between the builds are none [default: 5%]
    #[arg(long, requires = "against", value_parser = value::share, value_name = "PERCENT")]
    threshold: Option<f64>,
    /// Where server and loader run with respect to each other
    #[arg(long, value_enum, default_value = "split", value_name = "NAME")]
    placement: Placed,
    #[command(flatten)]
    sides: SideCores,
    /// Cores of both sides in paired placement [default: all that this process may use, without the first of more than four]
    #[arg(long, conflicts_with_all = ["server_cores", "loader_cores"], value_name = "LIST")]
    cores: Option<CoreList>,
    #[command(flatten)]
    engine: EngineArgs,
    /// How the loader moves bytes, where it differs; engine options go to both sides
    #[arg(long, value_parser = value::engine, value_name = "NAME")]
    loader_engine: Option<Engine>,
    /// What is asked of the server, but on floor
    #[arg(long, default_value = "/health", value_name = "PATH")]
    path: String,
    /// Start the server alone, placed as for a bench, say how to drive it, and leave it up until interrupted
    #[arg(long, conflicts_with_all = ["target", "out"])]
    server: bool,
    /// Drive a server that is there already, as in http://10.0.0.2:8080/health; repeatable, once per wire
    #[arg(long, conflicts_with_all = ["wires", "path", "placement", "debug_alloc", "instructions", "scenario", "json"], value_name = "URL")]
    target: Vec<String>,
    /// Its process, to be watched where it is on this host; --server-cores says where it runs
    #[arg(long, requires_all = ["target", "server_cores"], value_name = "PID")]
    target_pid: Option<u32>,
    /// Let the server count its allocations and live bytes; growth of more than 8 MiB over the bench is called a leak
    #[arg(long)]
    debug_alloc: bool,
    /// Count the instructions of the server's threads in user space with the processor's counters, where the host has them
    #[arg(long)]
    instructions: bool,
    #[command(flatten)]
    handicap: HandicapArgs,
    /// One of the loader's scenarios instead of a path, or all of them: hello, rpc, echo-tiny, echo-small, echo-chat, echo-medium,
    /// echo-large, stream
    #[arg(long, value_parser = asked, value_name = "NAME", conflicts_with = "path")]
    scenario: Option<Asked>,
    /// Who reads and writes the JSON of POST /rpc on http: serde, sonic or simd
    #[arg(long, value_name = "LIBRARY")]
    json: Option<Library>,
    /// Requests each connection keeps under way
    #[arg(long, default_value_t = 1, value_name = "N")]
    pipeline: u32,
    #[command(flatten)]
    document: DocumentArgs,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let plan = plan(args)?;
    if args.server {
        return leave_up(&plan);
    }
    if let Some(other) = &args.against {
        return against(args, &plan, other);
    }
    let output = args.document.open(Bench::file_name)?;
    let stop = document::stop_flag()?;
    let bar = args.document.bar(plan.runs().count() as u64);
    let mut result = bench::run(&plan, &stop, &mut |step| show(&bar, &step))?;
    bar.finish_and_clear();
    if let Some(reason) = &result.uncounted {
        eprintln!("zapring: note: instructions are not recorded: {reason}");
    }
    result.bench.environment.tuning = tune::recorded();
    let made = Made {
        document: &result.bench,
        text: text(&result.bench),
        codes: result.bench.exit_codes(0),
        end: result.end,
        code_of: BenchError::exit_code,
    };
    Ok(made.put(output))
}

/// This build and another one in turns, and what differs. Handicaps are this build's alone.
fn against(args: &Args, new: &BenchPlan, other: &Path) -> Result<ExitCode, Failure> {
    let mut base = new.clone();
    other.clone_into(&mut base.rig.exe);
    base.rig.server_args = server_args(args, false);
    let output = args.document.open(Bench::file_name)?;
    let base_output = args.document.open_beside(args.against_out.as_deref(), "-against", Bench::file_name)?;
    let (rounds, plan_rows) = (args.rounds.unwrap_or(60), new.runs().count());
    let stop = document::stop_flag()?;
    let per_rounds = 2 * u64::from(rounds) * plan_rows as u64;
    let bar = args.document.bar(per_rounds);
    let ask = Ask { threshold: args.threshold.unwrap_or(NOISE_THRESHOLD), across: Vec::new() };
    let judged = |base: &Bench, new: &Bench| compare(&rows(base), &rows(new), &ask);
    let mut enough = |base: &Bench, new: &Bench| {
        let made = new.rows.len() / plan_rows;
        let unclear = |bar: &ProgressBar| {
            bar.inc_length(per_rounds);
            false
        };
        made.is_multiple_of(rounds as usize) && (judged(base, new).verdict != Verdict::Inconclusive || unclear(&bar))
    };
    let mut turns = bench::in_turns([&base, new], MORE * rounds, &mut enough, &stop, &mut |step| show(&bar, &step))?;
    bar.finish_and_clear();
    for side in [&mut turns.base, &mut turns.new] {
        side.environment.tuning = tune::recorded();
    }
    let comparison = judged(&turns.base, &turns.new);
    let text = format!("base: {}\n\n{}", other.display(), report::compare::text(&comparison));
    let mut codes = turns.new.exit_codes(0);
    codes.extend(turns.base.exit_codes(0));
    codes.push(comparison.verdict.exit_code());
    let base_name = base_output.name().to_owned();
    match base_output.write(&turns.base) {
        Ok(()) => eprintln!("base written to {base_name}"),
        Err(error) => {
            eprintln!("zapring: {error}");
            codes.push(error.exit_code());
        }
    }
    let made = Made { document: &turns.new, text, codes, end: turns.end, code_of: BenchError::exit_code };
    Ok(made.put(output))
}

fn rows(bench: &Bench) -> Vec<&Run> {
    bench.rows.iter().map(|row| &row.run).collect()
}

fn plan(args: &Args) -> Result<BenchPlan, Failure> {
    let mut plan = BenchPlan::new(document::own_exe()?, layout(args)?, env!("ZAPRING_VERSION"));
    plan.command = document::command();
    plan.levels = levels(args);
    let server_engine = args.engine.engine;
    let loader_engine = args.loader_engine.unwrap_or(server_engine);
    for engine in [server_engine, loader_engine] {
        args.engine.options(engine)?;
    }
    let rig = &mut plan.rig;
    rig.targets = targets(args)?;
    rig.requests = args.shape.map(|shape| shape.counts().1);
    let turns = args.against.is_some();
    rig.duration = args.duration.unwrap_or(if turns { TURN } else { RUN });
    rig.warmup = args.warmup.unwrap_or(if turns { TURN / 5 } else { RUN / 3 });
    rig.server_engine = Some(server_engine.name().to_owned());
    rig.loader_engine = Some(loader_engine.name().to_owned());
    rig.server_args = server_args(args, true);
    rig.loader_args = args.engine.typed();
    if args.pipeline != 1 {
        rig.loader_args.extend(["--pipeline".to_owned(), args.pipeline.to_string()]);
    }
    rig.census = Some(census());
    rig.count_instructions = args.instructions;
    if !args.target.is_empty() {
        elsewhere(args, rig)?;
    }
    Ok(plan)
}

/// What the server is started with beyond its place.
fn server_args(args: &Args, handicapped: bool) -> Vec<String> {
    let mut typed = args.engine.typed();
    if let Some(json) = args.json {
        typed.extend(["--json".to_owned(), json.to_string()]);
    }
    if handicapped {
        typed.extend(args.handicap.typed());
    }
    typed.extend(args.debug_alloc.then(|| "--debug-alloc".to_owned()));
    typed
}

/// Turns a rig to a server that is there already.
fn elsewhere(args: &Args, rig: &mut Rig) -> Result<(), Failure> {
    let mut urls = BTreeMap::new();
    let mut on_this_host = true;
    rig.targets.clear();
    for url in &args.target {
        let target = loader::Target::parse(url)?;
        let wire = target.wire.word().to_owned();
        let local =
            |address: &Address| !matches!(address, Address::Tcp(address) if !address.ip().to_canonical().is_loopback());
        on_this_host &= target.resolve(loader::Family::default())?.iter().all(local);
        let path = target.request_target.clone();
        let address = url.strip_suffix(path.as_str()).unwrap_or(url);
        if urls.insert(wire.clone(), address.to_owned()).is_some() {
            return Err(Failure::Usage(format!("--target {url}: {wire} is driven already; give each wire once")));
        }
        rig.targets.push(Target::new(&wire, &path));
    }
    if !on_this_host {
        rig.cores.placement = Placement::Remote;
    } else if args.target_pid.is_none() {
        rig.cores.placement = Placement::Unknown;
    }
    rig.elsewhere = Some(Elsewhere { urls, pid: args.target_pid });
    rig.census = None;
    Ok(())
}

/// The server alone, for a tool of somebody else's.
fn leave_up(plan: &BenchPlan) -> Result<ExitCode, Failure> {
    let stop = document::stop_flag()?;
    let CoreLayout { server, loader, .. } = &plan.rig.cores;
    harness::hold(&plan.rig, &stop, &mut |held| {
        let mut text = format!("server {} on cores {server}; drive it from cores {loader}, as in\n", held.pid);
        for url in &held.urls {
            if url.starts_with("http:") {
                text += &format!("  taskset -c {loader} wrk -t{} -c64 -d10s {url}\n", loader.len());
            }
            let (pid, levels) = (held.pid, &plan.levels);
            text += &format!(
                "  zapring bench --target {url} --target-pid {pid} --server-cores {server} --loader-cores {loader} --levels {levels}\n"
            );
        }
        text += "until Ctrl-C\n";
        load::print(&text, false);
    })?;
    Ok(ExitCode::Ok)
}

fn levels(args: &Args) -> Levels {
    let text = |text: &str| text.parse().expect("a list of levels");
    match (&args.levels, args.vusers, args.shape) {
        (_, _, Some(shape)) => text(&shape.counts().0.to_string()),
        (Some(levels), ..) => levels.clone(),
        (None, Some(most), _) => Levels::up_to(most),
        (None, None, None) if args.scenario == Some(Asked::All) || args.against.is_some() => text("64"),
        (None, None, None) => Levels::default(),
    }
}

/// What is asked on each wire, scenario by scenario.
fn targets(args: &Args) -> Result<Vec<Target>, Failure> {
    let scenarios = match args.scenario {
        None => return Ok(args.wires.iter().map(|wire| target(wire, &args.path)).collect()),
        Some(Asked::One(scenario)) => vec![scenario],
        Some(Asked::All) => Scenario::ALL.to_vec(),
    };
    if args.wires.iter().any(|wire| wire == "floor") {
        return Err(Failure::Usage(
            "--scenario means nothing on floor, which has no requests: leave it out of --wires".to_owned(),
        ));
    }
    let of = |scenario: Scenario| args.wires.iter().map(move |wire| Target::scenario(wire, scenario.name()));
    Ok(scenarios.into_iter().flat_map(of).collect())
}

/// What is asked on a wire. Floor frames carry nothing but their sizes, and have those of zap's `/health` by default.
pub(crate) fn target(wire: &str, path: &str) -> Target {
    Target::new(wire, if wire == "floor" { "" } else { path })
}

fn layout(args: &Args) -> Result<CoreLayout, Failure> {
    match (args.placement, &args.cores) {
        (Placed::Split, None) => args.sides.split(),
        (Placed::Split, Some(cores)) => Err(Failure::Usage(format!(
            "--cores {cores} is for --placement paired; in split placement give --server-cores and --loader-cores"
        ))),
        (Placed::Paired, _) if args.sides.given() => Err(Failure::Usage(
            "--server-cores and --loader-cores are for --placement split; in paired placement both sides have the same: give --cores"
                .to_owned(),
        )),
        (Placed::Paired, Some(cores)) => {
            value::usable(cores)?;
            Ok(CoreLayout::paired_on(cores))
        }
        (Placed::Paired, None) => Ok(CoreLayout::paired(&HostFiles::live().usable_cores()?)),
    }
}

fn show(bar: &ProgressBar, step: &Step<'_>) {
    match step {
        Step::Starting => bar.set_message("starting the server"),
        Step::Serving { .. } => {}
        Step::Begin { wire, connections, .. } => bar.set_message(format!("{wire}, {connections} connections")),
        Step::Done { .. } => bar.inc(1),
    }
}
