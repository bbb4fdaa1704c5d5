//! What would hurt a run, and why: a pure function of facts. Says what it knows; what is not known is no finding.

use serde::{Deserialize, Serialize};

use crate::cpu_set::CpuSet;
use crate::facts::{Cpus, Facts, Nic, NicKind};
use crate::limits::BUSY_LOAD_PER_CPU;

/// One thing that would hurt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// A name for programs, as in `governor`.
    pub code: String,
    /// What it is about.
    pub what: String,
    /// Why it hurts, and what mends it.
    pub why: String,
}

/// Findings about the host and these interfaces.
#[must_use]
pub fn findings(facts: &Facts, nics: &[&Nic]) -> Vec<Finding> {
    let mut found = Found::default();
    clocks(&mut found, facts);
    busy(&mut found, facts);
    paths(&mut found, facts, nics);
    limits(&mut found, facts);
    nics.iter().for_each(|nic| interface(&mut found, facts, nic));
    found.0
}

#[derive(Default)]
struct Found(Vec<Finding>);

impl Found {
    fn add(&mut self, code: &str, what: impl Into<String>, why: impl Into<String>) {
        self.0.push(Finding { code: code.to_owned(), what: what.into(), why: why.into() });
    }
}

fn clocks(found: &mut Found, facts: &Facts) {
    for policy in &facts.cpus.policies {
        if let Some(governor) = policy.governor.as_deref().filter(|governor| *governor != "performance") {
            let why = format!(
                "{governor} lets the clock follow the load, so short runs measure the ramp; `zapring tune apply` sets performance"
            );
            found.add("governor", format!("governor of CPUs {}", policy.cpus), why);
        }
    }
    let groups = facts.cpus.groups();
    let mut kinds: Vec<&str> = groups.iter().map(|group| group.kind.as_str()).collect();
    kinds.dedup();
    if kinds.windows(2).any(|pair| pair[0] != pair[1]) {
        let list: Vec<String> = groups.iter().map(|group| format!("{} {}", group.cpus, group.kind)).collect();
        let why = format!("{}: name cores by list, and give both sides the same mix", list.join(", "));
        found.add("mixed_cores", "CPUs of several kinds", why);
    }
}

fn busy(found: &mut Found, facts: &Facts) {
    let cpus = facts.cpus.online.len().max(1);
    if let Some(load) = facts.pressure.load.filter(|load| *load > BUSY_LOAD_PER_CPU * cpus as f64) {
        let why =
            format!("{load:.2} over the last minute on {cpus} CPUs: something else runs and will be measured too");
        found.add("load", "load average", why);
    }
    if let Some(share) = facts.pressure.steal_share.filter(|share| *share > 0.01) {
        let why = format!("{:.1} % of all CPU time since boot went to other virtual machines", share * 100.0);
        found.add("steal", "stolen time", why);
    }
}

fn paths(found: &mut Found, facts: &Facts, nics: &[&Nic]) {
    let rules: Vec<String> =
        facts.firewall.chains.iter().flatten().map(|chain| format!("{} {}", chain.table, chain.name)).collect();
    if !rules.is_empty() {
        found.add("firewall", "nftables", format!("every packet, on loopback too, runs through {}", rules.join(", ")));
    }
    if let Some(tables) = facts.firewall.iptables.as_deref().filter(|tables| !tables.is_empty()) {
        let why = format!("every packet, on loopback too, runs through the tables {}", tables.join(", "));
        found.add("firewall", "iptables", why);
    }
    if let Some(count) = facts.firewall.tracked.filter(|count| *count > 0) {
        let why = format!(
            "{count} connections are tracked: a NOTRACK rule for the test's port, or a network namespace without rules, spares it"
        );
        found.add("conntrack", "connection tracking", why);
    }
    for sniffer in &facts.sniffers {
        let concerns = sniffer.ifindex == 0 || nics.iter().any(|nic| nic.ifindex == Some(sniffer.ifindex));
        if concerns {
            let owner = sniffer.owner.as_deref().unwrap_or("an unknown process");
            found.add(
                "sniffer",
                owner,
                "it holds a packet socket, and the kernel offers it packets on their way; stop it for the run",
            );
        }
    }
}

fn limits(found: &mut Found, facts: &Facts) {
    match facts.kernel.io_uring_disabled {
        Some(2) => found.add(
            "io_uring",
            "io_uring",
            "kernel.io_uring_disabled = 2 switches it off: `sysctl kernel.io_uring_disabled=0`, or --engine epoll",
        ),
        Some(1) => found.add(
            "io_uring",
            "io_uring",
            "kernel.io_uring_disabled = 1 leaves it to root and kernel.io_uring_group",
        ),
        _ => {}
    }
    if let Some(hard) = facts.kernel.open_files.and_then(|limit| limit.hard).filter(|hard| *hard < 4096) {
        let why = format!("{hard} at most: a run with more connections fails; raise it with `ulimit -Hn`");
        found.add("open_files", "open files", why);
    }
    if let Some(drops) = facts.pressure.backlog_drops.filter(|drops| *drops > 0) {
        found.add(
            "backlog",
            "packets dropped",
            format!("{drops} found a CPU's backlog full since boot: raise net.core.netdev_max_backlog"),
        );
    }
    if let Some(full) = facts.pressure.listen_overflows.filter(|full| *full > 0) {
        found.add(
            "accept_queue",
            "accept queues",
            format!("{full} connections found one full: raise net.core.somaxconn and the backlog"),
        );
    }
}

fn interface(found: &mut Found, facts: &Facts, nic: &Nic) {
    let name = &nic.name;
    if nic.kind == NicKind::Loopback {
        if let Some(mtu) = nic.mtu_bytes.filter(|mtu| *mtu > 9000) {
            found.add(
                "loopback_mtu",
                name,
                format!("an MTU of {mtu} flatters pipelining beside a wire's 1500; --mtu 1500 makes them alike"),
            );
        }
        return;
    }
    if nic.kind == NicKind::Device && nic.carrier != Some(true) {
        return;
    }
    let lost: Vec<String> = nic.losses.iter().map(|(counter, count)| format!("{counter} {count}")).collect();
    if !lost.is_empty() {
        found.add("losses", name, format!("it has lost packets since it came: {}", lost.join(", ")));
    }
    if let (Some(now), Some(best)) = (&nic.pci, &nic.pci_best) {
        found.add("pci", name, format!("it sits at {now} and could have {best}"));
    }
    rfs(found, facts, nic);
    if let Some(pid) = facts.irqbalance
        && nic.interrupts.iter().any(|interrupt| interrupt.queue.is_some())
    {
        found.add("irqbalance", name, format!("irqbalance (process {pid}) moves its interrupts while a run lasts"));
    }
    let all = |mask: &Option<String>| {
        mask.as_deref().and_then(|mask| CpuSet::from_mask(mask).ok()).is_some_and(|cpus| cpus == facts.cpus.online)
    };
    if nic.tx_queues.len() > 1 && facts.cpus.online.len() > 1 && nic.tx_queues.iter().all(|queue| all(&queue.xps_cpus))
    {
        found.add("xps", name, "every CPU in every transmit queue looks like steering and is none");
    }
    if nic.kind == NicKind::Device && nic.interrupts.iter().filter(|interrupt| interrupt.queue.is_some()).count() > 2 {
        let mut cores: Vec<&str> = nic
            .interrupts
            .iter()
            .filter(|interrupt| interrupt.queue.is_some())
            .filter_map(|interrupt| interrupt.effective.as_deref())
            .collect();
        let count = cores.len();
        cores.sort_unstable();
        cores.dedup();
        if count > 2 && cores.len() == 1 {
            found.add("interrupts", name, format!("all its {count} queue interrupts go to CPU {}", cores[0]));
        }
    }
}

/// Half of flow steering does nothing, without an error.
fn rfs(found: &mut Found, facts: &Facts, nic: &Nic) {
    let Some(table) = facts.sysctls.get("net.core.rps_sock_flow_entries") else { return };
    let queues = nic.rx_queues.iter().any(|queue| queue.rps_flows.as_deref().is_some_and(|flows| flows != "0"));
    if queues && table == "0" {
        found.add(
            "rfs",
            &nic.name,
            "rps_flow_cnt is set and net.core.rps_sock_flow_entries is not: flow steering stays off",
        );
    }
}

/// Whether the cores of two sides make a fair pair; what is unfair about them.
#[must_use]
pub fn unfair(cpus: &Cpus, server: &CpuSet, loader: &CpuSet) -> Vec<Finding> {
    let mut found = Found::default();
    let kinds = |side: &CpuSet| {
        let mut kinds: Vec<&str> = side.iter().filter_map(|cpu| cpus.cpu(cpu)).map(|cpu| cpu.kind.as_str()).collect();
        kinds.sort_unstable();
        kinds.join(", ")
    };
    let common = server.and(loader);
    if !common.is_empty() {
        found.add("shared_cores", "cores", format!("{common} are on both sides: they take turns there"));
        return found.0;
    }
    if kinds(server) != kinds(loader) {
        found.add(
            "unlike_cores",
            "cores",
            format!("the server has {}, the loader {}: give both the same mix", kinds(server), kinds(loader)),
        );
    }
    let threads = cpus.with_siblings(server).and(loader);
    if !threads.is_empty() {
        found.add(
            "siblings",
            "cores",
            format!("the loader's {threads} are other hardware threads of the server's cores"),
        );
    }
    let caches = |side: &CpuSet| side.iter().fold(CpuSet::default(), |all, cpu| all.or(&cpus.cache_of(cpu)));
    let (of_server, of_loader) = (caches(server), caches(loader));
    if of_server.and(&of_loader).is_empty() {
        return found.0;
    }
    // Only where there is a choice: a host with one cache cannot be fairer.
    let several = cpus.groups().iter().any(|group| !group.cache.contains(server.first().unwrap_or(0)));
    if several {
        found.add(
            "shared_cache",
            "cores",
            "both sides share a cache although there are several: take cores of different ones, and swap sides once",
        );
    }
    found.0
}
