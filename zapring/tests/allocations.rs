//! The whole path, server and loader on real engines in one process: more requests take no more allocations.
#![allow(unsafe_code, reason = "counting allocations takes an allocator of our own")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use engine::Engine;
use loader::{Length, LoadPlan, Target};
use server::StartOptions;

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Allocations of a whole run of so many requests, connecting and reporting included.
fn run(url: &str, engine: Engine, body: &'static [u8], total: u64) -> u64 {
    let mut plan = LoadPlan::new(Target::parse(url).expect("a URL"));
    plan.connections = 8;
    plan.engine = engine;
    plan.length = Length::Requests { total };
    plan.body = bytes::Bytes::from_static(body);
    let before = ALLOCATIONS.load(Relaxed);
    let report = loader::run(&plan, &AtomicBool::new(false), &mut |_| {}).expect("a result");
    assert_eq!(report.run.requests.ok, total, "{:?}", report.run.requests);
    ALLOCATIONS.load(Relaxed) - before
}

#[test]
fn no_request_allocates_on_any_engine_or_wire() {
    let body: &'static [u8] = Box::leak(vec![b'e'; 256].into_boxed_slice());
    for engine in Engine::ALL {
        let listen = ["http://127.0.0.1:0", "zap://127.0.0.1:0"].map(|url| url.parse().expect("a listen URL")).to_vec();
        let running = server::start(StartOptions { engine, listen, ..StartOptions::default() }).expect("started");
        for url in running.urls() {
            for (path, body) in [("/health", &b""[..]), ("/plaintext", b""), ("/json", b""), ("/echo", body)] {
                let url = format!("{url}{path}");
                // The first run warms everything up: pools, threads, the allocator itself.
                run(&url, engine, body, 2_000);
                // Least of a few: a run may connect in another order and grow a table on the way.
                let least = |total| (0..3).map(|_| run(&url, engine, body, total)).min().expect("three runs");
                let (few, many) = (least(2_000), least(22_000));
                assert!(
                    many <= few + 20,
                    "{engine} {url}: {few} allocations for 2,000 requests, {many} for 22,000: {} per request",
                    many.saturating_sub(few) as f64 / 20_000.0
                );
            }
        }
        running.join().expect("ended well");
    }
}
