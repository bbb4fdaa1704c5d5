//! The two wires. A listener's scheme decides, never the first bytes of a peer.

use std::fmt;

/// How a connection's bytes are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wire {
    /// Length-prefixed ZAP frames.
    Zap,
    /// HTTP/1.1 and 1.0.
    Http,
}

impl Wire {
    /// The scheme of its addresses.
    pub fn scheme(self) -> &'static str {
        match self {
            Wire::Zap => "zap",
            Wire::Http => "http",
        }
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.scheme())
    }
}
