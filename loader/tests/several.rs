//! A run with several requests: exact shares, each answer to its own request, and figures of each that add up to the whole.

mod fake;

use bytes::Bytes;
use engine::{Cause, Conn};
use fake::{BEGIN_NS, MS, RESET, SECOND, Scene, plan};
use loader::{
    Expect, Length, LoadPlan, Mix,
    mix::{MixSource, NamedRequest},
    request_file, scenario,
    wire::{Http, Zap},
};
use results::Outcome;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const NOT_FOUND: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno";

/// One request per letter, which is also its path; `weight` each.
fn named(name: &str, method: &str, weight: u32) -> NamedRequest {
    let head = format!("{method} /{name} HTTP/1.1\r\nHost: a\r\n\r\n");
    NamedRequest {
        name: name.into(),
        category: None,
        weight,
        method: method.into(),
        target: format!("/{name}"),
        bytes: head.into_bytes().into(),
        is_head: method == "HEAD",
        closes: false,
        expect: Expect::default(),
    }
}

fn mix(requests: Vec<NamedRequest>) -> Option<Mix> {
    Some(Mix::new(MixSource::Files(Vec::new()), requests, Vec::new()).expect("sound"))
}

fn mixed(weights: &[(&str, u32)]) -> LoadPlan {
    let requests = weights.iter().map(|(name, weight)| named(name, "GET", *weight)).collect();
    LoadPlan { mix: mix(requests), ..plan("http://a/") }
}

/// The paths asked for in these bytes, without their slashes.
fn paths(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.lines().filter_map(|line| line.split(' ').nth(1)?.strip_prefix('/')).collect()
}

/// Answers everything on every connection for so many rounds; what was asked for, in order.
fn answer_rounds(scene: &mut Scene<Http, true>, rounds: usize) -> String {
    let mut asked = String::new();
    for _ in 0..rounds {
        for conn in scene.open_conns() {
            let now = paths(&scene.take(conn));
            asked.push_str(&now);
            for _ in 0..now.len() {
                scene.receive(conn, OK);
            }
        }
        scene.after(MS);
    }
    asked
}

#[test]
fn turns_come_in_order_over_all_connections() {
    let plan = LoadPlan { connections: 3, ..mixed(&[("a", 5), ("b", 1), ("c", 1)]) };
    let mut scene = Scene::<Http, true>::mixed(plan, 0);
    assert_eq!(answer_rounds(&mut scene, 7), "aabacaa".repeat(3));
    let rows = scene.rows();
    assert_eq!(rows.iter().map(|row| row.0.ok).collect::<Vec<_>>(), [15, 3, 3]);
}

#[test]
fn a_counted_run_over_several_shards_is_the_order_from_its_begin() {
    for (pipeline, total) in [(1, 21), (4, 35), (1, 10)] {
        let asked: String = (0..3)
            .map(|shard| {
                let plan = LoadPlan {
                    connections: 3,
                    threads: 3,
                    pipeline,
                    length: Length::Requests { total },
                    ..mixed(&[("a", 5), ("b", 1), ("c", 1)])
                };
                let mut scene = Scene::<Http, true>::mixed(plan, shard);
                let asked = answer_rounds(&mut scene, 40);
                assert!(scene.finished);
                asked
            })
            .collect();
        assert_eq!(asked, "aabacaa".repeat(5)[..total as usize], "pipelined x{pipeline}");
    }
}

#[test]
fn the_measured_part_begins_with_the_first_turn() {
    let plan = LoadPlan { warmup_ns: Some(10 * MS), ..mixed(&[("a", 2), ("b", 1)]) };
    let mut scene = Scene::<Http, true>::mixed(plan, 0);
    let warm = answer_rounds(&mut scene, 10);
    assert_eq!(warm, "abaabaabaa");
    // The one that is sent when the last answer of the warm-up comes was still the warm-up's.
    scene.at(BEGIN_NS + 11 * MS);
    assert_eq!(answer_rounds(&mut scene, 7), "babaaba");
    let rows = scene.rows();
    assert_eq!(rows.iter().map(|row| row.0.sent).sum::<u64>(), scene.requests().sent);
    assert_eq!(rows.iter().map(|row| row.0.sent).collect::<Vec<_>>(), [5, 2]);
}

/// The head of an answer to HEAD says what GET would have got; the next answer begins right behind it.
#[test]
fn equal_heads_mean_what_was_asked() {
    let requests = vec![named("h", "HEAD", 1), named("g", "GET", 1)];
    let plan = LoadPlan { pipeline: 4, mix: mix(requests), ..plan("http://a/") };
    let mut scene = Scene::<Http, true>::mixed(plan, 0);
    let head = &OK[..OK.len() - 2];
    for _ in 0..5 {
        let conn = Conn::new(0);
        assert_eq!(paths(&scene.take(conn)), "hghg");
        scene.receive(conn, &[head, OK, head, OK].concat());
    }
    let rows = scene.rows();
    assert_eq!((rows[0].0.ok, rows[1].0.ok, scene.requests().failed()), (10, 10, 0));
    assert_eq!((rows[0].1, rows[1].1), (0, 20), "body bytes");
}

#[test]
fn each_answer_is_judged_by_what_its_own_request_expects() {
    let mut missing = named("m", "GET", 1);
    missing.expect = Expect::parse("404").expect("a status");
    let plan = LoadPlan { mix: mix(vec![named("a", "GET", 1), missing]), ..plan("http://a/") };
    let mut scene = Scene::<Http, true>::mixed(plan, 0);
    for answer in [OK, NOT_FOUND, NOT_FOUND, OK] {
        scene.take(Conn::new(0));
        scene.receive(Conn::new(0), answer);
    }
    let rows = scene.rows();
    assert_eq!((rows[0].0.ok, rows[0].0.bad_status, rows[1].0.ok, rows[1].0.bad_status), (1, 1, 1, 1));
    assert_eq!(scene.sample(Outcome::BadStatus), "a: status 404, expected 200-299");
}

/// Nothing is sent behind a request that says that it is the last, and its connection's end is no failure.
#[test]
fn a_request_that_closes_ends_its_connection() {
    let closing = || NamedRequest { closes: true, ..named("z", "GET", 1) };
    let plan = LoadPlan { pipeline: 3, mix: mix(vec![named("a", "GET", 1), closing()]), ..plan("http://a/") };
    let mut scene = Scene::<Http, true>::mixed(plan, 0);
    for _ in 0..4 {
        let conn = scene.open_conns()[0];
        assert_eq!(paths(&scene.take(conn)), "az");
        // The server does not say that it closes, and does.
        scene.receive(conn, &[OK, OK].concat());
        assert_eq!(scene.take(conn), b"");
        scene.eof(conn);
        scene.accept_all();
    }
    let rows = scene.rows();
    assert_eq!((rows[0].0.ok, rows[1].0.ok, scene.requests().failed()), (4, 4, 0));
    // The same where it is the only one.
    let plan = LoadPlan { pipeline: 3, mix: mix(vec![closing()]), ..fake::plan("http://a/") };
    let mut scene = Scene::<Http>::started(plan);
    let conn = scene.open_conns()[0];
    assert_eq!(scene.take_requests(conn), 1);
    scene.receive(conn, OK);
    assert_eq!(scene.take_requests(conn), 0);
    scene.eof(conn);
    assert_eq!((scene.accept_all().len(), scene.requests().ok, scene.requests().failed()), (1, 1, 0));
    // And where a header says so.
    let headers = vec![loader::value::header("Connection: close").expect("a header")];
    let mut scene = Scene::<Http>::started(LoadPlan { pipeline: 3, headers, ..fake::plan("http://a/") });
    assert_eq!(scene.take_requests(Conn::new(0)), 1);
}

#[test]
fn failures_belong_to_the_requests_that_had_them() {
    let plan = LoadPlan { pipeline: 2, timeout_ns: 50 * MS, ..mixed(&[("a", 1), ("b", 1), ("c", 1)]) };
    let mut scene = Scene::<Http, true>::mixed(plan, 0);
    // a is answered, c sent behind b; the connection breaks.
    scene.take(Conn::new(0));
    scene.receive(Conn::new(0), OK);
    scene.take(Conn::new(0));
    scene.break_off(Conn::new(0), Cause::ReceiveFailed(RESET));
    let rows = scene.rows();
    assert_eq!((rows[0].0.ok, rows[1].0.reset, rows[2].0.reset), (1, 1, 1));
    // a and b are sent on the next one and never answered.
    scene.accept_all();
    scene.after(100 * MS);
    let rows = scene.rows();
    assert_eq!((rows[0].0.timeout, rows[1].0.timeout), (1, 1));
    assert!(scene.sample(Outcome::Timeout).starts_with("a: no complete answer"), "{}", scene.sample(Outcome::Timeout));
    // c is garbled.
    scene.accept_all();
    let conn = scene.open_conns()[0];
    assert_eq!(paths(&scene.take(conn)), "ca");
    scene.receive(conn, b"SSH-2.0\r\n");
    let rows = scene.rows();
    assert_eq!((rows[2].0.protocol, rows[0].0.reset), (1, 1));
    for (requests, _) in rows {
        assert_eq!(requests.adds_up(), Ok(()));
    }
    assert_eq!(rows_sum(&scene), scene.requests().outcomes());
}

fn rows_sum(scene: &Scene<Http, true>) -> u64 {
    scene.rows().iter().map(|row| row.0.outcomes()).sum()
}

#[test]
fn an_open_loop_keeps_its_shares_and_its_times() {
    let plan = LoadPlan {
        connections: 2,
        rate_per_s: Some(1000),
        length: Length::Time { duration_ns: SECOND },
        ..mixed(&[("a", 3), ("b", 1)])
    };
    let mut scene = Scene::<Http, true>::mixed(plan, 0);
    let mut asked = String::new();
    for ms in 0..=1000 {
        scene.at(BEGIN_NS + ms * MS);
        for conn in scene.open_conns() {
            let now = paths(&scene.take(conn));
            for _ in 0..now.len() {
                scene.receive(conn, OK);
            }
            asked.push_str(&now);
        }
    }
    scene.after(3 * SECOND);
    assert!(scene.finished);
    assert_eq!(asked, "aaba".repeat(250));
    let rows = scene.rows();
    assert_eq!((rows[0].0.ok, rows[1].0.ok), (750, 250));
    assert_eq!((scene.requests().ok, scene.requests().failed()), (1000, 0));
}

#[test]
fn connections_are_closed_after_so_many_requests_whichever_they_are() {
    let plan = LoadPlan { requests_per_conn: Some(2), pipeline: 2, ..mixed(&[("a", 1), ("b", 1), ("c", 1)]) };
    let mut scene = Scene::<Http, true>::mixed(plan, 0);
    let mut asked = Vec::new();
    for _ in 0..3 {
        let conn = scene.open_conns()[0];
        asked.push(paths(&scene.take(conn)));
        scene.receive(conn, &[OK, OK].concat());
        scene.accept_all();
    }
    assert_eq!(asked, ["ab", "ca", "bc"]);
    assert_eq!(scene.requests().failed(), 0);
}

/// Requests larger than what one turn may put into an outbox, next to small ones.
#[test]
fn large_requests_leave_room_for_others() {
    let body = vec![b'x'; 300_000];
    let head = format!("POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.len());
    let large = NamedRequest { bytes: Bytes::from([head.as_bytes(), &body].concat()), ..named("b", "POST", 1) };
    let plan = LoadPlan { pipeline: 4, mix: mix(vec![named("a", "GET", 1), large]), ..plan("http://a/") };
    let mut scene = Scene::<Http, true>::mixed(plan, 0);
    let conn = Conn::new(0);
    let mut asked = String::new();
    for _ in 0..4 {
        let bytes = scene.take(conn);
        let now = paths(&bytes);
        assert!(!now.is_empty() && now.len() <= 4);
        for _ in 0..now.len() {
            scene.receive(conn, OK);
        }
        asked.push_str(&now);
    }
    assert!("ab".repeat(20).starts_with(&asked), "{asked}");
    assert_eq!(scene.requests().failed(), 0);
}

#[test]
fn zap_scenarios_are_driven_alike() {
    let text = "[[request]]\nname = \"a\"\npath = \"/a\"\nweight = 2\n[[request]]\nname = \"b\"\npath = \"/b\"\nbody = \"x\"\n";
    let target = loader::Target::parse("zap://a/").expect("a URL");
    let folder = std::env::temp_dir().join(format!("zapring-several-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("writable");
    let path = folder.join("s.toml");
    std::fs::write(&path, text).expect("written");
    let mix = scenario::read(&path, &target, &Expect::default()).expect("sound");
    let raw = folder.join("one.zap");
    std::fs::write(&raw, &mix.requests[0].bytes).expect("written");
    let file = request_file::read_all(&[raw.display().to_string()], target.wire, &Expect::default()).expect("sound");
    std::fs::remove_dir_all(&folder).expect("removed");
    assert_eq!((file.requests[0].target.as_str(), &file.requests[0].bytes), ("/a", &mix.requests[0].bytes));

    let plan = LoadPlan { pipeline: 3, mix: Some(mix), ..plan("zap://a/") };
    let mut scene = Scene::<Zap, true>::mixed(plan, 0);
    let mut answer = Vec::new();
    let head = codec::zap::response::ResponseHead::new(200, ());
    codec::zap::response::encode(&mut answer, &head, b"ok", ()).expect("encodes");
    for _ in 0..4 {
        assert!(!scene.take(Conn::new(0)).is_empty());
        scene.receive(Conn::new(0), &answer.repeat(3));
    }
    let rows = scene.rows();
    assert_eq!((rows[0].0.ok, rows[1].0.ok, rows[0].1), (8, 4, 16));
}
