//! Routes and queueing disciplines, over rtnetlink (linux/rtnetlink.h, linux/pkt_sched.h).

use std::net::IpAddr;

use neli::consts::{nl::NlmF, socket::NlFamily};

use super::message::{Attrs, Socket, attr};
use super::{NetlinkError, Route};

const GET_ROUTE: u16 = 26;
const GET_QDISC: u16 = 38;

const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;

/// Bytes of `struct rtmsg`, and where its type stands.
const ROUTE_HEADER: usize = 12;
const ROUTE_TYPE: usize = 7;
const TYPE_LOCAL: u8 = 2;
const DESTINATION: u16 = 1;
const OUT_INTERFACE: u16 = 4;

/// Bytes of `struct tcmsg`, and where interface and parent stand.
const QDISC_HEADER: usize = 20;
const QDISC_INTERFACE: usize = 4;
const QDISC_PARENT: usize = 12;
const QDISC_KIND: u16 = 1;
/// `TC_H_ROOT`.
const ROOT: u32 = u32::MAX;
/// `TC_H_INGRESS`: what arrives, and no discipline of what is sent.
const INGRESS: u32 = 0xFFFF_FFF1;

pub(super) fn route(peer: IpAddr) -> Result<Route, NetlinkError> {
    let socket = Socket::open(NlFamily::Route)?;
    let (family, bits, address) = match peer {
        IpAddr::V4(address) => (AF_INET, 32, address.octets().to_vec()),
        IpAddr::V6(address) => (AF_INET6, 128, address.octets().to_vec()),
    };
    let mut header = [0; ROUTE_HEADER];
    (header[0], header[1]) = (family, bits);
    let answers = socket.ask(GET_ROUTE, NlmF::empty(), &header, &[attr(DESTINATION, &address)])?;
    let broken = || NetlinkError::Broken("a route without an interface".to_owned());
    let answer = answers.first().filter(|answer| answer.len() >= ROUTE_HEADER).ok_or_else(broken)?;
    let ifindex = Attrs::parse(&answer[ROUTE_HEADER..]).number(OUT_INTERFACE).ok_or_else(broken)?;
    Ok(Route { ifindex, local: answer[ROUTE_TYPE] == TYPE_LOCAL })
}

pub(super) fn qdiscs(ifindex: u32) -> Result<Vec<String>, NetlinkError> {
    let socket = Socket::open(NlFamily::Route)?;
    let mut header = [0; QDISC_HEADER];
    header[QDISC_INTERFACE..QDISC_INTERFACE + 4].copy_from_slice(&ifindex.to_ne_bytes());
    let answers = socket.ask(GET_QDISC, NlmF::DUMP, &header, &[])?;
    let word = |answer: &[u8], at: usize| {
        answer.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_ne_bytes)
    };
    let mut kinds: Vec<(bool, String)> = answers
        .iter()
        .filter(|answer| word(answer, QDISC_INTERFACE) == Some(ifindex))
        .filter_map(|answer| {
            let parent = word(answer, QDISC_PARENT).filter(|parent| *parent != INGRESS)?;
            Some((parent != ROOT, Attrs::parse(answer.get(QDISC_HEADER..)?).text(QDISC_KIND)?))
        })
        .collect();
    kinds.sort_by_key(|(below, _)| *below);
    Ok(kinds.into_iter().map(|(_, kind)| kind).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_own_address_is_local() {
        let route = route("127.0.0.1".parse().expect("an address")).expect("lo is up");
        assert!(route.local && route.ifindex > 0, "{route:?}");
    }

    #[test]
    fn qdiscs_of_nobody_are_none() {
        assert_eq!(qdiscs(0x7FFF_FFFF), Ok(Vec::new()));
    }
}
