//! Which core handles a packet that arrives (RPS, RFS) and by which queue one leaves (XPS).
//!
//! RPS only where queues are fewer than workers, never to the core that took the interrupt, never to the loader's. RFS always in both
//! its halves. XPS one core per queue where there are enough, else by shared cache.

use super::device::{rx_queues, tx_queues};
use super::draft::{Because, Draft, SCALING, SEED};
use super::interrupts::{are_planned, core_of};
use crate::cpu_set::CpuSet;
use crate::facts::{Nic, NicKind};
use crate::limits::MAX_FLOWS;
use crate::plan::{Profile, Role};
use crate::setting::Setting;

const FLOW_TABLE: &str = "net.core.rps_sock_flow_entries";

/// Entries of the seed script: of the whole table and of each queue.
const SEED_FLOWS: (u64, u64) = (1_048_576, 65_536);

pub(super) fn steer(draft: &mut Draft<'_>, nics: &[&Nic]) {
    let mut steered = false;
    for nic in nics {
        steered |= receive(draft, nic);
        transmit(draft, nic);
    }
    if steered {
        flow_table(draft);
    }
}

/// RPS and the queues' half of RFS; whether packets are steered then.
fn receive(draft: &mut Draft<'_>, nic: &Nic) -> bool {
    let queues = rx_queues(draft, nic);
    if nic.rx_queues.is_empty() {
        return false;
    }
    let targets = if draft.request.profile == Profile::Seed {
        vec![draft.facts.cpus.online.clone(); queues as usize]
    } else {
        rps_targets(draft, nic, queues)
    };
    let steered = targets.iter().any(|cpus| !cpus.is_empty());
    let off = why_off(draft, nic, queues);
    for (queue, cpus) in (0..queues).zip(&targets) {
        // A queue that is yet to come has no files; it is planned once it is there.
        if queue as usize >= nic.rx_queues.len() {
            break;
        }
        let setting = Setting::Rps { nic: nic.name.clone(), queue };
        let (reason, source) = match (draft.request.profile, cpus.is_empty()) {
            (Profile::Seed, _) => ("all cores".to_owned(), SEED),
            (_, true) => (off.clone(), SCALING),
            (_, false) => (why_on(draft, nic, queues, queue), SCALING),
        };
        draft.want(setting, cpus.mask(), Because { reason: &reason, source, optional: false });
    }
    if steered {
        flows(draft, nic, queues);
    }
    steered
}

fn why_off(draft: &Draft<'_>, nic: &Nic, queues: u32) -> String {
    match nic.kind {
        NicKind::Loopback => {
            "on loopback the sender's core receives; steering elsewhere was slower at every level tried".to_owned()
        }
        _ if queues as usize >= draft.request.cores.len() => {
            "a queue for every worker: steering again would only add interrupts between cores".to_owned()
        }
        _ => "no worker is left for it beside the core that takes the interrupts".to_owned(),
    }
}

fn why_on(draft: &Draft<'_>, nic: &Nic, queues: u32, queue: u32) -> String {
    let workers = draft.request.cores.len();
    let taken = if are_planned(draft, nic) {
        format!("; core {} takes the interrupts and is left out", core_of(draft, queue))
    } else {
        String::new()
    };
    let plural = if queues == 1 { "" } else { "s" };
    format!("{queues} receive queue{plural} for {workers} workers{taken}")
}

/// For each queue the cores its packets are handed to; empty for none.
fn rps_targets(draft: &Draft<'_>, nic: &Nic, queues: u32) -> Vec<CpuSet> {
    let none = vec![CpuSet::default(); queues as usize];
    let cpus = &draft.facts.cpus;
    let workers = draft.request.workers();
    if nic.kind == NicKind::Loopback || queues as usize >= workers.len() {
        return none;
    }
    // Whoever takes interrupts has enough to do, and so has the other thread of its core. A veth has no interrupts.
    let taking: CpuSet = if are_planned(draft, nic) {
        let taking: CpuSet = (0..queues).map(|queue| core_of(draft, queue)).collect();
        cpus.with_siblings(&taking)
    } else {
        CpuSet::default()
    };
    let free = workers.without(&taking).without(&cpus.with_siblings(&draft.request.loader_cores));
    let free = if free.is_empty() { workers.without(&taking) } else { free };
    let near = |queue: u32| if are_planned(draft, nic) { cpus.cache_of(core_of(draft, queue)) } else { free.clone() };
    let mut targets: Vec<CpuSet> = (0..queues).map(|queue| free.and(&near(queue))).collect();
    // Cores that share a cache with no interrupt are handed packets by every queue: better far than never.
    let reached = targets.iter().fold(CpuSet::default(), |all, cpus| all.or(cpus));
    let far = free.without(&reached);
    targets.iter_mut().for_each(|cpus| *cpus = cpus.or(&far));
    // A queue whose neighbours all take interrupts shares the others' targets.
    targets.iter_mut().filter(|cpus| cpus.is_empty()).for_each(|cpus| *cpus = free.clone());
    targets
}

/// Entries of the table of flows: a power of two for the connections expected.
fn entries(draft: &Draft<'_>) -> u64 {
    match draft.request.profile {
        Profile::Seed => SEED_FLOWS.0,
        _ => u64::from(draft.request.connections.max(1)).next_power_of_two().min(MAX_FLOWS),
    }
}

/// The queues' half of RFS.
fn flows(draft: &mut Draft<'_>, nic: &Nic, queues: u32) {
    let each = match draft.request.profile {
        Profile::Seed => SEED_FLOWS.1,
        _ => (entries(draft) / u64::from(queues.max(1))).max(1).next_power_of_two(),
    };
    let seen = draft.facts.value(&Setting::sysctl(FLOW_TABLE)).is_some();
    let reason = if seen {
        "packets go to the core that reads their connection; this is the queue's half of it"
    } else {
        "the queue's half of flow steering; the other half belongs to the whole machine and cannot be seen from this network namespace"
    };
    let source = if draft.request.profile == Profile::Seed { SEED } else { SCALING };
    for queue in 0..queues.min(nic.rx_queues.len() as u32) {
        let setting = Setting::RpsFlows { nic: nic.name.clone(), queue };
        draft.want(setting, each.to_string(), Because { reason, source, optional: false });
    }
}

/// The machine's half of RFS.
fn flow_table(draft: &mut Draft<'_>) {
    let source = if draft.request.profile == Profile::Seed { SEED } else { SCALING };
    let reason = "the table of which core reads which connection; without it the queues' half does nothing";
    draft.want(Setting::sysctl(FLOW_TABLE), entries(draft).to_string(), Because { reason, source, optional: false });
}

fn transmit(draft: &mut Draft<'_>, nic: &Nic) {
    let queues = tx_queues(draft, nic);
    if nic.tx_queues.is_empty() || nic.kind == NicKind::Loopback {
        return;
    }
    if queues < 2 {
        if draft.request.profile == Profile::Seed && nic.tx_queues.len() == 1 {
            // The seed script writes it all the same; the kernel refuses it.
            draft.unsupported(
                format!("{} tx-0 xps_cpus", nic.name),
                "with a single transmit queue there is nothing to steer",
            );
        }
        return;
    }
    let (cpus, reason, source) = match draft.request.profile {
        Profile::Seed => (vec![draft.facts.cpus.online.clone(); queues as usize], "all cores in every queue", SEED),
        _ if queues as usize >= draft.request.cores.len() => (
            one_each(draft, queues),
            "each worker sends by a queue of its own, without a lock that others want",
            SCALING,
        ),
        _ => (shared(draft, queues), "workers that share a cache share a queue", SCALING),
    };
    for (queue, cpus) in (0..queues).zip(cpus) {
        if queue as usize >= nic.tx_queues.len() {
            break;
        }
        // Some drivers choose queues themselves and refuse.
        let setting = Setting::Xps { nic: nic.name.clone(), queue };
        draft.want(setting, cpus.mask(), Because { reason, source, optional: true });
    }
}

/// Queue i for worker i; queues beyond the workers for everybody else, so that nobody lands on a worker's.
fn one_each(draft: &Draft<'_>, queues: u32) -> Vec<CpuSet> {
    let workers = &draft.request.cores;
    let mut cpus: Vec<CpuSet> = workers.iter().map(|core| CpuSet::from_iter([*core])).collect();
    let others: Vec<u32> = draft.facts.cpus.online.without(&draft.request.workers()).iter().collect();
    let spare = queues as usize - cpus.len();
    if spare > 0 {
        let mut rest = vec![CpuSet::default(); spare];
        others.iter().enumerate().for_each(|(index, cpu)| rest[index % spare].insert(*cpu));
        cpus.extend(rest);
    } else if draft.request.role == Role::Both {
        // The loader's cores send too: each by the queue of a worker, in turn.
        let count = cpus.len();
        draft.request.loader_cores.iter().enumerate().for_each(|(index, cpu)| cpus[index % count].insert(cpu));
    }
    cpus
}

/// Each worker by the least used of the queues that are completed on a core of its own cache, or of all.
fn shared(draft: &Draft<'_>, queues: u32) -> Vec<CpuSet> {
    let mut cpus = vec![CpuSet::default(); queues as usize];
    let everybody = draft.request.cores.iter().copied().chain(draft.request.loader_cores.iter());
    for worker in everybody {
        let cache = draft.facts.cpus.cache_of(worker);
        let near: Vec<usize> =
            (0..queues).filter(|queue| cache.contains(core_of(draft, *queue))).map(|queue| queue as usize).collect();
        let candidates = if near.is_empty() { (0..queues as usize).collect() } else { near };
        let least = candidates.into_iter().min_by_key(|queue| cpus[*queue].len()).expect("there is at least one queue");
        cpus[least].insert(worker);
    }
    cpus
}
