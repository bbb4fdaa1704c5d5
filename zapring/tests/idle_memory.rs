//! What an idle connection costs: memory of the server's process for each of ten thousand that have been served and now wait.

mod support;

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
};

use support::{ENGINES, Server, dial, framed, private_bytes, vector, wait_until};

/// Connections that make the base: tables, buffers and code that the first ones need.
const BASE: usize = 1_000;
/// Those that are counted, as far as the limit of descriptors allows.
const COUNTED: usize = 10_000;
/// Descriptors that are left for other things.
const SPARE: usize = 200;

#[derive(Clone, Copy)]
enum Wire {
    Http,
    Zap,
}

/// A connection that has had one answer.
fn served(wire: Wire, address: SocketAddr) -> TcpStream {
    let mut peer = dial(address);
    let (request, answer_bytes) = match wire {
        Wire::Http => (b"GET /health HTTP/1.1\r\nHost: t\r\n\r\n".to_vec(), None),
        Wire::Zap => (framed(&vector("req_get_health")), Some(framed(&vector("resp_200_ok")).len())),
    };
    peer.write_all(&request).expect("written");
    let mut answer = vec![0; answer_bytes.unwrap_or(1024)];
    match answer_bytes {
        Some(_) => peer.read_exact(&mut answer).expect("answered"),
        None => {
            let bytes = peer.read(&mut answer).expect("answered");
            assert!(answer[..bytes].ends_with(b"\r\n\r\nok"), "{:?}", String::from_utf8_lossy(&answer[..bytes]));
        }
    }
    peer
}

#[test]
fn an_idle_connection_takes_little_memory() {
    let descriptors = engine::raise_nofile().expect("a limit") as usize;
    let counted = COUNTED.min(descriptors.saturating_sub(BASE + SPARE));
    assert!(counted >= 2_000, "the limit of {descriptors} descriptors is too low for this to tell anything");
    for engine in ENGINES {
        for wire in [Wire::Http, Wire::Zap] {
            let server = Server::start(engine, &["--cores", "0"]);
            let (address, name) = match wire {
                Wire::Http => (server.http, "http"),
                Wire::Zap => (server.zap, "zap"),
            };
            let open = || server.stats()["connections"]["connections_open"].as_u64().expect("a count");
            let mut peers: Vec<TcpStream> = (0..BASE).map(|_| served(wire, address)).collect();
            let base_bytes = private_bytes(server.pid());
            peers.extend((0..counted).map(|_| served(wire, address)));
            assert!(open() as usize >= BASE + counted, "some did not stay");
            let all_bytes = private_bytes(server.pid());
            let each = all_bytes.saturating_sub(base_bytes) / counted as u64;
            println!("{engine} {name}: {each} bytes for each of {counted} idle connections above {base_bytes} bytes");
            let most = match engine {
                "uring" => Some(1024),
                "monoio" | "epoll" => Some(4096),
                // Its own sources are its own business: told, not promised.
                _ => None,
            };
            assert!(most.is_none_or(|most| each <= most), "{engine} {name}: {each} bytes for each idle connection");
            drop(peers);
            // Only the one that asks.
            wait_until("all are closed", || open() == 1);
        }
    }
}
