//! The bench: one server process, and a load process for every wire and level, interleaved, into one document.
//!
//! The programs are the same executable; what passes between them and us is command lines, a few lines of text, and run files.

pub mod error;
mod load;
pub mod plan;
mod serve;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use results::{Bench, BenchRow, Run, Validity, ValidityCode, timestamp};

pub use error::BenchError;
pub use plan::BenchPlan;

use crate::environment;
use crate::limits::STOP_GRACE;
use load::LoadEnd;
use serve::Server;

/// What the bench is doing, for whoever shows it.
#[derive(Debug)]
pub enum Step<'a> {
    /// The server is being started.
    Starting,
    /// The server is ready.
    Serving {
        /// Its process id.
        pid: u32,
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
#[derive(Debug)]
pub enum BenchEnd {
    /// All runs were made.
    Complete,
    /// The stop flag was raised: the document holds the runs made before.
    Interrupted,
    /// A run failed: the document holds the runs made before.
    Failed(BenchError),
}

/// A bench and how it ended.
#[derive(Debug)]
pub struct BenchResult {
    /// The document, complete or not.
    pub bench: Bench,
    /// Whether it is.
    pub end: BenchEnd,
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
    let Some(mut server) = Server::start(plan, stop)? else {
        return Ok(conclude(plan, bench, BenchEnd::Interrupted));
    };
    progress(Step::Serving { pid: server.pid() });
    let end = match drive(plan, &mut server, stop, progress, &mut bench.rows) {
        Ok(true) => BenchEnd::Complete,
        Ok(false) => BenchEnd::Interrupted,
        Err(error) => BenchEnd::Failed(error),
    };
    // Its status is not looked at: a server that died before is an error already, and one that had to be killed has served.
    let _ = server.child.stop(STOP_GRACE);
    Ok(conclude(plan, bench, end))
}

/// Makes every run of the plan; `false` when stopped.
fn drive(
    plan: &BenchPlan,
    server: &mut Server,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Step<'_>),
    rows: &mut Vec<BenchRow>,
) -> Result<bool, BenchError> {
    let total = plan.runs().count();
    for (index, (connections, wire)) in plan.runs().enumerate() {
        if stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        progress(Step::Begin { index, total, wire, connections });
        match load::run(plan, server, wire, connections, stop)? {
            LoadEnd::Stopped => return Ok(false),
            LoadEnd::Done(run) => {
                progress(Step::Done { run: &run });
                rows.push(BenchRow { wire: wire.to_owned(), connections, run: *run });
            }
        }
    }
    Ok(true)
}

fn document(plan: &BenchPlan) -> Bench {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let unix_ns = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
    let mut validity = vec![Validity::note(ValidityCode::Loopback, "server and loader ran on one host")];
    if plan.split.shared {
        let detail = format!("there is only core {}: server and loader take turns on it", plan.split.server);
        validity.push(Validity::note(ValidityCode::SharedCores, detail));
    }
    Bench {
        run_id: timestamp::run_id(unix_ns, std::process::id()),
        started_at: timestamp::rfc3339(unix_ns),
        command: plan.command.clone(),
        server_command: plan.serve_command().words(),
        server_cores: plan.split.server.as_slice().to_vec(),
        loader_cores: plan.split.loader.as_slice().to_vec(),
        environment: environment::collect(&plan.host, &plan.zapring_version),
        validity,
        ..Bench::default()
    }
}

fn conclude(plan: &BenchPlan, mut bench: Bench, end: BenchEnd) -> BenchResult {
    bench.interrupted = !matches!(end, BenchEnd::Complete);
    if let [base, .., wire] = plan.wires.as_slice() {
        bench.compare_wires(wire, base);
    }
    BenchResult { bench, end }
}
