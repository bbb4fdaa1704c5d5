//! Device settings over ethtool's netlink family, and the kernel as a whole as [`Netlink`].
//!
//! Numbers of messages and attributes are those of linux/ethtool_netlink.h.

use std::net::IpAddr;

use neli::consts::{nl::NlmF, socket::NlFamily};

use super::message::{Attr, Attrs, Socket, attr, nest, zero_ended};
use super::{Amount, Chain, Device, Netlink, NetlinkError, Offload, Route, firewall, route};
use crate::setting::Knob;

const FEATURES_GET: u8 = 11;
const FEATURES_SET: u8 = 12;
const RINGS_GET: u8 = 15;
const RINGS_SET: u8 = 16;
const CHANNELS_GET: u8 = 17;
const CHANNELS_SET: u8 = 18;
const COALESCE_GET: u8 = 19;
const COALESCE_SET: u8 = 20;
/// Since 6.3; an older kernel does not know it.
const RSS_GET: u8 = 38;

/// `ETHTOOL_A_*_HEADER`, and `ETHTOOL_A_HEADER_DEV_NAME` in it.
const HEADER: u16 = 1;
const DEVICE_NAME: u16 = 2;

const RING_RX_MAX: u16 = 2;
const RING_TX_MAX: u16 = 5;
const RING_RX: u16 = 6;
const RING_TX: u16 = 9;

const CHANNELS_RX_MAX: u16 = 2;
const CHANNELS_TX_MAX: u16 = 3;
const CHANNELS_COMBINED_MAX: u16 = 5;
const CHANNELS_RX: u16 = 6;
const CHANNELS_TX: u16 = 7;
const CHANNELS_COMBINED: u16 = 9;

const COALESCE_RX_USECS: u16 = 2;
const COALESCE_TX_USECS: u16 = 6;
const COALESCE_ADAPTIVE_RX: u16 = 11;

const FEATURES_HW: u16 = 2;
const FEATURES_WANTED: u16 = 3;
const FEATURES_ACTIVE: u16 = 4;
const FEATURES_NOCHANGE: u16 = 5;

const BITSET_BITS: u16 = 3;
const BITSET_BIT: u16 = 1;
const BIT_NAME: u16 = 2;
const BIT_VALUE: u16 = 3;

const RSS_TABLE: u16 = 4;

/// The running kernel.
#[derive(Debug, Clone, Copy, Default)]
pub struct Live;

/// The ethtool family on a socket of its own.
struct Ethtool {
    socket: Socket,
    family: u16,
}

impl Ethtool {
    fn open() -> Result<Self, NetlinkError> {
        let socket = Socket::open(NlFamily::Generic)?;
        let family = socket.family("ethtool")?;
        Ok(Self { socket, family })
    }

    fn ask(&self, command: u8, flags: NlmF, nic: &str, more: &[Attr]) -> Result<Vec<Attrs>, NetlinkError> {
        let mut attrs = vec![nest(HEADER, &[attr(DEVICE_NAME, &zero_ended(nic))])];
        attrs.extend_from_slice(more);
        // Generic netlink: the command, its version, two bytes of nothing.
        let answers = self.socket.ask(self.family, flags, &[command, 1, 0, 0], &attrs)?;
        Ok(answers.iter().map(|answer| Attrs::parse(answer.get(4..).unwrap_or_default())).collect())
    }

    /// One group of settings, empty where the driver does not have it.
    fn get(&self, command: u8, nic: &str) -> Result<Attrs, NetlinkError> {
        match self.ask(command, NlmF::empty(), nic, &[]) {
            Ok(answers) => Ok(answers.into_iter().next().unwrap_or_default()),
            Err(NetlinkError::Unsupported { .. } | NetlinkError::Refused { .. }) => Ok(Attrs::default()),
            Err(error) => Err(error),
        }
    }
}

impl Netlink for Live {
    fn device(&self, nic: &str) -> Result<Device, NetlinkError> {
        let ethtool = Ethtool::open()?;
        let rings = ethtool.get(RINGS_GET, nic)?;
        let channels = ethtool.get(CHANNELS_GET, nic)?;
        let coalesce = ethtool.get(COALESCE_GET, nic)?;
        let features = ethtool.get(FEATURES_GET, nic)?;
        let rss = ethtool.get(RSS_GET, nic)?;
        let offload = |name| offload(&features, name);
        Ok(Device {
            ring_rx: amount(&rings, RING_RX, RING_RX_MAX),
            ring_tx: amount(&rings, RING_TX, RING_TX_MAX),
            combined: amount(&channels, CHANNELS_COMBINED, CHANNELS_COMBINED_MAX),
            channels_rx: amount(&channels, CHANNELS_RX, CHANNELS_RX_MAX),
            channels_tx: amount(&channels, CHANNELS_TX, CHANNELS_TX_MAX),
            rx_usecs: coalesce.number(COALESCE_RX_USECS),
            tx_usecs: coalesce.number(COALESCE_TX_USECS),
            adaptive_rx: coalesce.bytes(COALESCE_ADAPTIVE_RX).map(|bytes| bytes == [1]),
            gro: offload(feature_name(Knob::Gro)),
            gso: offload(feature_name(Knob::Gso)),
            tso: offload(feature_name(Knob::Tso)),
            lro: offload("rx-lro"),
            ntuple: offload("rx-ntuple-filter"),
            rss: rss.bytes(RSS_TABLE).map(shares).unwrap_or_default(),
        })
    }

    fn set_device(&self, nic: &str, knob: Knob, value: &str) -> Result<(), NetlinkError> {
        let ethtool = Ethtool::open()?;
        let number = || -> Result<[u8; 4], NetlinkError> {
            let reason = format!("\"{value}\" is no number");
            value
                .parse::<u32>()
                .map(u32::to_ne_bytes)
                .map_err(|_| NetlinkError::Refused { reason, message: String::new() })
        };
        let (command, attr) = match knob {
            Knob::RingRx => (RINGS_SET, attr(RING_RX, &number()?)),
            Knob::RingTx => (RINGS_SET, attr(RING_TX, &number()?)),
            Knob::ChannelsCombined => (CHANNELS_SET, attr(CHANNELS_COMBINED, &number()?)),
            Knob::ChannelsRx => (CHANNELS_SET, attr(CHANNELS_RX, &number()?)),
            Knob::ChannelsTx => (CHANNELS_SET, attr(CHANNELS_TX, &number()?)),
            Knob::RxUsecs => (COALESCE_SET, attr(COALESCE_RX_USECS, &number()?)),
            Knob::AdaptiveRx => (COALESCE_SET, attr(COALESCE_ADAPTIVE_RX, &[u8::from(value == "on")])),
            Knob::Gro | Knob::Gso | Knob::Tso => (FEATURES_SET, wanted(feature_name(knob), value == "on")),
        };
        ethtool.ask(command, NlmF::ACK, nic, &[attr]).map(drop)
    }

    fn qdiscs(&self, ifindex: u32) -> Result<Vec<String>, NetlinkError> {
        route::qdiscs(ifindex)
    }

    fn route(&self, peer: IpAddr) -> Result<Route, NetlinkError> {
        route::route(peer)
    }

    fn chains(&self) -> Result<Vec<Chain>, NetlinkError> {
        firewall::chains()
    }
}

fn amount(attrs: &Attrs, now: u16, max: u16) -> Option<Amount> {
    Some(Amount { now: attrs.number(now)?, max: attrs.number(max)? })
}

/// The kernel's own name of an offload.
const fn feature_name(knob: Knob) -> &'static str {
    match knob {
        Knob::Gro => "rx-gro",
        Knob::Gso => "tx-generic-segmentation",
        _ => "tx-tcp-segmentation",
    }
}

/// A bitset that names one bit.
fn wanted(name: &str, on: bool) -> Attr {
    let mut bit = vec![attr(BIT_NAME, &zero_ended(name))];
    if on {
        bit.push(attr(BIT_VALUE, &[]));
    }
    nest(FEATURES_WANTED, &[nest(BITSET_BITS, &[nest(BITSET_BIT, &bit)])])
}

/// One offload out of the four bitsets; `None` where the kernel does not list it for this device.
fn offload(features: &Attrs, name: &str) -> Option<Offload> {
    // A list without a mask names the bits that are set; one with a mask names all, and marks those that are set.
    let listed = |set: u16, marked: bool| {
        let bits = features.inner(set).and_then(|set| set.inner(BITSET_BITS)).unwrap_or_default();
        bits.iter()
            .map(|(_, bit)| Attrs::parse(bit))
            .any(|bit| bit.text(BIT_NAME).as_deref() == Some(name) && (!marked || bit.has(BIT_VALUE)))
    };
    let hardware = listed(FEATURES_HW, true);
    let on = listed(FEATURES_ACTIVE, false);
    if !hardware && !on {
        return None;
    }
    Some(Offload { on, changeable: hardware && !listed(FEATURES_NOCHANGE, false) })
}

/// How often each queue stands in a table of queue numbers.
fn shares(table: &[u8]) -> Vec<u32> {
    let mut shares = Vec::new();
    for queue in table.as_chunks::<4>().0.iter().map(|bytes| u32::from_ne_bytes(*bytes) as usize) {
        if queue < crate::limits::MAX_QUEUES as usize {
            shares.resize(shares.len().max(queue + 1), 0);
            shares[queue] += 1;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(set: u16, bits: &[(&str, bool)]) -> Attr {
        let bit = |(name, value): &(&str, bool)| {
            let mut inner = vec![attr(BIT_NAME, &zero_ended(name))];
            if *value {
                inner.push(attr(BIT_VALUE, &[]));
            }
            nest(BITSET_BIT, &inner)
        };
        nest(set, &[nest(BITSET_BITS, &bits.iter().map(bit).collect::<Vec<_>>())])
    }

    #[test]
    fn offloads_from_bitsets() {
        let sent = [
            bits(FEATURES_HW, &[("rx-gro", true), ("tx-tcp-segmentation", true), ("rx-lro", false)]),
            bits(FEATURES_ACTIVE, &[("rx-gro", false), ("tx-generic-segmentation", false)]),
            bits(FEATURES_NOCHANGE, &[("tx-generic-segmentation", false)]),
        ];
        let message = nest(1, &sent);
        let features = Attrs::parse(message.nla_payload().as_ref());
        assert_eq!(offload(&features, "rx-gro"), Some(Offload { on: true, changeable: true }));
        assert_eq!(offload(&features, "tx-tcp-segmentation"), Some(Offload { on: false, changeable: true }));
        assert_eq!(offload(&features, "tx-generic-segmentation"), Some(Offload { on: true, changeable: false }));
        assert_eq!(offload(&features, "rx-lro"), None);
    }

    #[test]
    fn an_indirection_table_is_counted() {
        let table: Vec<u8> = [0u32, 1, 0, 3, u32::MAX].iter().flat_map(|queue| queue.to_ne_bytes()).collect();
        assert_eq!(shares(&table), [2, 1, 0, 1]);
        assert!(shares(&[]).is_empty());
    }

    #[test]
    fn loopback_is_known_and_nonsense_is_missing() {
        let device = Live.device("lo").expect("every network namespace has lo");
        assert_eq!((device.ring_rx, device.combined), (None, None));
        assert!(device.gro.is_some_and(|gro| gro.on), "{device:?}");
        assert!(matches!(Live.device("no-such-nic"), Err(NetlinkError::Missing { .. })));
    }
}
