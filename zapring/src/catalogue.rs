//! `zapring catalogue`: the list of published result files in a README, written, or compared with what is there.

use std::{fs, path::PathBuf};

use results::{
    Document, ExitCode, Output,
    report::{NamedDocument, catalogue},
};

use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The text that has the list
    readme: PathBuf,
    /// The published files
    files: Vec<PathBuf>,
    /// Write nothing; exit code 11 when the list is not the one of these files
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let readme = args.readme.display().to_string();
    let text = fs::read_to_string(&args.readme).map_err(|source| Failure::Readme { path: readme.clone(), source })?;
    let folder = args.readme.parent().unwrap_or(&args.readme);
    let mut documents = Vec::new();
    for path in &args.files {
        // As seen from the README, so that it is the same wherever this runs.
        let name = path.strip_prefix(folder).unwrap_or(path).display().to_string();
        documents.push(NamedDocument { name, document: Document::read(path)? });
    }
    let new = catalogue::put(&text, &documents).map_err(|error| Failure::Usage(format!("{readme}: {error}")))?;
    if !args.check {
        Output::open(&args.readme)?.write_text(&new)?;
    } else if new != text {
        let files: Vec<String> = args.files.iter().map(|path| path.display().to_string()).collect();
        eprintln!(
            "zapring: the list in {readme} is not that of the files; write it with: zapring catalogue {readme} {}",
            files.join(" ")
        );
        return Ok(ExitCode::NotTrusted);
    }
    Ok(ExitCode::Ok)
}
