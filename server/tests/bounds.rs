//! What one connection may take: room, turns, time and memory; and how the server ends.

mod driver;

use driver::*;
use engine::Shard;
use server::{ServerOptions, Wire, limits};

fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n")
}

fn health(wire: Wire) -> Vec<u8> {
    match wire {
        Wire::Zap => frame("GET", "/health", &[], b""),
        Wire::Http => get("/health").into_bytes(),
        Wire::Floor => floor_frame(111, 114),
    }
}

fn ask_for(wire: Wire, target: &str) -> Vec<u8> {
    match wire {
        Wire::Zap => frame("GET", target, &[], b""),
        Wire::Http => get(target).into_bytes(),
        Wire::Floor => unreachable!("the floor wire has no routes"),
    }
}

fn read(wire: Wire, bytes: &[u8]) -> Vec<Reply> {
    match wire {
        Wire::Zap => zap_replies(bytes),
        Wire::Http => replies(bytes),
        Wire::Floor => floor_replies(bytes)
            .into_iter()
            .map(|bytes| Reply { status: 200, headers: Vec::new(), body: vec![0; bytes] })
            .collect(),
    }
}

/// The wires that have routes.
const WIRES: [Wire; 2] = [Wire::Zap, Wire::Http];

#[test]
fn a_stream_never_fills_more_than_its_room() {
    for wire in WIRES {
        for (target, total_bytes, budget_bytes) in [
            ("/stream/7/1000", 7000, 100),
            ("/stream/2000/3", 6000, 1),
            ("/bytes/300000", 300_000, 1000),
            ("/stream/1600/65536", 100 << 20, 64 * 1024),
        ] {
            let mut driver = Driver::plain();
            driver.budget_bytes = budget_bytes;
            let conn = driver.open(wire);
            driver.send(conn, &[ask_for(wire, target), health(wire)].concat());
            let all = read(wire, &driver.take(conn));
            assert_eq!((all.len(), all[0].body.len(), all[1].text()), (2, total_bytes, "ok"), "{wire} {target}");
            let head_and_frame_bytes = 200;
            assert!(driver.largest_send_bytes <= budget_bytes + head_and_frame_bytes, "{}", driver.largest_send_bytes);
            assert!(driver.sends(conn) >= total_bytes / (budget_bytes + head_and_frame_bytes));
        }
    }
}

#[test]
fn answers_wait_for_room_and_keep_their_order() {
    for wire in WIRES {
        let mut driver = Driver::plain();
        driver.budget_bytes = 150;
        let conn = driver.open(wire);
        let input: Vec<u8> = (0..16).flat_map(|n| ask_for(wire, &format!("/bytes/{n}"))).collect();
        driver.send(conn, &input);
        let lengths: Vec<usize> = read(wire, &driver.take(conn)).iter().map(|reply| reply.body.len()).collect();
        assert_eq!(lengths, (0..16).collect::<Vec<_>>());
        assert!(driver.sends(conn) > 4 && driver.largest_send_bytes < 400);
    }
}

#[test]
fn a_peer_that_sends_without_end_gets_a_bounded_turn() {
    for wire in Wire::ALL {
        let mut driver = Driver::plain();
        driver.budget_bytes = 1 << 30;
        let conn = driver.open(wire);
        driver.send(conn, &health(wire).repeat(1000));
        let answers = driver.take(conn);
        assert_eq!(read(wire, &answers).len(), 1000);
        let bound = limits::MAX_REQUESTS_PER_CALL as usize * answers.len() / 1000;
        assert_eq!((driver.sends(conn), driver.largest_send_bytes), (4, bound));
    }
}

#[test]
fn nothing_is_lost_while_a_send_is_in_flight() {
    for wire in Wire::ALL {
        let mut driver = Driver::plain();
        let conn = driver.open(wire);
        driver.stick(conn, true);
        for _ in 0..10 {
            driver.send(conn, &health(wire));
        }
        driver.stick(conn, false);
        assert_eq!(read(wire, &driver.take(conn)).len(), 10);
    }
}

#[test]
fn b23_a_head_that_takes_too_long_is_answered_and_closed() {
    let mut driver = Driver::plain();
    let http = driver.open(Wire::Http);
    let zap = driver.open(Wire::Zap);
    driver.advance(7 * SECOND_NS);
    driver.send(zap, &[0, 0]);
    // One byte every half second does not move the deadline.
    for byte in get("/health").as_bytes().iter().take(19) {
        driver.send(http, &[*byte]);
        driver.advance(SECOND_NS / 2);
    }
    assert_eq!((driver.end(http), driver.end(zap)), (End::Open, End::Open));
    driver.advance(SECOND_NS);
    let all = replies(&driver.take(http));
    assert_eq!((all[0].status, all[0].header("connection"), driver.end(http)), (408, Some("close"), End::Closed));
    assert_eq!((driver.take(zap), driver.end(zap)), (vec![], End::Closed));
    assert_eq!(driver.published.requests().timeouts, 2);
}

#[test]
fn b23_a_body_that_takes_too_long_is_answered_and_closed() {
    for (framing, piece) in
        [("Content-Length: 999", "x"), ("Content-Length: 999999", "x"), ("Transfer-Encoding: chunked", "1\r\nx\r\n")]
    {
        let mut driver = Driver::plain();
        let conn = driver.open(Wire::Http);
        driver.send(conn, format!("POST /echo HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n").as_bytes());
        for _ in 0..29 {
            driver.advance(SECOND_NS);
            driver.send(conn, piece.as_bytes());
        }
        assert_eq!(driver.end(conn), End::Open);
        driver.advance(2 * SECOND_NS);
        assert_eq!((replies(&driver.take(conn))[0].status, driver.end(conn)), (408, End::Closed), "{framing}");
    }
}

#[test]
fn an_idle_connection_is_closed_in_silence_and_a_busy_one_is_not() {
    for wire in Wire::ALL {
        let mut driver = Driver::plain();
        let (busy, idle) = (driver.open(wire), driver.open(wire));
        for _ in 0..10 {
            driver.advance(10 * SECOND_NS);
            driver.send(busy, &health(wire));
        }
        assert_eq!((driver.take(idle), driver.end(idle)), (vec![], End::Closed));
        assert_eq!(driver.end(busy), End::Open);
        driver.advance(61 * SECOND_NS);
        assert_eq!((driver.end(busy), driver.published.requests().idle_closed), (End::Closed, 2));
    }
}

#[test]
fn time_spent_sending_is_the_engines_business() {
    for wire in WIRES {
        let mut driver = Driver::plain();
        driver.budget_bytes = 1000;
        let conn = driver.open(wire);
        driver.stick(conn, true);
        driver.send(conn, &ask_for(wire, "/stream/100/1000"));
        driver.advance(500 * SECOND_NS);
        assert_eq!(driver.end(conn), End::Open);
        driver.stick(conn, false);
        assert_eq!(read(wire, &driver.take(conn))[0].body.len(), 100_000);
        assert_eq!(driver.end(conn), End::Open);
    }
}

#[test]
fn a_server_without_connections_asks_for_no_time() {
    let mut driver = Driver::plain();
    assert_eq!(driver.tick_at(), None);
    let conn = driver.open(Wire::Http);
    let mut ticks = 0;
    while driver.now_ns < 10 * SECOND_NS {
        let at_ns = driver.tick_at().expect("deadlines are looked at while there are connections");
        driver.advance(at_ns - driver.now_ns);
        ticks += 1;
    }
    assert!(ticks <= 41, "{ticks} ticks in 10 s");
    driver.finish(conn);
    driver.advance(SECOND_NS);
    assert_eq!(driver.tick_at(), None);
}

#[test]
fn deadlines_are_options() {
    let options = ServerOptions {
        idle_timeout_ns: u64::MAX,
        head_timeout_ns: SECOND_NS,
        body_timeout_ns: 3 * SECOND_NS,
        ..ServerOptions::default()
    };
    let mut driver = Driver::new(options);
    let (idle, head, body) = (driver.open(Wire::Http), driver.open(Wire::Http), driver.open(Wire::Http));
    driver.send(head, b"G");
    driver.send(body, b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n");
    driver.advance(2 * SECOND_NS);
    assert_eq!((driver.end(head), driver.end(body)), (End::Closed, End::Open));
    driver.advance(2 * SECOND_NS);
    assert_eq!(driver.end(body), End::Closed);
    driver.advance(100_000 * SECOND_NS);
    assert_eq!(driver.end(idle), End::Open);
}

#[test]
fn draining_closes_the_idle_and_lets_the_busy_finish() {
    let mut driver = Driver::plain();
    driver.budget_bytes = 1000;
    let idle = WIRES.map(|wire| driver.open(wire));
    let streaming = WIRES.map(|wire| {
        let conn = driver.open(wire);
        driver.stick(conn, true);
        driver.send(conn, &ask_for(wire, "/stream/100/100"));
        conn
    });
    let begun = WIRES.map(|wire| {
        let conn = driver.open(wire);
        let input = health(wire);
        driver.send(conn, &input[..input.len() - 1]);
        conn
    });
    let waiting = WIRES.map(|wire| {
        let conn = driver.open(wire);
        driver.stick(conn, true);
        driver.send(conn, &[ask_for(wire, "/bytes/2000"), health(wire), health(wire)].concat());
        conn
    });
    let late = WIRES.map(|wire| {
        let conn = driver.open(wire);
        driver.stick(conn, true);
        driver.send(conn, &health(wire));
        driver.send(conn, &health(wire));
        conn
    });
    driver.drain();
    for conn in idle {
        assert_eq!((driver.take(conn), driver.end(conn)), (vec![], End::Closed));
    }
    for (wire, conn) in WIRES.into_iter().zip(streaming) {
        assert_eq!(driver.end(conn), End::Open);
        driver.stick(conn, false);
        assert_eq!((read(wire, &driver.take(conn))[0].body.len(), driver.end(conn)), (10_000, End::Closed), "{wire}");
    }
    for (wire, conn) in WIRES.into_iter().zip(begun) {
        driver.send(conn, &health(wire)[health(wire).len() - 1..]);
        let all = read(wire, &driver.take(conn));
        assert_eq!((all.len(), all[0].text(), driver.end(conn)), (1, "ok", End::Closed), "{wire}");
        assert_eq!(all[0].header("connection"), (wire == Wire::Http).then_some("close"));
    }
    for (wire, conn) in WIRES.into_iter().zip(late) {
        driver.stick(conn, false);
        assert_eq!((read(wire, &driver.take(conn)).len(), driver.end(conn)), (2, End::Closed), "{wire}");
    }
    for (wire, conn) in WIRES.into_iter().zip(waiting) {
        driver.stick(conn, false);
        let all = read(wire, &driver.take(conn));
        // HTTP can say which answer is the last one; ZAP cannot, so all that was asked is answered.
        assert_eq!((all.len(), driver.end(conn)), (if wire == Wire::Http { 2 } else { 3 }, End::Closed), "{wire}");
    }
}

#[test]
fn without_memory_large_bodies_are_refused_and_small_ones_served() {
    let mut driver = Driver::plain();
    driver.memory_left_bytes = 100_000;
    let before = driver.shard.held_bytes();
    let large = "x".repeat(150_000);
    let conn = driver.open(Wire::Http);
    driver.send(conn, b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 150000\r\n\r\n");
    assert_eq!((replies(&driver.take(conn))[0].status, driver.end(conn)), (503, End::Closed), "before it is sent");

    let conn = driver.open(Wire::Http);
    driver.send(conn, b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    for piece in large.as_bytes().chunks(5000) {
        if driver.end(conn) == End::Open {
            driver.send(conn, &[b"1388\r\n", piece, b"\r\n"].concat());
            driver.memory_left_bytes = driver.memory_left_bytes.saturating_sub(5000);
            assert!(driver.shard.held_bytes() < before + 110_000);
        }
    }
    assert_eq!((replies(&driver.take(conn))[0].status, driver.end(conn)), (503, End::Closed), "while it is sent");

    driver.memory_left_bytes = 0;
    let conn = driver.open(Wire::Zap);
    driver.send(conn, &frame("POST", "/echo", &[], large.as_bytes()));
    assert_eq!((zap_replies(&driver.take(conn))[0].status, driver.end(conn)), (503, End::Open));
    driver.send(conn, &frame("POST", "/echo", &[], b"small"));
    assert_eq!(zap_replies(&driver.take(conn))[0].text(), "small");
    let conn = driver.open(Wire::Http);
    driver.send(conn, b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nsmall");
    assert_eq!(replies(&driver.take(conn))[0].text(), "small");
    assert_eq!(driver.published.requests().over_memory, 3);
}

#[test]
fn a_large_body_is_held_once_while_it_is_echoed_and_then_no_more() {
    for framing in ["Content-Length: 1000000", "Transfer-Encoding: chunked"] {
        let mut driver = Driver::plain();
        let conn = driver.open(Wire::Http);
        let before = driver.shard.held_bytes();
        driver.send(conn, format!("POST /echo HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n").as_bytes());
        driver.stick(conn, true);
        let body = letters(1_000_000);
        if framing.starts_with("Content") {
            body.chunks(10_000).for_each(|piece| driver.send(conn, piece));
        } else {
            body.chunks(10_000).for_each(|piece| driver.send(conn, &[b"2710\r\n", piece, b"\r\n"].concat()));
            driver.send(conn, b"0\r\n\r\n");
        }
        let held = driver.shard.held_bytes() - before;
        assert!((1_000_000..2_100_000).contains(&held), "{held}");
        driver.stick(conn, false);
        assert!(replies(&driver.take(conn))[0].body == body);
        assert!(driver.shard.held_bytes() - before <= 2 * limits::KEPT_BODY_BYTES);
        driver.finish(conn);
        assert_eq!(driver.shard.held_bytes(), before);
    }
}

#[test]
fn b25_a_closed_connection_leaves_nothing_behind() {
    let mut driver = Driver::plain();
    let first = driver.open(Wire::Http);
    driver.finish(first);
    let before = driver.shard.held_bytes();
    for input in [
        &b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\nsome"[..],
        b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
        b"GET /stream/1000/1000 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /hea",
    ] {
        let conn = driver.open(Wire::Http);
        driver.stick(conn, true);
        driver.send(conn, input);
        driver.finish(conn);
        assert_eq!(driver.shard.held_bytes(), before);
    }
}
