//! Local addresses that connections are made from.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    os::fd::AsRawFd,
};

use socket2::{Domain, Protocol, Socket, Type};
use thiserror::Error;

/// Why connections cannot be made from an address.
#[derive(Debug, Error)]
pub enum SourceError {
    /// No interface has it.
    #[error("{source_ip} is not an address of this host; see `ip -brief address`, or add it with `ip address add`")]
    NotHere {
        /// The address asked for.
        source_ip: IpAddr,
    },
    /// Anything else.
    #[error("connections cannot be made from {source_ip}: {source}")]
    Other {
        /// The address asked for.
        source_ip: IpAddr,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Whether connections can be made from this address: it is bound once, without a port.
///
/// # Errors
/// [`SourceError`]. Where `net.ipv4.ip_nonlocal_bind` allows it, an address that is not here is let through, as by the kernel.
pub fn check_source(source_ip: IpAddr) -> Result<(), SourceError> {
    let domain = Domain::for_address((source_ip, 0).into());
    let bound = Socket::new(domain, Type::STREAM, Some(Protocol::TCP)).and_then(|socket| bind(&socket, source_ip));
    bound.map_err(|source| match source.raw_os_error() {
        Some(libc::EADDRNOTAVAIL) => SourceError::NotHere { source_ip },
        _ => SourceError::Other { source_ip, source },
    })
}

/// Binds to the address and leaves the port to `connect`, which knows the peer: one port then serves a connection to each of them
/// (`IP_BIND_ADDRESS_NO_PORT`, ip(7), since kernel 4.2; it counts for IPv6 sockets too).
pub(crate) fn bind(socket: &Socket, source_ip: IpAddr) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the option's value is read during the call and has the length given.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    if set != 0 {
        return Err(io::Error::last_os_error());
    }
    socket.bind(&SocketAddr::new(source_ip, 0).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_this_host_and_one_of_another() {
        for here in ["127.0.0.1", "127.9.8.7"] {
            check_source(here.parse().expect("an address")).expect(here);
        }
        let error = check_source("192.0.2.1".parse().expect("an address")).expect_err("kept for documents");
        assert!(matches!(error, SourceError::NotHere { .. }) && error.to_string().contains("192.0.2.1"), "{error}");
    }

    #[test]
    fn a_port_is_left_to_connect() {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("made");
        bind(&socket, "127.0.0.9".parse().expect("an address")).expect("bound");
        let local = socket.local_addr().expect("bound").as_socket().expect("an IP address");
        assert_eq!(local, "127.0.0.9:0".parse().expect("an address"));
    }
}
