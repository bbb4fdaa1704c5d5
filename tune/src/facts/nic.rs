//! Network interfaces: what they are, their queues, interrupts, steering, device settings and what they lost.

use std::collections::BTreeMap;
use std::fs;

use serde::{Deserialize, Serialize};

use super::interrupts::{Interrupt, Interrupts};
use crate::limits::{MAX_NICS, MAX_QUEUES};
use crate::netlink::{Device, Netlink};
use crate::roots::{Roots, names, number, numbered, text};

/// `ARPHRD_LOOPBACK` (linux/if_arp.h).
const LOOPBACK_TYPE: u32 = 772;

/// One interface.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Nic {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: NicKind,
    /// Its index: another one under the same name is another interface.
    pub ifindex: Option<u32>,
    /// Its driver.
    pub driver: Option<String>,
    /// Where it is plugged in, as in `0000:01:00.0`.
    pub bus: Option<String>,
    /// The NUMA node it is next to.
    pub node: Option<u32>,
    /// Speed in Mb/s. Virtual interfaces invent one, so only that of a device is told.
    pub speed_mbits_per_s: Option<u64>,
    /// PCI lanes and rate, as in `8.0 GT/s PCIe x4`.
    pub pci: Option<String>,
    /// The same at its best; `None` when that is what it has.
    pub pci_best: Option<String>,
    /// Whether the link is up.
    pub carrier: Option<bool>,
    /// Administrative and link state, as in `up`.
    pub state: Option<String>,
    /// Largest packet in bytes.
    pub mtu_bytes: Option<u32>,
    /// Interfaces below it: the members of a bond or bridge, the parent of a VLAN.
    pub lowers: Vec<String>,
    /// Receive queues, by number.
    pub rx_queues: Vec<RxQueue>,
    /// Transmit queues, by number.
    pub tx_queues: Vec<TxQueue>,
    /// Its interrupts.
    pub interrupts: Vec<Interrupt>,
    /// What `ethtool` shows; `None` when the kernel could not be asked.
    pub device: Option<Device>,
    /// Queueing disciplines, the root first.
    pub qdiscs: Vec<String>,
    /// Counters of errors and drops since it came, those above zero.
    pub losses: BTreeMap<String, u64>,
}

/// What an interface is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NicKind {
    /// Stands for a device: real, or one that a hypervisor shows.
    Device,
    /// `lo`.
    Loopback,
    /// One end of a pair.
    Veth,
    /// Several as one.
    Bond,
    /// A switch.
    Bridge,
    /// A tag on another.
    Vlan,
    /// Anything else that exists in the kernel only.
    #[default]
    Virtual,
}

impl NicKind {
    /// As people say it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Loopback => "loopback",
            Self::Veth => "veth",
            Self::Bond => "bond",
            Self::Bridge => "bridge",
            Self::Vlan => "vlan",
            Self::Virtual => "virtual",
        }
    }
}

/// Steering of a receive queue; `None` where the kernel does not have it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RxQueue {
    /// RPS, a mask.
    pub rps_cpus: Option<String>,
    /// Its part of RFS, a number of entries.
    pub rps_flows: Option<String>,
}

/// Steering of a transmit queue; `None` where the kernel does not have it (with a single queue).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TxQueue {
    /// XPS, a mask.
    pub xps_cpus: Option<String>,
}

/// Counters that tell of lost packets.
const LOSSES: [&str; 11] = [
    "collisions",
    "rx_crc_errors",
    "rx_dropped",
    "rx_errors",
    "rx_fifo_errors",
    "rx_length_errors",
    "rx_missed_errors",
    "rx_over_errors",
    "tx_carrier_errors",
    "tx_dropped",
    "tx_errors",
];

impl Nic {
    /// Packets that the device had no room for: what more ring entries help against.
    #[must_use]
    pub fn ring_losses(&self) -> u64 {
        ["rx_missed_errors", "rx_fifo_errors", "rx_over_errors"]
            .iter()
            .map(|name| self.losses.get(*name).copied().unwrap_or(0))
            .max()
            .unwrap_or(0)
    }
}

pub(super) fn read_all(roots: &Roots, netlink: &dyn Netlink, interrupts: &Interrupts) -> Vec<Nic> {
    let folder = roots.sys("class/net");
    // `bonding_masters` is a file among them.
    let all = names(&folder).into_iter().filter(|name| folder.join(name).join("type").exists());
    all.take(MAX_NICS).map(|name| read(roots, netlink, interrupts, name)).collect()
}

fn read(roots: &Roots, netlink: &dyn Netlink, interrupts: &Interrupts, name: String) -> Nic {
    let folder = roots.sys("class/net").join(&name);
    let kind = kind(roots, &name);
    let device = folder.join("device");
    let is_device = kind == NicKind::Device;
    let ifindex = number(&folder.join("ifindex"));
    let base = |link: &str| {
        let target = fs::canonicalize(device.join(link)).ok()?;
        target.file_name()?.to_str().map(str::to_owned)
    };
    let best = pci(&device, "max_link_speed", "max_link_width");
    let now = pci(&device, "current_link_speed", "current_link_width");
    let lowers = names(&folder).iter().filter_map(|entry| entry.strip_prefix("lower_").map(str::to_owned)).collect();
    let loss = |counter: &str| {
        let count = number::<u64>(&folder.join("statistics").join(counter)).filter(|count| *count > 0)?;
        Some((counter.to_owned(), count))
    };
    Nic {
        kind,
        ifindex,
        driver: base("driver"),
        bus: is_device.then(|| base(".")).flatten(),
        node: number::<i64>(&device.join("numa_node")).and_then(|node| u32::try_from(node).ok()),
        speed_mbits_per_s: number::<i64>(&folder.join("speed"))
            .filter(|_| is_device)
            .and_then(|speed| u64::try_from(speed).ok())
            .filter(|speed| *speed > 0 && *speed < u64::from(u32::MAX)),
        pci_best: best.filter(|best| now.as_ref().is_some_and(|now| now != best)),
        pci: now,
        carrier: number::<u8>(&folder.join("carrier")).map(|carrier| carrier == 1),
        state: text(&folder.join("operstate")),
        mtu_bytes: number(&folder.join("mtu")),
        lowers,
        rx_queues: queues(roots, &name, "rx-", |queue| RxQueue {
            rps_cpus: text(&queue.join("rps_cpus")),
            rps_flows: text(&queue.join("rps_flow_cnt")),
        }),
        tx_queues: queues(roots, &name, "tx-", |queue| TxQueue { xps_cpus: text(&queue.join("xps_cpus")) }),
        interrupts: interrupts.of(roots, &name),
        device: netlink.device(&name).ok(),
        qdiscs: ifindex.and_then(|ifindex| netlink.qdiscs(ifindex).ok()).unwrap_or_default(),
        losses: LOSSES.iter().filter_map(|counter| loss(counter)).collect(),
        name,
    }
}

/// Queues 0, 1, 2... of a direction; the kernel numbers them without gaps.
fn queues<Q>(roots: &Roots, nic: &str, prefix: &str, read: impl Fn(&std::path::Path) -> Q) -> Vec<Q> {
    let folder = roots.sys(format!("class/net/{nic}/queues"));
    let numbers =
        numbered(&folder, prefix).into_iter().zip(0..MAX_QUEUES).take_while(|(found, wanted)| found == wanted);
    numbers.map(|(number, _)| read(&folder.join(format!("{prefix}{number}")))).collect()
}

fn pci(device: &std::path::Path, speed: &str, width: &str) -> Option<String> {
    let width: u32 = number(&device.join(width)).filter(|width| *width > 0)?;
    let speed = text(&device.join(speed)).filter(|speed| !speed.starts_with("Unknown"))?;
    Some(format!("{} x{width}", speed.trim_end_matches(" PCIe")))
}

fn kind(roots: &Roots, name: &str) -> NicKind {
    let folder = roots.sys("class/net").join(name);
    let has = |entry: &str| folder.join(entry).exists();
    let uevent = text(&folder.join("uevent")).unwrap_or_default();
    let devtype = uevent.lines().find_map(|line| line.strip_prefix("DEVTYPE="));
    let (index, peer) = (number::<u32>(&folder.join("ifindex")), number::<u32>(&folder.join("iflink")));
    match devtype {
        _ if number(&folder.join("type")) == Some(LOOPBACK_TYPE) => NicKind::Loopback,
        Some("bond") => NicKind::Bond,
        Some("bridge") => NicKind::Bridge,
        Some("vlan") => NicKind::Vlan,
        _ if has("bonding") => NicKind::Bond,
        _ if has("bridge") => NicKind::Bridge,
        _ if has("device") => NicKind::Device,
        // Its peer stands in `iflink`, and nothing lies below it.
        None if index != peer && peer.is_some() && !names(&folder).iter().any(|entry| entry.starts_with("lower_")) => {
            NicKind::Veth
        }
        _ => NicKind::Virtual,
    }
}
