//! What a load run says about its own limit, when the limit is known: too few connections, one core for both sides, a stranger.
//!
//! Other programs of the host can be strangers too, so that each situation is tried a few times before its verdict counts as wrong.

mod support;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use results::{Run, Verdict, VerdictBlock};
use support::{Server, tool, zapring};

const TRIES: usize = 8;

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(300);

/// The situations need the cores to themselves.
static CORES: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    CORES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The two cores that sides are pinned to; says why when there are none.
fn two_cores() -> Option<[u32; 2]> {
    let usable = harness::HostFiles::live().usable_cores().expect("a Linux host");
    match usable.as_slice() {
        [first, second, ..] => Some([*first, *second]),
        _ => {
            eprintln!("skipped: this test needs two CPUs");
            None
        }
    }
}

/// Loads the server from `loader_core` for a second, and watches it.
fn load(server: &Server, server_core: u32, loader_core: u32, args: &[&str]) -> (Run, String) {
    let (pid, server_core) = (server.pid().to_string(), server_core.to_string());
    let output = zapring()
        .args(["load", &server.http_url("/health"), "--cores", &loader_core.to_string()])
        .args(["--watch-pid", &pid, "--watch-cores", &server_core, "--json", "-"])
        .args(args)
        .output()
        .expect("the binary under test");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}");
    (Run::parse(&output.stdout, "standard output").expect("a run file"), text)
}

/// Idle and all ticks of the host's CPUs.
fn ticks() -> (u64, u64) {
    let text = fs::read_to_string("/proc/stat").expect("procfs");
    let all: Vec<u64> = text
        .lines()
        .next()
        .unwrap_or("")
        .split_ascii_whitespace()
        .skip(1)
        .filter_map(|field| field.parse().ok())
        .collect();
    (all[3] + all[4], all.iter().take(8).sum())
}

/// Whether the host becomes idle while nothing of ours runs. A verdict on a busy one is about who keeps it busy.
fn becomes_quiet() -> bool {
    for _ in 0..40 {
        let before = ticks();
        thread::sleep(PAUSE);
        let after = ticks();
        if (after.0 - before.0) * 10 >= (after.1 - before.1) * 8 {
            return true;
        }
    }
    eprintln!("skipped: other programs keep this host's CPUs busy, which no verdict could look past");
    false
}

/// Tries until a run is judged as wanted; what the last one said else. `alone`: nothing runs but the server that waits, so that the host
/// must be quiet; `None` when it never is.
fn judged(
    alone: bool,
    mut run: impl FnMut() -> (Run, String),
    want: impl Fn(&VerdictBlock) -> bool,
) -> Option<(Run, VerdictBlock)> {
    let mut said = Vec::new();
    for _ in 0..TRIES {
        if alone && !becomes_quiet() {
            return None;
        }
        let (run, text) = run();
        let verdict = run.verdict.clone().expect("every run is judged");
        let line = format!("verdict        {}", verdict.line());
        assert!(text.contains(&line), "{line:?} is not in {text}");
        println!("{line}");
        if want(&verdict) {
            return Some((run, verdict));
        }
        said.push(line);
        thread::sleep(PAUSE);
    }
    panic!("judged as {said:#?}");
}

#[test]
fn one_connection_keeps_nobody_busy() {
    let (Some([first, second]), _alone) = (two_cores(), alone()) else { return };
    let server = Server::start("uring", &["--cores", &first.to_string()]);
    let args = ["--engine", "uring", "-c", "1", "-d", "1s", "--warmup", "100ms"];
    let found = |verdict: &VerdictBlock| verdict.word == Verdict::LatencyBound;
    let Some((run, verdict)) = judged(true, || load(&server, first, second, &args), found) else { return };
    assert!(!verdict.at_least);
    assert!(verdict.reasons[0].contains("too few connections"), "{:?}", verdict.reasons);
    let host = run.host.expect("the host was watched");
    assert!(host.links.is_none(), "nothing crossed a link: {host:?}");
    assert!(host.tcp.and_then(|tcp| tcp.segments_sent).is_some_and(|sent| sent >= run.requests.ok), "{host:?}");
    let switches = run.server.and_then(|server| server.context_switches).expect("this kernel counts them");
    assert!(switches.voluntary > run.requests.ok / 2, "a server that sleeps between requests: {switches:?}");
    assert!(run.cores.iter().all(|row| row.ring_overflow == Some(0)), "{:?}", run.cores);
}

/// A side is made slow by time it burns whenever bytes arrive; where both burn the same, neither is ahead.
#[test]
fn the_slower_side_is_the_one_that_is_full() {
    let (Some([first, second]), _alone) = (two_cores(), alone()) else { return };
    let slow = ["--handicap-spin", "40us"];
    for (slow_server, slow_loader, word) in
        [(true, false, Verdict::ServerBound), (false, true, Verdict::LoaderBound), (true, true, Verdict::Balanced)]
    {
        let handicap = |slowed| if slowed { &slow[..] } else { &[] };
        let server = Server::start("uring", &[&["--cores", &first.to_string()], handicap(slow_server)].concat());
        let args = ["--engine", "uring", "-c", "64", "-d", "1s", "--warmup", "200ms"];
        let args = [&args[..], handicap(slow_loader)].concat();
        let found = |verdict: &VerdictBlock| verdict.word == word;
        let Some((_, verdict)) = judged(true, || load(&server, first, second, &args), found) else { return };
        assert_eq!(verdict.at_least, slow_loader, "what a full loader finds is a lower bound");
    }
}

/// A control group that may use half of one CPU; removed when the test is done with it.
struct HalfACpu(PathBuf);

impl HalfACpu {
    /// In whichever version of control groups counts CPU time here; says why when neither lets us.
    fn make() -> Option<Self> {
        let name = format!("zapring-test-{}", std::process::id());
        for root in ["/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"] {
            let (root, group) = (Path::new(root), Path::new(root).join(&name));
            // What is no hierarchy at all may still let a folder be made.
            if !root.join("cgroup.procs").exists() || fs::create_dir(&group).is_err() {
                continue;
            }
            let made = HalfACpu(group.clone());
            let v2 = fs::write(group.join("cpu.max"), "50000 100000");
            let v1 = || {
                fs::write(group.join("cpu.cfs_period_us"), "100000")
                    .and_then(|()| fs::write(group.join("cpu.cfs_quota_us"), "50000"))
            };
            if v2.or_else(|_| v1()).is_ok() {
                return Some(made);
            }
        }
        eprintln!("skipped: no control group with a CPU quota can be made here");
        None
    }

    fn take(&self, pid: u32) {
        fs::write(self.0.join("cgroup.procs"), pid.to_string()).expect("our own child");
    }
}

impl Drop for HalfACpu {
    fn drop(&mut self) {
        // Empty once its process is gone, which the kernel may notice a moment later.
        support::wait_until("the group is gone", || fs::remove_dir(&self.0).is_ok());
    }
}

#[test]
fn a_quota_starves_the_server() {
    let (Some([first, second]), _alone) = (two_cores(), alone()) else { return };
    let Some(quota) = HalfACpu::make() else { return };
    let server = Server::start("uring", &["--cores", &first.to_string()]);
    quota.take(server.pid());
    let args = ["--engine", "uring", "-c", "64", "-d", "1s", "--warmup", "200ms"];
    let found = |verdict: &VerdictBlock| {
        verdict.word == Verdict::Starved && verdict.reasons.iter().any(|reason| reason.contains("quota"))
    };
    let Some((run, _)) = judged(true, || load(&server, first, second, &args), found) else { return };
    let taken = run.server.and_then(|server| server.throttling).expect("the group counts");
    assert!(taken.periods > 0 && taken.throttled_ns > 0, "{taken:?}");
}

#[test]
fn one_core_for_both_sides_is_said() {
    let (Some([first, _]), _alone) = (two_cores(), alone()) else { return };
    let server = Server::start("uring", &["--cores", &first.to_string()]);
    let args = ["--engine", "uring", "-c", "64", "-d", "1s", "--warmup", "100ms"];
    let found = |verdict: &VerdictBlock| verdict.word == Verdict::Balanced;
    let Some((_, verdict)) = judged(true, || load(&server, first, first, &args), found) else { return };
    assert!(verdict.at_least);
    let shared = format!("server and loader share core {first}: by thread time");
    assert!(verdict.reasons.iter().any(|reason| reason.starts_with(&shared)), "{:?}", verdict.reasons);
    let core = verdict.figures.cores[0];
    assert!(core.server > Some(0.1) && core.loader > Some(0.1), "{core:?}");
}

/// A process that never sleeps, killed when the test is done with it. It ends by itself when the test was killed first.
struct Stranger(Child);

impl Stranger {
    /// `nice` above that of the test: five steps leave him a quarter of a core that somebody else wants.
    fn on(mut taskset: Command, core: u32, nice: u32) -> Self {
        let child = taskset
            .args([
                "-c",
                &core.to_string(),
                "nice",
                "-n",
                &nice.to_string(),
                "sh",
                "-c",
                "while kill -0 $PPID; do :; done",
            ])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        Stranger(child)
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_stranger_on_the_servers_core_starves_it() {
    let (Some([first, second]), _alone) = (two_cores(), alone()) else { return };
    let server = Server::start("uring", &["--cores", &first.to_string()]);
    let args = ["--engine", "uring", "-c", "64", "-d", "2s", "--warmup", "100ms"];
    let found = |verdict: &VerdictBlock| {
        let on_core = format!("something else ran on core {first} ");
        verdict.word == Verdict::Starved && verdict.reasons.iter().any(|reason| reason.starts_with(&on_core))
    };
    for nice in [0, 5] {
        let Some(taskset) = tool("taskset", "util-linux") else { return };
        let stranger = Stranger::on(taskset, first, nice);
        judged(false, || load(&server, first, second, &args), found).expect("nobody asked for quiet");
        drop(stranger);
    }
    // Without him, the same load is not starved, and all requests of -n are our own work though their threads are gone.
    let args = ["--engine", "uring", "-c", "64", "-n", "60000"];
    judged(true, || load(&server, first, second, &args), |verdict| verdict.word != Verdict::Starved);
}
