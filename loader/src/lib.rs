//! The load generator: a plan, the client side of each protocol, what it measured, and what became of every request.
//!
//! Everything between the plan and the result is a protocol without I/O ([`LoadShard`], an [`engine::Shard`]): bytes and a time
//! come in, bytes and a wish go out. [`session::run`] is the one place that starts threads and waits. Knows nothing of any
//! server.
#![forbid(unsafe_code)]

mod deadlines;
pub mod expect;
pub mod input_file;
mod lane;
pub mod limits;
pub mod measure;
pub mod mix;
pub mod outcome;
mod pacer;
pub mod phase;
pub mod plan;
mod ports;
pub mod raw;
mod reconnect;
mod record;
mod report;
pub mod request;
pub mod request_file;
mod route;
mod rows;
pub mod scenario;
mod schedule;
mod series;
pub mod session;
mod several;
pub mod shard;
pub mod shared;
pub mod sources;
mod statuses;
pub mod target;
mod turn;
pub mod value;
pub mod variable;
pub mod wire;

pub use expect::Expect;
pub use measure::Measure;
pub use mix::Mix;
pub use plan::{Length, LoadPlan, PlanError};
pub use session::{LoadError, Moment, Report, run};
pub use shard::LoadShard;
pub use shared::Shared;
pub use sources::{Sources, SourcesError};
pub use target::{Family, Target, TargetError};
