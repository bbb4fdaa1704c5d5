//! An allocator that counts, for tests that say how often something allocates. A test file includes it with
//! `#[path = "../../testing/counting.rs"] mod counting;` and holds such tests only: it counts for its whole binary.
#![allow(unsafe_code, reason = "an allocator cannot be written without")]
#![allow(dead_code, reason = "a test file counts per thread or for the process")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

static OF_THE_PROCESS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static OF_THIS_THREAD: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    OF_THE_PROCESS.fetch_add(1, Relaxed);
    // A thread that is ending has no cell any more, and nothing to measure.
    let _ = OF_THIS_THREAD.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: each call is handed to `System` as it came, so its contract holds as far as the caller's does; counting touches an
// atomic and a const-initialised thread-local and so does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: `at` came from `System` with this layout, as all of ours do.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count();
        // SAFETY: `at` came from `System` with this layout; the caller's promise about `bytes` is passed on.
        unsafe { System.realloc(at, layout, bytes) }
    }
}

/// Allocations and reallocations of the calling thread so far.
pub(crate) fn of_this_thread() -> u64 {
    OF_THIS_THREAD.with(Cell::get)
}

/// Allocations and reallocations of every thread so far.
pub(crate) fn of_the_process() -> u64 {
    OF_THE_PROCESS.load(Relaxed)
}
