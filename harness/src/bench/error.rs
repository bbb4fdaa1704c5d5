//! What can go wrong in a bench, and the exit code it means.

use std::path::PathBuf;

use results::ExitCode;

use crate::rig::RigError;

/// Why a bench has no result, or only a part of one.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The plan makes no sense.
    #[error("{reason}")]
    Plan {
        /// What is wrong and what would be right.
        reason: &'static str,
    },
    /// One of two builds does not serve.
    #[error("{program} does not serve as this build does: {source}")]
    Side {
        /// The executable.
        program: PathBuf,
        /// Why.
        source: Box<RigError>,
    },
    /// A server or a loader failed.
    #[error(transparent)]
    Rig(#[from] RigError),
}

impl BenchError {
    /// The exit code this means.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Plan { .. } => ExitCode::Usage,
            Self::Rig(error) => error.exit_code(),
            Self::Side { source, .. } => source.exit_code(),
        }
    }
}
