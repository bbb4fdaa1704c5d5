//! What the kernel counted for the whole host over a window: TCP, links and stolen time. Samples twice and subtracts; what is missing stays null.

use std::collections::BTreeMap;
use std::time::Instant;

use results::{HostBlock, LinkUse, TcpCounts};

use crate::host::{HostFiles, read};
use crate::{links, tcp, usage};

/// A window being watched.
#[derive(Debug)]
pub struct HostWatch {
    files: HostFiles,
    tcp: TcpCounts,
    /// `None` when nobody asked for links.
    links: Option<BTreeMap<String, LinkUse>>,
    steal_ns: Option<u64>,
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
        Self { tcp: tcp::tcp_counts(&files), links, steal_ns: steal_ns(&files), files, started: Instant::now() }
    }

    /// Ends the window.
    #[must_use]
    pub fn stop(self) -> HostBlock {
        let window_ns = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let links = self.links.map(|start| links::since(&start, &links::links(&self.files), window_ns));
        let steal_ns = self.steal_ns.zip(steal_ns(&self.files)).map(|(start, end)| end.saturating_sub(start));
        HostBlock {
            window_ns,
            tcp: tcp::since(&self.tcp, &tcp::tcp_counts(&self.files)),
            links,
            load_average: self.files.load_average(),
            steal_ns,
        }
    }
}

/// What the hypervisor gave to others since the start of the host, all cores together, in steps of the kernel's tick.
fn steal_ns(files: &HostFiles) -> Option<u64> {
    // `cpu user nice system idle iowait irq softirq steal ...` (proc(5)).
    let text = read(&files.proc_path("stat")).ok()?;
    let ticks = text.lines().find_map(|line| line.strip_prefix("cpu "))?.split_ascii_whitespace().nth(7)?;
    ticks.parse::<u64>().ok()?.checked_mul(usage::tick_ns())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_without_files_is_watched_for_nothing() {
        let watch = HostWatch::start_at(HostFiles::at("/nonexistent", "/nonexistent"), true);
        let block = watch.stop();
        assert_eq!((block.tcp, block.links), (None, Some(vec![])));
        assert_eq!((block.load_average, block.steal_ns), (None, None));
    }

    #[test]
    fn this_host_counts_its_segments() {
        let watch = HostWatch::start(false);
        let block = watch.stop();
        assert!(block.tcp.is_some_and(|tcp| tcp.retransmits.is_some()), "{block:?}");
        assert!(block.load_average.is_some() && block.steal_ns.is_some(), "{block:?}");
    }
}
