//! Which interface leads to an address, and what it is: `/proc/net/route`, `/proc/net/ipv6_route` and `/sys/class/net`.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use results::Nic;

use crate::host::{HostFiles, read};

/// `RTF_UP`: the route is in use (linux/route.h).
const UP: u32 = 1;

/// `RTF_REJECT`: the route leads nowhere.
const REJECT: u32 = 0x200;

/// The interface through which the main routing table sends packets to `target`; `None` for loopback and where no route is found. Rules
/// for policy routing are not looked at.
#[must_use]
pub fn towards(files: &HostFiles, target: IpAddr) -> Option<Nic> {
    let target = target.to_canonical();
    if target.is_loopback() {
        return None;
    }
    let name = match target {
        IpAddr::V4(target) => route_v4(&read(&files.proc_path("net/route")).ok()?, target)?,
        IpAddr::V6(target) => route_v6(&read(&files.proc_path("net/ipv6_route")).ok()?, target)?,
    };
    // To an address of this host packets take `lo`, whatever route the table has; these stand in no table that is shown.
    (name != "lo").then(|| nic(files, name))
}

fn nic(files: &HostFiles, name: String) -> Nic {
    let folder = files.sys_path("class/net").join(&name);
    let number = |file: &str| fs::read_to_string(folder.join(file)).ok()?.trim().parse::<u64>().ok();
    let is_device = folder.join("device").exists();
    // In Mb/s, -1 when not known; virtual interfaces invent one.
    let speed = number("speed").filter(|_| is_device).and_then(|speed| speed.checked_mul(1_000_000));
    let driver = fs::read_link(folder.join("device/driver")).ok();
    Nic {
        driver: driver.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned()),
        mtu_bytes: number("mtu"),
        speed_bits_per_s: speed.filter(|speed| *speed > 0),
        receive_queues: queues(&folder, "rx-"),
        send_queues: queues(&folder, "tx-"),
        // -1 where there is only one.
        numa_node: number("device/numa_node"),
        name,
    }
}

fn queues(folder: &Path, kind: &str) -> u64 {
    let Ok(entries) = fs::read_dir(folder.join("queues")) else { return 0 };
    entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(kind)).count() as u64
}

/// The interface of the longest prefix that holds `target`, the lowest metric among those alike. Columns: Iface, Destination, Gateway, Flags,
/// RefCnt, Use, Metric, Mask, ...; addresses are the bytes of memory read as a number of this host.
fn route_v4(table: &str, target: Ipv4Addr) -> Option<String> {
    let target = u32::from_ne_bytes(target.octets());
    let route = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let hex = |at: usize| u32::from_str_radix(fields.get(at)?, 16).ok();
        let (destination, flags, mask) = (hex(1)?, hex(3)?, hex(7)?);
        let metric: u32 = fields.get(6)?.parse().ok()?;
        let leads = flags & UP != 0 && flags & REJECT == 0 && target & mask == destination;
        leads.then(|| (mask.count_ones(), std::cmp::Reverse(metric), (*fields[0]).to_owned()))
    };
    best(table.lines().skip(1).filter_map(route))
}

/// Columns: destination, prefix length, source, its length, next hop, metric, references, use, flags, device; all hexadecimal.
fn route_v6(table: &str, target: Ipv6Addr) -> Option<String> {
    let target = u128::from(target);
    let route = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let hex = |at: usize| u32::from_str_radix(fields.get(at)?, 16).ok();
        let destination = u128::from_str_radix(fields.first()?, 16).ok()?;
        let (bits, metric, flags) = (hex(1)?.min(128), hex(5)?, hex(8)?);
        let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
        let leads = flags & UP != 0 && flags & REJECT == 0 && target & mask == destination & mask;
        leads.then(|| Some((bits, std::cmp::Reverse(metric), (*fields.get(9)?).to_owned())))?
    };
    best(table.lines().filter_map(route))
}

fn best(routes: impl Iterator<Item = (u32, std::cmp::Reverse<u32>, String)>) -> Option<String> {
    routes.max_by_key(|(bits, metric, _)| (*bits, *metric)).map(|(_, _, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    const V4: &str = "\
Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT
eth0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0
wlan0\t00000000\t0100A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0
enp1s0\t0064A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
down0\t0864A8C0\t00000000\t0000\t0\t0\t0\tF8FFFFFF\t0\t0\t0
";

    const V6: &str = "\
fd000000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     enp1s0
00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000002 00000000 00000003     eth0
00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo
";

    #[test]
    #[cfg(target_endian = "little")]
    fn the_longest_prefix_leads() {
        for (target, name) in [("192.168.100.9", "enp1s0"), ("8.8.8.8", "eth0"), ("192.168.101.1", "eth0")] {
            assert_eq!(route_v4(V4, target.parse().expect("an address")).as_deref(), Some(name), "{target}");
        }
        for (target, name) in [("fd00::5", "enp1s0"), ("2001:db8::1", "eth0"), ("fd00:0:0:1::1", "eth0")] {
            assert_eq!(route_v6(V6, target.parse().expect("an address")).as_deref(), Some(name), "{target}");
        }
        assert_eq!(route_v4("", Ipv4Addr::LOCALHOST), None);
        assert_eq!(route_v6("garbage\n\n1 2 3", Ipv6Addr::LOCALHOST), None);
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn an_interface_of_a_built_tree() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let files = HostFiles::at(folder.path().join("proc"), folder.path().join("sys"));
        fs::create_dir_all(files.proc_path("net")).expect("writable");
        fs::write(files.proc_path("net/route"), V4).expect("writable");
        let link = files.sys_path("class/net/enp1s0");
        for queue in ["rx-0", "rx-1", "tx-0", "tx-1", "tx-2"] {
            fs::create_dir_all(link.join("queues").join(queue)).expect("writable");
        }
        fs::create_dir_all(files.sys_path("bus/pci/drivers/mlx5_core")).expect("writable");
        fs::create_dir_all(link.join("device")).expect("writable");
        symlink(files.sys_path("bus/pci/drivers/mlx5_core"), link.join("device/driver")).expect("links work here");
        for (file, text) in [("mtu", "9000\n"), ("speed", "200000\n"), ("device/numa_node", "-1\n")] {
            fs::write(link.join(file), text).expect("writable");
        }
        let nic = towards(&files, "192.168.100.9".parse().expect("an address"));
        let want = Nic {
            name: "enp1s0".to_owned(),
            driver: Some("mlx5_core".to_owned()),
            mtu_bytes: Some(9000),
            speed_bits_per_s: Some(200_000_000_000),
            receive_queues: 2,
            send_queues: 3,
            numa_node: None,
        };
        assert_eq!(nic, Some(want));
        // A veth has neither device nor driver, and its speed is invented.
        let veth = files.sys_path("class/net/eth0");
        fs::create_dir_all(&veth).expect("writable");
        fs::write(veth.join("speed"), "10000\n").expect("writable");
        let nic = towards(&files, "8.8.8.8".parse().expect("an address")).expect("a route");
        assert_eq!((nic.name.as_str(), nic.driver, nic.speed_bits_per_s, nic.receive_queues), ("eth0", None, None, 0));
        assert_eq!(towards(&files, "127.0.0.1".parse().expect("an address")), None);
        assert_eq!(towards(&files, "fd00::1".parse().expect("an address")), None, "no table for it");
    }
}
