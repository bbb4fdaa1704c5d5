//! Drives the loader's protocol with slices, for counting instructions per request under callgrind:
//!
//! ```text
//! cargo build --release -p loader --example loader_instructions
//! for n in 10000 20000; do
//!     valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/loader_instructions http 1 $n
//! done
//! ```
//!
//! The difference of the two totals, divided by the difference of the two counts, is one request: an answer read, checked and
//! recorded, and the next request written. Arguments: `http`, `zap` or `floor`, answers per read, requests; and, where the run shall have
//! several different ones, how many.

use std::{env, sync::Arc};

use engine::{Address, Board, Conn, Cx, Origin, Outbox, Shard, Wishes, limits::OUT_BUDGET_BYTES};
use loader::{
    Expect, LoadPlan, LoadShard, Mix, Shared, Target,
    mix::{MixSource, NamedRequest},
    request::Request,
    wire::{Floor, Http, Wire, Zap},
};

fn drive<W: Wire, const MANY: bool>(url: &str, answer: &[u8], pipeline: u32, requests: u64, kinds: usize) {
    let target = Target::parse(url).expect("a URL");
    let plan = LoadPlan {
        connections: 1,
        pipeline,
        warmup_ns: Some(0),
        mix: MANY.then(|| mix(&target, kinds)),
        ..LoadPlan::new(target.clone())
    };
    let address = Address::Unix("unused".into());
    let shared = Arc::new(Shared::new(plan, vec![address]).expect("a request that encodes"));
    let mut shard = LoadShard::<W, MANY>::new(Arc::clone(&shared), Arc::new(Board::new(1)), 0);
    let (mut wishes, mut out) = (Wishes::default(), Outbox::new(OUT_BUDGET_BYTES));
    let conn = Conn::new(0);
    shared.gate.start_at(1);
    shard.tick(&mut Cx::new(1, usize::MAX, &mut wishes));
    shard.open(conn, Origin::Connected { target: 0 }, &mut Cx::new(1, usize::MAX, &mut wishes));
    shard.fill(conn, &mut out, &mut Cx::new(1, usize::MAX, &mut wishes));
    let answers = answer.repeat(pipeline as usize);
    for round in 0..requests / u64::from(pipeline) {
        out.clear();
        let mut cx = Cx::new(50_000 + round * 777, usize::MAX, &mut wishes);
        let taken = shard.data(conn, &answers, false, Some(&mut out), &mut cx);
        assert_eq!(taken.consumed, answers.len());
    }
    println!(
        "{} ok, {} bytes a request, {} an answer",
        shard.measure().measured.requests.ok,
        shared.request().len_bytes(),
        answer.len()
    );
}

/// So many requests that differ in their path.
fn mix(target: &Target, kinds: usize) -> Mix {
    let named = |kind: usize| {
        let target = Target { request_target: format!("/health?{kind}"), ..target.clone() };
        let request = Request::encode(&target, "GET", &[], b"", 1).expect("encodes");
        NamedRequest {
            name: kind.to_string(),
            category: None,
            weight: 1,
            method: "GET".into(),
            target: target.request_target.clone(),
            bytes: request.bytes().to_vec().into(),
            is_head: false,
            closes: false,
            expect: Expect::default(),
        }
    };
    Mix::new(MixSource::Files(Vec::new()), (0..kinds).map(named).collect(), Vec::new()).expect("sound")
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [wire, pipeline, requests, kinds @ ..] = &arguments[..] else {
        panic!("usage: instructions http|zap|floor ANSWERS_PER_READ REQUESTS [DIFFERENT_REQUESTS]")
    };
    let kinds = kinds.first().map_or(1, |kinds| kinds.parse().expect("a number"));
    let (pipeline, requests) = (pipeline.parse().expect("a number"), requests.parse().expect("a number"));
    match wire.as_str() {
        "http" => {
            let answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok";
            if kinds > 1 {
                drive::<Http, true>("http://127.0.0.1:8080/", answer, pipeline, requests, kinds);
            } else {
                drive::<Http, false>("http://127.0.0.1:8080/health", answer, pipeline, requests, kinds);
            }
        }
        "zap" => {
            let mut answer = Vec::new();
            let headers: [(&[u8], &[u8]); 1] = [(b"Content-Type", b"text/plain")];
            let head = codec::zap::response::ResponseHead::new(200, &headers[..]);
            codec::zap::response::encode(&mut answer, &head, b"ok", ()).expect("encodes");
            if kinds > 1 {
                drive::<Zap, true>("zap://127.0.0.1/", &answer, pipeline, requests, kinds);
            } else {
                drive::<Zap, false>("zap://127.0.0.1/health", &answer, pipeline, requests, kinds);
            }
        }
        "floor" => {
            let bytes = codec::floor::Sizes::default().reply_bytes;
            let answer = [&codec::floor::length(bytes)[..], &vec![0; bytes - 4]].concat();
            drive::<Floor, false>("floor://127.0.0.1", &answer, pipeline, requests, 1);
        }
        other => panic!("unknown wire {other:?}: http, zap or floor"),
    }
}
