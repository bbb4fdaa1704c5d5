//! The system's allocator with counters: how often a thread allocates, and, once asked, how often the whole process does and how many
//! bytes it holds.
//!
//! Owns those counts and nothing else: each call is handed on as it came, so that what is measured costs what it costs without it, but for
//! one addition to a thread-local and one look at a flag. A program or test makes it its own:
//!
//! ```
//! #[global_allocator]
//! static COUNTING: counting::Counting = counting::Counting;
//! ```

#![allow(unsafe_code, reason = "an allocator cannot be written without")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed},
};

use serde::Serialize;

/// The allocator.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counting;

/// What the whole process did since [`count_the_process`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ProcessFigures {
    /// Allocations and reallocations.
    pub allocations: u64,
    /// Bytes allocated less bytes freed; below zero when what was there before has been freed since.
    pub live_bytes: i64,
}

static COUNTS_THE_PROCESS: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static LIVE_BYTES: AtomicI64 = AtomicI64::new(0);

thread_local! {
    static OF_THIS_THREAD: Cell<u64> = const { Cell::new(0) };
}

/// Begins to count for the whole process; there is no way back.
pub fn count_the_process() {
    COUNTS_THE_PROCESS.store(true, Relaxed);
}

/// The figures of the whole process; `None` when nobody asked for them.
#[must_use]
pub fn of_the_process() -> Option<ProcessFigures> {
    COUNTS_THE_PROCESS
        .load(Relaxed)
        .then(|| ProcessFigures { allocations: ALLOCATIONS.load(Relaxed), live_bytes: LIVE_BYTES.load(Relaxed) })
}

/// Allocations and reallocations of the calling thread so far.
#[inline]
#[must_use]
pub fn of_this_thread() -> u64 {
    OF_THIS_THREAD.with(Cell::get)
}

#[inline]
fn allocated(grown_bytes: i64) {
    // A thread that is ending has no cell any more, and nothing to measure.
    let _ = OF_THIS_THREAD.try_with(|count| count.set(count.get() + 1));
    if COUNTS_THE_PROCESS.load(Relaxed) {
        ALLOCATIONS.fetch_add(1, Relaxed);
        LIVE_BYTES.fetch_add(grown_bytes, Relaxed);
    }
}

#[inline]
fn freed(bytes: i64) {
    if COUNTS_THE_PROCESS.load(Relaxed) {
        LIVE_BYTES.fetch_sub(bytes, Relaxed);
    }
}

/// No object is larger than `isize::MAX` bytes (`Layout`), so that none is cut here.
const fn signed(bytes: usize) -> i64 {
    bytes as i64
}

// SAFETY: each call is handed to `System` as it came, so its contract holds as far as the caller's does; counting touches atomics and a
// const-initialised thread-local without a destructor, and so does not allocate.
unsafe impl GlobalAlloc for Counting {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        allocated(signed(layout.size()));
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        allocated(signed(layout.size()));
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        freed(signed(layout.size()));
        // SAFETY: `at` came from `System` with this layout, as all of ours do.
        unsafe { System.dealloc(at, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        allocated(signed(bytes) - signed(layout.size()));
        // SAFETY: `at` came from `System` with this layout; the caller's promise about `bytes` is passed on.
        unsafe { System.realloc(at, layout, bytes) }
    }
}
