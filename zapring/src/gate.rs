//! `zapring gate`.

use std::{path::PathBuf, time::Duration};

use engine::Engine;
use harness::{
    GateError, GatePlan, HostFiles, Rig,
    gate::{self, GateEnd},
    limits::MAX_GATE_ROUNDS,
};
use results::{
    Baseline, ExitCode, Output,
    baseline::GateConfig,
    gate::{Outcome, judge},
    limits::MIN_ROUNDS,
    report::gate::text,
};

use crate::{
    census::census, document, failure::Failure, handicap_args::HandicapArgs, load, side_cores::SideCores, tune, value,
};

/// How long the yardstick is measured in each round.
const YARDSTICK: Duration = Duration::from_millis(200);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A gate measures as its baseline was measured, on the same cores. Only --init takes settings, and only --init writes.
Exit codes: 0 held, 20 worse, 21 too noisy to tell, 22 another host, 51 no baseline, or one that cannot be read.")]
pub(crate) struct Args {
    /// The baseline
    #[arg(long, default_value = "results/baseline.json", value_name = "PATH")]
    baseline: PathBuf,
    /// Measure this build and write it as the baseline
    #[arg(long)]
    init: bool,
    /// Rounds; a gate makes up to three times as many when a check is not held at first [default: 12 with --init, else 7]
    #[arg(long, value_parser = clap::value_parser!(u32).range(MIN_ROUNDS as i64..=i64::from(MAX_GATE_ROUNDS)), value_name = "N")]
    rounds: Option<u32>,
    /// Wires, each run once a round [default: floor,http,zap]
    #[arg(long, requires = "init", value_delimiter = ',', value_parser = ["http", "zap", "floor"], value_name = "LIST")]
    wires: Vec<String>,
    /// Connections of every run [default: 64]
    #[arg(short, long, requires = "init", value_parser = clap::value_parser!(u32).range(1..), value_name = "N")]
    connections: Option<u32>,
    /// Measured part of each run [default: 500ms]
    #[arg(short, long, requires = "init", value_parser = value::time_ns, value_name = "TIME")]
    duration: Option<u64>,
    /// Warm-up before each [default: 100ms]
    #[arg(long, requires = "init", value_parser = value::time_ns, value_name = "TIME")]
    warmup: Option<u64>,
    /// What is asked of the server, but on floor [default: /health]
    #[arg(long, requires = "init", value_name = "PATH")]
    path: Option<String>,
    /// How both sides move bytes [default: uring]
    #[arg(long, requires = "init", value_parser = value::engine, value_name = "NAME")]
    engine: Option<Engine>,
    #[command(flatten)]
    sides: SideCores,
    /// Write what was measured there too, in the form of a baseline
    #[arg(long, conflicts_with = "init", value_name = "PATH")]
    out: Option<PathBuf>,
    #[command(flatten)]
    handicap: HandicapArgs,
    /// No progress bar
    #[arg(long)]
    quiet: bool,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    if args.init { init(args) } else { hold(args) }
}

/// Measures a baseline and writes it.
fn init(args: &Args) -> Result<ExitCode, Failure> {
    let output = Output::open(&args.baseline)?;
    let plan = plan(args, config(args)?, args.rounds.unwrap_or(12), true)?;
    let (measured, code, note) = measure(args, &plan, &mut |_| false)?;
    if code != ExitCode::Ok {
        eprintln!("zapring: exit {}: {}: no baseline was written", code.code(), code.name());
        return Ok(code);
    }
    let mut report = judge(&measured, &measured);
    report.notes.extend(note);
    load::print(&text(&report, measured.rounds.len(), measured.rounds.len()), output.is_stdout());
    let name = output.name().to_owned();
    let to_stdout = output.is_stdout();
    output.write(&measured)?;
    if !to_stdout {
        println!("written to {name}");
    }
    Ok(ExitCode::Ok)
}

/// Measures this build as the baseline was measured, and judges it.
fn hold(args: &Args) -> Result<ExitCode, Failure> {
    if args.sides.given() {
        return Err(Failure::Usage("the cores are the baseline's; give others with --init".to_owned()));
    }
    let base = Baseline::read(&args.baseline)?;
    let output = args.out.as_deref().map(Output::open).transpose()?;
    let rounds = args.rounds.unwrap_or(7);
    // A counter costs something at every context switch: both sides have it, or neither.
    let counted = base.has_instructions();
    let plan = plan(args, base.config.clone(), (3 * rounds).min(MAX_GATE_ROUNDS), counted)?;
    // A host in another mood for a few seconds is not a slower build: what is not held gets more rounds.
    let mut enough = |measured: &Baseline| {
        let made = measured.rounds.len() as u32;
        made >= rounds && (made - rounds).is_multiple_of(2) && judge(&base, measured).outcome() == Outcome::Held
    };
    let (measured, ended, note) = measure(args, &plan, &mut enough)?;
    let mut report = judge(&base, &measured);
    report.notes.extend(note);
    if !counted {
        report.notes.push("instructions are not recorded: the baseline has none".to_owned());
    }
    load::print(&text(&report, base.rounds.len(), measured.rounds.len()), false);
    let mut codes = vec![ended];
    if ended == ExitCode::Ok {
        codes.push(report.exit_code());
    }
    if let Some(output) = output
        && let Err(error) = output.write(&measured)
    {
        eprintln!("zapring: {error}");
        codes.push(error.exit_code());
    }
    Ok(document::ended(&codes))
}

fn config(args: &Args) -> Result<GateConfig, Failure> {
    let cores = args.sides.split()?;
    let engine = args.engine.unwrap_or(Engine::Uring).name().to_owned();
    let wires = || ["floor", "http", "zap"].map(str::to_owned).to_vec();
    Ok(GateConfig {
        wires: if args.wires.is_empty() { wires() } else { args.wires.clone() },
        path: args.path.clone().unwrap_or_else(|| "/health".to_owned()),
        connections: args.connections.unwrap_or(64),
        duration_ns: args.duration.unwrap_or(500_000_000),
        warmup_ns: args.warmup.unwrap_or(100_000_000),
        server_engine: engine.clone(),
        loader_engine: engine,
        server_cores: cores.server.as_slice().to_vec(),
        loader_cores: cores.loader.as_slice().to_vec(),
    })
}

fn plan(args: &Args, config: GateConfig, max_rounds: u32, instructions: bool) -> Result<GatePlan, Failure> {
    let layout = gate::layout(&config)?;
    value::usable(&layout.server)?;
    value::usable(&layout.loader)?;
    let mut rig = Rig::new(document::own_exe()?, Vec::new(), layout);
    gate::configure(&mut rig, &config);
    rig.server_args.push("--debug-alloc".to_owned());
    rig.server_args.extend(args.handicap.typed());
    rig.census = Some(census());
    rig.count_instructions = instructions;
    let (command, zapring_version) = (document::command(), env!("ZAPRING_VERSION").to_owned());
    let host = HostFiles::live();
    Ok(GatePlan { command, config, rig, max_rounds, yardstick: YARDSTICK, zapring_version, host })
}

/// The rounds, the exit code of what ended them, and why instructions are not in them where they were to be.
fn measure(
    args: &Args,
    plan: &GatePlan,
    enough: &mut dyn FnMut(&Baseline) -> bool,
) -> Result<(Baseline, ExitCode, Option<String>), Failure> {
    let stop = document::stop_flag()?;
    let bar = document::bar(args.quiet, plan.max_rounds.into()).with_message("rounds at most");
    let mut result = gate::run(plan, &stop, enough, &mut |step| bar.set_position(step.round.into()))?;
    bar.finish_and_clear();
    result.measured.environment.tuning = tune::recorded();
    let code = match &result.end {
        GateEnd::Complete => ExitCode::Ok,
        GateEnd::Interrupted => ExitCode::Interrupted,
        GateEnd::Failed(error) => {
            eprintln!("zapring: {error}");
            GateError::exit_code(error)
        }
    };
    let note = result.uncounted.map(|reason| format!("instructions are not recorded: {reason}"));
    Ok((result.measured, code, note))
}
