//! What a shard does only when the run has several requests: whose turn it is, which request an answer belongs to, and figures for each.
//!
//! A run with one request never comes here: the shard is compiled for both, so that it pays nothing for what it does not use.

use std::sync::Arc;

use engine::{Cx, Outbox};

use crate::{
    expect::Expect,
    lane::{Flight, State},
    mix::Mix,
    plan::LoadPlan,
    record::Record,
    request::Request,
    shard::LoadShard,
    shared::Shared,
    turn::Turn,
    wire::{Asked, Memo, Wire},
};

/// One of several requests as the shards need it.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) request: Request,
    pub(crate) asked: Asked,
    pub(crate) expect: Expect,
}

impl Entry {
    /// The requests of a mix, in its order of naming.
    pub(crate) fn all(mix: &Mix) -> Vec<Entry> {
        let entry = |named: &crate::mix::NamedRequest| Entry {
            name: named.name.clone(),
            request: Request::of_bytes(named.bytes.clone(), 1),
            asked: Asked { is_head: named.is_head, closes: named.closes, ..Asked::default() },
            expect: named.expect.clone(),
        };
        mix.requests.iter().map(entry).collect()
    }
}

/// One shard's part in it; empty where there is one request only.
#[derive(Debug, Default)]
pub(crate) struct Several {
    pub(crate) turn: Turn,
    pub(crate) parts: Vec<Part>,
}

/// What a shard keeps for each of the requests.
#[derive(Debug, Default)]
pub(crate) struct Part {
    /// Equal bytes mean another answer where another request was made: HEAD above all.
    pub(crate) memo: Memo,
    pub(crate) record: Record,
}

impl Several {
    /// For the shard with this index. Counted requests go on in the order where the shards before it end, so that the whole run is
    /// the order from its begin on; without a count the shards begin evenly spread over it.
    pub(crate) fn new(plan: &LoadPlan, mix: &Mix, index: usize) -> Self {
        let before = |shard| plan.share(shard).requests;
        let first = match before(index) {
            Some(_) => (0..index).filter_map(before).sum(),
            None => mix.order.len() as u64 * index as u64 / u64::from(plan.threads),
        };
        let parts = mix.requests.iter().map(|_| Part::default()).collect();
        Several { turn: Turn::new(Arc::clone(&mix.order), first), parts }
    }
}

impl<W: Wire, const MANY: bool> LoadShard<W, MANY> {
    /// Takes the oldest request under way, and which of several it is.
    #[inline]
    pub(crate) fn take_first(&mut self, index: usize) -> Option<(Flight, usize)> {
        let first = self.lanes[index].pop::<MANY>()?;
        self.in_flight -= 1;
        Some(first)
    }

    /// What to look for in the answer to the oldest request under way.
    #[inline]
    pub(crate) fn asked_first<'a>(shared: &'a Shared, kinds: &std::collections::VecDeque<u16>) -> (&'a Asked, usize) {
        match kinds.front() {
            Some(which) if MANY => (&shared.entries[usize::from(*which)].asked, usize::from(*which)),
            _ => (&shared.asked, 0),
        }
    }

    /// What was expected of this request's answer.
    #[inline]
    pub(crate) fn expected(shared: &Shared, which: usize) -> &Expect {
        if MANY { &shared.entries[which].expect } else { &shared.plan.expect }
    }

    /// The record of this request, for something due at `due_ns`, if there is one and it counts.
    #[inline]
    pub(crate) fn record(&mut self, which: usize, due_ns: u64) -> Option<&mut Record> {
        (MANY && self.measure.is_measured(due_ns)).then(|| &mut self.several.parts[which].record)
    }

    /// A message about this request, with its name where there are several.
    #[cold]
    pub(crate) fn named(shared: &Shared, which: usize, message: String) -> String {
        if MANY { format!("{}: {message}", shared.entries[which].name) } else { message }
    }

    /// Whether the request whose turn it is goes into the outbox; one does as long as there is any room.
    #[inline]
    fn fits_next(&mut self, out: &Outbox, due_ns: u64) -> bool {
        let which = self.several.turn.next(due_ns);
        self.shared.entries[usize::from(which)].request.fits(out.room_bytes()) > 0
    }

    /// Sends the request whose turn it is, on a connection that is open and has room.
    #[inline]
    fn send_next(&mut self, index: usize, flight: Flight, out: &mut Outbox) {
        let which = self.several.turn.next(flight.due_ns);
        self.several.turn.taken();
        let entry = &self.shared.entries[usize::from(which)];
        entry.request.write(out, 1);
        let lane = &mut self.lanes[index];
        lane.sent.push_back(flight);
        lane.kinds.push_back(which);
        lane.left -= 1;
        if entry.asked.closes {
            lane.left = 0;
        }
        self.in_flight += 1;
        if let Some(record) = self.record(which.into(), flight.due_ns) {
            record.sent();
        }
    }

    /// Closed loop: as many as connection, outbox and plan have room for.
    pub(crate) fn refill_several(&mut self, index: usize, out: &mut Outbox, now_ns: u64) {
        if !matches!(self.lanes[index].state, State::Open { .. }) {
            return;
        }
        let flight = Flight { due_ns: now_ns, sent_ns: now_ns };
        let mut count = 0;
        while self.lanes[index].free(self.depth) > 0 && self.fits_next(out, now_ns) && self.pacer.grant(1, now_ns) == 1
        {
            self.send_next(index, flight, out);
            count += 1;
        }
        self.measure.tally(now_ns).sent(count);
    }

    /// Open loop: what is due, at most `most` of it.
    pub(crate) fn refill_several_due(&mut self, index: usize, most: usize, out: &mut Outbox, cx: &mut Cx<'_>) {
        for _ in 0..most {
            if self.lanes[index].free(self.depth) == 0 || !self.fits_next(out, self.pacer.next_due_ns()) {
                break;
            }
            let Some(due_ns) = self.pacer.take_due(cx.now_ns, self.times.until_ns) else { break };
            let flight = Flight { due_ns, sent_ns: cx.now_ns };
            self.measure.sent_due(flight, self.lanes[index].free_since_ns);
            self.send_next(index, flight, out);
        }
        if self.lanes[index].free(self.depth) > 0 {
            self.list(index);
        }
    }
}
