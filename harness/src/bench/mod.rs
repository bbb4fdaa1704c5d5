//! The bench: one server process, and a load process for every wire and level, interleaved, into one document.

pub mod error;
pub mod plan;
pub mod turns;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use results::{Bench, BenchRow, Run};

pub use error::BenchError;
pub use plan::BenchPlan;
pub use turns::{Turns, in_turns};

use crate::environment;
use crate::instructions::InstructionsError;
use crate::moment::Moment;
use crate::rig::{End, LoadEnd, Measured, Server, Target};

/// What the bench is doing, for whoever shows it.
#[derive(Debug)]
pub enum Step<'a> {
    /// The server is being started.
    Starting,
    /// The server is ready.
    Serving {
        /// Its process id, where it is on this host.
        pid: Option<u32>,
    },
    /// A run begins.
    Begin {
        /// Runs before it.
        index: usize,
        /// Runs in all.
        total: usize,
        /// Its wire.
        wire: &'a str,
        /// Its connections.
        connections: u32,
    },
    /// A run is done.
    Done {
        /// Its result.
        run: &'a Run,
    },
}

/// How a bench ended.
pub type BenchEnd = End<BenchError>;

/// A bench and how it ended.
#[derive(Debug)]
pub struct BenchResult {
    /// The document, complete or not.
    pub bench: Bench,
    /// Whether it is.
    pub end: BenchEnd,
    /// Why the server's instructions are not in some of its rows, where they were to be counted.
    pub uncounted: Option<InstructionsError>,
}

/// Makes the bench. Raising `stop` ends it within a few seconds. No process is left when this returns. Children die with the calling
/// *thread*: call it from one that lives as long as the bench.
///
/// # Errors
/// [`BenchError`] when the server does not come up, so that there is no result at all. A later failure is in [`BenchResult::end`].
pub fn run(plan: &BenchPlan, stop: &AtomicBool, progress: &mut dyn FnMut(Step<'_>)) -> Result<BenchResult, BenchError> {
    plan.check()?;
    let mut bench = document(plan);
    progress(Step::Starting);
    let Some(mut server) = Server::start(&plan.rig, stop)? else {
        let bench = conclude(plan, bench, false);
        return Ok(BenchResult { bench, end: BenchEnd::Interrupted, uncounted: None });
    };
    progress(Step::Serving { pid: server.pid() });
    let mut uncounted = None;
    let end = match drive(plan, &mut server, stop, progress, &mut bench.rows, &mut uncounted) {
        Ok(true) => BenchEnd::Complete,
        Ok(false) => BenchEnd::Interrupted,
        Err(error) => BenchEnd::Failed(error),
    };
    server.stop();
    let bench = conclude(plan, bench, matches!(end, BenchEnd::Complete));
    Ok(BenchResult { bench, end, uncounted })
}

/// Makes every run of the plan; `false` when stopped.
fn drive(
    plan: &BenchPlan,
    server: &mut Server,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Step<'_>),
    rows: &mut Vec<BenchRow>,
    uncounted: &mut Option<InstructionsError>,
) -> Result<bool, BenchError> {
    let total = plan.runs().count();
    for (index, (connections, target)) in plan.runs().enumerate() {
        if stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        progress(Step::Begin { index, total, wire: &target.wire, connections });
        let Some((row, unread)) = one(plan, server, target, connections, stop, progress)? else { return Ok(false) };
        rows.push(row);
        *uncounted = uncounted.take().or(unread);
    }
    Ok(true)
}

/// One run, and why its instructions were not counted where they were to be; `None` when stopped.
fn one(
    plan: &BenchPlan,
    server: &mut Server,
    target: &Target,
    connections: u32,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Step<'_>),
) -> Result<Option<(BenchRow, Option<InstructionsError>)>, BenchError> {
    match plan.rig.drive(server, target, connections, stop)? {
        LoadEnd::Stopped => Ok(None),
        LoadEnd::Done(Measured { run, spread, counts, uncounted }) => {
            progress(Step::Done { run: &run });
            let row = BenchRow { wire: target.wire.clone(), connections, spread, counts, run: *run };
            Ok(Some((row, uncounted)))
        }
    }
}

fn document(plan: &BenchPlan) -> Bench {
    let Moment { run_id, started_at } = Moment::now();
    let cores = &plan.rig.cores;
    let ours = plan.rig.elsewhere.is_none();
    let watched = plan.rig.elsewhere.as_ref().is_none_or(|elsewhere| elsewhere.pid.is_some());
    Bench {
        run_id,
        started_at,
        command: plan.command.clone(),
        server_command: if ours { told(plan.rig.serve_command().words()) } else { Vec::new() },
        placement: cores.placement,
        server_cores: if watched { cores.server.as_slice().to_vec() } else { Vec::new() },
        loader_cores: cores.loader.as_slice().to_vec(),
        environment: environment::collect(&plan.host, &plan.zapring_version),
        validity: if ours { cores.doubts() } else { Vec::new() },
        ..Bench::default()
    }
}

/// A command line for a reader on another host: the program without the folder that it has on this one.
fn told(mut words: Vec<String>) -> Vec<String> {
    if let Some(program) = words.first_mut()
        && let Some(name) = Path::new(program.as_str()).file_name()
    {
        *program = name.to_string_lossy().into_owned();
    }
    words
}

fn conclude(plan: &BenchPlan, mut bench: Bench, complete: bool) -> Bench {
    bench.interrupted = !complete;
    if let [base, .., target] = plan.rig.targets.as_slice() {
        bench.compare_wires(&target.wire, &base.wire);
    }
    bench.validity.extend(bench.leak());
    bench
}
