//! A seeded sequence of numbers, so that every measurement of a case has the same requests.
//!
//! SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", 2014): an addition and three multiplications a
//! number, so that making requests weighs little in what is measured.

/// The sequence.
#[derive(Debug, Clone)]
pub(crate) struct Chance(u64);

impl Chance {
    /// The sequence of the suite.
    pub(crate) fn new() -> Self {
        Self(0x7a61_7072_696e_6721)
    }

    #[inline]
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not 0.
    #[inline]
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        // The high half of a product: no division, and a bias that no bound of the suite shows.
        (((self.next() >> 32) * u64::from(bound)) >> 32) as u32
    }

    /// Yes once in `times`.
    #[inline]
    pub(crate) fn once_in(&mut self, times: u32) -> bool {
        self.below(times) == 0
    }

    /// A number from 0 to `bound`.
    #[inline]
    pub(crate) fn up_to(&mut self, bound: f64) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64 * bound
    }

    /// One of them.
    #[inline]
    pub(crate) fn one_of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len() as u32) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_range_and_the_same_each_time() {
        let numbers = || {
            let mut chance = Chance::new();
            (0..1000).map(|_| chance.below(10)).collect::<Vec<_>>()
        };
        assert_eq!(numbers(), numbers());
        for number in 0..10 {
            let count = numbers().into_iter().filter(|found| *found == number).count();
            assert!((50..200).contains(&count), "{number} came {count} times");
        }
        let mut chance = Chance::new();
        assert!((0..1000).all(|_| (0.0..=20.0).contains(&chance.up_to(20.0))));
    }
}
