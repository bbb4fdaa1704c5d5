//! What every command that makes a document of several runs does around it: where it goes, the progress bar, and the end.

use std::{
    fmt::Display,
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use harness::End;
use indicatif::{ProgressBar, ProgressStyle};
use results::{
    Document, Ending, ExitCode, Output,
    report::{self, NamedDocument},
};
use serde::Serialize;

use crate::{failure::Failure, load, signals};

/// Where documents go that nobody gave a place.
const RUNS: &str = "results/runs";

/// Flags of where the document goes and what is shown meanwhile.
#[derive(Debug, clap::Args)]
pub(crate) struct DocumentArgs {
    /// Where the result goes; - for standard output, the table then goes to standard error [default: a new file in
    /// results/runs]
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// Also write one page with charts that needs nothing else; - for standard output
    #[arg(long, value_name = "PATH")]
    html: Option<PathBuf>,
    /// No progress bar
    #[arg(long)]
    quiet: bool,
}

/// Where the document goes, and its page.
pub(crate) struct Outputs {
    document: Output,
    page: Option<Output>,
}

/// Writes the page of one document; the exit code of a failure, which is told.
pub(crate) fn write_page(page: Output, name: &str, document: impl Into<Document>) -> Option<ExitCode> {
    let named = NamedDocument { name: name.to_owned(), document: document.into() };
    let error = page.write_text(&report::html::text(&[named])).err()?;
    eprintln!("zapring: {error}");
    Some(error.exit_code())
}

impl DocumentArgs {
    /// Opens the places of the result and of its page before anything runs.
    pub(crate) fn open(&self, file_name: fn(u64) -> String) -> Result<Outputs, Failure> {
        let (document, page) = (self.open_document(file_name)?, self.html.as_deref().map(Output::open).transpose()?);
        if document.is_stdout() && page.as_ref().is_some_and(Output::is_stdout) {
            return Err(Failure::Usage("only one of --out and --html can go to standard output".to_owned()));
        }
        Ok(Outputs { document, page })
    }

    /// Opens the place of a second document that goes beside the first: `path` where it is given, else the first one's name with `suffix`
    /// before its extension.
    pub(crate) fn open_beside(
        &self,
        path: Option<&Path>,
        suffix: &str,
        file_name: fn(u64) -> String,
    ) -> Result<Output, Failure> {
        let beside = match (path, &self.out) {
            (Some(path), _) => path.to_owned(),
            (None, Some(out)) if out.as_os_str() == "-" => {
                return Err(Failure::Usage("with --out - the other file needs a name: give --against-out".to_owned()));
            }
            (None, Some(out)) => with_suffix(out, suffix),
            (None, None) => return Self::open_run(|now_ns| with_suffix(Path::new(&file_name(now_ns)), suffix)),
        };
        Ok(Output::open(&beside)?)
    }

    fn open_document(&self, file_name: fn(u64) -> String) -> Result<Output, Failure> {
        match &self.out {
            Some(path) => Ok(Output::open(path)?),
            None => Self::open_run(|now_ns| PathBuf::from(file_name(now_ns))),
        }
    }

    /// The folder of runs is made where it is missing; any other must be there.
    fn open_run(file_name: impl Fn(u64) -> PathBuf) -> Result<Output, Failure> {
        fs::create_dir_all(RUNS)
            .map_err(|source| Failure::System { what: "making the folder results/runs", source })?;
        let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
        Ok(Output::open(&Path::new(RUNS).join(file_name(now_ns)))?)
    }

    /// A bar of so many runs, on a terminal only.
    pub(crate) fn bar(&self, runs: u64) -> ProgressBar {
        bar(self.quiet, runs)
    }
}

/// A bar of so many steps, on a terminal only. It is drawn once a step, by the thread that waits: nothing is drawn while something is
/// measured.
pub(crate) fn bar(quiet: bool, steps: u64) -> ProgressBar {
    if quiet || !io::IsTerminal::is_terminal(&io::stderr()) {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}").expect("a template without mistakes");
    ProgressBar::new(steps).with_style(style)
}

/// Says how a command ended that gathered these exit codes, and the one that it ends with.
pub(crate) fn ended(codes: &[ExitCode]) -> ExitCode {
    let ending = Ending::of(codes);
    if let Some(line) = ending.text() {
        eprintln!("zapring: {line}");
    }
    ending.code
}

/// `x.json` with `-old` is `x-old.json`.
fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(suffix);
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// A flag that the first SIGINT or SIGTERM raises.
pub(crate) fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&stop);
    signals::on_first(move || raised.store(true, Ordering::Relaxed))
        .map_err(|source| Failure::System { what: "installing signal handlers", source })?;
    Ok(stop)
}

/// What was typed, for the record.
pub(crate) fn command() -> Vec<String> {
    std::iter::once("zapring".to_owned()).chain(std::env::args().skip(1)).collect()
}

/// This program's own file, to start it again with another command.
pub(crate) fn own_exe() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|source| Failure::System { what: "finding this program's own file", source })
}

/// A document with everything that is to be said about it.
pub(crate) struct Made<'a, T, E> {
    pub(crate) document: &'a T,
    pub(crate) text: String,
    /// Exit codes that the document calls for.
    pub(crate) codes: Vec<ExitCode>,
    pub(crate) end: End<E>,
    /// The exit code of a failure.
    pub(crate) code_of: fn(&E) -> ExitCode,
}

impl<T: Serialize + Clone + Into<Document>, E: Display> Made<'_, T, E> {
    /// Prints, writes, and says how it ended.
    pub(crate) fn put(mut self, outputs: Outputs) -> ExitCode {
        let Outputs { document: output, page } = outputs;
        let name = output.name().to_owned();
        let to_stderr = output.is_stdout() || page.as_ref().is_some_and(Output::is_stdout);
        load::print(&self.text, to_stderr);
        if let Some(page) = page {
            self.codes.extend(write_page(page, &name, self.document.clone()));
        }
        match output.write(self.document) {
            Ok(()) if to_stderr => {}
            Ok(()) => println!("written to {name}"),
            Err(error) => {
                eprintln!("zapring: {error}");
                self.codes.push(error.exit_code());
            }
        }
        match &self.end {
            End::Complete => {}
            End::Interrupted => self.codes.push(ExitCode::Interrupted),
            End::Failed(error) => {
                eprintln!("zapring: {error}");
                // The document is a part for this reason, and not because somebody stopped it.
                self.codes.retain(|code| *code != ExitCode::Interrupted);
                self.codes.push((self.code_of)(error));
            }
        }
        ended(&self.codes)
    }
}
