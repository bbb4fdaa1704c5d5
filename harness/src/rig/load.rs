//! One load run against the server of a rig: started, watched together with the server, and its result read.

use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use results::{ExitCode, Placement, ReadError, Run, ServerCounts, Spread, ValidityCode};

use crate::child::{Child, describe};
use crate::instructions::{Instructions, InstructionsError};
use crate::limits::{MAX_STDOUT_BYTES, POLL, STOP_GRACE};
use crate::rig::census::{Counted, Found};
use crate::rig::error::{RigError, said};
use crate::rig::{Rig, Server, Target};

/// What errors call the result of a loader.
const LOADER_OUTPUT: &str = "the loader's output";

/// A finished run.
#[derive(Debug)]
pub(crate) struct Measured {
    /// What the loader wrote, completed by what only the rig knows.
    pub(crate) run: Box<Run>,
    /// Where its connections went, when somebody asked and was answered.
    pub(crate) spread: Option<Spread>,
    /// What the server counted of itself meanwhile.
    pub(crate) counts: Option<ServerCounts>,
    /// Why its instructions are not among them, where they were to be.
    pub(crate) uncounted: Option<InstructionsError>,
}

/// How a load run ended when it did not fail.
#[derive(Debug)]
pub(crate) enum LoadEnd {
    Done(Measured),
    Stopped,
}

impl Rig {
    /// Makes one run. A loader that reports failed requests has a result; one that says nothing does not.
    pub(crate) fn drive(
        &self,
        server: &mut Server,
        target: &Target,
        connections: u32,
        stop: &AtomicBool,
    ) -> Result<LoadEnd, RigError> {
        let census = self.census.as_ref().map(|census| (census, server.address(census.wire()).to_owned()));
        let before = census.as_ref().map(|(census, address)| census.ask(address));
        let instructions = self.count_instructions.then(|| match server.pid() {
            Some(pid) => Instructions::of(pid),
            None => Err(InstructionsError::Elsewhere),
        });
        let Some(mut run) = self.load(server, target, connections, stop)? else { return Ok(LoadEnd::Stopped) };
        let instructions = instructions.map(|begun| begun.and_then(|mut counters| counters.read())).transpose();
        self.place(&mut run);
        let counted =
            census.zip(before).map(|((census, address), before)| Counted { before, after: census.ask(&address) });
        let mut found = counted.map_or_else(Found::default, |counted| counted.judge(&self.cores, &run));
        run.validity.extend(found.doubts);
        let uncounted = match (instructions, &mut found.counts) {
            (Ok(instructions), Some(counts)) => {
                counts.instructions = instructions;
                None
            }
            (Ok(_), None) => None,
            (Err(error), _) => Some(error),
        };
        Ok(LoadEnd::Done(Measured { run: Box::new(run), spread: found.spread, counts: found.counts, uncounted }))
    }

    /// Only the rig knows that cores are shared on purpose: the loader sees that they overlap.
    fn place(&self, run: &mut Run) {
        run.config.placement = self.cores.placement;
        if self.cores.placement == Placement::Paired {
            run.validity.retain(|doubt| doubt.code != ValidityCode::SharedCores);
        }
    }

    /// The loader's own result; `None` when stopped.
    fn load(
        &self,
        server: &mut Server,
        target: &Target,
        connections: u32,
        stop: &AtomicBool,
    ) -> Result<Option<Run>, RigError> {
        let wire = target.wire.as_str();
        let loader = Child::start(&self.load_command(target, server.address(wire), connections, server.pid()))?;
        let given = self.warmup.saturating_add(self.duration).saturating_add(self.load_slack);
        finish(loader, server.child.as_mut(), given, (wire, connections), stop)
    }
}

/// Waits for a loader of ours, and looks after the server meanwhile where it is a child of ours as well; `None` when stopped.
pub(crate) fn finish(
    mut loader: Child,
    mut server: Option<&mut Child>,
    given: Duration,
    (wire, connections): (&str, u32),
    stop: &AtomicBool,
) -> Result<Option<Run>, RigError> {
    let deadline = Instant::now() + given;
    // Of a server that is not ours only the loader knows how it is.
    let mut alive = || server.as_mut().map_or(Ok(()), |server| server_alive(server, wire, connections));
    loop {
        // The loader first: a server that ends right after a finished run did not spoil it.
        if let Some(status) = loader.poll()? {
            alive()?;
            return finished(&loader, status, wire, connections).map(Some);
        }
        alive()?;
        if stop.load(Ordering::Relaxed) {
            loader.stop(STOP_GRACE)?;
            return Ok(None);
        }
        if Instant::now() >= deadline {
            return Err(hung(&mut loader, given, wire, connections)?);
        }
        std::thread::sleep(POLL);
    }
}

/// Whether the server still runs.
///
/// # Errors
/// [`RigError::ServerDied`].
pub(crate) fn server_alive(server: &mut Child, wire: &str, connections: u32) -> Result<(), RigError> {
    match server.poll()? {
        None => Ok(()),
        Some(status) => Err(RigError::ServerDied {
            wire: wire.to_owned(),
            connections,
            status: describe(status),
            stderr: said(&server.stderr_tail()),
        }),
    }
}

fn hung(loader: &mut Child, given: Duration, wire: &str, connections: u32) -> Result<RigError, RigError> {
    loader.stop(STOP_GRACE)?;
    let (wire, waited_s, stderr) = (wire.to_owned(), given.as_secs(), said(&loader.stderr_tail()));
    Ok(RigError::LoaderHung { wire, connections, waited_s, stderr })
}

fn finished(loader: &Child, status: ExitStatus, wire: &str, connections: u32) -> Result<Run, RigError> {
    let code = status.code().and_then(|code| u8::try_from(code).ok()).and_then(ExitCode::from_code);
    let has_result =
        matches!(code, Some(ExitCode::Ok | ExitCode::RequestsFailed | ExitCode::NotTrusted | ExitCode::LimitCrossed));
    let stderr = said(&loader.stderr_tail());
    if !has_result {
        let (status, code) = (describe(status), status.code());
        return Err(RigError::LoaderFailed { wire: wire.to_owned(), connections, status, code, stderr });
    }
    let output = loader
        .stdout()
        .ok_or_else(|| ReadError::TooLarge { input: LOADER_OUTPUT.to_owned(), limit_bytes: MAX_STDOUT_BYTES as u64 });
    output.and_then(|output| Run::parse(&output, LOADER_OUTPUT)).map_err(|source| RigError::LoaderOutput {
        wire: wire.to_owned(),
        connections,
        source,
        stderr,
    })
}
