//! Whatever happens in whatever order, every planned request has exactly one outcome; counted runs are exact; connections are
//! made again at a bounded rate.

mod fake;

use engine::Cause;
use fake::{BEGIN_NS, MS, REFUSED, RESET, SECOND, Scene, counts, plan};
use loader::{Length, LoadPlan, LoadShard, Shared, wire::Http};
use proptest::prelude::*;
use results::Outcome::{self, BadStatus, Connect, NotSent, Ok, Protocol, Reset, Timeout, Unfinished};

const URL: &str = "http://127.0.0.1/";
const GOOD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn counted(total: u64, connections: u32, pipeline: u32) -> LoadPlan {
    LoadPlan { length: Length::Requests { total }, connections, pipeline, ..plan(URL) }
}

/// A server that answers everything at once, until the run is over; gives up after many rounds.
fn serve(scene: &mut Scene<Http>) {
    for _ in 0..10_000 {
        if scene.finished {
            return;
        }
        scene.accept_all();
        for conn in scene.open_conns() {
            let requests = scene.take_requests(conn);
            scene.receive(conn, &GOOD.repeat(requests));
        }
        scene.after(10_000);
    }
    panic!("the run does not end: {:?}", scene.requests());
}

#[test]
fn exactly_the_counted_requests_are_sent() {
    for (total, connections, pipeline) in [(1, 1, 1), (1, 1, 16), (7, 3, 2), (100, 8, 16), (1000, 3, 1), (16, 16, 16)] {
        let mut scene = Scene::<Http>::started(counted(total, connections, pipeline));
        serve(&mut scene);
        let requests = scene.requests();
        assert_eq!(
            (requests.planned, requests.sent, requests.ok),
            (total, total, total),
            "{total} {connections} {pipeline}"
        );
        assert!(scene.measure().end.is_some());
    }
}

#[test]
fn whatever_ends_is_counted_in_its_second() {
    let length = Length::Time { duration_ns: 2500 * MS };
    let mut scene = Scene::<Http>::started(LoadPlan { connections: 3, length, timeout_ns: 1200 * MS, ..plan(URL) });
    let conns = scene.open_conns();
    conns.iter().for_each(|conn| assert_eq!(scene.take_requests(*conn), 1));
    let no: &[u8] = b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n";
    // The other two time out at 1.2 s; the last answer comes while the run is drained.
    for (at_ns, answer) in [(SECOND - 1, GOOD), (SECOND, no), (1900 * MS, GOOD), (2600 * MS, GOOD)] {
        scene.at(BEGIN_NS + at_ns);
        scene.receive(conns[0], answer);
        scene.take_requests(conns[0]);
    }
    scene.after(SECOND);
    let rows = scene.measure().over_time(2500 * MS);
    let rows: Vec<_> = rows.iter().map(|row| (row.second, row.step_ns / MS, row.ok, row.failed, row.drain)).collect();
    assert_eq!(
        rows,
        [(0, 1000, 1, 0, false), (1, 1000, 1, 3, false), (2, 500, 0, 0, false), (2, 100, 1, 0, true)],
        "{:?}",
        scene.requests()
    );
}

#[test]
fn few_counted_requests_are_spread_over_the_connections() {
    let mut scene = Scene::<Http>::started(counted(8, 4, 16));
    let sent: Vec<usize> = scene.open_conns().into_iter().map(|conn| scene.take_requests(conn)).collect();
    assert_eq!(sent, [2, 2, 2, 2]);
}

#[test]
fn a_warm_up_before_counted_requests_is_not_counted() {
    let mut scene = Scene::<Http>::started(LoadPlan { warmup_ns: Some(SECOND), ..counted(50, 2, 4) });
    for _ in 0..10 {
        for conn in scene.open_conns() {
            let requests = scene.take_requests(conn);
            scene.receive(conn, &GOOD.repeat(requests));
        }
    }
    assert_eq!((scene.requests().planned, scene.measure().warmup.requests.ok), (0, 80));
    scene.at(BEGIN_NS + SECOND);
    serve(&mut scene);
    assert_eq!((scene.requests().planned, scene.requests().ok), (50, 50));
    let warmup = scene.measure().warmup.requests;
    assert_eq!((warmup.adds_up(), warmup.planned), (Result::Ok(()), 88));
    assert_eq!(scene.measure().latency.count(), 50);
}

#[test]
fn a_request_belongs_to_the_phase_in_which_it_was_sent() {
    let mut scene = Scene::<Http>::started(LoadPlan {
        warmup_ns: Some(SECOND),
        length: Length::Time { duration_ns: SECOND },
        ..plan(URL)
    });
    let conn = scene.open_conns()[0];
    scene.take(conn);
    scene.at(BEGIN_NS + SECOND + MS);
    scene.receive(conn, GOOD);
    assert_eq!((scene.measure().warmup.requests.ok, scene.requests().ok), (1, 0));
    scene.take(conn);
    scene.at(BEGIN_NS + 2 * SECOND + MS);
    scene.receive(conn, GOOD);
    assert!(scene.finished, "nothing new is sent after the window");
    assert_eq!(counts(&scene.requests()), [(Ok, 1)]);
    assert_eq!(scene.measure().warmup.requests.planned, 1);
    let (begin, end) = (scene.measure().begin.expect("begun"), scene.measure().end.expect("ended"));
    assert_eq!((begin.at_ns, end.at_ns), (BEGIN_NS + SECOND, BEGIN_NS + 2 * SECOND));
}

#[test]
fn nothing_is_sent_before_all_are_open_and_the_start_has_come() {
    let mut scene = Scene::<Http>::new(LoadPlan { connections: 3, ..plan(URL) });
    scene.accept_all();
    assert_eq!((scene.shared.gate.open(), scene.shared.gate.reached()), (3, 3));
    scene.after(100 * MS);
    assert!(scene.open_conns().into_iter().all(|conn| scene.take_requests(conn) == 0));
    scene.shared.gate.start_at(scene.now_ns + 5 * MS);
    scene.after(4 * MS);
    assert!(scene.open_conns().into_iter().all(|conn| scene.take_requests(conn) == 0));
    scene.after(2 * MS);
    assert!(scene.open_conns().into_iter().all(|conn| scene.take_requests(conn) == 1));
}

#[test]
fn a_server_that_closes_without_answering_is_tried_less_and_less() {
    let mut scene = Scene::<Http>::started(plan(URL));
    let mut opened = 0;
    while scene.now_ns < BEGIN_NS + 9 * SECOND {
        for conn in scene.open_conns() {
            scene.take(conn);
            scene.eof(conn);
        }
        opened += scene.accept_all().len();
        scene.after(MS);
    }
    // 10, 20, 40 … 640 ms, then once a second.
    assert!((12..=17).contains(&opened), "{opened} connections in nine seconds");
    let requests = scene.requests();
    assert_eq!(counts(&requests), [(Reset, requests.reset)]);
    assert!(requests.reset <= 18);
}

#[test]
fn a_server_that_refuses_is_tried_less_and_less_and_every_try_counts() {
    let mut scene = Scene::<Http>::started(plan(URL));
    let conn = scene.open_conns()[0];
    scene.take(conn);
    scene.receive(conn, GOOD);
    scene.break_off(conn, Cause::ReceiveFailed(RESET));
    let mut refused = 0;
    while scene.now_ns < BEGIN_NS + 9 * SECOND {
        refused += u64::from(scene.refuse(REFUSED));
        scene.after(MS);
    }
    assert!((12..=17).contains(&refused), "{refused} tries in nine seconds");
    assert_eq!(counts(&scene.requests()), [(Ok, 1), (Connect, refused), (Reset, 1)]);
}

#[test]
fn garbage_is_met_with_the_same_patience() {
    let mut scene = Scene::<Http>::started(plan(URL));
    while scene.now_ns < BEGIN_NS + 5 * SECOND {
        scene.accept_all();
        for conn in scene.open_conns() {
            if scene.take_requests(conn) > 0 {
                scene.receive(conn, b"\x16\x03\x01 this is something else\n");
            }
        }
        scene.after(MS);
    }
    let requests = scene.requests();
    assert!((9..=13).contains(&requests.protocol), "{requests:?}");
    assert_eq!(requests.protocol, requests.planned);
}

#[test]
fn a_counted_run_ends_although_the_server_is_gone() {
    let mut scene = Scene::<Http>::started(counted(1000, 2, 1));
    for conn in scene.open_conns() {
        scene.take(conn);
        scene.eof(conn);
    }
    while !scene.finished && scene.now_ns < BEGIN_NS + 60 * SECOND {
        scene.refuse(REFUSED);
        scene.after(MS);
    }
    assert!(scene.finished);
    let requests = scene.requests();
    assert_eq!((requests.planned, requests.adds_up()), (1000, Result::Ok(())));
    assert_eq!(counts(&requests), [(Connect, requests.connect), (Reset, 2), (NotSent, 998 - requests.connect)]);
    assert!(scene.sample(NotSent).contains("2 connections"), "{}", scene.sample(NotSent));
}

#[test]
fn a_counted_run_ends_with_the_timeout_of_its_last_request() {
    let mut scene = Scene::<Http>::started(counted(2, 1, 2));
    let conn = scene.open_conns()[0];
    assert_eq!(scene.take_requests(conn), 2);
    scene.receive(conn, GOOD);
    scene.after(2 * SECOND + 10 * MS);
    assert!(scene.finished);
    assert_eq!(counts(&scene.requests()), [(Ok, 1), (Timeout, 1)]);
}

#[test]
fn every_address_is_tried_before_a_connection_is_refused() {
    let mut scene = Scene::<Http>::with_addresses(LoadPlan { connections: 4, ..plan(URL) }, 2);
    // The first address answers nobody: lanes 0 and 2 begin there, targets below 4.
    let mut by_target = Vec::new();
    while let Some(&target) = scene.connects.front() {
        by_target.push(target);
        if target < 4 {
            scene.refuse(REFUSED);
        } else {
            scene.accept();
        }
    }
    assert_eq!(scene.shared.gate.reached(), 4);
    assert_eq!(scene.shared.gate.refused(), 0);
    assert_eq!(scene.shard.reached_by_address(), [0, 4]);
    assert_eq!(by_target.len(), 6, "two lanes needed a second try");
}

#[test]
fn a_connection_that_was_never_open_counts_at_the_end() {
    let mut scene =
        Scene::<Http>::new(LoadPlan { connections: 2, length: Length::Time { duration_ns: SECOND }, ..plan(URL) });
    scene.accept();
    scene.start();
    let conn = scene.open_conns()[0];
    scene.take(conn);
    scene.after(SECOND);
    scene.receive(conn, GOOD);
    assert!(scene.finished);
    assert_eq!(counts(&scene.requests()), [(Ok, 1), (Connect, 1)]);
}

#[test]
fn a_stop_leaves_a_partial_result_whose_sums_agree() {
    let mut scene = Scene::<Http>::started(counted(100, 1, 4));
    let conn = scene.open_conns()[0];
    scene.take(conn);
    scene.receive(conn, &GOOD.repeat(2));
    scene.take(conn);
    scene.after(5 * MS);
    scene.stop();
    assert!(!scene.finished, "what is under way may still come");
    scene.receive(conn, GOOD);
    assert_eq!(scene.take_requests(conn), 0);
    scene.break_off(conn, Cause::Shutdown);
    assert!(scene.finished);
    let requests = scene.requests();
    assert_eq!((requests.planned, requests.sent), (100, 6));
    assert_eq!(counts(&requests), [(Ok, 3), (Unfinished, 3), (NotSent, 94)]);
}

#[test]
fn a_stop_before_the_start_ends_at_once() {
    let mut scene = Scene::<Http>::new(plan(URL));
    scene.accept_all();
    scene.stop();
    assert!(scene.finished);
    assert_eq!(scene.requests().planned, 0);
    assert!(scene.measure().begin.is_none());
}

#[test]
fn connects_before_the_start_are_bounded() {
    let mut scene = Scene::<Http>::new(LoadPlan { connections: 1000, ..plan(URL) });
    let mut most = 0;
    let mut open = 0;
    while scene.accept().is_some() {
        open += 1;
        most = most.max(scene.connects.len());
    }
    assert_eq!((open, scene.shared.gate.open()), (1000, 1000));
    assert!(most <= loader::limits::MAX_CONNECTING);
}

#[test]
fn shards_split_connections_and_requests_without_loss() {
    let plan = LoadPlan { threads: 3, ..counted(10, 7, 1) };
    let shared = std::sync::Arc::new(
        Shared::new(plan.clone(), vec![engine::Address::Unix("x".into())]).expect("a request that encodes"),
    );
    let board = std::sync::Arc::new(engine::Board::new(3));
    let targets = shared.targets().len();
    assert_eq!(targets, 3, "one for each connection of the largest shard");
    for index in 0..3 {
        let shard = LoadShard::<Http>::new(shared.clone(), board.clone(), index);
        assert_eq!(shard.into_measure().measured.requests.not_sent, plan.share(index).requests.expect("counted"));
    }
}

/// One thing that may happen.
#[derive(Debug, Clone, Copy)]
enum Event {
    Accept,
    Refuse,
    Good(usize),
    Bad,
    Partial,
    RestOfPartial,
    Garbage,
    Extra,
    CloseAnnounced,
    Eof,
    Break,
    BeginSend,
    Sent,
    Wait(u64),
    Stop,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => Just(Event::Accept),
        1 => Just(Event::Refuse),
        8 => (1..6_usize).prop_map(Event::Good),
        2 => Just(Event::Bad),
        2 => Just(Event::Partial),
        2 => Just(Event::RestOfPartial),
        1 => Just(Event::Garbage),
        1 => Just(Event::Extra),
        1 => Just(Event::CloseAnnounced),
        2 => Just(Event::Eof),
        1 => Just(Event::Break),
        2 => Just(Event::BeginSend),
        4 => Just(Event::Sent),
        4 => (0..400_u64).prop_map(Event::Wait),
        1 => Just(Event::Stop),
    ]
}

/// A server that knows how many requests it was sent on a connection and has not answered.
struct Peer {
    scene: Scene<Http>,
    owed: Vec<usize>,
}

impl Peer {
    fn collect(&mut self, conn: engine::Conn) {
        let bytes = self.scene.begin_send(conn).len() / self.scene.shared.request().len_bytes();
        self.owed.resize(self.owed.len().max(conn.index() + 1), 0);
        self.owed[conn.index()] += bytes;
    }

    fn answer(&mut self, conn: engine::Conn, bytes: &[u8], answers: usize) {
        if self.scene.is_open(conn) && self.owed[conn.index()] >= answers {
            self.owed[conn.index()] -= answers;
            self.scene.receive(conn, bytes);
        }
    }

    fn play(&mut self, event: Event, pick: usize) {
        let open = self.scene.open_conns();
        let conn = open.get(pick % open.len().max(1)).copied();
        match (event, conn) {
            (Event::Accept, _) => {
                if let Some(conn) = self.scene.accept() {
                    self.owed.resize(self.owed.len().max(conn.index() + 1), 0);
                    self.owed[conn.index()] = 0;
                    self.collect(conn);
                }
            }
            (Event::Refuse, _) => {
                self.scene.refuse(REFUSED);
            }
            (Event::Wait(ms), _) => self.scene.after(ms * MS),
            (Event::Stop, _) => self.scene.stop(),
            (_, None) => {}
            (Event::Good(count), Some(conn)) => self.answer(conn, &GOOD.repeat(count), count),
            (Event::Bad, Some(conn)) => self.answer(conn, b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", 1),
            (Event::Partial, Some(conn)) => self.answer(conn, &GOOD[..GOOD.len() - 1], 1),
            (Event::RestOfPartial, Some(conn)) => self.scene.receive(conn, &GOOD[GOOD.len() - 1..]),
            (Event::Garbage, Some(conn)) => self.scene.receive(conn, b"\0\0\0 garbage"),
            (Event::Extra, Some(conn)) => self.scene.receive(conn, GOOD),
            (Event::CloseAnnounced, Some(conn)) => {
                self.answer(conn, b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", 1);
            }
            (Event::Eof, Some(conn)) => self.scene.eof(conn),
            (Event::Break, Some(conn)) => self.scene.break_off(conn, Cause::ReceiveFailed(RESET)),
            (Event::BeginSend, Some(conn)) => self.collect(conn),
            (Event::Sent, Some(conn)) => {
                self.scene.sent(conn);
                self.collect(conn);
            }
        }
    }
}

fn sums_agree(plan: LoadPlan, events: &[(Event, usize)]) -> Result<(), TestCaseError> {
    let total = match plan.length {
        Length::Requests { total } => Some(total),
        Length::Time { .. } => None,
    };
    let mut peer = Peer { scene: Scene::new(plan), owed: Vec::new() };
    for _ in 0..2 {
        peer.play(Event::Accept, 0);
    }
    peer.scene.start();
    for &(event, pick) in events {
        peer.play(event, pick);
        let requests = peer.scene.requests();
        prop_assert!(requests.outcomes() <= requests.planned, "{requests:?}");
    }
    let extra = peer.scene.measure().measured.requests.protocol;
    let measure = peer.scene.shard.into_measure();
    let (measured, warmup) = (measure.measured.requests, measure.warmup.requests);
    prop_assert_eq!(measured.adds_up(), Result::Ok(()));
    prop_assert_eq!(warmup.adds_up(), Result::Ok(()));
    // What was answered has a status and a latency; a body that was cut off has neither.
    let answered = measure.status_codes().values().sum::<u64>();
    prop_assert_eq!(answered, measured.ok + measured.bad_status);
    prop_assert_eq!(measure.latency.count(), answered + measured.timeout);
    if let Some(total) = total {
        prop_assert!((total..=total + extra).contains(&measured.planned), "{total} {measured:?}");
    }
    Result::Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn planned_is_the_sum_of_outcomes_whatever_happens(
        events in prop::collection::vec((event(), 0..8_usize), 0..120),
        pipeline in 1..5_u32,
        warmup_ms in prop_oneof![Just(0), 1..500_u64],
        length in prop_oneof![
            (1..2000_u64).prop_map(|ms| Length::Time { duration_ns: ms * MS }),
            (1..40_u64).prop_map(|total| Length::Requests { total }),
        ],
        timeout_ms in 1..1000_u64,
    ) {
        let plan = LoadPlan {
            connections: 3,
            pipeline,
            warmup_ns: Some(warmup_ms * MS),
            length,
            timeout_ns: timeout_ms * MS,
            ..plan(URL)
        };
        sums_agree(plan, &events)?;
    }
}

#[test]
fn every_outcome_can_be_reached() {
    let seen = |scene: &Scene<Http>| {
        counts(&scene.requests()).into_iter().map(|(outcome, _)| outcome).collect::<Vec<Outcome>>()
    };
    let mut scene = Scene::<Http>::started(LoadPlan { pipeline: 4, ..plan(URL) });
    let conn = scene.open_conns()[0];
    scene.take(conn);
    scene.receive(conn, GOOD);
    scene.receive(conn, b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n");
    scene.receive(conn, b"garbage");
    scene.after(20 * MS);
    let conn = scene.accept().expect("tried again");
    scene.take(conn);
    scene.after(3 * SECOND);
    assert_eq!(seen(&scene), [Ok, BadStatus, Reset, Timeout, Protocol]);
}

#[test]
fn a_connection_of_few_requests_is_closed_and_made_again() {
    for (total, connections, pipeline, per_conn) in [(20, 2, 1, 3), (60, 2, 4, 6), (60, 3, 16, 1), (7, 1, 4, 7)] {
        let plan = LoadPlan { requests_per_conn: Some(per_conn), ..counted(total, connections, pipeline) };
        let mut scene = Scene::<Http>::started(plan);
        let mut carried = vec![0; connections as usize];
        let mut closed = 0;
        for _ in 0..1_000 {
            if scene.finished {
                break;
            }
            for conn in scene.accept_all() {
                carried[conn.index()] = 0;
            }
            for conn in scene.open_conns() {
                let requests = scene.take_requests(conn);
                carried[conn.index()] += requests as u64;
                assert!(carried[conn.index()] <= per_conn, "{carried:?}");
                scene.receive(conn, &GOOD.repeat(requests));
                if carried[conn.index()] == per_conn {
                    assert!(!scene.is_open(conn), "it has had its {per_conn}");
                    closed += 1;
                }
            }
            scene.after(10_000);
        }
        assert_eq!(counts(&scene.requests()), [(Ok, total)]);
        assert!(closed >= total / per_conn - u64::from(connections), "{closed} were closed");
        assert!(scene.measure().reconnects + u64::from(connections) >= total / per_conn);
    }
}

#[test]
fn connections_are_begun_at_their_rate_before_the_start() {
    let mut scene = Scene::<Http>::new(LoadPlan { connect_rate_per_s: Some(100), ..counted(10, 10, 1) });
    let mut open = 0;
    for step in 0..100 {
        open += scene.accept_all().len();
        assert_eq!(open as u64, (step / 10 + 1).min(10), "after {step} ms");
        scene.after(MS);
    }
    scene.start();
    serve(&mut scene);
    assert_eq!(counts(&scene.requests()), [(Ok, 10)]);
}
