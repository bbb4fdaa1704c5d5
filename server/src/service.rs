//! What all connections of a shard share: options, answers written ahead, the date, the pattern, counters.

use std::{sync::Arc, time::SystemTime};

use bytes::Bytes;
use codec::json;

use crate::{
    counters::RequestCounts, date::Date, limits, options::ServerOptions, ready::ReadyAnswers, stats::Published, stream,
};

#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) options: Arc<ServerOptions>,
    pub(crate) published: Arc<Published>,
    /// Which shard this is.
    index: usize,
    pub(crate) pattern: Bytes,
    date: Date,
    pub(crate) ready: ReadyAnswers,
    /// Reads the JSON twins of calls.
    pub(crate) json: json::Reader,
    scratch: Vec<u8>,
    /// The server is ending: every answer is its connection's last.
    pub(crate) draining: bool,
    /// Heap bytes of all connections' contexts.
    pub(crate) held_bytes: usize,
}

impl Service {
    pub(crate) fn new(index: usize, options: Arc<ServerOptions>, published: Arc<Published>) -> Self {
        let date = Date::new();
        let json = json::Reader::new(options.json);
        Service {
            options,
            published,
            index,
            pattern: stream::pattern(),
            ready: ReadyAnswers::new(date.text()),
            date,
            json,
            scratch: Vec::new(),
            draining: false,
            held_bytes: 0,
        }
    }

    #[inline]
    pub(crate) fn counts(&self) -> &RequestCounts {
        self.published.counts(self.index)
    }

    /// Takes the wall clock's time, read at monotonic time `now_ns`.
    pub(crate) fn set_date(&mut self, wall: SystemTime, now_ns: u64) {
        if self.date.set(wall, now_ns) {
            self.ready.redate(self.date.text());
        }
    }

    /// Brings the date, and the answers that carry it, up to `now_ns`.
    #[inline]
    pub(crate) fn advance_date(&mut self, now_ns: u64) {
        if self.date.advance(now_ns) {
            self.ready.redate(self.date.text());
        }
    }

    #[inline]
    pub(crate) fn date(&self) -> &[u8; 29] {
        self.date.text()
    }

    /// The empty text buffer; give it back with [`Service::put_scratch`].
    #[inline]
    pub(crate) fn take_scratch(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.scratch)
    }

    #[inline]
    pub(crate) fn put_scratch(&mut self, mut scratch: Vec<u8>) {
        scratch.clear();
        if scratch.capacity() > limits::KEPT_SCRATCH_BYTES {
            scratch.shrink_to(limits::KEPT_SCRATCH_BYTES);
        }
        self.scratch = scratch;
    }
}
