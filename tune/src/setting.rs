//! One thing of the host that can be set: its name, where it stands, and when two of its values are the same.
//!
//! Knows no values to strive for and touches nothing.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::cpu_set::CpuSet;
use crate::roots::Roots;

/// A setting of the host. Interfaces and interrupts stand in it by name, so that a journal can be read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Setting {
    /// A sysctl, as in `net.core.somaxconn`.
    Sysctl {
        /// Its name with dots.
        name: String,
    },
    /// The governor of a frequency policy: of all the CPUs that share a clock.
    Governor {
        /// The policy's number.
        policy: u32,
    },
    /// Whether a CPU must not enter an idle state: `1` or `0`.
    IdleState {
        /// The CPU.
        cpu: u32,
        /// The state's number.
        state: u32,
    },
    /// The CPUs an interrupt may go to, as a list.
    Interrupt {
        /// The interface it belongs to.
        nic: String,
        /// Its number.
        irq: u32,
        /// Its name in `/proc/interrupts`, by which it is found again under another number.
        action: String,
    },
    /// Receive packet steering of a queue, a mask.
    Rps {
        /// The interface.
        nic: String,
        /// The receive queue.
        queue: u32,
    },
    /// The receive queue's part of receive flow steering, a number of entries.
    RpsFlows {
        /// The interface.
        nic: String,
        /// The receive queue.
        queue: u32,
    },
    /// Transmit packet steering of a queue, a mask.
    Xps {
        /// The interface.
        nic: String,
        /// The transmit queue.
        queue: u32,
    },
    /// The largest packet, in bytes.
    Mtu {
        /// The interface.
        nic: String,
    },
    /// What `ethtool` sets.
    Device {
        /// The interface.
        nic: String,
        /// Which of them.
        knob: Knob,
    },
}

/// A setting of a network device that stands in no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Knob {
    /// Receive ring entries.
    RingRx,
    /// Transmit ring entries.
    RingTx,
    /// Queue pairs.
    ChannelsCombined,
    /// Receive queues of their own.
    ChannelsRx,
    /// Transmit queues of their own.
    ChannelsTx,
    /// Microseconds a receive interrupt may wait.
    RxUsecs,
    /// Whether the driver chooses that time.
    AdaptiveRx,
    /// Generic receive offload.
    Gro,
    /// Generic segmentation offload.
    Gso,
    /// TCP segmentation offload.
    Tso,
}

impl Knob {
    /// Every knob.
    pub const ALL: [Self; 10] = [
        Self::RingRx,
        Self::RingTx,
        Self::ChannelsCombined,
        Self::ChannelsRx,
        Self::ChannelsTx,
        Self::RxUsecs,
        Self::AdaptiveRx,
        Self::Gro,
        Self::Gso,
        Self::Tso,
    ];

    /// The option and the word that `ethtool` takes for it.
    #[must_use]
    pub const fn ethtool(self) -> (&'static str, &'static str) {
        match self {
            Self::RingRx => ("-G", "rx"),
            Self::RingTx => ("-G", "tx"),
            Self::ChannelsCombined => ("-L", "combined"),
            Self::ChannelsRx => ("-L", "rx"),
            Self::ChannelsTx => ("-L", "tx"),
            Self::RxUsecs => ("-C", "rx-usecs"),
            Self::AdaptiveRx => ("-C", "adaptive-rx"),
            Self::Gro => ("-K", "gro"),
            Self::Gso => ("-K", "gso"),
            Self::Tso => ("-K", "tso"),
        }
    }

    /// Whether its values are `on` and `off`.
    #[must_use]
    pub const fn is_switch(self) -> bool {
        matches!(self, Self::AdaptiveRx | Self::Gro | Self::Gso | Self::Tso)
    }

    /// Whether changing it resets the device: the link may go down, queues and interrupts may come and go.
    #[must_use]
    pub const fn resets_link(self) -> bool {
        matches!(self, Self::RingRx | Self::RingTx | Self::ChannelsCombined | Self::ChannelsRx | Self::ChannelsTx)
    }
}

impl Setting {
    /// A sysctl by its name.
    #[must_use]
    pub fn sysctl(name: &str) -> Self {
        Self::Sysctl { name: name.to_owned() }
    }

    /// The file it stands in; `None` for what `ethtool` sets, and for a name that would lead out of the tree.
    #[must_use]
    pub fn path(&self, roots: &Roots) -> Option<PathBuf> {
        let plain = |name: &str| !name.is_empty() && name != "." && name != ".." && !name.contains('/');
        let queue =
            |nic: &str, folder: String| plain(nic).then(|| roots.sys(format!("class/net/{nic}/queues/{folder}")));
        match self {
            Self::Sysctl { name } => {
                let parts: Vec<&str> = name.split('.').collect();
                parts.iter().all(|part| plain(part)).then(|| roots.proc("sys").join(parts.join("/")))
            }
            Self::Governor { policy } => {
                Some(roots.sys(format!("devices/system/cpu/cpufreq/policy{policy}/scaling_governor")))
            }
            Self::IdleState { cpu, state } => {
                Some(roots.sys(format!("devices/system/cpu/cpu{cpu}/cpuidle/state{state}/disable")))
            }
            Self::Interrupt { irq, .. } => Some(roots.proc(format!("irq/{irq}/smp_affinity_list"))),
            Self::Rps { nic, queue: number } => queue(nic, format!("rx-{number}/rps_cpus")),
            Self::RpsFlows { nic, queue: number } => queue(nic, format!("rx-{number}/rps_flow_cnt")),
            Self::Xps { nic, queue: number } => queue(nic, format!("tx-{number}/xps_cpus")),
            Self::Mtu { nic } => plain(nic).then(|| roots.sys(format!("class/net/{nic}/mtu"))),
            Self::Device { .. } => None,
        }
    }

    /// The interface it belongs to.
    #[must_use]
    pub fn nic(&self) -> Option<&str> {
        match self {
            Self::Interrupt { nic, .. }
            | Self::Rps { nic, .. }
            | Self::RpsFlows { nic, .. }
            | Self::Xps { nic, .. }
            | Self::Mtu { nic }
            | Self::Device { nic, .. } => Some(nic),
            Self::Sysctl { .. } | Self::Governor { .. } | Self::IdleState { .. } => None,
        }
    }

    /// Whether changing it resets the device: see [`Knob::resets_link`].
    #[must_use]
    pub const fn resets_link(&self) -> bool {
        matches!(self, Self::Device { knob, .. } if knob.resets_link())
    }

    /// Whether it belongs to the whole machine, whatever network namespace it was set from.
    #[must_use]
    pub const fn is_of_the_machine(&self) -> bool {
        matches!(self, Self::Governor { .. } | Self::IdleState { .. } | Self::Interrupt { .. })
    }

    /// Whether two texts are the same value of it, however they are written.
    #[must_use]
    pub fn same(&self, one: &str, other: &str) -> bool {
        let words = |text: &str| text.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>();
        match self {
            Self::Rps { .. } | Self::Xps { .. } => match (CpuSet::from_mask(one), CpuSet::from_mask(other)) {
                (Ok(one), Ok(other)) => one == other,
                _ => one.trim() == other.trim(),
            },
            Self::Interrupt { .. } => match (CpuSet::from_list(one), CpuSet::from_list(other)) {
                (Ok(one), Ok(other)) => one == other,
                _ => one.trim() == other.trim(),
            },
            _ => words(one) == words(other),
        }
    }
}

/// As people name it.
impl fmt::Display for Setting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sysctl { name } => write!(formatter, "{name}"),
            Self::Governor { policy } => write!(formatter, "cpufreq policy{policy} governor"),
            Self::IdleState { cpu, state } => write!(formatter, "cpu{cpu} idle state {state} off"),
            Self::Interrupt { irq, action, .. } => write!(formatter, "irq {irq} {action}"),
            Self::Rps { nic, queue } => write!(formatter, "{nic} rx-{queue} rps_cpus"),
            Self::RpsFlows { nic, queue } => write!(formatter, "{nic} rx-{queue} rps_flow_cnt"),
            Self::Xps { nic, queue } => write!(formatter, "{nic} tx-{queue} xps_cpus"),
            Self::Mtu { nic } => write!(formatter, "{nic} mtu"),
            Self::Device { nic, knob } => {
                let (option, word) = knob.ethtool();
                write!(formatter, "{nic} ethtool {option} {word}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_by_what_they_mean() {
        let rps = Setting::Rps { nic: "eth0".to_owned(), queue: 0 };
        assert!(rps.same("00000000,0000000f", "f\n") && !rps.same("f", "1,0000000f"));
        let irq = Setting::Interrupt { nic: "eth0".to_owned(), irq: 3, action: "eth0".to_owned() };
        assert!(irq.same("0-2", "0,1,2") && !irq.same("0-1", "0"));
        let ports = Setting::sysctl("net.ipv4.ip_local_port_range");
        assert!(ports.same("1024\t65535\n", "1024 65535") && !ports.same("1024 65535", "102465535"));
    }

    #[test]
    fn a_name_does_not_lead_out_of_the_tree() {
        let roots = Roots::at("/p", "/s");
        let path = |setting: Setting| setting.path(&roots).map(|path| path.display().to_string());
        assert_eq!(path(Setting::sysctl("net.core.somaxconn")).as_deref(), Some("/p/sys/net/core/somaxconn"));
        assert_eq!(path(Setting::Mtu { nic: "eth0.5".to_owned() }).as_deref(), Some("/s/class/net/eth0.5/mtu"));
        for name in ["", "a..b", ".", "net./etc.x", "net.core."] {
            assert_eq!(path(Setting::sysctl(name)), None, "{name:?}");
        }
        for nic in ["", "..", "a/b"] {
            assert_eq!(path(Setting::Xps { nic: nic.to_owned(), queue: 0 }), None, "{nic:?}");
        }
    }
}
