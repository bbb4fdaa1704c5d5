//! The floor side of the loader against scripted servers: replies of the length asked for, of another, too large to keep, cut short.

mod fake;

use codec::{floor, limits::MAX_FLOOR_REPLY_BYTES};
use fake::{Scene, counts, plan};
use loader::{limits::WHOLE_FRAME_BYTES, wire::Floor};
use results::Outcome::{self, BadBody, Ok, Protocol, Reset};

fn scene(reply_bytes: usize, pipeline: u32) -> Scene<Floor> {
    let mut plan = plan(&format!("floor://127.0.0.1/111/{reply_bytes}"));
    plan.pipeline = pipeline;
    Scene::started(plan)
}

fn reply(bytes: usize) -> Vec<u8> {
    let mut reply = floor::length(bytes).to_vec();
    reply.resize(bytes, b'x');
    reply
}

/// Plays bytes as the answer to one request for `asked` bytes, split at every byte (of long ones at some); what came of it must not
/// depend on the split.
fn play(asked: usize, answer: &[u8], close: bool) -> (Vec<(Outcome, u64)>, bool, u64) {
    let run = |cuts: &[usize]| {
        let mut scene = scene(asked, 1);
        let conn = scene.open_conns()[0];
        assert_eq!(scene.take_requests(conn), 1);
        let mut from = 0;
        for &cut in cuts.iter().chain([&answer.len()]) {
            scene.receive(conn, &answer[from..cut]);
            from = cut;
        }
        if close {
            scene.eof(conn);
        }
        assert!(scene.measure().status_codes().is_empty(), "floor has no status");
        (counts(&scene.requests()), scene.closed.is_empty(), scene.measure().body_bytes)
    };
    let whole = run(&[]);
    let step = answer.len().div_ceil(600).max(1);
    for cut in (1..answer.len()).step_by(step) {
        assert_eq!(run(&[cut]), whole, "split at {cut}");
    }
    let every: Vec<usize> = (1..answer.len()).step_by(step).collect();
    assert_eq!(run(&every), whole, "{step} bytes at a time");
    whole
}

#[test]
fn a_reply_of_the_length_asked_for_is_an_answer() {
    for bytes in [4, 5, 114, WHOLE_FRAME_BYTES, WHOLE_FRAME_BYTES + 1, 1 << 20] {
        assert_eq!(play(bytes, &reply(bytes), false), (vec![(Ok, 1)], true, bytes as u64 - 4), "{bytes}");
    }
}

#[test]
fn a_reply_of_another_length_is_a_bad_body_and_keeps_the_connection() {
    for (asked, bytes) in [(114, 113), (114, 115), (114, 4), (4, 114), (114, 100_000), (100_000, 114)] {
        assert_eq!(play(asked, &reply(bytes), false), (vec![(BadBody, 1)], true, bytes as u64 - 4), "{bytes}");
    }
    let mut scene = scene(114, 1);
    let conn = scene.open_conns()[0];
    scene.take(conn);
    scene.receive(conn, &reply(113));
    assert_eq!(scene.sample(BadBody), "a reply of 113 bytes where 114 were asked for");
}

#[test]
fn a_reply_larger_than_any_breaks_the_rules() {
    for length in [MAX_FLOOR_REPLY_BYTES as u32 - 3, u32::MAX, u32::from_be_bytes(*b"HTTP")] {
        assert_eq!(play(114, &length.to_be_bytes(), false), (vec![(Protocol, 1)], false, 0), "{length}");
    }
}

#[test]
fn a_reply_cut_short_by_the_close() {
    assert_eq!(play(114, &reply(114)[..113], true), (vec![(Reset, 1)], false, 0));
    assert_eq!(play(114, &[], true), (vec![(Reset, 1)], false, 0));
    assert_eq!(play(100_000, &reply(100_000)[..99_999], true), (vec![(BadBody, 1)], false, 0));
}

#[test]
fn large_replies_are_counted_and_not_kept() {
    let mut scene = scene(10_000_000, 1);
    let conn = scene.open_conns()[0];
    scene.take(conn);
    for piece in reply(10_000_000).chunks(10_000) {
        scene.receive(conn, piece);
    }
    assert_eq!(scene.requests().ok, 1);
    assert!(scene.most_unread <= 10_000, "{} bytes were kept", scene.most_unread);
}

#[test]
fn sixteen_replies_match_in_order_wherever_they_are_split() {
    let all: Vec<u8> = (0..16).flat_map(|index| reply(if index % 4 == 0 { 50 + index } else { 114 })).collect();
    for cut in 0..=all.len() {
        let mut scene = scene(114, 16);
        let conn = scene.open_conns()[0];
        assert_eq!(scene.take_requests(conn), 16);
        scene.receive(conn, &all[..cut]);
        let first = scene.take_requests(conn);
        scene.receive(conn, &all[cut..]);
        assert_eq!(first + scene.take_requests(conn), 16, "cut at {cut}");
        assert_eq!(counts(&scene.requests()), [(Ok, 12), (BadBody, 4)]);
        assert!(scene.is_open(conn));
    }
}

#[test]
fn a_reply_too_many_drops_the_connection() {
    let mut scene = scene(114, 1);
    let conn = scene.open_conns()[0];
    scene.take(conn);
    scene.receive(conn, &reply(114).repeat(2));
    assert!(!scene.is_open(conn));
    assert_eq!(counts(&scene.requests()), [(Ok, 1), (Protocol, 1)]);
}
