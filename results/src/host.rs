//! What the kernel counted for the whole host while a run was measured: TCP, and the links a run may have used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Ethernet bytes of a frame that interface counters leave out: preamble 8, check sequence 4, gap 12 (IEEE 802.3).
const UNCOUNTED_FRAME_BYTES: u64 = 24;

/// Differences of the host's counters over the measured window. They belong to every process of the network namespace, not to the run
/// alone.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct HostBlock {
    /// Length of the window.
    pub window_ns: u64,
    /// TCP; null where the kernel does not tell.
    pub tcp: Option<TcpCounts>,
    /// Interfaces that carried something, but for loopback. Null for a target on loopback or a unix socket.
    pub links: Option<Vec<LinkUse>>,
    /// Load average over 1, 5 and 15 minutes at the end of the window. Since version 1.2, as the next.
    #[serde(default)]
    pub load_average: Option<[f64; 3]>,
    /// Time the hypervisor gave to others, all cores of the host together; null where the kernel does not tell.
    #[serde(default)]
    pub steal_ns: Option<u64>,
}

/// TCP's counters (`/proc/net/snmp` and `/proc/net/netstat`), as differences. Null where this kernel does not have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TcpCounts {
    /// Segments sent, without those sent again (`OutSegs`).
    pub segments_sent: Option<u64>,
    /// Segments sent again (`RetransSegs`).
    pub retransmits: Option<u64>,
    /// Connections that found a full accept queue (`ListenOverflows`).
    pub listen_overflows: Option<u64>,
    /// Connections dropped by a listener, overflows included (`ListenDrops`).
    pub listen_drops: Option<u64>,
}

/// One interface over the window.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LinkUse {
    /// Its name, as in `eth0`.
    pub name: String,
    /// Length of the window.
    pub window_ns: u64,
    /// Speed of each direction in bits per second; null where it is not a device or does not tell.
    pub speed_bits_per_s: Option<u64>,
    /// Bytes received, headers included.
    pub received_bytes: u64,
    /// Bytes sent, headers included.
    pub sent_bytes: u64,
    /// Packets received.
    pub received_packets: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Packets dropped in either direction, those missed by the device included.
    pub dropped_packets: u64,
}

impl LinkUse {
    /// Used share of the busier direction, 0 to 1, with the bytes that Ethernet puts around each frame: without them a link full of small
    /// packets looks idle. `None` for an unknown speed or an empty window.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        let on_wire = |bytes: u64, packets: u64| bytes as f64 + (packets as f64) * UNCOUNTED_FRAME_BYTES as f64;
        let received = on_wire(self.received_bytes, self.received_packets);
        let sent = on_wire(self.sent_bytes, self.sent_packets);
        let speed = self.speed_bits_per_s.filter(|speed| *speed > 0)?;
        (self.window_ns > 0).then(|| (received.max(sent) * 8.0 / (self.window_ns as f64 / 1e9) / speed as f64).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_packets_fill_a_link_too() {
        let link = |bytes, packets| LinkUse {
            window_ns: 1_000_000_000,
            speed_bits_per_s: Some(1_000_000_000),
            received_bytes: 10,
            sent_bytes: bytes,
            sent_packets: packets,
            ..LinkUse::default()
        };
        // 1.488 million frames of 60 bytes (64 with their check sequence) are the textbook limit of gigabit Ethernet.
        let smallest = link(60 * 1_488_095, 1_488_095).share().expect("a known speed");
        assert!((0.999..=1.0).contains(&smallest), "{smallest}");
        let half = link(61_300_000, 50_000).share().expect("a known speed");
        assert!((0.49..0.51).contains(&half), "{half}");
        assert_eq!(LinkUse { speed_bits_per_s: None, ..link(1, 1) }.share(), None);
        assert_eq!(LinkUse { speed_bits_per_s: Some(0), ..link(1, 1) }.share(), None);
        assert_eq!(LinkUse { window_ns: 0, ..link(1, 1) }.share(), None);
    }
}
