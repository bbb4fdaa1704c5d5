//! The HTTP side of the loader against scripted servers: every row of the response list, every split.

mod fake;

use bytes::Bytes;
use engine::Cause;
use fake::{MS, NO_DESCRIPTOR, NO_PORT, REFUSED, RESET, SECOND, Scene, TIMED_OUT, counts, plan};
use loader::{Expect, LoadPlan, wire::Http};
use results::Outcome::{BadBody, BadStatus, Connect, Ok, Protocol, Reset, Timeout, Unfinished};

const URL: &str = "http://127.0.0.1/health";
const GOOD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn scene(change: impl FnOnce(&mut LoadPlan)) -> Scene<Http> {
    let mut plan = plan(URL);
    change(&mut plan);
    Scene::started(plan)
}

/// Plays one answer to one request on a connection, split at every byte, with and without the close behind it; returns the
/// counts and whether the connection survived, which must not depend on the split.
fn play(answer: &[u8], close: bool, change: impl Fn(&mut LoadPlan)) -> (Vec<(results::Outcome, u64)>, bool) {
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
        let kept = scene.closed.is_empty();
        scene.take(conn);
        let mut requests = scene.requests();
        // The next request is under way already.
        requests.planned -= u64::from(kept) * u64::from(requests.outcomes() > 0);
        if requests.outcomes() > 0 {
            assert_eq!(requests.planned, requests.outcomes());
        }
        (counts(&requests), kept)
    };
    let whole = run(&[]);
    for cut in 1..answer.len() {
        assert_eq!(run(&[cut]), whole, "split at {cut} of {:?}", answer.escape_ascii().to_string());
    }
    let every: Vec<usize> = (1..answer.len()).collect();
    assert_eq!(run(&every), whole, "one byte at a time");
    whole
}

fn keeps(answer: &str) {
    assert_eq!(play(answer.as_bytes(), false, |_| {}), (vec![(Ok, 1)], true), "{answer:?}");
}

fn drops(answer: &str) {
    assert_eq!(play(answer.as_bytes(), false, |_| {}), (vec![(Protocol, 1)], false), "{answer:?}");
}

#[test]
fn c1_a_body_until_the_close_is_a_success_and_a_reconnect() {
    let answer = b"HTTP/1.1 200 OK\r\nX: y\r\n\r\nas much as there is";
    assert_eq!(play(answer, false, |_| {}), (vec![], true));
    assert_eq!(play(answer, true, |_| {}), (vec![(Ok, 1)], false));
    let mut scene = scene(|_| {});
    let conn = scene.open_conns()[0];
    scene.take(conn);
    scene.receive(conn, answer);
    scene.eof(conn);
    assert_eq!(scene.measure().body_bytes, 19);
    assert_eq!(scene.accept_all().len(), 1, "made again at once");
    assert_eq!(scene.measure().reconnects, 1);
    // Cut off by a reset instead of a close it is no whole body.
    let conn = scene.open_conns()[0];
    scene.take(conn);
    scene.receive(conn, answer);
    scene.break_off(conn, Cause::ReceiveFailed(RESET));
    assert_eq!(counts(&scene.requests()), [(Ok, 1), (Reset, 1)]);
}

#[test]
fn c2_an_announced_close_is_a_success_and_a_planned_reconnect() {
    for head in ["HTTP/1.1 200 OK\r\nConnection: close\r\n", "HTTP/1.0 200 OK\r\n"] {
        let answer = format!("{head}Content-Length: 2\r\n\r\nok");
        let mut scene = scene(|_| {});
        for round in 1..=5 {
            let conn = scene.open_conns()[0];
            assert_eq!(scene.take_requests(conn), 1);
            scene.receive(conn, answer.as_bytes());
            assert_eq!(scene.take_requests(conn), 0, "nothing is sent into a connection that closes");
            scene.eof(conn);
            assert_eq!(scene.accept_all().len(), 1);
            assert_eq!((counts(&scene.requests()), scene.measure().reconnects), (vec![(Ok, round)], round));
        }
    }
}

#[test]
fn c2_a_server_that_announces_its_close_and_does_not_is_closed_soon() {
    let mut scene = scene(|_| {});
    let conn = scene.open_conns()[0];
    scene.take(conn);
    scene.receive(conn, b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n");
    scene.after(50 * MS);
    assert!(scene.is_open(conn));
    scene.receive(conn, b"whatever comes behind it is no answer");
    scene.after(70 * MS);
    assert!(!scene.is_open(conn));
    assert_eq!((scene.connects.len(), counts(&scene.requests())), (1, vec![(Ok, 1)]));
}

#[test]
fn c2_what_was_pipelined_behind_an_announced_close_is_reset() {
    let mut scene = scene(|plan| plan.pipeline = 4);
    let conn = scene.open_conns()[0];
    assert_eq!(scene.take_requests(conn), 4);
    scene.receive(conn, GOOD);
    scene.receive(conn, b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    scene.eof(conn);
    assert_eq!(counts(&scene.requests()), [(Ok, 2), (Reset, 3)]);
}

#[test]
fn c4_the_answer_to_head_has_no_body() {
    let head = |plan: &mut LoadPlan| plan.method = Some("HEAD".into());
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n";
    assert_eq!(play(answer, false, head), (vec![(Ok, 1)], true));
    assert_eq!(play(b"HTTP/1.1 200 OK\r\n\r\n", false, head), (vec![(Ok, 1)], true));
    assert_eq!(play(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false, head), (vec![(Ok, 1)], true));
}

#[test]
fn c5_204_and_304_have_no_body() {
    let all = |plan: &mut LoadPlan| plan.expect = Expect::parse("200-299,304").expect("ranges");
    for status in ["204 No Content", "304 Not Modified"] {
        for fields in ["", "Content-Length: 77\r\n", "Transfer-Encoding: chunked\r\n"] {
            let answer = format!("HTTP/1.1 {status}\r\n{fields}\r\n");
            assert_eq!(play(answer.as_bytes(), false, all), (vec![(Ok, 1)], true), "{answer:?}");
        }
    }
}

#[test]
fn c6_interim_answers_are_skipped_and_an_unasked_upgrade_is_an_error() {
    keeps(concat!(
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 102 Processing\r\nX: y\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    ));
    drops("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n");
    assert_eq!(play(b"HTTP/1.1 100 Continue\r\n\r\n", false, |_| {}), (vec![], true));
}

#[test]
fn c7_chunked_bodies_have_their_right_length() {
    keeps("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
    keeps("HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\nA;x=\"y\"\r\n0123456789\r\n00;z\r\nTrailer: t\r\n\r\n");
    let mut scene = scene(|_| {});
    let conn = scene.open_conns()[0];
    scene.take(conn);
    scene.receive(
        conn,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nC\r\n hello again\r\n0\r\nT: t\r\n\r\n",
    );
    assert_eq!((scene.measure().body_bytes, counts(&scene.requests())), (5 + 12, vec![(Ok, 1)]));
    drops("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n");
    drops("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n");
}

#[test]
fn c8_sixteen_answers_match_in_order_wherever_they_are_split() {
    let mut all = Vec::new();
    for index in 0..16 {
        let status = if index % 3 == 0 { 404 } else { 200 };
        let body = "x".repeat(index);
        all.extend(format!("HTTP/1.1 {status} S\r\nContent-Length: {index}\r\n\r\n{body}").into_bytes());
    }
    for cut in 0..=all.len() {
        let mut scene = scene(|plan| plan.pipeline = 16);
        let conn = scene.open_conns()[0];
        assert_eq!(scene.take_requests(conn), 16);
        scene.receive(conn, &all[..cut]);
        let first = scene.take_requests(conn);
        scene.receive(conn, &all[cut..]);
        let second = scene.take_requests(conn);
        assert_eq!(first + second, 16, "cut at {cut}: each answer makes room for one request");
        assert_eq!(counts(&scene.requests()), [(Ok, 10), (BadStatus, 6)]);
        assert_eq!(scene.measure().body_bytes, (0..16).sum::<u64>());
        assert_eq!(scene.measure().status_codes(), [(200, 10), (404, 6)].into());
        assert!(scene.is_open(conn));
    }
}

#[test]
fn c8_one_read_of_sixteen_answers_is_one_send_of_sixteen_requests() {
    let mut scene = scene(|plan| plan.pipeline = 16);
    let conn = scene.open_conns()[0];
    scene.take(conn);
    for _ in 0..10 {
        scene.receive(conn, &GOOD.repeat(16));
        let sent = scene.begin_send(conn);
        assert_eq!(sent.len(), 16 * scene.shared.request().len_bytes());
        scene.sent(conn);
        assert!(scene.begin_send(conn).is_empty());
    }
}

#[test]
fn c8_an_answer_too_many_drops_the_connection() {
    let mut scene = scene(|plan| plan.pipeline = 2);
    let conn = scene.open_conns()[0];
    scene.take(conn);
    scene.receive(conn, &GOOD.repeat(3));
    assert!(!scene.is_open(conn));
    assert_eq!(counts(&scene.requests()), [(Ok, 2), (Protocol, 1)]);
    let requests = scene.requests();
    assert_eq!((requests.planned, requests.sent), (3, 2), "it is a failure of its own");
    assert!(scene.sample(Protocol).contains("no request asked for"), "{}", scene.sample(Protocol));
}

#[test]
fn c9_a_body_cut_short_is_not_a_success() {
    let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf";
    assert_eq!(play(cut, true, |_| {}), (vec![(BadBody, 1)], false));
    assert_eq!(
        play(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", true, |_| {}),
        (vec![(BadBody, 1)], false)
    );
    assert_eq!(play(b"HTTP/1.1 200 OK\r\nContent-Le", true, |_| {}), (vec![(Reset, 1)], false));
    assert_eq!(play(b"", true, |_| {}), (vec![(Reset, 1)], false));
    let mut scene = scene(|_| {});
    let conn = scene.open_conns()[0];
    scene.take(conn);
    scene.receive(conn, cut);
    scene.break_off(conn, Cause::ReceiveFailed(RESET));
    assert_eq!(counts(&scene.requests()), [(Reset, 1)]);
    assert!(scene.sample(Reset).contains("reset by peer"), "{}", scene.sample(Reset));
    assert!(scene.measure().latency.is_empty(), "what was not answered has no latency");
}

#[test]
fn c10_odd_but_clear_heads_are_taken() {
    keeps("HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok");
    keeps("HTTP/1.1 200 \r\ncontent-length:2\r\n\r\nok");
    keeps("HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length:   2  \r\n\r\nok");
}

#[test]
fn c11_framing_in_doubt_drops_the_connection() {
    drops("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n");
    drops("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n");
    drops("HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n");
    drops("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n");
    drops("SSH-2.0-OpenSSH_9.9\r\n");
    drops("220 mail ESMTP\r\n");
}

#[test]
fn c11_the_sample_quotes_what_came() {
    let mut scene = scene(|plan| plan.pipeline = 3);
    let conn = scene.open_conns()[0];
    scene.take(conn);
    scene.receive(conn, b"SSH-2.0-OpenSSH_9.9\r\n");
    assert_eq!(counts(&scene.requests()), [(Reset, 2), (Protocol, 1)]);
    assert!(scene.sample(Protocol).contains("SSH-2.0-OpenSSH_9.9\\r\\n"), "{}", scene.sample(Protocol));
}

#[test]
fn c13_what_comes_after_the_window_counts_and_what_never_comes_is_unfinished() {
    let late = |answered: bool| {
        let mut scene = scene(|plan| {
            plan.length = loader::Length::Time { duration_ns: SECOND };
            plan.timeout_ns = 5 * SECOND;
            plan.drain_ns = Some(300 * MS);
        });
        let conn = scene.open_conns()[0];
        scene.take(conn);
        scene.receive(conn, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
        scene.after(SECOND + 100 * MS);
        assert!(!scene.finished);
        if answered {
            scene.receive(conn, b"ok");
            assert!(scene.finished, "nothing else is waited for");
        }
        scene.after(300 * MS);
        assert!(scene.finished);
        counts(&scene.into_requests())
    };
    assert_eq!(late(true), [(Ok, 1)]);
    assert_eq!(late(false), [(Unfinished, 1)]);
}

#[test]
fn c14_a_wrong_body_is_caught_when_the_right_one_is_known() {
    let body = |plan: &mut LoadPlan| plan.expect.body = Some(Bytes::from_static(b"hello"));
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n";
    assert_eq!(play(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", false, body), (vec![(Ok, 1)], true));
    assert_eq!(play(chunked, false, body), (vec![(Ok, 1)], true));
    for wrong in ["hellO", "hell", "hello!", ""] {
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{wrong}", wrong.len());
        assert_eq!(play(answer.as_bytes(), false, body), (vec![(BadBody, 1)], true), "{wrong:?}");
    }
    assert_eq!(play(b"HTTP/1.1 200 OK\r\n\r\nhello", true, body), (vec![(Ok, 1)], false));
    assert_eq!(play(b"HTTP/1.1 200 OK\r\n\r\nhallo", true, body), (vec![(BadBody, 1)], false));
}

#[test]
fn c16_failures_to_connect_are_told_apart() {
    for (errno, word) in [(REFUSED, "refused"), (TIMED_OUT, "timed out")] {
        let mut scene = Scene::<Http>::new(plan(URL));
        assert!(scene.refuse(errno));
        let failure = scene.shared.gate.failure().expect("noted");
        assert_eq!(failure.errno, Some(errno));
        assert!(failure.message.contains(word), "{failure:?}");
        assert!(!scene.shared.gate.is_hopeless());
        assert_eq!(scene.shared.gate.refused(), 1);
        assert_eq!(scene.requests().planned, 0, "before the start it is no request's failure");
    }
    for errno in [NO_PORT, NO_DESCRIPTOR] {
        let mut scene = Scene::<Http>::new(plan(URL));
        scene.refuse(errno);
        assert!(scene.shared.gate.is_hopeless(), "{errno}");
    }
}

#[test]
fn a_failed_reconnect_is_a_planned_request_that_could_not_be_sent() {
    let mut scene = scene(|_| {});
    let conn = scene.open_conns()[0];
    scene.take(conn);
    scene.receive(conn, GOOD);
    scene.take(conn);
    scene.eof(conn);
    assert!(scene.refuse(REFUSED));
    let requests = scene.requests();
    assert_eq!(counts(&requests), [(Ok, 1), (Connect, 1), (Reset, 1)]);
    assert_eq!((requests.planned, requests.sent), (3, 2));
}

#[test]
fn timeouts_are_recorded_at_their_age_and_counted_once() {
    let mut scene = scene(|plan| plan.pipeline = 3);
    let conn = scene.open_conns()[0];
    scene.take(conn);
    scene.after(SECOND);
    scene.receive(conn, GOOD);
    scene.take(conn);
    // Two are two seconds old now, the one sent a second ago loses its connection.
    scene.after(SECOND + 10 * MS);
    assert_eq!(counts(&scene.requests()), [(Ok, 1), (Reset, 1), (Timeout, 2)]);
    assert!(!scene.is_open(conn));
    let latency = &scene.measure().latency;
    assert_eq!(latency.count(), 3);
    assert!((2 * SECOND..2 * SECOND + 20 * MS).contains(&latency.inner().max()), "{}", latency.inner().max());
    scene.accept_all();
    let conn = scene.open_conns()[0];
    assert_eq!(scene.take_requests(conn), 3, "the connection was opened again");
}

#[test]
fn a_server_that_answers_in_time_costs_one_scan_per_timeout() {
    let mut scene = scene(|_| {});
    let conn = scene.open_conns()[0];
    let ticks = scene.ticks;
    for _ in 0..2000 {
        scene.take(conn);
        scene.receive(conn, GOOD);
        scene.after(MS);
    }
    assert!(scene.ticks - ticks <= 3, "{} ticks in two seconds", scene.ticks - ticks);
    assert_eq!(scene.requests().ok, 2000);
}

#[test]
fn answers_are_taken_while_a_send_is_under_way() {
    let mut scene = scene(|plan| {
        plan.pipeline = 4;
        plan.body = Bytes::from(vec![b'x'; 1 << 20]);
    });
    let conn = scene.open_conns()[0];
    let large = vec![b'y'; 1 << 20];
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", large.len());
    assert!(!scene.begin_send(conn).is_empty());
    // Neither side reads before it has written all it has: the answers must go on being consumed.
    scene.receive(conn, head.as_bytes());
    for piece in large.chunks(10_000) {
        scene.receive(conn, piece);
    }
    assert_eq!((scene.requests().ok, scene.most_unread), (1, 0));
    scene.sent(conn);
    assert!(!scene.begin_send(conn).is_empty(), "what was wished for meanwhile is sent now");
}

#[test]
fn large_bodies_are_never_kept() {
    let mut scene = scene(|_| {});
    let conn = scene.open_conns()[0];
    scene.take(conn);
    scene.receive(conn, b"HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n");
    for _ in 0..100 {
        scene.receive(conn, &[0; 100_000]);
    }
    assert_eq!((scene.requests().ok, scene.measure().body_bytes, scene.most_unread), (1, 10_000_000, 0));
}

#[test]
fn an_answer_like_the_last_one_is_known_again_and_a_different_one_is_not() {
    let other = b"HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nok";
    let longer = b"HTTP/1.1 200 OK\r\nContent-Length: 22\r\n\r\nok and twenty more her";
    let mut scene = scene(|_| {});
    let conn = scene.open_conns()[0];
    let script: [(&[u8], u64); 8] =
        [(GOOD, 2), (GOOD, 2), (other, 2), (other, 2), (GOOD, 2), (longer, 22), (longer, 22), (GOOD, 2)];
    let mut body_bytes = 0;
    for (round, (answer, body)) in script.into_iter().enumerate() {
        scene.take(conn);
        // Cut inside the head, between head and body, and not at all.
        let cut = [answer.len(), 20, answer.len() - body as usize][round % 3];
        scene.receive(conn, &answer[..cut]);
        scene.receive(conn, &answer[cut..]);
        body_bytes += body;
        assert_eq!(scene.measure().body_bytes, body_bytes, "round {round}");
    }
    assert_eq!(counts(&scene.requests()), [(Ok, 6), (BadStatus, 2)]);
}
