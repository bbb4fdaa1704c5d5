//! Facts about the host, turned into a plan of settings that is applied, verified and restored.

#![forbid(unsafe_code)]

pub mod apply;
pub mod cpu_set;
pub mod facts;
pub mod findings;
pub mod host;
pub mod journal;
pub mod limits;
pub mod netlink;
pub mod plan;
pub mod render;
pub mod restore;
pub mod roots;
pub mod rules;
pub mod setting;
pub mod state;

pub use apply::{ApplyError, Stamp, apply};
pub use cpu_set::{CpuSet, CpuSetError};
pub use facts::Facts;
pub use host::Host;
pub use journal::Journals;
pub use plan::{Plan, Profile, Request, Role, Step};
pub use restore::{RestoreError, restore};
pub use roots::Roots;
pub use rules::{RuleError, plan};
pub use setting::{Knob, Setting};
pub use state::{TuneState, state};
