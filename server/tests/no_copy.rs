//! Large answers leave as slices: what is written into the output buffer stays small.

use std::{sync::Arc, time::SystemTime};

use codec::zap::request::{RequestHead, encode};
use engine::{Board, Conn, Cx, Origin, Outbox, Shard, Wishes};
use server::{Published, ServerOptions, ServerShard, Wire};

fn request(wire: Wire, target: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    match wire {
        Wire::Http => bytes.extend_from_slice(format!("GET {target} HTTP/1.1\r\nHost: t\r\n\r\n").as_bytes()),
        _ => {
            let head = RequestHead { method: b"GET", target: target.as_bytes(), proto: b"HTTP/1.1", headers: () };
            encode(&mut bytes, &head, b"", ()).expect("a small request");
        }
    }
    bytes
}

#[test]
fn a_large_answer_is_not_copied_into_the_output_buffer() {
    for wire in [Wire::Zap, Wire::Http] {
        for (target, least) in [("/bytes/65536", 65_536), ("/stream/8/8192", 65_536)] {
            let options = ServerOptions { wires: vec![wire], ..ServerOptions::default() };
            let published = Arc::new(Published::new(Arc::new(Board::new(1)), 1));
            let mut shard = ServerShard::new(0, Arc::new(options), published, SystemTime::now);
            let mut wishes = Wishes::default();
            let mut cx = Cx::new(0, 1 << 30, &mut wishes);
            let mut out = Outbox::new(1 << 20);
            let conn = Conn::new(0);
            shard.tick(&mut cx);
            shard.open(conn, Origin::Accepted { listener: 0 }, &mut cx);
            shard.data(conn, &request(wire, target), false, Some(&mut out), &mut cx);
            shard.fill(conn, &mut out, &mut cx);
            assert!(out.len_bytes() > least, "{wire} {target}: {} bytes", out.len_bytes());
            let copied = out.bytes().len();
            assert!(copied < 1024, "{wire} {target}: {copied} bytes were written into the buffer");
        }
    }
}
