//! Sysctls: backlogs, ports, buffers. Limits are raised to what is wanted, never lowered.

use super::draft::{Because, Draft, IP_SYSCTL, NET_SYSCTL, SEED};
use crate::facts::{Nic, NicKind};
use crate::plan::{Profile, Role};
use crate::setting::Setting;

/// 256 MiB.
const SEED_BUFFER_BYTES: u64 = 268_435_456;

/// What both sides of the seed script set.
const SEED_VALUES: [(&str, u64, &str); 9] = [
    ("net.core.rmem_max", SEED_BUFFER_BYTES, "largest receive buffer"),
    ("net.core.wmem_max", SEED_BUFFER_BYTES, "largest send buffer"),
    ("net.core.netdev_max_backlog", 300_000, "packets that may wait for a core"),
    ("net.core.netdev_budget", 60_000, "packets that one round of receiving may take"),
    ("net.core.netdev_budget_usecs", 8_000, "time that one round of receiving may take"),
    ("net.core.somaxconn", 65_535, "connections that may wait to be accepted"),
    ("net.ipv4.tcp_max_syn_backlog", 65_535, "connections that may wait for their handshake"),
    ("net.ipv4.tcp_mtu_probing", 1, "find the path's packet size when it is hidden"),
    ("net.ipv4.tcp_tw_reuse", 1, "use ports of connections that have just ended"),
];

pub(super) fn set(draft: &mut Draft<'_>, nics: &[&Nic]) {
    match draft.request.profile {
        Profile::Seed => seed(draft),
        Profile::Throughput | Profile::Latency => modern(draft, nics),
    }
}

fn seed(draft: &mut Draft<'_>) {
    for (name, value, reason) in SEED_VALUES {
        draft.want(Setting::sysctl(name), value.to_string(), Because { reason, source: SEED, optional: true });
    }
    for name in ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"] {
        let now = draft.facts.value(&Setting::sysctl(name)).unwrap_or_default();
        let mut words: Vec<String> = now.split_ascii_whitespace().map(str::to_owned).collect();
        if let Some(largest) = words.get_mut(2) {
            *largest = SEED_BUFFER_BYTES.to_string();
        }
        let because = Because { reason: "largest buffer of a connection", source: SEED, optional: true };
        draft.want(Setting::sysctl(name), words.join(" "), because);
    }
    ports(draft, SEED);
    steady(draft, SEED);
}

fn modern(draft: &mut Draft<'_>, nics: &[&Nic]) {
    let role = draft.request.role;
    let by_wire = nics.iter().any(|nic| nic.kind != NicKind::Loopback);
    if role != Role::Loader {
        at_least(
            draft,
            "net.core.somaxconn",
            65_535,
            "a burst of connections shall find room to be accepted",
            NET_SYSCTL,
        );
        let reason = "a burst of connections shall find room for its handshakes";
        at_least(draft, "net.ipv4.tcp_max_syn_backlog", 65_535, reason, IP_SYSCTL);
    }
    if by_wire {
        let reason = "packets handed to another core shall find room there";
        at_least(draft, "net.core.netdev_max_backlog", 65_535, reason, NET_SYSCTL);
    }
    if role != Role::Server {
        ports(draft, IP_SYSCTL);
        let reason = "ports of connections that have just ended can be used again";
        draft.want(
            Setting::sysctl("net.ipv4.tcp_tw_reuse"),
            "1",
            Because { reason, source: IP_SYSCTL, optional: true },
        );
    }
    steady(draft, IP_SYSCTL);
    if draft.request.profile == Profile::Latency && nics.iter().any(|nic| nic.kind == NicKind::Device) {
        let reason =
            "a socket that waits looks at the device for 50 us before it sleeps; CPU figures mean nothing then";
        for name in ["net.core.busy_read", "net.core.busy_poll"] {
            let because = Because { reason, source: "kernel: networking/napi.rst", optional: true };
            draft.want(Setting::sysctl(name), "50", because);
        }
    }
}

/// What makes one run like the next.
fn steady(draft: &mut Draft<'_>, source: &str) {
    let reason = "a connection that paused shall not start slowly again";
    draft.want(Setting::sysctl("net.ipv4.tcp_slow_start_after_idle"), "0", Because { reason, source, optional: true });
    let reason = "a run shall not begin with what an earlier one left in the cache of routes";
    draft.want(Setting::sysctl("net.ipv4.tcp_no_metrics_save"), "1", Because { reason, source, optional: true });
}

/// A limit that is raised and never lowered.
fn at_least(draft: &mut Draft<'_>, name: &str, value: u64, reason: &str, source: &str) {
    let setting = Setting::sysctl(name);
    let now = draft.facts.value(&setting).and_then(|now| now.parse().ok()).unwrap_or(0);
    draft.want(setting, value.max(now).to_string(), Because { reason, source, optional: true });
}

/// All ports from 1024 on for connections made here, but those that somebody listens on: they are reserved first.
fn ports(draft: &mut Draft<'_>, source: &str) {
    const RANGE: (u16, u16) = (1024, 65_535);
    let reserved = Setting::sysctl("net.ipv4.ip_local_reserved_ports");
    let range = Setting::sysctl("net.ipv4.ip_local_port_range");
    let Some(known) = draft.facts.value(&range) else {
        draft.want(range, format!("{} {}", RANGE.0, RANGE.1), Because { reason: "", source, optional: true });
        return;
    };
    let first = known.split_ascii_whitespace().next().and_then(|first| first.parse::<u16>().ok()).unwrap_or(0);
    let listening: Vec<u16> = draft
        .facts
        .listening_ports
        .iter()
        .copied()
        .filter(|port| (RANGE.0..first.max(RANGE.0)).contains(port))
        .collect();
    if let Some(now) = draft.facts.value(&reserved)
        && !listening.is_empty()
    {
        let reason = "somebody listens there, and the range below is about to take it in";
        draft.want(reserved, with_ports(&now, &listening), Because { reason, source: IP_SYSCTL, optional: false });
    }
    let reason = "64 thousand connections to one address, not 28 thousand";
    draft.want(range, format!("{} {}", RANGE.0, RANGE.1), Because { reason, source, optional: true });
}

/// A list of ports and ranges with more ports in it, as the kernel writes it.
fn with_ports(list: &str, more: &[u16]) -> String {
    let mut ports: Vec<u32> = more.iter().copied().map(u32::from).collect();
    for item in list.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        if let (Ok(first), Ok(last)) = (first.parse::<u16>(), last.parse::<u16>()) {
            ports.extend(u32::from(first)..=u32::from(last));
        }
    }
    ports.sort_unstable();
    ports.dedup();
    results::cores::ranges(&ports)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_ports_grow_and_stay() {
        assert_eq!(with_ports("", &[9653, 8080]), "8080,9653");
        assert_eq!(with_ports("8079,9000-9002", &[8080, 9003]), "8079-8080,9000-9003");
    }
}
