//! What the host is and how it is set, read once. Changes nothing, judges nothing; what cannot be read stays empty.

pub mod cpus;
pub mod firewall;
pub mod interrupts;
pub mod kernel;
pub mod nic;
pub mod pressure;
pub mod sniffers;
pub mod sysctls;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::netlink::Netlink;
use crate::roots::Roots;
use crate::setting::Setting;

pub use cpus::{Cpu, Cpus, Group, IdleState, Policy};
pub use firewall::Firewall;
pub use interrupts::{Interrupt, Interrupts};
pub use kernel::Kernel;
pub use nic::{Nic, NicKind};
pub use pressure::Pressure;
pub use sniffers::Sniffer;

/// Everything that rules and findings are made from.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Facts {
    /// The kernel and what it grants.
    pub kernel: Kernel,
    /// The CPUs.
    pub cpus: Cpus,
    /// Every network interface, by name.
    pub nics: Vec<Nic>,
    /// Sysctls that a run may care for; one that does not exist here is missing.
    pub sysctls: BTreeMap<String, String>,
    /// Firewall and connection tracking.
    pub firewall: Firewall,
    /// Sockets that get a copy of packets.
    pub sniffers: Vec<Sniffer>,
    /// Process id of irqbalance when it runs.
    pub irqbalance: Option<u32>,
    /// What the host is busy with, and what it lost.
    pub pressure: Pressure,
    /// Local TCP ports that somebody listens on.
    pub listening_ports: Vec<u16>,
}

impl Facts {
    /// Reads them all.
    #[must_use]
    pub fn gather(roots: &Roots, netlink: &dyn Netlink) -> Self {
        let interrupts = Interrupts::read(roots);
        Self {
            kernel: kernel::read(roots),
            cpus: cpus::read(roots),
            nics: nic::read_all(roots, netlink, &interrupts),
            sysctls: sysctls::read(roots),
            firewall: firewall::read(roots, netlink),
            sniffers: sniffers::read(roots),
            irqbalance: sniffers::process_named(roots, "irqbalance"),
            pressure: pressure::read(roots),
            listening_ports: pressure::listening_ports(roots),
        }
    }

    /// An interface by name.
    #[must_use]
    pub fn nic(&self, name: &str) -> Option<&Nic> {
        self.nics.iter().find(|nic| nic.name == name)
    }

    /// What a setting was when the facts were read; `None` where this host does not have it.
    #[must_use]
    pub fn value(&self, setting: &Setting) -> Option<String> {
        match setting {
            Setting::Sysctl { name } => self.sysctls.get(name).cloned(),
            Setting::Governor { policy } => {
                self.cpus.policies.iter().find(|known| known.number == *policy)?.governor.clone()
            }
            Setting::IdleState { cpu, state } => {
                let states = &self.cpus.cpu(*cpu)?.idle_states;
                let state = states.iter().find(|known| known.number == *state)?;
                Some(u8::from(state.disabled).to_string())
            }
            Setting::Interrupt { nic, irq, .. } => {
                let interrupts = &self.nic(nic)?.interrupts;
                interrupts.iter().find(|known| known.number == *irq)?.affinity.clone()
            }
            Setting::Rps { nic, queue } => self.nic(nic)?.rx_queues.get(*queue as usize)?.rps_cpus.clone(),
            Setting::RpsFlows { nic, queue } => self.nic(nic)?.rx_queues.get(*queue as usize)?.rps_flows.clone(),
            Setting::Xps { nic, queue } => self.nic(nic)?.tx_queues.get(*queue as usize)?.xps_cpus.clone(),
            Setting::Mtu { nic } => self.nic(nic)?.mtu_bytes.map(|bytes| bytes.to_string()),
            Setting::Device { nic, knob } => self.nic(nic)?.device.as_ref()?.value(*knob),
        }
    }
}
