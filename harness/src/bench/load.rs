//! One load run of a bench: started, watched together with the server, and its result read.

use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use results::{ExitCode, ReadError, Run};

use crate::bench::error::{BenchError, said};
use crate::bench::plan::BenchPlan;
use crate::bench::serve::Server;
use crate::child::{Child, describe};
use crate::limits::{MAX_STDOUT_BYTES, POLL, STOP_GRACE};

/// What errors call the result of a loader.
const LOADER_OUTPUT: &str = "the loader's output";

/// How a load run ended when it did not fail.
pub(crate) enum LoadEnd {
    Done(Box<Run>),
    Stopped,
}

/// Makes one run. A loader that reports failed requests has a result; one that says nothing does not.
pub(crate) fn run(
    plan: &BenchPlan,
    server: &mut Server,
    wire: &str,
    connections: u32,
    stop: &AtomicBool,
) -> Result<LoadEnd, BenchError> {
    let command = plan.load_command(server.address(wire), connections, server.pid());
    let mut loader = Child::start(&command)?;
    let given = plan.warmup.saturating_add(plan.duration).saturating_add(plan.load_slack);
    let deadline = Instant::now() + given;
    loop {
        // The loader first: a server that ends right after a finished run did not spoil it.
        if let Some(status) = loader.poll()? {
            server_alive(server, wire, connections)?;
            return finished(&loader, status, wire, connections).map(|run| LoadEnd::Done(Box::new(run)));
        }
        server_alive(server, wire, connections)?;
        if stop.load(Ordering::Relaxed) {
            loader.stop(STOP_GRACE)?;
            return Ok(LoadEnd::Stopped);
        }
        if Instant::now() >= deadline {
            return hung(&mut loader, given, wire, connections);
        }
        std::thread::sleep(POLL);
    }
}

fn server_alive(server: &mut Server, wire: &str, connections: u32) -> Result<(), BenchError> {
    match server.child.poll()? {
        None => Ok(()),
        Some(status) => Err(BenchError::ServerDied {
            wire: wire.to_owned(),
            connections,
            status: describe(status),
            stderr: said(&server.child.stderr_tail()),
        }),
    }
}

fn hung(loader: &mut Child, given: Duration, wire: &str, connections: u32) -> Result<LoadEnd, BenchError> {
    loader.stop(STOP_GRACE)?;
    Err(BenchError::LoaderHung {
        wire: wire.to_owned(),
        connections,
        waited_s: given.as_secs(),
        stderr: said(&loader.stderr_tail()),
    })
}

fn finished(loader: &Child, status: ExitStatus, wire: &str, connections: u32) -> Result<Run, BenchError> {
    let code = status.code().and_then(|code| u8::try_from(code).ok()).and_then(ExitCode::from_code);
    let has_result =
        matches!(code, Some(ExitCode::Ok | ExitCode::RequestsFailed | ExitCode::NotTrusted | ExitCode::LimitCrossed));
    let stderr = said(&loader.stderr_tail());
    if !has_result {
        let (status, code) = (describe(status), status.code());
        return Err(BenchError::LoaderFailed { wire: wire.to_owned(), connections, status, code, stderr });
    }
    let output = loader
        .stdout()
        .ok_or_else(|| ReadError::TooLarge { input: LOADER_OUTPUT.to_owned(), limit_bytes: MAX_STDOUT_BYTES as u64 });
    output.and_then(|output| Run::parse(&output, LOADER_OUTPUT)).map_err(|source| BenchError::LoaderOutput {
        wire: wire.to_owned(),
        connections,
        source,
        stderr,
    })
}
