//! In which order a round makes its runs: another one each time, so that nobody always follows the same neighbour or always runs
//! long after the base, and the same on every host, so that a sweep can be repeated.

/// The numbers below `count`, shuffled (Fisher and Yates) by numbers that follow from `round` alone (SplitMix64).
pub(crate) fn of_round(count: usize, round: u32) -> Vec<usize> {
    let mut state = u64::from(round);
    let mut random = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        let below = last as u64 + 1;
        order.swap(last, (random() % below) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_once_and_in_another_order_every_round() {
        for round in 0..20 {
            let mut order = of_round(11, round);
            assert_eq!(order, of_round(11, round), "the same on every host");
            assert_ne!(order, of_round(11, round + 1));
            order.sort_unstable();
            assert_eq!(order, (0..11).collect::<Vec<_>>());
        }
        assert!(of_round(0, 0).is_empty());
    }

    #[test]
    fn everybody_comes_first_sometimes() {
        let first: std::collections::BTreeSet<usize> = (0..64).map(|round| of_round(4, round)[0]).collect();
        assert_eq!(first.len(), 4);
    }
}
