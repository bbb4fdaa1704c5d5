//! What the kernel counted for the whole host over a window: TCP and links. Samples twice and subtracts; what is missing stays null.

use std::collections::BTreeMap;
use std::time::Instant;

use results::{HostBlock, LinkUse, TcpCounts};

use crate::host::HostFiles;
use crate::{links, tcp};

/// A window being watched.
#[derive(Debug)]
pub struct HostWatch {
    files: HostFiles,
    tcp: TcpCounts,
    /// `None` when nobody asked for links.
    links: Option<BTreeMap<String, LinkUse>>,
    started: Instant,
}

impl HostWatch {
    /// Begins a window over this host. `with_links` where the traffic leaves it: on loopback the links only carry what others send.
    #[must_use]
    pub fn start(with_links: bool) -> Self {
        Self::start_at(HostFiles::live(), with_links)
    }

    /// The same over other trees.
    #[must_use]
    pub fn start_at(files: HostFiles, with_links: bool) -> Self {
        let links = with_links.then(|| links::links(&files));
        Self { tcp: tcp::tcp_counts(&files), links, files, started: Instant::now() }
    }

    /// Ends the window.
    #[must_use]
    pub fn stop(self) -> HostBlock {
        let window_ns = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let links = self.links.map(|start| links::since(&start, &links::links(&self.files), window_ns));
        HostBlock { window_ns, tcp: tcp::since(&self.tcp, &tcp::tcp_counts(&self.files)), links }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_without_files_is_watched_for_nothing() {
        let watch = HostWatch::start_at(HostFiles::at("/nonexistent", "/nonexistent"), true);
        let block = watch.stop();
        assert_eq!((block.tcp, block.links), (None, Some(vec![])));
    }

    #[test]
    fn this_host_counts_its_segments() {
        let watch = HostWatch::start(false);
        let block = watch.stop();
        assert!(block.tcp.is_some_and(|tcp| tcp.retransmits.is_some()), "{block:?}");
    }
}
