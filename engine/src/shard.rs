//! The contract between an engine and what runs on it: a protocol without I/O.
//!
//! A shard is one thread's worth of connections. Bytes and a time come in, bytes and a wish go out; it never awaits, never
//! owns a socket and never asks for the time. The engine pulls: nothing is sent before the previous send of the same
//! connection has left, so back-pressure needs no buffering in the protocol.
//!
//! Two refinements over the plain `open / data / fill / tick / closed` shape, each with its reason:
//!
//! * [`Shard::data`] is handed the outbox whenever no send is in flight, so that an answer is written in the pass that parsed
//!   the request, while the request is still borrowed from the input. A request never has to be stored to be answered.
//! * Wishes about other connections (wake, close, connect) go through [`Cx`], from any call, so that pacing and
//!   reconnecting need no second channel.

use std::io;

use crate::{cx::Cx, outbox::Outbox};

/// A connection of one shard: a small dense number, so that a protocol keeps its contexts in a `Vec` and reuses them. A number
/// is given to a new connection only after [`Shard::closed`] was called for the old one and the kernel has let go of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Conn(pub(crate) u32);

impl Conn {
    /// The connection with this index; for protocols tested without an engine.
    pub fn new(index: u32) -> Self {
        Conn(index)
    }

    /// The index into a table of contexts; below [`Limits::max_connections`](crate::Limits).
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// How a connection came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A peer connected to the listener with this index in [`Plan::listeners`](crate::Plan).
    Accepted {
        /// Index into the plan's listeners.
        listener: usize,
    },
    /// This shard asked for it with [`Cx::connect`]; the index is into [`Plan::targets`](crate::Plan).
    Connected {
        /// Index into the plan's targets.
        target: usize,
    },
}

/// What [`Shard::data`] did with the input, and what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Bytes from the front of the input that will not be shown again.
    pub consumed: usize,
    /// What must happen before `data` is called again.
    pub next: Next,
}

/// What a protocol waits for after [`Shard::data`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Until this many contiguous bytes (the unconsumed ones included) have arrived. 0 and 1 mean: anything new. Memory
    /// follows the bytes that arrive, never this number.
    Need(usize),
    /// Until what is in the outbox (or in flight) has been sent, or the connection was woken. While a protocol holds with
    /// input left, nothing more is read from the peer.
    Hold,
    /// Send what is in the outbox, then close, lingering so that the peer sees the bytes.
    Close,
    /// Close at once and drop what is in the outbox.
    Abort,
}

/// What [`Shard::fill`] has left to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Nothing for now.
    Idle,
    /// More after this; `fill` is called again when the outbox has been sent.
    More,
    /// Send what is in the outbox, then close, lingering so that the peer sees the bytes.
    Close,
}

/// Why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The peer closed its side and the protocol had nothing left to say.
    PeerClosed,
    /// The protocol asked for it: [`Next::Close`], [`Flow::Close`] or [`Next::Abort`].
    Finished,
    /// The protocol closed it through [`Cx::close`]: a deadline of its own, say.
    Requested,
    /// Receiving failed with this errno (`ECONNRESET` above all).
    ReceiveFailed(i32),
    /// Sending failed with this errno (`EPIPE`, `ECONNRESET`).
    SendFailed(i32),
    /// A send made no progress for [`Limits::write_stall_ns`](crate::Limits).
    WriteStalled,
    /// The shard's memory limit was reached while this connection wanted more.
    OverMemory,
    /// The engine was told to stop and the drain time ran out, or the shard finished.
    Shutdown,
}

/// One thread's worth of a protocol. See the module's documentation for the contract.
pub trait Shard: 'static {
    /// A connection exists. [`Shard::fill`] is called right after.
    fn open(&mut self, conn: Conn, origin: Origin, cx: &mut Cx<'_>);

    /// A connection asked for with [`Cx::connect`] could not be made.
    fn connect_failed(&mut self, target: usize, error: &io::Error, cx: &mut Cx<'_>);

    /// Bytes arrived: `input` is all that was not consumed so far, contiguous. `eof` says that no more will come. `out` is
    /// `None` while a send is in flight; a protocol that cannot do without it returns [`Next::Hold`].
    fn data(&mut self, conn: Conn, input: &[u8], eof: bool, out: Option<&mut Outbox>, cx: &mut Cx<'_>) -> Taken;

    /// The connection may speak: it was opened, woken with [`Cx::wake`], or its last send has completed.
    fn fill(&mut self, conn: Conn, out: &mut Outbox, cx: &mut Cx<'_>) -> Flow;

    /// The time asked for with [`Cx::tick_at`] has come. Called once at the start, too.
    fn tick(&mut self, cx: &mut Cx<'_>);

    /// The end of a connection, called once for each `open`.
    fn closed(&mut self, conn: Conn, cause: Cause, cx: &mut Cx<'_>);

    /// The engine was told to stop. Every connection is woken right after; those with nothing left to say answer
    /// [`Flow::Close`]. What is left after [`Limits::drain_ns`](crate::Limits) is closed with [`Cause::Shutdown`].
    fn drain(&mut self, cx: &mut Cx<'_>);

    /// Bytes this protocol keeps on the heap for its connections; counted against
    /// [`Limits::max_memory_bytes`](crate::Limits).
    fn held_bytes(&self) -> usize {
        0
    }
}
