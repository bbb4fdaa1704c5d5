//! `zapring report`: result files as text, Markdown, CSV, percentile files and pages.

use std::path::{Path, PathBuf};

use results::{
    Document, ExitCode, Output,
    report::{self, Detail, NamedDocument, hgrm},
};

use crate::{failure::Failure, load};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without an output the text goes to standard output. Everything is made from the files alone, so it can be made again.")]
pub(crate) struct Args {
    /// Result files of load, bench and sweep
    #[arg(required = true, value_name = "PATH")]
    files: Vec<PathBuf>,
    /// Only the runs of one wire and level, as in zap/64
    #[arg(long, value_name = "WIRE/CONNECTIONS")]
    only: Option<String>,
    /// Tables in Markdown; - for standard output, as for the others
    #[arg(long, value_name = "PATH")]
    markdown: Option<PathBuf>,
    /// One line per run
    #[arg(long, value_name = "PATH")]
    csv: Option<PathBuf>,
    /// The latency distribution as HdrHistogram's percentile text in milliseconds; several runs become one if they are alike
    #[arg(long, value_name = "PATH")]
    hgrm: Option<PathBuf>,
    /// One page with charts that needs nothing else
    #[arg(long, value_name = "PATH")]
    html: Option<PathBuf>,
    /// In text: more percentiles and the whole latency distribution
    #[arg(short = 'L', long)]
    latency: bool,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let on_stdout = args.outputs().filter(|path| path.as_os_str() == "-").count();
    if on_stdout > 1 {
        return Err(Failure::Usage("only one output can go to standard output".to_owned()));
    }
    let open = |path: &Option<PathBuf>| path.as_deref().map(Output::open).transpose();
    let (markdown, csv) = (open(&args.markdown)?, open(&args.csv)?);
    let (hgrm, html) = (open(&args.hgrm)?, open(&args.html)?);
    let documents = read(args)?;
    if args.outputs().next().is_none() {
        let detail = if args.latency { Detail::Full } else { Detail::Usual };
        load::print(&report::text(&documents, detail), false);
    }
    if let Some(output) = markdown {
        output.write_text(&report::markdown::text(&documents))?;
    }
    if let Some(output) = csv {
        output.write_text(&report::csv::text(&documents))?;
    }
    if let Some(output) = hgrm {
        output.write_text(&percentiles(&documents)?)?;
    }
    if let Some(output) = html {
        output.write_text(&report::html::text(&documents))?;
    }
    Ok(ExitCode::Ok)
}

impl Args {
    fn outputs(&self) -> impl Iterator<Item = &Path> {
        [&self.markdown, &self.csv, &self.hgrm, &self.html].into_iter().filter_map(|path| path.as_deref())
    }
}

fn read(args: &Args) -> Result<Vec<NamedDocument>, Failure> {
    let mut documents = Vec::new();
    for path in &args.files {
        let mut named = NamedDocument { name: path.display().to_string(), document: Document::read(path)? };
        if let Some(note) = named.document.newer_minor(&named.name) {
            eprintln!("zapring: {note}");
        }
        match &args.only {
            Some(level) if !named.keep(level) => {
                return Err(Failure::Usage(format!("{} has no run of {level}", named.name)));
            }
            _ => documents.push(named),
        }
    }
    Ok(documents)
}

/// One distribution: of one run, or of several that were configured alike.
fn percentiles(documents: &[NamedDocument]) -> Result<String, Failure> {
    let runs: Vec<_> = documents.iter().flat_map(NamedDocument::runs).collect();
    let Some(first) = runs.first() else {
        return Err(Failure::Usage("--hgrm: these files keep no latency distribution".to_owned()));
    };
    let level = report::rows::level_name(first);
    if let Some(other) = runs.iter().map(|run| report::rows::level_name(run)).find(|other| *other != level) {
        return Err(Failure::Usage(format!(
            "--hgrm holds one distribution, and there are runs of {level} and {other}: pick one with --only {level}"
        )));
    }
    Ok(hgrm::text(&hgrm::merged(runs).map_err(Failure::Histogram)?))
}
