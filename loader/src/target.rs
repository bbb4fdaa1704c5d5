//! Where the load goes: a URL whose scheme chooses the wire.
//!
//! | URL | meaning |
//! |---|---|
//! | `http://host[:port][/path][?query]` | HTTP/1.1 over TCP, port 80 unless given |
//! | `zap://host[:port][/path][?query]` | ZAP over TCP, port 9653 unless given |
//! | `http+unix:/run/x.sock[:/path]` | HTTP/1.1 over a unix stream socket |
//! | `zap+unix:/run/x.sock[:/path]` | ZAP over a unix stream socket |
//! | `floor://host[:port][/REQUEST_BYTES/REPLY_BYTES]` | floor frames of these sizes over TCP, port 9654 unless given |
//! | `floor+unix:/run/x.sock[:/REQUEST_BYTES/REPLY_BYTES]` | floor frames over a unix stream socket |
//!
//! On a unix socket the first `:/` behind the scheme ends the socket's path and begins the request's; without one the request is
//! for `/`. Sizes on floor are those of whole frames; without them they are 111 and 114 bytes, as of ZAP's `/health`. A fragment (`#…`) never travels and is dropped. Everything else, `https://` above all, is refused: a test of another
//! wire than the one asked for would be worse than none.

use std::{
    fmt, io,
    net::{IpAddr, ToSocketAddrs},
    path::PathBuf,
};

use codec::{
    floor::{MIN_REPLY_BYTES, MIN_REQUEST_BYTES, Sizes},
    limits::{MAX_FLOOR_REPLY_BYTES, MAX_FLOOR_REQUEST_BYTES},
};
use engine::Address;
use thiserror::Error;

use crate::limits::MAX_UNIX_PATH_BYTES;

/// What is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireName {
    /// HTTP/1.1.
    Http,
    /// ZAP frames.
    Zap,
    /// Floor frames of these sizes.
    Floor(Sizes),
}

impl WireName {
    /// The word in result files.
    pub fn word(self) -> &'static str {
        match self {
            WireName::Http => "http",
            WireName::Zap => "zap",
            WireName::Floor(_) => "floor",
        }
    }

    /// The sizes of frames on floor.
    pub fn floor_sizes(self) -> Option<Sizes> {
        if let WireName::Floor(sizes) = self { Some(sizes) } else { None }
    }

    fn default_port(self) -> u16 {
        match self {
            WireName::Http => 80,
            WireName::Zap => 9653,
            WireName::Floor(_) => 9654,
        }
    }
}

/// Which of a host's addresses are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Family {
    /// All of them.
    #[default]
    Any,
    /// IPv4 only.
    V4,
    /// IPv6 only.
    V6,
}

impl Family {
    /// The flag that asks for it; none for all.
    pub fn flag(self) -> Option<&'static str> {
        match self {
            Family::Any => None,
            Family::V4 => Some("-4"),
            Family::V6 => Some("-6"),
        }
    }

    /// The word in result files; none for all.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Family::Any => None,
            Family::V4 => Some("ipv4"),
            Family::V6 => Some("ipv6"),
        }
    }

    fn has(self, ip: IpAddr) -> bool {
        match self {
            Family::Any => true,
            Family::V4 => ip.is_ipv4(),
            Family::V6 => ip.is_ipv6(),
        }
    }
}

/// Where the server listens, before names are resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A host name or address without brackets, and a port.
    Tcp {
        /// Name or address.
        host: String,
        /// Port.
        port: u16,
    },
    /// The path of a unix stream socket.
    Unix(PathBuf),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Place::Tcp { host, port } => write!(f, "{host}:{port}"),
            Place::Unix(path) => path.display().fmt(f),
        }
    }
}

/// A parsed URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// As given.
    pub url: String,
    /// What is spoken.
    pub wire: WireName,
    /// Where.
    pub place: Place,
    /// Path and query, as they stand in the request; on floor the sizes, and in no request.
    pub request_target: String,
    /// The Host value: host and port as given; `localhost` on a unix socket.
    pub host: String,
}

/// Why a URL was refused, or its host not found.
#[derive(Debug, Error)]
pub enum TargetError {
    /// No scheme.
    #[error("{url:?} has no scheme: write http://{url}, zap://{url} or floor://{url}")]
    NoScheme {
        /// What was given.
        url: String,
    },
    /// TLS.
    #[error("{url:?}: TLS is not supported: give an http://, zap:// or floor:// URL")]
    Tls {
        /// What was given.
        url: String,
    },
    /// Another scheme.
    #[error(
        "{url:?}: unknown scheme {scheme:?}; there are http://, zap://, floor://, http+unix:, zap+unix: and floor+unix:"
    )]
    Scheme {
        /// What was given.
        url: String,
        /// What stands before the first colon.
        scheme: String,
    },
    /// No host, or one that cannot be a host.
    #[error("{url:?}: {host:?} is not a host: write a name, an IPv4 address or an IPv6 address in brackets")]
    Host {
        /// What was given.
        url: String,
        /// What stands where the host should.
        host: String,
    },
    /// A port that is none.
    #[error("{url:?}: {port:?} is not a port: write a number from 1 to 65535")]
    Port {
        /// What was given.
        url: String,
        /// What stands where the port should.
        port: String,
    },
    /// User and password in the URL.
    #[error("{url:?}: a user before the host is not supported: send it as a header, -H 'Authorization: …'")]
    User {
        /// What was given.
        url: String,
    },
    /// A path or query with bytes that no request line may hold.
    #[error("{url:?}: the path holds a blank, a control or a non-ASCII character: write it percent-encoded, as in %20")]
    Path {
        /// What was given.
        url: String,
    },
    /// Something else than two sizes behind a floor host.
    #[error(
        "{url:?}: behind the host of a floor URL stand the bytes of a request ({MIN_REQUEST_BYTES} to {MAX_FLOOR_REQUEST_BYTES}) and of its reply ({MIN_REPLY_BYTES} to {MAX_FLOOR_REPLY_BYTES}), or nothing: as in floor://127.0.0.1:9654/111/114"
    )]
    FloorSizes {
        /// What was given.
        url: String,
    },
    /// A socket path that the kernel cannot take.
    #[error(
        "{url:?}: the socket path has {bytes} bytes: it must have 1 to {MAX_UNIX_PATH_BYTES} and no NUL, as in http+unix:/run/x.sock:/path"
    )]
    SocketPath {
        /// What was given.
        url: String,
        /// Its length.
        bytes: usize,
    },
    /// An address that is not of the family asked for.
    #[error("{host} is not an {} address: leave out {flag}, or give a name or an address of that kind", if *.flag == "-4" { "IPv4" } else { "IPv6" })]
    OtherFamily {
        /// The address in the URL.
        host: String,
        /// `-4` or `-6`.
        flag: &'static str,
    },
    /// A unix socket and `-4` or `-6`.
    #[error("{flag} means nothing on a unix socket: leave it out")]
    FamilyOfUnix {
        /// `-4` or `-6`.
        flag: &'static str,
    },
    /// The name has addresses, but none of the family asked for.
    #[error(
        "{host:?} has no address for {flag}; it has {addresses}: leave out {flag}, or check the resolver (`getent ahosts {host}`)"
    )]
    NoneOfFamily {
        /// The name.
        host: String,
        /// `-4` or `-6`.
        flag: &'static str,
        /// The addresses it has.
        addresses: String,
    },
    /// The name has no address.
    #[error("cannot resolve {host:?}: {source}; check the spelling and the resolver (`getent ahosts {host}`)")]
    Resolve {
        /// The name.
        host: String,
        /// What the resolver said.
        source: io::Error,
    },
}

impl Target {
    /// Reads a URL; see the module's head for the forms.
    ///
    /// # Errors
    /// [`TargetError`], each quoting the URL and saying what is right. Nothing is resolved yet.
    pub fn parse(url: &str) -> Result<Self, TargetError> {
        let no_scheme = || TargetError::NoScheme { url: url.into() };
        let (scheme, rest) = url.split_once(':').ok_or_else(no_scheme)?;
        match (scheme.to_ascii_lowercase().as_str(), rest.strip_prefix("//")) {
            ("http", Some(rest)) => Self::tcp(url, WireName::Http, rest),
            ("zap", Some(rest)) => Self::tcp(url, WireName::Zap, rest),
            ("floor", Some(rest)) => Self::tcp(url, WireName::Floor(Sizes::default()), rest),
            ("http+unix", _) => Self::unix(url, WireName::Http, rest),
            ("zap+unix", _) => Self::unix(url, WireName::Zap, rest),
            ("floor+unix", _) => Self::unix(url, WireName::Floor(Sizes::default()), rest),
            ("https" | "zaps", _) => Err(TargetError::Tls { url: url.into() }),
            // `localhost:8080` looks like a scheme and is none.
            (_, None) => Err(no_scheme()),
            (_, Some(_)) => Err(TargetError::Scheme { url: url.into(), scheme: scheme.into() }),
        }
    }

    fn tcp(url: &str, wire: WireName, rest: &str) -> Result<Self, TargetError> {
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.contains('@') {
            return Err(TargetError::User { url: url.into() });
        }
        let bad_host = || TargetError::Host { url: url.into(), host: authority.into() };
        let (host, port) = match authority.strip_prefix('[') {
            Some(bracketed) => {
                let (host, after) = bracketed.split_once(']').ok_or_else(bad_host)?;
                host.parse::<std::net::Ipv6Addr>().map_err(|_| bad_host())?;
                match after.strip_prefix(':') {
                    None if !after.is_empty() => return Err(bad_host()),
                    port => (host, port),
                }
            }
            None => match authority.split_once(':') {
                Some((_, port)) if port.contains(':') => return Err(bad_host()),
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        let is_host_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte);
        if host.is_empty() || !host.bytes().all(is_host_byte) {
            return Err(bad_host());
        }
        let port = match port {
            None => wire.default_port(),
            Some(text) => {
                let digits = text.bytes().all(|byte| byte.is_ascii_digit());
                let number = digits.then(|| text.parse().ok()).flatten().filter(|port| *port != 0);
                number.ok_or_else(|| TargetError::Port { url: url.into(), port: text.into() })?
            }
        };
        Ok(Self {
            url: url.to_owned(),
            wire: sized(url, wire, path)?,
            place: Place::Tcp { host: host.to_owned(), port },
            request_target: request_target(url, path)?,
            host: authority.to_owned(),
        })
    }

    fn unix(url: &str, wire: WireName, rest: &str) -> Result<Self, TargetError> {
        let rest = rest.strip_prefix("//").unwrap_or(rest);
        let (socket, path) = match rest.find(":/") {
            Some(at) => (&rest[..at], &rest[at + 1..]),
            None => (rest.strip_suffix(':').unwrap_or(rest), ""),
        };
        if socket.is_empty() || socket.len() > MAX_UNIX_PATH_BYTES || socket.contains('\0') {
            return Err(TargetError::SocketPath { url: url.into(), bytes: socket.len() });
        }
        let path = path.split('#').next().unwrap_or_default();
        Ok(Self {
            url: url.to_owned(),
            wire: sized(url, wire, path)?,
            place: Place::Unix(socket.into()),
            request_target: request_target(url, path)?,
            host: "localhost".to_owned(),
        })
    }

    /// Whether the URL itself leaves `family` any address; names are not resolved yet.
    ///
    /// # Errors
    /// [`TargetError::FamilyOfUnix`], [`TargetError::OtherFamily`].
    pub fn check_family(&self, family: Family) -> Result<(), TargetError> {
        let Some(flag) = family.flag() else { return Ok(()) };
        match &self.place {
            Place::Unix(_) => Err(TargetError::FamilyOfUnix { flag }),
            Place::Tcp { host, .. } => match host.parse() {
                Ok(ip) if !family.has(ip) => Err(TargetError::OtherFamily { host: host.clone(), flag }),
                _ => Ok(()),
            },
        }
    }

    /// Every address of the host that is of this family, in the resolver's order and without repeats.
    ///
    /// # Errors
    /// As [`Target::check_family`], and [`TargetError::Resolve`] and [`TargetError::NoneOfFamily`].
    pub fn resolve(&self, family: Family) -> Result<Vec<Address>, TargetError> {
        self.check_family(family)?;
        let (host, port) = match &self.place {
            Place::Unix(path) => return Ok(vec![Address::Unix(path.clone())]),
            Place::Tcp { host, port } => (host, *port),
        };
        let failed = |source| TargetError::Resolve { host: host.clone(), source };
        let mut all = Vec::new();
        for address in (host.as_str(), port).to_socket_addrs().map_err(failed)? {
            if !all.contains(&address) {
                all.push(address);
            }
        }
        if all.is_empty() {
            return Err(failed(io::Error::new(io::ErrorKind::NotFound, "it has no address")));
        }
        let ours: Vec<Address> =
            all.iter().filter(|address| family.has(address.ip())).copied().map(Address::Tcp).collect();
        match family.flag() {
            Some(flag) if ours.is_empty() => {
                let addresses = all.iter().map(|address| address.ip().to_string()).collect::<Vec<_>>().join(", ");
                Err(TargetError::NoneOfFamily { host: host.clone(), flag, addresses })
            }
            _ => Ok(ours),
        }
    }
}

/// The wire with the sizes that a floor URL gives; other wires are what they are.
fn sized(url: &str, wire: WireName, path: &str) -> Result<WireName, TargetError> {
    if !matches!(wire, WireName::Floor(_)) || matches!(path, "" | "/") {
        return Ok(wire);
    }
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<usize>().ok()).flatten()
    };
    let sizes = path.strip_prefix('/').and_then(|path| path.split_once('/')).and_then(|(request, reply)| {
        Sizes { request_bytes: number(request)?, reply_bytes: number(reply)? }.check().ok()
    });
    sizes.map(WireName::Floor).ok_or_else(|| TargetError::FloorSizes { url: url.into() })
}

/// The path and query of a URL as a request target.
fn request_target(url: &str, path: &str) -> Result<String, TargetError> {
    if !path.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(TargetError::Path { url: url.into() });
    }
    Ok(if path.starts_with('/') { path.to_owned() } else { format!("/{path}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(host: &str, port: u16) -> Place {
        Place::Tcp { host: host.into(), port }
    }

    #[test]
    fn urls_and_their_parts() {
        use WireName::{Floor, Http, Zap};
        let sizes = |request_bytes, reply_bytes| Floor(Sizes { request_bytes, reply_bytes });
        let table = [
            ("http://a", Http, tcp("a", 80), "/", "a"),
            ("HTTP://a:81/x?y=z#frag", Http, tcp("a", 81), "/x?y=z", "a:81"),
            ("zap://127.0.0.1/health", Zap, tcp("127.0.0.1", 9653), "/health", "127.0.0.1"),
            ("zap://[::1]:9/", Zap, tcp("::1", 9), "/", "[::1]:9"),
            ("http://[::1]?q", Http, tcp("::1", 80), "/?q", "[::1]"),
            ("http://a/u:/v@w", Http, tcp("a", 80), "/u:/v@w", "a"),
            ("http+unix:/run/x.sock:/health", Http, Place::Unix("/run/x.sock".into()), "/health", "localhost"),
            ("zap+unix:///run/x.sock", Zap, Place::Unix("/run/x.sock".into()), "/", "localhost"),
            ("http+unix:x.sock:/a:/b#c", Http, Place::Unix("x.sock".into()), "/a:/b", "localhost"),
            ("zap+unix:/run/x:", Zap, Place::Unix("/run/x".into()), "/", "localhost"),
            ("floor://a", sizes(111, 114), tcp("a", 9654), "/", "a"),
            ("floor://a:1/", sizes(111, 114), tcp("a", 1), "/", "a:1"),
            ("floor://[::1]:1/8/4", sizes(8, 4), tcp("::1", 1), "/8/4", "[::1]:1"),
            ("floor+unix:/run/x", sizes(111, 114), Place::Unix("/run/x".into()), "/", "localhost"),
            (
                "floor+unix:/run/x:/99/1048576#c",
                sizes(99, 1 << 20),
                Place::Unix("/run/x".into()),
                "/99/1048576",
                "localhost",
            ),
        ];
        for (url, wire, place, request_target, host) in table {
            let target = Target::parse(url).expect(url);
            let want =
                Target { url: url.into(), wire, place, request_target: request_target.into(), host: host.into() };
            assert_eq!(target, want);
        }
    }

    #[test]
    fn what_is_refused_says_what_is_right() {
        let long = format!("http+unix:/{}", "x".repeat(MAX_UNIX_PATH_BYTES));
        let table: [(&str, &str); 27] = [
            ("https://a", "TLS is not supported"),
            ("ftp://a", "there are http://, zap://"),
            ("localhost", "http://localhost"),
            ("localhost:8080", "http://localhost:8080"),
            ("http:a", "no scheme"),
            ("", "no scheme"),
            ("http://", "not a host"),
            ("http://:80", "not a host"),
            ("http://a:b:c", "not a host"),
            ("http://[::1", "not a host"),
            ("http://[x]", "not a host"),
            ("http://a b/", "not a host"),
            ("http://a:0", "1 to 65535"),
            ("http://a:70000", "1 to 65535"),
            ("http://u:p@a/", "Authorization"),
            ("http://a/b c", "%20"),
            ("floor:a", "floor://floor:a"),
            ("floor://a/health", "floor://127.0.0.1:9654/111/114"),
            ("floor://a/111", "or nothing"),
            ("floor://a/111/", "or nothing"),
            ("floor://a/111/114/1", "or nothing"),
            ("floor://a/111/+114", "or nothing"),
            ("floor://a?111/114", "or nothing"),
            ("floor://a/7/114", "a request (8 to 1048576)"),
            ("floor://a/8/3", "its reply (4 to 16777216)"),
            ("floor+unix:/x:/1048577/4", "a request (8 to 1048576)"),
            (&long, "socket path has 108 bytes"),
        ];
        for (url, want) in table {
            let error = Target::parse(url).expect_err(url).to_string();
            assert!(error.contains(want), "{url}: {error}");
        }
    }

    #[test]
    fn addresses_are_resolved_without_repeats() {
        let numeric = Target::parse("zap://127.0.0.1:7").expect("a URL").resolve(Family::Any).expect("numeric");
        assert_eq!(numeric, [Address::Tcp("127.0.0.1:7".parse().expect("an address"))]);
        let unix = Target::parse("zap+unix:/x").expect("a URL").resolve(Family::Any).expect("a path");
        assert_eq!(unix, [Address::Unix("/x".into())]);
    }

    #[test]
    fn a_family_leaves_out_the_other_and_an_address_must_be_of_it() {
        let resolve = |url: &str, family| Target::parse(url).expect("a URL").resolve(family);
        for (url, family) in [("zap://127.0.0.1:7", Family::V4), ("http://[::1]:7", Family::V6)] {
            assert_eq!(resolve(url, family).expect("numeric").len(), 1);
        }
        for (url, family, words) in [
            ("http://[::1]:7", Family::V4, ["::1 is not an IPv4 address", "leave out -4"]),
            ("zap://127.0.0.1", Family::V6, ["127.0.0.1 is not an IPv6 address", "leave out -6"]),
            ("http+unix:/x", Family::V4, ["-4 means nothing", "unix socket"]),
        ] {
            let error = resolve(url, family).expect_err(url);
            assert!(!matches!(error, TargetError::Resolve { .. } | TargetError::NoneOfFamily { .. }));
            let error = error.to_string();
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
        }
        // What a name has depends on the host; of each family it is either some or the error that says what else there is.
        for (family, has) in [(Family::V4, IpAddr::is_ipv4 as fn(&IpAddr) -> bool), (Family::V6, IpAddr::is_ipv6)] {
            match resolve("http://localhost", family) {
                Ok(addresses) => assert!(
                    addresses.iter().all(|address| matches!(address, Address::Tcp(address) if has(&address.ip())))
                ),
                Err(error) => assert!(error.to_string().contains("leave out"), "{error}"),
            }
        }
    }
}
