//! The comparison: servers of several makes under our loader, loaders of several makes against one server, everybody on the same cores
//! and in the same minutes.

mod body;
pub mod error;
mod loader;
pub mod peers;
pub mod plan;
mod reading;
mod server;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use results::Versus;
use results::versus::{Contender, Point};

pub use error::VersusError;
pub use peers::{Peers, PeersError};
pub use plan::{Count, Fetch, VersusPlan};

use crate::environment;
use crate::moment::Moment;
use crate::order;
use crate::rig::End;
use crate::versus::error::PeerError;
use crate::versus::plan::{Entry, Field};
use crate::versus::server::Running;

/// What the comparison is doing, for whoever shows it.
#[derive(Debug)]
pub enum Step<'a> {
    /// How many runs there will be.
    Planned {
        /// Runs in all.
        runs: usize,
    },
    /// A run begins.
    Begin {
        /// Its round, from 0.
        round: u32,
        /// Who is run.
        name: &'a str,
    },
    /// A run is done, or is not made any more.
    Done,
}

/// How a comparison ended.
pub type VersusEnd = End<VersusError>;

/// A comparison and how it ended.
#[derive(Debug)]
pub struct VersusResult {
    /// The document, complete or not.
    pub versus: Versus,
    /// Whether it is.
    pub end: VersusEnd,
}

/// Makes the comparison. Raising `stop` ends it within a few seconds. No process is left when this returns. Children die with the calling
/// *thread*: call it from one that lives as long as the comparison. A peer that fails ends alone, and the document says why.
///
/// # Errors
/// [`VersusError`] when the plan is wrong or nobody is there.
pub fn run(
    plan: &VersusPlan,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Step<'_>),
) -> Result<VersusResult, VersusError> {
    let Field { servers, loaders, absent } = plan.field()?;
    let folder = tempfile::tempdir().map_err(|source| VersusError::Folder { source })?;
    let mut versus = Versus { absent, ..document(plan) };
    let peers: Vec<usize> = servers.iter().chain(&loaders).map(|entry| entry.peer).collect();
    let rows = |entries: Vec<Entry>| entries.into_iter().map(|entry| entry.row).collect::<Vec<_>>();
    (versus.servers, versus.loaders) = (rows(servers), rows(loaders));
    progress(Step::Planned { runs: peers.len() * plan.rounds as usize });

    let complete = rounds(plan, &peers, folder.path(), &mut versus, stop, progress);
    versus.interrupted = !complete;
    versus.conclude();
    Ok(VersusResult { versus, end: if complete { VersusEnd::Complete } else { VersusEnd::Interrupted } })
}

/// Makes every round; `false` when stopped.
fn rounds(
    plan: &VersusPlan,
    peers: &[usize],
    folder: &Path,
    versus: &mut Versus,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Step<'_>),
) -> bool {
    let servers = versus.servers.len();
    for round in 0..plan.rounds {
        for turn in order::of_round(peers.len(), round) {
            if stop.load(Ordering::Relaxed) {
                return false;
            }
            let is_server = turn < servers;
            let row = if is_server { &mut versus.servers[turn] } else { &mut versus.loaders[turn - servers] };
            let name = row.name.clone();
            progress(Step::Begin { round, name: &name });
            if row.problem.is_none() {
                let made = if is_server {
                    one_server(plan, peers[turn], row, folder, round, stop)
                } else {
                    one_loader(plan, peers[turn], folder, round, stop).map(|point| point.map(|point| (point, None)))
                };
                match made {
                    Ok(None) => return false,
                    Ok(Some((point, run))) => {
                        row.points.push(point);
                        if let Some(run) = run {
                            versus.absorb_doubts(&name, &run);
                        }
                    }
                    // Stopped in the middle of what then failed.
                    Err(_) if stop.load(Ordering::Relaxed) => return false,
                    Err(error) => row.problem = Some(plan.without_paths(&error.to_string(), folder)),
                }
            }
            progress(Step::Done);
        }
    }
    true
}

type Made = (Point, Option<Box<results::Run>>);

/// A server started, asked for a right answer, driven, and ended; `None` when stopped.
fn one_server(
    plan: &VersusPlan,
    peer: usize,
    row: &mut Contender,
    folder: &Path,
    round: u32,
    stop: &AtomicBool,
) -> Result<Option<Made>, PeerError> {
    let peer = &plan.peers.servers[peer];
    let Some(mut server) = Running::start(plan, peer, folder, stop)? else { return Ok(None) };
    let made = server.ask(plan, peer, stop).and_then(|reply_bytes| {
        let Some(reply_bytes) = reply_bytes else { return Ok(None) };
        row.reply_bytes = Some(reply_bytes);
        server.drive(plan, &peer.wire, stop)
    });
    server.stop();
    Ok(made?.map(|run| (Point::of_server(round, &run), Some(Box::new(run)))))
}

/// A loader run once against a server of its own; `None` when stopped.
fn one_loader(
    plan: &VersusPlan,
    peer: usize,
    folder: &Path,
    round: u32,
    stop: &AtomicBool,
) -> Result<Option<Point>, PeerError> {
    let peer = &plan.peers.loaders[peer];
    let driven = plan.driven(&peer.wire).ok_or_else(|| PeerError::NoServer { reason: "it is gone".to_owned() })?;
    let started = Running::start(plan, driven, folder, stop);
    let started = started.map_err(|error| PeerError::NoServer { reason: format!("{}: {error}", driven.name) })?;
    let Some(mut server) = started else { return Ok(None) };
    let made = loader::run(plan, peer, &mut server, round, stop);
    server.stop();
    made
}

fn document(plan: &VersusPlan) -> Versus {
    let Moment { run_id, started_at } = Moment::now();
    let ns = |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    Versus {
        run_id,
        started_at,
        command: plan.command.clone(),
        connections: plan.connections,
        rate_per_s: plan.rate_per_s,
        server_cores: plan.cores.server.as_slice().to_vec(),
        loader_cores: plan.cores.loader.as_slice().to_vec(),
        rounds: plan.rounds,
        duration_ns: ns(plan.duration),
        warmup_ns: ns(plan.warmup),
        environment: environment::collect(&plan.host, &plan.zapring_version),
        validity: plan.cores.doubts(),
        ..Versus::default()
    }
}
