//! What the host is busy with, and what it lost so far: load, stolen time, packets and connections that found no room.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::roots::{Roots, text};

/// Counters run since boot, those of TCP since the network namespace was made.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Pressure {
    /// Load average over one minute.
    pub load: Option<f64>,
    /// Share of all CPU time that a hypervisor gave to others, 0 to 1.
    pub steal_share: Option<f64>,
    /// Packets dropped because a CPU's backlog was full.
    pub backlog_drops: Option<u64>,
    /// Times that receiving ended with packets left over, its budget spent.
    pub squeezed: Option<u64>,
    /// Connections that found a full accept queue.
    pub listen_overflows: Option<u64>,
}

pub(super) fn read(roots: &Roots) -> Pressure {
    let load = text(&roots.proc("loadavg"));
    let load = load.and_then(|load| load.split_ascii_whitespace().next()?.parse().ok());
    let softnet = text(&roots.proc("net/softnet_stat"));
    let column = |index: usize| -> Option<u64> {
        let lines = softnet.as_deref()?.lines();
        let cells = lines.map(|line| u64::from_str_radix(line.split_ascii_whitespace().nth(index)?, 16).ok());
        cells.sum::<Option<u64>>()
    };
    Pressure {
        load,
        steal_share: text(&roots.proc("stat")).as_deref().and_then(steal_share),
        backlog_drops: column(1),
        squeezed: column(2),
        listen_overflows: text(&roots.proc("net/netstat")).as_deref().and_then(listen_overflows),
    }
}

/// The first line of `/proc/stat`: user nice system idle iowait irq softirq steal, and guest times that are in user already.
fn steal_share(stat: &str) -> Option<f64> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_ascii_whitespace().take(8).map_while(|field| field.parse().ok()).collect();
    let (steal, all) = (*ticks.get(7)?, ticks.iter().sum::<u64>());
    (all > 0).then(|| steal as f64 / all as f64)
}

fn listen_overflows(netstat: &str) -> Option<u64> {
    let mut lines = netstat.lines().filter_map(|line| line.strip_prefix("TcpExt:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let column = names.split_ascii_whitespace().position(|name| name == "ListenOverflows")?;
    values.split_ascii_whitespace().nth(column)?.parse().ok()
}

/// Ports of TCP sockets that listen, ascending.
pub(super) fn listening_ports(roots: &Roots) -> Vec<u16> {
    let mut ports = BTreeSet::new();
    for file in ["net/tcp", "net/tcp6"] {
        ports.extend(text(&roots.proc(file)).unwrap_or_default().lines().skip(1).filter_map(listening_port));
    }
    ports.into_iter().collect()
}

/// `sl local_address rem_address st`: state 0A listens.
fn listening_port(line: &str) -> Option<u16> {
    let mut fields = line.split_ascii_whitespace();
    let local = fields.nth(1)?;
    (fields.nth(1)? == "0A").then_some(())?;
    u16::from_str_radix(local.rsplit(':').next()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_out_of_the_kernels_texts() {
        assert_eq!(steal_share("cpu  10 0 10 70 0 0 0 10 5 5\ncpu0 1\n"), Some(0.1));
        assert_eq!((steal_share("cpu  1 2"), steal_share("")), (None, None));
        let netstat =
            "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 0 12 13\nIpExt: InNoRoutes\nIpExt: 0\n";
        assert_eq!(listen_overflows(netstat), Some(12));
        let line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0";
        assert_eq!(listening_port(line), Some(8080));
        assert_eq!(listening_port(&line.replace(" 0A ", " 01 ")), None);
    }
}
