//! One shard of the server: the engine's contract over the wires, and one coarse look at all deadlines.

use std::{io, sync::Arc, time::SystemTime};

use engine::{Burden, Cause, Conn, Cx, Flow, Next, Origin, Outbox, Shard, Taken};

use crate::{
    context::{Context, Waiting},
    floor_wire, http_wire,
    limits::SCAN_INTERVAL_NS,
    options::ServerOptions,
    service::Service,
    stats::Published,
    wire::Wire,
    zap_wire,
};

/// The server's protocol on one thread.
#[derive(Debug)]
pub struct ServerShard {
    service: Service,
    contexts: Vec<Context>,
    open: usize,
    wall: fn() -> SystemTime,
    burden: Option<Box<Burden>>,
}

impl ServerShard {
    /// The shard with this index. `wall` is the wall clock, asked at ticks only, for the `Date` of answers.
    ///
    /// # Panics
    /// When `published` was not made for so many shards.
    pub fn new(index: usize, options: Arc<ServerOptions>, published: Arc<Published>, wall: fn() -> SystemTime) -> Self {
        let burden = Burden::of(options.handicap);
        ServerShard { service: Service::new(index, options, published), contexts: Vec::new(), open: 0, wall, burden }
    }

    /// Whether a connection has waited longer than it may.
    fn is_overdue(&self, context: &Context, now_ns: u64) -> bool {
        let options = &self.service.options;
        let limit_ns = match context.waiting {
            Waiting::Idle => options.idle_timeout_ns,
            Waiting::Head => options.head_timeout_ns,
            Waiting::Body => options.body_timeout_ns,
            Waiting::Sending => return false,
        };
        context.is_open && !context.expired && now_ns.saturating_sub(context.since_ns) >= limit_ns
    }

    /// The last word to a connection that waited too long.
    #[cold]
    fn expire(&mut self, conn: Conn, out: &mut Outbox) -> Flow {
        let context = &self.contexts[conn.index()];
        let counts = self.service.counts();
        let reason = match context.waiting {
            Waiting::Idle | Waiting::Sending => {
                counts.idle_closed.add(1);
                return Flow::Close;
            }
            Waiting::Head => "the request head took too long",
            Waiting::Body => "the request body took too long",
        };
        counts.timeouts.add(1);
        if context.wire == Wire::Http {
            counts.http_requests.add(1);
            http_wire::write_refusal(out.bytes(), &mut self.service, 408, reason);
        }
        Flow::Close
    }
}

impl Shard for ServerShard {
    fn open(&mut self, conn: Conn, origin: Origin, cx: &mut Cx<'_>) {
        let Origin::Accepted { listener } = origin else {
            // A server connects nowhere.
            cx.close(conn);
            return;
        };
        if self.contexts.len() <= conn.index() {
            self.contexts.resize_with(conn.index() + 1, Context::new);
        }
        let wire = self.service.options.wires.get(listener).copied().unwrap_or(Wire::Zap);
        self.contexts[conn.index()].open(wire, cx.now_ns);
        self.open += 1;
        if self.open == 1 {
            cx.tick_at(cx.now_ns + SCAN_INTERVAL_NS);
        }
    }

    fn connect_failed(&mut self, _target: usize, _error: &io::Error, _cx: &mut Cx<'_>) {}

    #[inline]
    fn data(&mut self, conn: Conn, input: &[u8], _eof: bool, out: Option<&mut Outbox>, cx: &mut Cx<'_>) -> Taken {
        let context = &mut self.contexts[conn.index()];
        let Some(out) = out else {
            context.input_left = !input.is_empty();
            return Taken { consumed: 0, next: Next::Hold };
        };
        if context.streaming.is_some() {
            context.input_left = !input.is_empty();
            return Taken { consumed: 0, next: Next::Hold };
        }
        if let Some(burden) = &mut self.burden
            && context.wire != Wire::Floor
        {
            burden.pay();
        }
        match context.wire {
            Wire::Zap => zap_wire::data(context, &mut self.service, input, out, cx),
            Wire::Http => http_wire::data(context, &mut self.service, input, out, cx),
            Wire::Floor => floor_wire::data(context, &self.service, input, out, cx),
        }
    }

    #[inline]
    fn fill(&mut self, conn: Conn, out: &mut Outbox, cx: &mut Cx<'_>) -> Flow {
        let context = &mut self.contexts[conn.index()];
        if context.lent_bytes > 0 {
            context.lent_bytes = 0;
            context.account(&mut self.service.held_bytes);
        }
        if let Some(streaming) = &mut context.streaming {
            if !streaming.stream.produce(&self.service.pattern, out) {
                return Flow::More;
            }
            let last = streaming.last;
            context.streaming = None;
            context.idle(cx.now_ns);
            if last {
                return Flow::Close;
            }
        }
        if context.expired {
            return self.expire(conn, out);
        }
        if self.service.draining && context.waiting == Waiting::Idle && !context.input_left {
            return Flow::Close;
        }
        Flow::Idle
    }

    fn tick(&mut self, cx: &mut Cx<'_>) {
        self.service.set_date((self.wall)(), cx.now_ns);
        if self.open == 0 {
            return;
        }
        cx.tick_at(cx.now_ns + SCAN_INTERVAL_NS);
        for index in 0..self.contexts.len() {
            if self.is_overdue(&self.contexts[index], cx.now_ns) {
                self.contexts[index].expired = true;
                cx.wake(Conn::new(index as u32));
            }
        }
    }

    fn closed(&mut self, conn: Conn, _cause: Cause, _cx: &mut Cx<'_>) {
        let Some(context) = self.contexts.get_mut(conn.index()).filter(|context| context.is_open) else { return };
        context.close(&mut self.service.held_bytes);
        self.open -= 1;
    }

    fn drain(&mut self, _cx: &mut Cx<'_>) {
        self.service.draining = true;
    }

    fn held_bytes(&self) -> usize {
        self.contexts.capacity() * size_of::<Context>() + self.service.held_bytes
    }
}
