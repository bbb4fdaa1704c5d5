//! Interrupts: `/proc/interrupts`, and which queue of an interface one belongs to.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::roots::{Roots, number, numbered, text};

/// All interrupts with their names.
#[derive(Debug, Clone, Default)]
pub struct Interrupts {
    by_number: BTreeMap<u32, Vec<String>>,
}

/// One interrupt of an interface.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Interrupt {
    /// Its number.
    pub number: u32,
    /// Its name in `/proc/interrupts`.
    pub action: String,
    /// The queue it serves; `None` for link changes, control queues and what is not known.
    pub queue: Option<u32>,
    /// Whether it tells of received packets, of sent ones or of both.
    pub serves: Serves,
    /// CPUs it may go to, a list.
    pub affinity: Option<String>,
    /// CPUs it does go to, a list.
    pub effective: Option<String>,
}

/// What an interrupt tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Serves {
    /// Packets in both directions.
    #[default]
    Both,
    /// Received packets.
    Rx,
    /// Sent packets.
    Tx,
}

impl Interrupts {
    /// Reads `/proc/interrupts`.
    #[must_use]
    pub fn read(roots: &Roots) -> Self {
        Self::parse(&text(&roots.proc("interrupts")).unwrap_or_default())
    }

    /// A heading with one word per online CPU, then lines `number: counts... chip how names`. Lines without a number, as `NMI`, are
    /// no devices'.
    fn parse(table: &str) -> Self {
        let mut lines = table.lines();
        let cpus = lines.next().unwrap_or_default().split_ascii_whitespace().count();
        let line = |line: &str| -> Option<(u32, Vec<String>)> {
            let (number, rest) = line.split_once(':')?;
            let number = number.trim().parse().ok()?;
            let words: Vec<&str> = rest.split_ascii_whitespace().skip(cpus).collect();
            // Names come last, several with commas between them.
            let mut names: Vec<String> = Vec::new();
            for word in words.iter().rev() {
                match word.strip_suffix(',') {
                    Some(name) => names.push(name.to_owned()),
                    None if names.is_empty() => names.push((*word).to_owned()),
                    None => break,
                }
            }
            names.reverse();
            Some((number, names))
        };
        Self { by_number: lines.filter_map(line).collect() }
    }

    /// The number of the only interrupt with this name.
    #[must_use]
    pub fn named(&self, action: &str) -> Option<u32> {
        let mut found = self.by_number.iter().filter(|(_, names)| names.iter().any(|name| name == action));
        match (found.next(), found.next()) {
            (Some((number, _)), None) => Some(*number),
            _ => None,
        }
    }

    /// Whether an interrupt has this name.
    #[must_use]
    pub fn has(&self, number: u32, action: &str) -> bool {
        self.by_number.get(&number).is_some_and(|names| names.iter().any(|name| name == action))
    }

    /// The interrupts of an interface: those of its device, or those named after it.
    pub(super) fn of(&self, roots: &Roots, nic: &str) -> Vec<Interrupt> {
        let device = roots.sys(format!("class/net/{nic}/device"));
        let mut numbers = device_interrupts(&device);
        if numbers.is_empty() && device.exists() {
            let named = |names: &Vec<String>| names.iter().any(|name| belongs(name, nic));
            numbers = self.by_number.iter().filter(|(_, names)| named(names)).map(|(number, _)| *number).collect();
        }
        let known: Vec<(u32, &String)> =
            numbers.iter().filter_map(|number| Some((*number, self.by_number.get(number)?.first()?))).collect();
        let alone = known.len() == 1;
        let interrupt = |(irq, action): (u32, &String)| {
            let at = |file: &str| text(&roots.proc(format!("irq/{irq}/{file}")));
            let served = queue_of(action, nic).or((alone && action == nic).then_some((0, Serves::Both)));
            Interrupt {
                number: irq,
                action: action.clone(),
                queue: served.map(|(queue, _)| queue),
                serves: served.map(|(_, serves)| serves).unwrap_or_default(),
                affinity: at("smp_affinity_list"),
                effective: at("effective_affinity_list").filter(|list| !list.is_empty()),
            }
        };
        known.into_iter().map(interrupt).collect()
    }
}

/// Interrupts that a device says it has; a virtio device has those of the PCI device above it.
fn device_interrupts(device: &Path) -> Vec<u32> {
    let Ok(device) = fs::canonicalize(device) else { return Vec::new() };
    let folders = [Some(device.as_path()), device.parent()];
    for folder in folders.into_iter().flatten() {
        let numbers = numbered(&folder.join("msi_irqs"), "");
        if !numbers.is_empty() {
            return numbers;
        }
    }
    number(&device.join("irq")).filter(|irq| *irq > 0).into_iter().collect()
}

/// Whether a name is an interface's own: `eth0`, `eth0-rx-0`, but not `eth01`.
fn belongs(action: &str, nic: &str) -> bool {
    let at_edge = |text: &str| text.is_empty() || !text.starts_with(|next: char| next.is_ascii_alphanumeric());
    action.match_indices(nic).any(|(start, _)| {
        let before = action[..start].chars().next_back();
        before.is_none_or(|before| !before.is_ascii_alphanumeric()) && at_edge(&action[start + nic.len()..])
    })
}

/// The queue in a name: `eth0-rx-0`, `eth0-TxRx-3`, `eth1-rxtx-0`, `mlx5_comp3@pci:0000:01:00.0`, `virtio2-input.0`, `eth0-Tx-Rx-5`,
/// `eth0-0`. Names of link changes and of control queues have none.
fn queue_of(action: &str, nic: &str) -> Option<(u32, Serves)> {
    let name = action.split('@').next().unwrap_or(action);
    let stem = name.trim_end_matches(|end: char| end.is_ascii_digit());
    let queue = name[stem.len()..].parse().ok()?;
    let stem = stem.trim_end_matches(['-', '.', '_', ' ']);
    let stem = stem.strip_prefix(nic).unwrap_or(stem).to_ascii_lowercase();
    let words: Vec<&str> = stem.split(['-', '.', '_', ' ']).filter(|word| !word.is_empty()).collect();
    let word = |wanted: &[&str]| words.iter().any(|word| wanted.contains(word));
    let both = word(&["txrx", "rxtx", "comp", "fp", "q", "queue", "qp"]) || (word(&["rx"]) && word(&["tx"]));
    if both || (words.is_empty() && name.starts_with(nic)) {
        Some((queue, Serves::Both))
    } else if word(&["rx", "input"]) {
        Some((queue, Serves::Rx))
    } else if word(&["tx", "output"]) {
        Some((queue, Serves::Tx))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_in_names_of_many_drivers() {
        let table = [
            ("eth0-rx-0", Some((0, Serves::Rx))),
            ("eth0-tx-0", Some((0, Serves::Tx))),
            ("eth0", None),
            ("eth1-rxtx-3", Some((3, Serves::Both))),
            ("eth0-TxRx-12", Some((12, Serves::Both))),
            ("i40e-eth0-TxRx-7", Some((7, Serves::Both))),
            ("eth0-Tx-Rx-5", Some((5, Serves::Both))),
            ("mlx5_comp3@pci:0000:01:00.0", Some((3, Serves::Both))),
            ("mlx5_async0@pci:0000:01:00.0", None),
            ("virtio2-input.0", Some((0, Serves::Rx))),
            ("virtio2-output.1", Some((1, Serves::Tx))),
            ("virtio2-config", None),
            ("eth0-0", Some((0, Serves::Both))),
            ("eth0-fp-2", Some((2, Serves::Both))),
            ("eth0:lsc", None),
            ("ena-mgmnt@pci:0000:00:05.0", None),
        ];
        for (action, queue) in table {
            assert_eq!(queue_of(action, "eth0").or_else(|| queue_of(action, "eth1")), queue, "{action}");
        }
    }

    #[test]
    fn the_table_of_the_kernel() {
        let interrupts = Interrupts::parse(
            "           CPU0       CPU2\n 24:          1          0  IO-APIC   5-edge      ACPI:Ged\n 37:  12 0 PCI-MSIX-0000:00:03.0 1-edge  \
             eth0-rx-0\n 40: 0 7 IO-APIC 11-fasteoi uhci_hcd:usb1, eth1\n 41: 0 0 GICv3\nNMI: 0 0 Non-maskable interrupts\nERR: 0\n",
        );
        assert_eq!((interrupts.named("eth0-rx-0"), interrupts.named("eth1")), (Some(37), Some(40)));
        assert!(interrupts.has(40, "uhci_hcd:usb1") && !interrupts.has(37, "eth1"));
        assert_eq!((interrupts.named("interrupts"), interrupts.by_number.len()), (None, 4));
        assert!(Interrupts::parse("").by_number.is_empty());
    }

    #[test]
    fn names_of_an_interface() {
        assert!(belongs("eth0-rx-0", "eth0") && belongs("i40e-eth0-TxRx-7", "eth0") && belongs("eth0", "eth0"));
        assert!(!belongs("eth01", "eth0") && !belongs("veth0", "eth0") && !belongs("virtio0", "eth0"));
    }
}
