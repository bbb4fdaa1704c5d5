//! Runs made of several processes: which cores they get, how they are started and ended, what they cost, and how their results become
//! one document.
//!
//! This crate speaks no wire and measures no latency: it starts programs that do, and reads what they print. It prints nothing.
#![forbid(unsafe_code)]

pub mod bench;
#[cfg(test)]
mod built_tree;
mod captured;
pub mod child;
pub mod core_list;
pub mod cores;
pub mod environment;
mod family;
pub mod gate;
pub mod host;
pub mod host_watch;
pub mod instructions;
pub mod levels;
pub mod limits;
pub mod links;
mod moment;
pub mod nic;
mod order;
pub mod parent;
pub mod rig;
pub mod sweep;
pub mod tcp;
pub mod threads;
pub mod throttling;
pub mod usage;
pub mod versus;
mod yardstick;

pub use bench::{BenchEnd, BenchError, BenchPlan, BenchResult, Step, Turns};
pub use child::{Child, ChildError, CommandLine};
pub use core_list::{CoreList, CoreListError};
pub use cores::CoreLayout;
pub use gate::{GateEnd, GateError, GatePlan, GateResult};
pub use host::{HostError, HostFiles};
pub use host_watch::HostWatch;
pub use instructions::{Instructions, InstructionsError};
pub use levels::{Levels, LevelsError};
pub use parent::{DieWithParentError, die_with_parent};
pub use rig::{Census, Elsewhere, End, Held, Rig, RigError, ShardCounts, Target, Totals, hold};
pub use sweep::{SweepEnd, SweepError, SweepPlan, SweepResult};
pub use usage::{UsageError, Watch};
pub use versus::{VersusEnd, VersusError, VersusPlan, VersusResult};
pub use yardstick::yardstick_ns;
