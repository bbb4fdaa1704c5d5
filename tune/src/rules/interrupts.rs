//! The interrupt of queue i goes to core i.

use super::draft::{Because, Draft, SCALING};
use crate::cpu_set::CpuSet;
use crate::facts::Nic;
use crate::plan::Profile;
use crate::setting::Setting;

/// The core that takes the interrupts of a queue, as planned.
pub(super) fn core_of(draft: &Draft<'_>, queue: u32) -> u32 {
    let cores = draft.request.interrupt_cores();
    cores[queue as usize % cores.len()]
}

/// Whether interrupts of this interface will lie on the cores planned for them.
pub(super) fn are_planned(draft: &Draft<'_>, nic: &Nic) -> bool {
    draft.request.profile != Profile::Seed
        && !draft.request.without.contains(&crate::plan::Area::Interrupts)
        && nic.interrupts.iter().any(|interrupt| interrupt.queue.is_some())
}

pub(super) fn affinity(draft: &mut Draft<'_>, nic: &Nic) {
    if draft.request.profile == Profile::Seed {
        return;
    }
    if !are_planned(draft, nic) {
        if !nic.interrupts.is_empty() {
            let names: Vec<&str> = nic.interrupts.iter().map(|interrupt| interrupt.action.as_str()).collect();
            let why = format!("none of its interrupts is known to be a queue's: {}", names.join(", "));
            draft.unsupported(format!("{} interrupts", nic.name), why);
        }
        return;
    }
    for interrupt in &nic.interrupts {
        let Some(queue) = interrupt.queue else { continue };
        let core = core_of(draft, queue);
        let setting =
            Setting::Interrupt { nic: nic.name.clone(), irq: interrupt.number, action: interrupt.action.clone() };
        let reason = format!("queue {queue} goes with core {core}, where its packets are handled");
        // The kernel spreads the interrupts of some drivers itself, and answers EIO.
        draft.want(
            setting,
            CpuSet::from_iter([core]).list(),
            Because { reason: &reason, source: SCALING, optional: true },
        );
    }
}
