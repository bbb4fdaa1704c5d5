//! `zapring versus`.

use std::{path::PathBuf, time::Duration};

use engine::Engine;
use harness::{
    VersusError, VersusPlan,
    versus::{self, Peers, Step},
};
use indicatif::ProgressBar;
use results::{ExitCode, Versus, report::versus::text};

use crate::{
    answer, census,
    document::{self, DocumentArgs, Made},
    failure::Failure,
    side_cores::SideCores,
    tune, value,
};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Servers are driven by zapring's loader, loaders drive the first server of their wire. Everybody is pinned with taskset to the same
cores, started anew for every run, asked for a right answer, and stopped. The base of each wire is run twice in each round.")]
pub(crate) struct Args {
    /// The list of servers and loaders
    #[arg(long, default_value = "peers/peers.toml", value_name = "PATH")]
    peers: PathBuf,
    /// Servers by name, or none [default: all of the list]
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    servers: Option<Vec<String>>,
    /// Loaders by name, or none [default: all of the list]
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    loaders: Option<Vec<String>>,
    /// Who others of the wire are compared with; repeatable [default: the first of each wire]
    #[arg(long = "base", value_name = "NAME")]
    bases: Vec<String>,
    /// Connections of every run
    #[arg(short, long, default_value_t = 64, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    connections: u32,
    /// How often everybody is run, in another order each time
    #[arg(long, default_value_t = 5, value_name = "N")]
    rounds: u32,
    /// How long each run is measured; loaders that take whole seconds get the next one
    #[arg(short, long, default_value = "1s", value_parser = value::time, value_name = "TIME")]
    duration: Duration,
    /// Warm-up of servers before each; loaders are measured whole
    #[arg(long, default_value = "300ms", value_parser = value::time, value_name = "TIME")]
    warmup: Duration,
    /// Open loop: requests per second asked of every server [default: closed loop]
    #[arg(short = 'R', long, value_parser = count, value_name = "N")]
    rate: Option<u64>,
    /// Requests each connection of zapring's loader keeps under way
    #[arg(long, default_value_t = 1, value_name = "N")]
    pipeline: u32,
    /// How zapring's loader moves bytes when it drives the servers
    #[arg(long, value_parser = value::engine, default_value = "uring", value_name = "NAME")]
    loader_engine: Engine,
    #[command(flatten)]
    sides: SideCores,
    #[command(flatten)]
    document: DocumentArgs,
}

fn count(text: &str) -> Result<u64, String> {
    loader::value::count(text).map_err(|error| error.to_string())
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let plan = plan(args)?;
    let output = args.document.open(Versus::file_name)?;
    let stop = document::stop_flag()?;
    let bar = args.document.bar(0);
    let mut result = versus::run(&plan, &stop, &mut |step| show(&bar, &step))?;
    bar.finish_and_clear();
    result.versus.environment.tuning = tune::recorded();
    let made = Made {
        document: &result.versus,
        text: text(&result.versus),
        codes: result.versus.exit_codes(0),
        end: result.end,
        code_of: VersusError::exit_code,
    };
    Ok(made.put(output))
}

fn plan(args: &Args) -> Result<VersusPlan, Failure> {
    let peers = Peers::read(&args.peers).map_err(VersusError::from)?;
    let mut plan =
        VersusPlan::new(document::own_exe()?, peers, args.sides.split()?, env!("ZAPRING_VERSION"), answer::body);
    plan.command = document::command();
    plan.servers = args.servers.as_deref().map(names);
    plan.loaders = args.loaders.as_deref().map(names);
    plan.bases = args.bases.clone();
    plan.connections = args.connections;
    plan.rounds = args.rounds;
    plan.duration = args.duration;
    plan.warmup = args.warmup;
    plan.rate_per_s = args.rate;
    plan.loader_args = vec!["--engine".to_owned(), args.loader_engine.name().to_owned()];
    if args.pipeline != 1 {
        plan.loader_args.extend(["--pipeline".to_owned(), args.pipeline.to_string()]);
    }
    plan.count = Some(census::answered);
    Ok(plan)
}

/// `none` stands for nobody.
fn names(list: &[String]) -> Vec<String> {
    list.iter().map(|name| name.trim().to_owned()).filter(|name| name != "none" && !name.is_empty()).collect()
}

fn show(bar: &ProgressBar, step: &Step<'_>) {
    match step {
        Step::Planned { runs } => bar.set_length(*runs as u64),
        Step::Begin { round, name } => bar.set_message(format!("round {}, {name}", round + 1)),
        Step::Done => bar.inc(1),
    }
}
