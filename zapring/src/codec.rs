//! `zapring codec`.

use std::{
    io,
    path::PathBuf,
    sync::atomic::AtomicBool,
    time::{SystemTime, UNIX_EPOCH},
};

use axis::{
    AxisError,
    canonical::{self, Preset, pipe},
    instructions, limits, suite, timing,
};
use clap::ValueEnum;
use harness::HostFiles;
use results::{Ending, ExitCode, Output, WriteError, report, timestamp};
use serde::Serialize;

use crate::{document, failure::Failure, load};

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Suite {
    /// Typed records against JSON, whole messages of both wires, bytes on the wire
    Axis,
    /// carsales, catrank and eval in every mode
    Canonical,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What is measured
    #[arg(long, value_enum, default_value = "axis", value_name = "NAME")]
    suite: Suite,
    /// The core to run on [default: the last that this process may use]
    #[arg(long, value_name = "N")]
    core: Option<usize>,
    /// Only operations whose name begins so, as in rpc/decode or echo-tiny
    #[arg(long, default_value = "", value_name = "NAME")]
    only: String,
    /// Also count instructions under callgrind, which takes a minute or two more; needs valgrind
    #[arg(long)]
    instructions: bool,
    /// Length of the canonical suite: quick, default or full
    #[arg(long, default_value_t, value_name = "NAME")]
    preset: Preset,
    /// Write the result there; - for standard output, the text then goes to standard error
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,
    /// Do the operation named with --only so many times, and nothing else: what callgrind counts
    #[arg(long, hide = true, value_name = "N")]
    repeat: Option<u64>,
    /// Answer requests of the canonical suite on standard input
    #[arg(long, hide = true, value_name = "CASE:COMPRESSION:SCRATCH")]
    answer: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    if let Some(asked) = &args.answer {
        let asked =
            pipe::parse(asked).ok_or_else(|| Failure::Usage(format!("--answer {asked:?} is no measurement")))?;
        pipe::serve(asked, io::stdin().lock(), io::stdout().lock())?;
        return Ok(ExitCode::Ok);
    }
    if let Some(operations) = args.repeat {
        instructions::repeat(&args.only, operations)?;
        return Ok(ExitCode::Ok);
    }
    if args.suite == Suite::Canonical && (args.instructions || !args.only.is_empty()) {
        return Err(Failure::Usage("--instructions and --only are for --suite axis".to_owned()));
    }
    if args.suite == Suite::Axis && args.preset != Preset::default() {
        return Err(Failure::Usage("--preset is for --suite canonical".to_owned()));
    }
    let output = args.json.as_deref().map(Output::open).transpose()?;
    let environment = harness::environment::collect(&HostFiles::live(), env!("ZAPRING_VERSION"));
    let core = core(args)?;
    let stop = document::stop_flag()?;
    let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let (run_id, started_at) = (timestamp::run_id(now_ns, std::process::id()), timestamp::rfc3339(now_ns));
    match args.suite {
        Suite::Axis => {
            let mut axis = axis(args, &stop)?;
            (axis.run_id, axis.started_at, axis.command) = (run_id, started_at, document::command());
            (axis.core, axis.environment) = (Some(core as u32), environment);
            Ok(put(&axis, &report::codec::text(&axis), axis.exit_codes(), output))
        }
        Suite::Canonical => {
            let exe = document::own_exe()?;
            let mut suite = canonical::run(args.preset, &exe, counting::of_this_thread, &stop)?;
            (suite.run_id, suite.started_at, suite.command) = (run_id, started_at, document::command());
            (suite.core, suite.host) = (Some(core as u32), environment);
            Ok(put(&suite, &report::canonical::text(&suite), suite.exit_codes(), output))
        }
    }
}

/// Pins this thread, and with it the children it starts.
fn core(args: &Args) -> Result<usize, Failure> {
    let usable = crate::value::all_usable()?;
    let core = args.core.or_else(|| usable.last().copied()).unwrap_or(0);
    timing::pin(core)?;
    Ok(core)
}

fn axis(args: &Args, stop: &AtomicBool) -> Result<results::Axis, Failure> {
    let exe = args.instructions.then(document::own_exe).transpose()?;
    let ask = suite::Ask {
        only: &args.only,
        rounds: limits::ROUNDS,
        allocations: counting::of_this_thread,
        instructions_of: exe.as_deref(),
    };
    Ok(suite::run(&ask, stop)?)
}

/// Prints, writes, and says how it ended.
fn put(document: &impl Serialize, text: &str, mut codes: Vec<ExitCode>, output: Option<Output>) -> ExitCode {
    load::print(text, output.as_ref().is_some_and(Output::is_stdout));
    if let Some(output) = output
        && let Err(error) = output.write(document)
    {
        eprintln!("zapring: {error}");
        codes.push(WriteError::exit_code(&error));
    }
    let ending = Ending::of(&codes);
    if let Some(line) = ending.text() {
        eprintln!("zapring: {line}");
    }
    ending.code
}

/// The exit code of a failure on the axis.
pub(crate) fn exit_code(error: &AxisError) -> ExitCode {
    match error {
        AxisError::Pin { .. } | AxisError::NoCase { .. } | AxisError::NoValgrind { .. } => ExitCode::Usage,
        _ => ExitCode::Unexpected,
    }
}
