//! Facts for people: what the host is, how it is set, and what would hurt a run.

use std::fmt::Write as _;

use crate::cpu_set::CpuSet;
use crate::facts::{Facts, Nic};
use crate::findings::Finding;
use crate::netlink::{Amount, Offload};

/// The page of `tune show`: the host, the interfaces named (or all), findings.
#[must_use]
pub fn text(facts: &Facts, nics: &[&Nic], findings: &[Finding]) -> String {
    let mut text = String::new();
    host(&mut text, facts);
    nics.iter().for_each(|nic| interface(&mut text, facts, nic));
    text.push_str("\nsysctls\n");
    for (name, value) in &facts.sysctls {
        let value = if value.is_empty() { "(empty)" } else { value };
        let _ = writeln!(text, "  {name} = {value}");
    }
    text.push('\n');
    text.push_str(&findings_text(findings));
    text
}

/// The host alone, without its interfaces.
#[must_use]
pub fn host_text(facts: &Facts) -> String {
    let mut text = String::new();
    host(&mut text, facts);
    text
}

/// Findings, or that there are none.
#[must_use]
pub fn findings_text(findings: &[Finding]) -> String {
    if findings.is_empty() {
        return "nothing found that would hurt a run\n".to_owned();
    }
    let mut text = "what would hurt a run\n".to_owned();
    for finding in findings {
        let _ = writeln!(text, "  {}: {}", finding.what, finding.why);
    }
    text
}

fn row(text: &mut String, name: &str, value: impl AsRef<str>) {
    let _ = writeln!(text, "  {name:<14} {}", value.as_ref());
}

fn or_unknown(value: Option<&str>) -> &str {
    value.unwrap_or("not known")
}

fn host(text: &mut String, facts: &Facts) {
    let kernel = &facts.kernel;
    text.push_str("host\n");
    row(text, "kernel", or_unknown(kernel.release.as_deref()));
    if let Some(bytes) = kernel.page_bytes {
        row(text, "page", format!("{bytes} bytes"));
    }
    let cpus = &facts.cpus;
    let not_online = cpus.present.without(&cpus.online);
    let offline = if not_online.is_empty() { String::new() } else { format!(", offline {not_online}") };
    let allowed =
        if cpus.allowed == cpus.online { String::new() } else { format!(", this process may use {}", cpus.allowed) };
    row(text, "CPUs", format!("{} online{offline}{allowed}", cpus.online));
    for group in cpus.groups() {
        let first = group.cpus.first().and_then(|first| cpus.cpu(first));
        let cache = first.and_then(|cpu| cpu.cache_name.clone()).map_or_else(String::new, |name| format!(", {name}"));
        let node = first.and_then(|cpu| cpu.node).map_or_else(String::new, |node| format!(", node {node}"));
        let capacity =
            first.and_then(|cpu| cpu.capacity).map_or_else(String::new, |capacity| format!(", capacity {capacity}"));
        row(text, "", format!("{}: {}{cache} shared by {}{node}{capacity}", group.cpus, group.kind, group.cache));
    }
    let smt = match cpus.smt_active {
        Some(true) => "two hardware threads per core",
        Some(false) => "off or not there",
        None => "not known",
    };
    row(text, "SMT", smt);
    for policy in &cpus.policies {
        let mhz = |khz: Option<u64>| khz.map_or_else(|| "?".to_owned(), |khz| (khz / 1000).to_string());
        let (governor, now, most) = (or_unknown(policy.governor.as_deref()), mhz(policy.now_khz), mhz(policy.max_khz));
        row(text, "governor", format!("CPUs {}: {governor}, {now} of {most} MHz", policy.cpus));
    }
    if cpus.policies.is_empty() {
        row(text, "governor", "none: the kernel does not govern frequencies here");
    }
    row(text, "idle states", idle_states(facts));
    let option =
        kernel.mitigations_option.as_deref().map_or_else(String::new, |option| format!("mitigations={option}; "));
    let active: Vec<&str> = kernel.mitigations.keys().map(String::as_str).collect();
    row(
        text,
        "mitigations",
        format!("{option}{}", if active.is_empty() { "none needed".to_owned() } else { active.join(", ") }),
    );
    let limit = |limit: Option<crate::facts::kernel::Limit>| match limit {
        None => "not known".to_owned(),
        Some(limit) => {
            let word = |value: Option<u64>| value.map_or_else(|| "unlimited".to_owned(), |value| value.to_string());
            format!("{} (may be raised to {})", word(limit.soft), word(limit.hard))
        }
    };
    row(text, "open files", limit(kernel.open_files));
    row(text, "locked bytes", limit(kernel.locked_bytes));
    let ring = match kernel.io_uring_disabled {
        Some(0) => "allowed to everybody",
        Some(1) => "allowed to root and kernel.io_uring_group",
        Some(_) => "switched off",
        None => "no sysctl restricts it",
    };
    let filtered = if kernel.seccomp == Some(true) { "; a seccomp filter watches this process" } else { "" };
    row(text, "io_uring", format!("{ring}{filtered}"));
    let balance = facts.irqbalance.map_or_else(|| "does not run".to_owned(), |pid| format!("runs, process {pid}"));
    row(text, "irqbalance", balance);
    firewall(text, facts);
    row(text, "sniffers", sniffers(facts));
    pressure(text, facts);
}

fn idle_states(facts: &Facts) -> String {
    let Some(first) = facts.cpus.each.first().filter(|cpu| !cpu.idle_states.is_empty()) else {
        return "none: the kernel does not manage them here".to_owned();
    };
    let state = |state: &crate::facts::IdleState| {
        let off = if state.disabled { ", off" } else { "" };
        format!("{} ({} us{off})", state.name, state.exit_latency_us)
    };
    let states: Vec<String> = first.idle_states.iter().map(state).collect();
    format!("CPU {}: {}", first.number, states.join(", "))
}

fn firewall(text: &mut String, facts: &Facts) {
    let firewall = &facts.firewall;
    let chains = match &firewall.chains {
        None => "nftables not known (needs CAP_NET_ADMIN)".to_owned(),
        Some(chains) if chains.is_empty() => "no nftables chains".to_owned(),
        Some(chains) => {
            let name =
                |chain: &crate::netlink::Chain| format!("{} {} ({} rules)", chain.table, chain.name, chain.rules);
            chains.iter().map(name).collect::<Vec<_>>().join(", ")
        }
    };
    let tables = match firewall.iptables.as_deref() {
        None => "iptables tables not known (needs root)".to_owned(),
        Some([]) => "no iptables tables".to_owned(),
        Some(tables) => format!("iptables tables {}", tables.join(", ")),
    };
    row(text, "firewall", format!("{chains}; {tables}"));
    let tracked =
        firewall.tracked.map_or_else(|| "not there".to_owned(), |count| format!("there, {count} connections now"));
    row(text, "conntrack", tracked);
}

fn sniffers(facts: &Facts) -> String {
    if facts.sniffers.is_empty() {
        return "none".to_owned();
    }
    let one = |sniffer: &crate::facts::Sniffer| {
        let owner = sniffer.owner.as_deref().unwrap_or("unknown process");
        let nic = facts
            .nics
            .iter()
            .find(|nic| nic.ifindex == Some(sniffer.ifindex))
            .map_or("all interfaces", |nic| nic.name.as_str());
        format!("{owner} on {nic}, protocol {:#06x}", sniffer.protocol)
    };
    facts.sniffers.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn pressure(text: &mut String, facts: &Facts) {
    let pressure = &facts.pressure;
    if let Some(load) = pressure.load {
        row(text, "load", format!("{load:.2} over one minute"));
    }
    if let Some(share) = pressure.steal_share {
        row(text, "steal", format!("{:.2} % of all CPU time since boot", share * 100.0));
    }
    let count = |count: Option<u64>| count.map_or_else(|| "not known".to_owned(), |count| count.to_string());
    let (drops, squeezed) = (count(pressure.backlog_drops), count(pressure.squeezed));
    row(text, "backlog", format!("{drops} packets dropped, {squeezed} times out of budget, since boot"));
    row(text, "accept queues", format!("{} connections found one full", count(pressure.listen_overflows)));
}

fn interface(text: &mut String, facts: &Facts, nic: &Nic) {
    let _ = writeln!(text, "\n{} ({})", nic.name, nic.kind.name());
    if let Some(driver) = &nic.driver {
        row(
            text,
            "driver",
            format!("{driver}{}", nic.bus.as_ref().map_or_else(String::new, |bus| format!(" at {bus}"))),
        );
    }
    let carrier = if nic.carrier == Some(true) { "carrier" } else { "no carrier" };
    let speed = nic.speed_mbits_per_s.map_or_else(String::new, |speed| format!(", {speed} Mb/s"));
    row(text, "link", format!("{}, {carrier}{speed}", or_unknown(nic.state.as_deref())));
    if let Some(pci) = &nic.pci {
        let best = nic.pci_best.as_ref().map_or_else(String::new, |best| format!(" (could be {best})"));
        row(text, "PCI", format!("{pci}{best}"));
    }
    if let Some(node) = nic.node {
        row(text, "NUMA node", node.to_string());
    }
    if let Some(mtu) = nic.mtu_bytes {
        row(text, "MTU", mtu.to_string());
    }
    if !nic.lowers.is_empty() {
        row(text, "stands for", nic.lowers.join(", "));
    }
    row(text, "queues", format!("{} rx, {} tx", nic.rx_queues.len(), nic.tx_queues.len()));
    device(text, nic);
    if !nic.qdiscs.is_empty() {
        row(text, "qdisc", qdiscs(&nic.qdiscs));
    }
    for interrupt in &nic.interrupts {
        let to = interrupt.effective.as_deref().or(interrupt.affinity.as_deref());
        let allowed = or_unknown(interrupt.affinity.as_deref());
        row(
            text,
            "irq",
            format!("{} {}: goes to {}, may go to {allowed}", interrupt.number, interrupt.action, or_unknown(to)),
        );
    }
    row(text, "RPS", steering(nic.rx_queues.iter().map(|queue| queue.rps_cpus.as_deref())));
    row(text, "RFS", flows(facts, nic));
    row(text, "XPS", steering(nic.tx_queues.iter().map(|queue| queue.xps_cpus.as_deref())));
    let losses: Vec<String> = nic.losses.iter().map(|(name, count)| format!("{name} {count}")).collect();
    row(text, "lost", if losses.is_empty() { "nothing".to_owned() } else { losses.join(", ") });
}

fn device(text: &mut String, nic: &Nic) {
    let Some(device) = &nic.device else {
        row(text, "ethtool", "the kernel could not be asked");
        return;
    };
    let amount = |amount: Option<Amount>| {
        amount
            .filter(|amount| amount.max > 0)
            .map_or_else(|| "none".to_owned(), |amount| format!("{} of {}", amount.now, amount.max))
    };
    row(text, "rings", format!("rx {}, tx {}", amount(device.ring_rx), amount(device.ring_tx)));
    let (combined, rx, tx) = (amount(device.combined), amount(device.channels_rx), amount(device.channels_tx));
    row(text, "channels", format!("combined {combined}, rx {rx}, tx {tx}"));
    let usecs = |usecs: Option<u32>| usecs.map_or_else(|| "unsupported".to_owned(), |usecs| format!("{usecs} us"));
    let adaptive = match device.adaptive_rx {
        Some(true) => "on",
        Some(false) => "off",
        None => "unsupported",
    };
    row(
        text,
        "coalescing",
        format!("rx {}, tx {}, adaptive rx {adaptive}", usecs(device.rx_usecs), usecs(device.tx_usecs)),
    );
    let offload = |name: &str, offload: Option<Offload>| match offload {
        None => format!("{name} none"),
        Some(Offload { on, changeable }) => {
            format!("{name} {}{}", if on { "on" } else { "off" }, if changeable { "" } else { " (fixed)" })
        }
    };
    let offloads =
        [("GRO", device.gro), ("GSO", device.gso), ("TSO", device.tso), ("LRO", device.lro), ("ntuple", device.ntuple)];
    row(text, "offloads", offloads.map(|(name, state)| offload(name, state)).join(", "));
    if !device.rss.is_empty() {
        let shares: Vec<String> =
            device.rss.iter().enumerate().map(|(queue, share)| format!("{queue}: {share}")).collect();
        row(text, "RSS table", format!("entries per queue {}", shares.join(", ")));
    }
}

/// The root, and how many of which below it.
fn qdiscs(kinds: &[String]) -> String {
    let (root, below) = kinds.split_first().expect("the caller has looked");
    let mut counts: Vec<(&String, u32)> = Vec::new();
    for kind in below {
        match counts.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += 1,
            None => counts.push((kind, 1)),
        }
    }
    let below: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} x {kind}")).collect();
    if below.is_empty() { root.clone() } else { format!("{root} over {}", below.join(", ")) }
}

/// Masks as lists, one for each queue; queues that are alike are told once.
fn steering<'a>(masks: impl Iterator<Item = Option<&'a str>>) -> String {
    let list = |mask: &str| {
        CpuSet::from_mask(mask)
            .map_or_else(|_| mask.to_owned(), |cpus| if cpus.is_empty() { "off".to_owned() } else { cpus.list() })
    };
    let lists: Vec<String> = masks.map(|mask| mask.map_or_else(|| "not there".to_owned(), list)).collect();
    match lists.first() {
        None => "no queues".to_owned(),
        Some(first) if lists.iter().all(|list| list == first) => first.clone(),
        Some(_) => {
            lists.iter().enumerate().map(|(queue, list)| format!("{queue}: {list}")).collect::<Vec<_>>().join("; ")
        }
    }
}

fn flows(facts: &Facts, nic: &Nic) -> String {
    let per_queue: Vec<&str> =
        nic.rx_queues.iter().map(|queue| queue.rps_flows.as_deref().unwrap_or("not there")).collect();
    let table = facts.sysctls.get("net.core.rps_sock_flow_entries").map_or("cannot be seen from here", String::as_str);
    let same = per_queue.windows(2).all(|pair| pair[0] == pair[1]);
    let queues = if same { per_queue.first().copied().unwrap_or("none").to_owned() } else { per_queue.join(", ") };
    format!("entries per queue {queues}, of the machine {table}")
}
