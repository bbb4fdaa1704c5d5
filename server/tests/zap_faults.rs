//! What a hostile, broken or merely unusual ZAP peer gets. Tests carry the number of the fault they belong to.

mod driver;

use driver::*;
use server::{ServerOptions, Wire};

fn health() -> Vec<u8> {
    frame("GET", "/health", &[], b"")
}

/// `message` is answered with one 400 that says so, then the connection closes, whatever follows.
fn malformed(message: &[u8], reason: &str) {
    let (bytes, end) = exchange(Wire::Zap, &[prefixed(message), health()].concat());
    let all = zap_replies(&bytes);
    assert_eq!((all.len(), all[0].status, end), (1, 400, End::Closed), "{reason}");
    assert_eq!(all[0].text(), format!("malformed request frame: {reason}"));
    assert_eq!(all[0].header("content-type"), Some("text/plain"));
}

#[test]
fn golden_malformed_vectors_are_answered_as_by_the_reference() {
    let truncated = "http: decode headers: http: truncated header block";
    for (name, reason) in [
        ("bad_magic", "zap: invalid magic bytes"),
        ("bad_version0", "zap: unsupported version"),
        ("bad_version3", "zap: unsupported version"),
        ("bad_size_gt_len", "zap: buffer too small"),
        ("bad_size_huge", "zap: buffer too small"),
        ("bad_size_lt_16", "zap: buffer too small"),
        ("bad_root0", "zap: invalid offset"),
        ("bad_root_in_header", "zap: invalid offset"),
        ("bad_root_beyond", "zap: invalid offset"),
        ("bad_hdr_count", truncated),
        ("bad_hdr_count_max", truncated),
        ("bad_hdr_name_len", truncated),
        ("bad_hdr_val_len", truncated),
        ("bad_header_only", "zap: buffer too small"),
        ("bad_type_response", "http: frame type 0x2, want 0x1"),
        ("bad_type_0", "http: frame type 0x0, want 0x1"),
    ] {
        malformed(&vector(name), reason);
    }
    assert_eq!(exchange(Wire::Zap, &prefixed(&vector("bad_zero_length"))), (vec![], End::Closed));
}

#[test]
fn golden_odd_vectors_are_served_and_the_connection_kept() {
    // The reference's test server answers every target; ours serves what the frame's fields really say.
    for (name, status) in [
        ("bad_version2", 200),
        ("bad_root_unaligned", 404),
        ("bad_slot_off_range", 404),
        ("bad_slot_len_overflow", 404),
        ("bad_slot_len_plus1", 404),
        ("bad_rel_negative", 200),
        ("bad_rel_zero_len_nonzero", 404),
        ("bad_trailing", 200),
        ("bad_method_null", 200),
        ("bad_target_null", 404),
    ] {
        let (bytes, end) = exchange(Wire::Zap, &[prefixed(&vector(name)), health()].concat());
        let all = zap_replies(&bytes);
        assert_eq!((all.len(), all[0].status, all[1].status, end), (2, status, 200, End::Open), "{name}");
    }
}

#[test]
fn d1_lengths() {
    for length in [0, 64 * 1024 * 1024 + 1, u32::MAX, u32::from_be_bytes(*b"GET ")] {
        let mut driver = Driver::plain();
        let conn = driver.open(Wire::Zap);
        let held = engine::Shard::held_bytes(&driver.shard);
        driver.send(conn, &length.to_be_bytes());
        assert_eq!((driver.take(conn), driver.end(conn)), (vec![], End::Closed), "{length}");
        assert_eq!(engine::Shard::held_bytes(&driver.shard), held);
    }
    for length in 1..16 {
        malformed(&vec![b'Z'; length], "zap: buffer too small");
    }
}

#[test]
fn d1_answers_before_a_bad_length_are_not_lost() {
    let (bytes, end) = exchange(Wire::Zap, &[health(), vec![0; 4], health()].concat());
    assert_eq!((zap_replies(&bytes).len(), end), (1, End::Closed));
}

#[test]
fn d1_the_frame_limit_is_an_option() {
    let mut driver = Driver::new(ServerOptions { max_frame_bytes: 200, ..ServerOptions::default() });
    let conn = driver.open(Wire::Zap);
    driver.send(conn, &frame("POST", "/echo", &[], &[b'x'; 110]));
    assert_eq!((zap_replies(&driver.take(conn)).len(), driver.end(conn)), (1, End::Open));
    driver.send(conn, &frame("POST", "/echo", &[], &[b'x'; 200])[..4]);
    assert_eq!((driver.take(conn), driver.end(conn)), (vec![], End::Closed));
}

#[test]
fn d2_a_cut_at_any_byte_changes_no_answer() {
    let input = [
        health(),
        frame("POST", "/echo", &[("X-A", "1")], b"hello"),
        frame("GET", "/stream/2/3", &[], b""),
        frame("BREW", "/none", &[], &[b'y'; 300]),
        prefixed(&vector("req_post_rpc")),
    ]
    .concat();
    let (whole, end) = exchange(Wire::Zap, &input);
    let statuses: Vec<u16> = zap_replies(&whole).iter().map(|reply| reply.status).collect();
    assert_eq!((statuses, end), (vec![200, 200, 200, 404, 200], End::Open));
    for cut in 0..=input.len() {
        let mut driver = Driver::plain();
        let conn = driver.open(Wire::Zap);
        driver.send(conn, &input[..cut]);
        driver.send(conn, &input[cut..]);
        assert_eq!(driver.take(conn), whole, "cut at {cut}");
    }
    let mut driver = Driver::plain();
    let conn = driver.open(Wire::Zap);
    for byte in input {
        driver.send(conn, &[byte]);
    }
    assert_eq!(driver.take(conn), whole, "one byte at a time");
}

#[test]
fn d2_a_hundred_frames_in_one_read_are_answered_in_order_with_one_send() {
    let mut driver = Driver::plain();
    let conn = driver.open(Wire::Zap);
    let input: Vec<u8> = (0..100).flat_map(|n| frame("POST", "/echo", &[], format!("{n}").as_bytes())).collect();
    driver.send(conn, &input);
    assert_eq!(driver.sends(conn), 1);
    let all = zap_replies(&driver.take(conn));
    assert_eq!(all.len(), 100);
    assert!(all.iter().enumerate().all(|(n, reply)| reply.text() == n.to_string()));
}

#[test]
fn d4_no_mutation_of_a_frame_panics_or_goes_unanswered() {
    let good = vector("req_post_echo_h04_b16");
    for at in 0..good.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff, good[at] ^ 1] {
            let mut message = good.clone();
            message[at] = value;
            let (bytes, end) = exchange(Wire::Zap, &prefixed(&message));
            let all = zap_replies(&bytes);
            assert_eq!(all.len(), 1, "byte {at} as {value}");
            let closes = all[0].status == 400 && all[0].text().starts_with("malformed request frame");
            assert_eq!(end == End::Closed, closes, "byte {at} as {value}");
        }
    }
}

#[test]
fn d4_fields_that_overlap_are_a_fault_and_no_panic() {
    // Headers and body slots both cover one block of 40 MiB: the echo of it would be longer than a frame.
    let value = vec![b'v'; 40 * 1024 * 1024];
    let mut message = frame("POST", "/echo", &[], b"").split_off(4);
    let block_at = message.len();
    for part in [&1u32.to_le_bytes()[..], &3u32.to_le_bytes(), b"X-A", &(value.len() as u32).to_le_bytes(), &value] {
        message.extend_from_slice(part);
    }
    let block_bytes = (message.len() - block_at) as u32;
    for field in [24, 32] {
        let slot_at = 16 + field;
        message[slot_at..slot_at + 4].copy_from_slice(&((block_at - slot_at) as u32).to_le_bytes());
        message[slot_at + 4..slot_at + 8].copy_from_slice(&block_bytes.to_le_bytes());
    }
    let size = message.len() as u32;
    message[12..16].copy_from_slice(&size.to_le_bytes());
    let (bytes, end) = exchange(Wire::Zap, &[prefixed(&message), health()].concat());
    let all = zap_replies(&bytes);
    assert_eq!((all[0].status, &all[0].body[..], all[1].status, end), (500, &b""[..], 200, End::Open));
}

#[test]
fn d6_header_blocks() {
    let pairs: Vec<(&str, &str)> = vec![("", ""); 1_000_000];
    let (bytes, end) = exchange(Wire::Zap, &frame("GET", "/health", &pairs, b""));
    assert_eq!((zap_replies(&bytes)[0].status, end), (200, End::Open));
    let mut lying = frame("POST", "/echo", &[("X-A", "1")], b"two").split_off(4);
    // A `Content-Length` pair, which no writer of ours would send, says nothing about the body.
    let headers = [("X-Content-Len9", "99")];
    let named = frame("POST", "/echo", &headers, b"two").split_off(4);
    let at = named.windows(14).position(|at| at == b"X-Content-Len9").unwrap();
    lying.clear();
    lying.extend_from_slice(&named);
    lying[at..at + 14].copy_from_slice(b"Content-Length");
    let (bytes, _) = exchange(Wire::Zap, &prefixed(&lying));
    assert_eq!(zap_replies(&bytes)[0].text(), "two");
}

#[test]
fn d7_odd_methods_targets_and_protos_have_defined_answers() {
    for (method, target, status) in [
        ("", "/health", 200),
        ("GET", "", 404),
        ("GET", "/health\0", 404),
        ("GET", "/health\r\nX: y", 404),
        ("GET", "/health?\r\nX: y", 200),
        ("GE T", "/health", 405),
    ] {
        let (bytes, end) = exchange(Wire::Zap, &frame(method, target, &[], b""));
        assert_eq!((zap_replies(&bytes)[0].status, end), (status, End::Open), "{method:?} {target:?}");
    }
    let mut message = vector("req_get_health");
    let at = message.windows(8).position(|at| at == b"HTTP/1.1").unwrap();
    message[at..at + 8].copy_from_slice(b"HTTP/0.9");
    assert_eq!(exchange(Wire::Zap, &prefixed(&message)).0, prefixed(&vector("resp_200_ok")));
}

#[test]
fn d10_an_announced_frame_reserves_nothing() {
    let mut driver = Driver::plain();
    let mut conns = Vec::new();
    let length = 64u32 * 1024 * 1024;
    let empty = engine::Shard::held_bytes(&driver.shard);
    for _ in 0..1000 {
        let conn = driver.open(Wire::Zap);
        driver.send(conn, &length.to_be_bytes());
        driver.send(conn, b"Z");
        assert_eq!(driver.need(conn), 4 + length as usize);
        conns.push(conn);
    }
    assert!(engine::Shard::held_bytes(&driver.shard) - empty < 1_000_000);
    driver.advance(31 * SECOND_NS);
    for conn in conns {
        assert_eq!((driver.take(conn), driver.end(conn)), (vec![], End::Closed));
    }
    assert_eq!(driver.published.requests().timeouts, 1000);
}

#[test]
fn b30_http_and_tls_on_the_zap_port_close_at_once() {
    let hello: [u8; 11] = [0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3];
    for bytes in [&b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"[..], b"POST /x HTTP/1.1\r\n", &hello] {
        assert_eq!(exchange(Wire::Zap, bytes), (vec![], End::Closed));
    }
}

#[test]
fn bodies_over_the_limit_are_refused_and_the_connection_kept() {
    let mut driver = Driver::new(ServerOptions { max_body_bytes: 10, ..ServerOptions::default() });
    let conn = driver.open(Wire::Zap);
    for target in ["/echo", "/rpc"] {
        driver.send(conn, &frame("POST", target, &[], b"eleven byte"));
        assert_eq!(zap_replies(&driver.take(conn))[0].status, 413);
    }
    driver.send(conn, &frame("POST", "/echo", &[], b"ten  bytes"));
    driver.send(conn, &frame("GET", "/health", &[], b"eleven byte"));
    let statuses: Vec<u16> = zap_replies(&driver.take(conn)).iter().map(|reply| reply.status).collect();
    assert_eq!((statuses, driver.end(conn)), (vec![200, 200], End::Open));
}
