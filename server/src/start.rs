//! A server of several shards: listeners bound, threads started, figures and the end at hand.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use engine::{
    Board, Engine, EngineOptions, Fleet, Granted, LaunchError, Limits, ListenError, Listener, Plan, ShardError, Stopper,
};
use thiserror::Error;

use crate::{listen::Listen, options::ServerOptions, shard::ServerShard, stats::Published};

/// What to serve, where, and on what.
#[derive(Clone, Debug)]
pub struct StartOptions {
    /// The server's own options; its `wires` are set from `listen`.
    pub server: ServerOptions,
    /// Where to listen, at least one.
    pub listen: Vec<Listen>,
    /// How bytes are moved.
    pub engine: Engine,
    /// One shard pinned to each of these cores; empty for one shard that is not pinned.
    pub cores: Vec<usize>,
    /// Bounds of each shard's connections.
    pub limits: Limits,
    /// Settings of each shard's engine.
    pub engine_options: EngineOptions,
    /// For each shard the CPU whose arriving connections it shall get; see [`Plan::incoming_cpus`].
    pub incoming_cpus: Vec<usize>,
}

impl Default for StartOptions {
    fn default() -> Self {
        StartOptions {
            server: ServerOptions::default(),
            listen: Listen::defaults(),
            engine: Engine::default(),
            cores: Vec::new(),
            limits: Limits::default(),
            engine_options: EngineOptions::default(),
            incoming_cpus: Vec::new(),
        }
    }
}

/// Why a server did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// Nowhere to listen.
    #[error("nowhere to listen: give at least one --listen, as in zap://127.0.0.1:9653")]
    NoListener,
    /// A larger frame than the wire has.
    #[error("a frame limit of {asked} bytes: it must be from 1 to {} bytes", codec::limits::MAX_FRAME_BYTES)]
    FrameLimit {
        /// Bytes asked for.
        asked: usize,
    },
    /// An address that cannot be listened on.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The threads or their rings.
    #[error(transparent)]
    Launch(#[from] LaunchError),
}

/// A server that serves.
pub struct Running {
    fleet: Fleet<ServerShard>,
    published: Arc<Published>,
    listen: Vec<Listen>,
}

/// Binds, starts and returns once every shard serves.
///
/// # Errors
/// See [`StartError`]; nothing is left running then.
pub fn start(options: StartOptions) -> Result<Running, StartError> {
    if options.listen.is_empty() {
        return Err(StartError::NoListener);
    }
    let asked = options.server.max_frame_bytes;
    if !(1..=codec::limits::MAX_FRAME_BYTES).contains(&asked) {
        return Err(StartError::FrameLimit { asked });
    }
    let shards = options.cores.len().max(1);
    let listeners =
        options.listen.iter().map(|listen| Listener::bind(&listen.address, shards)).collect::<Result<Vec<_>, _>>()?;
    let wires = options.listen.iter().map(|listen| listen.wire).collect();
    let board = Arc::new(Board::new(shards));
    let published = Arc::new(Published::new(Arc::clone(&board), shards));
    let plan = Plan {
        engine: options.engine,
        shards,
        cores: options.cores,
        listeners,
        targets: Vec::new(),
        sources: Vec::new(),
        limits: options.limits,
        options: options.engine_options,
        incoming_cpus: options.incoming_cpus,
    };
    let server = Arc::new(ServerOptions { wires, ..options.server });
    let shared = Arc::clone(&published);
    let fleet = engine::launch(plan, board, move |index| {
        ServerShard::new(index, Arc::clone(&server), Arc::clone(&shared), SystemTime::now)
    })?;
    published.set_granted(fleet.granted().to_vec());
    let listen = options
        .listen
        .iter()
        .zip(fleet.addresses())
        .map(|(listen, address)| Listen { wire: listen.wire, address: address.clone() })
        .collect();
    Ok(Running { fleet, published, listen })
}

impl Running {
    /// Where it listens, ports filled in, in the order asked for.
    pub fn urls(&self) -> Vec<String> {
        self.listen.iter().map(Listen::to_string).collect()
    }

    /// Where it listens, ports filled in, in the order asked for.
    pub fn listens(&self) -> &[Listen] {
        &self.listen
    }

    /// What each shard got from the host.
    pub fn granted(&self) -> &[Granted] {
        self.fleet.granted()
    }

    /// The counters behind [`Running::stats_json`].
    pub fn published(&self) -> &Arc<Published> {
        &self.published
    }

    /// What `GET /stats` answers.
    pub fn stats_json(&self) -> String {
        let mut json = Vec::new();
        self.published.write_json(&mut json);
        String::from_utf8(json).expect("JSON is UTF-8")
    }

    /// Tells every shard to finish what is under way and end; returns at once.
    pub fn stop(&self) {
        self.fleet.stop();
    }

    /// A handle that can stop the server from another thread.
    ///
    /// # Errors
    /// No descriptor is left for another handle.
    pub fn stopper(&self) -> std::io::Result<Stopper> {
        self.fleet.stopper()
    }

    /// Waits until a shard ends: because the server was stopped, or for a reason of its own.
    pub fn wait_any(&mut self) {
        self.fleet.wait_any();
    }

    /// Waits at most `timeout` for all shards to end; true when they have.
    pub fn wait(&mut self, timeout: Duration) -> bool {
        self.fleet.wait(timeout)
    }

    /// Whether any shard has ended, by itself or because it was told to.
    pub fn any_ended(&mut self) -> bool {
        self.fleet.any_ended()
    }

    /// Stops, waits for the drain to end, and says what went wrong with any shard.
    ///
    /// # Errors
    /// Every [`ShardError`], in shard order.
    pub fn join(self) -> Result<(), Vec<ShardError>> {
        let errors: Vec<ShardError> = self.fleet.join().into_iter().filter_map(Result::err).collect();
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }
}
