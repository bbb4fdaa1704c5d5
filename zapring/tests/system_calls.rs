//! System calls of the server per request, counted by `strace -c` on every engine. Tracing slows the server down, so more is ready at
//! each wait than without: calls of receive and send are what they always are, waits are fewer.

mod support;

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
};

use support::{ENGINES, Server, signal, succeeded, tool, wait_until, zapring};

const REQUESTS: u64 = 4_000;

/// A tracer of all threads of a process that exist now.
struct Tracer {
    child: Child,
}

impl Tracer {
    fn attach(mut strace: Command, pid: u32, report: &Path) -> Self {
        let child = strace
            .args(["-c", "-f", "-o"])
            .arg(report)
            .args(["-p", &pid.to_string()])
            .stderr(Stdio::null())
            .spawn()
            .expect("strace");
        wait_until("every thread is traced", || {
            let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("a live process");
            threads.flatten().all(|thread| {
                let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
                status.lines().any(|line| line.strip_prefix("TracerPid:").is_some_and(|pid| pid.trim() != "0"))
            })
        });
        Tracer { child }
    }

    /// Detaches; how often each call was made.
    fn counts(mut self, report: &Path) -> Vec<(String, u64)> {
        signal(self.child.id(), "INT");
        self.child.wait().expect("our child");
        let text = fs::read_to_string(report).expect("strace's report");
        // % time, seconds, usecs/call, calls, errors if any, syscall
        let counts: Vec<_> = text
            .lines()
            .filter_map(|line| {
                let fields: Vec<&str> = line.split_ascii_whitespace().collect();
                let (name, calls) = (fields.last()?, fields.get(3)?.parse().ok()?);
                (fields[0].parse::<f64>().is_ok() && *name != "total").then(|| ((*name).to_owned(), calls))
            })
            .collect();
        assert!(!counts.is_empty(), "{text}");
        counts
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn each_engine_makes_the_calls_it_is_said_to() {
    if tool("strace", "strace").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("report");
    for engine in ENGINES {
        let server = Server::start(engine, &["--cores", "0"]);
        for url in [server.http_url("/health"), server.zap_url("/health")] {
            let tracer = Tracer::attach(tool("strace", "strace").expect("there a moment ago"), server.pid(), &report);
            let requests = REQUESTS.to_string();
            let load =
                ["load", &url, "-c", "64", "-n", &requests, "--warmup", "0", "--engine", "epoll", "--timeout", "20s"];
            succeeded(&zapring().args(load).output().expect("the binary under test"));
            let counts = tracer.counts(&report);
            let of = |names: &[&str]| -> f64 {
                let calls = counts.iter().filter(|(name, _)| names.contains(&name.as_str())).map(|(_, calls)| calls);
                calls.sum::<u64>() as f64 / REQUESTS as f64
            };
            let receives = of(&["recvfrom", "recvmsg", "read", "readv"]);
            let sends = of(&["sendto", "sendmsg", "write", "writev"]);
            let enters = of(&["io_uring_enter"]);
            let all = counts.iter().map(|(_, calls)| calls).sum::<u64>() as f64 / REQUESTS as f64;
            println!(
                "{engine} {}: {all:.3} system calls per request: {receives:.3} receives, {sends:.3} sends, {enters:.3} enters",
                url.split(':').next().expect("a scheme")
            );
            match engine {
                // One of each: the receive that empties a socket is not followed by another one, and nothing is re-armed.
                "epoll" => {
                    assert!((0.9..1.1).contains(&sends), "{sends} sends for each request: {counts:?}");
                    assert!((0.9..1.1).contains(&receives), "{receives} receives for each request: {counts:?}");
                    assert!(all < 3.1, "{all} system calls for each request: {counts:?}");
                }
                // Everything goes through the ring.
                "uring" | "monoio" => {
                    assert!(receives + sends < 0.1, "outside of the ring: {counts:?}");
                    assert!(enters <= 1.1, "{enters} enters for each request: {counts:?}");
                }
                // Its sockets are read and written by calls of their own, its ring polls them.
                _ => assert!(receives >= 0.9 && sends >= 0.9, "not what glommio does: {counts:?}"),
            }
        }
    }
}
