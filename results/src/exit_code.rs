//! The catalogue of exit codes, and which one wins when several apply.
//!
//! The numbers are stable: scripts test for them. Nothing here ends the process.

use std::fmt;

/// How a command ended. The number is [`ExitCode::code`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ExitCode {
    /// Finished, trusted, nothing failed.
    Ok,
    /// A bug in zapring; nothing else uses this.
    Unexpected,
    /// Bad command line.
    Usage,
    /// Outcomes other than `ok` above `--max-failed`.
    RequestsFailed,
    /// A fatal `validity` code: the figures must not be believed.
    NotTrusted,
    /// A `--fail-if` was true.
    LimitCrossed,
    /// Compare: worse beyond the noise.
    Regressed,
    /// Compare: too few runs, or too noisy.
    Inconclusive,
    /// Compare: configuration or environment differ.
    NotComparable,
    /// The ring or a needed operation is missing or disabled.
    KernelUnsupported,
    /// Needs a capability or root.
    Permission,
    /// Cannot resolve, bind or connect.
    Address,
    /// Applying host settings failed and everything was undone.
    TuneFailed,
    /// Undo or restore of host settings is incomplete.
    TuneDirty,
    /// A requested output could not be written.
    ResultNotWritten,
    /// A result file is missing, broken, or of a newer major version.
    ResultNotRead,
    /// Stopped by the user; the partial result was printed.
    Interrupted,
}

/// Codes that win over others, strongest first.
const PRECEDENCE: [ExitCode; 5] = [
    ExitCode::Interrupted,
    ExitCode::ResultNotWritten,
    ExitCode::NotTrusted,
    ExitCode::RequestsFailed,
    ExitCode::LimitCrossed,
];

impl ExitCode {
    /// Every code, in the order of the catalogue.
    pub const ALL: [Self; 17] = [
        Self::Ok,
        Self::Unexpected,
        Self::Usage,
        Self::RequestsFailed,
        Self::NotTrusted,
        Self::LimitCrossed,
        Self::Regressed,
        Self::Inconclusive,
        Self::NotComparable,
        Self::KernelUnsupported,
        Self::Permission,
        Self::Address,
        Self::TuneFailed,
        Self::TuneDirty,
        Self::ResultNotWritten,
        Self::ResultNotRead,
        Self::Interrupted,
    ];

    /// The process exit status.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Unexpected => 1,
            Self::Usage => 2,
            Self::RequestsFailed => 10,
            Self::NotTrusted => 11,
            Self::LimitCrossed => 12,
            Self::Regressed => 20,
            Self::Inconclusive => 21,
            Self::NotComparable => 22,
            Self::KernelUnsupported => 30,
            Self::Permission => 31,
            Self::Address => 32,
            Self::TuneFailed => 40,
            Self::TuneDirty => 41,
            Self::ResultNotWritten => 50,
            Self::ResultNotRead => 51,
            Self::Interrupted => 130,
        }
    }

    /// The name in the catalogue, as in `requests_failed`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Unexpected => "unexpected",
            Self::Usage => "usage",
            Self::RequestsFailed => "requests_failed",
            Self::NotTrusted => "not_trusted",
            Self::LimitCrossed => "limit_crossed",
            Self::Regressed => "regressed",
            Self::Inconclusive => "inconclusive",
            Self::NotComparable => "not_comparable",
            Self::KernelUnsupported => "kernel_unsupported",
            Self::Permission => "permission",
            Self::Address => "address",
            Self::TuneFailed => "tune_failed",
            Self::TuneDirty => "tune_dirty",
            Self::ResultNotWritten => "result_not_written",
            Self::ResultNotRead => "result_not_read",
            Self::Interrupted => "interrupted",
        }
    }

    /// The code with this number, if there is one.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|candidate| candidate.code() == code)
    }

    /// Lower ranks win: the five of the precedence rule, then the rest by number, `Ok` last.
    fn rank(self) -> usize {
        match PRECEDENCE.iter().position(|winner| *winner == self) {
            Some(position) => position,
            None if self == Self::Ok => usize::MAX,
            None => PRECEDENCE.len() + usize::from(self.code()),
        }
    }
}

impl fmt::Display for ExitCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.name(), self.code())
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code.code())
    }
}

/// The one code a command ends with, and all that applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// The code that won.
    pub code: ExitCode,
    /// Everything that applied, the winner first, without repeats and without `Ok` (empty when all is well).
    pub applied: Vec<ExitCode>,
}

impl Ending {
    /// Picks the winner: the first of 130, 50, 11, 10, 12; any other code after those, lower numbers first; 0 when nothing applied.
    #[must_use]
    pub fn of(applied: &[ExitCode]) -> Self {
        let mut applied: Vec<ExitCode> = applied.iter().copied().filter(|code| *code != ExitCode::Ok).collect();
        applied.sort_by_key(|code| code.rank());
        applied.dedup();
        Self { code: applied.first().copied().unwrap_or(ExitCode::Ok), applied }
    }

    /// One line naming every code that applied, or `None` when all is well.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let (first, rest) = self.applied.split_first()?;
        let mut text = format!("exit {}: {}", first.code(), first.name());
        if !rest.is_empty() {
            let names: Vec<String> = rest.iter().map(ToString::to_string).collect();
            text.push_str("; also ");
            text.push_str(&names.join(", "));
        }
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ExitCode::{
        Address, Interrupted, LimitCrossed, NotTrusted, Ok, Regressed, RequestsFailed, ResultNotWritten, Usage,
    };

    #[test]
    fn precedence_table() {
        let table: &[(&[ExitCode], u8)] = &[
            (&[], 0),
            (&[Ok], 0),
            (&[Ok, RequestsFailed], 10),
            (&[RequestsFailed, NotTrusted], 11),
            (&[LimitCrossed, RequestsFailed], 10),
            (&[LimitCrossed, NotTrusted, RequestsFailed], 11),
            (&[ResultNotWritten, NotTrusted], 50),
            (&[ResultNotWritten, Interrupted], 130),
            (&[LimitCrossed, RequestsFailed, NotTrusted, ResultNotWritten, Interrupted], 130),
            (&[LimitCrossed], 12),
            (&[Regressed, LimitCrossed], 12),
            (&[Address, Usage], 2),
            (&[Address], 32),
        ];
        for (applied, want) in table {
            assert_eq!(Ending::of(applied).code.code(), *want, "{applied:?}");
        }
    }

    #[test]
    fn text_names_them_all_once() {
        let ending = Ending::of(&[RequestsFailed, NotTrusted, RequestsFailed, Ok]);
        assert_eq!(ending.text().as_deref(), Some("exit 11: not_trusted; also requests_failed (10)"));
        assert_eq!(Ending::of(&[Ok]).text(), None);
    }

    #[test]
    fn codes_and_names_are_unique_and_found_again() {
        for (index, code) in ExitCode::ALL.into_iter().enumerate() {
            assert_eq!(ExitCode::from_code(code.code()), Some(code));
            assert!(ExitCode::ALL[index + 1..].iter().all(|other| other.name() != code.name()));
        }
        assert_eq!(ExitCode::from_code(3), None);
    }
}
