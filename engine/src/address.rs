//! Where a listener listens and a target is: TCP or a unix stream socket.

use std::{
    fmt, fs, io,
    net::{IpAddr, SocketAddr},
    os::{
        fd::OwnedFd,
        unix::{fs::FileTypeExt, net::UnixStream},
    },
    path::{Path, PathBuf},
};

use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use thiserror::Error;

use crate::{limits, source};

/// A TCP or unix stream address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// IPv4 or IPv6 and a port; port 0 lets the kernel choose.
    Tcp(SocketAddr),
    /// A path in the file system.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => address.fmt(f),
            Address::Unix(path) => path.display().fmt(f),
        }
    }
}

impl Address {
    fn domain(&self) -> Domain {
        match self {
            Address::Tcp(address) => Domain::for_address(*address),
            Address::Unix(_) => Domain::UNIX,
        }
    }

    fn sock_addr(&self) -> io::Result<SockAddr> {
        match self {
            Address::Tcp(address) => Ok((*address).into()),
            Address::Unix(path) => SockAddr::unix(path),
        }
    }

    fn socket(&self) -> io::Result<Socket> {
        let protocol = matches!(self, Address::Tcp(_)).then_some(Protocol::TCP);
        Socket::new(self.domain(), Type::STREAM, protocol)
    }
}

/// Why a listener could not be made.
#[derive(Debug, Error)]
pub enum ListenError {
    /// Somebody listens there.
    #[error(
        "cannot listen on {address}: it is in use; find who has it with `ss -ltnp` (or `ss -lxp` for a unix socket), or choose another"
    )]
    InUse {
        /// The address asked for.
        address: Address,
    },
    /// The port is privileged or the folder not writable.
    #[error(
        "cannot listen on {address}: permission denied; ports below net.ipv4.ip_unprivileged_port_start need root, a unix socket a folder you may write to"
    )]
    Permission {
        /// The address asked for.
        address: Address,
    },
    /// No interface has this address.
    #[error("cannot listen on {address}: no interface of this host has that address; see `ip -brief address`")]
    NotHere {
        /// The address asked for.
        address: Address,
    },
    /// Something that is no socket lies at the path.
    #[error(
        "cannot listen on {address}: something that is not a socket is there already; remove it or choose another path"
    )]
    NotASocket {
        /// The address asked for.
        address: Address,
    },
    /// Anything else.
    #[error("cannot listen on {address}: {source}")]
    Other {
        /// The address asked for.
        address: Address,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Bound sockets: one for each shard on TCP (`SO_REUSEPORT`), one in all on a unix path.
#[derive(Debug)]
pub struct Listener {
    address: Address,
    pub(crate) sockets: Vec<OwnedFd>,
}

impl Listener {
    /// Binds and listens, for `shards` shards.
    ///
    /// # Errors
    /// See [`ListenError`]; an address that anybody listens on already is refused, also by another `SO_REUSEPORT` socket.
    pub fn bind(address: &Address, shards: usize) -> Result<Self, ListenError> {
        match address {
            Address::Tcp(_) => Self::bind_tcp(address, shards),
            Address::Unix(path) => Self::bind_unix(address, path),
        }
        .map_err(|source| explain(address.clone(), source))
    }

    /// The address, with the port that the kernel chose.
    pub fn address(&self) -> &Address {
        &self.address
    }

    fn bind_tcp(address: &Address, shards: usize) -> io::Result<Self> {
        // Without SO_REUSEPORT first: otherwise two servers of the same user would quietly share the port.
        let probe = address.socket()?;
        probe.set_reuse_address(true)?;
        if address.domain() == Domain::IPV6 {
            probe.set_only_v6(false)?;
        }
        probe.bind(&address.sock_addr()?)?;
        let chosen = Address::Tcp(probe.local_addr()?.as_socket().expect("a TCP socket has an IP address"));
        drop(probe);
        let sockets = (0..shards.max(1)).map(|_| listen_tcp(&chosen)).collect::<io::Result<_>>()?;
        Ok(Listener { address: chosen, sockets })
    }

    fn bind_unix(address: &Address, path: &Path) -> io::Result<Self> {
        remove_stale(path)?;
        let socket = address.socket()?;
        socket.bind(&address.sock_addr()?)?;
        socket.listen(limits::BACKLOG)?;
        Ok(Listener { address: address.clone(), sockets: vec![socket.into()] })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Address::Unix(path) = &self.address {
            // Best effort: a path that is gone already is as good.
            let _ = fs::remove_file(path);
        }
    }
}

fn listen_tcp(address: &Address) -> io::Result<OwnedFd> {
    let socket = address.socket()?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    if address.domain() == Domain::IPV6 {
        socket.set_only_v6(false)?;
    }
    // Accepted sockets inherit it: no system call per connection.
    socket.set_tcp_nodelay(true)?;
    socket.bind(&address.sock_addr()?)?;
    socket.listen(limits::BACKLOG)?;
    Ok(socket.into())
}

/// Removes a socket file that nobody listens on any more; a live one stays.
fn remove_stale(path: &Path) -> io::Result<()> {
    let Ok(meta) = fs::symlink_metadata(path) else { return Ok(()) };
    if !meta.file_type().is_socket() {
        return Err(io::Error::from_raw_os_error(libc::EEXIST));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        _ => Err(io::Error::from_raw_os_error(libc::EADDRINUSE)),
    }
}

fn explain(address: Address, source: io::Error) -> ListenError {
    match source.raw_os_error() {
        Some(libc::EADDRINUSE) => ListenError::InUse { address },
        Some(libc::EACCES | libc::EPERM) => ListenError::Permission { address },
        Some(libc::EADDRNOTAVAIL) => ListenError::NotHere { address },
        Some(libc::EEXIST) => ListenError::NotASocket { address },
        _ => ListenError::Other { address, source },
    }
}

/// Begins to connect, from a local address if one is given: the socket becomes writable when it is done, and [`finish_connect`] says how
/// it ended.
///
/// # Errors
/// What could be known at once: no descriptor or port left, a path that does not exist, nobody there.
pub(crate) fn begin_connect(address: &Address, source_ip: Option<IpAddr>) -> io::Result<OwnedFd> {
    let socket = address.socket()?;
    // A unix connect ends at once, unless the listener's backlog is full: then it shall say so instead of blocking the shard.
    socket.set_nonblocking(true)?;
    if matches!(address, Address::Tcp(_)) {
        socket.set_tcp_nodelay(true)?;
        if let Some(source_ip) = source_ip {
            source::bind(&socket, source_ip)?;
        }
    }
    match socket.connect(&address.sock_addr()?) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(socket.into()),
    }
}

/// How a connect begun with [`begin_connect`] ended, once the socket was writable or failed.
pub(crate) fn finish_connect(socket: &OwnedFd) -> io::Result<()> {
    let socket = socket2::SockRef::from(socket);
    if let Some(error) = socket.take_error()? {
        return Err(error);
    }
    // A socket that was shut down while connecting has no error pending and no peer.
    socket.peer_addr().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn any() -> Address {
        Address::Tcp("127.0.0.1:0".parse().expect("an address"))
    }

    #[test]
    fn every_shard_gets_a_socket_on_the_same_port() {
        let listener = Listener::bind(&any(), 3).expect("bound");
        assert_eq!(listener.sockets.len(), 3);
        let Address::Tcp(address) = listener.address() else { panic!("tcp") };
        assert_ne!(address.port(), 0);
    }

    #[test]
    fn a_port_in_use_is_refused_although_it_could_be_shared() {
        let first = Listener::bind(&any(), 2).expect("bound");
        let error = Listener::bind(first.address(), 2).expect_err("in use");
        assert!(matches!(error, ListenError::InUse { .. }), "{error}");
        assert!(error.to_string().contains("ss -ltnp"));
    }

    #[test]
    fn a_stale_unix_socket_is_replaced_and_a_live_one_is_not() {
        let path = std::env::temp_dir().join(format!("zapring-address-{}.sock", std::process::id()));
        let address = Address::Unix(path.clone());
        let live = Listener::bind(&address, 4).expect("bound");
        assert!(matches!(Listener::bind(&address, 4), Err(ListenError::InUse { .. })));
        // What a crash leaves behind: the file without a listener.
        std::mem::forget(fs::rename(&path, path.with_extension("kept")));
        drop(live);
        fs::rename(path.with_extension("kept"), &path).expect("renamed");
        drop(Listener::bind(&address, 4).expect("the stale file was replaced"));
        assert!(!path.exists(), "a listener removes its file");
        fs::write(&path, "a file").expect("written");
        assert!(matches!(Listener::bind(&address, 4), Err(ListenError::NotASocket { .. })));
        fs::remove_file(&path).expect("removed");
    }

    #[test]
    fn an_address_of_another_host_is_named() {
        let elsewhere = Address::Tcp("192.0.2.1:80".parse().expect("an address"));
        let error = Listener::bind(&elsewhere, 1).expect_err("not ours");
        assert!(error.to_string().contains("192.0.2.1:80"), "{error}");
    }
}
