//! A side that is worse than it could be, on purpose: for trying what judges it (a verdict, a gate), and for nothing else.

use std::hint::{black_box, spin_loop};

use crate::clock::now_ns;
use crate::limits::MAX_LEAK_BYTES;

/// What every delivery of bytes to a shard costs on top; nothing by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Handicap {
    /// CPU time burnt, in nanoseconds.
    pub spin_ns: u64,
    /// Whether something is allocated and freed.
    pub allocates: bool,
    /// Bytes allocated, written and never freed, up to [`MAX_LEAK_BYTES`] per shard.
    pub leak_bytes: usize,
}

/// A handicap as one shard carries it.
#[derive(Debug, Default)]
pub struct Burden {
    handicap: Handicap,
    leaked: Vec<Box<[u8]>>,
    leaked_bytes: usize,
}

impl Burden {
    /// What a shard carries; `None` when it is nothing, so that a shard without one only asks whether there is any.
    #[must_use]
    pub fn of(handicap: Handicap) -> Option<Box<Self>> {
        (handicap != Handicap::default()).then(|| Box::new(Burden { handicap, leaked: Vec::new(), leaked_bytes: 0 }))
    }

    /// Pays for one delivery.
    #[cold]
    pub fn pay(&mut self) {
        let Handicap { spin_ns, allocates, leak_bytes } = self.handicap;
        if spin_ns > 0 {
            let until_ns = now_ns() + spin_ns;
            while now_ns() < until_ns {
                spin_loop();
            }
        }
        if allocates {
            drop(black_box(Box::new([0_u8; 64])));
        }
        if leak_bytes > 0 && self.leaked_bytes.saturating_add(leak_bytes) <= MAX_LEAK_BYTES {
            // Written to, so that it is resident memory and not only an address.
            self.leaked.push(black_box(vec![1; leak_bytes].into_boxed_slice()));
            self.leaked_bytes += leak_bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_carried_for_nothing_and_a_leak_has_an_end() {
        assert!(Burden::of(Handicap::default()).is_none());
        let mut burden =
            Burden::of(Handicap { leak_bytes: MAX_LEAK_BYTES / 2, ..Handicap::default() }).expect("a leak");
        for _ in 0..3 {
            burden.pay();
        }
        assert_eq!((burden.leaked.len(), burden.leaked_bytes), (2, MAX_LEAK_BYTES));
    }

    #[test]
    fn spinning_takes_as_long_as_asked() {
        let mut burden = Burden::of(Handicap { spin_ns: 50_000, ..Handicap::default() }).expect("a spin");
        let begun_ns = now_ns();
        burden.pay();
        assert!(now_ns() - begun_ns >= 50_000);
    }
}
