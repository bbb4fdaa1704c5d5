//! What became of every request: the closed list of outcomes, and the identity they must satisfy.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::Mode;

/// How one planned request ended. Each ends in exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Answered with an expected status and a body of the declared length.
    Ok,
    /// Answered with a status outside `--expect`.
    BadStatus,
    /// Answered with a body that does not match its declaration.
    BadBody,
    /// Its connection could not be made.
    Connect,
    /// Its connection ended before the answer did.
    Reset,
    /// No complete answer within `--timeout`.
    Timeout,
    /// The answer broke the rules of the wire.
    Protocol,
    /// Under way when the run ended and not answered while draining.
    Unfinished,
    /// Planned, never sent.
    NotSent,
}

impl Outcome {
    /// Every outcome, in the order of the run file.
    pub const ALL: [Self; 9] = [
        Self::Ok,
        Self::BadStatus,
        Self::BadBody,
        Self::Connect,
        Self::Reset,
        Self::Timeout,
        Self::Protocol,
        Self::Unfinished,
        Self::NotSent,
    ];

    /// The key in the run file.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::BadStatus => "bad_status",
            Self::BadBody => "bad_body",
            Self::Connect => "connect",
            Self::Reset => "reset",
            Self::Timeout => "timeout",
            Self::Protocol => "protocol",
            Self::Unfinished => "unfinished",
            Self::NotSent => "not_sent",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.key())
    }
}

/// Requests planned and sent, and the count of each outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Requests {
    /// Requests the plan asked for. In closed loop: what was sent plus what failed before sending.
    pub planned: u64,
    /// Requests whose last byte was handed to the kernel.
    pub sent: u64,
    /// See [`Outcome::Ok`].
    pub ok: u64,
    /// See [`Outcome::BadStatus`].
    pub bad_status: u64,
    /// See [`Outcome::BadBody`].
    pub bad_body: u64,
    /// See [`Outcome::Connect`].
    pub connect: u64,
    /// See [`Outcome::Reset`].
    pub reset: u64,
    /// See [`Outcome::Timeout`].
    pub timeout: u64,
    /// See [`Outcome::Protocol`].
    pub protocol: u64,
    /// See [`Outcome::Unfinished`].
    pub unfinished: u64,
    /// See [`Outcome::NotSent`].
    pub not_sent: u64,
}

/// The outcomes do not add up to what was planned: requests were lost or counted twice. A bug in the loader, never the server's doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the outcomes add up to {outcomes}, but {planned} requests were planned ({sent} sent): requests were lost or counted twice"
)]
pub struct SumMismatch {
    /// What was planned.
    pub planned: u64,
    /// What was sent.
    pub sent: u64,
    /// The sum of all outcomes.
    pub outcomes: u64,
}

impl Requests {
    /// The count of one outcome.
    #[must_use]
    pub const fn count(&self, outcome: Outcome) -> u64 {
        match outcome {
            Outcome::Ok => self.ok,
            Outcome::BadStatus => self.bad_status,
            Outcome::BadBody => self.bad_body,
            Outcome::Connect => self.connect,
            Outcome::Reset => self.reset,
            Outcome::Timeout => self.timeout,
            Outcome::Protocol => self.protocol,
            Outcome::Unfinished => self.unfinished,
            Outcome::NotSent => self.not_sent,
        }
    }

    /// Counts `n` requests under one outcome. Leaves `planned` and `sent` alone.
    pub const fn add(&mut self, outcome: Outcome, n: u64) {
        match outcome {
            Outcome::Ok => self.ok += n,
            Outcome::BadStatus => self.bad_status += n,
            Outcome::BadBody => self.bad_body += n,
            Outcome::Connect => self.connect += n,
            Outcome::Reset => self.reset += n,
            Outcome::Timeout => self.timeout += n,
            Outcome::Protocol => self.protocol += n,
            Outcome::Unfinished => self.unfinished += n,
            Outcome::NotSent => self.not_sent += n,
        }
    }

    /// Adds another shard's counts, every field.
    pub fn merge(&mut self, other: &Self) {
        self.planned += other.planned;
        self.sent += other.sent;
        for outcome in Outcome::ALL {
            self.add(outcome, other.count(outcome));
        }
    }

    /// The sum of all outcomes; equals `planned` in every honest file. Saturates, so that a hostile file cannot panic the reader.
    #[must_use]
    pub fn outcomes(&self) -> u64 {
        Outcome::ALL.iter().fold(0, |sum: u64, outcome| sum.saturating_add(self.count(*outcome)))
    }

    /// Outcomes other than `ok`.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.outcomes().saturating_sub(self.ok)
    }

    /// Outcomes other than `ok` that say something of the server. What an open loop did not send does not: it is judged by the rate.
    #[must_use]
    pub fn failed_in(&self, mode: Mode) -> u64 {
        let by_rate = if mode == Mode::OpenLoop { self.not_sent } else { 0 };
        self.failed().saturating_sub(by_rate)
    }

    /// Requests that got a complete answer, good or bad.
    #[must_use]
    pub const fn done(&self) -> u64 {
        self.ok.saturating_add(self.bad_status).saturating_add(self.bad_body)
    }

    /// Checks that every planned request has exactly one outcome, and that no more was sent than planned.
    ///
    /// # Errors
    /// [`SumMismatch`] with both figures.
    pub fn adds_up(&self) -> Result<(), SumMismatch> {
        let outcomes = self.outcomes();
        if outcomes == self.planned && self.sent <= self.planned {
            Ok(())
        } else {
            Err(SumMismatch { planned: self.planned, sent: self.sent, outcomes })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_of_each() -> Requests {
        let mut requests = Requests { planned: 9, sent: 7, ..Requests::default() };
        for outcome in Outcome::ALL {
            requests.add(outcome, 1);
        }
        requests
    }

    #[test]
    fn what_an_open_loop_did_not_send_is_no_fault_of_the_server() {
        let requests = one_of_each();
        assert_eq!((requests.failed_in(Mode::ClosedLoop), requests.failed_in(Mode::OpenLoop)), (8, 7));
    }

    #[test]
    fn identity_holds_and_breaks() {
        let mut requests = one_of_each();
        assert_eq!(requests.adds_up(), Ok(()));
        assert_eq!((requests.failed(), requests.done()), (8, 3));
        requests.add(Outcome::Reset, 1);
        let error = requests.adds_up().expect_err("ten outcomes for nine requests");
        assert_eq!((error.planned, error.outcomes), (9, 10));
        let oversent = Requests { planned: 1, sent: 2, ok: 1, ..Requests::default() };
        assert!(oversent.adds_up().is_err());
    }

    #[test]
    fn merge_adds_every_field() {
        let mut requests = one_of_each();
        requests.merge(&one_of_each());
        assert_eq!((requests.planned, requests.sent), (18, 14));
        assert!(Outcome::ALL.iter().all(|outcome| requests.count(*outcome) == 2));
    }

    #[test]
    fn keys_are_the_json_keys() {
        let json = serde_json::to_value(one_of_each()).expect("plain integers serialise");
        let object = json.as_object().expect("a struct is an object");
        assert_eq!(object.len(), Outcome::ALL.len() + 2);
        for outcome in Outcome::ALL {
            assert_eq!(object[outcome.key()], 1);
            assert_eq!(serde_json::to_value(outcome).expect("a unit variant"), outcome.key());
        }
    }
}
