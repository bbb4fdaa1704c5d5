//! The server of a rig without a loader of ours: for an outside tool to drive.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::limits::POLL;
use crate::rig::error::said;
use crate::rig::{Rig, RigError, Server};

/// A server that waits for somebody else's load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Its process.
    pub pid: u32,
    /// What to ask, in the order of the rig's targets.
    pub urls: Vec<String>,
}

/// Starts the server, says so, and keeps it until `stop` is raised. It is gone when this returns.
///
/// # Errors
/// [`RigError`] when it does not come up or ends by itself.
pub fn hold(rig: &Rig, stop: &AtomicBool, ready: &mut dyn FnMut(&Held)) -> Result<(), RigError> {
    let Some(mut server) = Server::start(rig, stop)? else { return Ok(()) };
    if let Some(pid) = server.pid() {
        let url =
            |target: &crate::Target| format!("{}{}", server.address(&target.wire).trim_end_matches('/'), target.path);
        ready(&Held { pid, urls: rig.targets.iter().map(url).collect() });
    }
    while !stop.load(Ordering::Relaxed) {
        if let Some(child) = &mut server.child
            && let Some(status) = child.poll()?
        {
            let (status, stderr) = (crate::child::describe(status), said(&child.stderr_tail()));
            return Err(RigError::ServerEnded { status, stderr });
        }
        std::thread::sleep(POLL);
    }
    server.stop();
    Ok(())
}
