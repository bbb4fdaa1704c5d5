//! A loader that is compared: run once against a server, its output read, and what it cost taken from the kernel's books.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use procfs::FromRead as _;
use procfs::process::Stat;
use results::versus::Point;

use crate::child::{Child, describe};
use crate::host::HostFiles;
use crate::limits::{LOAD_SLACK, POLL, STOP_GRACE};
use crate::rig::{said, server_alive};
use crate::usage::{CoreTicks, core_ticks, tick_ns};
use crate::versus::error::PeerError;
use crate::versus::peers::{LoaderPeer, filled};
use crate::versus::plan::{VersusPlan, pinned};
use crate::versus::server::Running;

/// Time that children took which have ended, and what cores did. A loader is measured from start to end: what its threads took is
/// known for certain only after that.
struct Books {
    opened: Instant,
    children_ns: u64,
    cores: BTreeMap<u32, CoreTicks>,
}

impl Books {
    fn open(files: &HostFiles, cores: &[u32]) -> Self {
        let stat = Stat::from_file(files.proc_path("self/stat")).ok();
        let ticks = stat.map_or(0, |stat| u64::try_from(stat.cutime + stat.cstime).unwrap_or(0));
        Books {
            opened: Instant::now(),
            children_ns: ticks.saturating_mul(tick_ns()),
            cores: core_ticks(files, cores).unwrap_or_default(),
        }
    }

    fn cpu_ns_since(&self, start: &Self) -> u64 {
        self.children_ns.saturating_sub(start.children_ns)
    }

    /// `None` where the kernel did not tell.
    fn busy_ns_since(&self, start: &Self) -> Option<u64> {
        let window_ns = u64::try_from((self.opened - start.opened).as_nanos()).unwrap_or(u64::MAX);
        let busy = |(core, end): (&u32, &CoreTicks)| {
            Some(end.since(start.cores.get(core)?, *core, window_ns, tick_ns()).busy_ns)
        };
        (!self.cores.is_empty()).then(|| self.cores.iter().filter_map(busy).sum())
    }
}

/// Runs it against a server; `None` when stopped.
pub(super) fn run(
    plan: &VersusPlan,
    peer: &LoaderPeer,
    server: &mut Running,
    round: u32,
    stop: &AtomicBool,
) -> Result<Option<Point>, PeerError> {
    let mut words = plan.words();
    let own = [
        ("url", server.url.clone()),
        ("cores", plan.cores.loader.to_string()),
        ("threads", plan.cores.threads(plan.connections).to_string()),
    ];
    words.extend(own.map(|(name, value)| (name.to_owned(), value)));
    let command: Vec<String> = peer.command.iter().map(|word| filled(word, &words)).collect();
    let env = peer.env.iter().map(|(name, value)| (name.clone(), filled(value, &words))).collect();
    let ask = || plan.count.zip(server.http.as_deref()).and_then(|(count, address)| count(address).ok());

    let before = ask();
    let books = Books::open(&plan.host, plan.cores.loader.as_slice());
    let child = Child::start(&pinned(&plan.cores.loader.to_string(), &command, &env))?;
    let Some(output) = finish(child, server.child.as_mut(), plan, &peer.wire, stop)? else { return Ok(None) };
    let after = Books::open(&plan.host, plan.cores.loader.as_slice());
    // Asking is a request too, which only the next answer counts.
    let counted = ask().zip(before).map(|(after, before)| after.saturating_sub(before + 1));

    let said = peer.read.of(&output.text).map_err(|what| match output.status {
        Some(status) => PeerError::Loader { status, stderr: format!("{}; {what}", output.stderr) },
        None => PeerError::Output { what, stderr: output.stderr },
    })?;
    // Some loaders leave requests out of their report, as those of a warm-up of their own; all that were made have cost something.
    let requests = counted.unwrap_or(said.ok + said.failed);
    let each = |ns: u64| ns.checked_div(requests);
    Ok(Some(Point {
        round,
        ok: said.ok,
        failed: said.failed,
        ok_per_s: said.per_s.or(Some(said.ok as f64 / plan.whole_seconds() as f64)),
        p50_ns: said.p50_ns,
        p99_ns: said.p99_ns,
        cpu_ns_per_request: each(after.cpu_ns_since(&books)),
        core_busy_ns_per_request: after.busy_ns_since(&books).and_then(each),
        counted,
        ..Point::default()
    }))
}

/// What a loader left behind.
struct Output {
    text: String,
    stderr: String,
    /// How it ended, in words, where that was not well.
    status: Option<String>,
}

fn finish(
    mut loader: Child,
    mut server: Option<&mut Child>,
    plan: &VersusPlan,
    wire: &str,
    stop: &AtomicBool,
) -> Result<Option<Output>, PeerError> {
    let given = Duration::from_secs(plan.whole_seconds()).saturating_add(LOAD_SLACK);
    let deadline = Instant::now() + given;
    loop {
        let ended = loader.poll()?;
        if let Some(server) = server.as_mut() {
            server_alive(server, wire, plan.connections)?;
        }
        if let Some(status) = ended {
            let text = loader.stdout().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
            let status = (!status.success()).then(|| describe(status));
            return Ok(Some(Output { text, stderr: said(&loader.stderr_tail()), status }));
        }
        if stop.load(Ordering::Relaxed) {
            loader.stop(STOP_GRACE)?;
            return Ok(None);
        }
        if Instant::now() >= deadline {
            loader.stop(STOP_GRACE)?;
            return Err(PeerError::LoaderHung { waited_s: LOAD_SLACK.as_secs(), stderr: said(&loader.stderr_tail()) });
        }
        std::thread::sleep(POLL);
    }
}
