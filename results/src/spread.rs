//! How the connections of one run lay over the server's shards, and what is doubtful about it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::validity::{Validity, ValidityCode};

/// Connections accepted during one run, by shard, and how many of the shards were meant to get any.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Connections that each shard accepted, in shard order.
    pub per_shard: Vec<u64>,
    /// The first so many shards were meant to be driven: all of them, or one for each loader thread where connections are steered.
    pub driven: u64,
}

impl Spread {
    /// Counts of the shards that were meant to be driven.
    #[must_use]
    pub fn of_driven(&self) -> &[u64] {
        let driven = usize::try_from(self.driven).unwrap_or(usize::MAX);
        &self.per_shard[..driven.min(self.per_shard.len())]
    }

    /// Fewest and most connections of a driven shard; `None` without shards.
    #[must_use]
    pub fn range(&self) -> Option<(u64, u64)> {
        let driven = self.of_driven();
        Some((*driven.iter().min()?, *driven.iter().max()?))
    }

    /// A doubt when the fullest driven shard has more than twice the connections of the emptiest, though there were enough for all.
    #[must_use]
    pub fn uneven(&self) -> Option<Validity> {
        let (fewest, most) = self.range()?;
        let enough = self.per_shard.iter().sum::<u64>() >= self.driven;
        (enough && most > fewest.saturating_mul(2)).then(|| {
            let detail = format!("{fewest} to {most} connections on a server shard");
            Validity::note(ValidityCode::UnevenSpread, detail)
        })
    }

    /// A doubt when a shard did not get what the loader thread of its core opened: `opened` in shard order, and nothing beyond it.
    /// `reconnects` may have come to any driven shard.
    #[must_use]
    pub fn unpaired(&self, opened: &[u64], reconnects: u64) -> Option<Validity> {
        let opened_on = |shard: usize| opened.get(shard).copied().unwrap_or(0);
        let accepted: u64 = self.per_shard.iter().sum();
        let wanted = opened.iter().sum::<u64>().saturating_add(reconnects);
        let missing: u64 =
            self.per_shard.iter().enumerate().map(|(shard, count)| opened_on(shard).saturating_sub(*count)).sum();
        let strays: u64 = self.per_shard.iter().skip(opened.len()).sum();
        let elsewhere = missing.max(strays);
        (elsewhere > 0 || accepted != wanted).then(|| {
            let detail = format!(
                "of {wanted} connections {elsewhere} or more went to another core's shard: {} opened by loader threads, {} accepted by shards",
                listed(opened),
                listed(&self.per_shard)
            );
            Validity::note(ValidityCode::Unpaired, detail)
        })
    }
}

fn listed(counts: &[u64]) -> String {
    let counts: Vec<String> = counts.iter().map(ToString::to_string).collect();
    counts.join("+")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(per_shard: &[u64], driven: u64) -> Spread {
        Spread { per_shard: per_shard.to_vec(), driven }
    }

    #[test]
    fn only_driven_shards_count_for_the_range() {
        assert_eq!(spread(&[4, 5, 0, 0], 2).range(), Some((4, 5)));
        assert_eq!(spread(&[4, 5, 0, 0], 9).range(), Some((0, 5)));
        assert_eq!(spread(&[], 2).range(), None);
    }

    #[test]
    fn uneven_is_beyond_twice_and_only_where_there_was_enough() {
        for (per_shard, driven, uneven) in [
            (&[32, 32][..], 2, false),
            (&[20, 40], 2, false),
            (&[20, 41], 2, true),
            (&[0, 2], 2, true),
            (&[1, 0, 0, 0], 4, false),
            (&[1, 0, 0, 0], 1, false),
            (&[], 0, false),
        ] {
            assert_eq!(spread(per_shard, driven).uneven().is_some(), uneven, "{per_shard:?}");
        }
    }

    #[test]
    fn a_connection_on_the_shard_of_another_core_is_noticed() {
        assert_eq!(spread(&[4, 4], 2).unpaired(&[4, 4], 0), None);
        assert_eq!(spread(&[4, 0], 1).unpaired(&[4], 0), None);
        assert_eq!(spread(&[6, 4], 2).unpaired(&[4, 4], 2), None);
        let doubt = spread(&[3, 5], 2).unpaired(&[4, 4], 0).expect("one is on the wrong shard");
        assert_eq!(
            doubt.detail,
            "of 8 connections 1 or more went to another core's shard: 4+4 opened by loader threads, 3+5 accepted by shards"
        );
        assert!(spread(&[3, 1], 1).unpaired(&[4], 0).is_some());
        assert!(spread(&[4, 1], 1).unpaired(&[4], 1).is_some());
        assert!(spread(&[4, 4], 2).unpaired(&[4, 4], 1).is_some());
    }
}
