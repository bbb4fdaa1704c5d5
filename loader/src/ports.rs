//! How many connections the local ports allow, in numbers a user can check.

use std::{fs, path::Path};

/// The local ports the kernel may choose (`net.ipv4.ip_local_port_range`; it counts for IPv6 too).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PortRange {
    /// The first.
    pub(crate) low: u16,
    /// The last.
    pub(crate) high: u16,
}

impl PortRange {
    /// The range of this host; `None` where it cannot be read.
    pub(crate) fn read() -> Option<Self> {
        Self::parse(&fs::read_to_string(Path::new("/proc/sys/net/ipv4/ip_local_port_range")).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split_whitespace().map(str::parse);
        let (low, high) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
        (low <= high).then_some(Self { low, high })
    }

    /// Ports in the range.
    pub(crate) fn ports(self) -> u64 {
        u64::from(self.high - self.low) + 1
    }

    /// Connections to this many addresses that can be open at once from one source address.
    pub(crate) fn most_connections(self, addresses: usize) -> u64 {
        self.ports() * addresses as u64
    }

    /// The arithmetic in words.
    pub(crate) fn text(self, addresses: usize, connections: u32) -> String {
        let Self { low, high } = self;
        let (ports, most) = (self.ports(), self.most_connections(addresses));
        format!(
            "{ports} local ports (net.ipv4.ip_local_port_range is {low} to {high}) times 1 source address times {addresses} target \
             address(es) allow {most} connections at once, {connections} are asked for, and a port closed by this side stays taken \
             for 60 s; widen the range (`sysctl net.ipv4.ip_local_port_range='1024 65535'`) or use fewer connections"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_as_the_kernel_prints_them() {
        assert_eq!(PortRange::parse("32768\t60999\n"), Some(PortRange { low: 32_768, high: 60_999 }));
        for text in ["", "1", "a b", "5 4", "1 70000"] {
            assert_eq!(PortRange::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_arithmetic_is_shown() {
        let range = PortRange { low: 32_768, high: 60_999 };
        let text = range.text(2, 60_000);
        for part in ["28232 local ports", "2 target", "56464 connections", "60000 are asked for", "sysctl"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
