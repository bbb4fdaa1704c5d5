//! What a protocol may know and wish during a call: the time, the memory left, and a reused list of wishes.

use crate::{directory::Dial, shard::Conn};

/// Handed to every call of a [`Shard`](crate::Shard).
pub struct Cx<'a> {
    /// `CLOCK_MONOTONIC` in nanoseconds, read once per batch of events.
    pub now_ns: u64,
    /// Bytes that connections of this shard may still take before its memory limit; an answer larger than this should be
    /// refused rather than built.
    pub memory_left_bytes: usize,
    pub(crate) wishes: &'a mut Wishes,
}

impl<'a> Cx<'a> {
    /// A context over `wishes`; engines make their own, tests of protocols use this.
    pub fn new(now_ns: u64, memory_left_bytes: usize, wishes: &'a mut Wishes) -> Self {
        Cx { now_ns, memory_left_bytes, wishes }
    }

    /// Have [`Shard::fill`](crate::Shard::fill) called for this connection as soon as no send of it is in flight.
    #[inline]
    pub fn wake(&mut self, conn: Conn) {
        self.wishes.wake.push(conn);
    }

    /// Close this connection at once; [`Shard::closed`](crate::Shard::closed) follows with
    /// [`Cause::Requested`](crate::Cause::Requested).
    pub fn close(&mut self, conn: Conn) {
        self.wishes.close.push(conn);
    }

    /// Make a connection to the plan's target with this index. `open` or `connect_failed` follows.
    pub fn connect(&mut self, target: usize) {
        self.wishes.connect.push(Dial { target, source: None });
    }

    /// The same from the plan's source with this index, which must be of the target's address family.
    pub fn connect_from(&mut self, target: usize, source: usize) {
        self.wishes.connect.push(Dial { target, source: Some(source) });
    }

    /// Have [`Shard::tick`](crate::Shard::tick) called at `at_ns` or soon after. Of several times the earliest counts; it is
    /// forgotten once the tick has been made.
    #[inline]
    pub fn tick_at(&mut self, at_ns: u64) {
        self.wishes.tick_at_ns = self.wishes.tick_at_ns.min(at_ns);
    }

    /// This shard's work is done: close what is open and end the engine's thread.
    pub fn finish(&mut self) {
        self.wishes.finish = true;
    }
}

/// Wishes collected during calls and carried out by the engine after them.
#[derive(Debug)]
pub struct Wishes {
    /// Connections to ask for output.
    pub wake: Vec<Conn>,
    /// Connections to close.
    pub close: Vec<Conn>,
    /// Connects to begin.
    pub connect: Vec<Dial>,
    /// The earliest time asked for; `u64::MAX` for none.
    pub tick_at_ns: u64,
    /// The shard is done.
    pub finish: bool,
}

impl Default for Wishes {
    fn default() -> Self {
        Wishes { wake: Vec::new(), close: Vec::new(), connect: Vec::new(), tick_at_ns: u64::MAX, finish: false }
    }
}

impl Wishes {
    /// Whether nothing waits to be carried out (the tick time aside).
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.wake.is_empty() && self.close.is_empty() && self.connect.is_empty() && !self.finish
    }
}
