//! The rounds of a gate: one server process for all of them, and in each the yardstick and a run on every wire.

pub mod error;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use results::baseline::{Baseline, GateConfig, GatePoint, Round};

pub use error::GateError;

use crate::core_list::CoreList;
use crate::cores::CoreLayout;
use crate::environment;
use crate::host::HostFiles;
use crate::instructions::InstructionsError;
use crate::moment::Moment;
use crate::order;
use crate::rig::{End, LoadEnd, Rig, Server, Target};
use crate::yardstick::yardstick_ns;

/// What a gate is asked to do.
#[derive(Debug, Clone)]
pub struct GatePlan {
    /// What was typed, for the record.
    pub command: Vec<String>,
    /// How rounds are made.
    pub config: GateConfig,
    /// What is started; its targets, cores, engines and times are those of `config`.
    pub rig: Rig,
    /// Most rounds.
    pub max_rounds: u32,
    /// How long the yardstick is measured in each.
    pub yardstick: Duration,
    /// Version for the record.
    pub zapring_version: String,
    /// Where facts about the host are read.
    pub host: HostFiles,
}

/// What the gate is doing, for whoever shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The round that begins, from 0.
    pub round: u32,
}

/// How a gate ended.
pub type GateEnd = End<GateError>;

/// What was measured and how it ended.
#[derive(Debug)]
pub struct GateResult {
    /// The rounds that were made.
    pub measured: Baseline,
    /// Whether they are all.
    pub end: GateEnd,
    /// Why the server's instructions are not in some of them, where they were to be counted.
    pub uncounted: Option<InstructionsError>,
}

/// The cores of a configuration.
///
/// # Errors
/// [`GateError::Plan`] when a list is empty or not one.
pub fn layout(config: &GateConfig) -> Result<CoreLayout, GateError> {
    let list = |side: &'static str, cores: &[u32]| {
        CoreList::new(cores.to_vec()).map_err(|error| GateError::Plan { reason: format!("{side} cores: {error}") })
    };
    Ok(CoreLayout::of(list("server", &config.server_cores)?, list("loader", &config.loader_cores)?))
}

/// Points a rig at what a configuration names.
pub fn configure(rig: &mut Rig, config: &GateConfig) {
    rig.targets =
        config.wires.iter().map(|wire| Target::new(wire, if wire == "floor" { "" } else { &config.path })).collect();
    rig.duration = Duration::from_nanos(config.duration_ns);
    rig.warmup = Duration::from_nanos(config.warmup_ns);
    rig.server_engine = Some(config.server_engine.clone());
    rig.loader_engine = Some(config.loader_engine.clone());
}

/// Makes rounds until `enough` says so of what there is, or the most are made. Raising `stop` ends it within a few seconds. No process is
/// left when this returns.
///
/// # Errors
/// [`GateError`] when the server does not come up. A later failure is in [`GateResult::end`].
pub fn run(
    plan: &GatePlan,
    stop: &AtomicBool,
    enough: &mut dyn FnMut(&Baseline) -> bool,
    progress: &mut dyn FnMut(Step),
) -> Result<GateResult, GateError> {
    if let Some(reason) = plan.rig.problem() {
        return Err(GateError::Plan { reason: reason.to_owned() });
    }
    let mut measured = document(plan);
    let Some(mut server) = Server::start(&plan.rig, stop)? else {
        return Ok(GateResult { measured, end: GateEnd::Interrupted, uncounted: None });
    };
    let (mut end, mut uncounted) = (GateEnd::Complete, None);
    for number in 0..plan.max_rounds {
        progress(Step { round: number });
        match round(plan, &mut server, number, &mut uncounted, stop) {
            Ok(Some(round)) => measured.rounds.push(round),
            Ok(None) => end = GateEnd::Interrupted,
            Err(error) => end = GateEnd::Failed(error),
        }
        if !matches!(end, GateEnd::Complete) || enough(&measured) {
            break;
        }
    }
    server.stop();
    Ok(GateResult { measured, end, uncounted })
}

/// One round, the wires in another order each time; `None` when stopped.
fn round(
    plan: &GatePlan,
    server: &mut Server,
    number: u32,
    uncounted: &mut Option<InstructionsError>,
    stop: &AtomicBool,
) -> Result<Option<Round>, GateError> {
    let cores = &plan.rig.cores;
    let (ours, theirs) = (cores.server.as_slice()[0], cores.loader.as_slice()[0]);
    let measure = || yardstick_ns(ours, theirs, plan.yardstick / 2).map_err(|source| GateError::Yardstick { source });
    // Before and after, so that what changes within the round is in it.
    let before_ns = measure()?;
    let mut points = Vec::with_capacity(plan.rig.targets.len());
    for turn in order::of_round(plan.rig.targets.len(), number) {
        let target = &plan.rig.targets[turn];
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        match plan.rig.drive(server, target, plan.config.connections, stop)? {
            LoadEnd::Stopped => return Ok(None),
            LoadEnd::Done(measured) => {
                points.push(GatePoint::of(&target.wire, &measured.run, measured.counts));
                *uncounted = uncounted.take().or(measured.uncounted);
            }
        }
    }
    Ok(Some(Round { yardstick_ns: before_ns.midpoint(measure()?), points }))
}

fn document(plan: &GatePlan) -> Baseline {
    let Moment { run_id, started_at } = Moment::now();
    Baseline {
        run_id,
        started_at,
        command: plan.command.clone(),
        config: plan.config.clone(),
        environment: environment::collect(&plan.host, &plan.zapring_version),
        ..Baseline::default()
    }
}
