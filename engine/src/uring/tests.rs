//! The loop's bookkeeping, fed with completions that no kernel sent: when a receive is armed again, and whose bytes are whose.

use std::os::unix::net::UnixStream;

use super::*;
use crate::{
    Features,
    cx::Cx,
    fleet::Engine,
    options::EngineOptions,
    outbox::Outbox,
    shard::{Cause, Flow, Next, Origin, Taken},
};

/// Takes everything, says nothing.
#[derive(Default)]
struct Sink {
    received: usize,
    closed: Vec<Cause>,
}

impl Shard for Sink {
    fn open(&mut self, _: Conn, _: Origin, _: &mut Cx<'_>) {}

    fn connect_failed(&mut self, _: usize, _: &io::Error, _: &mut Cx<'_>) {}

    fn data(&mut self, _: Conn, input: &[u8], _: bool, _: Option<&mut Outbox>, _: &mut Cx<'_>) -> Taken {
        self.received += input.len();
        Taken { consumed: input.len(), next: Next::Need(0) }
    }

    fn fill(&mut self, _: Conn, _: &mut Outbox, _: &mut Cx<'_>) -> Flow {
        Flow::Idle
    }

    fn tick(&mut self, _: &mut Cx<'_>) {}

    fn closed(&mut self, _: Conn, cause: Cause, _: &mut Cx<'_>) {
        self.closed.push(cause);
    }

    fn drain(&mut self, _: &mut Cx<'_>) {}
}

/// A worker with one open connection whose receive is armed. Leaked at the end: its ring has a real receive in flight.
struct Bench {
    worker: ManuallyDrop<Worker<Sink>>,
    _peer: UnixStream,
}

const CONN: Conn = Conn(0);

impl Bench {
    fn new() -> Self {
        let options = EngineOptions::default();
        let (ring, _) =
            ladder::climb(|rung| Ring::new(rung, options), || HostFacts::read("/proc".as_ref())).expect("a ring");
        let buffers = Buffers::register(&ring.submitter(), 8, 64).expect("a kernel with buffer rings");
        let means = Means { features: Features::default(), buffers: Some(buffers), files: None };
        let worker = Worker::new(ring, means, Lane::bare(Engine::Uring, options), Sink::default());
        let (ours, peer) = UnixStream::pair().expect("a pair");
        let mut bench = Bench { worker: ManuallyDrop::new(worker), _peer: peer };
        bench.worker.adopt(ours.into(), 0).expect("queued");
        bench.worker.settle().expect("queued");
        assert!(bench.worker.links[0].armed, "the first receive is armed at once");
        bench
    }

    /// Feeds a completion of the connection's receive and says how many operations it led to.
    fn feed(&mut self, result: i32, more: bool, buffer: Option<u16>) -> u64 {
        let generation = self.worker.links[0].generation;
        self.feed_to(generation, result, more, buffer)
    }

    fn feed_to(&mut self, generation: u32, result: i32, more: bool, buffer: Option<u16>) -> u64 {
        let data = Token { kind: Kind::Receive, generation, slot: CONN.0 }.encode();
        let before = self.worker.ring.pushed();
        self.worker.handle(Completion { data, result, more, buffer }).expect("handled");
        self.worker.settle().expect("queued");
        self.worker.ring.pushed() - before
    }

    fn received(&self) -> usize {
        self.worker.core.shard.received
    }
}

#[test]
fn a_receive_is_armed_again_only_when_it_has_ended() {
    let mut bench = Bench::new();
    assert_eq!(bench.feed(10, true, Some(0)), 0, "more is coming");
    assert_eq!(bench.feed(20, true, Some(1)), 0, "more is coming");
    assert_eq!(bench.feed(30, false, Some(2)), 1, "ended with bytes: again");
    assert_eq!(bench.feed(-libc::EINTR, false, None), 1, "interrupted: again");
    assert_eq!(bench.received(), 60);
    assert_eq!(bench.feed(0, false, None), 0, "the peer is done: not again");
    assert_eq!(bench.worker.core.shard.closed, [Cause::PeerClosed]);
}

#[test]
fn a_connection_that_found_no_buffer_receives_once_for_itself() {
    let mut bench = Bench::new();
    assert_eq!(bench.feed(-libc::ENOBUFS, false, None), 1, "out of buffers: again");
    assert_eq!(bench.worker.core.counts().buffers_exhausted.get(), 1);
    assert!(bench.worker.links[0].receiving && !bench.worker.links[0].armed);
    let token = Token { kind: Kind::ReceiveInto, generation: bench.worker.links[0].generation, slot: CONN.0 };
    let (at, room) = bench.worker.core.inbox(CONN).spare();
    assert!(room >= 5);
    // SAFETY: room that was lent, as the kernel would write to it.
    unsafe { at.write_bytes(7, 5) };
    let completion = Completion { data: token.encode(), result: 5, more: false, buffer: None };
    bench.worker.handle(completion).expect("handled");
    assert_eq!(bench.received(), 5);
    bench.worker.settle().expect("queued");
    assert!(bench.worker.links[0].armed && !bench.worker.links[0].receiving, "and then shares buffers again");
    assert_eq!(bench.worker.core.counts().buffers_exhausted.get(), 1);
}

#[test]
fn a_failed_receive_ends_the_connection_and_is_not_armed_again() {
    let mut bench = Bench::new();
    bench.feed(5, true, Some(0));
    assert_eq!(bench.feed(-libc::ECONNRESET, false, None), 0);
    assert_eq!(bench.worker.core.shard.closed, [Cause::ReceiveFailed(libc::ECONNRESET)]);
}

#[test]
fn bytes_for_an_earlier_connection_are_nobodys_and_its_buffer_comes_back() {
    let mut bench = Bench::new();
    let generation = bench.worker.links[0].generation;
    for _ in 0..100 {
        // A hundred stale completions over eight buffers: lost ones would run out.
        assert_eq!(bench.feed_to(generation + 1, 7, true, Some(3)), 0);
    }
    assert_eq!(bench.feed_to(generation + 1, -libc::ECONNRESET, false, None), 0);
    assert_eq!(bench.received(), 0);
    assert!(bench.worker.core.shard.closed.is_empty());
    assert!(bench.worker.links[0].armed, "the connection that is there now is not disturbed");
}

#[test]
fn a_kernel_without_multishot_receives_gets_single_ones() {
    let mut bench = Bench::new();
    assert_eq!(bench.feed(-libc::EINVAL, false, None), 1);
    assert!(bench.worker.buffers.is_none());
    assert!(bench.worker.links[0].receiving && !bench.worker.links[0].armed);
    assert!(bench.worker.core.shard.closed.is_empty());
}

#[test]
fn once_multishot_has_worked_einval_is_a_failure_like_any_other() {
    let mut bench = Bench::new();
    bench.feed(1, true, Some(0));
    bench.feed(-libc::EINVAL, false, None);
    assert_eq!(bench.worker.core.shard.closed, [Cause::ReceiveFailed(libc::EINVAL)]);
}

#[test]
fn completions_that_nobody_asked_for_are_ignored() {
    let mut bench = Bench::new();
    for data in [0, u64::MAX, Token { kind: Kind::Send, generation: 99, slot: 12_345 }.encode()] {
        bench.worker.handle(Completion { data, result: 1, more: false, buffer: None }).expect("ignored");
    }
    assert!(bench.worker.core.shard.closed.is_empty());
}

#[test]
#[should_panic(expected = "never provided")]
fn a_buffer_that_was_never_provided_is_a_bug() {
    let mut bench = Bench::new();
    bench.feed(1, true, Some(8));
}

fn ring(sq_entries: u32, cq_entries: u32) -> Ring {
    let options = EngineOptions { sq_entries, cq_entries, ..EngineOptions::default() };
    ladder::climb(|rung| Ring::new(rung, options), || HostFacts::read("/proc".as_ref())).expect("a ring").0
}

/// Pushes operations that do nothing, refused now and then, and takes all their completions.
fn nothing_is_lost(refusals: &[i32]) {
    const OPERATIONS: u64 = 100;
    let mut ring = ring(8, 8);
    let mut completions = Vec::new();
    for number in 0..OPERATIONS {
        if number % 8 == 0 {
            ring.refusals = refusals.to_vec();
        }
        // SAFETY: no memory is pointed to.
        unsafe { ring.push(&opcode::Nop::new().build().user_data(number)).expect("pushed") };
    }
    while completions.len() < OPERATIONS as usize {
        ring.enter(1_000_000_000, 1).expect("entered");
        let before = completions.len();
        ring.drain(&mut completions);
        assert!(completions.len() > before || !ring.refusals.is_empty(), "a whole second without a completion");
    }
    let mut numbers: Vec<u64> = completions.iter().map(|completion| completion.data).collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..OPERATIONS), "each once");
}

#[test]
fn a_kernel_that_wants_completions_reaped_first_loses_nothing() {
    nothing_is_lost(&[]);
    nothing_is_lost(&[libc::EBUSY]);
    nothing_is_lost(&[libc::EINTR, libc::EBUSY, libc::EAGAIN, libc::EBUSY]);
}

#[test]
fn a_ring_that_is_broken_says_so() {
    let mut ring = ring(8, 8);
    ring.refusals = vec![libc::ENXIO];
    assert_eq!(ring.enter(0, 1).expect_err("refused").raw_os_error(), Some(libc::ENXIO));
    for _ in 0..8 {
        // SAFETY: no memory is pointed to.
        unsafe { ring.push(&opcode::Nop::new().build()).expect("there is room") };
    }
    ring.refusals = vec![libc::ENXIO];
    // SAFETY: as above.
    let refused = unsafe { ring.push(&opcode::Nop::new().build()) };
    assert_eq!(refused.expect_err("refused").raw_os_error(), Some(libc::ENXIO));
}

#[test]
fn a_direct_descriptor_lasts_as_long_as_its_connection() {
    let mut ring = ring(8, 8);
    let Some(files) = Files::register(&ring, 4).expect("registered") else {
        println!("skipped: this kernel has no direct descriptors that suit");
        return;
    };
    let means = Means { features: Features::default(), buffers: None, files: Some(files) };
    ring.submit().expect("nothing to submit");
    let lane = Lane::bare(Engine::Uring, EngineOptions::default());
    // Leaked, as above.
    let mut worker = ManuallyDrop::new(Worker::new(ring, means, lane, Sink::default()));
    let mut peers = Vec::new();
    for slot in 0..6 {
        let (ours, peer) = UnixStream::pair().expect("a pair");
        worker.adopt(ours.into(), 0).expect("queued");
        assert_eq!(worker.links[slot].direct, slot < 4, "as far as the table goes");
        peers.push(peer);
    }
    worker.settle().expect("queued");
    for peer in &mut peers {
        io::Write::write_all(peer, b"hello").expect("written");
    }
    let mut completions = Vec::new();
    let mut turn = |worker: &mut Worker<Sink>| {
        worker.ring.enter(100_000_000, 1).expect("entered");
        worker.ring.drain(&mut completions);
        for completion in completions.drain(..) {
            worker.handle(completion).expect("handled");
        }
        worker.settle().expect("queued");
    };
    while worker.core.shard.received < 6 * 5 {
        turn(&mut worker);
    }
    // One leaves and another one comes to its slot, while the receives of the others stay in flight.
    drop(peers.remove(0));
    while worker.core.shard.closed.is_empty() {
        turn(&mut worker);
    }
    let (ours, mut peer) = UnixStream::pair().expect("a pair");
    worker.adopt(ours.into(), 0).expect("queued");
    worker.settle().expect("queued");
    assert!(worker.links[0].direct);
    io::Write::write_all(&mut peer, b"again").expect("written");
    while worker.core.shard.received < 7 * 5 {
        turn(&mut worker);
    }
    assert_eq!(worker.core.shard.closed, [Cause::PeerClosed]);
}
