//! One run from plan to result: resolve, connect all, start together, watch the measured part, drain, merge.
//!
//! The only file that starts threads, sleeps and asks for the time of day. Never prints.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use engine::{Address, Board, Fleet, Granted, LaunchError, Limits, RingError, ShardError};
use results::{ExitCode, Run};
use thiserror::Error;

use crate::{
    limits::{SHARD_MEMORY_BYTES, SPARE_DESCRIPTORS, START_LEAD_NS, WATCH_STEP_NS},
    phase::{ConnectFailure, Timeline},
    plan::{Length, LoadPlan, PlanError},
    ports::{Pairs, PortRange},
    report,
    request::RequestError,
    shard::LoadShard,
    shared::Shared,
    sources::SourcesError,
    target::{Place, TargetError, WireName},
    wire::{Floor, Http, Wire, Zap},
};

/// Why there is no result.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The plan contradicts itself.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The request cannot be written.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The host has no address.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// Sources that do not suit the target or this host.
    #[error(transparent)]
    Sources(#[from] SourcesError),
    /// More connections than the local ports allow.
    #[error("{connections} connections are too many: {arithmetic}")]
    TooFewPorts {
        /// Connections asked for.
        connections: u32,
        /// Why they do not fit.
        arithmetic: String,
    },
    /// More connections than this process may have descriptors.
    #[error(
        "{connections} connections need {needed} descriptors, this process may have {allowed}: raise the hard limit (`ulimit -Hn`, or LimitNOFILE= of the service)"
    )]
    TooFewDescriptors {
        /// Connections asked for.
        connections: u32,
        /// Descriptors needed.
        needed: u64,
        /// Descriptors allowed.
        allowed: u64,
    },
    /// The engine did not start.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// No connection could be made at all.
    #[error(
        "cannot connect to {place} ({address}): {message}; is the server running, and does it listen there? (`ss -ltn`, `ss -lx`)"
    )]
    NoConnection {
        /// Host and port, or path, as given.
        place: Place,
        /// The address that failed first.
        address: Address,
        /// The system's error number.
        errno: Option<i32>,
        /// The same in words.
        message: String,
    },
    /// Connections ran out of something that no retry brings back.
    #[error("only {open} of {connections} connections to {place} could be made: {message}")]
    OutOfResource {
        /// Connections made.
        open: usize,
        /// Connections asked for.
        connections: u32,
        /// Host and port, or path, as given.
        place: Place,
        /// The system's error number.
        errno: Option<i32>,
        /// The same in words, with the arithmetic of ports where they ran out.
        message: String,
    },
    /// A thread did not end well.
    #[error(transparent)]
    Shard(#[from] ShardError),
}

impl LoadError {
    /// The exit code of the catalogue.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            LoadError::Plan(_) | LoadError::Request(_) | LoadError::TooFewDescriptors { .. } => ExitCode::Usage,
            LoadError::Target(TargetError::Resolve { .. } | TargetError::NoneOfFamily { .. })
            | LoadError::Sources(SourcesError::Unusable(_)) => ExitCode::Address,
            LoadError::Target(_) | LoadError::Sources(_) => ExitCode::Usage,
            LoadError::TooFewPorts { .. } | LoadError::NoConnection { .. } | LoadError::OutOfResource { .. } => {
                ExitCode::Address
            }
            LoadError::Launch(LaunchError::Pin { .. } | LaunchError::Cores { .. } | LaunchError::Option(_)) => {
                ExitCode::Usage
            }
            LoadError::Launch(LaunchError::Ring {
                source: RingError::Restricted { .. } | RingError::Denied, ..
            }) => ExitCode::Permission,
            LoadError::Launch(LaunchError::Ring { .. }) => ExitCode::KernelUnsupported,
            LoadError::Launch(_) | LoadError::Shard(_) => ExitCode::Unexpected,
        }
    }
}

/// What a run reaches, for whoever samples the host meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// All connections that could be made are open; the warm-up begins.
    Connected {
        /// How many.
        open: usize,
    },
    /// The measured part begins.
    MeasureBegins,
    /// The measured part has ended; the drain goes on.
    MeasureEnds,
}

/// A result and what the run file has no place for.
#[derive(Debug)]
pub struct Report {
    /// The run file's content, without environment and the CPU figures of whole processes and cores. Call
    /// [`Run::conclude`] once these are added.
    pub run: Run,
    /// Addresses used, with the number of connections to each.
    pub addresses: Vec<(Address, u32)>,
    /// What each thread got from the host.
    pub granted: Vec<Granted>,
    /// Things a reader should know, one sentence each.
    pub notes: Vec<String>,
}

/// Runs a plan until it is done, `stop` becomes true, or nothing can be reached. `observe` is called from this thread at the
/// moments that matter for sampling CPU time; it should be quick.
///
/// A stopped run gives a partial result marked `interrupted`.
///
/// # Errors
/// [`LoadError`]; failures of requests are not errors but outcomes in the result.
pub fn run(plan: &LoadPlan, stop: &AtomicBool, observe: &mut dyn FnMut(Moment)) -> Result<Report, LoadError> {
    plan.check()?;
    let mut addresses = plan.target.resolve(plan.family)?;
    // More addresses than connections: the rest could not be used, and is only a way around one that fails.
    addresses.truncate(plan.connections.max(2) as usize);
    check_sources(plan, &addresses)?;
    let ports_text = check_ports(plan, &addresses)?;
    check_descriptors(plan)?;
    let mut shared = Shared::new(plan.clone(), addresses)?;
    shared.ports_text = ports_text;
    let several = shared.has_several();
    let session = Session { shared: Arc::new(shared), stop, observe };
    match plan.target.wire {
        WireName::Http if several => session.drive::<Http, true>(),
        WireName::Http => session.drive::<Http, false>(),
        WireName::Zap if several => session.drive::<Zap, true>(),
        WireName::Zap => session.drive::<Zap, false>(),
        WireName::Floor(_) => session.drive::<Floor, false>(),
    }
}

/// Refuses sources that do not suit the target, and those that connections cannot be made from.
fn check_sources(plan: &LoadPlan, addresses: &[Address]) -> Result<(), LoadError> {
    plan.sources.check(addresses)?;
    plan.sources.addresses().iter().try_for_each(|ip| engine::check_source(*ip)).map_err(SourcesError::Unusable)?;
    Ok(())
}

/// Refuses more connections than there are local ports; what to say if they run out all the same.
fn check_ports(plan: &LoadPlan, addresses: &[Address]) -> Result<String, LoadError> {
    if matches!(plan.target.place, Place::Unix(_)) {
        return Ok(String::new());
    }
    let Some(range) = PortRange::read() else {
        return Ok("the local ports (net.ipv4.ip_local_port_range) are used up".into());
    };
    let pairs = Pairs::of(plan.connections, addresses, &plan.sources);
    let arithmetic = range.text(&pairs);
    if !range.suffices(&pairs) {
        return Err(LoadError::TooFewPorts { connections: plan.connections, arithmetic });
    }
    Ok(arithmetic)
}

fn check_descriptors(plan: &LoadPlan) -> Result<(), LoadError> {
    // The engine raises the limit again and reports what stands in the way.
    let allowed = engine::raise_nofile().unwrap_or(u64::MAX);
    let needed = u64::from(plan.connections) + SPARE_DESCRIPTORS * (u64::from(plan.threads) + 1);
    if needed > allowed {
        return Err(LoadError::TooFewDescriptors { connections: plan.connections, needed, allowed });
    }
    Ok(())
}

/// A run under way.
struct Session<'a> {
    shared: Arc<Shared>,
    stop: &'a AtomicBool,
    observe: &'a mut dyn FnMut(Moment),
}

impl Session<'_> {
    fn drive<W: Wire, const MANY: bool>(mut self) -> Result<Report, LoadError> {
        let started_unix_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
        let (mut fleet, granted) = self.launch::<W, MANY>()?;
        let reached = self.await_open(&mut fleet);
        let (times, interrupted) = match reached {
            Ok(()) => self.watch(&mut fleet),
            Err(error) => {
                drop(fleet.join());
                return Err(error);
            }
        };
        let shards = fleet.join().into_iter().collect::<Result<Vec<LoadShard<W, MANY>>, ShardError>>()?;
        Ok(report::build(&self.shared, shards, granted, &report::Facts { times, interrupted, started_unix_ns }))
    }

    fn launch<W: Wire, const MANY: bool>(&self) -> Result<(Fleet<LoadShard<W, MANY>>, Vec<Granted>), LaunchError> {
        let plan = &self.shared.plan;
        let shards = plan.threads as usize;
        let board = Arc::new(Board::new(shards));
        let limits = Limits {
            max_connections: self.shared.plan.share(0).connections as usize,
            max_memory_bytes: SHARD_MEMORY_BYTES,
            // Timeouts are ours to count; the engine's own deadline is only a second net.
            write_stall_ns: plan.timeout_ns.saturating_add(1_000_000_000),
            connect_timeout_ns: plan.timeout_ns,
            ..Limits::default()
        };
        let engine_plan = engine::Plan {
            engine: plan.engine,
            shards,
            cores: plan.cores.clone(),
            listeners: Vec::new(),
            targets: self.shared.targets(),
            sources: plan.sources.addresses().to_vec(),
            limits,
            options: plan.engine_options,
            incoming_cpus: Vec::new(),
        };
        let (shared, theirs) = (Arc::clone(&self.shared), Arc::clone(&board));
        let make = move |index| LoadShard::new(Arc::clone(&shared), Arc::clone(&theirs), index);
        let fleet = engine::launch(engine_plan, board, make)?;
        let granted = fleet.granted().to_vec();
        Ok((fleet, granted))
    }

    /// Waits until every connection is open, or until none has been opened for the first time within the timeout.
    fn await_open<W: Wire, const MANY: bool>(
        &mut self,
        fleet: &mut Fleet<LoadShard<W, MANY>>,
    ) -> Result<(), LoadError> {
        let Shared { plan, gate, .. } = &*self.shared;
        let wanted = plan.connections as usize;
        // The engine looks at its connect deadline every tenth of a second; it shall report the failure, not we.
        let apart_ns = plan.connect_rate_per_s.map_or(0, |rate| 1_000_000_000 / rate);
        let patience_ns = plan.timeout_ns.saturating_add(apart_ns + 3 * engine::limits::SCAN_INTERVAL_NS);
        let mut progress = (gate.reached(), engine::now_ns());
        loop {
            let (open, reached) = (gate.open(), gate.reached());
            if open == wanted || self.stop.load(Ordering::Relaxed) || fleet.any_ended() {
                return Ok(());
            }
            if gate.is_hopeless() || (reached == 0 && gate.refused() == wanted) {
                return Err(self.failure(open));
            }
            if reached != progress.0 {
                progress = (reached, engine::now_ns());
            }
            if engine::now_ns() >= progress.1 + patience_ns {
                return if reached == 0 { Err(self.failure(open)) } else { Ok(()) };
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Why the run cannot begin.
    fn failure(&self, open: usize) -> LoadError {
        let Shared { plan, gate, addresses, .. } = &*self.shared;
        let place = plan.target.place.clone();
        let failure = gate.failure().unwrap_or_else(|| ConnectFailure {
            address: addresses[0].clone(),
            errno: None,
            message: format!("no connection within {} ms", plan.timeout_ns as f64 / 1e6),
        });
        let ConnectFailure { address, errno, message } = failure;
        if gate.is_hopeless() {
            return LoadError::OutOfResource { open, connections: plan.connections, place, errno, message };
        }
        LoadError::NoConnection { place, address, errno, message }
    }

    /// From the start to the end of the drain; tells the observer, and the shards when the user stops. Returns when what
    /// happened, and whether the user cut it short.
    fn watch<W: Wire, const MANY: bool>(&mut self, fleet: &mut Fleet<LoadShard<W, MANY>>) -> (Timeline, bool) {
        let shared = Arc::clone(&self.shared);
        (self.observe)(Moment::Connected { open: shared.gate.open() });
        let start_ns = engine::now_ns() + START_LEAD_NS;
        let mut times = Timeline::of(&shared.plan, start_ns);
        shared.gate.start_at(start_ns);
        let mut measuring = false;
        let ends = |times: &Timeline| match shared.plan.length {
            Length::Time { .. } => times.until_ns,
            Length::Requests { .. } => u64::MAX,
        };
        if self.sleep_until(times.measure_from_ns, fleet) {
            measuring = true;
            (self.observe)(Moment::MeasureBegins);
            self.sleep_until(ends(&times), fleet);
        }
        let now_ns = engine::now_ns();
        // Decided here: once stopped, the shards may have ended before anybody looks again.
        let cut = self.stop.load(Ordering::Relaxed) && now_ns < times.until_ns && !all_ended(fleet);
        if cut {
            shared.gate.stop_at(now_ns);
            times.cut(now_ns, shared.plan.drain_ns());
            fleet.stop();
        }
        if measuring {
            (self.observe)(Moment::MeasureEnds);
        }
        // The shards end by themselves, at the latest when the drain is over; a stop shortens it.
        let patience_ns = WATCH_STEP_NS.saturating_add(times.drain_until_ns).saturating_sub(engine::now_ns());
        let until_ns = engine::now_ns().saturating_add(patience_ns);
        self.sleep_until(until_ns, fleet);
        (times, cut || self.stop.load(Ordering::Relaxed) && !all_ended(fleet))
    }

    /// Sleeps until then; false when the run was stopped or all shards have ended before.
    fn sleep_until<W: Wire, const MANY: bool>(&self, at_ns: u64, fleet: &mut Fleet<LoadShard<W, MANY>>) -> bool {
        loop {
            let left_ns = at_ns.saturating_sub(engine::now_ns());
            if left_ns == 0 {
                return true;
            }
            if self.stop.load(Ordering::Relaxed) || fleet.wait(Duration::from_nanos(left_ns.min(WATCH_STEP_NS))) {
                return false;
            }
        }
    }
}

fn all_ended<W: Wire, const MANY: bool>(fleet: &mut Fleet<LoadShard<W, MANY>>) -> bool {
    fleet.wait(Duration::ZERO)
}
