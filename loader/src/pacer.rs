//! How many requests may be sent now. Closed loop: as many as a connection has room for, until the counted ones are used up.

/// The budget of one shard.
#[derive(Debug)]
pub(crate) struct Pacer {
    /// Measured requests left to send, where they are counted.
    left: Option<u64>,
    /// Requests sent from then on are counted. `u64::MAX` until the start is known.
    from_ns: u64,
}

impl Pacer {
    /// A closed loop of `requests`, or without bound.
    pub(crate) fn closed(requests: Option<u64>) -> Self {
        Pacer { left: requests, from_ns: u64::MAX }
    }

    pub(crate) fn starts_at(&mut self, from_ns: u64) {
        self.from_ns = from_ns;
    }

    /// Takes up to `wanted` requests out of the budget.
    #[inline]
    pub(crate) fn grant(&mut self, wanted: usize, now_ns: u64) -> usize {
        match &mut self.left {
            Some(left) if now_ns >= self.from_ns => {
                let granted = (wanted as u64).min(*left);
                *left -= granted;
                granted as usize
            }
            _ => wanted,
        }
    }

    /// Whether every counted request was granted.
    #[inline]
    pub(crate) fn is_exhausted(&self) -> bool {
        self.left == Some(0)
    }

    /// Whether requests are counted.
    pub(crate) fn is_counted(&self) -> bool {
        self.left.is_some()
    }

    /// Takes all that is left; nothing where nothing is counted.
    pub(crate) fn take_rest(&mut self) -> u64 {
        self.left.as_mut().map_or(0, std::mem::take)
    }
}
