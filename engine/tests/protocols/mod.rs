//! Small protocols that the contract's tests run.
#![allow(dead_code, reason = "each test file uses its part of them")]

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use engine::{Cause, Conn, Cx, Flow, Next, Origin, Outbox, Shard, Taken};

/// What a protocol was told.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) closed: Vec<Cause>,
}

/// Methods that most of these protocols do not care about.
macro_rules! indifferent {
    ($($name:ident)*) => { $(indifferent!(@ $name);)* };
    (@ open) => { fn open(&mut self, _: Conn, _: Origin, _: &mut Cx<'_>) {} };
    (@ connect_failed) => { fn connect_failed(&mut self, _: usize, _: &io::Error, _: &mut Cx<'_>) {} };
    (@ tick) => { fn tick(&mut self, _: &mut Cx<'_>) {} };
    (@ closed) => {
        fn closed(&mut self, _: Conn, cause: Cause, _: &mut Cx<'_>) {
            self.seen.closed.push(cause);
        }
    };
}

/// Gives back what it gets.
#[derive(Default)]
pub(crate) struct Echo {
    pub(crate) seen: Seen,
    /// Answers one byte for each read instead, however large it was.
    sink: bool,
    last_word: Option<&'static [u8]>,
    panics: bool,
    draining: bool,
}

impl Echo {
    pub(crate) fn sink() -> Self {
        Echo { sink: true, ..Echo::default() }
    }

    pub(crate) fn closing_after(last_word: &'static [u8]) -> Self {
        Echo { last_word: Some(last_word), ..Echo::default() }
    }

    pub(crate) fn panicking() -> Self {
        Echo { panics: true, ..Echo::default() }
    }
}

impl Shard for Echo {
    indifferent!(open connect_failed tick closed);

    fn data(&mut self, _: Conn, input: &[u8], _: bool, out: Option<&mut Outbox>, _: &mut Cx<'_>) -> Taken {
        assert!(!self.panics, "asked to");
        let Some(out) = out else { return Taken { consumed: 0, next: Next::Hold } };
        if let Some(word) = self.last_word {
            out.bytes().extend_from_slice(word);
            return Taken { consumed: input.len().min(1), next: Next::Close };
        }
        if self.sink {
            if !input.is_empty() {
                out.bytes().push(b'.');
            }
            return Taken { consumed: input.len(), next: Next::Need(0) };
        }
        let take = input.len().min(out.room_bytes());
        out.bytes().extend_from_slice(&input[..take]);
        Taken { consumed: take, next: if take < input.len() { Next::Hold } else { Next::Need(0) } }
    }

    fn fill(&mut self, _: Conn, _: &mut Outbox, _: &mut Cx<'_>) -> Flow {
        if self.draining { Flow::Close } else { Flow::Idle }
    }

    fn drain(&mut self, _: &mut Cx<'_>) {
        self.draining = true;
    }
}

/// Sends a known sequence of so many bytes once it was asked for it, then closes.
pub(crate) struct Blast {
    pub(crate) seen: Seen,
    total: usize,
    block: Bytes,
    left: Vec<Option<usize>>,
    draining: bool,
}

impl Blast {
    /// The byte at this place of the sequence.
    pub(crate) fn byte(at: usize) -> u8 {
        (at % 251) as u8
    }

    pub(crate) fn new(total: usize) -> Self {
        // A multiple of the period, so that every block continues the sequence.
        let block = (0..251 * 64).map(Self::byte).collect::<Vec<_>>().into();
        Blast { seen: Seen::default(), total, block, left: Vec::new(), draining: false }
    }
}

impl Shard for Blast {
    indifferent!(connect_failed tick closed);

    fn open(&mut self, conn: Conn, _: Origin, _: &mut Cx<'_>) {
        if self.left.len() <= conn.index() {
            self.left.resize(conn.index() + 1, None);
        }
        self.left[conn.index()] = None;
    }

    fn data(&mut self, conn: Conn, input: &[u8], eof: bool, _: Option<&mut Outbox>, cx: &mut Cx<'_>) -> Taken {
        if eof {
            return Taken { consumed: input.len(), next: Next::Abort };
        }
        self.left[conn.index()] = Some(self.total);
        cx.wake(conn);
        Taken { consumed: input.len(), next: Next::Need(0) }
    }

    fn fill(&mut self, conn: Conn, out: &mut Outbox, _: &mut Cx<'_>) -> Flow {
        let Some(left) = self.left[conn.index()].as_mut() else {
            return if self.draining { Flow::Close } else { Flow::Idle };
        };
        while *left > 0 && out.room_bytes() > 0 {
            let piece = self.block.slice(..self.block.len().min(*left));
            *left -= piece.len();
            // Both ways of sending, side by side.
            if *left % 2 == 0 { out.share(piece) } else { out.bytes().extend_from_slice(&piece) }
        }
        if *left == 0 { Flow::Close } else { Flow::More }
    }

    fn drain(&mut self, _: &mut Cx<'_>) {
        self.draining = true;
    }
}

/// Ticks at an interval and counts.
pub(crate) struct Ticker {
    pub(crate) seen: Seen,
    interval_ns: u64,
    ticks: Arc<AtomicU64>,
}

impl Ticker {
    pub(crate) fn new(interval_ns: u64, ticks: Arc<AtomicU64>) -> Self {
        Ticker { seen: Seen::default(), interval_ns, ticks }
    }
}

impl Shard for Ticker {
    indifferent!(open connect_failed closed);

    fn tick(&mut self, cx: &mut Cx<'_>) {
        self.ticks.fetch_add(1, Ordering::Relaxed);
        cx.tick_at(cx.now_ns + self.interval_ns);
    }

    fn data(&mut self, _: Conn, input: &[u8], _: bool, _: Option<&mut Outbox>, _: &mut Cx<'_>) -> Taken {
        Taken { consumed: input.len(), next: Next::Need(0) }
    }

    fn fill(&mut self, _: Conn, _: &mut Outbox, _: &mut Cx<'_>) -> Flow {
        Flow::Idle
    }

    fn drain(&mut self, _: &mut Cx<'_>) {}
}

/// Closes connections after a time: with a last word those that said nothing, without one those that said something.
pub(crate) struct Deadline {
    pub(crate) seen: Seen,
    after_ns: u64,
    open: Vec<(Conn, u64, bool)>,
}

impl Deadline {
    pub(crate) fn new(after_ns: u64) -> Self {
        Deadline { seen: Seen::default(), after_ns, open: Vec::new() }
    }
}

impl Shard for Deadline {
    indifferent!(connect_failed);

    fn open(&mut self, conn: Conn, _: Origin, cx: &mut Cx<'_>) {
        self.open.push((conn, cx.now_ns + self.after_ns, false));
        cx.tick_at(cx.now_ns + self.after_ns);
    }

    fn tick(&mut self, cx: &mut Cx<'_>) {
        for (conn, at_ns, spoke) in &self.open {
            if cx.now_ns >= *at_ns {
                if *spoke { cx.close(*conn) } else { cx.wake(*conn) }
            } else {
                cx.tick_at(*at_ns);
            }
        }
    }

    fn data(&mut self, conn: Conn, input: &[u8], _: bool, _: Option<&mut Outbox>, _: &mut Cx<'_>) -> Taken {
        for entry in &mut self.open {
            entry.2 |= entry.0 == conn && !input.is_empty();
        }
        Taken { consumed: input.len(), next: Next::Need(0) }
    }

    fn fill(&mut self, conn: Conn, out: &mut Outbox, cx: &mut Cx<'_>) -> Flow {
        if self.open.iter().any(|(open, at_ns, _)| *open == conn && cx.now_ns >= *at_ns) {
            out.bytes().extend_from_slice(b"too late");
            return Flow::Close;
        }
        Flow::Idle
    }

    fn closed(&mut self, conn: Conn, cause: Cause, _: &mut Cx<'_>) {
        self.open.retain(|(open, ..)| *open != conn);
        self.seen.closed.push(cause);
    }

    fn drain(&mut self, _: &mut Cx<'_>) {}
}

/// Waits for 64 MiB in one piece, whatever it gets.
#[derive(Default)]
pub(crate) struct Hoarder {
    pub(crate) seen: Seen,
}

impl Shard for Hoarder {
    indifferent!(open connect_failed tick closed);

    fn data(&mut self, _: Conn, input: &[u8], eof: bool, _: Option<&mut Outbox>, _: &mut Cx<'_>) -> Taken {
        let enough = 64 << 20;
        if eof || input.len() >= enough {
            return Taken { consumed: input.len(), next: Next::Close };
        }
        Taken { consumed: 0, next: Next::Need(enough) }
    }

    fn fill(&mut self, _: Conn, _: &mut Outbox, _: &mut Cx<'_>) -> Flow {
        Flow::Idle
    }

    fn drain(&mut self, _: &mut Cx<'_>) {}
}

/// Connects to targets, says hello, and finishes when all have answered or failed.
pub(crate) struct Caller {
    pub(crate) seen: Seen,
    pub(crate) failed: Vec<(usize, io::ErrorKind)>,
    dials: Vec<(usize, Option<usize>)>,
    ended: usize,
    greeted: bool,
}

impl Caller {
    pub(crate) fn new(targets: Vec<usize>) -> Self {
        Self::from_sources(targets.into_iter().map(|target| (target, None)).collect())
    }

    /// Targets, each with the source to call it from.
    pub(crate) fn from_sources(dials: Vec<(usize, Option<usize>)>) -> Self {
        Caller { seen: Seen::default(), failed: Vec::new(), dials, ended: 0, greeted: false }
    }

    fn one_ended(&mut self, cx: &mut Cx<'_>) {
        self.ended += 1;
        if self.ended == self.dials.len() {
            cx.finish();
        }
    }
}

impl Shard for Caller {
    indifferent!(open);

    fn tick(&mut self, cx: &mut Cx<'_>) {
        for (target, source) in &self.dials {
            match source {
                Some(source) => cx.connect_from(*target, *source),
                None => cx.connect(*target),
            }
        }
    }

    fn connect_failed(&mut self, target: usize, error: &io::Error, cx: &mut Cx<'_>) {
        self.failed.push((target, error.kind()));
        self.one_ended(cx);
    }

    fn data(&mut self, _: Conn, input: &[u8], _: bool, _: Option<&mut Outbox>, _: &mut Cx<'_>) -> Taken {
        if input == b"done" {
            return Taken { consumed: 4, next: Next::Abort };
        }
        Taken { consumed: 0, next: Next::Need(4) }
    }

    fn fill(&mut self, _: Conn, out: &mut Outbox, _: &mut Cx<'_>) -> Flow {
        if !std::mem::replace(&mut self.greeted, true) {
            out.bytes().extend_from_slice(b"hello");
        }
        Flow::Idle
    }

    fn closed(&mut self, _: Conn, cause: Cause, cx: &mut Cx<'_>) {
        self.seen.closed.push(cause);
        self.one_ended(cx);
    }

    fn drain(&mut self, _: &mut Cx<'_>) {}
}
