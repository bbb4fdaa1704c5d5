//! Instructions per request of the server's protocol, with slices in and slices out: nothing of the engine, nothing of the
//! kernel.
//!
//! Counted by callgrind, which needs no hardware counters; the difference of two run lengths leaves out the start:
//!
//! ```text
//! cargo build --release -p server --example server_instructions
//! for n in 10000 20000; do
//!   valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/server_instructions http /health $n 1
//! done
//! ```
//!
//! Arguments: wire (`zap`, `http` or `floor`), target (none on floor, give `-`), turns, requests pipelined per turn (default 1).
//! `/echo` is posted a body of 128 bytes, `/rpc` the sample call. A turn is one `data` and one `fill`. Instructions per request =
//! (Collected of 20000 - Collected of 10000) / 10000 / pipelined. `all` instead of a wire does it all, given `valgrind`.

use std::{env, process::Command, sync::Arc, time::SystemTime};

use codec::zap::request::{RequestHead, encode};
use engine::{Board, Conn, Cx, Origin, Outbox, Shard, Wishes};
use server::{Published, ServerOptions, ServerShard, Wire};

const JSON_CALL: &[u8] =
    br#"{"method":"eth_getBalance","account":"0xdeadbeef00112233445566778899aabbccddeeff","block":68943,"id":1}"#;

fn body(wire: Wire, target: &str) -> Vec<u8> {
    let mut body = Vec::new();
    match (target, wire) {
        ("/echo", _) => body.resize(128, b'x'),
        ("/rpc", Wire::Zap) => codec::rpc::SAMPLE_REQUEST.encode(&mut body).expect("a small record"),
        ("/rpc", Wire::Http) => body.extend_from_slice(JSON_CALL),
        _ => {}
    }
    body
}

fn request(wire: Wire, target: &str) -> Vec<u8> {
    let body = body(wire, target);
    let method = if body.is_empty() { "GET" } else { "POST" };
    match wire {
        Wire::Floor => {
            let mut out = Vec::new();
            codec::floor::Sizes::default().write_request(&mut out).expect("within bounds");
            out
        }
        Wire::Zap => {
            let mut out = Vec::new();
            let headers = [("Host", "localhost"), ("Content-Type", "application/zap")];
            let headers = if body.is_empty() { &headers[..1] } else { &headers[..] };
            let head = RequestHead { method: method.as_bytes(), target: target.as_bytes(), proto: b"", headers };
            encode(&mut out, &head, &body, ()).expect("a small frame");
            out
        }
        Wire::Http => {
            let mut out = format!("{method} {target} HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n");
            if !body.is_empty() {
                out.push_str(&format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len()));
            }
            out.push_str("\r\n");
            [out.as_bytes(), &body].concat()
        }
    }
}

fn turns(wire: Wire, target: &str, turns: u64, pipelined: usize) -> u64 {
    let options = Arc::new(ServerOptions { wires: vec![wire], ..ServerOptions::default() });
    let published = Arc::new(Published::new(Arc::new(Board::new(1)), 1));
    let mut shard = ServerShard::new(0, options, published, SystemTime::now);
    let mut wishes = Wishes::default();
    let mut out = Outbox::new(64 * 1024);
    let conn = Conn::new(0);
    let input = request(wire, target).repeat(pipelined);
    shard.tick(&mut Cx::new(0, 1 << 30, &mut wishes));
    shard.open(conn, Origin::Accepted { listener: 0 }, &mut Cx::new(0, 1 << 30, &mut wishes));
    let mut sent_bytes = 0;
    for turn in 0..turns {
        let mut cx = Cx::new(turn * 1000, 1 << 30, &mut wishes);
        let taken = shard.data(conn, &input, false, Some(&mut out), &mut cx);
        assert_eq!(taken.consumed, input.len(), "answered in one turn");
        sent_bytes += out.len_bytes() as u64;
        out.clear();
        shard.fill(conn, &mut out, &mut cx);
    }
    sent_bytes
}

/// What callgrind counts for a run of this program.
fn counted(wire: &str, target: &str, turns: u64, pipelined: usize) -> u64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(env::current_exe().expect("this program has a path"))
        .args([wire, target, &turns.to_string(), &pipelined.to_string()])
        .output()
        .expect("valgrind is installed");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text.lines().find_map(|line| line.split_once("Collected :")).expect("callgrind says what it collected");
    line.1.trim().parse().expect("a number")
}

fn all() {
    println!("{:<6}{:<14}{:>14}{:>18}", "wire", "target", "alone", "16 pipelined");
    let targets = ["/health", "/plaintext", "/json", "/echo", "/rpc", "/bytes/1024", "/none"];
    for (wire, targets) in [("floor", &["-"][..]), ("zap", &targets), ("http", &targets)] {
        for target in targets {
            let per_request = |pipelined| {
                let (low, high) = (counted(wire, target, 2000, pipelined), counted(wire, target, 4000, pipelined));
                (high - low) as f64 / 2000.0 / pipelined as f64
            };
            println!("{wire:<6}{target:<14}{:>14.1}{:>18.1}", per_request(1), per_request(16));
        }
    }
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let word = |index: usize| arguments.get(index).map(String::as_str);
    let wire = match word(0) {
        Some("zap") => Wire::Zap,
        Some("http") => Wire::Http,
        Some("floor") => Wire::Floor,
        Some("all") => return all(),
        _ => panic!("usage: instructions zap|http|floor TARGET [TURNS [PIPELINED]], or instructions all"),
    };
    let number = |index, default| word(index).map_or(default, |text| text.parse().expect("a number"));
    let target = word(1).unwrap_or("/health");
    println!("{} bytes sent", turns(wire, target, number(2, 10_000), number(3, 1) as usize));
}
