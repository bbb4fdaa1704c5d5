//! The contract between engines and protocols, proven on every engine by the same tests: what an engine promises in
//! `engine::Shard` it does on each of them.

mod protocols;

use std::{
    io::{ErrorKind, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    os::unix::net::UnixStream,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use engine::{Address, Board, Cause, Engine, EngineOptions, Fleet, Limits, Listener, Plan, launch};
use protocols::{Blast, Caller, Deadline, Echo, Hoarder, Ticker};

/// Every test here is about one engine at a time; the ones that look at the whole process (descriptors, CPU) must not overlap
/// with others.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn on_each_engine(test: impl Fn(Engine)) {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    for engine in Engine::ALL {
        println!("engine {engine}");
        test(engine);
    }
}

fn any_port() -> Address {
    Address::Tcp("127.0.0.1:0".parse().expect("an address"))
}

fn plan(engine: Engine, shards: usize, listen: &[Address], limits: Limits) -> Plan {
    Plan {
        engine,
        shards,
        cores: Vec::new(),
        listeners: listen.iter().map(|address| Listener::bind(address, shards).expect("bound")).collect(),
        targets: Vec::new(),
        sources: Vec::new(),
        limits,
        options: EngineOptions::default(),
        incoming_cpus: Vec::new(),
    }
}

/// A fleet of these protocols behind one TCP listener.
fn serve<S, F>(engine: Engine, shards: usize, limits: Limits, make: F) -> (Fleet<S>, SocketAddr)
where
    S: engine::Shard + Send,
    F: Fn(usize) -> S + Send + Sync + 'static,
{
    let fleet =
        launch(plan(engine, shards, &[any_port()], limits), Arc::new(Board::new(shards)), make).expect("launched");
    let Address::Tcp(address) = fleet.addresses()[0] else { panic!("a TCP listener") };
    (fleet, address)
}

fn finish<S>(fleet: Fleet<S>) -> Vec<S> {
    let begun = Instant::now();
    let shards = fleet.join().into_iter().map(|shard| shard.expect("ended well")).collect();
    assert!(begun.elapsed() < Duration::from_secs(1), "a drain ends within a second, took {:?}", begun.elapsed());
    shards
}

fn dial(address: SocketAddr) -> TcpStream {
    let peer = TcpStream::connect(address).expect("connected");
    peer.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    peer.set_write_timeout(Some(Duration::from_secs(20))).expect("set");
    peer
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !done() {
        assert!(Instant::now() < deadline, "timed out waiting until {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("procfs").count()
}

#[test]
fn echo_in_pieces_and_in_bulk() {
    on_each_engine(|engine| {
        let (fleet, address) = serve(engine, 2, Limits::default(), |_| Echo::default());
        let mut peer = dial(address);
        for size in [1, 2, 1023, 1024, 1025, 5000, 70_000, 1_000_000] {
            let sent: Vec<u8> = (0..size).map(|i| (i * 31 % 251) as u8).collect();
            let mut writer = peer.try_clone().expect("cloned");
            let source = sent.clone();
            let writing = thread::spawn(move || writer.write_all(&source).expect("written"));
            let mut got = vec![0; size];
            peer.read_exact(&mut got).expect("echoed");
            writing.join().expect("joined");
            assert!(got == sent, "{size} bytes came back changed");
        }
        let total = fleet.board().total();
        assert_eq!(total.connections_open, 1);
        assert_eq!(total.received_bytes, total.sent_bytes);
        drop(peer);
        let seen = finish(fleet).into_iter().flat_map(|echo| echo.seen.closed).collect::<Vec<_>>();
        assert_eq!(seen, [Cause::PeerClosed]);
    });
}

#[test]
fn a_hundred_mebibytes_are_streamed_with_a_bounded_outbox() {
    const TOTAL: usize = 100 << 20;
    on_each_engine(|engine| {
        let (fleet, address) = serve(engine, 1, Limits::default(), |_| Blast::new(TOTAL));
        let mut peer = dial(address);
        peer.write_all(b"go").expect("written");
        let mut got = vec![0; 1 << 20];
        let mut at = 0;
        loop {
            let n = peer.read(&mut got).expect("read");
            if n == 0 {
                break;
            }
            for (i, byte) in got[..n].iter().enumerate() {
                assert_eq!(*byte, Blast::byte(at + i), "at {}", at + i);
            }
            at += n;
        }
        assert_eq!(at, TOTAL);
        assert!(fleet.board().total().held_bytes < 1 << 20, "back-pressure needs no memory");
        finish(fleet);
    });
}

#[test]
fn a_reader_that_stops_is_cut_off_and_others_are_served() {
    on_each_engine(|engine| {
        let limits = Limits { write_stall_ns: 400_000_000, ..Limits::default() };
        let (fleet, address) = serve(engine, 1, limits, |_| Blast::new(1 << 40));
        let mut stalled = dial(address);
        stalled.write_all(b"go").expect("written");
        thread::sleep(Duration::from_millis(100));
        let mut lively = dial(address);
        lively.write_all(b"go").expect("written");
        let mut some = [0; 4096];
        let begun = Instant::now();
        while fleet.board().total().closed_stalled == 0 {
            lively.read_exact(&mut some).expect("the other is served meanwhile");
            assert!(begun.elapsed() < Duration::from_secs(10), "the stalled reader was not cut off");
        }
        assert!(fleet.board().total().held_bytes < 1 << 20);
        drop((stalled, lively));
        let blast = finish(fleet).remove(0);
        assert!(blast.seen.closed.contains(&Cause::WriteStalled), "{:?}", blast.seen.closed);
    });
}

#[test]
fn a_peer_that_sends_without_end_does_not_starve_others_and_takes_no_memory() {
    on_each_engine(|engine| {
        let (fleet, address) = serve(engine, 1, Limits::default(), |_| Echo::sink());
        let mut flood = dial(address);
        let stop = Arc::new(AtomicUsize::new(0));
        let flooding = {
            let stop = Arc::clone(&stop);
            thread::spawn(move || {
                let block = vec![7; 1 << 20];
                while stop.load(Ordering::Relaxed) == 0 && flood.write_all(&block).is_ok() {}
            })
        };
        let mut other = dial(address);
        for round in 0..200 {
            other.write_all(b"?").expect("written");
            let mut byte = [0];
            other.read_exact(&mut byte).unwrap_or_else(|error| panic!("round {round}: {error}"));
        }
        assert!(fleet.board().total().held_bytes < 1 << 20, "{}", fleet.board().total().held_bytes);
        stop.store(1, Ordering::Relaxed);
        flooding.join().expect("joined");
        finish(fleet);
    });
}

#[test]
fn a_half_closed_peer_gets_its_whole_answer() {
    on_each_engine(|engine| {
        let (fleet, address) = serve(engine, 1, Limits::default(), |_| Echo::default());
        let mut peer = dial(address);
        let sent = vec![9; 3_000_000];
        let mut writer = peer.try_clone().expect("cloned");
        let source = sent.clone();
        let writing = thread::spawn(move || {
            writer.write_all(&source).expect("written");
            writer.shutdown(Shutdown::Write).expect("shut down");
        });
        let mut got = Vec::new();
        peer.read_to_end(&mut got).expect("read to the end");
        writing.join().expect("joined");
        assert_eq!(got.len(), sent.len());
        wait_until("the connection is closed", || fleet.board().total().connections_open == 0);
        finish(fleet);
    });
}

#[test]
fn ticks_of_a_hundred_microseconds_are_kept() {
    on_each_engine(|engine| {
        let ticks = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&ticks);
        let (fleet, _) = serve(engine, 1, Limits::default(), move |_| Ticker::new(100_000, Arc::clone(&counter)));
        thread::sleep(Duration::from_millis(500));
        let ticks = ticks.load(Ordering::Relaxed);
        finish(fleet);
        // 5,000 were due. A runtime timer with steps of a millisecond would make 500; a busy machine makes fewer than all.
        assert!((1500..=5_100).contains(&ticks), "{ticks} ticks in half a second");
    });
}

#[test]
fn a_deadline_of_the_protocol_closes_and_the_peer_sees_it() {
    on_each_engine(|engine| {
        let (fleet, address) = serve(engine, 1, Limits::default(), |_| Deadline::new(100_000_000));
        let mut silent = dial(address);
        let mut got = Vec::new();
        let begun = Instant::now();
        silent.read_to_end(&mut got).expect("read to the end");
        assert_eq!(got, b"too late", "the last word arrives before the end");
        assert!(begun.elapsed() >= Duration::from_millis(90) && begun.elapsed() < Duration::from_secs(5));
        drop(silent);
        wait_until("it is closed", || fleet.board().total().connections_open == 0);
        // The hard way: closed without a word while a receive is pending.
        let mut abrupt = dial(address);
        abrupt.write_all(b"x").expect("written");
        let n = abrupt.read(&mut [0; 16]).unwrap_or(0);
        assert_eq!(n, 0);
        wait_until("both are closed", || fleet.board().total().connections_open == 0);
        let deadline = finish(fleet).remove(0);
        assert_eq!(deadline.seen.closed, [Cause::Finished, Cause::Requested]);
    });
}

#[test]
fn a_close_with_unread_input_does_not_reset_the_answer() {
    on_each_engine(|engine| {
        let (fleet, address) = serve(engine, 1, Limits::default(), |_| Echo::closing_after(b"bye"));
        for _ in 0..50 {
            let mut peer = dial(address);
            // Far more than it reads: a plain close would answer with a reset and could destroy the last bytes.
            peer.write_all(&[1; 200_000]).expect("written");
            let mut got = Vec::new();
            peer.read_to_end(&mut got).expect("no reset");
            assert_eq!(got, b"bye");
        }
        wait_until("all are closed", || fleet.board().total().connections_open == 0);
        finish(fleet);
    });
}

#[test]
fn memory_follows_what_arrives_and_stops_at_the_limit() {
    on_each_engine(|engine| {
        let limits = Limits { max_memory_bytes: 64 << 20, ..Limits::default() };
        let (fleet, address) = serve(engine, 1, limits, |_| Hoarder::default());
        let slow: Vec<TcpStream> = (0..1000)
            .map(|_| {
                let mut peer = dial(address);
                peer.write_all(b"announced").expect("written");
                peer
            })
            .collect();
        wait_until("all are open", || fleet.board().total().received_bytes == 9000);
        assert!(fleet.board().total().held_bytes < 8 << 20, "{}", fleet.board().total().held_bytes);
        let peak = Arc::new(AtomicU64::new(0));
        let real: Vec<_> = (0..100)
            .map(|_| {
                let mut peer = dial(address);
                thread::spawn(move || {
                    let block = vec![1; 1 << 16];
                    (0..64 * 16).all(|_| peer.write_all(&block).is_ok())
                })
            })
            .collect();
        while real.iter().any(|thread| !thread.is_finished()) {
            peak.fetch_max(fleet.board().total().held_bytes, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(1));
        }
        assert!(peak.load(Ordering::Relaxed) <= 64 << 20, "held {}", peak.load(Ordering::Relaxed));
        assert!(fleet.board().total().closed_over_memory > 0, "the limit was never reached: this proves nothing");
        for thread in real {
            thread.join().expect("joined");
        }
        let mut after = dial(address);
        after.write_all(b"end").expect("written");
        after.shutdown(Shutdown::Write).expect("shut down");
        assert_eq!(after.read(&mut [0; 4]).expect("still served"), 0);
        drop(slow);
        finish(fleet);
    });
}

#[test]
fn connections_beyond_the_limit_are_closed_at_once_and_counted() {
    on_each_engine(|engine| {
        let limits = Limits { max_connections: 3, ..Limits::default() };
        let (fleet, address) = serve(engine, 1, limits, |_| Echo::default());
        let mut kept: Vec<_> = (0..3).map(|_| dial(address)).collect();
        wait_until("three are open", || fleet.board().total().connections_open == 3);
        let mut refused = dial(address);
        assert_eq!(refused.read(&mut [0; 1]).unwrap_or(0), 0);
        assert_eq!(fleet.board().total().connections_refused, 1);
        drop(kept.pop());
        wait_until("one has left", || fleet.board().total().connections_open == 2);
        let mut next = dial(address);
        next.write_all(b"!").expect("written");
        next.read_exact(&mut [0; 1]).expect("there is room again");
        finish(fleet);
    });
}

#[test]
fn unix_listeners_deal_their_connections_to_all_shards() {
    on_each_engine(|engine| {
        let path = PathBuf::from(format!("/tmp/zapring-contract-{}-{engine}.sock", std::process::id()));
        let listen = [Address::Unix(path.clone())];
        let fleet = launch(plan(engine, 3, &listen, Limits::default()), Arc::new(Board::new(3)), |_| Echo::default())
            .expect("launched");
        let mut peers: Vec<_> = (0..9).map(|_| UnixStream::connect(&path).expect("connected")).collect();
        for peer in &mut peers {
            peer.write_all(b"unix").expect("written");
            let mut got = [0; 4];
            peer.read_exact(&mut got).expect("echoed");
            assert_eq!(&got, b"unix");
        }
        let spread: Vec<u64> = fleet.board().read().iter().map(|shard| shard.connections_opened).collect();
        assert_eq!(spread, [3, 3, 3]);
        drop(peers);
        finish(fleet);
        assert!(!path.exists(), "the socket file is removed");
    });
}

#[test]
fn targets_are_connected_to_and_failures_told() {
    on_each_engine(|engine| {
        let server = TcpListener::bind("127.0.0.1:0").expect("bound");
        let open = server.local_addr().expect("bound");
        let closed = {
            let socket = TcpListener::bind("127.0.0.1:0").expect("bound");
            socket.local_addr().expect("bound")
        };
        let mut plan = plan(engine, 1, &[], Limits::default());
        plan.targets = vec![Address::Tcp(open), Address::Tcp(closed), Address::Unix("/nowhere/at/all".into())];
        let mut fleet = launch(plan, Arc::new(Board::new(1)), |_| Caller::new(vec![0, 1, 2])).expect("launched");
        let (mut peer, _) = server.accept().expect("accepted");
        let mut got = [0; 5];
        peer.read_exact(&mut got).expect("the opened connection speaks first");
        assert_eq!(&got, b"hello");
        peer.write_all(b"done").expect("written");
        assert!(fleet.wait(Duration::from_secs(5)), "the shard finishes by itself");
        let caller = finish(fleet).remove(0);
        let mut failed = caller.failed.clone();
        failed.sort();
        assert_eq!(failed, [(1, ErrorKind::ConnectionRefused), (2, ErrorKind::NotFound)]);
        assert_eq!(caller.seen.closed.len(), 1);
    });
}

#[test]
fn connections_come_from_the_sources_asked_for() {
    on_each_engine(|engine| {
        let server = TcpListener::bind("127.0.0.1:0").expect("bound");
        let mut plan = plan(engine, 1, &[], Limits::default());
        plan.targets = vec![Address::Tcp(server.local_addr().expect("bound"))];
        plan.sources = ["127.0.0.2", "127.9.0.3", "192.0.2.1"].map(|ip| ip.parse().expect("an address")).into();
        let dials = [Some(0), Some(1), None, Some(2), Some(1)].map(|source| (0, source)).to_vec();
        let mut fleet =
            launch(plan, Arc::new(Board::new(1)), move |_| Caller::from_sources(dials.clone())).expect("launched");
        let mut peers: Vec<String> = (0..4)
            .map(|_| {
                let (mut peer, from) = server.accept().expect("accepted");
                peer.write_all(b"done").expect("written");
                from.ip().to_string()
            })
            .collect();
        peers.sort();
        assert_eq!(peers, ["127.0.0.1", "127.0.0.2", "127.9.0.3", "127.9.0.3"], "{engine}");
        assert!(fleet.wait(Duration::from_secs(5)), "the shard finishes by itself");
        assert_eq!(finish(fleet).remove(0).failed, [(0, ErrorKind::AddrNotAvailable)], "{engine}");
    });
}

#[test]
fn a_connection_that_never_comes_about_times_out() {
    on_each_engine(|engine| {
        // A listener whose queue is full answers no more handshakes.
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("made");
        socket.bind(&"127.0.0.1:0".parse::<SocketAddr>().expect("an address").into()).expect("bound");
        socket.listen(0).expect("listening");
        let full = socket.local_addr().expect("bound").as_socket().expect("an IP address");
        let _queued: Vec<_> =
            (0..3).filter_map(|_| TcpStream::connect_timeout(&full, Duration::from_millis(200)).ok()).collect();
        let limits = Limits { connect_timeout_ns: 300_000_000, ..Limits::default() };
        let mut plan = plan(engine, 1, &[], limits);
        plan.targets = vec![Address::Tcp(full)];
        let mut fleet = launch(plan, Arc::new(Board::new(1)), |_| Caller::new(vec![0])).expect("launched");
        assert!(fleet.wait(Duration::from_secs(5)), "the shard gives up by itself");
        let caller = finish(fleet).remove(0);
        assert_eq!(caller.failed, [(0, ErrorKind::TimedOut)]);
    });
}

#[test]
fn no_descriptor_is_left_and_no_slot_mixes_peers_up() {
    on_each_engine(|engine| {
        let before = open_descriptors();
        let (fleet, address) = serve(engine, 2, Limits::default(), |_| Echo::default());
        for round in 0..40_u32 {
            let mut peers: Vec<_> = (0..25).map(|_| dial(address)).collect();
            for (i, peer) in peers.iter_mut().enumerate() {
                let tag = [round as u8, i as u8, 0xaa, 0x55];
                peer.write_all(&tag).expect("written");
                if i % 3 == 0 {
                    // Leaves without reading: a reset under way.
                    socket2::SockRef::from(&*peer).set_linger(Some(Duration::ZERO)).expect("set");
                }
            }
            for (i, peer) in peers.iter_mut().enumerate() {
                if i % 3 != 0 {
                    let mut got = [0; 4];
                    peer.read_exact(&mut got).expect("echoed");
                    assert_eq!(got, [round as u8, i as u8, 0xaa, 0x55], "somebody else's bytes");
                }
            }
        }
        wait_until("all are closed", || fleet.board().total().connections_open == 0);
        assert_eq!(fleet.board().total().connections_opened, 1000);
        finish(fleet);
        // glommio keeps the eventfd of every executor that has ended (DataDog/glommio#448): one for each shard, none more.
        let kept = if engine == Engine::Glommio { 2 } else { 0 };
        wait_until("all descriptors are closed", || open_descriptors() == before + kept);
    });
}

#[test]
fn an_idle_engine_takes_no_cpu() {
    on_each_engine(|engine| {
        let (fleet, address) = serve(engine, 2, Limits::default(), |_| Echo::default());
        let peers: Vec<_> = (0..50).map(|_| dial(address)).collect();
        wait_until("all are open", || fleet.board().total().connections_open == 50);
        thread::sleep(Duration::from_millis(300));
        let cpu = || -> u64 {
            let process = procfs::process::Process::myself().expect("procfs");
            let tasks = process.tasks().expect("procfs").flatten();
            tasks
                .filter(|t| t.stat().is_ok_and(|s| s.comm.starts_with("shard-")))
                .map(|t| t.schedstat().map_or(0, |s| s.sum_exec_runtime))
                .sum()
        };
        let before = cpu();
        thread::sleep(Duration::from_secs(1));
        let used_ns = cpu() - before;
        assert!(used_ns < 10_000_000, "{used_ns} ns of CPU in an idle second");
        drop(peers);
        finish(fleet);
    });
}

#[test]
fn a_drain_lets_answers_finish_and_cuts_off_what_does_not() {
    on_each_engine(|engine| {
        let (fleet, address) = serve(engine, 1, Limits::default(), |_| Blast::new(8 << 20));
        let mut busy = dial(address);
        busy.write_all(b"go").expect("written");
        let mut first = [0; 1];
        busy.read_exact(&mut first).expect("under way");
        let mut stuck = dial(address);
        stuck.write_all(b"go").expect("written");
        let idle = dial(address);
        wait_until("three are open", || fleet.board().total().connections_open == 3);
        let reading = thread::spawn(move || {
            let mut rest = Vec::new();
            busy.read_to_end(&mut rest).map(|n| n + 1)
        });
        finish(fleet);
        assert_eq!(reading.join().expect("joined").expect("read to the end"), 8 << 20);
        drop((stuck, idle));
    });
}

#[test]
fn running_out_of_descriptors_pauses_accepting_and_recovers() {
    on_each_engine(|engine| {
        let (fleet, address) = serve(engine, 1, Limits::default(), |_| Echo::default());
        let kept = [dial(address)];
        wait_until("one is open", || fleet.board().total().connections_open == 1);
        // Fill the table up to its limit with copies of one.
        let mut fillers = Vec::new();
        while let Ok(copy) = kept[0].try_clone() {
            fillers.push(copy);
            assert!(fillers.len() < 1 << 21, "the limit of descriptors of this host is too high to be reached");
        }
        fillers.pop();
        // One descriptor is free: it goes to the peer's side, and the engine finds none to accept with.
        let mut waiting = TcpStream::connect(address).expect("in the backlog");
        wait_until("accepting pauses", || fleet.board().total().accept_pauses > 0);
        let pauses = fleet.board().total().accept_pauses;
        thread::sleep(Duration::from_millis(300));
        let more = fleet.board().total().accept_pauses - pauses;
        assert!(more <= 6, "it retries every 100 ms and does not spin: {more} in 300 ms");
        drop(fillers);
        waiting.set_read_timeout(Some(Duration::from_secs(5))).expect("set");
        waiting.write_all(b"?").expect("written");
        waiting.read_exact(&mut [0; 1]).expect("accepted once there was room");
        finish(fleet);
    });
}

#[test]
fn a_panic_in_a_protocol_is_reported_and_not_swallowed() {
    on_each_engine(|engine| {
        let (fleet, address) = serve(engine, 1, Limits::default(), |_| Echo::panicking());
        let mut peer = dial(address);
        peer.write_all(b"boom").expect("written");
        let mut fleet = fleet;
        assert!(fleet.wait(Duration::from_secs(5)), "the shard's end is noticed");
        let error = fleet.join().remove(0).err().expect("it did not end well");
        assert!(error.to_string().contains("panicked: asked to"), "{error}");
    });
}

#[test]
fn signals_do_not_disturb() {
    on_each_engine(|engine| {
        extern "C" fn ignore(_: libc::c_int) {}
        // SAFETY: installs a handler that does nothing, without SA_RESTART, so that system calls are interrupted.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = ignore as extern "C" fn(libc::c_int) as usize;
            assert_eq!(libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()), 0);
        }
        let (fleet, address) = serve(engine, 1, Limits::default(), |_| Echo::default());
        let mut peer = dial(address);
        let me = procfs::process::Process::myself().expect("procfs");
        let task = me
            .tasks()
            .expect("procfs")
            .flatten()
            .find(|t| t.stat().is_ok_and(|s| s.comm == "shard-0"))
            .expect("a thread");
        for round in 0..300_u32 {
            // SAFETY: sends a signal that has a handler to a thread of this process.
            unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), task.tid, libc::SIGUSR1) };
            peer.write_all(&round.to_ne_bytes()).expect("written");
            let mut got = [0; 4];
            peer.read_exact(&mut got).expect("echoed");
            assert_eq!(got, round.to_ne_bytes());
        }
        finish(fleet);
    });
}

#[test]
fn shards_are_pinned_and_the_pin_is_read_back() {
    on_each_engine(|engine| {
        let mut plan = plan(engine, 1, &[], Limits::default());
        plan.cores = vec![0];
        let fleet = launch(plan, Arc::new(Board::new(1)), |_| Echo::default()).expect("launched");
        assert_eq!(fleet.granted()[0].core, Some(0));
        // epoll has no ring, and glommio's are made without flags.
        assert_eq!(fleet.granted()[0].setup.is_some(), matches!(engine, Engine::Monoio | Engine::Uring));
        finish(fleet);
        let mut plan = plan_for_core(engine, 100_000);
        plan.shards = 1;
        let error = launch(plan, Arc::new(Board::new(1)), |_| Echo::default()).err().expect("no such core");
        assert!(error.to_string().contains("core 100000"), "{error}");
    });
}

fn plan_for_core(engine: Engine, core: usize) -> Plan {
    Plan { cores: vec![core], ..plan(engine, 1, &[], Limits::default()) }
}
