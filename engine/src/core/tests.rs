//! The core driven by a seeded fake of an engine: any order of receives, short sends, failures and deadlines.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use crate::shard::Taken;

/// Echoes, and remembers how often each connection was opened and closed.
#[derive(Default)]
struct Echo {
    open: Vec<bool>,
    opened: usize,
    closed: Vec<Cause>,
    draining: bool,
}

impl Shard for Echo {
    fn open(&mut self, conn: Conn, _: Origin, _: &mut Cx<'_>) {
        if self.open.len() <= conn.index() {
            self.open.resize(conn.index() + 1, false);
        }
        assert!(!std::mem::replace(&mut self.open[conn.index()], true), "opened twice");
        self.opened += 1;
    }

    fn connect_failed(&mut self, _: usize, _: &io::Error, _: &mut Cx<'_>) {}

    fn data(&mut self, conn: Conn, input: &[u8], _: bool, out: Option<&mut Outbox>, _: &mut Cx<'_>) -> Taken {
        assert!(self.open[conn.index()], "data for a connection that is not open");
        let Some(out) = out else { return Taken { consumed: 0, next: Next::Hold } };
        let take = input.len().min(out.room_bytes());
        out.bytes().extend_from_slice(&input[..take]);
        Taken { consumed: take, next: if take < input.len() { Next::Hold } else { Next::Need(0) } }
    }

    fn fill(&mut self, conn: Conn, _: &mut Outbox, _: &mut Cx<'_>) -> Flow {
        assert!(self.open[conn.index()], "fill for a connection that is not open");
        if self.draining { Flow::Close } else { Flow::Idle }
    }

    fn tick(&mut self, _: &mut Cx<'_>) {}

    fn closed(&mut self, conn: Conn, cause: Cause, _: &mut Cx<'_>) {
        assert!(std::mem::replace(&mut self.open[conn.index()], false), "closed without being open");
        self.closed.push(cause);
    }

    fn drain(&mut self, _: &mut Cx<'_>) {
        self.draining = true;
    }
}

/// One fake peer and the operations in flight for it.
#[derive(Default)]
struct Peer {
    to_send: VecDeque<u8>,
    sent: Vec<u8>,
    got: Vec<u8>,
    shut: bool,
    receiving: bool,
    sending: bool,
    released: bool,
}

struct Fake {
    core: Core<Echo>,
    peers: Vec<(Conn, Peer)>,
    now_ns: u64,
}

impl Fake {
    fn new(limits: Limits) -> Self {
        Fake { core: Core::new(Echo::default(), limits, Arc::new(Board::new(1)), 0, 1), peers: Vec::new(), now_ns: 1 }
    }

    fn accept(&mut self, bytes: Vec<u8>) {
        if let Some(conn) = self.core.accepted(0) {
            assert!(
                self.peers.iter().all(|(other, peer)| *other != conn || peer.released),
                "a slot in use was given out"
            );
            self.peers.push((conn, Peer { to_send: bytes.into(), ..Peer::default() }));
        }
        self.settle();
    }

    /// What every engine does after a call: begin operations, let go of what has ended.
    fn settle(&mut self) {
        let mut dirty = Vec::new();
        loop {
            self.core.take_dirty(&mut dirty);
            if dirty.is_empty() {
                break;
            }
            for conn in dirty.drain(..) {
                let Some((_, peer)) = self.peers.iter_mut().find(|(c, peer)| *c == conn && !peer.released) else {
                    continue;
                };
                match self.core.duty(conn) {
                    Duty::LetGo => {
                        if !peer.receiving && !peer.sending {
                            peer.released = true;
                            self.core.release(conn);
                        }
                        continue;
                    }
                    Duty::ShutWrite => self.core.shut_down(conn),
                    Duty::None => {}
                }
                if !peer.sending && self.core.wants_send(conn) {
                    peer.sending = true;
                    self.core.send_from(conn);
                }
                if !peer.receiving && self.core.wants_receive(conn) {
                    peer.receiving = self.core.receive_into(conn).is_some();
                }
            }
        }
    }

    /// Completes one pending operation of one peer, with so many bytes at most.
    fn complete(&mut self, which: usize, bytes: usize, fail: bool) {
        self.now_ns += 1000;
        self.core.at(self.now_ns);
        let live: Vec<usize> = (0..self.peers.len()).filter(|i| !self.peers[*i].1.released).collect();
        if live.is_empty() {
            return;
        }
        let (conn, peer) = &mut self.peers[live[which % live.len()]];
        let conn = *conn;
        let dead = self.core.duty(conn) == Duty::LetGo;
        if peer.sending && (bytes.is_multiple_of(2) || !peer.receiving) {
            peer.sending = false;
            if fail || dead {
                self.core.sent(conn, Err(libc::EPIPE));
            } else {
                let outbox = self.core.send_from(conn);
                let whole = outbox.to_vec();
                let n = whole.len().min(bytes + 1);
                peer.got.extend_from_slice(&whole[..n]);
                self.core.sent(conn, Ok(n));
            }
        } else if peer.receiving {
            peer.receiving = false;
            if fail {
                self.core.received(conn, Err(libc::ECONNRESET));
            } else if dead {
                self.core.received(conn, Ok(0));
            } else {
                let inbox = self.core.inbox(conn);
                let (at, room) = inbox.spare();
                let n = peer.to_send.len().min(bytes + 1).min(room);
                for i in 0..n {
                    let byte = peer.to_send.pop_front().expect("counted");
                    peer.sent.push(byte);
                    // SAFETY: within the room that the inbox offered.
                    unsafe { at.add(i).write(byte) };
                }
                peer.shut |= n == 0;
                // SAFETY: just written.
                unsafe { inbox.commit(n) };
                self.core.received(conn, Ok(n));
            }
        }
        self.settle();
    }

    fn finish(&mut self) {
        for step in 0..2_000_000 {
            if self.peers.iter().all(|(_, peer)| peer.released) {
                return;
            }
            self.complete(step, 60_000 + step % 2, false);
        }
        panic!("connections that never end");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_byte_comes_back_in_order_and_every_connection_ends_once(
        sizes in prop::collection::vec(0_usize..200_000, 1..12),
        steps in prop::collection::vec((any::<usize>(), 0_usize..70_000, prop::bool::weighted(0.01)), 0..400),
    ) {
        let mut fake = Fake::new(Limits::default());
        let mut failed = false;
        for (i, size) in sizes.iter().enumerate() {
            fake.accept((0..*size).map(|at| (at * 7 + i) as u8).collect());
        }
        for (which, bytes, fail) in steps {
            failed |= fail;
            fake.complete(which, bytes, fail);
        }
        fake.finish();
        for (_, peer) in &fake.peers {
            prop_assert!(peer.sent.starts_with(&peer.got), "bytes changed, doubled or out of order");
            prop_assert!(failed || peer.got.len() == peer.sent.len(), "{} of {}", peer.got.len(), peer.sent.len());
        }
        prop_assert_eq!(fake.core.shard.closed.len(), fake.core.shard.opened);
        prop_assert_eq!(fake.core.counts().connections_open.get(), 0);
        prop_assert!(fake.core.held_bytes <= fake.peers.len() * 2 * limits::IDLE_INPUT_BYTES, "memory of the dead: {}", fake.core.held_bytes);
    }

    #[test]
    fn a_drain_ends_everything_by_its_deadline(
        sizes in prop::collection::vec(0_usize..50_000, 1..12),
        steps in prop::collection::vec((any::<usize>(), 0_usize..5_000), 0..100),
    ) {
        let mut fake = Fake::new(Limits::default());
        for size in &sizes {
            fake.accept(vec![1; *size]);
        }
        for (which, bytes) in steps {
            fake.complete(which, bytes, false);
        }
        fake.core.drain();
        fake.settle();
        prop_assert!(fake.core.accepted(0).is_none(), "accepted while draining");
        fake.now_ns += Limits::default().drain_ns + limits::SCAN_INTERVAL_NS;
        fake.core.at(fake.now_ns);
        fake.core.tick();
        fake.settle();
        fake.finish();
        prop_assert!(fake.core.ended());
    }
}

#[test]
fn memory_of_a_shard_is_bounded_and_the_greedy_connection_ends() {
    let mut fake = Fake::new(Limits { max_memory_bytes: 40_000, ..Limits::default() });
    for _ in 0..10 {
        fake.accept(vec![3; 500_000]);
    }
    for step in 0..5_000 {
        fake.complete(step, 60_001, false);
        assert!(fake.core.held_bytes <= 40_000 + limits::OUT_BUDGET_BYTES, "{}", fake.core.held_bytes);
    }
    assert!(fake.core.shard.closed.contains(&Cause::OverMemory));
    assert_eq!(
        fake.core.counts().closed_over_memory.get() as usize,
        fake.core.shard.closed.iter().filter(|c| **c == Cause::OverMemory).count()
    );
}

#[test]
fn a_wish_about_a_connection_that_is_gone_is_ignored() {
    let mut fake = Fake::new(Limits::default());
    fake.accept(Vec::new());
    fake.complete(0, 1, false);
    assert!(fake.peers[0].1.released);
    fake.core.wishes.wake.push(fake.peers[0].0);
    fake.core.wishes.close.push(fake.peers[0].0);
    fake.core.wishes.close.push(Conn(999));
    fake.core.settle();
    assert_eq!(fake.core.shard.closed.len(), 1);
}
