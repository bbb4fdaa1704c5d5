//! How many connections the local ports allow, in numbers a user can check.

use std::fs;

use engine::Address;

use crate::{limits::MAX_SOURCES, plan::share_of, sources::Sources};

/// The local ports the kernel may choose (`net.ipv4.ip_local_port_range` without `net.ipv4.ip_local_reserved_ports`; they count for
/// IPv6 too).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PortRange {
    /// The first.
    low: u16,
    /// The last.
    high: u16,
    /// How many of them are reserved.
    reserved: u64,
}

/// The connections that share local ports: those from one source to one address of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pairs {
    connections: u32,
    addresses: usize,
    /// Sources given; 0 where the kernel chooses.
    sources: usize,
    /// Connections of the fullest pair.
    fullest: u64,
    /// Connections to the address of that pair.
    to_address: u64,
}

impl Pairs {
    /// What dealing `connections` out makes of them.
    pub(crate) fn of(connections: u32, addresses: &[Address], sources: &Sources) -> Self {
        let parts = addresses.len() as u64;
        let loads = addresses.iter().zip(0..).map(|(address, index)| {
            let to_address = share_of(connections.into(), parts, index);
            (to_address.div_ceil(sources.count_for(address).max(1) as u64), to_address)
        });
        let (fullest, to_address) = loads.max().unwrap_or((0, 0));
        Pairs { connections, addresses: addresses.len(), sources: sources.addresses().len(), fullest, to_address }
    }
}

impl PortRange {
    /// The range of this host; `None` where it cannot be read.
    pub(crate) fn read() -> Option<Self> {
        let sysctl = |name: &str| fs::read_to_string(format!("/proc/sys/net/ipv4/{name}"));
        // Without the second file (an odd container) nothing is known to be reserved.
        Self::parse(&sysctl("ip_local_port_range").ok()?, &sysctl("ip_local_reserved_ports").unwrap_or_default())
    }

    fn parse(range: &str, reserved: &str) -> Option<Self> {
        let mut numbers = range.split_whitespace().map(str::parse);
        let (low, high): (u16, u16) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
        let parts = reserved.trim().split(',').filter(|part| !part.is_empty());
        let reserved = parts.map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
            Some((u64::from(last.min(high)) + 1).saturating_sub(first.max(low).into()))
        });
        let reserved = reserved.sum::<Option<u64>>()?;
        (low <= high).then_some(Self { low, high, reserved })
    }

    /// Ports that the kernel may choose.
    fn ports(self) -> u64 {
        (u64::from(self.high - self.low) + 1).saturating_sub(self.reserved)
    }

    /// Whether every pair's connections can be open at once.
    pub(crate) fn suffices(self, pairs: &Pairs) -> bool {
        pairs.fullest <= self.ports()
    }

    /// The arithmetic in words, and what would be right.
    pub(crate) fn text(self, pairs: &Pairs) -> String {
        let Self { low, high, reserved } = self;
        let Pairs { connections, addresses, sources, fullest, to_address } = *pairs;
        let ports = self.ports();
        let from = if sources == 0 { "1 source address".to_owned() } else { format!("{sources} source address(es)") };
        let less = if reserved == 0 { String::new() } else { format!(", less {reserved} reserved") };
        let needed = to_address.div_ceil(ports.max(1));
        let more = if needed <= MAX_SOURCES as u64 {
            format!("give {needed} sources or more (--source 10.0.0.0/28), ")
        } else {
            String::new()
        };
        format!(
            "{connections} connections from {from} to {addresses} target address(es) are up to {fullest} for each pair of them, there are \
             {ports} local ports (net.ipv4.ip_local_port_range is {low} to {high}{less}), and a port closed by this side stays taken \
             for 60 s; {more}widen the range (`sysctl net.ipv4.ip_local_port_range='1024 65535'`), or use fewer connections"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(addresses: u8) -> Vec<Address> {
        (1..=addresses).map(|last| Address::Tcp(([127, 0, 0, last], 80).into())).collect()
    }

    #[test]
    fn ranges_as_the_kernel_prints_them() {
        let range = |reserved| Some(PortRange { low: 32_768, high: 60_999, reserved });
        for (reserved, count) in [("\n", 0), ("8080\n", 0), ("8080,40000-40009,60999-61010\n", 11), ("1-65535", 28_232)]
        {
            assert_eq!(PortRange::parse("32768\t60999\n", reserved), range(count), "{reserved:?}");
        }
        for text in ["", "1", "a b", "5 4", "1 70000"] {
            assert_eq!(PortRange::parse(text, ""), None, "{text:?}");
        }
        assert_eq!(PortRange::parse("1 2", "x"), None);
    }

    #[test]
    fn the_fullest_pair_decides() {
        let range = PortRange { low: 1001, high: 1110, reserved: 10 };
        let sources = |count: u8| {
            let list: Vec<String> = (1..=count).map(|last| format!("127.0.1.{last}")).collect();
            Sources::parse(list.iter().map(String::as_str)).expect("sources")
        };
        for (connections, addresses, count, fits) in [
            (100, 1, 0, true),
            (101, 1, 0, false),
            (200, 2, 0, true),
            (201, 2, 0, false),
            (400, 1, 4, true),
            (401, 1, 4, false),
            (1200, 3, 4, true),
            (1201, 3, 4, false),
        ] {
            let sources = if count == 0 { Sources::default() } else { sources(count) };
            let pairs = Pairs::of(connections, &tcp(addresses), &sources);
            assert_eq!(range.suffices(&pairs), fits, "{connections} from {count} to {addresses}");
        }
    }

    #[test]
    fn the_arithmetic_is_shown() {
        let range = PortRange { low: 32_768, high: 60_999, reserved: 32 };
        let text = range.text(&Pairs::of(120_000, &tcp(2), &Sources::default()));
        for part in [
            "120000 connections from 1 source",
            "2 target",
            "up to 60000",
            "28200 local ports",
            "32768 to 60999, less 32 reserved",
            "give 3 sources or more",
            "sysctl",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let sources = Sources::parse(["127.0.0.1,127.0.0.2"]).expect("sources");
        let text = range.text(&Pairs::of(60_000, &tcp(1), &sources));
        assert!(text.contains("2 source address(es) to 1 target") && text.contains("up to 30000"), "{text}");
        let none_left = PortRange { low: 1, high: 1, reserved: 1 };
        assert!(!none_left.text(&Pairs::of(60_000, &tcp(1), &sources)).contains("--source"));
    }
}
