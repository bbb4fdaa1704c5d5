//! What the kernel can do on a ring beyond its setup flags.

use std::fmt;

/// Features that the `uring` engine found and uses; none on the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// `IORING_ACCEPT_MULTISHOT`, kernel 5.19: one operation accepts many connections.
    pub accept_multishot: bool,
    /// `IORING_RECV_MULTISHOT`, kernel 6.0: one operation receives until the connection ends.
    pub receive_multishot: bool,
    /// `IORING_REGISTER_PBUF_RING`, kernel 5.19: receive buffers that the kernel picks when bytes arrive.
    pub buffer_ring: bool,
    /// A sparse table of registered files, used from kernel 6.15 on.
    pub direct_descriptors: bool,
    /// `IORING_FEAT_MIN_TIMEOUT`, kernel 6.12: `--min-wait` is possible.
    pub min_wait: bool,
    /// `IORING_ENTER_NO_IOWAIT`, kernel 6.15: a sleep on the ring is not shown as waiting for a disk.
    pub no_iowait: bool,
}

impl Features {
    /// Short names, as they go into result files.
    pub fn names(self) -> Vec<&'static str> {
        [
            (self.accept_multishot, "ACCEPT_MULTISHOT"),
            (self.receive_multishot, "RECV_MULTISHOT"),
            (self.buffer_ring, "PBUF_RING"),
            (self.direct_descriptors, "DIRECT_DESCRIPTORS"),
            (self.min_wait, "MIN_TIMEOUT"),
            (self.no_iowait, "NO_IOWAIT"),
        ]
        .into_iter()
        .filter_map(|(there, name)| there.then_some(name))
        .collect()
    }
}

impl fmt::Display for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.names();
        f.write_str(if names.is_empty() { "none".into() } else { names.join("|") }.as_str())
    }
}
