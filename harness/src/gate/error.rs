//! What can go wrong in a gate, and the exit code it means.

use std::io;

use results::ExitCode;

use crate::rig::RigError;

/// Why a gate has no result, or only a part of one.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The plan makes no sense.
    #[error("{reason}")]
    Plan {
        /// What is wrong and what would be right.
        reason: String,
    },
    /// The plain exchange failed.
    #[error("cannot measure a plain exchange over loopback TCP: {source}; may this process use the baseline's cores?")]
    Yardstick {
        /// The system's reason.
        source: io::Error,
    },
    /// The server or a run.
    #[error(transparent)]
    Rig(#[from] RigError),
}

impl GateError {
    /// The exit code this means.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Plan { .. } => ExitCode::Usage,
            Self::Yardstick { .. } => ExitCode::Unexpected,
            Self::Rig(source) => source.exit_code(),
        }
    }
}
