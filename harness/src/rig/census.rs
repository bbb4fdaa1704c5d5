//! Where the connections of a run went: the server is asked before it and after it, and what it says is held against what the loader
//! opened.
//!
//! How a server is asked is its protocol's business: whoever makes a [`Census`] brings a function that knows. It is asked over a
//! connection and not by a signal, so that any server with such figures can be measured, and only while nothing runs.

use std::fmt;
use std::sync::Arc;

use results::{Placement, Run, ServerCounts, Spread, Validity, ValidityCode};

use crate::cores::CoreLayout;

/// What all shards of a server have counted since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Requests on every wire.
    pub requests: u64,
    /// Operations given to the kernel.
    pub operations: u64,
    /// Completions taken.
    pub completions: u64,
    /// Waits.
    pub enters: u64,
    /// Allocations, where it counts them.
    pub allocations: Option<u64>,
    /// Bytes on its heap since it counts them.
    pub live_bytes: Option<i64>,
}

impl Totals {
    /// What was counted between two answers; `None` when they are not of one server.
    fn since(&self, before: &Self) -> Option<ServerCounts> {
        Some(ServerCounts {
            requests: self.requests.checked_sub(before.requests)?,
            operations: self.operations.checked_sub(before.operations)?,
            completions: self.completions.checked_sub(before.completions)?,
            enters: self.enters.checked_sub(before.enters)?,
            allocations: self.allocations.zip(before.allocations).and_then(|(end, start)| end.checked_sub(start)),
            live_start_bytes: before.live_bytes,
            live_end_bytes: self.live_bytes,
            instructions: None,
        })
    }
}

/// What a server says about its shards.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShardCounts {
    /// Connections that each shard has accepted since it began, in shard order.
    pub accepted: Vec<u64>,
    /// The shard that answered: it got the one connection made for asking.
    pub asked: usize,
    /// What they counted together.
    pub totals: Totals,
}

impl ShardCounts {
    /// Connections accepted per shard since `before`, without the one made for asking now. `None` when the two do not belong together.
    fn since(&self, before: &Self) -> Option<Vec<u64>> {
        if self.accepted.len() != before.accepted.len() {
            return None;
        }
        let counts = self.accepted.iter().zip(&before.accepted).enumerate();
        counts.map(|(shard, (after, before))| after.checked_sub(before + u64::from(shard == self.asked))).collect()
    }
}

type Ask = dyn Fn(&str) -> Result<ShardCounts, String> + Send + Sync;

/// How to ask a server for its counts.
#[derive(Clone)]
pub struct Census {
    wire: String,
    ask: Arc<Ask>,
}

impl Census {
    /// `ask` is given the server's address on `wire`, as in `http://127.0.0.1:41231`, makes one connection, and closes it.
    pub fn new(wire: &str, ask: impl Fn(&str) -> Result<ShardCounts, String> + Send + Sync + 'static) -> Self {
        Self { wire: wire.to_owned(), ask: Arc::new(ask) }
    }

    /// The wire on which it is asked.
    #[must_use]
    pub fn wire(&self) -> &str {
        &self.wire
    }

    pub(super) fn ask(&self, address: &str) -> Result<ShardCounts, String> {
        (self.ask)(address)
    }
}

impl fmt::Debug for Census {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Census").field("wire", &self.wire).finish_non_exhaustive()
    }
}

/// Two answers of the server, around one run.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) before: Result<ShardCounts, String>,
    pub(super) after: Result<ShardCounts, String>,
}

/// What two answers amount to.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Where the run's connections lay.
    pub(super) spread: Option<Spread>,
    /// What the server counted of itself.
    pub(super) counts: Option<ServerCounts>,
    /// What is doubtful about the spread.
    pub(super) doubts: Vec<Validity>,
}

impl Counted {
    /// The spread of the run's connections, what is doubtful about it, and what else was counted.
    pub(super) fn judge(self, cores: &CoreLayout, run: &Run) -> Found {
        let counts = match (&self.before, &self.after) {
            (Ok(before), Ok(after)) => after.totals.since(&before.totals),
            _ => None,
        };
        let driven = cores.driven(run.config.connections);
        let mut doubts = Vec::new();
        doubts.extend(idle_shards(cores, driven));
        let per_shard = match (self.before, self.after) {
            (Ok(before), Ok(after)) => {
                after.since(&before).ok_or_else(|| "the server's counts ran backwards".to_owned())
            }
            (Err(reason), _) | (_, Err(reason)) => Err(reason),
        };
        match per_shard {
            Ok(per_shard) => {
                let spread = Spread { per_shard, driven: driven as u64 };
                doubts.extend(spread.uneven());
                if cores.placement == Placement::Paired {
                    let opened: Vec<u64> = run.cores.iter().map(|row| row.connections.into()).collect();
                    doubts.extend(spread.unpaired(&opened, run.reconnects));
                }
                Found { spread: Some(spread), counts, doubts }
            }
            Err(reason) => {
                doubts.push(Validity::note(ValidityCode::SpreadUnknown, reason));
                Found { spread: None, counts, doubts }
            }
        }
    }
}

/// Where connections are steered and there are fewer than shards, the first shards get them all.
fn idle_shards(cores: &CoreLayout, driven: usize) -> Option<Validity> {
    (driven < cores.server.len()).then(|| {
        let detail = format!("only the shards on cores {} of {} were driven", cores.server.first(driven), cores.server);
        Validity::note(ValidityCode::IdleShards, detail)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::CoreRow;

    fn counts(accepted: &[u64], asked: usize) -> Result<ShardCounts, String> {
        Ok(ShardCounts { accepted: accepted.to_vec(), asked, totals: Totals::default() })
    }

    fn run(opened: &[u32]) -> Run {
        let mut run = Run::default();
        run.config.connections = opened.iter().sum();
        run.cores =
            opened.iter().map(|connections| CoreRow { connections: *connections, ..CoreRow::default() }).collect();
        run
    }

    fn judge(before: &[u64], after: (&[u64], usize), opened: &[u32]) -> (Option<Spread>, Vec<ValidityCode>) {
        let cores = CoreLayout::paired(&"0-1".parse().expect("a valid list"));
        let counted = Counted { before: counts(before, 0), after: counts(after.0, after.1) };
        let Found { spread, doubts, .. } = counted.judge(&cores, &run(opened));
        (spread, doubts.into_iter().map(|doubt| doubt.code).collect())
    }

    #[test]
    fn the_connection_made_for_asking_is_left_out() {
        let (spread, doubts) = judge(&[5, 7], (&[37, 40], 1), &[32, 32]);
        assert_eq!((spread, doubts), (Some(Spread { per_shard: vec![32, 32], driven: 2 }), vec![]));
    }

    #[test]
    fn a_stray_connection_is_noticed_even_where_the_asking_one_would_hide_it() {
        let (_, doubts) = judge(&[0, 0], (&[32, 33], 0), &[32, 32]);
        assert_eq!(doubts, [ValidityCode::Unpaired]);
    }

    #[test]
    fn idle_shards_are_named() {
        let cores = CoreLayout::paired(&"2-3".parse().expect("a valid list"));
        let counted = Counted { before: counts(&[0, 0], 0), after: counts(&[2, 0], 0) };
        let Found { spread, doubts, .. } = counted.judge(&cores, &run(&[1]));
        assert_eq!(spread.and_then(|spread| spread.range()), Some((1, 1)));
        assert_eq!(doubts[0].detail, "only the shards on cores 2 of 2-3 were driven");
        assert_eq!(doubts.len(), 1);
    }

    #[test]
    fn counts_are_differences_and_never_negative() {
        let totals = |requests, allocations, live_bytes| Totals {
            requests,
            operations: 2 * requests,
            allocations,
            live_bytes,
            ..Totals::default()
        };
        let (before, after) = (totals(10, Some(5), Some(-3)), totals(17, Some(6), Some(40)));
        let counts = after.since(&before).expect("one server");
        assert_eq!((counts.requests, counts.operations, counts.allocations), (7, 14, Some(1)));
        assert_eq!((counts.live_start_bytes, counts.live_end_bytes), (Some(-3), Some(40)));
        assert_eq!(before.since(&after), None);
        assert_eq!(totals(17, None, None).since(&before).expect("one server").allocations, None);
    }

    #[test]
    fn what_cannot_be_known_is_said() {
        assert_eq!(judge(&[9, 9], (&[1, 1], 0), &[4, 4]), (None, vec![ValidityCode::SpreadUnknown]));
        assert_eq!(judge(&[9], (&[1, 1], 0), &[4, 4]), (None, vec![ValidityCode::SpreadUnknown]));
        let cores = CoreLayout::split(&"0-3".parse().expect("a valid list"));
        let counted = Counted { before: counts(&[0, 0], 0), after: Err("nobody there".to_owned()) };
        let Found { spread, doubts, .. } = counted.judge(&cores, &run(&[2, 2]));
        assert_eq!((spread, doubts[0].detail.as_str()), (None, "nobody there"));
    }
}
