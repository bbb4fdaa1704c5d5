//! One connection of the plan over its whole life: it may be made again many times, on another socket each time.

use std::collections::VecDeque;

use engine::Conn;

use crate::{
    limits::{FIRST_BACK_OFF_NS, MAX_BACK_OFF_NS},
    wire::Wire,
};

/// Where a lane is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Not asked for yet, or not any more.
    Resting,
    /// Tried again at this time.
    Waiting { retry_ns: u64 },
    /// Asked for.
    Connecting { since_ns: u64 },
    /// Requests travel.
    Open { conn: Conn },
    /// The server announced its close: waited for until then.
    Leaving { conn: Conn, until_ns: u64 },
    /// Dropped by us; the engine will say that it is closed.
    Dropped,
}

/// A request under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flight {
    /// When it should have been sent; in closed loop when it was.
    pub(crate) due_ns: u64,
    /// When it was sent.
    pub(crate) sent_ns: u64,
}

/// One connection of the plan.
#[derive(Debug)]
pub(crate) struct Lane<W> {
    pub(crate) state: State,
    pub(crate) wire: W,
    /// The requests under way, oldest first. Never longer than the pipeline depth it was made for.
    pub(crate) sent: VecDeque<Flight>,
    /// Which of several requests each of them is; empty where there is one only.
    pub(crate) kinds: VecDeque<u16>,
    /// Requests that may still be sent before it is closed by us.
    pub(crate) left: u64,
    /// Open loop: since when it has had room for a request.
    pub(crate) free_since_ns: u64,
    /// Open loop: it is in the shard's list of lanes with room.
    pub(crate) listed: bool,
    /// Index of the address it connects to.
    pub(crate) address: usize,
    /// Addresses that failed since the last success.
    pub(crate) addresses_failed: usize,
    /// Failures in a row without one complete answer.
    pub(crate) strikes: u32,
    /// A complete answer came since it was opened.
    pub(crate) answered: bool,
    /// It was open once.
    pub(crate) reached: bool,
    /// It failed at every address before it was ever open.
    pub(crate) refused: bool,
    /// It will not be tried again.
    pub(crate) gave_up: bool,
}

impl<W: Wire> Lane<W> {
    /// For so many requests under way, of which `kinds` are told apart: all or, where there is one request only, none.
    pub(crate) fn new(depth: usize, kinds: usize, address: usize) -> Self {
        Lane {
            state: State::Resting,
            wire: W::default(),
            sent: VecDeque::with_capacity(depth),
            kinds: VecDeque::with_capacity(kinds),
            left: u64::MAX,
            free_since_ns: 0,
            listed: false,
            address,
            addresses_failed: 0,
            strikes: 0,
            answered: false,
            reached: false,
            refused: false,
            gave_up: false,
        }
    }

    /// Notes `count` requests sent now, as they were due.
    #[inline]
    pub(crate) fn push(&mut self, count: usize, now_ns: u64) {
        let flight = Flight { due_ns: now_ns, sent_ns: now_ns };
        if count == 1 {
            self.sent.push_back(flight);
        } else {
            self.sent.extend(std::iter::repeat_n(flight, count));
        }
    }

    /// Takes the oldest request under way, and which of several it is.
    #[inline(always)]
    pub(crate) fn pop<const MANY: bool>(&mut self) -> Option<(Flight, usize)> {
        let flight = self.sent.pop_front()?;
        let which = if MANY { self.kinds.pop_front().expect("one for each request under way") } else { 0 };
        Some((flight, which.into()))
    }

    /// How many more requests may be put under way when `depth` may be at once.
    #[inline]
    pub(crate) fn free(&self, depth: usize) -> usize {
        let free = depth - self.sent.len();
        if self.left < free as u64 { self.left as usize } else { free }
    }

    /// Whether it has sent all that it may, and everything was answered.
    #[inline]
    pub(crate) fn is_spent(&self) -> bool {
        self.left == 0 && self.sent.is_empty()
    }

    /// The next try's wait after the failures so far: it doubles with each.
    pub(crate) fn back_off_ns(&self) -> u64 {
        let doublings = self.strikes.saturating_sub(1).min(30);
        (FIRST_BACK_OFF_NS << doublings).min(MAX_BACK_OFF_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Http;

    #[test]
    fn back_off_doubles_up_to_its_bound() {
        let mut lane = Lane::<Http>::new(1, 0, 0);
        let waits: Vec<u64> = (1..=12)
            .map(|strikes| {
                lane.strikes = strikes;
                lane.back_off_ns() / 1_000_000
            })
            .collect();
        assert_eq!(waits, [10, 20, 40, 80, 160, 320, 640, 1000, 1000, 1000, 1000, 1000]);
        lane.strikes = u32::MAX;
        assert_eq!(lane.back_off_ns(), MAX_BACK_OFF_NS);
    }
}
