//! Peers that mean no good: what they send costs them their connection, and nobody else anything.

mod support;

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpStream},
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use support::{ENGINES, Server, dial, framed, rss_bytes, rss_peak_bytes, vector, wait_until};

/// Every malformed vector by name.
fn malformed() -> Vec<String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../codec/tests/vectors");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("the vectors are in the repository")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok()?.strip_suffix(".hex").map(str::to_owned))
        .filter(|name| name.starts_with("bad_"))
        .collect();
    names.sort();
    assert!(names.len() >= 27, "{names:?}");
    names
}

#[test]
fn malformed_frames_leave_the_server_answering_others() {
    for engine in ENGINES {
        let server = Server::start(engine, &["--cores", "0"]);
        let mut bystander = dial(server.zap);
        let health = framed(&vector("req_get_health"));
        let ok = framed(&vector("resp_200_ok"));
        for name in malformed() {
            let mut peer = dial(server.zap);
            peer.write_all(&framed(&vector(&name))).expect("written");
            peer.shutdown(Shutdown::Write).expect("shut down");
            let mut answer = Vec::new();
            peer.read_to_end(&mut answer).expect("closed in order");
            bystander.write_all(&health).expect("written");
            let mut got = vec![0; ok.len()];
            bystander.read_exact(&mut got).unwrap_or_else(|error| panic!("{engine} after {name}: {error}"));
            assert_eq!(got, ok, "{engine} after {name}");
        }
        // HTTP on the ZAP port announces more than a gigabyte; TLS says hello to both.
        for port in [server.zap, server.http] {
            for bytes in [&b"GET / HTTP/1.1\r\nHost: t\r\n\r\n"[..], &[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc], &health] {
                let mut peer = dial(port);
                peer.write_all(bytes).expect("written");
                peer.shutdown(Shutdown::Write).expect("shut down");
                let _ = peer.read_to_end(&mut Vec::new());
            }
        }
        assert!(server.is_well());
    }
}

#[test]
fn announced_frames_take_no_memory_and_sent_ones_stop_at_the_limit() {
    const LIMIT: u64 = 256 << 20;
    for engine in ENGINES {
        let server = Server::start(engine, &["--max-memory", "256MiB"]);
        let announced = (64_u32 << 20).to_be_bytes();
        let mut slow: Vec<TcpStream> = (0..1000)
            .map(|_| {
                let mut peer = dial(server.zap);
                peer.write_all(&announced).expect("written");
                peer
            })
            .collect();
        for peer in slow.iter_mut().step_by(3) {
            peer.write_all(&[0; 100]).expect("written");
        }
        wait_until("all are open", || server.stats()["connections"]["connections_open"].as_u64() >= Some(1000));
        let resident = rss_bytes(server.pid());
        assert!(resident < 64 << 20, "{engine}: {resident} bytes for frames that were only announced");
        assert!(server.is_well());

        let senders: Vec<_> = (0..100)
            .map(|_| {
                let mut peer = dial(server.zap);
                thread::spawn(move || {
                    let block = vec![0x5a; 1 << 18];
                    let _ = peer.write_all(&announced);
                    let _ = (0..256).try_for_each(|_| peer.write_all(&block));
                })
            })
            .collect();
        while senders.iter().any(|sender| !sender.is_finished()) {
            let resident = rss_bytes(server.pid());
            assert!(resident < LIMIT, "{engine}: {resident} bytes resident, the limit is {LIMIT}");
            thread::sleep(Duration::from_millis(5));
        }
        for sender in senders {
            sender.join().expect("joined");
        }
        let peak = rss_peak_bytes(server.pid());
        assert!(peak < LIMIT, "{engine}: {peak} bytes at the peak, the limit is {LIMIT}");
        assert!(peak > 64 << 20, "{engine}: {peak}: nothing large arrived, so this proves nothing");
        let closed = server.stats()["connections"]["closed_over_memory"].as_u64();
        assert!(closed > Some(0), "{engine}: the limit was never reached");
        assert!(server.is_well());
        drop(slow);
    }
}

#[test]
fn peers_that_never_read_do_not_hold_others_up() {
    for engine in ENGINES {
        let server = Server::start(engine, &["--cores", "0"]);
        let deaf: Vec<TcpStream> = (0..100)
            .map(|_| {
                let mut peer = dial(server.http);
                peer.write_all(b"GET /bytes/30000000 HTTP/1.1\r\nHost: t\r\n\r\n").expect("written");
                peer
            })
            .collect();
        let begun = Instant::now();
        for _ in 0..50 {
            assert!(server.is_well());
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "{engine}: {:?} for 100 answers", begun.elapsed());
        assert!(rss_bytes(server.pid()) < 128 << 20, "{engine}: unread answers are kept in memory");
        drop(deaf);
    }
}
