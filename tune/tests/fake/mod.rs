//! A device driver that exists in memory: takes what it is told, refuses or clamps where a test wants it to.

#![allow(dead_code, reason = "each test file uses its part of it")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::IpAddr;

use tune::Knob;
use tune::netlink::{Amount, Chain, Device, Netlink, NetlinkError, Route};

#[derive(Default)]
pub(crate) struct Fake {
    devices: RefCell<BTreeMap<String, Device>>,
    /// Settings that are refused, and those that are silently clamped to a value.
    refused: RefCell<Vec<(Knob, NetlinkError)>>,
    clamped: RefCell<Vec<(Knob, u32)>>,
}

impl Fake {
    /// Gives an interface a driver.
    pub(crate) fn device(&self, nic: &str, look: impl FnOnce(&mut Device)) {
        look(self.devices.borrow_mut().entry(nic.to_owned()).or_default());
    }

    pub(crate) fn refuse(&self, knob: Knob, error: NetlinkError) {
        self.refused.borrow_mut().push((knob, error));
    }

    pub(crate) fn clamp(&self, knob: Knob, most: u32) {
        self.clamped.borrow_mut().push((knob, most));
    }

    pub(crate) fn value(&self, nic: &str, knob: Knob) -> Option<String> {
        self.devices.borrow().get(nic)?.value(knob)
    }
}

impl Netlink for Fake {
    fn device(&self, nic: &str) -> Result<Device, NetlinkError> {
        self.devices.borrow().get(nic).cloned().ok_or(NetlinkError::Missing { message: String::new() })
    }

    fn set_device(&self, nic: &str, knob: Knob, value: &str) -> Result<(), NetlinkError> {
        if let Some((_, error)) = self.refused.borrow().iter().find(|(refused, _)| *refused == knob) {
            return Err(error.clone());
        }
        let mut number: u32 = value.parse().unwrap_or(0);
        if let Some((_, most)) = self.clamped.borrow().iter().find(|(clamped, _)| *clamped == knob) {
            number = number.min(*most);
        }
        let mut devices = self.devices.borrow_mut();
        let device = devices.get_mut(nic).ok_or(NetlinkError::Missing { message: String::new() })?;
        let amount = |amount: &mut Option<Amount>| amount.as_mut().expect("the driver has it").now = number;
        match knob {
            Knob::RingRx => amount(&mut device.ring_rx),
            Knob::RingTx => amount(&mut device.ring_tx),
            Knob::ChannelsCombined => amount(&mut device.combined),
            Knob::ChannelsRx => amount(&mut device.channels_rx),
            Knob::ChannelsTx => amount(&mut device.channels_tx),
            Knob::RxUsecs => device.rx_usecs = Some(number),
            Knob::AdaptiveRx => device.adaptive_rx = Some(value == "on"),
            Knob::Gro => device.gro.as_mut().expect("the driver has it").on = value == "on",
            Knob::Gso => device.gso.as_mut().expect("the driver has it").on = value == "on",
            Knob::Tso => device.tso.as_mut().expect("the driver has it").on = value == "on",
        }
        Ok(())
    }

    fn qdiscs(&self, _ifindex: u32) -> Result<Vec<String>, NetlinkError> {
        Ok(Vec::new())
    }

    fn route(&self, _peer: IpAddr) -> Result<Route, NetlinkError> {
        Err(NetlinkError::Missing { message: String::new() })
    }

    fn chains(&self) -> Result<Vec<Chain>, NetlinkError> {
        Ok(Vec::new())
    }
}
