//! `zapring schema`: the JSON Schema of a kind of result file.

use results::{ExitCode, schema::Kind};

use crate::{failure::Failure, load};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The schema is strict and describes what this version writes; the same is in results/schema/zapring.NAME.schema.json.")]
pub(crate) struct Args {
    /// run, bench, sweep, versus, codec, canonical or baseline
    #[arg(value_parser = kind, value_name = "NAME")]
    name: Kind,
}

fn kind(text: &str) -> Result<Kind, String> {
    let found = Kind::ALL.into_iter().find(|kind| kind.word() == text);
    found.ok_or_else(|| format!("there are {}", Kind::ALL.map(Kind::word).join(", ")))
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    load::print(&args.name.text(), false);
    Ok(ExitCode::Ok)
}
