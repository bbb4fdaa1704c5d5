//! How bytes move: one pinned thread per shard, its ring and its sockets. Knows nothing of what the bytes mean.
//!
//! A protocol implements [`Shard`]; [`launch`] runs one on each thread of a [`Plan`], on any [`Engine`]. This is the only crate
//! of the workspace with `unsafe`.

mod address;
mod board;
mod clock;
mod control;
mod core;
mod cx;
mod directory;
mod epoll;
mod features;
mod fleet;
mod handicap;
mod inbox;
mod ladder;
pub mod limits;
mod on_glommio;
mod on_monoio;
mod options;
mod outbox;
mod rlimit;
mod shard;
mod socket;
mod source;
mod uring;

pub use address::{Address, ListenError, Listener};
pub use board::{Board, Count, ShardCounts, ShardFigures};
pub use clock::{now_ns, thread_cpu_ns};
pub use cx::{Cx, Wishes};
pub use directory::Dial;
pub use features::Features;
pub use fleet::{Engine, Fleet, Granted, LaunchError, Plan, ShardError, Stopper, launch};
pub use handicap::{Burden, Handicap};
pub use ladder::{HostFacts, LADDER, RingError, Rung, climb};
pub use limits::Limits;
pub use options::{EngineOptions, OptionError};
pub use outbox::Outbox;
pub use rlimit::{memlock_bytes, raise_nofile};
pub use shard::{Cause, Conn, Flow, Next, Origin, Shard, Taken};
pub use source::{SourceError, check_source};
