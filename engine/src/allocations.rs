//! How often this process allocates and how many bytes it holds: a global allocator that counts once it is told to.
//!
//! Until then it costs one load per allocation, and a request needs none. It stands here because an allocator cannot be written without
//! `unsafe`.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed},
};

use serde::Serialize;

static COUNTS: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static LIVE_BYTES: AtomicI64 = AtomicI64::new(0);

/// The system's allocator with counters. A program makes it its own with `#[global_allocator]`.
#[derive(Debug, Clone, Copy, Default)]
pub struct CountingAllocator;

/// What was counted since [`count_allocations`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct AllocationFigures {
    /// Allocations and reallocations.
    pub allocations: u64,
    /// Bytes allocated less bytes freed; below zero when what was there before has been freed since.
    pub live_bytes: i64,
}

/// Begins to count; there is no way back. Nothing is counted in a program whose allocator is another one.
pub fn count_allocations() {
    COUNTS.store(true, Relaxed);
}

/// The figures of the whole process; `None` when nobody asked to count.
#[must_use]
pub fn allocation_figures() -> Option<AllocationFigures> {
    COUNTS
        .load(Relaxed)
        .then(|| AllocationFigures { allocations: ALLOCATIONS.load(Relaxed), live_bytes: LIVE_BYTES.load(Relaxed) })
}

#[inline]
fn count(allocations: u64, grown_bytes: i64) {
    if COUNTS.load(Relaxed) {
        ALLOCATIONS.fetch_add(allocations, Relaxed);
        LIVE_BYTES.fetch_add(grown_bytes, Relaxed);
    }
}

/// No object is larger than `isize::MAX` bytes (`Layout`), so that none is cut here.
const fn signed(bytes: usize) -> i64 {
    bytes as i64
}

// SAFETY: every call is handed to `System` as it came, so that its contract holds as far as the caller's does; counting touches atomics
// and does not allocate.
unsafe impl GlobalAlloc for CountingAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, signed(layout.size()));
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(1, signed(layout.size()));
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(0, -signed(layout.size()));
        // SAFETY: `at` came from `System` with this layout, as all of ours do.
        unsafe { System.dealloc(at, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count(1, signed(bytes) - signed(layout.size()));
        // SAFETY: `at` came from `System` with this layout; the caller's promise about `bytes` is passed on.
        unsafe { System.realloc(at, layout, bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growing_and_freeing_are_counted_once_asked() {
        let layout = |bytes| Layout::from_size_align(bytes, 8).expect("a small size");
        // SAFETY: the allocation is made with the layouts given here, grown once and freed once.
        let exercise = || unsafe {
            let at = CountingAllocator.alloc(layout(100));
            let at = CountingAllocator.realloc(at, layout(100), 300);
            let held = allocation_figures();
            CountingAllocator.dealloc(at, layout(300));
            held
        };
        assert_eq!(exercise(), None);
        count_allocations();
        let held = exercise().expect("it counts");
        assert_eq!((held.allocations, held.live_bytes), (2, 300));
        let freed = allocation_figures().expect("it counts");
        assert_eq!((freed.allocations, freed.live_bytes), (2, 0));
    }
}
