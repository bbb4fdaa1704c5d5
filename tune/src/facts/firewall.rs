//! Firewall and connection tracking: work per packet that no benchmark asked for.

use serde::{Deserialize, Serialize};

use crate::netlink::{Chain, Netlink};
use crate::roots::{Roots, number, text};

/// What packets run through.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Firewall {
    /// Chains of nftables, and of iptables where it stands on them; `None` when that may not be asked (CAP_NET_ADMIN).
    pub chains: Option<Vec<Chain>>,
    /// Tables of the old iptables that are loaded, as in `filter` and `ip6 nat`; `None` when they may not be read.
    pub iptables: Option<Vec<String>>,
    /// Connections that are tracked now; `None` where tracking is not there.
    pub tracked: Option<u64>,
}

pub(super) fn read(roots: &Roots, netlink: &dyn Netlink) -> Firewall {
    Firewall {
        chains: netlink.chains().ok(),
        iptables: iptables(roots),
        tracked: number(&roots.proc("sys/net/netfilter/nf_conntrack_count")),
    }
}

/// Without the module the files are not there, and so are no tables.
fn iptables(roots: &Roots) -> Option<Vec<String>> {
    let mut tables = Vec::new();
    for (file, prefix) in [("net/ip_tables_names", ""), ("net/ip6_tables_names", "ip6 ")] {
        let path = roots.proc(file);
        match text(&path) {
            Some(names) => tables.extend(names.lines().map(|name| format!("{prefix}{name}"))),
            None if path.exists() => return None,
            None => {}
        }
    }
    Some(tables)
}
