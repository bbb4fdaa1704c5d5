//! What is known about one connection between two calls. Contexts are reused: [`Context::close`] frees the buffers, and
//! [`Context::open`] leaves nothing of the previous connection.

use codec::http::{BodyReader, HeadScan};
use engine::Cx;

use crate::{limits, stream::Stream, wire::Wire};

/// What a connection waits for, and so which deadline runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// The first byte of a request.
    Idle,
    /// The rest of a head.
    Head,
    /// The rest of a body.
    Body,
    /// Its own answers to leave; the engine has a deadline for that.
    Sending,
}

/// A request body that comes in pieces. Its head is kept in [`Context::head`] and read again at the end.
#[derive(Debug)]
pub(crate) struct Gathering {
    pub(crate) reader: BodyReader,
    /// Whether the handler wants it; else it is counted and dropped.
    pub(crate) keep: bool,
    /// Content seen so far.
    pub(crate) seen_bytes: u64,
    /// Content there may be at most.
    pub(crate) limit_bytes: u64,
}

/// A streamed answer under way.
#[derive(Debug)]
pub(crate) struct Streaming {
    pub(crate) stream: Stream,
    /// Close when it has been sent.
    pub(crate) last: bool,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) wire: Wire,
    pub(crate) is_open: bool,
    pub(crate) waiting: Waiting,
    /// When the wait began.
    pub(crate) since_ns: u64,
    /// The deadline has passed; the next turn to speak is the last.
    pub(crate) expired: bool,
    /// Input was left unread because there was no room for its answers.
    pub(crate) input_left: bool,
    /// `100 Continue` was written for the request that has begun.
    pub(crate) continued: bool,
    pub(crate) scan: HeadScan,
    pub(crate) gathering: Option<Gathering>,
    pub(crate) streaming: Option<Streaming>,
    /// The head whose body is being gathered.
    pub(crate) head: Vec<u8>,
    /// Collected content.
    pub(crate) body: Vec<u8>,
    /// Bytes of a body that was given to the outbox and is freed when it has been sent.
    pub(crate) lent_bytes: usize,
    /// What [`Context::account`] has charged.
    charged_bytes: usize,
}

impl Context {
    pub(crate) fn new() -> Self {
        Context {
            wire: Wire::Zap,
            is_open: false,
            waiting: Waiting::Idle,
            since_ns: 0,
            expired: false,
            input_left: false,
            continued: false,
            scan: HeadScan::new(),
            gathering: None,
            streaming: None,
            head: Vec::new(),
            body: Vec::new(),
            lent_bytes: 0,
            charged_bytes: 0,
        }
    }

    /// Begins a connection.
    pub(crate) fn open(&mut self, wire: Wire, now_ns: u64) {
        debug_assert_eq!(self.charged_bytes, 0, "a closed context holds nothing");
        *self = Context { wire, is_open: true, since_ns: now_ns, ..Context::new() };
    }

    /// Ends it, and gives back what a closed connection need not hold.
    pub(crate) fn close(&mut self, held_bytes: &mut usize) {
        self.is_open = false;
        self.head = Vec::new();
        self.body = Vec::new();
        self.lent_bytes = 0;
        self.account(held_bytes);
    }

    /// Begins a wait, unless it is under way already.
    #[inline]
    pub(crate) fn wait(&mut self, waiting: Waiting, now_ns: u64) {
        if self.waiting != waiting {
            self.waiting = waiting;
            self.since_ns = now_ns;
        }
    }

    /// Begins to wait for a request.
    #[inline]
    pub(crate) fn idle(&mut self, now_ns: u64) {
        self.waiting = Waiting::Idle;
        self.since_ns = now_ns;
    }

    /// Empties the buffers of a gathered request and lets go of what is too much to keep.
    pub(crate) fn shrink(&mut self) {
        for buffer in [&mut self.head, &mut self.body] {
            buffer.clear();
            buffer.shrink_to(limits::KEPT_BODY_BYTES);
        }
    }

    /// Brings the shard's account of held memory up to date.
    pub(crate) fn account(&mut self, held_bytes: &mut usize) {
        let holds_bytes = self.head.capacity() + self.body.capacity() + self.lent_bytes;
        *held_bytes = *held_bytes + holds_bytes - self.charged_bytes;
        self.charged_bytes = holds_bytes;
    }
}

/// Appends to a buffer that will hold at most `limit_bytes`, growing it by doubling within the memory left; false, and
/// nothing appended, when that does not suffice.
pub(crate) fn append(buffer: &mut Vec<u8>, bytes: &[u8], limit_bytes: usize, cx: &mut Cx<'_>) -> bool {
    let (capacity, needed) = (buffer.capacity(), buffer.len() + bytes.len());
    if needed > capacity {
        let roomy = needed.max(2 * capacity).max(limits::MIN_BODY_GROWTH_BYTES).min(limit_bytes.max(needed));
        let target = if roomy - capacity <= cx.memory_left_bytes { roomy } else { needed };
        if target - capacity > cx.memory_left_bytes {
            return false;
        }
        cx.memory_left_bytes -= target - capacity;
        buffer.reserve_exact(target - buffer.len());
    }
    buffer.extend_from_slice(bytes);
    true
}
