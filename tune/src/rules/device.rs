//! What `ethtool` sets, and the MTU: queues, rings, coalescing, offloads.

use super::draft::{Because, Draft, SCALING, SEED};
use crate::facts::{Nic, NicKind};
use crate::netlink::{Amount, Offload};
use crate::plan::{Profile, Rings};
use crate::setting::{Knob, Setting};

const ENA_GUIDE: &str = "ENA Linux best practices";

/// Queues and rings: changing them resets the device.
pub(super) fn resets(draft: &mut Draft<'_>, nic: &Nic) {
    channels(draft, nic);
    rings(draft, nic);
}

/// The most queues a direction can have.
pub(super) fn most_queues(nic: &Nic) -> u32 {
    let device = nic.device.clone().unwrap_or_default();
    let most = [device.combined, device.channels_rx, device.channels_tx].into_iter().flatten().map(|amount| amount.max);
    most.max().unwrap_or(0).max(1)
}

/// Receive queues that there will be once the plan is done.
pub(super) fn rx_queues(draft: &Draft<'_>, nic: &Nic) -> u32 {
    wanted_queues(draft, nic).unwrap_or(nic.rx_queues.len() as u32)
}

/// Transmit queues that there will be once the plan is done.
pub(super) fn tx_queues(draft: &Draft<'_>, nic: &Nic) -> u32 {
    wanted_queues(draft, nic).unwrap_or(nic.tx_queues.len() as u32)
}

/// As many queues as there are workers, where the device lets itself be told; as many as were asked for on any other.
fn wanted_queues(draft: &Draft<'_>, nic: &Nic) -> Option<u32> {
    let request = draft.request;
    if draft.as_is || request.without.contains(&crate::plan::Area::Device) {
        return None;
    }
    let combined = nic.device.as_ref().and_then(|device| device.combined).map_or(0, |combined| combined.max);
    match request.queues {
        Some(queues) => (most_queues(nic) > 1).then_some(queues.min(most_queues(nic))),
        None if request.profile == Profile::Seed || nic.kind != NicKind::Device || combined < 2 => None,
        None => Some(combined.min(request.interrupt_cores().len() as u32)),
    }
}

fn channels(draft: &mut Draft<'_>, nic: &Nic) {
    let Some(queues) = wanted_queues(draft, nic) else {
        if let Some(queues) = draft.request.queues {
            draft.unsupported(format!("{} channels", nic.name), format!("the driver has one queue and not {queues}"));
        }
        return;
    };
    let device = nic.device.clone().unwrap_or_default();
    let reason = if draft.request.queues.is_some() {
        "asked for; the link may go down for a moment".to_owned()
    } else {
        "one queue for each core that takes interrupts: fewer leave cores idle, more split the load into smaller batches; \
         the link may go down for a moment"
            .to_owned()
    };
    let because = Because { reason: &reason, source: SCALING, optional: true };
    let knobs: &[Knob] = if device.combined.is_some_and(|combined| combined.max > 0) {
        &[Knob::ChannelsCombined]
    } else {
        &[Knob::ChannelsRx, Knob::ChannelsTx]
    };
    for knob in knobs {
        draft.want(Setting::Device { nic: nic.name.clone(), knob: *knob }, queues.to_string(), because);
    }
}

fn rings(draft: &mut Draft<'_>, nic: &Nic) {
    let device = nic.device.clone().unwrap_or_default();
    let lost = nic.ring_losses();
    let asked = match (draft.request.rings, draft.request.profile) {
        (Rings::OnDrops, Profile::Seed) => Rings::Max,
        (rings, _) => rings,
    };
    let lengths = [(Knob::RingRx, device.ring_rx), (Knob::RingTx, device.ring_tx)];
    if asked != Rings::OnDrops && lengths.iter().all(|(_, ring)| ring.is_none_or(|ring| ring.max == 0)) {
        draft.unsupported(format!("{} rings", nic.name), "the driver does not tell how long its rings are");
        return;
    }
    for (knob, ring) in lengths {
        let Some(ring) = ring.filter(|ring| ring.max > 0) else { continue };
        let (entries, reason) = match asked {
            Rings::OnDrops if lost > 0 && knob == Knob::RingRx => (
                doubled(ring),
                format!("the device had no room for {lost} packets since it came; the link may go down for a moment"),
            ),
            Rings::OnDrops => continue,
            Rings::Max => {
                (ring.max, "asked for: as long as the device has them; the link may go down for a moment".to_owned())
            }
            Rings::Entries(entries) => {
                (entries.min(ring.max), "asked for; the link may go down for a moment".to_owned())
            }
        };
        let source = if draft.request.profile == Profile::Seed { SEED } else { ENA_GUIDE };
        let because = Because { reason: &reason, source, optional: true };
        draft.want(Setting::Device { nic: nic.name.clone(), knob }, entries.to_string(), because);
    }
}

/// The next power of two above what it is.
fn doubled(ring: Amount) -> u32 {
    ring.now.saturating_add(1).next_power_of_two().min(ring.max)
}

/// Only as asked.
pub(super) fn mtu(draft: &mut Draft<'_>, nic: &str) {
    if let Some(mtu_bytes) = draft.request.mtu_bytes {
        let loopback = draft.facts.nic(nic).is_some_and(|nic| nic.kind == NicKind::Loopback);
        let reason = if loopback {
            "asked for: with the packets of a wire, loopback does not flatter pipelining"
        } else {
            "asked for: both ends and everything between them must have it"
        };
        let because = Because { reason, source: "ip-link(8)", optional: false };
        draft.want(Setting::Mtu { nic: nic.to_owned() }, mtu_bytes.to_string(), because);
    }
}

/// Coalescing and offloads: the link stays up.
pub(super) fn others(draft: &mut Draft<'_>, nic: &Nic) {
    if matches!(nic.kind, NicKind::Loopback) {
        return;
    }
    let device = nic.device.clone().unwrap_or_default();
    let knob = |knob| Setting::Device { nic: nic.name.clone(), knob };
    match draft.request.profile {
        Profile::Throughput if nic.kind == NicKind::Device => {
            let because = Because {
                reason: "the driver gathers interrupts as the load grows",
                source: ENA_GUIDE,
                optional: true,
            };
            draft.want_if_there(knob(Knob::AdaptiveRx), "on", because);
        }
        Profile::Latency if nic.kind == NicKind::Device => {
            let because =
                Because { reason: "an interrupt shall not wait for more packets", source: ENA_GUIDE, optional: true };
            draft.want_if_there(knob(Knob::AdaptiveRx), "off", because);
            draft.want_if_there(knob(Knob::RxUsecs), "0", because);
        }
        Profile::Throughput | Profile::Latency | Profile::Seed => {}
    }
    let seed = draft.request.profile == Profile::Seed;
    let source = if seed { SEED } else { "kernel: networking/segmentation-offloads.rst" };
    let gro = if draft.request.profile == Profile::Latency { "off" } else { "on" };
    let gro_reason = match gro {
        "on" => "fewer, larger packets through the stack when requests are pipelined or bodies are large",
        _ => "a small request shall not wait to be merged with another",
    };
    let many = "the stack handles one large packet and the device cuts it";
    let offloads: [(Knob, Option<Offload>, &str, &str); 3] = [
        (Knob::Gro, device.gro, gro, gro_reason),
        (Knob::Gso, device.gso, "on", many),
        (Knob::Tso, device.tso, "on", many),
    ];
    for (which, offload, value, reason) in offloads {
        let because = Because { reason, source, optional: true };
        match offload {
            Some(offload) if !offload.changeable && (value == "on") != offload.on => {
                draft.unsupported(knob(which).to_string(), "the driver does not let it be changed");
            }
            _ => draft.want_if_there(knob(which), value, because),
        }
    }
}
