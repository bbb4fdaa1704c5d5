//! A fleet of shards: one pinned thread each, with its own engine, started together and ended together.

use std::{
    io,
    net::IpAddr,
    os::{fd::OwnedFd, unix::net::UnixStream},
    panic::{self, AssertUnwindSafe},
    sync::{
        Arc,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use thiserror::Error;

use crate::{
    address::{Address, Listener},
    board::Board,
    control::Remote,
    directory::Directory,
    features::Features,
    ladder::{RingError, Rung},
    limits::{self, Limits},
    options::{EngineOptions, OptionError},
    rlimit,
    shard::Shard,
};

/// How bytes are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Engine {
    /// The monoio runtime on io_uring.
    #[default]
    Monoio,
    /// Our own loop over one ring.
    Uring,
    /// Our own loop over one epoll instance.
    Epoll,
    /// glommio's executor.
    Glommio,
}

impl Engine {
    /// Every engine, for tests and help texts.
    pub const ALL: [Engine; 4] = [Engine::Monoio, Engine::Uring, Engine::Epoll, Engine::Glommio];

    /// The name on the command line and in result files.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Monoio => "monoio",
            Engine::Uring => "uring",
            Engine::Epoll => "epoll",
            Engine::Glommio => "glommio",
        }
    }
}

impl std::fmt::Display for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Engine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Engine::ALL
            .into_iter()
            .find(|engine| engine.name() == text)
            .ok_or_else(|| format!("unknown engine {text:?}; there are: {}", Engine::ALL.map(Engine::name).join(", ")))
    }
}

/// What to start.
#[derive(Debug)]
pub struct Plan {
    /// How bytes are moved.
    pub engine: Engine,
    /// How many shards; one thread each.
    pub shards: usize,
    /// The core of each shard; empty for no pinning, else one for each shard.
    pub cores: Vec<usize>,
    /// Where to accept; a shard's [`Origin`](crate::Origin) names the index.
    pub listeners: Vec<Listener>,
    /// Where [`Cx::connect`](crate::Cx::connect) may connect to.
    pub targets: Vec<Address>,
    /// Local addresses that [`Cx::connect_from`](crate::Cx::connect_from) may connect from.
    pub sources: Vec<IpAddr>,
    /// Bounds of each shard.
    pub limits: Limits,
    /// Settings of each shard's engine.
    pub options: EngineOptions,
    /// For each shard the CPU whose arriving connections its TCP listeners shall get (`SO_INCOMING_CPU`, honoured among
    /// `SO_REUSEPORT` sockets since kernel 6.1); empty for the kernel's spread by hash. On loopback a connection arrives on the
    /// CPU that connects.
    pub incoming_cpus: Vec<usize>,
}

/// What a shard got from the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The engine that runs.
    pub engine: Engine,
    /// Ring setup flags; `None` on engines without a ring, and on glommio, whose rings are its own and without any.
    pub setup: Option<Rung>,
    /// Submission queue entries, 0 where there is no ring or the engine does not say.
    pub sq_entries: u32,
    /// Completion queue entries, 0 likewise.
    pub cq_entries: u32,
    /// What else of the ring is used.
    pub features: Features,
    /// The core, read back after pinning; `None` when not pinned.
    pub core: Option<usize>,
}

/// Why a fleet did not start.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// No ring.
    #[error("shard {shard}: {source}")]
    Ring {
        /// The shard that failed first.
        shard: usize,
        /// Why.
        source: RingError,
    },
    /// The thread may not run on its core.
    #[error(
        "shard {shard}: cannot pin to core {core}: it is offline or outside this process's CPU set; see `taskset -cp $$` and /sys/devices/system/cpu/online"
    )]
    Pin {
        /// The shard.
        shard: usize,
        /// The core asked for.
        core: usize,
    },
    /// Anything else the system refused.
    #[error("shard {shard}: {what}: {source}")]
    System {
        /// The shard.
        shard: usize,
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// An option the engine does not have, or a number outside its range.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// The plan contradicts itself.
    #[error("{shards} shards but {cores} cores: give one core for each shard, or none")]
    Cores {
        /// Shards asked for.
        shards: usize,
        /// Cores given.
        cores: usize,
    },
    /// A thread ended before it was ready.
    #[error("shard {shard} ended before it was ready")]
    Vanished {
        /// The shard.
        shard: usize,
    },
}

/// Why a shard did not end well.
#[derive(Debug, Error)]
pub enum ShardError {
    /// A bug: the protocol or the engine panicked.
    #[error("shard {shard} panicked: {message}")]
    Panicked {
        /// The shard.
        shard: usize,
        /// The panic's message.
        message: String,
    },
    /// It did not end in time after it was told to.
    #[error("shard {shard} is stuck: it did not end within {waited_ms} ms after it was told to")]
    Stuck {
        /// The shard.
        shard: usize,
        /// How long it was waited for.
        waited_ms: u64,
    },
    /// The ring or the poller failed under way.
    #[error("shard {shard}: {source}")]
    Failed {
        /// The shard.
        shard: usize,
        /// What the system said.
        source: io::Error,
    },
}

/// What one shard's thread is given.
pub(crate) struct Lane {
    pub(crate) index: usize,
    pub(crate) engine: Engine,
    pub(crate) core: Option<usize>,
    /// Listener index and the socket this shard accepts on.
    pub(crate) listeners: Vec<(usize, OwnedFd)>,
    /// For listeners that one shard accepts for all: where to deal the connections, this shard included.
    pub(crate) deal_to: Vec<Remote>,
    /// Which listeners are dealt.
    pub(crate) dealt: Vec<usize>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) limits: Limits,
    pub(crate) options: EngineOptions,
    pub(crate) control: UnixStream,
    pub(crate) board: Arc<Board>,
    ready: Option<Sender<Event>>,
}

impl Lane {
    /// Tells the fleet that this shard is about to serve.
    pub(crate) fn ready(&mut self, setup: Option<Rung>, sq_entries: u32, cq_entries: u32, features: Features) {
        let granted = Granted { engine: self.engine, setup, sq_entries, cq_entries, features, core: self.core };
        if let Some(ready) = self.ready.take() {
            let _ = ready.send(Event::Ready(self.index, granted));
        }
    }
}

#[cfg(test)]
impl Lane {
    /// A lane without listeners, targets or a fleet to report to, for tests of an engine's parts.
    pub(crate) fn bare(engine: Engine, options: EngineOptions) -> Self {
        let (_, control) = Remote::pair().expect("a socketpair");
        Lane {
            index: 0,
            engine,
            core: None,
            listeners: Vec::new(),
            deal_to: Vec::new(),
            dealt: Vec::new(),
            directory: Arc::default(),
            limits: Limits::default(),
            options,
            control,
            board: Arc::new(Board::new(1)),
            ready: None,
        }
    }
}

enum Event {
    Ready(usize, Granted),
    Failed(LaunchError),
    Ended(usize),
}

/// Running shards.
pub struct Fleet<S> {
    remotes: Vec<Remote>,
    threads: Vec<Option<JoinHandle<Result<S, ShardError>>>>,
    events: Receiver<Event>,
    ended: usize,
    granted: Vec<Granted>,
    board: Arc<Board>,
    drain_ns: u64,
    /// Where the fleet listens, ports filled in.
    addresses: Vec<Address>,
    /// Keeps unix socket files until the fleet has ended.
    _listeners: Vec<Listener>,
}

/// Starts one thread per shard and returns once all of them serve.
///
/// `board` has one entry per shard; it is a parameter so that a protocol made by `make` can read it.
///
/// # Errors
/// The first [`LaunchError`]; shards that had started are ended.
pub fn launch<S, F>(mut plan: Plan, board: Arc<Board>, make: F) -> Result<Fleet<S>, LaunchError>
where
    S: Shard + Send,
    F: Fn(usize) -> S + Send + Sync + 'static,
{
    if !plan.cores.is_empty() && plan.cores.len() != plan.shards {
        return Err(LaunchError::Cores { shards: plan.shards, cores: plan.cores.len() });
    }
    if !plan.incoming_cpus.is_empty() && plan.incoming_cpus.len() != plan.shards {
        return Err(LaunchError::Cores { shards: plan.shards, cores: plan.incoming_cpus.len() });
    }
    plan.options.check(plan.engine)?;
    plan.options.check_addresses(plan.listeners.iter().map(Listener::address).chain(&plan.targets))?;
    let system = |what| move |source| LaunchError::System { shard: 0, what, source };
    rlimit::raise_nofile().map_err(system("raising the limit of open descriptors"))?;
    keep_freed_memory_small();
    let (sender, events) = mpsc::channel();
    let make = Arc::new(make);
    let (mut lanes, remotes) = lanes(&mut plan, &board, &sender).map_err(system("making control channels"))?;
    let addresses = plan.listeners.iter().map(|listener| listener.address().clone()).collect();
    let mut fleet = Fleet {
        remotes,
        threads: Vec::new(),
        events,
        ended: 0,
        granted: Vec::new(),
        board,
        drain_ns: plan.limits.drain_ns,
        addresses,
        _listeners: plan.listeners,
    };
    for lane in lanes.drain(..) {
        let (make, sender, shard) = (Arc::clone(&make), sender.clone(), lane.index);
        let thread = thread::Builder::new()
            .name(format!("shard-{shard}"))
            .spawn(move || run_shard(lane, &*make, &sender))
            .map_err(|source| LaunchError::System { shard, what: "starting a thread", source })?;
        fleet.threads.push(Some(thread));
    }
    drop(sender);
    fleet.await_ready(plan.shards)?;
    Ok(fleet)
}

/// One lane per shard, and the remotes to them.
fn lanes(plan: &mut Plan, board: &Arc<Board>, ready: &Sender<Event>) -> io::Result<(Vec<Lane>, Vec<Remote>)> {
    let (targets, sources) = (std::mem::take(&mut plan.targets), std::mem::take(&mut plan.sources));
    let directory = Arc::new(Directory { targets, sources });
    let mut remotes = Vec::new();
    let mut lanes = Vec::new();
    for index in 0..plan.shards {
        let (remote, control) = Remote::pair()?;
        remotes.push(remote);
        lanes.push(Lane {
            index,
            engine: plan.engine,
            core: plan.cores.get(index).copied(),
            listeners: Vec::new(),
            deal_to: Vec::new(),
            dealt: Vec::new(),
            directory: Arc::clone(&directory),
            limits: plan.limits,
            options: plan.options,
            control,
            board: Arc::clone(board),
            ready: Some(ready.clone()),
        });
    }
    for (listener_index, listener) in plan.listeners.iter_mut().enumerate() {
        let dealt = matches!(listener.address(), Address::Unix(_)) && plan.shards > 1;
        let tcp = matches!(listener.address(), Address::Tcp(_));
        for (lane, socket) in lanes.iter_mut().zip(listener.sockets.drain(..)) {
            if let Some(cpu) = plan.incoming_cpus.get(lane.index).filter(|_| tcp) {
                socket2::SockRef::from(&socket).set_cpu_affinity(*cpu)?;
            }
            lane.listeners.push((listener_index, socket));
            if dealt {
                lane.dealt.push(listener_index);
                lane.deal_to = remotes.iter().map(Remote::try_clone).collect::<io::Result<_>>()?;
            }
        }
    }
    Ok((lanes, remotes))
}

fn run_shard<S: Shard>(lane: Lane, make: &impl Fn(usize) -> S, events: &Sender<Event>) -> Result<S, ShardError> {
    let index = lane.index;
    let result = panic::catch_unwind(AssertUnwindSafe(|| {
        if let Some(core) = lane.core {
            pin(index, core)?;
        }
        let shard = make(index);
        match lane.engine {
            Engine::Monoio => crate::on_monoio::run(lane, shard),
            Engine::Uring => crate::uring::run(lane, shard),
            Engine::Epoll => crate::epoll::run(lane, shard),
            Engine::Glommio => crate::on_glommio::run(lane, shard),
        }
    }));
    let result = match result {
        Ok(Ok(Ok(shard))) => Ok(shard),
        Ok(Ok(Err(source))) => Err(ShardError::Failed { shard: index, source }),
        Ok(Err(launch)) => {
            let _ = events.send(Event::Failed(launch));
            Err(ShardError::Failed { shard: index, source: io::ErrorKind::Other.into() })
        }
        Err(payload) => Err(ShardError::Panicked { shard: index, message: panic_message(&*payload) }),
    };
    let _ = events.send(Event::Ended(index));
    result
}

fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message").to_owned()
}

/// Pins the calling thread and reads the pin back.
fn pin(shard: usize, core: usize) -> Result<(), LaunchError> {
    // The crate aborts on a number beyond the kernel's CPU sets, so ask only for what is allowed.
    let allowed = || core_affinity::get_core_ids().unwrap_or_default();
    let pinned = allowed().iter().any(|id| id.id == core)
        && core_affinity::set_for_current(core_affinity::CoreId { id: core })
        && allowed().iter().map(|id| id.id).eq([core]);
    if pinned { Ok(()) } else { Err(LaunchError::Pin { shard, core }) }
}

/// Large buffers go back to the system when they are freed, so that memory in use is memory held.
fn keep_freed_memory_small() {
    #[cfg(target_env = "gnu")]
    // SAFETY: sets two plain parameters of the allocator; no memory is touched.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 256 * 1024);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 1024 * 1024);
    }
}

/// Stops a fleet from anywhere.
#[derive(Debug)]
pub struct Stopper(Vec<Remote>);

impl Stopper {
    /// Tells every shard to finish what is under way and end.
    pub fn stop(&self) {
        for remote in &self.0 {
            remote.drain();
        }
    }
}

impl<S> Fleet<S> {
    fn await_ready(&mut self, shards: usize) -> Result<(), LaunchError> {
        let mut granted: Vec<Option<Granted>> = vec![None; shards];
        while granted.iter().any(Option::is_none) {
            match self.events.recv() {
                Ok(Event::Ready(shard, got)) => granted[shard] = Some(got),
                Ok(Event::Failed(error)) => {
                    self.abandon();
                    return Err(error);
                }
                Ok(Event::Ended(shard)) if granted[shard].is_some() => self.ended += 1,
                Ok(Event::Ended(shard)) => {
                    self.abandon();
                    return Err(LaunchError::Vanished { shard });
                }
                Err(_) => return Err(LaunchError::Vanished { shard: 0 }),
            }
        }
        self.granted = granted.into_iter().flatten().collect();
        Ok(())
    }

    fn abandon(&mut self) {
        self.stop();
        for thread in self.threads.iter_mut().filter_map(Option::take) {
            let _ = thread.join();
        }
    }

    /// What each shard got from the host.
    pub fn granted(&self) -> &[Granted] {
        &self.granted
    }

    /// The counters of all shards.
    pub fn board(&self) -> &Arc<Board> {
        &self.board
    }

    /// The addresses of the plan's listeners, with the ports that the kernel chose.
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// Tells every shard to finish what is under way and end.
    pub fn stop(&self) {
        for remote in &self.remotes {
            remote.drain();
        }
    }

    /// A handle that can stop the fleet from another thread.
    ///
    /// # Errors
    /// No descriptor is left for another handle.
    pub fn stopper(&self) -> io::Result<Stopper> {
        self.remotes.iter().map(Remote::try_clone).collect::<io::Result<_>>().map(Stopper)
    }

    /// Waits until a shard ends: because the fleet was stopped, or for a reason of its own.
    pub fn wait_any(&mut self) {
        while self.ended == 0 {
            match self.events.recv() {
                Ok(Event::Ended(_)) => self.ended += 1,
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }

    /// Waits at most `timeout` for all shards to end; true when they have.
    pub fn wait(&mut self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        while self.ended < self.threads.len() {
            match self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Event::Ended(_)) => self.ended += 1,
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return false,
                Err(RecvTimeoutError::Disconnected) => return true,
            }
        }
        true
    }

    /// Whether any shard has ended; [`Fleet::wait`] or [`Fleet::join`] say more.
    pub fn any_ended(&mut self) -> bool {
        while let Ok(event) = self.events.try_recv() {
            self.ended += usize::from(matches!(event, Event::Ended(_)));
        }
        self.ended > 0
    }

    /// Ends the fleet: tells every shard to drain, waits for the drain time and a little more, and returns the protocols in
    /// order, or what went wrong with each.
    pub fn join(mut self) -> Vec<Result<S, ShardError>> {
        self.stop();
        let patience = Duration::from_nanos(self.drain_ns + limits::JOIN_GRACE_NS);
        let all = self.wait(patience);
        let threads = std::mem::take(&mut self.threads);
        threads
            .into_iter()
            .enumerate()
            .filter_map(|(shard, thread)| thread.map(|thread| (shard, thread)))
            .map(|(shard, thread)| {
                if !all && !thread.is_finished() {
                    return Err(ShardError::Stuck { shard, waited_ms: patience.as_millis() as u64 });
                }
                thread
                    .join()
                    .unwrap_or_else(|payload| Err(ShardError::Panicked { shard, message: panic_message(&*payload) }))
            })
            .collect()
    }
}

impl<S> Drop for Fleet<S> {
    fn drop(&mut self) {
        self.stop();
    }
}
