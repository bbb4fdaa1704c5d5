//! What the kernel tells and takes over netlink and shows in no file: device settings, routes, queueing disciplines, firewall chains.
//!
//! Netlink and not the `ethtool` program: it needs nothing installed, answers in numbers with the kernel's own errno and message, so
//! that "refused" and "unsupported" are told apart without reading texts made for people. [`Netlink`] is what the rest of this crate
//! sees; [`Live`] asks the kernel, [`Nobody`] stands for a tree that was copied from elsewhere, and tests bring their own.

mod device;
mod firewall;
mod message;
mod route;

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::setting::Knob;

pub use device::Live;

/// Why a question or a change over netlink came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetlinkError {
    /// The kernel or the driver does not have it.
    #[error("not supported by the driver{}", with(message))]
    Unsupported {
        /// What the kernel said besides, or nothing.
        message: String,
    },
    /// Not without privileges.
    #[error("not permitted: it needs CAP_NET_ADMIN")]
    Permission,
    /// There is no such thing, as an interface or a route.
    #[error("there is none{}", with(message))]
    Missing {
        /// What the kernel said besides, or nothing.
        message: String,
    },
    /// Refused for another reason.
    #[error("refused: {reason}{}", with(message))]
    Refused {
        /// The system's reason.
        reason: String,
        /// What the kernel said besides, or nothing.
        message: String,
    },
    /// No answer that could be understood.
    #[error("netlink does not answer as it should: {0}")]
    Broken(String),
}

fn with(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(" ({message})") }
}

/// Entries of one ring, and the most there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Amount {
    /// In use.
    pub now: u32,
    /// The most the device has.
    pub max: u32,
}

/// What `ethtool` shows of a device. What its driver does not support is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Device {
    /// Receive ring entries.
    pub ring_rx: Option<Amount>,
    /// Transmit ring entries.
    pub ring_tx: Option<Amount>,
    /// Queue pairs.
    pub combined: Option<Amount>,
    /// Receive queues of their own.
    pub channels_rx: Option<Amount>,
    /// Transmit queues of their own.
    pub channels_tx: Option<Amount>,
    /// Microseconds a receive interrupt may wait.
    pub rx_usecs: Option<u32>,
    /// Microseconds a transmit interrupt may wait.
    pub tx_usecs: Option<u32>,
    /// Whether the driver chooses the receive time.
    pub adaptive_rx: Option<bool>,
    /// Generic receive offload, and whether it can be changed.
    pub gro: Option<Offload>,
    /// Generic segmentation offload.
    pub gso: Option<Offload>,
    /// TCP segmentation offload.
    pub tso: Option<Offload>,
    /// Large receive offload.
    pub lro: Option<Offload>,
    /// Steering of flows by the device.
    pub ntuple: Option<Offload>,
    /// How often each queue stands in the indirection table of receive-side scaling; empty when there is none or it is not told.
    pub rss: Vec<u32>,
}

/// One offload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Offload {
    /// Whether it is on.
    pub on: bool,
    /// Whether it can be changed.
    pub changeable: bool,
}

impl Device {
    /// The value of a knob as text; `None` where the device does not have it.
    #[must_use]
    pub fn value(&self, knob: Knob) -> Option<String> {
        let amount =
            |amount: Option<Amount>| amount.filter(|amount| amount.max > 0).map(|amount| amount.now.to_string());
        let switch = |on: bool| if on { "on" } else { "off" }.to_owned();
        match knob {
            Knob::RingRx => amount(self.ring_rx),
            Knob::RingTx => amount(self.ring_tx),
            Knob::ChannelsCombined => amount(self.combined),
            Knob::ChannelsRx => amount(self.channels_rx),
            Knob::ChannelsTx => amount(self.channels_tx),
            Knob::RxUsecs => self.rx_usecs.map(|usecs| usecs.to_string()),
            Knob::AdaptiveRx => self.adaptive_rx.map(switch),
            Knob::Gro => self.gro.map(|offload| switch(offload.on)),
            Knob::Gso => self.gso.map(|offload| switch(offload.on)),
            Knob::Tso => self.tso.map(|offload| switch(offload.on)),
        }
    }
}

/// Where packets to an address go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Index of the interface they leave by.
    pub ifindex: u32,
    /// Whether the address is this host's own, so that they never leave.
    pub local: bool,
}

/// A firewall chain that packets run through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chain {
    /// Its table.
    pub table: String,
    /// Its name.
    pub name: String,
    /// Rules in it.
    pub rules: u32,
}

/// What can be asked and changed over netlink.
pub trait Netlink {
    /// Settings of a device.
    ///
    /// # Errors
    /// [`NetlinkError::Missing`] when there is no such interface, [`NetlinkError::Broken`]; what is only unsupported is `None`
    /// in the answer.
    fn device(&self, nic: &str) -> Result<Device, NetlinkError>;

    /// Changes one setting: `value` is a number, or `on` or `off`.
    ///
    /// # Errors
    /// [`NetlinkError`], with what the driver said.
    fn set_device(&self, nic: &str, knob: Knob, value: &str) -> Result<(), NetlinkError>;

    /// Kinds of the queueing disciplines of an interface, the root first, as in `mq`, `fq_codel`, `fq_codel`.
    ///
    /// # Errors
    /// [`NetlinkError`].
    fn qdiscs(&self, ifindex: u32) -> Result<Vec<String>, NetlinkError>;

    /// Where packets to an address go.
    ///
    /// # Errors
    /// [`NetlinkError::Missing`] when there is no route.
    fn route(&self, peer: IpAddr) -> Result<Route, NetlinkError>;

    /// Chains of nftables (and of iptables, where it is built on them) that packets run through.
    ///
    /// # Errors
    /// [`NetlinkError::Permission`] without CAP_NET_ADMIN.
    fn chains(&self) -> Result<Vec<Chain>, NetlinkError>;
}

/// Nobody to ask: for trees that were built or copied from another host.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Nobody {
    fn refuse<T>() -> Result<T, NetlinkError> {
        Err(NetlinkError::Unsupported { message: "these trees are not of the running kernel".to_owned() })
    }
}

impl Netlink for Nobody {
    fn device(&self, _nic: &str) -> Result<Device, NetlinkError> {
        Self::refuse()
    }

    fn set_device(&self, _nic: &str, _knob: Knob, _value: &str) -> Result<(), NetlinkError> {
        Self::refuse()
    }

    fn qdiscs(&self, _ifindex: u32) -> Result<Vec<String>, NetlinkError> {
        Self::refuse()
    }

    fn route(&self, _peer: IpAddr) -> Result<Route, NetlinkError> {
        Self::refuse()
    }

    fn chains(&self) -> Result<Vec<Chain>, NetlinkError> {
        Self::refuse()
    }
}
