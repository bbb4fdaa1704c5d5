//! A server that is compared: started on its cores, waited for, asked once, stopped. One that runs already is only asked.

use std::collections::BTreeMap;
use std::fs;
use std::net::{TcpListener, TcpStream, ToSocketAddrs as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use results::Run;

use crate::child::{Child, CommandLine, describe};
use crate::limits::{LOAD_SLACK, POLL, READY_WAIT, STOP_GRACE};
use crate::rig::{self, said, time_arg};
use crate::versus::body::difference;
use crate::versus::error::PeerError;
use crate::versus::peers::{Ready, ServerPeer, filled};
use crate::versus::plan::{VersusPlan, pinned};

/// A server that serves.
#[derive(Debug)]
pub(super) struct Running {
    /// `None` for one that somebody else has started.
    pub(super) child: Option<Child>,
    /// What is asked of it.
    pub(super) url: String,
    /// Its `http` address where it printed one.
    pub(super) http: Option<String>,
}

impl Running {
    /// Starts it in `folder` and waits until it serves; `None` when stopped meanwhile.
    pub(super) fn start(
        plan: &VersusPlan,
        peer: &ServerPeer,
        folder: &Path,
        stop: &AtomicBool,
    ) -> Result<Option<Self>, PeerError> {
        if peer.command.is_empty() {
            let url = format!("{}{}", peer.url.trim_end_matches('/'), peer.path);
            return Ok(Some(Self { child: None, url, http: None }));
        }
        let words = words(plan, folder)?;
        for (name, text) in &peer.files {
            let path = folder.join(name);
            fs::write(&path, filled(text, &words)).map_err(|source| PeerError::File { path, source })?;
        }
        let command: Vec<String> = peer.command.iter().map(|word| filled(word, &words)).collect();
        let mut child = Child::start(&pinned(&plan.cores.server.to_string(), &command, &BTreeMap::new()))?;
        let waited = match peer.ready {
            Ready::Prints => printed(&mut child, stop)?,
            Ready::Connects => connected(&mut child, &filled(&peer.url, &words), &peer.wire, stop)?,
        };
        let Some(addresses) = waited else {
            child.stop(STOP_GRACE)?;
            return Ok(None);
        };
        let address = addresses.get(&peer.wire).ok_or_else(|| PeerError::NoListener { wire: peer.wire.clone() })?;
        let url = format!("{}{}", address.trim_end_matches('/'), peer.path);
        Ok(Some(Self { child: Some(child), url, http: addresses.get("http").cloned() }))
    }

    /// Asks for one right answer, and once more for its body where the list says what that must be: the bytes of an answer, or `None` when
    /// stopped.
    pub(super) fn ask(
        &mut self,
        plan: &VersusPlan,
        peer: &ServerPeer,
        stop: &AtomicBool,
    ) -> Result<Option<u64>, PeerError> {
        let command = load(plan, &self.url)
            .args(["-c", "1", "-t", "1", "-n", "1"])
            .args(["--cores".to_owned(), plan.cores.loader.first(1).to_string()]);
        let Some(run) = rig::finish(Child::start(&command)?, self.child.as_mut(), LOAD_SLACK, (&peer.wire, 1), stop)?
        else {
            return Ok(None);
        };
        let wrong = |what: String| PeerError::Answer { path: peer.path.clone(), what };
        if run.requests.ok != 1 {
            return Err(wrong(format!("{:?}, status codes {:?}", run.requests, run.status_codes)));
        }
        if let Some(wanted) = &peer.expect_body {
            let body = (plan.fetch)(&self.url).map_err(&wrong)?;
            if let Some(what) = difference(&body, wanted.as_bytes()) {
                return Err(wrong(what));
            }
        }
        let body_bytes = run.bytes.body_received;
        match peer.body_bytes {
            Some(wanted) if wanted != body_bytes => {
                Err(wrong(format!("its body has {body_bytes} bytes and not {wanted}")))
            }
            _ => Ok(Some(run.bytes.received)),
        }
    }

    /// Drives it as planned; `None` when stopped.
    pub(super) fn drive(&mut self, plan: &VersusPlan, wire: &str, stop: &AtomicBool) -> Result<Option<Run>, PeerError> {
        let threads = plan.cores.threads(plan.connections);
        let mut command = load(plan, &self.url)
            .args(["-c".to_owned(), plan.connections.to_string(), "-t".to_owned(), threads.to_string()])
            .args(["-d".to_owned(), time_arg(plan.duration), "--warmup".to_owned(), time_arg(plan.warmup)])
            .args(["--cores".to_owned(), plan.cores.loader.first(threads).to_string()]);
        if let Some(child) = &self.child {
            let cores = plan.cores.server.to_string();
            command =
                command.args(["--watch-pid".to_owned(), child.pid().to_string(), "--watch-cores".to_owned(), cores]);
        }
        if let Some(rate) = plan.rate_per_s {
            command = command.args(["-R".to_owned(), rate.to_string()]);
        }
        let command = command.args(plan.loader_args.iter().map(String::as_str));
        let given = plan.warmup.saturating_add(plan.duration).saturating_add(LOAD_SLACK);
        let loader = Child::start(&command)?;
        Ok(rig::finish(loader, self.child.as_mut(), given, (wire, plan.connections), stop)?)
    }

    /// Ends it where we started it. Its status is not looked at: one that had to be killed has served.
    pub(super) fn stop(mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.stop(STOP_GRACE);
        }
    }
}

/// Our loader on `url`, its result on standard output.
fn load(plan: &VersusPlan, url: &str) -> CommandLine {
    CommandLine::new(&plan.exe)
        .args(["load", url, "--json", "-", "--quiet", "--die-with-parent"])
        .arg(std::process::id().to_string())
}

/// What stands for the words in braces of this server.
fn words(plan: &VersusPlan, folder: &Path) -> Result<BTreeMap<String, String>, PeerError> {
    // Free a moment ago; whoever takes it in between shows as a server that does not start.
    let port = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).map_err(PeerError::Port)?.port();
    let mut words = plan.words();
    let own = [
        ("cores", plan.cores.server.to_string()),
        ("threads", plan.cores.server.len().to_string()),
        ("port", port.to_string()),
        ("folder", folder.display().to_string()),
    ];
    words.extend(own.map(|(name, value)| (name.to_owned(), value)));
    Ok(words)
}

type Addresses = BTreeMap<String, String>;

/// Waits for the lines of a server that says where it listens; `None` when stopped.
fn printed(child: &mut Child, stop: &AtomicBool) -> Result<Option<Addresses>, PeerError> {
    let found = child.wait_lines(Instant::now() + READY_WAIT, |lines| {
        if stop.load(Ordering::Relaxed) { Some(None) } else { rig::ready(lines).map(Some) }
    })?;
    match found {
        Some(addresses) => Ok(addresses),
        None => Err(not_ready(child)?),
    }
}

/// Tries to connect until it works; `None` when stopped.
fn connected(child: &mut Child, url: &str, wire: &str, stop: &AtomicBool) -> Result<Option<Addresses>, PeerError> {
    let host = url.split_once("://").map_or(url, |(_, host)| host).split('/').next().unwrap_or_default();
    let deadline = Instant::now() + READY_WAIT;
    loop {
        if child.poll()?.is_some() || Instant::now() >= deadline {
            return Err(not_ready(child)?);
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        if can_connect(host) {
            return Ok(Some(BTreeMap::from([(wire.to_owned(), url.to_owned())])));
        }
        std::thread::sleep(POLL);
    }
}

fn can_connect(host: &str) -> bool {
    let mut addresses = host.to_socket_addrs().into_iter().flatten();
    addresses.any(|address| TcpStream::connect_timeout(&address, Duration::from_millis(500)).is_ok())
}

fn not_ready(child: &mut Child) -> Result<PeerError, PeerError> {
    Ok(match child.poll()? {
        Some(status) => PeerError::NotStarted { status: describe(status), stderr: said(&child.stderr_tail()) },
        None => PeerError::NotReady { waited_s: READY_WAIT.as_secs(), stderr: said(&child.stderr_tail()) },
    })
}
