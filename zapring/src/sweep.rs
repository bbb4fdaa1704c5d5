//! `zapring sweep`.

use std::time::Duration;

use clap::ValueEnum;
use engine::{Engine, EngineOptions};
use harness::{
    Rig, SweepError, SweepPlan,
    sweep::{self, Factor, Step},
};
use indicatif::ProgressBar;
use results::{ExitCode, Sweep, report::sweep::text, sweep::Side};

use crate::{
    bench::target,
    census::census,
    document::{self, DocumentArgs, Made},
    failure::Failure,
    side_cores::SideCores,
    tune, value,
};

/// Which side gets the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Swept {
    /// The server
    Server,
    /// The loader
    Loader,
    /// Both; their costs are added
    Both,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Wire to drive
    #[arg(long, default_value = "http", value_name = "NAME", value_parser = ["http", "zap", "floor"])]
    wire: String,
    /// Connections of every run
    #[arg(short, long, default_value_t = 64, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    connections: u32,
    /// How both sides move bytes: uring, monoio or glommio (io_uring), or epoll
    #[arg(long, value_parser = value::engine, default_value = "uring", value_name = "NAME")]
    engine: Engine,
    /// Which side gets the settings, and whose cost is compared
    #[arg(long, value_enum, default_value = "server", value_name = "SIDE")]
    side: Swept,
    /// Submission queue entries to try; none to leave them alone
    #[arg(long, value_parser = counts, default_value = "64,256,1024,4096", value_name = "LIST")]
    ring_entries: Values,
    /// Numbers of receive buffers to try, powers of two; none to leave them alone [default: 64,256,1024 on uring]
    #[arg(long, value_parser = counts, value_name = "LIST")]
    buffers: Option<Values>,
    /// Sizes of a receive buffer to try; none to leave them alone [default: 1KiB,4KiB,16KiB on uring]
    #[arg(long, value_parser = sizes, value_name = "LIST")]
    buffer_size: Option<Values>,
    /// Times to let a wait gather completions; none to leave them alone [default: 0,20us,50us on uring]
    #[arg(long, value_parser = times, value_name = "LIST")]
    min_wait: Option<Values>,
    /// How often every setting is run, in another order each time
    #[arg(long, default_value_t = 5, value_name = "N")]
    rounds: u32,
    /// How long each run is measured
    #[arg(short, long, default_value = "2s", value_parser = value::time, value_name = "TIME")]
    duration: Duration,
    /// Warm-up before each
    #[arg(long, default_value = "500ms", value_parser = value::time, value_name = "TIME")]
    warmup: Duration,
    #[command(flatten)]
    sides: SideCores,
    /// What is asked of the server, but on floor
    #[arg(long, default_value = "/health", value_name = "PATH")]
    path: String,
    /// Requests each connection keeps under way
    #[arg(long, default_value_t = 1, value_name = "N")]
    pipeline: u32,
    #[command(flatten)]
    document: DocumentArgs,
}

/// Values of one option, in its own unit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Values(Vec<u64>);

fn values(list: &str, parse: impl Fn(&str) -> Result<u64, String>) -> Result<Values, String> {
    match list.trim() {
        "none" => Ok(Values::default()),
        list => list.split(',').map(|item| parse(item.trim())).collect::<Result<_, _>>().map(Values),
    }
}

fn counts(list: &str) -> Result<Values, String> {
    values(list, |item| loader::value::count(item).map_err(|error| error.to_string()))
}

fn sizes(list: &str) -> Result<Values, String> {
    values(list, |item| value::size_bytes(item).map(|bytes| bytes as u64))
}

fn times(list: &str) -> Result<Values, String> {
    values(list, value::time_ns)
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let plan = plan(args)?;
    let output = args.document.open(Sweep::file_name)?;
    let stop = document::stop_flag()?;
    let bar = args.document.bar(plan.runs().into());
    let mut result = sweep::run(&plan, &stop, &mut |step| show(&bar, &step))?;
    bar.finish_and_clear();
    result.sweep.environment.tuning = tune::recorded();
    let made = Made {
        document: &result.sweep,
        text: text(&result.sweep),
        codes: result.sweep.exit_codes(0),
        end: result.end,
        code_of: SweepError::exit_code,
    };
    Ok(made.put(output))
}

fn plan(args: &Args) -> Result<SweepPlan, Failure> {
    let mut rig = Rig::new(document::own_exe()?, vec![target(&args.wire, &args.path)], args.sides.split()?);
    rig.duration = args.duration;
    rig.warmup = args.warmup;
    rig.server_engine = Some(args.engine.name().to_owned());
    rig.loader_engine = Some(args.engine.name().to_owned());
    rig.census = Some(census());
    if args.pipeline != 1 {
        rig.loader_args.extend(["--pipeline".to_owned(), args.pipeline.to_string()]);
    }
    let mut plan = SweepPlan::new(rig, env!("ZAPRING_VERSION"));
    plan.command = document::command();
    plan.connections = args.connections;
    plan.side = match args.side {
        Swept::Server => Side::Server,
        Swept::Loader => Side::Loader,
        Swept::Both => Side::Both,
    };
    plan.factors = factors(args)?;
    plan.rounds = args.rounds;
    plan.check()?;
    Ok(plan)
}

/// The factors with values to try. The base is the engine's default; what an engine cannot do is left alone unless it was asked for,
/// and refused before anything starts if it was.
fn factors(args: &Args) -> Result<Vec<Factor>, Failure> {
    let base = EngineOptions::default();
    let on_uring = |given: &Option<Values>, default: [u64; 3]| match given {
        Some(values) => values.0.clone(),
        None if args.engine == Engine::Uring => default.to_vec(),
        None => Vec::new(),
    };
    let buffers = on_uring(&args.buffers, [64, 256, 1024]);
    let buffer_size = on_uring(&args.buffer_size, [1024, 4096, 16_384]);
    let min_wait = on_uring(&args.min_wait, [0, 20_000, 50_000]);
    let count = |count: u64| count.to_string();
    let factors = [
        factor(args, "ring-entries", base.sq_entries.into(), &args.ring_entries.0, count)?,
        factor(args, "buffers", base.buffers.into(), &buffers, count)?,
        factor(args, "buffer-size", base.buffer_bytes.into(), &buffer_size, size_text)?,
        factor(args, "min-wait", base.min_wait_ns, &min_wait, time_text)?,
    ];
    Ok(factors.into_iter().filter(|factor| !factor.values.is_empty()).collect())
}

fn factor(args: &Args, name: &str, base: u64, values: &[u64], text: fn(u64) -> String) -> Result<Factor, Failure> {
    for value in values {
        options_with(name, *value).check(args.engine)?;
    }
    let values = values.iter().copied().map(text).collect();
    Ok(Factor { name: name.to_owned(), base: text(base), values })
}

/// The engine's defaults with one of them changed. A number too large for its option is refused like the largest that it can hold.
fn options_with(name: &str, value: u64) -> EngineOptions {
    let mut options = EngineOptions::default();
    let number = u32::try_from(value).unwrap_or(u32::MAX);
    match name {
        "ring-entries" => {
            options.sq_entries = number;
            options.cq_entries = options.cq_entries.max(number);
        }
        "buffers" => options.buffers = u16::try_from(value).unwrap_or(u16::MAX),
        "buffer-size" => options.buffer_bytes = number,
        _ => options.min_wait_ns = value,
    }
    options
}

fn size_text(bytes: u64) -> String {
    if bytes > 0 && bytes.is_multiple_of(1024) { format!("{}KiB", bytes / 1024) } else { bytes.to_string() }
}

/// As the command line takes it: its least unit is the microsecond, of which it takes fractions.
fn time_text(ns: u64) -> String {
    format!("{}us", ns as f64 / 1e3)
}

fn show(bar: &ProgressBar, step: &Step<'_>) {
    match step {
        Step::Begin { round, setting, .. } => bar.set_message(format!("round {}, {setting}", round + 1)),
        Step::Done { .. } => bar.inc(1),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    fn factors_of(flags: &str) -> Result<Vec<String>, Failure> {
        let words = std::iter::once("test").chain(flags.split_ascii_whitespace());
        let factors = factors(&Cli::try_parse_from(words).expect("flags").args)?;
        Ok(factors.iter().map(|f| format!("{} {}: {}", f.name, f.base, f.values.join(","))).collect())
    }

    #[test]
    fn defaults_are_what_the_engine_can_do() {
        let all = [
            "ring-entries 1024: 64,256,1024,4096",
            "buffers 1024: 64,256,1024",
            "buffer-size 4KiB: 1KiB,4KiB,16KiB",
            "min-wait 0us: 0us,20us,50us",
        ];
        assert_eq!(factors_of("").expect("defaults"), all);
        assert_eq!(factors_of("--engine monoio").expect("defaults"), all[..1]);
        assert!(factors_of("--engine epoll --ring-entries none").expect("nothing").is_empty());
    }

    #[test]
    fn lists_are_read_in_every_unit_and_none_is_nothing() {
        let flags = "--ring-entries none --buffers 2k --buffer-size 512,8KiB --min-wait none";
        let error = factors_of(flags).expect_err("2000 is no power of two").to_string();
        assert!(error.contains("--buffers 2000"), "{error}");
        let flags = "--ring-entries none --buffers none --buffer-size 512,8KiB --min-wait 1.5us";
        assert_eq!(factors_of(flags).expect("in range"), ["buffer-size 4KiB: 512,8KiB", "min-wait 0us: 1.5us"]);
    }

    #[test]
    fn what_the_engine_cannot_do_is_refused_before_anything_starts() {
        for (flags, words) in [
            ("--engine monoio --buffers 64", "--buffers is for --engine uring"),
            ("--engine epoll", "it has no ring"),
            ("--ring-entries 4", "--ring-entries 4: it must be from 8"),
            ("--buffer-size 8GiB", "--buffer-size"),
        ] {
            let error = factors_of(flags).expect_err(words).to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
