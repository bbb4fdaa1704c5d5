//! The ZAP side of the loader against scripted servers: whole frames, streams, sequences that cannot be, frames too large to keep.

mod fake;

use bytes::Bytes;
use codec::zap::{response, stream};
use fake::{Scene, counts, plan};
use loader::{LoadPlan, limits::WHOLE_FRAME_BYTES, wire::Zap};
use results::Outcome::{self, BadBody, BadStatus, Ok, Protocol, Reset};

const URL: &str = "zap://127.0.0.1/health";

fn scene(change: impl FnOnce(&mut LoadPlan)) -> Scene<Zap> {
    let mut plan = plan(URL);
    change(&mut plan);
    Scene::started(plan)
}

fn respond(status: u16, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let headers: [(&[u8], &[u8]); 1] = [(b"Content-Type", b"text/plain")];
    response::encode(&mut out, &response::ResponseHead::new(status, &headers[..]), body, ()).expect("encodes");
    out
}

fn head(status: u16) -> Vec<u8> {
    let mut out = Vec::new();
    response::encode_head(&mut out, &response::ResponseHead::new(status, ())).expect("encodes");
    out
}

fn data(chunk: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    stream::encode_data(&mut out, chunk).expect("encodes");
    out
}

fn end() -> Vec<u8> {
    let mut out = Vec::new();
    let trailer: [(&[u8], &[u8]); 1] = [(b"X-Sum", b"1")];
    stream::encode_end(&mut out, &trailer[..]).expect("encodes");
    out
}

/// Plays bytes as the answer to one request, split at every byte (of long ones at some); what came of it must not depend on the
/// split.
fn play(answer: &[u8], close: bool, change: impl Fn(&mut LoadPlan)) -> (Vec<(Outcome, u64)>, bool, u64) {
    let run = |cuts: &[usize]| {
        let mut scene = scene(&change);
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
        (counts(&scene.requests()), scene.closed.is_empty(), scene.measure().body_bytes)
    };
    let whole = run(&[]);
    let step = answer.len().div_ceil(600);
    for cut in (1..answer.len()).step_by(step) {
        assert_eq!(run(&[cut]), whole, "split at {cut}");
    }
    let every: Vec<usize> = (1..answer.len()).step_by(step).collect();
    assert_eq!(run(&every), whole, "{step} bytes at a time");
    whole
}

#[test]
fn a_response_frame_is_an_answer() {
    assert_eq!(play(&respond(200, b"ok"), false, |_| {}), (vec![(Ok, 1)], true, 2));
    assert_eq!(play(&respond(0, b""), false, |_| {}), (vec![(Ok, 1)], true, 0));
    assert_eq!(play(&respond(404, b"none"), false, |_| {}), (vec![(BadStatus, 1)], true, 4));
    assert_eq!(play(&respond(2000, b""), false, |_| {}), (vec![(BadStatus, 1)], true, 0));
}

#[test]
fn d9_head_data_and_end_are_one_answer() {
    let streamed = [head(200), data(b"hello"), data(b""), data(b" world"), end()].concat();
    assert_eq!(play(&streamed, false, |_| {}), (vec![(Ok, 1)], true, 11));
    let wanted = |plan: &mut LoadPlan| plan.expect.body = Some(Bytes::from_static(b"hello world"));
    assert_eq!(play(&streamed, false, wanted), (vec![(Ok, 1)], true, 11));
    let other = |plan: &mut LoadPlan| plan.expect.body = Some(Bytes::from_static(b"hello_world"));
    assert_eq!(play(&streamed, false, other), (vec![(BadBody, 1)], true, 11));
    assert_eq!(play(&[head(503), end()].concat(), false, |_| {}), (vec![(BadStatus, 1)], true, 0));
}

#[test]
fn d9_a_stream_without_its_end_is_a_bad_body() {
    assert_eq!(play(&[head(200), data(b"x")].concat(), false, |_| {}).0, []);
    assert_eq!(play(&[head(200), data(b"x")].concat(), true, |_| {}), (vec![(BadBody, 1)], false, 0));
    assert_eq!(play(&head(200), true, |_| {}), (vec![(BadBody, 1)], false, 0));
}

#[test]
fn d9_frames_out_of_sequence_break_the_rules() {
    let mut request = Vec::new();
    let parts = codec::zap::request::RequestHead { method: b"GET", target: b"/", proto: b"", headers: () };
    codec::zap::request::encode(&mut request, &parts, b"", ()).expect("encodes");
    let sequences = [
        ("data first", vec![data(b"x")]),
        ("end first", vec![end()]),
        ("response after head", vec![head(200), respond(200, b"")]),
        ("head after head", vec![head(200), head(200)]),
        ("head after data", vec![head(200), data(b"x"), head(200)]),
        ("a request", vec![request]),
    ];
    for (name, frames) in sequences {
        assert_eq!(play(&frames.concat(), false, |_| {}), (vec![(Protocol, 1)], false, 0), "{name}");
    }
    let mut scene = scene(|_| {});
    let conn = scene.open_conns()[0];
    scene.take(conn);
    scene.receive(conn, &data(b"x"));
    assert!(scene.sample(Protocol).contains("a data frame where a response or the head"), "{}", scene.sample(Protocol));
}

#[test]
fn d1_lengths_that_cannot_be_are_refused_from_four_bytes() {
    for length in [0, (64 << 20) + 1, u32::MAX, u32::from_be_bytes(*b"HTTP")] {
        assert_eq!(play(&length.to_be_bytes(), false, |_| {}), (vec![(Protocol, 1)], false, 0), "{length}");
    }
    for length in 1..16_u32 {
        let bytes = [&length.to_be_bytes()[..], &vec![0; length as usize]].concat();
        assert_eq!(play(&bytes, false, |_| {}), (vec![(Protocol, 1)], false, 0), "{length}");
    }
}

#[test]
fn a_frame_cut_short_by_the_close() {
    let frame = respond(200, b"hello");
    assert_eq!(play(&frame[..frame.len() - 1], true, |_| {}), (vec![(Reset, 1)], false, 0));
    let large = respond(200, &vec![b'x'; 100_000]);
    assert_eq!(play(&large[..50_000], true, |_| {}), (vec![(BadBody, 1)], false, 0));
}

#[test]
fn malformed_frames_break_the_rules() {
    let good = respond(200, b"ok");
    for (name, at, byte) in [("magic", 4, b'X'), ("version", 8, 9), ("type", 11, 7), ("root", 12, 3), ("size", 16, 1)] {
        let mut bad = good.clone();
        bad[at] = byte;
        assert_eq!(play(&bad, false, |_| {}), (vec![(Protocol, 1)], false, 0), "{name}");
    }
}

#[test]
fn large_answers_are_counted_and_not_kept() {
    for body in [WHOLE_FRAME_BYTES, 100_000, 1_000_000] {
        let whole = respond(200, &vec![b'x'; body]);
        assert_eq!(play(&whole, false, |_| {}), (vec![(Ok, 1)], true, body as u64), "{body}");
        let streamed = [head(200), data(&vec![b'x'; body]), data(b"y"), data(&vec![b'z'; body]), end()].concat();
        assert_eq!(play(&streamed, false, |_| {}), (vec![(Ok, 1)], true, 2 * body as u64 + 1), "{body}");
        let wanted = |plan: &mut LoadPlan| plan.expect.body = Some(Bytes::from(vec![b'x'; body]));
        assert_eq!(play(&whole, false, wanted).0, [(Ok, 1)]);
    }
    let mut scene = scene(|_| {});
    let conn = scene.open_conns()[0];
    scene.take(conn);
    for piece in respond(200, &vec![b'x'; 10_000_000]).chunks(10_000) {
        scene.receive(conn, piece);
    }
    assert_eq!(scene.requests().ok, 1);
    assert!(scene.most_unread <= 10_000, "{} bytes were kept", scene.most_unread);
}

#[test]
fn a_large_frame_whose_root_is_far_in_is_refused() {
    let mut large = respond(200, &vec![b'x'; 200_000]);
    large[12..16].copy_from_slice(&150_000_u32.to_le_bytes());
    assert_eq!(play(&large[..100_000], false, |_| {}), (vec![(Protocol, 1)], false, 0));
}

#[test]
fn d2_sixteen_answers_match_in_order_wherever_they_are_split() {
    let mut all = Vec::new();
    for index in 0..16_usize {
        match index % 4 {
            0 => all.extend([head(200), data(b"abc"), end()].concat()),
            1 => all.extend(respond(500, b"")),
            _ => all.extend(respond(200, &vec![b'x'; index])),
        }
    }
    for cut in 0..=all.len() {
        let mut scene = scene(|plan| plan.pipeline = 16);
        let conn = scene.open_conns()[0];
        assert_eq!(scene.take_requests(conn), 16);
        scene.receive(conn, &all[..cut]);
        let first = scene.take_requests(conn);
        scene.receive(conn, &all[cut..]);
        assert_eq!(first + scene.take_requests(conn), 16, "cut at {cut}");
        assert_eq!(counts(&scene.requests()), [(Ok, 12), (BadStatus, 4)]);
        assert!(scene.is_open(conn));
    }
}

#[test]
fn an_answer_too_many_drops_the_connection() {
    let mut scene = scene(|_| {});
    let conn = scene.open_conns()[0];
    scene.take(conn);
    scene.receive(conn, &respond(200, b"ok").repeat(2));
    assert!(!scene.is_open(conn));
    assert_eq!(counts(&scene.requests()), [(Ok, 1), (Protocol, 1)]);
}

#[test]
fn http_on_the_zap_port_is_garbage() {
    assert_eq!(play(b"HTTP/1.1 400 Bad Request\r\n\r\n", false, |_| {}), (vec![(Protocol, 1)], false, 0));
}
