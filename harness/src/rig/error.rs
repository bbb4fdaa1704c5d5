//! What can go wrong with a server and its loaders, and the exit code it means.

use results::{ExitCode, ReadError};

use crate::child::ChildError;

/// Why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum RigError {
    /// A child could not be started or waited for.
    #[error(transparent)]
    Child(#[from] ChildError),
    /// The server ended before it was ready.
    #[error("the server ended before it was ready ({status}){stderr}")]
    ServerNotStarted {
        /// How it ended.
        status: String,
        /// Its exit status, if it had one.
        code: Option<i32>,
        /// What it said, on lines of their own.
        stderr: String,
    },
    /// The server never said that it is ready.
    #[error("the server did not say \"ready\" within {waited_s} s{stderr}")]
    ServerNotReady {
        /// How long it was given.
        waited_s: u64,
        /// What it said, on lines of their own.
        stderr: String,
    },
    /// The server is ready and does not serve a wire.
    #[error("the server is ready but printed no line \"listening {wire}://...\"; it printed: {stdout}")]
    NoListener {
        /// The wire.
        wire: String,
        /// What it printed.
        stdout: String,
    },
    /// The server ended though nobody told it to.
    #[error("the server ended by itself ({status}){stderr}")]
    ServerEnded {
        /// How it ended.
        status: String,
        /// What it said, on lines of their own.
        stderr: String,
    },
    /// The server ended during a run.
    #[error("the server died during {wire} with {connections} connections ({status}){stderr}")]
    ServerDied {
        /// The run's wire.
        wire: String,
        /// The run's connections.
        connections: u32,
        /// How it ended.
        status: String,
        /// What it said, on lines of their own.
        stderr: String,
    },
    /// A loader ended without a result.
    #[error("the loader failed during {wire} with {connections} connections ({status}){stderr}")]
    LoaderFailed {
        /// The run's wire.
        wire: String,
        /// The run's connections.
        connections: u32,
        /// How it ended.
        status: String,
        /// Its exit status, if it had one.
        code: Option<i32>,
        /// What it said, on lines of their own.
        stderr: String,
    },
    /// A loader did not end.
    #[error(
        "the loader did not end within {waited_s} s during {wire} with {connections} connections and was killed{stderr}"
    )]
    LoaderHung {
        /// The run's wire.
        wire: String,
        /// The run's connections.
        connections: u32,
        /// How long it was given.
        waited_s: u64,
        /// What it said, on lines of their own.
        stderr: String,
    },
    /// A loader printed something else than a run file.
    #[error("the loader's result of {wire} with {connections} connections cannot be used: {source}{stderr}")]
    LoaderOutput {
        /// The run's wire.
        wire: String,
        /// The run's connections.
        connections: u32,
        /// What is wrong with it.
        source: ReadError,
        /// What it said, on lines of their own.
        stderr: String,
    },
}

impl RigError {
    /// The exit code this means: the child's own where it says why (usage, kernel, permission, address), else a bug.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::ServerNotStarted { code, .. } | Self::LoaderFailed { code, .. } => {
                let known = code.and_then(|code| u8::try_from(code).ok()).and_then(ExitCode::from_code);
                known.filter(|code| *code != ExitCode::Ok).unwrap_or(ExitCode::Unexpected)
            }
            Self::LoaderOutput { source, .. } => source.exit_code(),
            Self::Child(_)
            | Self::ServerNotReady { .. }
            | Self::NoListener { .. }
            | Self::ServerEnded { .. }
            | Self::ServerDied { .. }
            | Self::LoaderHung { .. } => ExitCode::Unexpected,
        }
    }
}

/// The end of a child's standard error as a paragraph of an error message; empty when it said nothing.
pub(crate) fn said(stderr: &str) -> String {
    if stderr.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = stderr.lines().map(|line| format!("  | {line}")).collect();
    format!("; it said:\n{}", lines.join("\n"))
}
