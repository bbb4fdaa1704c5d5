//! What can go wrong in a sweep, and the exit code it means.

use results::ExitCode;

use crate::rig::RigError;

/// Why a sweep has no result, or only a part of one.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The plan makes no sense.
    #[error("{reason}")]
    Plan {
        /// What is wrong and what would be right.
        reason: String,
    },
    /// A run of one setting failed.
    #[error("with {setting}: {source}")]
    Setting {
        /// What was tried, as in `buffers 64`.
        setting: String,
        /// What became of it.
        source: Box<RigError>,
    },
}

impl SweepError {
    /// The exit code this means.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Plan { .. } => ExitCode::Usage,
            Self::Setting { source, .. } => source.exit_code(),
        }
    }
}
