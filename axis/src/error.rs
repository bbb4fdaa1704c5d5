//! What can go wrong while the axis is measured.

use codec::zap::packed::UnpackError;
use thiserror::Error;

/// Why there is no result.
#[derive(Debug, Error)]
pub enum AxisError {
    /// A scenario's request or answer could not be made: a bug.
    #[error("scenario {scenario} on {wire}: {what}")]
    Exchange {
        /// The scenario.
        scenario: &'static str,
        /// The wire.
        wire: &'static str,
        /// What went wrong.
        what: String,
    },
    /// The core cannot be had.
    #[error(
        "cannot pin to core {core}: it is offline or not allowed here; see `taskset -p $$` and choose another with --core"
    )]
    Pin {
        /// The core.
        core: usize,
    },
    /// No such case, for who asks for one by name.
    #[error("there is no case {name:?}; they are named as in rpc/decode/zap")]
    NoCase {
        /// What was asked for.
        name: String,
    },
    /// Valgrind is not there.
    #[error(
        "cannot run valgrind: {source}; install it (on Debian: apt-get install valgrind) or leave out --instructions"
    )]
    NoValgrind {
        /// The system's reason.
        source: std::io::Error,
    },
    /// Valgrind ran and counted nothing.
    #[error("valgrind did not say how many instructions {case} took: {said}")]
    NotCounted {
        /// The case.
        case: String,
        /// The end of what it said.
        said: String,
    },
    /// A case of the canonical suite computed something else than what was expected.
    #[error("{case} in mode {mode}: the answer is {found}, but {wanted} was expected")]
    Wrong {
        /// The case.
        case: &'static str,
        /// The mode.
        mode: &'static str,
        /// What came back.
        found: String,
        /// What is right.
        wanted: String,
    },
    /// A message of the canonical suite that cannot be read.
    #[error("a message of the canonical suite cannot be read: {0}")]
    Message(#[from] codec::zap::frame::FrameError),
    /// A message of the canonical suite that would be too long.
    #[error("a message of the canonical suite cannot be written: {0}")]
    Encode(#[from] codec::zap::EncodeError),
    /// A packed message that cannot be unpacked.
    #[error("a packed message cannot be read: {0}")]
    Packed(#[from] UnpackError),
    /// The other end of the pipe.
    #[error("{what}: {source}")]
    Pipe {
        /// What was done.
        what: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A message length that no message of the suite has.
    #[error(
        "the other end of the pipe announces a message of {announced} bytes; at most {} are taken",
        crate::limits::MAX_PIPE_MESSAGE_BYTES
    )]
    PipeLength {
        /// Bytes announced.
        announced: usize,
    },
}
