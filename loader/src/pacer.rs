//! How many requests may be sent now. Closed loop: as many as a connection has room for, until the counted ones are used up. Open
//! loop: those that are due.

use crate::schedule::Schedule;

/// The budget of one shard.
#[derive(Debug)]
pub(crate) struct Pacer {
    /// Measured requests left to send, where they are counted.
    left: Option<u64>,
    /// Requests sent (open loop: due) from then on are counted. `u64::MAX` until the start is known.
    from_ns: u64,
    /// Due times, in open loop.
    schedule: Option<Schedule>,
}

impl Pacer {
    /// For `requests`, or without bound; in open loop as the schedule says.
    pub(crate) fn new(requests: Option<u64>, schedule: Option<Schedule>) -> Self {
        Pacer { left: requests, from_ns: u64::MAX, schedule }
    }

    pub(crate) fn starts_at(&mut self, start_ns: u64, from_ns: u64) {
        self.from_ns = from_ns;
        if let Some(schedule) = &mut self.schedule {
            schedule.starts_at(start_ns);
        }
    }

    /// Whether requests have due times.
    #[inline]
    pub(crate) fn is_paced(&self) -> bool {
        self.schedule.is_some()
    }

    /// Closed loop: takes up to `wanted` requests out of the budget.
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

    /// Open loop: takes the oldest request that is due before `until_ns`; when it was due.
    #[inline]
    pub(crate) fn take_due(&mut self, now_ns: u64, until_ns: u64) -> Option<u64> {
        let schedule = self.schedule.as_mut()?;
        let due_ns = schedule.next_ns();
        if due_ns > now_ns || due_ns >= until_ns {
            return None;
        }
        if due_ns >= self.from_ns
            && let Some(left) = &mut self.left
        {
            *left = left.checked_sub(1)?;
        }
        schedule.take(now_ns)
    }

    /// Open loop: passes over what was due in the warm-up and found no connection; how many.
    pub(crate) fn skip_warmup(&mut self) -> u64 {
        let from_ns = self.from_ns;
        self.schedule.as_mut().map_or(0, |schedule| schedule.skip_before(from_ns))
    }

    /// When the next request is due; `u64::MAX` for never, and in closed loop.
    #[inline]
    pub(crate) fn next_due_ns(&self) -> u64 {
        match &self.schedule {
            Some(schedule) if self.left != Some(0) => schedule.next_ns(),
            _ => u64::MAX,
        }
    }

    /// Requests that are due and wait for a connection; 0 in closed loop.
    pub(crate) fn waiting(&self, now_ns: u64) -> u64 {
        let due = self.schedule.as_ref().map_or(0, |schedule| schedule.waiting(now_ns));
        // Counted ones of the warm-up are not in `left`; too many are asked for then, and find nothing.
        self.left.map_or(due, |left| if now_ns >= self.from_ns { due.min(left) } else { due })
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

    /// Takes all that was planned and not sent: of the warm-up, and measured. `until_ns` is when sending ended.
    pub(crate) fn take_rest(&mut self, until_ns: u64) -> (u64, u64) {
        let (early, rest) = match &mut self.schedule {
            Some(schedule) if until_ns != u64::MAX => schedule.take_rest(self.from_ns, until_ns),
            // Open-ended: only a count says how many there were to be.
            _ => (0, 0),
        };
        match &mut self.left {
            Some(left) => (early, std::mem::take(left)),
            None => (early, rest),
        }
    }
}
