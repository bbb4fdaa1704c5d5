//! Open loop: requests are sent when they are due and not when answers allow it, the oldest first, and what was not sent is counted.

mod fake;

use engine::{Cause, Conn};
use fake::{MS, RESET, SECOND, Scene, counts, plan};
use loader::{Length, LoadPlan, wire::Http};
use results::{
    Histogram,
    Outcome::{NotSent, Ok, Reset},
};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const US: u64 = 1_000;
/// How often the server of these tests looks.
const STEP: u64 = 100 * US;

fn paced(rate: u64, connections: u32) -> LoadPlan {
    LoadPlan {
        rate_per_s: Some(rate),
        connections,
        length: Length::Time { duration_ns: SECOND },
        ..plan("http://127.0.0.1/")
    }
}

/// A server that answers at once whenever `answers` says so; requests it saw, by connection.
fn serve(scene: &mut Scene<Http>, until_ns: u64, answers: impl Fn(u64) -> bool) -> Vec<usize> {
    let begin_ns = scene.now_ns;
    let mut seen = Vec::new();
    let mut owed = Vec::new();
    while scene.now_ns - begin_ns < until_ns && !scene.finished {
        for conn in scene.open_conns() {
            let index = conn.index();
            seen.resize(seen.len().max(index + 1), 0);
            owed.resize(owed.len().max(index + 1), 0);
            let requests = scene.take_requests(conn);
            seen[index] += requests;
            owed[index] += requests;
            if answers(scene.now_ns - begin_ns) {
                scene.receive(conn, &ANSWER.repeat(std::mem::take(&mut owed[index])));
            }
        }
        scene.after(STEP);
    }
    seen
}

fn quantile(histogram: &Histogram, quantile: f64) -> u64 {
    histogram.inner().value_at_quantile(quantile)
}

#[test]
fn every_request_is_sent_when_it_is_due_and_connections_take_turns() {
    for (rate, connections, pipeline) in [(1_000, 4, 1), (5, 4, 1), (9_973, 7, 1), (1_000, 1, 1), (1_000, 2, 8)] {
        let mut scene = Scene::<Http>::started(LoadPlan { pipeline, ..paced(rate, connections) });
        let seen = serve(&mut scene, 2 * SECOND, |_| true);
        assert!(scene.finished);
        let requests = scene.requests();
        assert_eq!((requests.planned, requests.sent, requests.ok), (rate, rate, rate), "{rate}/s on {connections}");
        let (most, least) = (seen.iter().max().expect("some"), seen.iter().min().expect("some"));
        assert!(most - least <= 2 + rate as usize / 50, "{seen:?}");
        let paced = scene.measure().paced.as_ref().expect("an open loop");
        assert_eq!(paced.send_lag.count(), rate);
        assert!(quantile(&paced.send_lag, 1.0) <= STEP, "{rate}/s: {}", quantile(&paced.send_lag, 1.0));
        assert!(quantile(&paced.conn_wait, 0.99) <= STEP);
        assert!(quantile(&scene.measure().latency, 1.0) <= 3 * STEP);
        assert_eq!(paced.late, 0);
    }
}

#[test]
fn a_server_that_stands_still_shows_in_latency_and_waits_and_not_as_the_loaders_fault() {
    let plan = LoadPlan { timeout_ns: 5 * SECOND, ..paced(1_000, 4) };
    let mut scene = Scene::<Http>::started(plan);
    serve(&mut scene, 2 * SECOND, |ns| !(250 * MS..750 * MS).contains(&ns));
    assert!(scene.finished);
    assert_eq!(counts(&scene.requests()), [(Ok, 1_000)]);
    let measure = scene.measure();
    let paced = measure.paced.as_ref().expect("an open loop");
    // Half of the requests were due meanwhile; they waited for 0 to 500 ms, evenly.
    let quarter = quantile(&measure.latency, 0.75);
    assert!((200 * MS..300 * MS).contains(&quarter), "{quarter}");
    assert!(quantile(&measure.latency, 0.5) < 20 * MS);
    let waited = quantile(&paced.conn_wait, 0.75);
    assert!((200 * MS..300 * MS).contains(&waited), "{waited}");
    assert!(quantile(&paced.send_lag, 1.0) <= 2 * STEP, "{}", quantile(&paced.send_lag, 1.0));
    // Only one of each connection was under way.
    assert!(quantile(&paced.service_time, 0.99) <= 3 * STEP);
    assert!(quantile(&paced.service_time, 1.0) >= 490 * MS);
    assert!((480..=530).contains(&paced.late), "{}", paced.late);
}

#[test]
fn what_no_connection_had_room_for_is_not_sent_and_never_made_up_for() {
    let mut scene = Scene::<Http>::started(LoadPlan { timeout_ns: 5 * SECOND, ..paced(1_000, 2) });
    serve(&mut scene, 200 * MS, |_| true);
    serve(&mut scene, 3 * SECOND, |ns| ns > SECOND);
    assert!(scene.finished);
    let requests = scene.requests();
    assert_eq!(requests.planned, 1_000);
    assert_eq!(counts(&requests), [(Ok, requests.sent), (NotSent, 1_000 - requests.sent)]);
    assert!((200..=204).contains(&requests.sent), "{requests:?}");
    assert!(scene.sample(NotSent).contains("no connection had room"), "{}", scene.sample(NotSent));
}

#[test]
fn pipelining_bounds_what_one_connection_has_under_way() {
    let mut scene = Scene::<Http>::started(LoadPlan { pipeline: 3, timeout_ns: 5 * SECOND, ..paced(1_000, 2) });
    let seen = serve(&mut scene, 500 * MS, |_| false);
    assert_eq!(seen, [3, 3]);
    // The oldest go first, as many as there is room for: one answer makes room for one.
    scene.receive(Conn::new(1), ANSWER);
    assert_eq!([0, 1].map(|index| scene.take_requests(Conn::new(index))), [0, 1]);
}

#[test]
fn counted_requests_come_at_their_rate_and_end_the_run() {
    let plan = LoadPlan { length: Length::Requests { total: 10 }, ..paced(100, 3) };
    let mut scene = Scene::<Http>::started(plan);
    let seen = serve(&mut scene, 45 * MS, |_| true);
    assert_eq!(seen.iter().sum::<usize>(), 5, "due at 0, 10, 20, 30 and 40 ms");
    assert!(!scene.finished);
    serve(&mut scene, SECOND, |_| true);
    assert!(scene.finished);
    assert_eq!(counts(&scene.requests()), [(Ok, 10)]);
}

#[test]
fn the_warm_up_is_paced_too_and_a_late_request_of_it_is_not_measured() {
    let plan = LoadPlan { warmup_ns: Some(SECOND), timeout_ns: 5 * SECOND, ..paced(1_000, 2) };
    let mut scene = Scene::<Http>::started(plan);
    // It stands still at the end of the warm-up: what was due then and not sent is passed over, or the measured part would only
    // make up for it.
    serve(&mut scene, 4 * SECOND, |ns| !(900 * MS..1_100 * MS).contains(&ns));
    assert!(scene.finished);
    assert_eq!(counts(&scene.requests()), [(Ok, 1_000)]);
    let warmup = scene.measure().warmup.requests;
    assert_eq!(counts(&warmup), [(Ok, warmup.sent), (NotSent, 1_000 - warmup.sent)]);
    assert!((900..=903).contains(&warmup.sent), "{warmup:?}");
    assert_eq!(scene.measure().latency.count(), 1_000);
}

#[test]
fn a_connection_that_breaks_loses_its_own_requests_and_no_others() {
    let mut scene = Scene::<Http>::started(LoadPlan { timeout_ns: 5 * SECOND, ..paced(1_000, 3) });
    serve(&mut scene, 100 * MS, |_| true);
    scene.after(2 * MS);
    let open = scene.open_conns();
    let victim = *open.iter().find(|conn| scene.begin_send(**conn).len() > 1).expect("one is asking");
    scene.break_off(victim, Cause::ReceiveFailed(RESET));
    for _ in 0..400 {
        scene.accept_all();
        serve(&mut scene, 5 * MS, |_| true);
    }
    assert!(scene.finished);
    let requests = scene.requests();
    assert_eq!(counts(&requests), [(Ok, 999), (Reset, 1)]);
    assert_eq!(scene.measure().reconnects, 1);
}

#[test]
fn an_idle_open_loop_ticks_no_more_often_than_requests_are_due() {
    let mut scene = Scene::<Http>::started(paced(5, 2));
    let before = scene.ticks;
    serve(&mut scene, 900 * MS, |_| true);
    assert!(scene.ticks - before < 100, "{} ticks for 5 requests", scene.ticks - before);
}

#[test]
fn shards_share_one_rate() {
    let plan = LoadPlan { threads: 3, ..paced(1_000, 6) };
    let shares: u64 = (0..3)
        .map(|index| {
            let mut scene = Scene::<Http>::started_as(plan.clone(), index);
            serve(&mut scene, 2 * SECOND, |_| true);
            assert!(scene.finished);
            scene.requests().ok
        })
        .sum();
    assert_eq!(shares, 1_000);
}

#[test]
fn a_stop_leaves_every_planned_request_with_an_outcome() {
    for stop_ms in [0, 1, 333, 999] {
        let mut scene = Scene::<Http>::started(LoadPlan { timeout_ns: 50 * MS, ..paced(1_000, 2) });
        serve(&mut scene, stop_ms * MS, |ns| ns < 100 * MS);
        scene.stop();
        serve(&mut scene, SECOND, |_| false);
        assert!(scene.finished);
        let requests = scene.into_requests();
        assert_eq!(requests.adds_up(), Result::Ok(()), "{requests:?}");
        assert!(requests.planned <= stop_ms + 2, "{requests:?}");
    }
}

#[test]
fn connections_that_are_made_again_and_again_keep_the_rate() {
    let plan = LoadPlan { requests_per_conn: Some(2), timeout_ns: 5 * SECOND, ..paced(1_000, 4) };
    let mut scene = Scene::<Http>::started(plan);
    for _ in 0..2_000 {
        scene.accept_all();
        serve(&mut scene, MS, |_| true);
    }
    assert!(scene.finished);
    assert_eq!(counts(&scene.requests()), [(Ok, 1_000)]);
    assert!((490..=500).contains(&scene.measure().reconnects), "{}", scene.measure().reconnects);
}
