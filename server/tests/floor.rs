//! The floor wire: every request gets as many bytes back as it wants, whatever comes in which pieces; what is no request is not
//! answered. What it shares with the other wires is in `bounds` and `allocations`.

mod driver;

use codec::limits::{MAX_FLOOR_REPLY_BYTES, MAX_FLOOR_REQUEST_BYTES};
use driver::*;
use server::{Wire, limits::PADDING_BYTES};

/// A head that need not be right.
fn head(length: u32, reply_bytes: u32) -> Vec<u8> {
    [length.to_be_bytes(), reply_bytes.to_be_bytes()].concat()
}

#[test]
fn every_request_gets_a_reply_of_the_length_it_wants() {
    let sizes = [(8, 4), (9, 5), (111, 114), (100_000, 4), (8, 1028), (8, 1029), (8, PADDING_BYTES + 5), (8, 1 << 20)];
    let mut driver = Driver::plain();
    let conn = driver.open(Wire::Floor);
    for (request_bytes, reply_bytes) in sizes {
        driver.send(conn, &floor_frame(request_bytes, reply_bytes));
        assert_eq!(floor_replies(&driver.take(conn)), [reply_bytes]);
    }
    for (request_bytes, reply_bytes) in [(8, MAX_FLOOR_REPLY_BYTES), (MAX_FLOOR_REQUEST_BYTES, 4)] {
        driver.send(conn, &floor_frame(request_bytes, reply_bytes));
        assert_eq!(floor_replies(&driver.take(conn)), [reply_bytes]);
    }
    assert_eq!((driver.end(conn), driver.unread_bytes(conn)), (End::Open, 0));
    let requests = driver.published.requests();
    assert_eq!((requests.floor_requests, requests.requests(), requests.malformed), (10, 10, 0));
}

#[test]
fn a_cut_at_any_byte_changes_no_reply() {
    let input = [floor_frame(111, 114), floor_frame(8, 4), floor_frame(50, 2000), floor_frame(111, 114)].concat();
    let (whole, end) = exchange(Wire::Floor, &input);
    assert_eq!((floor_replies(&whole), end), (vec![114, 4, 2000, 114], End::Open));
    for cut in 0..=input.len() {
        let mut driver = Driver::plain();
        let conn = driver.open(Wire::Floor);
        driver.send(conn, &input[..cut]);
        driver.send(conn, &input[cut..]);
        assert_eq!(driver.take(conn), whole, "cut at {cut}");
    }
    let mut driver = Driver::plain();
    let conn = driver.open(Wire::Floor);
    for byte in input {
        driver.send(conn, &[byte]);
    }
    assert_eq!(driver.take(conn), whole, "one byte at a time");
}

#[test]
fn a_hundred_requests_in_one_read_are_answered_with_one_send() {
    let mut driver = Driver::plain();
    let conn = driver.open(Wire::Floor);
    let sizes: Vec<usize> = (0..100).map(|n| 4 + 3 * n).collect();
    let input: Vec<u8> = sizes.iter().flat_map(|reply_bytes| floor_frame(111, *reply_bytes)).collect();
    driver.send(conn, &input);
    assert_eq!((driver.sends(conn), floor_replies(&driver.take(conn))), (1, sizes));
}

#[test]
fn replies_wait_for_room() {
    let mut driver = Driver::plain();
    driver.budget_bytes = 250;
    let conn = driver.open(Wire::Floor);
    driver.send(conn, &floor_frame(111, 114).repeat(100));
    assert_eq!(floor_replies(&driver.take(conn)), [114; 100]);
    assert!(driver.sends(conn) >= 33 && driver.largest_send_bytes <= 250 + 114);
}

#[test]
fn what_is_no_request_closes_at_once_and_in_silence() {
    let (most_request, most_reply) = (MAX_FLOOR_REQUEST_BYTES as u32, MAX_FLOOR_REPLY_BYTES as u32);
    for (name, input) in [
        ("nothing follows", vec![0; 4]),
        ("no wish", head(3, 114)),
        ("a request too large", (most_request - 3).to_be_bytes().to_vec()),
        ("all bits", vec![0xff; 4]),
        ("a reply of nothing", head(107, 0)),
        ("a reply shorter than its length", head(107, 3)),
        ("a reply too large", head(107, most_reply + 1)),
        ("http", b"GET / HTTP/1.1\r\n\r\n".to_vec()),
        ("tls", vec![0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]),
    ] {
        let mut driver = Driver::plain();
        let conn = driver.open(Wire::Floor);
        driver.send(conn, &[floor_frame(111, 114), input, floor_frame(111, 114)].concat());
        assert_eq!((floor_replies(&driver.take(conn)), driver.end(conn)), (vec![114], End::Closed), "{name}");
        let requests = driver.published.requests();
        assert_eq!((requests.floor_requests, requests.malformed), (1, 1), "{name}");
    }
}

#[test]
fn an_announced_request_reserves_nothing() {
    let mut driver = Driver::plain();
    let before = engine::Shard::held_bytes(&driver.shard);
    let conn = driver.open(Wire::Floor);
    let held = engine::Shard::held_bytes(&driver.shard) - before;
    driver.send(conn, &floor_frame(MAX_FLOOR_REQUEST_BYTES, 4)[..9]);
    assert_eq!(driver.need(conn), MAX_FLOOR_REQUEST_BYTES);
    assert_eq!(engine::Shard::held_bytes(&driver.shard) - before, held);
}

#[test]
fn a_request_that_takes_too_long_is_closed_in_silence() {
    let mut driver = Driver::plain();
    let (head, body, second) = (driver.open(Wire::Floor), driver.open(Wire::Floor), driver.open(Wire::Floor));
    driver.send(head, &[0, 0, 0]);
    driver.send(body, &floor_frame(111, 114)[..4]);
    // The time of the second request runs from its own beginning, not from that of the first.
    driver.send(second, &floor_frame(111, 114)[..100]);
    driver.advance(9 * SECOND_NS);
    assert_eq!(driver.end(head), End::Open);
    driver.advance(2 * SECOND_NS);
    assert_eq!((driver.take(head), driver.end(head), driver.end(body)), (vec![], End::Closed, End::Open));
    driver.send(second, &[&floor_frame(111, 114)[100..], &floor_frame(111, 114)[..100]].concat());
    driver.send(body, &floor_frame(111, 114)[4..104]);
    driver.advance(20 * SECOND_NS);
    assert_eq!((driver.take(body), driver.end(body), driver.end(second)), (vec![], End::Closed, End::Open));
    driver.advance(11 * SECOND_NS);
    assert_eq!((floor_replies(&driver.take(second)), driver.end(second)), (vec![114], End::Closed));
    assert_eq!(driver.published.requests().timeouts, 3);
}

#[test]
fn draining_closes_the_idle_and_lets_the_busy_finish() {
    let mut driver = Driver::plain();
    driver.budget_bytes = 200;
    let [idle, begun, waiting] = [0; 3].map(|_| driver.open(Wire::Floor));
    driver.send(begun, &floor_frame(111, 114)[..110]);
    driver.stick(waiting, true);
    driver.send(waiting, &floor_frame(111, 114).repeat(5));
    driver.drain();
    assert_eq!((driver.take(idle), driver.end(idle)), (vec![], End::Closed));
    assert_eq!((driver.end(begun), driver.end(waiting)), (End::Open, End::Open));
    driver.send(begun, &[0]);
    assert_eq!((floor_replies(&driver.take(begun)), driver.end(begun)), (vec![114], End::Closed));
    driver.stick(waiting, false);
    assert_eq!((floor_replies(&driver.take(waiting)), driver.end(waiting)), (vec![114; 5], End::Closed));
}

#[test]
fn a_large_reply_is_never_copied() {
    use engine::{Board, Conn, Cx, Origin, Outbox, Shard, Wishes};
    use std::sync::Arc;

    let options = server::ServerOptions { wires: vec![Wire::Floor], ..server::ServerOptions::default() };
    let published = Arc::new(server::Published::new(Arc::new(Board::new(1)), 1));
    let mut shard = server::ServerShard::new(0, Arc::new(options), published, wall);
    let (mut wishes, mut out) = (Wishes::default(), Outbox::new(64 * 1024));
    let conn = Conn::new(0);
    shard.open(conn, Origin::Accepted { listener: 0 }, &mut Cx::new(0, 1 << 30, &mut wishes));
    let input = floor_frame(8, 1 << 20).repeat(3);
    let taken = shard.data(conn, &input, false, Some(&mut out), &mut Cx::new(0, 1 << 30, &mut wishes));
    // The first reply takes all the room there is, and of its mebibyte only the length was written.
    assert_eq!((taken.consumed, taken.next, out.len_bytes()), (8, engine::Next::Hold, 1 << 20));
    assert_eq!(out.bytes().len(), 4);
}
