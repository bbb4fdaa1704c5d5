//! zapring: how many requests per second can this host, NIC and wire carry, and what stopped it?
//!
//! The command line: parse, call, print. Everything worth testing lives in the other members.

#![forbid(unsafe_code)]

mod answer;
mod bench;
mod catalogue;
mod census;
mod codec;
mod compare;
mod doctor;
mod document;
mod engine_args;
mod failure;
mod gate;
mod handicap_args;
mod load;
mod report;
mod schema;
mod serve;
mod side_cores;
mod signals;
mod sweep;
mod tune;
mod value;
mod versus;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Counts per thread; for the whole process where `--debug-alloc` asks for it.
#[global_allocator]
static COUNTING: counting::Counting = counting::Counting;

/// ZAP/HTTP benchmark server and pinned load generator on io_uring.
#[derive(Debug, Parser)]
#[command(name = "zapring", version, about, max_term_width = 120, disable_version_flag = true)]
#[command(after_help = EXIT_CODES)]
struct Cli {
    /// Print the version
    #[arg(short = 'V', long, action = clap::ArgAction::Version)]
    version: Option<bool>,
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 ok, 2 usage, 10 requests failed, 11 not trusted, 12 limit crossed, 20 regressed, 21 inconclusive, 22 not comparable,
30 io_uring unsupported, 31 permission, 32 address, 40 tune failed, 41 tune dirty, 50 result not written, 51 result not read, 130 interrupted; 1 is a bug.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve ZAP, HTTP and floor on pinned cores until interrupted
    Serve(Box<serve::Args>),
    /// Drive a server with pinned load and report what it carried
    Load(Box<load::Args>),
    /// Measure this host: a server and a loader, split or paired, both wires, over a ramp of connections
    Bench(Box<bench::Args>),
    /// Find the best engine settings for one wire and level, and whether the difference is real
    Sweep(Box<sweep::Args>),
    /// Measure what the wire format itself costs, in process: records against JSON, messages, bytes on the wire
    Codec(codec::Args),
    /// Compare this server and loader with others, on the same cores in the same minutes
    Versus(Box<versus::Args>),
    /// Make reports from result files
    Report(report::Args),
    /// Compare two sets of runs: improved, same, regressed, inconclusive or not comparable
    Compare(compare::Args),
    /// Hold this build against a baseline: cost, counts per request, memory
    Gate(Box<gate::Args>),
    /// Tune this host for a run, and undo it: show, plan, apply, restore, status
    Tune(Box<tune::Args>),
    /// One page before a run: engines, tuning, cores, and what would hurt
    Doctor(Box<doctor::Args>),
    /// Print the JSON Schema of a kind of result file
    Schema(schema::Args),
    /// Write the list of published result files into a README
    #[command(hide = true)]
    Catalogue(catalogue::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let ended = match cli.command {
        Command::Serve(args) => serve::run(&args),
        Command::Load(args) => load::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Sweep(args) => sweep::run(&args),
        Command::Codec(args) => codec::run(&args),
        Command::Versus(args) => versus::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Gate(args) => gate::run(&args),
        Command::Tune(args) => tune::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Catalogue(args) => catalogue::run(&args),
    };
    match ended {
        Ok(code) => code.into(),
        Err(failure) => {
            eprintln!("zapring: {failure}");
            failure.code().into()
        }
    }
}
