//! Our own ring under conditions that break careless loops: queues and buffers far too small, spinning, gathering waits, a kernel
//! thread. Every byte must come back all the same, and the counters must show that the condition was met.

mod protocols;

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use engine::{Address, Board, Engine, EngineOptions, Fleet, Limits, Listener, Plan, ShardFigures, launch};
use protocols::Echo;

fn serve(options: EngineOptions) -> (Fleet<Echo>, SocketAddr) {
    let address = Address::Tcp("127.0.0.1:0".parse().expect("an address"));
    let plan = Plan {
        engine: Engine::Uring,
        shards: 1,
        cores: Vec::new(),
        listeners: vec![Listener::bind(&address, 1).expect("bound")],
        targets: Vec::new(),
        sources: Vec::new(),
        limits: Limits::default(),
        options,
        incoming_cpus: Vec::new(),
    };
    let fleet = launch(plan, Arc::new(Board::new(1)), |_| Echo::default()).expect("launched");
    let Address::Tcp(address) = fleet.addresses()[0] else { panic!("a TCP listener") };
    (fleet, address)
}

fn dial(address: SocketAddr) -> TcpStream {
    let peer = TcpStream::connect(address).expect("connected");
    peer.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    peer.set_nodelay(true).expect("set");
    peer
}

/// So many peers send in bursts, all at once, and check every byte that comes back; what the shard counted meanwhile.
fn storm(options: EngineOptions, peers: usize, rounds: usize, bytes: usize) -> ShardFigures {
    let (fleet, address) = serve(options);
    let begun = Instant::now();
    let mut connections: Vec<TcpStream> = (0..peers).map(|_| dial(address)).collect();
    for round in 0..rounds {
        let tagged = |i: usize| (0..bytes).map(|at| (at * 13 + i * 7 + round) as u8).collect::<Vec<u8>>();
        for (i, peer) in connections.iter_mut().enumerate() {
            peer.write_all(&tagged(i)).expect("written");
        }
        for (i, peer) in connections.iter_mut().enumerate() {
            let mut got = vec![0; bytes];
            peer.read_exact(&mut got).unwrap_or_else(|error| panic!("round {round}, peer {i}: {error}"));
            assert!(got == tagged(i), "round {round}, peer {i}: somebody else's bytes");
        }
    }
    assert!(begun.elapsed() < Duration::from_secs(60), "it crawls: {:?}", begun.elapsed());
    let figures = fleet.board().total();
    drop(connections);
    let ended = fleet.join().remove(0).map(|_| ());
    ended.expect("ended well");
    figures
}

#[test]
fn a_submission_queue_that_is_too_small_loses_nothing() {
    let options = EngineOptions { sq_entries: 8, ..EngineOptions::default() };
    let figures = storm(options, 600, 5, 300);
    assert_eq!(figures.received_bytes, 600 * 5 * 300);
}

#[test]
fn completions_that_do_not_fit_are_fetched_and_counted() {
    let options = EngineOptions { sq_entries: 8, cq_entries: 8, ..EngineOptions::default() };
    let mut figures = ShardFigures::default();
    // Whether they pile up depends on who runs when.
    for _ in 0..10 {
        figures = storm(options, 600, 5, 300);
        assert_eq!(figures.received_bytes, 600 * 5 * 300);
        if figures.ring_overflows > 0 {
            break;
        }
    }
    assert!(figures.ring_overflows > 0, "the queue never overflowed: this proves nothing");
}

#[test]
fn buffers_that_run_out_delay_and_do_not_stop_anyone() {
    let options = EngineOptions { buffers: 2, buffer_bytes: 64, ..EngineOptions::default() };
    let figures = storm(options, 200, 5, 2000);
    assert!(figures.buffers_exhausted > 0, "there were always enough buffers: this proves nothing");
    // And nobody tries again and again without bytes to receive.
    let (fleet, address) = serve(options);
    let idle: Vec<TcpStream> = (0..100).map(|_| dial(address)).collect();
    thread::sleep(Duration::from_millis(200));
    let before = fleet.board().total();
    thread::sleep(Duration::from_millis(500));
    let after = fleet.board().total();
    assert!(after.enters - before.enters < 20, "{} enters in an idle half second", after.enters - before.enters);
    drop(idle);
}

#[test]
fn one_receive_is_armed_once_and_brings_many_requests() {
    let (fleet, address) = serve(EngineOptions::default());
    let mut peer = dial(address);
    for round in 0..1000_u32 {
        peer.write_all(&round.to_be_bytes()).expect("written");
        peer.read_exact(&mut [0; 4]).expect("echoed");
    }
    let figures = fleet.board().total();
    // A send each; the receive and the accept are armed once, the control channel too.
    assert!(figures.operations < 1000 + 20, "{} operations for 1000 requests", figures.operations);
    drop(peer);
}

#[test]
fn large_requests_arrive_where_they_are_kept() {
    let (fleet, address) = serve(EngineOptions::default());
    let mut peer = dial(address);
    let sent: Vec<u8> = (0..4 << 20).map(|i| (i % 249) as u8).collect();
    let mut writer = peer.try_clone().expect("cloned");
    let source = sent.clone();
    let writing = thread::spawn(move || writer.write_all(&source).expect("written"));
    let mut got = vec![0; sent.len()];
    peer.read_exact(&mut got).expect("echoed");
    writing.join().expect("joined");
    assert!(got == sent, "bytes changed on the way");
    drop(peer);
    assert!(fleet.join().remove(0).is_ok());
}

#[test]
fn spinning_gathering_and_a_kernel_thread_answer_alike() {
    let default = EngineOptions::default();
    for options in [
        EngineOptions { spin_ns: 50_000, ..default },
        EngineOptions { min_wait_ns: 50_000, ..default },
        EngineOptions { sqpoll: true, ..default },
    ] {
        let figures = storm(options, 50, 20, 100);
        assert_eq!(figures.received_bytes, 50 * 20 * 100, "{options:?}");
    }
}

#[test]
fn a_spinning_shard_sleeps_when_nothing_comes() {
    let (fleet, address) = serve(EngineOptions { spin_ns: 50_000, ..EngineOptions::default() });
    let peer = dial(address);
    thread::sleep(Duration::from_millis(300));
    let before = fleet.board().total();
    thread::sleep(Duration::from_millis(500));
    let after = fleet.board().total();
    assert!(after.enters - before.enters < 20, "{} enters in an idle half second", after.enters - before.enters);
    drop(peer);
}

#[test]
fn an_end_is_seen_at_once_while_other_connections_keep_receiving() {
    let (fleet, address) = serve(EngineOptions::default());
    let features = fleet.granted()[0].features;
    let idle: Vec<TcpStream> = (0..50).map(|_| dial(address)).collect();
    for _ in 0..10 {
        let mut peer = dial(address);
        peer.write_all(b"last words").expect("written");
        peer.shutdown(std::net::Shutdown::Write).expect("shut down");
        let begun = Instant::now();
        let mut got = Vec::new();
        peer.read_to_end(&mut got).expect("an end");
        assert_eq!(got, b"last words");
        assert!(begun.elapsed() < Duration::from_secs(2), "an end after {:?} with {features}", begun.elapsed());
    }
    drop(idle);
    assert!(fleet.join().remove(0).is_ok());
}

/// Enters of a shard while many peers say a little each, one after another.
fn enters_of_a_trickle(options: EngineOptions) -> u64 {
    let (fleet, address) = serve(options);
    let mut peers: Vec<TcpStream> = (0..64).map(|_| dial(address)).collect();
    let before = fleet.board().total().enters;
    for _ in 0..20 {
        for peer in &mut peers {
            peer.write_all(b"ping").expect("written");
            thread::sleep(Duration::from_micros(20));
        }
        for peer in &mut peers {
            peer.read_exact(&mut [0; 4]).expect("echoed");
        }
    }
    let enters = fleet.board().total().enters - before;
    drop(peers);
    assert!(fleet.join().remove(0).is_ok());
    enters
}

#[test]
fn a_gathering_wait_takes_many_at_a_time() {
    let default = EngineOptions::default();
    let at_once = enters_of_a_trickle(default);
    let options = EngineOptions { min_wait_ns: 20_000_000, ..default };
    let (fleet, address) = serve(options);
    let idle: Vec<TcpStream> = (0..64).map(|_| dial(address)).collect();
    thread::sleep(Duration::from_millis(200));
    let before = fleet.board().total().enters;
    thread::sleep(Duration::from_millis(500));
    let enters = fleet.board().total().enters - before;
    assert!(enters < 20, "{enters} enters in an idle half second");
    drop((idle, fleet));
    let gathered = enters_of_a_trickle(options);
    assert!(gathered * 4 < at_once, "{gathered} enters with a gathering wait, {at_once} without");
}
