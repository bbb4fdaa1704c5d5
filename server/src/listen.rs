//! Where to listen, as a person writes it: `zap://HOST:PORT`, `http://HOST:PORT`, `floor://HOST:PORT`, `zap+unix:/path`,
//! `http+unix:/path`, `floor+unix:/path`, or a bare `HOST:PORT` or `:PORT`, which means zap.
//!
//! Owns reading and printing. Must not bind; the only thing it asks the system is a host name's address.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs},
    path::PathBuf,
    str::FromStr,
};

use engine::Address;
use thiserror::Error;

use crate::wire::Wire;

/// A wire and where it is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    /// The wire spoken there.
    pub wire: Wire,
    /// The address.
    pub address: Address,
}

/// Why a text names no place to listen.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ListenUrlError {
    /// A scheme that is not served.
    #[error(
        "cannot listen on {url:?}: scheme {scheme:?} is not served; use zap://, http://, floor://, or zap+unix:, http+unix:, floor+unix:"
    )]
    Scheme {
        /// The text given.
        url: String,
        /// Its scheme.
        scheme: String,
    },
    /// No port, or none of 0 to 65535.
    #[error("cannot listen on {url:?}: it needs a port from 0 (any) to 65535, as in zap://127.0.0.1:9653 or :9653")]
    Port {
        /// The text given.
        url: String,
    },
    /// A path, query or user behind or before the address.
    #[error("cannot listen on {url:?}: nothing may stand around HOST:PORT, as in http://127.0.0.1:8080")]
    Surplus {
        /// The text given.
        url: String,
    },
    /// A unix address without a path.
    #[error("cannot listen on {url:?}: it needs the path of a socket, as in zap+unix:/run/zapring.sock")]
    NoPath {
        /// The text given.
        url: String,
    },
    /// A host that is not an address and does not resolve to one.
    #[error(
        "cannot listen on {url:?}: host {host:?} is not an IP address and resolves to none (IPv6 goes in brackets: [::1]:9653)"
    )]
    Host {
        /// The text given.
        url: String,
        /// Its host.
        host: String,
    },
}

impl Listen {
    /// What is served when nothing is asked for: zap and http on loopback.
    pub fn defaults() -> Vec<Listen> {
        let loopback = |port| Address::Tcp(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
        vec![Listen { wire: Wire::Zap, address: loopback(9653) }, Listen { wire: Wire::Http, address: loopback(8080) }]
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.address {
            Address::Tcp(address) => write!(f, "{}://{address}", self.wire),
            Address::Unix(path) => write!(f, "{}+unix:{}", self.wire, path.display()),
        }
    }
}

impl FromStr for Listen {
    type Err = ListenUrlError;

    fn from_str(url: &str) -> Result<Self, ListenUrlError> {
        for wire in Wire::ALL {
            let Some(rest) = url.strip_prefix(wire.scheme()) else { continue };
            if let Some(path) = rest.strip_prefix("+unix:") {
                let path = path.strip_prefix("//").unwrap_or(path);
                if path.is_empty() || path == "/" {
                    return Err(ListenUrlError::NoPath { url: url.to_owned() });
                }
                return Ok(Listen { wire, address: Address::Unix(PathBuf::from(path)) });
            }
            if let Some(rest) = rest.strip_prefix("://") {
                return Ok(Listen { wire, address: tcp(url, rest.strip_suffix('/').unwrap_or(rest))? });
            }
        }
        if let Some((scheme, _)) = url.split_once("://").or_else(|| url.split_once("+unix:")) {
            return Err(ListenUrlError::Scheme { url: url.to_owned(), scheme: scheme.to_owned() });
        }
        Ok(Listen { wire: Wire::Zap, address: tcp(url, url)? })
    }
}

/// The address that `authority` names; an empty host means all IPv4 interfaces.
fn tcp(url: &str, authority: &str) -> Result<Address, ListenUrlError> {
    if authority.contains(['/', '?', '#', '@']) {
        return Err(ListenUrlError::Surplus { url: url.to_owned() });
    }
    let port_error = || ListenUrlError::Port { url: url.to_owned() };
    let (host, port) = authority.rsplit_once(':').ok_or_else(port_error)?;
    if port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(port_error());
    }
    let port: u16 = port.parse().map_err(|_| port_error())?;
    if host.is_empty() {
        return Ok(Address::Tcp(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port)));
    }
    let host_error = || ListenUrlError::Host { url: url.to_owned(), host: host.to_owned() };
    let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let address = match bracketed {
        Some(host) => SocketAddr::new(IpAddr::V6(host.parse().map_err(|_| host_error())?), port),
        None if host.contains([':', '[', ']']) => return Err(host_error()),
        None => (host, port).to_socket_addrs().ok().and_then(|mut found| found.next()).ok_or_else(host_error)?,
    };
    Ok(Address::Tcp(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_printed_in_full() {
        for (text, printed) in [
            ("zap://0.0.0.0:9653", "zap://0.0.0.0:9653"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
            (":9653", "zap://0.0.0.0:9653"),
            ("127.0.0.1:0", "zap://127.0.0.1:0"),
            ("[::1]:9653", "zap://[::1]:9653"),
            ("http://[::]:80", "http://[::]:80"),
            ("zap+unix:/run/z.sock", "zap+unix:/run/z.sock"),
            ("http+unix:relative.sock", "http+unix:relative.sock"),
            ("zap+unix:///run/z.sock", "zap+unix:/run/z.sock"),
            ("floor://127.0.0.1:9654", "floor://127.0.0.1:9654"),
            ("floor+unix:/run/f.sock", "floor+unix:/run/f.sock"),
        ] {
            let listen: Listen = text.parse().unwrap();
            assert_eq!(listen.to_string(), printed, "{text}");
            assert_eq!(printed.parse::<Listen>().unwrap(), listen);
        }
        let listen: Listen = "localhost:1".parse().unwrap();
        assert!(matches!(listen.address, Address::Tcp(address) if address.ip().is_loopback()));
    }

    #[test]
    fn what_cannot_be_served_is_named() {
        for (text, part) in [
            ("https://127.0.0.1:443", "scheme \"https\""),
            ("tcp+unix:/x", "scheme \"tcp\""),
            ("floors://127.0.0.1:1", "use zap://, http://, floor://"),
            ("floor://127.0.0.1", "needs a port"),
            ("floor://127.0.0.1:9654/111/114", "nothing may stand around"),
            ("zap://127.0.0.1", "needs a port"),
            ("", "needs a port"),
            ("127.0.0.1:", "needs a port"),
            (":65536", "needs a port"),
            (":+80", "needs a port"),
            ("http://127.0.0.1:80/health", "nothing may stand around"),
            ("http://user@127.0.0.1:80", "nothing may stand around"),
            ("zap+unix:", "needs the path"),
            ("::1:9653", "in brackets"),
            ("[127.0.0.1]:1", "in brackets"),
            ("no such host:1", "resolves to none"),
        ] {
            let error = text.parse::<Listen>().unwrap_err().to_string();
            assert!(error.contains(part), "{text:?}: {error}");
            assert!(error.contains(&format!("{text:?}")), "{error}");
        }
    }

    #[test]
    fn zap_and_http_on_loopback_by_default() {
        let texts: Vec<String> = Listen::defaults().iter().map(Listen::to_string).collect();
        assert_eq!(texts, ["zap://127.0.0.1:9653", "http://127.0.0.1:8080"]);
    }
}
