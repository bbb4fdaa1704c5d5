//! Whose turn it is when a run has several requests: an order made once from their weights, and each shard's place in it.
//!
//! The order is a smooth weighted round robin: over its whole length each request has exactly its share, and within it they are spread
//! as evenly as their weights allow. Chance would give shares that differ from run to run.

use std::sync::Arc;

use crate::limits::MAX_ORDER;

/// The order of these weights, by index: as long as their sum without their common factor. `None` where that is longer than
/// [`MAX_ORDER`]. Every weight is at least 1.
pub(crate) fn order(weights: &[u32]) -> Option<Vec<u16>> {
    let factor = common_factor(weights);
    let length = usize::try_from(reduced_sum(weights)).ok().filter(|length| *length <= MAX_ORDER)?;
    let weights: Vec<i64> = weights.iter().map(|weight| i64::from(weight / factor)).collect();
    let total = length as i64;
    // Each turn everybody earns its weight, and the richest pays for all.
    let mut credits = vec![0; weights.len()];
    let mut order = Vec::with_capacity(length);
    for _ in 0..length {
        let mut richest = 0;
        for index in 0..weights.len() {
            credits[index] += weights[index];
            if credits[index] > credits[richest] {
                richest = index;
            }
        }
        credits[richest] -= total;
        order.push(richest as u16);
    }
    Some(order)
}

/// The sum of these weights, divided by their common factor.
pub(crate) fn reduced_sum(weights: &[u32]) -> u64 {
    weights.iter().copied().map(u64::from).sum::<u64>() / u64::from(common_factor(weights))
}

fn common_factor(weights: &[u32]) -> u32 {
    weights.iter().copied().fold(0, gcd).max(1)
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A shard's place in the order.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    order: Arc<[u16]>,
    at: usize,
    /// Where the measured part begins, whatever was sent before it.
    first: usize,
    /// Requests due from then on are measured; `u64::MAX` before the start is known, and once they are.
    from_ns: u64,
}

impl Turn {
    /// At place `first` of the order, which has at least one.
    pub(crate) fn new(order: Arc<[u16]>, first: u64) -> Self {
        let first = (first % order.len() as u64) as usize;
        Turn { order, at: first, first, from_ns: u64::MAX }
    }

    pub(crate) fn starts_at(&mut self, from_ns: u64) {
        self.from_ns = from_ns;
    }

    /// The request whose turn it is, when one is due at `due_ns`.
    #[inline]
    pub(crate) fn next(&mut self, due_ns: u64) -> u16 {
        if due_ns >= self.from_ns {
            self.from_ns = u64::MAX;
            self.at = self.first;
        }
        self.order[self.at]
    }

    /// It was sent.
    #[inline]
    pub(crate) fn taken(&mut self) {
        self.at += 1;
        if self.at == self.order.len() {
            self.at = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(order: &[u16], of: usize) -> Vec<u32> {
        let mut counts = vec![0; of];
        order.iter().for_each(|index| counts[usize::from(*index)] += 1);
        counts
    }

    #[test]
    fn each_has_exactly_its_share() {
        for weights in [&[1][..], &[7], &[1, 1], &[3, 1], &[6, 2, 2], &[5, 1, 1], &[1000, 999, 1], &[10_000; 6]] {
            let order = order(weights).expect("short enough");
            let factor = weights.iter().copied().fold(0, gcd);
            assert_eq!(counts(&order, weights.len()), weights.iter().map(|weight| weight / factor).collect::<Vec<_>>());
        }
        assert_eq!(order(&[10_000, 9_999, 10_000, 10_000, 10_000, 10_000, 10_000]), None);
    }

    #[test]
    fn shares_hold_within_the_order_too() {
        assert_eq!(order(&[5, 1, 1]).as_deref(), Some(&[0, 0, 1, 0, 2, 0, 0][..]));
        let weights = [50, 30, 15, 4, 1];
        let order = order(&weights).expect("short enough");
        for end in 1..=order.len() {
            for (index, count) in counts(&order[..end], weights.len()).into_iter().enumerate() {
                let fair = end as f64 * f64::from(weights[index]) / 100.0;
                assert!((f64::from(count) - fair).abs() < 2.0, "{count} of {end} where {fair} are fair");
            }
        }
    }

    #[test]
    fn the_measured_part_begins_where_it_would_without_a_warm_up() {
        let mut turn = Turn::new(vec![0, 1, 2].into(), 4);
        let mut take = |due_ns| {
            let next = turn.next(due_ns);
            turn.taken();
            next
        };
        assert_eq!([1, 2, 3, 4].map(&mut take), [1, 2, 0, 1]);
        turn.starts_at(10);
        let mut take = |due_ns| {
            let next = turn.next(due_ns);
            turn.taken();
            next
        };
        assert_eq!([9, 10, 11, 12].map(&mut take), [2, 1, 2, 0]);
    }
}
