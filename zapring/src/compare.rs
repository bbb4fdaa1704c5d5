//! `zapring compare`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use results::{
    Document, ExitCode, ReadError,
    compare::{Ask, Verdict, compare, runs},
    likeness::FACTS,
    limits::NOISE_THRESHOLD,
    report,
};

use crate::{failure::Failure, load, value};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Both sides take files of load and bench; in benches each wire and level is compared with its own. It takes 5 runs a side.
Exit codes: 0 same or improved, 20 regressed, 21 inconclusive, 22 not comparable, 51 a file was not read.")]
pub(crate) struct Args {
    /// Files of the base
    #[arg(required = true, value_name = "BASE")]
    base: Vec<PathBuf>,
    /// Files of what is compared with it
    #[arg(last = true, required = true, value_name = "NEW")]
    new: Vec<PathBuf>,
    /// Smaller differences are none [default: 5%]
    #[arg(long, value_parser = value::share, value_name = "PERCENT")]
    threshold: Option<f64>,
    /// What may differ, because it is what is compared, as in engine or kernel; repeatable
    #[arg(long, value_parser = PossibleValuesParser::new(FACTS.map(|(key, _)| key)), hide_possible_values = true, value_name = "KEY")]
    across: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let (base, new) = (read(&args.base)?, read(&args.new)?);
    let ask = Ask { threshold: args.threshold.unwrap_or(NOISE_THRESHOLD), across: args.across.clone() };
    let comparison = compare(&runs(&base), &runs(&new), &ask);
    load::print(&report::compare::text(&comparison), false);
    if comparison.verdict > Verdict::Improved {
        let code = comparison.verdict.exit_code();
        eprintln!("zapring: exit {}: {}", code.code(), code.name());
    }
    Ok(comparison.verdict.exit_code())
}

fn read(paths: &[PathBuf]) -> Result<Vec<Document>, Failure> {
    let one = |path: &PathBuf| {
        let input = path.display().to_string();
        let document = Document::read(path)?;
        let without_runs = match &document {
            Document::Run(_) | Document::Bench(_) => None,
            // They are comparisons themselves, and keep no runs.
            Document::Sweep(sweep) => Some(&sweep.schema),
            Document::Versus(versus) => Some(&versus.schema),
            // Each compares within itself what was interleaved.
            Document::Codec(axis) => Some(&axis.schema),
            Document::Canonical(suite) => Some(&suite.schema),
        };
        if let Some(found) = without_runs.cloned() {
            return Err(ReadError::WrongSchema { input, found, expected: "zapring.run or zapring.bench" }.into());
        }
        if let Some(note) = document.newer_minor(&input) {
            eprintln!("zapring: {note}");
        }
        Ok(document)
    };
    paths.iter().map(one).collect()
}
