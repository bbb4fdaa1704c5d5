//! Routes, the server side of each wire, and what they count.
//!
//! Owns what a request is answered with. Must not touch a socket or a clock: bytes and times come from the engine, the
//! wall clock is a function passed in and asked once a second. One [`ServerShard`] per thread holds a reused context per
//! connection; [`start`] puts a fleet of them behind listeners.

#![forbid(unsafe_code)]

mod answer;
mod context;
mod counters;
mod date;
mod floor_wire;
mod handlers;
mod http_body;
mod http_wire;
pub mod limits;
mod listen;
mod options;
mod ready;
mod request;
mod route;
mod service;
mod shard;
mod start;
mod stats;
mod stream;
mod wire;
mod zap_wire;

pub use counters::{RequestCounts, RequestFigures};
pub use listen::{Listen, ListenUrlError};
pub use options::ServerOptions;
pub use shard::ServerShard;
pub use start::{Running, StartError, StartOptions, start};
pub use stats::Published;
pub use wire::Wire;
