//! Which side was full: one word from the busy shares of both.

/// Within five points of full counts as full.
const FULL: f64 = 0.95;

/// Below this a side is plainly not the limit; between this and [`FULL`] nothing can be said.
const NOT_BUSY: f64 = 0.85;

/// What limited a run, as far as the two sides' cores tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saturation {
    /// Only the server's cores were full.
    ServerBound,
    /// Only the loader's cores were full: the rate is a lower bound.
    LoaderBound,
    /// Both were full: the rate is a lower bound.
    Balanced,
    /// Nobody was busy: too few connections, or a wait elsewhere.
    LatencyBound,
    /// Nobody was full and somebody was nearly so, or a figure is missing.
    Unclear,
}

impl Saturation {
    /// The word in files and reports.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::ServerBound => "server-bound",
            Self::LoaderBound => "loader-bound",
            Self::Balanced => "balanced",
            Self::LatencyBound => "latency-bound",
            Self::Unclear => "unclear",
        }
    }

    /// Whether the server could have done more: its rate then reads "at least".
    #[must_use]
    pub const fn is_lower_bound(self) -> bool {
        matches!(self, Self::LoaderBound | Self::Balanced)
    }
}

/// The verdict from the busy share (0 to 1) of each side's busiest core; `None` where it is not known.
#[must_use]
pub fn saturation(server_busy: Option<f64>, loader_busy: Option<f64>) -> Saturation {
    let (Some(server), Some(loader)) = (server_busy, loader_busy) else { return Saturation::Unclear };
    match (server >= FULL, loader >= FULL) {
        (true, true) => Saturation::Balanced,
        (true, false) => Saturation::ServerBound,
        (false, true) => Saturation::LoaderBound,
        (false, false) if server < NOT_BUSY && loader < NOT_BUSY => Saturation::LatencyBound,
        (false, false) => Saturation::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Saturation::{Balanced, LatencyBound, LoaderBound, ServerBound, Unclear};

    #[test]
    fn verdict_table() {
        let table = [
            (Some(1.0), Some(1.0), Balanced),
            (Some(0.95), Some(0.95), Balanced),
            (Some(0.99), Some(0.60), ServerBound),
            (Some(0.95), Some(0.94), ServerBound),
            (Some(0.60), Some(0.99), LoaderBound),
            (Some(0.94), Some(0.95), LoaderBound),
            (Some(0.30), Some(0.40), LatencyBound),
            (Some(0.0), Some(0.0), LatencyBound),
            (Some(0.84), Some(0.84), LatencyBound),
            (Some(0.90), Some(0.40), Unclear),
            (Some(0.94), Some(0.94), Unclear),
            (None, Some(1.0), Unclear),
            (Some(1.0), None, Unclear),
            (None, None, Unclear),
            (Some(f64::NAN), Some(0.1), Unclear),
        ];
        for (server, loader, want) in table {
            assert_eq!(saturation(server, loader), want, "server {server:?}, loader {loader:?}");
        }
    }

    #[test]
    fn lower_bounds() {
        assert!(Balanced.is_lower_bound() && LoaderBound.is_lower_bound());
        assert!(!ServerBound.is_lower_bound() && !LatencyBound.is_lower_bound());
    }
}
