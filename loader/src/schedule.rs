//! When each request of an open loop is due: `due(n) = start + n * 10^9 / rate`, exact, whatever the machine does meanwhile.

/// The due times of one shard. Requests are numbered over all shards from the start of the run on; shard `s` of `k` has those
/// whose number leaves the rest `s` when divided by `k`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    rate_per_s: u64,
    shards: u64,
    shard: u64,
    start_ns: u64,
    /// Requests of this shard taken so far.
    taken: u64,
    /// When the next one is due; `u64::MAX` before the start is known.
    next_ns: u64,
    /// The fraction of a nanosecond that `next_ns` leaves out, in parts of the rate.
    next_rest: u64,
}

const SECOND_NS: u128 = 1_000_000_000;

impl Schedule {
    /// For a shard of several, `rate_per_s` being that of all of them; it begins with [`Schedule::starts_at`].
    pub(crate) fn new(rate_per_s: u64, shards: u64, shard: u64) -> Self {
        debug_assert!(rate_per_s > 0 && shard < shards);
        Schedule { rate_per_s, shards, shard, start_ns: u64::MAX, taken: 0, next_ns: u64::MAX, next_rest: 0 }
    }

    pub(crate) fn starts_at(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        let first = u128::from(self.shard) * SECOND_NS;
        self.next_ns = start_ns + (first / u128::from(self.rate_per_s)) as u64;
        self.next_rest = (first % u128::from(self.rate_per_s)) as u64;
    }

    /// When the next request is due.
    #[inline]
    pub(crate) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// The due time of the oldest request that is due and was not taken, which is taken by that.
    #[inline]
    pub(crate) fn take(&mut self, now_ns: u64) -> Option<u64> {
        let due_ns = self.next_ns;
        if due_ns > now_ns {
            return None;
        }
        self.taken += 1;
        let step = u128::from(self.shards) * SECOND_NS + u128::from(self.next_rest);
        let rate = u128::from(self.rate_per_s);
        // Both fit: a step is at most shards * 10^9 ns.
        self.next_ns += (step / rate) as u64;
        self.next_rest = (step % rate) as u64;
        Some(due_ns)
    }

    /// Requests of this shard that are due at `at_ns` or earlier, those taken included.
    fn due_by(&self, at_ns: u64) -> u64 {
        if self.start_ns > at_ns {
            return 0;
        }
        // floor(n * 10^9 / rate) <= elapsed, counted over all shards.
        let elapsed = u128::from(at_ns - self.start_ns) + 1;
        let of_all = (elapsed * u128::from(self.rate_per_s)).div_ceil(SECOND_NS);
        let (shard, shards) = (u128::from(self.shard), u128::from(self.shards));
        ((of_all + shards - 1 - shard) / shards) as u64
    }

    /// Requests that are due at `now_ns` and were not taken.
    pub(crate) fn waiting(&self, now_ns: u64) -> u64 {
        self.due_by(now_ns).saturating_sub(self.taken)
    }

    /// Passes over all that are due before `at_ns` and were not taken; how many.
    pub(crate) fn skip_before(&mut self, at_ns: u64) -> u64 {
        let (skipped, _) = self.take_rest(at_ns, at_ns);
        if skipped > 0 {
            let number = u128::from(self.taken) * u128::from(self.shards) + u128::from(self.shard);
            let (due, rate) = (number * SECOND_NS, u128::from(self.rate_per_s));
            self.next_ns = self.start_ns + (due / rate) as u64;
            self.next_rest = (due % rate) as u64;
        }
        skipped
    }

    /// Takes all that are due before `until_ns` and were not taken; how many were due before `from_ns`, and how many then.
    pub(crate) fn take_rest(&mut self, from_ns: u64, until_ns: u64) -> (u64, u64) {
        let before = |at_ns: u64| at_ns.checked_sub(1).map_or(0, |last_ns| self.due_by(last_ns)).max(self.taken);
        let (early, all) = (before(from_ns.min(until_ns)), before(until_ns));
        let rest = (early - self.taken, all - early);
        self.taken = all;
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the definition, in one step.
    fn due(schedule: &Schedule, k: u64) -> u64 {
        let n = u128::from(k) * u128::from(schedule.shards) + u128::from(schedule.shard);
        schedule.start_ns + (n * SECOND_NS / u128::from(schedule.rate_per_s)) as u64
    }

    #[test]
    fn due_times_are_exact_at_every_rate_and_split() {
        for (rate, shards) in [(1, 1), (3, 2), (7, 3), (10_000, 1), (999_999_937, 5), (1_000_000_000, 7), (333, 64)] {
            for shard in [0, shards / 2, shards - 1] {
                let mut schedule = Schedule::new(rate, shards, shard);
                assert_eq!(schedule.take(u64::MAX - 1), None, "nothing is due before the start is known");
                schedule.starts_at(1_000);
                for k in 0..5_000 {
                    let expected = due(&schedule, k);
                    assert_eq!(schedule.next_ns(), expected, "{rate}/s, shard {shard} of {shards}, request {k}");
                    assert_eq!(schedule.waiting(expected), 1);
                    assert_eq!(expected.checked_sub(1).map_or(0, |before| schedule.waiting(before)), 0);
                    assert_eq!(schedule.take(expected - 1), None);
                    assert_eq!(schedule.take(expected), Some(expected));
                }
            }
        }
    }

    #[test]
    fn a_second_has_exactly_its_requests_over_all_shards() {
        for (rate, shards) in [(1, 4), (5, 1), (10_000, 3), (999_983, 8)] {
            let until = 77 + 1_000_000_000;
            let rest = (0..shards).map(|shard| {
                let mut schedule = Schedule::new(rate, shards, shard);
                schedule.starts_at(77);
                schedule.take_rest(77 + 500_000_000, until)
            });
            let (early, late) = rest.fold((0, 0), |sum, rest| (sum.0 + rest.0, sum.1 + rest.1));
            assert_eq!(early + late, rate, "{rate}/s on {shards} shards");
            assert_eq!(early, rate.div_ceil(2));
        }
    }

    #[test]
    fn what_is_skipped_leaves_the_due_times_of_the_others_alone() {
        for (rate, shards, shard) in [(7, 3, 1), (999_999_937, 5, 4), (1_000, 1, 0)] {
            let mut schedule = Schedule::new(rate, shards, shard);
            schedule.starts_at(1_000);
            let first = schedule.take(u64::MAX - 1).expect("due some day");
            let expected = due(&schedule, 4_000);
            assert_eq!(schedule.skip_before(expected), 3_999, "{rate}/s, shard {shard} of {shards}, after {first}");
            assert_eq!(schedule.skip_before(expected), 0);
            for k in 4_000..4_100 {
                assert_eq!(schedule.take(u64::MAX - 1), Some(due(&schedule, k)));
            }
        }
    }

    #[test]
    fn what_was_taken_is_not_rest() {
        let mut schedule = Schedule::new(1_000, 1, 0);
        schedule.starts_at(0);
        for _ in 0..3 {
            assert!(schedule.take(1_000_000_000).is_some());
        }
        assert_eq!(schedule.waiting(9_999_999), 7);
        assert_eq!(schedule.take_rest(5_000_000, 10_000_000), (2, 5));
        assert_eq!(schedule.take_rest(5_000_000, 10_000_000), (0, 0));
    }
}
