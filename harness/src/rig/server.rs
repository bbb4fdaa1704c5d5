//! The server of a rig: started, asked where it listens, stopped.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::child::{Child, describe};
use crate::limits::STOP_GRACE;
use crate::rig::Rig;
use crate::rig::error::{RigError, said};

/// A server that said where it listens and that it is ready.
#[derive(Debug)]
pub(crate) struct Server {
    /// `None` for one that is not ours.
    pub(crate) child: Option<Child>,
    pid: Option<u32>,
    addresses: BTreeMap<String, String>,
}

/// What the lines of a starting server amount to.
enum Wait {
    Ready(BTreeMap<String, String>),
    Stopped,
}

impl Server {
    /// Starts it and waits until it is ready; `None` when stopped meanwhile.
    pub(crate) fn start(rig: &Rig, stop: &AtomicBool) -> Result<Option<Self>, RigError> {
        if let Some(elsewhere) = &rig.elsewhere {
            return Ok(Some(Self { child: None, pid: elsewhere.pid, addresses: elsewhere.urls.clone() }));
        }
        let mut child = Child::start(&rig.serve_command())?;
        let outcome = child.wait_lines(Instant::now() + rig.ready_wait, |lines| {
            if stop.load(Ordering::Relaxed) {
                return Some(Wait::Stopped);
            }
            ready(lines).map(Wait::Ready)
        })?;
        match outcome {
            Some(Wait::Stopped) => {
                child.stop(STOP_GRACE)?;
                Ok(None)
            }
            Some(Wait::Ready(addresses)) => {
                let missing = rig.wires().find(|wire| !addresses.contains_key(*wire));
                if let Some(wire) = missing {
                    let stdout = child.stdout().map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
                    return Err(RigError::NoListener { wire: wire.to_owned(), stdout: stdout.unwrap_or_default() });
                }
                Ok(Some(Self { pid: Some(child.pid()), child: Some(child), addresses }))
            }
            None => Err(not_ready(rig, &mut child)?),
        }
    }

    /// Its process id, where it is on this host.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// Where it serves a wire of the rig, as a URL without a path.
    pub(crate) fn address(&self, wire: &str) -> &str {
        self.addresses.get(wire).expect("every wire of the rig was checked when the server became ready")
    }

    /// Ends it, where it is our own. Its status is not looked at: a server that died before is an error already, and one that had to be
    /// killed has served.
    pub(crate) fn stop(self) {
        if let Some(mut child) = self.child {
            let _ = child.stop(STOP_GRACE);
        }
    }
}

fn not_ready(rig: &Rig, child: &mut Child) -> Result<RigError, RigError> {
    Ok(match child.poll()? {
        Some(status) => RigError::ServerNotStarted {
            status: describe(status),
            code: status.code(),
            stderr: said(&child.stderr_tail()),
        },
        None => RigError::ServerNotReady { waited_s: rig.ready_wait.as_secs(), stderr: said(&child.stderr_tail()) },
    })
}

/// The addresses of lines `listening SCHEME://ADDRESS`, by scheme, once there is a line `ready`. The first of a scheme counts.
pub(crate) fn ready(lines: &[String]) -> Option<BTreeMap<String, String>> {
    let end = lines.iter().position(|line| line.trim() == "ready")?;
    let mut addresses = BTreeMap::new();
    for url in lines[..end].iter().filter_map(|line| line.trim().strip_prefix("listening ")) {
        if let Some((scheme, _)) = url.split_once("://") {
            addresses.entry(scheme.to_owned()).or_insert_with(|| url.trim().to_owned());
        }
    }
    Some(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_starting_server() {
        let mut lines: Vec<String> =
            ["engine monoio", "listening http://127.0.0.1:1", "listening zap://127.0.0.1:2"].map(String::from).into();
        assert!(ready(&lines).is_none());
        lines.push("ready".to_owned());
        lines.push("listening http://127.0.0.1:3".to_owned());
        let addresses = ready(&lines).expect("it said so");
        assert_eq!(
            (addresses["http"].as_str(), addresses["zap"].as_str()),
            ("http://127.0.0.1:1", "zap://127.0.0.1:2")
        );
    }
}
