//! Where the shards of a fleet may connect to, and the addresses they may do it from.

use std::{io, net::IpAddr, os::fd::OwnedFd};

use crate::address::{self, Address};

/// One connect: to which target of the plan, and from which of its sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dial {
    /// Index into [`Plan::targets`](crate::Plan).
    pub target: usize,
    /// Index into [`Plan::sources`](crate::Plan); `None` leaves the local address to the kernel.
    pub source: Option<usize>,
}

/// The targets and sources of a plan.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    pub(crate) targets: Vec<Address>,
    pub(crate) sources: Vec<IpAddr>,
}

impl Directory {
    /// Begins to connect: the socket becomes writable when it is done, and [`address::finish_connect`] says how it ended.
    ///
    /// # Errors
    /// What could be known at once, see [`address::begin_connect`].
    pub(crate) fn begin(&self, dial: Dial) -> io::Result<OwnedFd> {
        address::begin_connect(&self.targets[dial.target], dial.source.map(|source| self.sources[source]))
    }

    /// Whether the connect goes over TCP, and so is not done at once.
    pub(crate) fn is_tcp(&self, dial: Dial) -> bool {
        matches!(self.targets[dial.target], Address::Tcp(_))
    }
}
