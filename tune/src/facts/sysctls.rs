//! Sysctls that a run may care for.

use std::collections::BTreeMap;

use crate::roots::{Roots, text};
use crate::setting::Setting;

/// All that are looked at. In a network namespace of its own, those of the whole machine do not exist.
pub const NAMES: [&str; 26] = [
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.default_qdisc",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.rmem_max",
    "net.core.rps_sock_flow_entries",
    "net.core.somaxconn",
    "net.core.wmem_max",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_wmem",
    "net.netfilter.nf_conntrack_count",
    "net.netfilter.nf_conntrack_max",
    "kernel.io_uring_disabled",
    "kernel.io_uring_group",
    "kernel.numa_balancing",
    "vm.min_free_kbytes",
];

pub(super) fn read(roots: &Roots) -> BTreeMap<String, String> {
    let value = |name: &&str| {
        let path = Setting::sysctl(name).path(roots)?;
        // Tabs between several numbers.
        let words = text(&path)?;
        Some(((*name).to_owned(), words.split_ascii_whitespace().collect::<Vec<_>>().join(" ")))
    };
    NAMES.iter().filter_map(value).collect()
}
