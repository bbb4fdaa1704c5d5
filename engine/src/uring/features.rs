//! What the kernel can do on a ring beyond its setup flags, asked once for each shard.

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd},
};

use io_uring::{opcode, types};

use super::{
    buffers::{self, Buffers},
    files::Files,
    ring::{Completion, Ring},
};
use crate::{EngineOptions, Features, fleet::LaunchError, socket};

/// What a ring may be used with.
pub(super) struct Means {
    pub(super) features: Features,
    /// `None` without provided-buffer rings or without multishot receive: then every receive is one of its own.
    pub(super) buffers: Option<Buffers>,
    /// `None` without direct descriptors.
    pub(super) files: Option<Files>,
}

impl Means {
    /// Finds out what the kernel behind a new ring can do, and registers what is used of it.
    pub(super) fn find(
        ring: &mut Ring,
        shard: usize,
        options: EngineOptions,
        connections: usize,
    ) -> Result<Self, LaunchError> {
        let failed = |what| move |source| LaunchError::System { shard, what, source };
        let (accept, receive) = probe(ring).map_err(failed("asking what the ring can do"))?;
        let buffers = match Buffers::register(&ring.submitter(), options.buffers, options.buffer_bytes) {
            Ok(buffers) => Some(buffers),
            // Not known before 5.19, or charged to a memory limit: receives work without.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOMEM)) => None,
            Err(source) => return Err(failed("registering receive buffers")(source)),
        };
        let files = Files::register(ring, connections).map_err(failed("registering direct descriptors"))?;
        let features = Features {
            accept_multishot: accept,
            receive_multishot: receive && buffers.is_some(),
            buffer_ring: buffers.is_some(),
            direct_descriptors: files.is_some(),
            min_wait: ring.params().is_feature_min_timeout(),
            no_iowait: ring.params().is_feature_no_iowait(),
        };
        Ok(Means { features, buffers: buffers.filter(|_| receive), files })
    }
}

/// Whether the kernel has multishot accept (5.19) and multishot receive (6.0). Both are tried on what is no socket: the flags are
/// looked at first, so whoever does not know them says `EINVAL`, and whoever does `ENOTSOCK`.
fn probe(ring: &mut Ring) -> io::Result<(bool, bool)> {
    let no_socket: OwnedFd = socket::timer()?;
    let fd = types::Fd(no_socket.as_raw_fd());
    let tries = [opcode::AcceptMulti::new(fd).build(), opcode::RecvMulti::new(fd, buffers::GROUP).build()];
    for (number, entry) in tries.iter().enumerate() {
        // SAFETY: neither gets as far as memory.
        unsafe { ring.push(&entry.clone().user_data(number as u64))? };
    }
    let mut answers: Vec<Completion> = Vec::new();
    while answers.len() < tries.len() {
        ring.enter(u64::MAX, 1)?;
        ring.drain(&mut answers);
    }
    let known = |number| answers.iter().any(|answer| answer.data == number && answer.result == -libc::ENOTSOCK);
    Ok((known(0), known(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ladder::{self, HostFacts};

    #[test]
    fn what_the_probe_says_is_what_the_kernel_does() {
        let options = EngineOptions::default();
        let (mut ring, _) =
            ladder::climb(|rung| Ring::new(rung, options), || HostFacts::read("/proc".as_ref())).expect("a ring");
        let means = Means::find(&mut ring, 0, options, 100).expect("asked");
        // Counted out of the ring's figures or not, nothing of the probe may be left behind.
        let mut left = Vec::new();
        ring.drain(&mut left);
        assert!(left.is_empty());
        // Independently of the probe: the version, as far as it tells.
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("a release");
        let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
        let version = (numbers.next().expect("major"), numbers.next().expect("minor"));
        // One way only: distributions put newer things into older kernels.
        let there = means.features;
        for (feature, since) in [
            (there.accept_multishot, (5, 19)),
            (there.buffer_ring, (5, 19)),
            (there.receive_multishot, (6, 0)),
            (there.min_wait, (6, 12)),
            (there.no_iowait, (6, 15)),
            (there.direct_descriptors, (6, 15)),
        ] {
            assert!(feature || version < since, "{release} has everything up to {since:?}, found were {there}");
        }
    }
}
