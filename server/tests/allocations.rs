//! A request costs no allocation once its connection has warmed up.

mod driver;

use std::{sync::Arc, time::SystemTime};

use driver::{floor_frame, frame};
use engine::{Board, Cause, Conn, Cx, Origin, Outbox, Shard, Wishes};
use server::{Published, ServerOptions, ServerShard, Wire};

#[global_allocator]
static COUNTING: counting::Counting = counting::Counting;

struct Bench {
    shard: ServerShard,
    wishes: Wishes,
    out: Outbox,
    now_ns: u64,
}

const CONN: u32 = 0;

impl Bench {
    fn new(wire: Wire) -> Self {
        let options = Arc::new(ServerOptions { wires: vec![wire], ..ServerOptions::default() });
        let published = Arc::new(Published::new(Arc::new(Board::new(1)), 1));
        let shard = ServerShard::new(0, options, published, SystemTime::now);
        let mut bench = Bench { shard, wishes: Wishes::default(), out: Outbox::new(64 * 1024), now_ns: 0 };
        bench.shard.tick(&mut Cx::new(0, 1 << 30, &mut bench.wishes));
        bench.open();
        bench
    }

    fn open(&mut self) {
        let mut cx = Cx::new(self.now_ns, 1 << 30, &mut self.wishes);
        self.shard.open(Conn::new(CONN), Origin::Accepted { listener: 0 }, &mut cx);
    }

    fn close(&mut self) {
        let mut cx = Cx::new(self.now_ns, 1 << 30, &mut self.wishes);
        self.shard.closed(Conn::new(CONN), Cause::PeerClosed, &mut cx);
    }

    /// One input, until all of it is answered and sent.
    fn turn(&mut self, mut input: &[u8]) {
        let conn = Conn::new(CONN);
        self.now_ns += 10_000_000;
        loop {
            let mut cx = Cx::new(self.now_ns, 1 << 30, &mut self.wishes);
            let taken = self.shard.data(conn, input, false, Some(&mut self.out), &mut cx);
            input = &input[taken.consumed..];
            self.out.clear();
            while self.shard.fill(conn, &mut self.out, &mut cx) == engine::Flow::More {
                self.out.clear();
            }
            self.out.clear();
            if input.is_empty() {
                return;
            }
        }
    }

    /// Allocations of a thousand turns after a hundred.
    fn allocations(&mut self, inputs: &[&[u8]]) -> u64 {
        let mut run = |turns: usize| {
            let before = counting::of_this_thread();
            for _ in 0..turns {
                inputs.iter().for_each(|input| self.turn(input));
            }
            counting::of_this_thread() - before
        };
        run(100);
        run(1000)
    }
}

fn http(method: &str, target: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n{body}").into_bytes()
}

#[test]
fn no_request_on_http_allocates() {
    let call =
        r#"{"method":"eth_getBalance","account":"0xdeadbeef00112233445566778899aabbccddeeff","block":68943,"id":1}"#;
    let echo = http("POST", "/echo", "Content-Type: t\r\nX-A: 1\r\nContent-Length: 5\r\n", "hello");
    let chunked = http("POST", "/echo", "Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\r\n");
    for (name, input) in [
        ("health", http("GET", "/health", "", "")),
        ("health x 16", http("GET", "/health", "", "").repeat(16)),
        ("head", http("HEAD", "/health", "", "")),
        ("plaintext", http("GET", "/plaintext", "", "")),
        ("json", http("GET", "/json", "", "")),
        ("echo", echo.clone()),
        ("echo x 16", echo.repeat(16)),
        ("echo in chunks", chunked),
        ("rpc", http("POST", "/rpc", &format!("Content-Length: {}\r\n", call.len()), call)),
        ("malformed rpc", http("POST", "/rpc", "Content-Length: 2\r\n", "no")),
        ("bytes", http("GET", "/bytes/50000", "", "")),
        ("stream", http("GET", "/stream/10/20000", "", "")),
        ("not found", http("GET", "/none", "", "")),
        ("not allowed", http("POST", "/health", "Content-Length: 0\r\n", "")),
    ] {
        let allocations = Bench::new(Wire::Http).allocations(&[&input]);
        // serde_json boxes its errors, and the text that names what was expected.
        let most = if name == "malformed rpc" { 3 * 1000 } else { 0 };
        assert!(allocations <= most, "{name}: {allocations}");
    }
}

#[test]
fn no_body_in_pieces_allocates() {
    let head = http("POST", "/echo", "Transfer-Encoding: chunked\r\n", "");
    let pieces: [&[u8]; 4] = [&head, b"5\r\nhel", b"lo\r\n0", b"\r\n\r\n"];
    assert_eq!(Bench::new(Wire::Http).allocations(&pieces), 0);
}

#[test]
fn no_request_on_zap_allocates() {
    let mut call = Vec::new();
    codec::rpc::SAMPLE_REQUEST.encode(&mut call).unwrap();
    let echo = frame("POST", "/echo", &[("Content-Type", "t"), ("X-A", "1")], b"hello");
    for (name, input) in [
        ("health", frame("GET", "/health", &[("Host", "localhost")], b"")),
        ("health x 16", frame("GET", "/health", &[("Host", "localhost")], b"").repeat(16)),
        ("plaintext", frame("GET", "/plaintext", &[], b"")),
        ("json", frame("GET", "/json", &[], b"")),
        ("echo", echo.clone()),
        ("echo x 16", echo.repeat(16)),
        ("rpc", frame("POST", "/rpc", &[("Content-Type", "application/zap")], &call)),
        ("malformed rpc", frame("POST", "/rpc", &[], b"no")),
        ("bytes", frame("GET", "/bytes/50000", &[], b"")),
        ("stream", frame("GET", "/stream/10/20000", &[], b"")),
        ("not found", frame("GET", "/none", &[], b"")),
    ] {
        assert_eq!(Bench::new(Wire::Zap).allocations(&[&input]), 0, "{name}");
    }
}

#[test]
fn no_request_on_floor_allocates() {
    let large = floor_frame(64 * 1024, 1 << 20);
    for (name, input) in [
        ("as zap's health", floor_frame(111, 114)),
        ("as zap's health x 16", floor_frame(111, 114).repeat(16)),
        ("smallest", floor_frame(8, 4)),
        ("1 MiB back", large.clone()),
        ("in turns", [floor_frame(8, 4), large, floor_frame(1000, 1000)].concat()),
    ] {
        assert_eq!(Bench::new(Wire::Floor).allocations(&[&input]), 0, "{name}");
    }
}

#[test]
fn no_connection_after_the_first_allocates() {
    for (wire, input) in [
        (Wire::Http, http("GET", "/health", "", "")),
        (Wire::Zap, frame("GET", "/health", &[], b"")),
        (Wire::Floor, floor_frame(111, 114)),
    ] {
        let mut bench = Bench::new(wire);
        bench.allocations(&[&input]);
        let before = counting::of_this_thread();
        for _ in 0..1000 {
            bench.close();
            bench.open();
            bench.turn(&input);
        }
        assert_eq!(counting::of_this_thread() - before, 0, "{wire}");
    }
}
