//! What the wire format itself costs, in process: typed records against JSON, messages of both wires, and the canonical suite.
//!
//! Owns what is timed and how. Bytes come from the codec, whole messages from loader and server as they write them. Must not touch a
//! socket; the only process it starts is itself, at the other end of a pipe or under valgrind. Allocations are counted by a function
//! that the caller brings, so that this needs no unsafe code.

#![forbid(unsafe_code)]

pub mod canonical;
pub mod case;
pub mod error;
pub mod exchange;
pub mod instructions;
pub mod limits;
mod messages;
mod record;
pub mod suite;
pub mod timing;
pub mod toolchain;

pub use case::Case;
pub use error::AxisError;
