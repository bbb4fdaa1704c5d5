//! The whole path, server and loader on real engines in one process: more requests take no more allocations.

use std::sync::atomic::AtomicBool;

use engine::Engine;
use loader::{Length, LoadPlan, Target};
use server::StartOptions;

#[global_allocator]
static COUNTING: counting::Counting = counting::Counting;

/// Allocations of a whole run of so many requests, connecting and reporting included.
fn run(url: &str, engine: Engine, body: &'static [u8], total: u64) -> u64 {
    let mut plan = plan_for(url);
    plan.body = bytes::Bytes::from_static(body);
    of_run(plan, engine, total)
}

fn plan_for(url: &str) -> LoadPlan {
    LoadPlan::new(Target::parse(url).expect("a URL"))
}

fn of_run(mut plan: LoadPlan, engine: Engine, total: u64) -> u64 {
    plan.connections = 8;
    plan.engine = engine;
    plan.length = Length::Requests { total };
    counting::count_the_process();
    let allocations = || counting::of_the_process().expect("it counts").allocations;
    let before = allocations();
    let report = loader::run(&plan, &AtomicBool::new(false), &mut |_| {}).expect("a result");
    assert_eq!(report.run.requests.ok, total, "{:?}", report.run.requests);
    allocations() - before
}

/// Three requests, their weights uneven.
fn mix(target: &Target) -> loader::Mix {
    let text = "[[request]]\nname = \"a\"\npath = \"/health\"\nweight = 3\n[[request]]\nname = \"b\"\npath = \"/json\"\n\
                [[request]]\nname = \"c\"\npath = \"/echo\"\nbody = \"ccc\"\nweight = 2\n";
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s.toml");
    std::fs::write(&path, text).expect("written");
    loader::scenario::read(&path, target, &loader::Expect::default()).expect("sound")
}

#[test]
fn no_request_allocates_on_our_engines_and_monoio() {
    let body: &'static [u8] = Box::leak(vec![b'e'; 256].into_boxed_slice());
    for engine in Engine::ALL {
        let listen = ["http://127.0.0.1:0", "zap://127.0.0.1:0", "floor://127.0.0.1:0"]
            .map(|url| url.parse().expect("a listen URL"))
            .to_vec();
        let running = server::start(StartOptions { engine, listen, ..StartOptions::default() }).expect("started");
        for url in running.urls() {
            let routes = [("/health", &b""[..]), ("/plaintext", b""), ("/json", b""), ("/echo", body)];
            let sizes = [("", &b""[..]), ("/20000/100000", b"")];
            for &(path, body) in if url.starts_with("floor") { &sizes[..] } else { &routes } {
                let url = format!("{url}{path}");
                // The first run warms everything up: pools, threads, the allocator itself.
                run(&url, engine, body, 2_000);
                // Least of a few: a run may connect in another order and grow a table on the way.
                let least = |total| (0..3).map(|_| run(&url, engine, body, total)).min().expect("three runs");
                let (few, many) = (least(2_000), least(22_000));
                let each = many.saturating_sub(few) as f64 / 20_000.0;
                if engine == Engine::Glommio {
                    // Its own, for each poll of a socket, on both sides: told, not promised.
                    println!("{engine} {url}: {each:.2} allocations per request on both sides");
                    continue;
                }
                assert!(
                    many <= few + 20,
                    "{engine} {url}: {few} allocations for 2,000 requests, {many} for 22,000: {each} per request"
                );
            }
        }
        for url in running.urls().iter().filter(|url| !url.starts_with("floor")) {
            // Open loop on one wire, closed on the other: it is the same code on both.
            let rate_per_s = url.starts_with("http").then_some(100_000);
            let several = || {
                let plan = plan_for(url);
                LoadPlan { mix: Some(mix(&plan.target)), pipeline: 2, rate_per_s, ..plan }
            };
            of_run(several(), engine, 2_000);
            let least = |total| (0..3).map(|_| of_run(several(), engine, total)).min().expect("three runs");
            let (few, many) = (least(2_000), least(22_000));
            assert!(
                engine == Engine::Glommio || many <= few + 20,
                "{engine} {url}: {few} allocations for 2,000 requests of a scenario, {many} for 22,000"
            );
        }
        running.join().expect("ended well");
    }
}
