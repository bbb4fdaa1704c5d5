//! What can go wrong in a comparison, and the exit code it means. What goes wrong with one peer ends that peer only.

use results::ExitCode;

use crate::rig::RigError;
use crate::versus::peers::PeersError;

/// Why a comparison has no result, or only a part of one.
#[derive(Debug, thiserror::Error)]
pub enum VersusError {
    /// The list of peers cannot be used.
    #[error(transparent)]
    Peers(#[from] PeersError),
    /// The plan makes no sense.
    #[error("{reason}")]
    Plan {
        /// What is wrong and what would be right.
        reason: String,
    },
    /// A temporary folder could not be made.
    #[error("cannot make a temporary folder for the files of servers: {source}")]
    Folder {
        /// The system's reason.
        source: std::io::Error,
    },
}

impl VersusError {
    /// The exit code this means.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Peers(_) | Self::Plan { .. } => ExitCode::Usage,
            Self::Folder { .. } => ExitCode::Unexpected,
        }
    }
}

/// Why a peer is not run any more.
#[derive(Debug, thiserror::Error)]
pub(super) enum PeerError {
    #[error(transparent)]
    Child(#[from] crate::child::ChildError),
    #[error(transparent)]
    Rig(#[from] RigError),
    #[error("cannot write {path}: {source}")]
    File { path: std::path::PathBuf, source: std::io::Error },
    #[error("no free port on loopback: {0}")]
    Port(std::io::Error),
    #[error("it ended before it served: {status}{stderr}")]
    NotStarted { status: String, stderr: String },
    #[error("it did not serve within {waited_s} s{stderr}")]
    NotReady { waited_s: u64, stderr: String },
    #[error("it printed no address of the wire {wire}")]
    NoListener { wire: String },
    #[error("its answer to {path} was not right: {what}")]
    Answer { path: String, what: String },
    #[error("the loader ended with {status}{stderr}")]
    Loader { status: String, stderr: String },
    #[error("the loader was still running {waited_s} s after its time{stderr}")]
    LoaderHung { waited_s: u64, stderr: String },
    #[error("{what}{stderr}")]
    Output { what: String, stderr: String },
    #[error("the server it drives could not be had: {reason}")]
    NoServer { reason: String },
}
