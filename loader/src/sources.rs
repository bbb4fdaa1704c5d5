//! Local addresses that the connections are made from: read, expanded, checked against the target's addresses, and dealt out.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use engine::{Address, SourceError};
use thiserror::Error;

use crate::limits::MAX_SOURCES;

/// Why a list of sources was refused.
#[derive(Debug, Error)]
pub enum SourcesError {
    /// Neither address nor block.
    #[error(
        "{input:?} is not a source: write local addresses or blocks of them separated by commas, as in 10.0.0.5,10.0.1.0/28 or fd00::1:0/124"
    )]
    Malformed {
        /// The part that was given.
        input: String,
    },
    /// A block whose address lies within it.
    #[error(
        "{input:?} has bits behind its prefix: write {block} for the whole block, or {address} for the one address"
    )]
    NotABlock {
        /// What was given.
        input: String,
        /// The address before the slash.
        address: IpAddr,
        /// What the block is called.
        block: String,
    },
    /// The same address twice.
    #[error("source {source_ip} is given twice: each source has the same share of the connections")]
    Twice {
        /// The address.
        source_ip: IpAddr,
    },
    /// More addresses than are used.
    #[error(
        "{input:?} makes more than {MAX_SOURCES} sources, the most that are used: write a longer prefix, or fewer addresses"
    )]
    TooMany {
        /// The part that was one too many.
        input: String,
    },
    /// A source that no address of the target can be reached from.
    #[error(
        "source {source_ip} is an {} address and the target has none of that kind (it has {addresses}): give sources of the target's kind", family_word(.source_ip)
    )]
    NoTarget {
        /// The source.
        source_ip: IpAddr,
        /// The target's addresses.
        addresses: String,
    },
    /// An address of the target without a source.
    #[error(
        "the target has the address {address} and no source is an {} address: add one, or leave that kind of address out with {}",
        family_word(.address), if .address.is_ipv4() { "-6" } else { "-4" }
    )]
    NoSource {
        /// The target's address.
        address: IpAddr,
    },
    /// A unix socket.
    #[error("--source means nothing on a unix socket: it has no local address")]
    Unix,
    /// One that connections cannot be made from.
    #[error("--source: {0}")]
    Unusable(SourceError),
}

/// IPv4 or IPv6, in words.
fn family_word(address: &IpAddr) -> &'static str {
    if address.is_ipv4() { "IPv4" } else { "IPv6" }
}

/// The sources of a run; none for what the kernel chooses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sources {
    /// As given, each part by itself.
    pub given: Vec<String>,
    addresses: Vec<IpAddr>,
    /// How many of `addresses` are IPv4; they come first.
    of_v4: usize,
}

impl Sources {
    /// Reads addresses and CIDR blocks, each of `lists` separated by commas. Of a block all addresses that a host can have count: the
    /// first (and of IPv4 the last) of a block that is a network of its own are left out.
    ///
    /// # Errors
    /// [`SourcesError`], each quoting what was given.
    pub fn parse<'a>(lists: impl IntoIterator<Item = &'a str>) -> Result<Self, SourcesError> {
        let mut sources = Sources::default();
        for part in lists.into_iter().flat_map(|list| list.split(',')).map(str::trim) {
            let before = sources.addresses.len();
            for address in expand(part)? {
                if sources.addresses.len() == MAX_SOURCES {
                    return Err(SourcesError::TooMany { input: part.into() });
                }
                sources.addresses.push(address);
            }
            // Blocks have no repeats of their own; what overlaps is found among all.
            debug_assert!(sources.addresses.len() > before);
            sources.given.push(part.to_owned());
        }
        sources.addresses.sort_by_key(IpAddr::is_ipv6);
        sources.of_v4 = sources.addresses.iter().filter(|address| address.is_ipv4()).count();
        let mut sorted = sources.addresses.clone();
        sorted.sort();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(SourcesError::Twice { source_ip: pair[0] }),
            None => Ok(sources),
        }
    }

    /// Every source, IPv4 first, else in the order given.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// Whether the kernel chooses.
    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    /// The sources that an address of the target can be reached from, by index; empty where the kernel chooses.
    fn of(&self, address: &Address) -> std::ops::Range<usize> {
        match address {
            Address::Tcp(address) if address.is_ipv4() => 0..self.of_v4,
            Address::Tcp(_) => self.of_v4..self.addresses.len(),
            Address::Unix(_) => 0..0,
        }
    }

    /// How many sources an address of the target can be reached from; one where the kernel chooses.
    pub(crate) fn count_for(&self, address: &Address) -> usize {
        if self.is_empty() { 1 } else { self.of(address).len() }
    }

    /// The source of the connection with this number over all shards, at one of `addresses` addresses; `None` where the kernel chooses.
    ///
    /// Connection `n` goes to address `n mod addresses`. So that neither sources nor pairs of source and address are favoured, the
    /// sources are moved on by one each time that both have come round together.
    pub(crate) fn deal(&self, connection: usize, addresses: usize, address: &Address) -> Option<usize> {
        let of = self.of(address);
        if of.is_empty() {
            return None;
        }
        let round = addresses / gcd(addresses, of.len()) * of.len();
        Some(of.start + (connection + connection / round) % of.len())
    }

    /// Whether every source suits an address of the target and every address has one.
    ///
    /// # Errors
    /// [`SourcesError::Unix`], [`SourcesError::NoTarget`], [`SourcesError::NoSource`].
    pub(crate) fn check(&self, addresses: &[Address]) -> Result<(), SourcesError> {
        if self.is_empty() {
            return Ok(());
        }
        let ips: Option<Vec<IpAddr>> = addresses.iter().map(ip_of).collect();
        let ips = ips.ok_or(SourcesError::Unix)?;
        if let Some(source_ip) =
            self.addresses.iter().find(|source| ips.iter().all(|ip| ip.is_ipv4() != source.is_ipv4()))
        {
            let addresses = ips.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(", ");
            return Err(SourcesError::NoTarget { source_ip: *source_ip, addresses });
        }
        match addresses.iter().find(|address| self.of(address).is_empty()).and_then(ip_of) {
            Some(address) => Err(SourcesError::NoSource { address }),
            None => Ok(()),
        }
    }
}

fn ip_of(address: &Address) -> Option<IpAddr> {
    if let Address::Tcp(address) = address { Some(address.ip()) } else { None }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The addresses of one part of a list.
fn expand(part: &str) -> Result<impl Iterator<Item = IpAddr>, SourcesError> {
    let malformed = || SourcesError::Malformed { input: part.into() };
    let (address, prefix) = match part.split_once('/') {
        Some((address, prefix)) => (address, Some(prefix)),
        None => (part, None),
    };
    let address: IpAddr = address.parse().map_err(|_| malformed())?;
    let bits: u32 = if address.is_ipv4() { 32 } else { 128 };
    let prefix = match prefix {
        None => bits,
        Some(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
            text.parse().ok().filter(|prefix| *prefix <= bits).ok_or_else(malformed)?
        }
        Some(_) => return Err(malformed()),
    };
    let first = match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    };
    // All ones behind the prefix; a shift by the whole width would overflow.
    let rest = 1_u128.checked_shl(bits - prefix).map_or(u128::MAX, |size| size - 1);
    let named = move |number: u128| match address {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::from(number as u32)),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from(number)),
    };
    if first & rest != 0 {
        let block = format!("{}/{prefix}", named(first & !rest));
        return Err(SourcesError::NotABlock { input: part.into(), address, block });
    }
    // A network's own address and, on IPv4, its broadcast address are no host's (RFC 3021, RFC 6164: in a pair both are).
    let ends = u128::from(rest > 1);
    let last = first + rest - if address.is_ipv4() { ends } else { 0 };
    Ok((first + ends..=last).map(named))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<String>, String> {
        Sources::parse([text])
            .map(|sources| sources.addresses.iter().map(IpAddr::to_string).collect())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn addresses_and_blocks() {
        for (text, want) in [
            ("127.0.0.5", &["127.0.0.5"][..]),
            ("127.0.0.5/32", &["127.0.0.5"]),
            ("10.0.0.0/31", &["10.0.0.0", "10.0.0.1"]),
            ("10.0.0.8/30", &["10.0.0.9", "10.0.0.10"]),
            ("::1, 127.0.0.2 ,127.0.0.1", &["127.0.0.2", "127.0.0.1", "::1"]),
            ("fd00::/126", &["fd00::1", "fd00::2", "fd00::3"]),
            ("fd00::2/127", &["fd00::2", "fd00::3"]),
        ] {
            assert_eq!(
                parse(text).as_deref(),
                Ok(&want.iter().map(ToString::to_string).collect::<Vec<_>>()[..]),
                "{text}"
            );
        }
        assert_eq!(parse("127.16.0.0/20").map(|all| all.len()), Ok(4094));
    }

    #[test]
    fn what_is_refused_says_what_is_right() {
        for (text, want) in [
            ("", "\"\" is not a source"),
            ("127.0.0.1,", "\"\" is not a source"),
            ("localhost", "10.0.1.0/28"),
            ("127.0.0.1/33", "\"127.0.0.1/33\" is not a source"),
            ("127.0.0.0/+8", "not a source"),
            ("::/129", "not a source"),
            ("10.0.0.5/24", "write 10.0.0.0/24 for the whole block, or 10.0.0.5"),
            ("fd00::5/64", "write fd00::/64"),
            ("127.0.0.0/8", "more than 4096 sources"),
            ("::/0", "more than 4096 sources"),
            ("127.0.0.0/29,127.0.0.3", "127.0.0.3 is given twice"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(want), "{text}: {error}");
        }
    }

    fn tcp(ip: &str) -> Address {
        Address::Tcp((ip.parse::<IpAddr>().expect("an address"), 80).into())
    }

    #[test]
    fn sources_and_addresses_must_suit_each_other() {
        let (v4, v6, unix) = (tcp("127.0.0.1"), tcp("::1"), Address::Unix("/x".into()));
        let check = |list: &str, addresses: &[&Address]| {
            let addresses: Vec<Address> = addresses.iter().map(|address| (*address).clone()).collect();
            Sources::parse([list]).expect(list).check(&addresses).map_err(|error| error.to_string())
        };
        assert_eq!(check("127.0.0.2", &[&v4]), Ok(()));
        assert_eq!(check("127.0.0.2,::1", &[&v6, &v4]), Ok(()));
        assert_eq!(Sources::default().check(std::slice::from_ref(&unix)).map_err(|error| error.to_string()), Ok(()));
        for (list, addresses, want) in [
            (
                "127.0.0.2",
                &[&v6][..],
                "source 127.0.0.2 is an IPv4 address and the target has none of that kind (it has ::1)",
            ),
            ("::1", &[&v4], "source ::1 is an IPv6 address"),
            (
                "127.0.0.2",
                &[&v4, &v6],
                "the target has the address ::1 and no source is an IPv6 address: add one, or leave that kind of address out with -4",
            ),
            ("::1", &[&v4, &v6], "with -6"),
            ("::1", &[&unix], "unix socket"),
        ] {
            let error = check(list, addresses).expect_err(list);
            assert!(error.contains(want), "{error}");
        }
    }

    /// Every pair of source and address has as many connections as any other, to one.
    #[test]
    fn pairs_are_dealt_evenly() {
        for (sources, targets) in [(1, 1), (3, 1), (4, 2), (2, 2), (6, 4), (3, 2), (5, 7), (8, 12)] {
            let list: Vec<String> = (1..=sources).map(|last| format!("127.0.0.{last}")).collect();
            let list = Sources::parse(list.iter().map(String::as_str)).expect("sources");
            let addresses: Vec<Address> = (1..=targets).map(|last| tcp(&format!("127.0.1.{last}"))).collect();
            let connections = sources * targets;
            let mut counts = vec![0; connections];
            for connection in 0..connections {
                let address = connection % targets;
                let source = list.deal(connection, targets, &addresses[address]).expect("there are some");
                counts[source * targets + address] += 1;
            }
            assert!(counts.iter().all(|count| *count == 1), "{sources} sources, {targets} addresses: {counts:?}");
            let firsts = (0..sources).map(|n| list.deal(n, targets, &addresses[n % targets]));
            let mut firsts: Vec<_> = firsts.flatten().collect();
            firsts.sort_unstable();
            firsts.dedup();
            assert_eq!(firsts.len(), sources, "the first connections each have a source of their own");
        }
        let mixed = Sources::parse(["127.0.0.1,127.0.0.2,::1"]).expect("sources");
        let dealt: Vec<_> = (0..8).map(|n| mixed.deal(n, 2, &[tcp("127.0.0.9"), tcp("::1")][n % 2])).collect();
        assert_eq!(dealt, [0, 2, 1, 2, 0, 2, 1, 2].map(Some));
        assert_eq!(Sources::default().deal(5, 2, &tcp("::1")), None);
    }
}
