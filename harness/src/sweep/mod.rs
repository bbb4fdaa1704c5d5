//! The sweep: the same load on settings that differ in one factor, each run with a server process of its own, in interleaved rounds.

pub mod error;
pub mod plan;

use std::sync::atomic::{AtomicBool, Ordering};

use results::Sweep;
use results::sweep::{Point, Setting};

pub use error::SweepError;
pub use plan::{Factor, SweepPlan};

use crate::environment;
use crate::moment::Moment;
use crate::order;
use crate::rig::{End, LoadEnd, Measured, RigError, Server};

/// What the sweep is doing, for whoever shows it.
#[derive(Debug)]
pub enum Step<'a> {
    /// A run begins.
    Begin {
        /// Runs before it.
        index: usize,
        /// Runs in all.
        total: usize,
        /// Its round, from 0.
        round: u32,
        /// What is tried, as in `buffers 64`.
        setting: &'a str,
    },
    /// A run is done.
    Done {
        /// Its figures.
        point: &'a Point,
    },
}

/// How a sweep ended.
pub type SweepEnd = End<SweepError>;

/// A sweep and how it ended.
#[derive(Debug)]
pub struct SweepResult {
    /// The document, complete or not.
    pub sweep: Sweep,
    /// Whether it is.
    pub end: SweepEnd,
}

/// Makes the sweep. Raising `stop` ends it within a few seconds. No process is left when this returns. Children die with the calling
/// *thread*: call it from one that lives as long as the sweep.
///
/// # Errors
/// [`SweepError`] when the plan is wrong or the very first run fails, so that there is no result at all. A later failure is in
/// [`SweepResult::end`].
pub fn run(plan: &SweepPlan, stop: &AtomicBool, progress: &mut dyn FnMut(Step<'_>)) -> Result<SweepResult, SweepError> {
    plan.check()?;
    let mut sweep = document(plan);
    let end = match rounds(plan, stop, progress, &mut sweep) {
        Ok(true) => SweepEnd::Complete,
        Ok(false) => SweepEnd::Interrupted,
        Err(error) if sweep.settings.iter().all(|setting| setting.points.is_empty()) => return Err(error),
        Err(error) => SweepEnd::Failed(error),
    };
    sweep.interrupted = !matches!(end, SweepEnd::Complete);
    sweep.conclude();
    Ok(SweepResult { sweep, end })
}

/// Makes every round of the plan; `false` when stopped.
fn rounds(
    plan: &SweepPlan,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Step<'_>),
    sweep: &mut Sweep,
) -> Result<bool, SweepError> {
    let count = sweep.settings.len();
    let total = count * plan.rounds as usize;
    let mut index = 0;
    for round in 0..plan.rounds {
        for turn in order::of_round(count, round) {
            let name = plan::name(&sweep.settings[turn]);
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            progress(Step::Begin { index, total, round, setting: &name });
            match one_run(plan, &sweep.settings[turn], stop) {
                Ok(Some(measured)) => {
                    let point = Point::of(round, &measured.run);
                    progress(Step::Done { point: &point });
                    sweep.settings[turn].points.push(point);
                    sweep.absorb_doubts(&name, &measured.run);
                }
                Ok(None) => return Ok(false),
                Err(source) => return Err(SweepError::Setting { setting: name, source: Box::new(source) }),
            }
            index += 1;
        }
    }
    Ok(true)
}

/// A server started, driven once, and ended; `None` when stopped.
fn one_run(plan: &SweepPlan, setting: &Setting, stop: &AtomicBool) -> Result<Option<Measured>, RigError> {
    let rig = plan.rig_with(&setting.args);
    let Some(mut server) = Server::start(&rig, stop)? else { return Ok(None) };
    let end = rig.drive(&mut server, plan.target(), plan.connections, stop);
    server.stop();
    match end? {
        LoadEnd::Done(measured) => Ok(Some(measured)),
        LoadEnd::Stopped => Ok(None),
    }
}

fn document(plan: &SweepPlan) -> Sweep {
    let Moment { run_id, started_at } = Moment::now();
    let rig = &plan.rig;
    let ns = |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let engine = |name: &Option<String>| name.clone().unwrap_or_else(|| "default".to_owned());
    Sweep {
        run_id,
        started_at,
        command: plan.command.clone(),
        side: plan.side,
        wire: plan.target().wire.clone(),
        connections: plan.connections,
        server_engine: engine(&rig.server_engine),
        loader_engine: engine(&rig.loader_engine),
        placement: rig.cores.placement,
        server_cores: rig.cores.server.as_slice().to_vec(),
        loader_cores: rig.cores.loader.as_slice().to_vec(),
        rounds: plan.rounds,
        duration_ns: ns(rig.duration),
        warmup_ns: ns(rig.warmup),
        environment: environment::collect(&plan.host, &plan.zapring_version),
        settings: plan.settings(),
        validity: rig.cores.doubts(),
        ..Sweep::default()
    }
}
