//! Counters and speeds of the host's network interfaces: `/sys/class/net`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use results::LinkUse;

use crate::host::HostFiles;
use crate::limits::MAX_LINKS;

/// `ARPHRD_LOOPBACK`, the type of `lo` (linux/if_arp.h).
const LOOPBACK_TYPE: u64 = 772;

/// Counters since each interface came, by its name. Loopback is left out.
#[must_use]
pub fn links(files: &HostFiles) -> BTreeMap<String, LinkUse> {
    let Ok(entries) = fs::read_dir(files.sys_path("class/net")) else { return BTreeMap::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| Some((name.clone(), link(files, name)?))).take(MAX_LINKS).collect()
}

/// What went over each interface between two samples `window_ns` apart. Those that were silent, or not there at both ends, are left out.
#[must_use]
pub fn since(start: &BTreeMap<String, LinkUse>, end: &BTreeMap<String, LinkUse>, window_ns: u64) -> Vec<LinkUse> {
    let difference = |end: &LinkUse| {
        let start = start.get(&end.name)?;
        let link = LinkUse {
            name: end.name.clone(),
            window_ns,
            speed_bits_per_s: end.speed_bits_per_s,
            received_bytes: end.received_bytes.saturating_sub(start.received_bytes),
            sent_bytes: end.sent_bytes.saturating_sub(start.sent_bytes),
            received_packets: end.received_packets.saturating_sub(start.received_packets),
            sent_packets: end.sent_packets.saturating_sub(start.sent_packets),
            dropped_packets: end.dropped_packets.saturating_sub(start.dropped_packets),
        };
        let carried = link.received_packets > 0 || link.sent_packets > 0 || link.dropped_packets > 0;
        carried.then_some(link)
    };
    end.values().filter_map(difference).collect()
}

/// `None` for loopback, and for an interface that went while it was read.
fn link(files: &HostFiles, name: String) -> Option<LinkUse> {
    let folder = files.sys_path("class/net").join(&name);
    if number(&folder.join("type"))? == LOOPBACK_TYPE {
        return None;
    }
    let counter = |name: &str| number(&folder.join("statistics").join(name));
    // Only devices have a real speed: virtual interfaces invent one (veth 10 Gb/s). It is in Mb/s, -1 or an error when not known.
    let speed_mbits_per_s = number(&folder.join("speed")).filter(|_| folder.join("device").exists());
    let dropped = ["rx_dropped", "tx_dropped", "rx_missed_errors"].map(|name| counter(name).unwrap_or(0));
    Some(LinkUse {
        window_ns: 0,
        speed_bits_per_s: speed_mbits_per_s.and_then(|speed| speed.checked_mul(1_000_000)).filter(|speed| *speed > 0),
        received_bytes: counter("rx_bytes")?,
        sent_bytes: counter("tx_bytes")?,
        received_packets: counter("rx_packets")?,
        sent_packets: counter("tx_packets")?,
        dropped_packets: dropped.into_iter().fold(0, u64::saturating_add),
        name,
    })
}

fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built_tree::BuiltTree;

    fn put(tree: &BuiltTree, link: &str, file: &str, text: &str) {
        tree.sys(format!("class/net/{link}/{file}"), text);
    }

    fn link(tree: &BuiltTree, name: &str, kind: &str, speed: &str, counters: [u64; 7]) {
        put(tree, name, "type", kind);
        put(tree, name, "speed", speed);
        let names =
            ["rx_bytes", "tx_bytes", "rx_packets", "tx_packets", "rx_dropped", "tx_dropped", "rx_missed_errors"];
        for (file, count) in names.into_iter().zip(counters) {
            put(tree, name, &format!("statistics/{file}"), &format!("{count}\n"));
        }
    }

    #[test]
    fn differences_of_a_built_tree() {
        let tree = BuiltTree::new();
        link(&tree, "lo", "772\n", "", [1; 7]);
        link(&tree, "eth0", "1\n", "25000\n", [100, 200, 10, 20, 1, 2, 3]);
        put(&tree, "eth0", "device/vendor", "x");
        link(&tree, "veth1", "1\n", "10000\n", [0; 7]);
        link(&tree, "virtio", "1\n", "-1\n", [0; 7]);
        put(&tree, "virtio", "device/vendor", "x");
        link(&tree, "silent", "1\n", "10000\n", [5; 7]);
        let start = links(&tree.files);
        assert_eq!(start.keys().collect::<Vec<_>>(), ["eth0", "silent", "veth1", "virtio"]);
        link(&tree, "eth0", "1\n", "25000\n", [1100, 2200, 20, 40, 2, 4, 6]);
        for name in ["veth1", "virtio"] {
            link(&tree, name, "1\n", "10000\n", [9; 7]);
        }
        put(&tree, "virtio", "speed", "-1\n");
        let since = since(&start, &links(&tree.files), 7);
        assert_eq!(
            since[0],
            LinkUse {
                name: "eth0".to_owned(),
                window_ns: 7,
                speed_bits_per_s: Some(25_000_000_000),
                received_bytes: 1000,
                sent_bytes: 2000,
                received_packets: 10,
                sent_packets: 20,
                dropped_packets: 6,
            }
        );
        let speeds: Vec<_> = since[1..].iter().map(|link| (link.name.as_str(), link.speed_bits_per_s)).collect();
        assert_eq!(speeds, [("veth1", None), ("virtio", None)]);
    }

    #[test]
    fn what_is_missing_or_broken_is_left_out() {
        assert!(links(&HostFiles::at("/nonexistent", "/nonexistent")).is_empty());
        let tree = BuiltTree::new();
        put(&tree, "bonding_masters", "type", "x");
        put(&tree, "half", "type", "1\n");
        put(&tree, "half", "statistics/rx_bytes", "7\n");
        assert!(links(&tree.files).is_empty());
        let there = [("eth9".to_owned(), LinkUse { sent_packets: 5, ..LinkUse::default() })].into();
        assert!(since(&BTreeMap::new(), &there, 1).is_empty(), "one that came meanwhile");
    }
}
