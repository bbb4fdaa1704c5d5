//! What the plan does not do: other people's processes and rules, and what takes effect at boot only.

use super::draft::Draft;
use super::interrupts::are_planned;
use crate::cpu_set::CpuSet;
use crate::facts::{Nic, NicKind};
use crate::plan::Profile;

pub(super) fn give(draft: &mut Draft<'_>, nics: &[&Nic]) {
    let facts = draft.facts;
    let seed = draft.request.profile == Profile::Seed;
    if let Some(pid) = facts.irqbalance
        && nics.iter().any(|nic| are_planned(draft, nic))
    {
        draft.advise(
            "irqbalance",
            format!(
                "it runs (process {pid}) and moves interrupts back within ten seconds: `systemctl stop irqbalance` for the run, \
                 `systemctl start irqbalance` after it"
            ),
        );
    }
    if let Some(name) = &draft.request.nic
        && let Some(nic) = facts.nic(name)
        && !nics.iter().any(|carrier| carrier.name == *name)
    {
        let below: Vec<&str> = nics.iter().map(|nic| nic.name.as_str()).collect();
        let why = format!("it is a {} and stands for {}: those are tuned", nic.kind.name(), below.join(", "));
        draft.advise(name.clone(), why);
    }
    if draft.request.nic.is_none() {
        draft.advise("no interface", "none was named, so only what loopback and the host itself need is planned");
    }
    for nic in nics {
        let far = CpuSet::from_iter(draft.request.all_cores().iter().filter(|cpu| {
            let node = facts.cpus.cpu(*cpu).and_then(|cpu| cpu.node);
            nic.node.is_some() && node.is_some() && node != nic.node
        }));
        if !far.is_empty() {
            let node = nic.node.unwrap_or(0);
            draft.advise(
                nic.name.clone(),
                format!("it is next to NUMA node {node}, and CPUs {far} are not: take cores of that node"),
            );
        }
        if nic.kind == NicKind::Device && nic.rx_queues.len() == 1 && draft.request.irq_cores.is_empty() && !seed {
            let core = draft.request.cores[0];
            if draft.request.cores.len() > 1 {
                draft.advise(
                    nic.name.clone(),
                    format!(
                        "its one queue is served by core {core}, a worker's: at high packet rates give interrupts a core of their \
                         own with --irq-cores"
                    ),
                );
            }
        }
    }
    if !facts.cpus.isolated.is_empty() && facts.cpus.isolated.and(&draft.request.workers()).is_empty() {
        let isolated = &facts.cpus.isolated;
        draft.advise(
            "isolated CPUs",
            format!("CPUs {isolated} are kept free of other work, and none of the workers is on one"),
        );
    }
}
