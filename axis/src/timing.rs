//! Timing the cases: batches of operations, interleaved, on one core.
//!
//! Owns the order and the number of operations. Each round has one batch of every case, so that what changes on the host changes for
//! all; ratios are taken round by round. Allocations are counted in a batch of their own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::case::Case;
use crate::error::AxisError;
use crate::limits::{BATCH_NS, COUNTED_OPERATIONS, MAX_BATCH_OPERATIONS};

/// What was measured of one case.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Timed {
    /// Operations of each batch.
    pub operations: u64,
    /// How long each batch took, in nanoseconds, in the order of the rounds.
    pub elapsed_ns: Vec<u64>,
    /// Allocations over [`COUNTED_OPERATIONS`].
    pub allocations: u64,
}

/// Allocations of the calling thread so far; the caller has the allocator.
pub type Allocations = fn() -> u64;

/// Pins the calling thread and reads the pin back.
///
/// # Errors
/// [`AxisError::Pin`].
pub fn pin(core: usize) -> Result<(), AxisError> {
    // The crate aborts on a number beyond the kernel's CPU sets, so ask only for what is allowed.
    let allowed = || core_affinity::get_core_ids().unwrap_or_default();
    let pinned = allowed().iter().any(|id| id.id == core)
        && core_affinity::set_for_current(core_affinity::CoreId { id: core })
        && allowed().iter().map(|id| id.id).eq([core]);
    if pinned { Ok(()) } else { Err(AxisError::Pin { core }) }
}

/// Measures every case in `rounds` rounds; fewer when `stop` is raised.
pub fn measure(cases: &mut [Case], rounds: usize, allocations: Allocations, stop: &AtomicBool) -> Vec<Timed> {
    let mut all: Vec<Timed> = cases.iter_mut().map(|case| prepared(case, allocations)).collect();
    for _ in 0..rounds {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        for (case, timed) in cases.iter_mut().zip(&mut all) {
            timed.elapsed_ns.push(elapsed_ns(case, timed.operations));
        }
    }
    all
}

/// Counts allocations, and finds how many operations make a batch.
fn prepared(case: &mut Case, allocations: Allocations) -> Timed {
    // The first grow what is kept.
    case.run(16);
    let before = allocations();
    case.run(COUNTED_OPERATIONS);
    let allocations = allocations() - before;
    let mut operations = 1;
    while operations < MAX_BATCH_OPERATIONS {
        let taken_ns = elapsed_ns(case, operations);
        if taken_ns >= BATCH_NS / 4 {
            operations = scaled(operations, taken_ns);
            break;
        }
        operations *= 2;
    }
    Timed { operations: operations.min(MAX_BATCH_OPERATIONS), elapsed_ns: Vec::new(), allocations }
}

/// Operations that take [`BATCH_NS`] when so many took `taken_ns`; at least one.
fn scaled(operations: u64, taken_ns: u64) -> u64 {
    let wanted = u128::from(operations) * u128::from(BATCH_NS) / u128::from(taken_ns.max(1));
    u64::try_from(wanted).unwrap_or(MAX_BATCH_OPERATIONS).max(1)
}

fn elapsed_ns(case: &mut Case, operations: u64) -> u64 {
    let start = Instant::now();
    case.run(operations);
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Name;

    fn case() -> Case {
        let name = Name { message: "test".to_owned(), operation: "add", codec: "zap" };
        Case::new(name, 8, 3, || std::hint::black_box(3))
    }

    #[test]
    fn every_round_has_a_batch_of_every_case() {
        let timed = measure(&mut [case(), case()], 3, || 0, &AtomicBool::new(false));
        assert!(timed.iter().all(|timed| timed.elapsed_ns.len() == 3 && timed.operations >= 1));
        let none = measure(&mut [case()], 3, || 0, &AtomicBool::new(true));
        assert!(none[0].elapsed_ns.is_empty());
    }

    #[test]
    fn batches_are_scaled_to_their_time() {
        assert_eq!(scaled(1000, BATCH_NS / 2), 2000);
        assert_eq!(scaled(1, 10 * BATCH_NS), 1);
        assert_eq!(scaled(1, 0), BATCH_NS);
    }

    #[test]
    #[should_panic(expected = "reads what was not written")]
    fn a_case_that_does_not_do_its_work_is_found_out() {
        let name = Name { message: "test".to_owned(), operation: "add", codec: "zap" };
        Case::new(name, 8, 3, || 4).run(2);
    }
}
