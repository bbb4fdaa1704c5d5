//! What became of requests: counts of the closed list, and the first message of each kind.
//!
//! How the list is filled:
//!
//! | what happened | outcome |
//! |---|---|
//! | complete answer, expected status, body of the declared (and asked for) content | `ok` |
//! | complete answer, another status | `bad_status` |
//! | expected status, but another body than asked for; or the peer closed in an orderly way before the declared end of a body | `bad_body` |
//! | a connection could not be made; one still being tried for the first time at the end of a run bounded by time | `connect` |
//! | the connection ended (or was dropped for a neighbour's `protocol` or `timeout`) before the answer was complete | `reset` |
//! | no complete answer at the age of the timeout | `timeout` |
//! | the bytes were no answer; an answer nobody asked for (planned and counted by itself) | `protocol` |
//! | under way when the drain ended or the run was stopped | `unfinished` |
//! | counted by `-n`, never sent | `not_sent` |

use results::{Outcome, Requests};

/// Counts and samples of one phase.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Planned, sent, and the count of each outcome.
    pub requests: Requests,
    samples: [Option<String>; Outcome::ALL.len()],
}

impl Tally {
    /// Counts requests that were sent.
    #[inline]
    pub(crate) fn sent(&mut self, count: u64) {
        self.requests.planned += count;
        self.requests.sent += count;
    }

    /// Counts outcomes of requests that were sent.
    #[inline]
    pub(crate) fn ended(&mut self, outcome: Outcome, count: u64) {
        self.requests.add(outcome, count);
    }

    /// Counts requests that were planned and never sent.
    pub(crate) fn never_sent(&mut self, outcome: Outcome, count: u64) {
        self.requests.planned += count;
        self.requests.add(outcome, count);
    }

    /// Keeps a message if it is the first of its kind; it is only made then.
    pub(crate) fn sample(&mut self, outcome: Outcome, message: impl FnOnce() -> String) {
        let slot = &mut self.samples[outcome as usize];
        if slot.is_none() {
            *slot = Some(message());
        }
    }

    /// The first message of each kind.
    pub fn samples(&self) -> impl Iterator<Item = (Outcome, &str)> {
        Outcome::ALL.into_iter().zip(&self.samples).filter_map(|(outcome, text)| Some((outcome, text.as_deref()?)))
    }

    /// Adds another shard's counts, and its samples where this one has none.
    pub fn merge(&mut self, other: Tally) {
        self.requests.merge(&other.requests);
        for (ours, theirs) in self.samples.iter_mut().zip(other.samples) {
            if ours.is_none() {
                *ours = theirs;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_index_their_samples() {
        assert!(Outcome::ALL.iter().enumerate().all(|(at, outcome)| *outcome as usize == at));
    }

    #[test]
    fn the_first_sample_stays_and_merging_adds() {
        let mut left = Tally::default();
        left.sent(3);
        left.ended(Outcome::Ok, 2);
        left.ended(Outcome::Reset, 1);
        left.sample(Outcome::Reset, || "first".into());
        left.sample(Outcome::Reset, || unreachable!("a second message is never made"));
        let mut right = Tally::default();
        right.never_sent(Outcome::Connect, 2);
        right.sample(Outcome::Reset, || "other".into());
        right.sample(Outcome::Connect, || "refused".into());
        left.merge(right);
        assert_eq!(left.requests.adds_up(), Ok(()));
        assert_eq!((left.requests.planned, left.requests.sent), (5, 3));
        let samples: Vec<_> = left.samples().collect();
        assert_eq!(samples, [(Outcome::Connect, "refused"), (Outcome::Reset, "first")]);
    }
}
