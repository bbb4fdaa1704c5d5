//! CPU, core and memory figures: over built trees with known differences, and over this very process.

#[path = "../src/built_tree.rs"]
mod built_tree;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use built_tree::BuiltTree;
use harness::usage::{Sample, core_ticks, memory, thread_times};
use harness::{HostFiles, UsageError, Watch};
use results::{ContextSwitches, Throttling};

const PID: u32 = 77;
const TICK_NS: u64 = 10_000_000;

/// A built tree with a process in it.
struct Tree {
    tree: BuiltTree,
}

impl Tree {
    fn new() -> Self {
        let tree = Self { tree: BuiltTree::new() };
        tree.memory(1000, 2000);
        tree
    }

    fn put(&self, path: impl AsRef<Path>, text: &str) {
        self.tree.proc(path, text);
    }

    fn files(&self) -> &HostFiles {
        &self.tree.files
    }

    fn thread(&self, thread: u32, cpu_ns: u64) {
        self.put(format!("{PID}/task/{thread}/schedstat"), &format!("{cpu_ns} 5 6\n"));
    }

    fn memory(&self, rss_kib: u64, peak_kib: u64) {
        self.put(format!("{PID}/status"), &format!("Name:\tx\nVmHWM:\t{peak_kib} kB\nVmRSS:\t  {rss_kib} kB\n"));
    }

    fn ended(&self, thread: u32) {
        fs::remove_dir_all(self.files().proc_path(format!("{PID}/task/{thread}"))).expect("it was put there");
    }
}

/// proc(5): user nice system idle iowait irq softirq steal guest guest_nice.
fn core(name: &str, user: u64, idle: u64, iowait: u64, softirq: u64, steal: u64) -> String {
    format!("{name} {user} 1 2 {idle} {iowait} 3 {softirq} {steal} 50 0\n")
}

#[test]
fn differences_of_a_built_tree() {
    let tree = Tree::new();
    for (thread, cpu_ns) in [(77, 1_000), (78, 5_000), (79, 9_000)] {
        tree.thread(thread, cpu_ns);
    }
    let stat = |cores: &str| tree.put("stat", &format!("{}{cores}intr 1 2 3\n", core("cpu ", 9, 9, 9, 9, 9)));
    stat(&(core("cpu0", 100, 500, 70, 10, 4) + &core("cpu2", 10, 10, 10, 10, 10)));
    let start = Sample::take(tree.files(), PID, &[0, 2]).expect("a complete tree");

    tree.thread(77, 1_500);
    tree.ended(78);
    tree.thread(80, 300);
    tree.memory(3000, 2900);
    // In a second, core 0 slept 10 ticks, its idle ring waited 60 and 3 were stolen; the timer met only 20 of user and 5 of softirq in
    // the rest. Core 2 only waited.
    stat(&(core("cpu0", 120, 510, 130, 15, 7) + &core("cpu2", 10, 21, 99, 10, 10)));
    let end = Sample::take(tree.files(), PID, &[0, 2]).expect("a complete tree");

    let block = end.since(&start, PID, 1_000_000_000, TICK_NS);
    assert_eq!(block.cpu_ns, 500 + 300);
    let busy: Vec<_> = block.core_busy.iter().map(|core| (core.core, core.busy_ns, core.steal_ns)).collect();
    assert_eq!(busy, [(0, 270_000_000, 30_000_000), (2, 0, 0)]);
    let parts: Vec<_> = block.core_busy.iter().map(|core| (core.interrupt_ns, core.own_ns)).collect();
    assert_eq!(parts, [(Some(50_000_000), Some(800)), (Some(0), Some(800))], "threads that may run anywhere");
    assert_eq!((block.context_switches, block.throttling), (None, None));
    assert_eq!(block.core_busy[0].share(), Some(0.27));
    assert_eq!(
        (block.rss_start_bytes, block.rss_end_bytes, block.rss_peak_bytes),
        (1000 << 10, 3000 << 10, 3000 << 10)
    );
    assert_eq!((block.cpu_ns_per_request, block.pid, block.window_ns), (None, PID, 1_000_000_000));
}

#[test]
fn interrupts_may_be_apart_from_threads() {
    let tree = Tree::new();
    let apart = || core_ticks(tree.files(), &[0]).expect("a complete tree")[&0].interrupts_apart;
    tree.put("stat", "cpu0 90000 1 2 5 6 0 9000 0 0 0\n");
    assert!(!apart(), "irq is nothing, as where ticks count");
    tree.put("stat", "cpu0 90000 1 2 5 6 700 9000 0 0 0\n");
    assert!(apart());
    tree.put("stat", "cpu0 90000 1 2 5 6 0 9000 0 0 0\n");
    let queue = tree.files().sys_path("class/net/lo/queues/rx-0");
    fs::create_dir_all(&queue).expect("writable");
    for (mask, spread) in [("0\n", false), ("00000000,00000003\n", true)] {
        fs::write(queue.join("rps_cpus"), mask).expect("writable");
        assert_eq!(apart(), spread, "{mask}");
    }
}

#[test]
fn thread_time_belongs_to_the_core_it_is_pinned_to() {
    let tree = Tree::new();
    let at = |cpu_ns: [u64; 3], switches: u64, throttled_us: u64| {
        for (thread, (cpu_ns, cores)) in (77..).zip(cpu_ns.into_iter().zip(["0-1", "0", "1"])) {
            tree.thread(thread, cpu_ns);
            let status = format!(
                "Cpus_allowed_list:\t{cores}\nvoluntary_ctxt_switches:\t{switches}\nnonvoluntary_ctxt_switches:\t1\n"
            );
            tree.put(format!("{PID}/task/{thread}/status"), &status);
        }
        let idle = switches;
        tree.put("stat", &(core("cpu0", 1, idle, 1, 1, 1) + &core("cpu1", 1, idle, 1, 1, 1)));
        tree.put(format!("{PID}/cgroup"), "0::/box\n");
        let group = tree.files().sys_path("fs/cgroup/box");
        fs::create_dir_all(&group).expect("writable");
        fs::write(group.join("cpu.stat"), format!("nr_throttled 2\nthrottled_usec {throttled_us}\n"))
            .expect("writable");
        Sample::take(tree.files(), PID, &[0, 1]).expect("a complete tree")
    };
    let (start, end) = (at([10, 1000, 5000], 100, 40), at([17, 1200, 5001], 200, 65));
    let block = end.since(&start, PID, 1_000_000_000, TICK_NS);
    let own: Vec<_> = block.core_busy.iter().map(|core| core.own_ns).collect();
    assert_eq!(own, [Some(207), Some(8)], "the thread that may run on both counts on both");
    let busy: Vec<_> = block.core_busy.iter().map(|core| core.busy_ns).collect();
    assert_eq!(busy, [200, 1], "idle all the time by the ticks, but those that are pinned ran there and nowhere else");
    let brief = end.since(&start, PID, 150, TICK_NS);
    assert_eq!(brief.core_busy[0].busy_ns, 150, "no more than there was");
    assert_eq!(block.context_switches, Some(ContextSwitches { voluntary: 300, involuntary: 0 }));
    assert_eq!(block.throttling, Some(Throttling { periods: 0, throttled_ns: 25_000 }));
}

#[test]
fn counters_that_run_backwards_count_as_nothing() {
    let tree = Tree::new();
    tree.thread(77, 1_000);
    tree.put("stat", &core("cpu0", 100, 9, 0, 9, 9));
    let late = Sample::take(tree.files(), PID, &[0]).expect("a complete tree");
    tree.thread(77, 900);
    tree.put("stat", &core("cpu0", 90, 8, 0, 8, 8));
    let block = Sample::take(tree.files(), PID, &[0]).expect("a complete tree").since(&late, PID, 1, TICK_NS);
    let core = block.core_busy[0];
    assert_eq!((block.cpu_ns, core.steal_ns, core.interrupt_ns), (0, 0, Some(0)));
    assert_eq!(core.busy_ns, 1, "no waiting in the window");
}

#[test]
fn without_schedstat_the_ticks_count() {
    let tree = Tree::new();
    let fields = "S 1 77 77 0 -1 4194304 100 0 0 0 30 12 0 0 20 0 1 0 100 1000 10 18446744073709551615 \
                  1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
    tree.put(format!("{PID}/task/77/stat"), &format!("77 (a (b) c) {fields}"));
    let times = thread_times(tree.files(), PID, TICK_NS).expect("ticks are there");
    assert_eq!(times.cpu_ns.get(&77), Some(&(42 * TICK_NS)));
    tree.put(format!("{PID}/task/77/schedstat"), "0 0 0\n");
    assert_eq!(thread_times(tree.files(), PID, TICK_NS).expect("ticks are there"), times);
}

#[test]
fn what_is_missing_is_named() {
    let tree = Tree::new();
    tree.put("stat", &core("cpu0", 1, 1, 1, 1, 1));
    let error = core_ticks(tree.files(), &[0, 1]).expect_err("core 1 has no row");
    assert!(matches!(error, UsageError::NoCore { core: 1, .. }), "{error}");
    let error = thread_times(tree.files(), 4_000_000, TICK_NS).expect_err("no such process");
    assert_eq!(error.to_string(), "process 4000000 is not there: it has ended, or belongs to another PID namespace");
    assert!(matches!(memory(tree.files(), 4_000_000), Err(UsageError::NoProcess { .. })));
    tree.put(format!("{PID}/task/77/schedstat"), "garbage\n");
    let error = thread_times(tree.files(), PID, TICK_NS).expect_err("no number");
    assert!(matches!(error, UsageError::Malformed { .. }), "{error}");
}

#[test]
fn this_process_is_watched() {
    let cores = HostFiles::live().usable_cores().expect("a Linux host");
    let watch = Watch::start(std::process::id(), cores.as_slice()).expect("this process is there");
    let started = Instant::now();
    let mut sink = 0_u64;
    while started.elapsed() < Duration::from_millis(200) {
        sink = std::hint::black_box(sink.wrapping_mul(31).wrapping_add(1));
    }
    let block = watch.stop().expect("this process is still there");
    // Other tests run beside it, so only lower bounds hold; a busy host may give a loop less than its wall time.
    assert!(block.cpu_ns >= 20_000_000, "{block:?}");
    assert!(block.window_ns >= 200_000_000 && block.rss_peak_bytes >= block.rss_end_bytes && block.rss_end_bytes > 0);
    assert_eq!(block.core_busy.len(), cores.len());
    assert!(block.core_busy.iter().all(|core| core.own_ns >= Some(20_000_000) && core.interrupt_ns.is_some()));
    assert!(block.context_switches.is_some());
}
