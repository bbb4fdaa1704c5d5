//! Facts about the host, turned into a plan of settings that is applied, verified and restored.

#![forbid(unsafe_code)]

pub mod cpu_set;
pub mod facts;
pub mod limits;
pub mod netlink;
pub mod plan;
pub mod roots;
pub mod rules;
pub mod setting;

pub use cpu_set::{CpuSet, CpuSetError};
pub use facts::Facts;
pub use plan::{Plan, Profile, Request, Role, Step};
pub use roots::Roots;
pub use rules::{RuleError, plan};
pub use setting::{Knob, Setting};
