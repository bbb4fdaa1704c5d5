//! The run file: what a load run measured, on what, and whether to believe it; its reports; and the exit codes.
//!
//! This crate runs nothing, opens no socket, samples no clock and knows no other member of the workspace. It owns types, their JSON
//! form, the text made from them, and the files they are kept in.
//!
//! What is stable for outside readers: the run file's schema ([`run::Run`], by `schema_major`), the exit codes
//! ([`exit_code::ExitCode`]) and the three headline lines spelled as `wrk` spells them ([`report::wrk`]). Nothing else is.
#![forbid(unsafe_code)]

pub mod address_use;
pub mod baseline;
pub mod bench;
pub mod bootstrap;
pub mod bytes;
pub mod canonical;
pub mod codec;
pub mod compare;
pub mod config;
pub mod cores;
pub mod counts;
pub mod document;
pub mod environment;
pub mod exit_code;
pub mod figures;
pub mod gate;
pub mod histogram;
pub mod host;
pub mod latency;
pub mod likeness;
pub mod limits;
mod median;
pub mod output;
pub mod rates;
pub mod ratio;
pub mod reader;
pub mod report;
pub mod request_row;
pub mod requests;
pub mod run;
pub mod schema;
pub mod series;
pub mod spread;
pub mod sweep;
pub mod threshold;
pub mod timestamp;
pub mod usage;
pub mod validity;
pub mod verdict;
pub mod versus;
pub mod warmup;

pub use address_use::AddressUse;
pub use baseline::Baseline;
pub use bench::{Bench, BenchRow, Ratio};
pub use bytes::Bytes;
pub use canonical::Canonical;
pub use codec::{Axis, Toolchain};
pub use config::{Config, EngineConfig, FloorConfig, Header, Mode, Origin, Placement};
pub use cores::{CoreBusy, CoreRow};
pub use counts::ServerCounts;
pub use document::Document;
pub use environment::{CoreType, Environment, Nic, ProcessLimit};
pub use exit_code::{Ending, ExitCode};
pub use figures::{CoreFigures, Figures, LinkFigures, Pinned};
pub use histogram::Histogram;
pub use host::{HostBlock, LinkUse, TcpCounts};
pub use latency::Distribution;
pub use output::{Output, WriteError};
pub use rates::Rates;
pub use ratio::PairedRatio;
pub use reader::ReadError;
pub use request_row::{CategoryRow, RequestRow, SkippedRequest};
pub use requests::{Outcome, Requests};
pub use run::Run;
pub use series::SeriesRow;
pub use spread::Spread;
pub use sweep::Sweep;
pub use threshold::{LimitRow, Threshold, ThresholdError};
pub use usage::{ContextSwitches, LoaderBlock, ServerBlock, Throttling};
pub use validity::{Validity, ValidityCode};
pub use verdict::{Verdict, VerdictBlock, verdict};
pub use versus::Versus;
pub use warmup::Warmup;
