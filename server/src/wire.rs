//! The wires. A listener's scheme decides, never the first bytes of a peer.

use std::fmt;

/// How a connection's bytes are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wire {
    /// Length-prefixed ZAP frames.
    Zap,
    /// HTTP/1.1 and 1.0.
    Http,
    /// Frames that carry the length of the reply they want: the baseline of the other two.
    Floor,
}

impl Wire {
    /// Every wire, in the order of the help texts.
    pub const ALL: [Wire; 3] = [Wire::Zap, Wire::Http, Wire::Floor];

    /// The scheme of its addresses.
    pub fn scheme(self) -> &'static str {
        match self {
            Wire::Zap => "zap",
            Wire::Http => "http",
            Wire::Floor => "floor",
        }
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.scheme())
    }
}
