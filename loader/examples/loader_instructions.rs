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
//! recorded, and the next request written. Arguments: `http`, `zap` or `floor`, answers per read, requests.

use std::{env, sync::Arc};

use engine::{Address, Board, Conn, Cx, Origin, Outbox, Shard, Wishes, limits::OUT_BUDGET_BYTES};
use loader::{
    LoadPlan, LoadShard, Shared, Target,
    wire::{Floor, Http, Wire, Zap},
};

fn drive<W: Wire>(url: &str, answer: &[u8], pipeline: u32, requests: u64) {
    let target = Target::parse(url).expect("a URL");
    let plan = LoadPlan { connections: 1, pipeline, warmup_ns: Some(0), ..LoadPlan::new(target) };
    let address = Address::Unix("unused".into());
    let shared = Arc::new(Shared::new(plan, vec![address]).expect("a request that encodes"));
    let mut shard = LoadShard::<W>::new(Arc::clone(&shared), Arc::new(Board::new(1)), 0);
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

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [wire, pipeline, requests] = &arguments[..] else {
        panic!("usage: instructions http|zap|floor ANSWERS_PER_READ REQUESTS")
    };
    let (pipeline, requests) = (pipeline.parse().expect("a number"), requests.parse().expect("a number"));
    match wire.as_str() {
        "http" => {
            let answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok";
            drive::<Http>("http://127.0.0.1:8080/health", answer, pipeline, requests);
        }
        "zap" => {
            let mut answer = Vec::new();
            let headers: [(&[u8], &[u8]); 1] = [(b"Content-Type", b"text/plain")];
            let head = codec::zap::response::ResponseHead::new(200, &headers[..]);
            codec::zap::response::encode(&mut answer, &head, b"ok", ()).expect("encodes");
            drive::<Zap>("zap://127.0.0.1/health", &answer, pipeline, requests);
        }
        "floor" => {
            let bytes = codec::floor::Sizes::default().reply_bytes;
            let answer = [&codec::floor::length(bytes)[..], &vec![0; bytes - 4]].concat();
            drive::<Floor>("floor://127.0.0.1", &answer, pipeline, requests);
        }
        other => panic!("unknown wire {other:?}: http, zap or floor"),
    }
}
