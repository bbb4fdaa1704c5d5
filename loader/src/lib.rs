//! The load generator: a plan, the client side of each protocol, what it measured, and what became of every request.
//!
//! Everything between the plan and the result is a protocol without I/O ([`LoadShard`], an [`engine::Shard`]): bytes and a time
//! come in, bytes and a wish go out. [`session::run`] is the one place that starts threads and waits. Knows nothing of any
//! server.
#![forbid(unsafe_code)]

mod deadlines;
pub mod expect;
mod lane;
pub mod limits;
pub mod measure;
pub mod outcome;
mod pacer;
pub mod phase;
pub mod plan;
mod ports;
mod reconnect;
mod report;
pub mod request;
mod route;
mod schedule;
mod series;
pub mod session;
pub mod shard;
pub mod sources;
pub mod target;
pub mod value;
pub mod wire;

pub use expect::Expect;
pub use measure::Measure;
pub use plan::{Length, LoadPlan, PlanError};
pub use session::{LoadError, Moment, Report, run};
pub use shard::{LoadShard, Shared};
pub use sources::{Sources, SourcesError};
pub use target::{Family, Target, TargetError};
