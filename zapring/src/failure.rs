//! Everything that can end a command, and the exit code it means: one exhaustive match.

use axis::AxisError;
use engine::{LaunchError, ListenError, OptionError, RingError};
use harness::{
    BenchError, CoreListError, DieWithParentError, GateError, HostError, RigError, SweepError, UsageError, VersusError,
};
use loader::{LoadError, SourcesError, TargetError, request_file::RequestFileError, scenario::ScenarioError};
use results::{ExitCode, ReadError, WriteError, histogram::HistogramError};
use server::StartError;
use thiserror::Error;
use tune::{ApplyError, RestoreError, journal::JournalError};

/// Why a command did not do what it was asked to.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Sources(#[from] SourcesError),
    #[error(transparent)]
    RequestFile(#[from] RequestFileError),
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Bench(#[from] BenchError),
    #[error(transparent)]
    Gate(#[from] GateError),
    #[error(transparent)]
    Rig(#[from] RigError),
    #[error(transparent)]
    Sweep(#[from] SweepError),
    #[error(transparent)]
    Axis(#[from] AxisError),
    #[error(transparent)]
    Versus(#[from] VersusError),
    #[error(transparent)]
    Output(#[from] WriteError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("a stored latency distribution is broken: {0}")]
    Histogram(HistogramError),
    #[error(transparent)]
    Engine(#[from] OptionError),
    #[error(transparent)]
    Cores(#[from] CoreListError),
    #[error(transparent)]
    Host(#[from] HostError),
    #[error(transparent)]
    Parent(#[from] DieWithParentError),
    #[error("cannot watch process {pid}: {source}")]
    Watch { pid: u32, source: UsageError },
    #[error("{shards} of the server's shards did not end well: {errors}")]
    Shards { shards: usize, errors: String },
    #[error("cannot read the body from {path}: {source}")]
    Body { path: String, source: std::io::Error },
    #[error(transparent)]
    Rule(#[from] tune::RuleError),
    #[error(transparent)]
    Apply(#[from] tune::ApplyError),
    #[error(transparent)]
    Restore(#[from] tune::RestoreError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(
        "tune {what} needs root: it writes below /proc/sys and /sys and sets network devices; `zapring tune plan` needs none, and its --script can be read and run by whoever may"
    )]
    NeedsRoot { what: &'static str },
    #[error("there is no route to {peer}")]
    NoRoute { peer: std::net::IpAddr },
    #[error("cannot read {path}: {source}")]
    Readme { path: String, source: std::io::Error },
    #[error("{0}")]
    Usage(String),
    #[error("{what}: {source}")]
    System { what: &'static str, source: std::io::Error },
}

impl Failure {
    /// The exit code of the catalogue.
    pub(crate) fn code(&self) -> ExitCode {
        match self {
            Failure::Start(error) => start_code(error),
            Failure::Target(TargetError::Resolve { .. } | TargetError::NoneOfFamily { .. }) => ExitCode::Address,
            Failure::Target(_)
            | Failure::RequestFile(_)
            | Failure::Scenario(_)
            | Failure::Sources(_)
            | Failure::Engine(_)
            | Failure::Cores(_)
            | Failure::Body { .. }
            | Failure::Usage(_) => ExitCode::Usage,
            Failure::Load(error) => error.exit_code(),
            Failure::Bench(error) => error.exit_code(),
            Failure::Gate(error) => error.exit_code(),
            Failure::Rig(error) => error.exit_code(),
            Failure::Sweep(error) => error.exit_code(),
            Failure::Axis(error) => crate::codec::exit_code(error),
            Failure::Versus(error) => error.exit_code(),
            Failure::Output(error) => error.exit_code(),
            Failure::Read(error) => error.exit_code(),
            Failure::Histogram(_) | Failure::Readme { .. } => ExitCode::ResultNotRead,
            Failure::Rule(_) => ExitCode::Usage,
            Failure::Apply(error) => apply_code(error),
            Failure::Restore(error) => restore_code(error),
            Failure::Journal(error) => journal_code(error),
            Failure::NeedsRoot { .. } => ExitCode::Permission,
            Failure::NoRoute { .. } => ExitCode::Address,
            Failure::Watch { .. } => ExitCode::Usage,
            Failure::Host(_) | Failure::Parent(_) | Failure::Shards { .. } | Failure::System { .. } => {
                ExitCode::Unexpected
            }
        }
    }
}

fn apply_code(error: &ApplyError) -> ExitCode {
    match error {
        ApplyError::Rule(_) => ExitCode::Usage,
        ApplyError::Journal(error) => journal_code(error),
        ApplyError::Open { .. } => ExitCode::TuneDirty,
        ApplyError::Failed { left, .. } if left.is_empty() => ExitCode::TuneFailed,
        ApplyError::Stopped { left, .. } if left.is_empty() => ExitCode::Interrupted,
        ApplyError::Failed { .. } | ApplyError::Stopped { .. } => ExitCode::TuneDirty,
    }
}

fn restore_code(error: &RestoreError) -> ExitCode {
    match error {
        RestoreError::Journal(error) => journal_code(error),
        RestoreError::NotNewest { .. } | RestoreError::Namespace { .. } => ExitCode::Usage,
    }
}

fn journal_code(error: &JournalError) -> ExitCode {
    match error {
        JournalError::Folder { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
            ExitCode::Permission
        }
        JournalError::Folder { .. } | JournalError::Write { .. } => ExitCode::ResultNotWritten,
        JournalError::Read(_) => ExitCode::ResultNotRead,
        JournalError::Locked { .. } => ExitCode::TuneFailed,
        JournalError::Unknown { .. } => ExitCode::Usage,
    }
}

fn start_code(error: &StartError) -> ExitCode {
    match error {
        StartError::NoListener | StartError::FrameLimit { .. } => ExitCode::Usage,
        StartError::Listen(ListenError::Permission { .. }) => ExitCode::Permission,
        StartError::Listen(_) => ExitCode::Address,
        StartError::Launch(LaunchError::Pin { .. } | LaunchError::Cores { .. } | LaunchError::Option(_)) => {
            ExitCode::Usage
        }
        StartError::Launch(LaunchError::Ring { source: RingError::Restricted { .. } | RingError::Denied, .. }) => {
            ExitCode::Permission
        }
        StartError::Launch(LaunchError::Ring { .. }) => ExitCode::KernelUnsupported,
        StartError::Launch(_) => ExitCode::Unexpected,
    }
}
