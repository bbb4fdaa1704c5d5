//! A request in steady state allocates nothing, on any wire, pipelined or not.

mod fake;

use std::{
    io::{Read, Write},
    net::TcpListener,
    sync::{Arc, atomic::AtomicBool},
    thread,
};

use engine::{Address, Board, Conn, Cx, Engine, Origin, Outbox, Shard, Wishes, limits::OUT_BUDGET_BYTES};
use loader::{
    Length, LoadPlan, LoadShard, Shared, run,
    wire::{Floor, Http, Wire, Zap},
};

#[global_allocator]
static COUNTING: counting::Counting = counting::Counting;

fn of_the_process() -> u64 {
    counting::count_the_process();
    counting::of_the_process().expect("it counts").allocations
}

/// Allocations of `rounds` reads of `pipeline` answers each, after as many to warm up.
fn allocations<W: Wire>(plan: LoadPlan, answer: &[u8], rounds: u64) -> u64 {
    if plan.mix.is_some() { driven::<W, true>(plan, answer, rounds) } else { driven::<W, false>(plan, answer, rounds) }
}

fn driven<W: Wire, const MANY: bool>(plan: LoadPlan, answer: &[u8], rounds: u64) -> u64 {
    let pipeline = plan.pipeline as usize;
    let address = Address::Unix("unused".into());
    let shared = Arc::new(Shared::new(plan, vec![address]).expect("a request that encodes"));
    let mut shard = LoadShard::<W, MANY>::new(Arc::clone(&shared), Arc::new(Board::new(1)), 0);
    let (mut wishes, mut out) = (Wishes::default(), Outbox::new(OUT_BUDGET_BYTES));
    let conn = Conn::new(0);
    shared.gate.start_at(1);
    shard.tick(&mut Cx::new(1, usize::MAX, &mut wishes));
    shard.open(conn, Origin::Connected { target: 0 }, &mut Cx::new(1, usize::MAX, &mut wishes));
    shard.fill(conn, &mut out, &mut Cx::new(1, usize::MAX, &mut wishes));
    let answers = answer.repeat(pipeline);
    let mut before = 0;
    for round in 0..2 * rounds {
        if round == rounds {
            before = counting::of_this_thread();
        }
        assert!(MANY || out.len_bytes() == pipeline * shared.request().len_bytes());
        assert!(out.len_bytes() > 0);
        out.clear();
        let now_ns = 1000 + round * 777;
        // In two reads, so that the state between them is used as well.
        let half = answers.len() / 2;
        let mut cx = Cx::new(now_ns, usize::MAX, &mut wishes);
        let taken = shard.data(conn, &answers[..half], false, Some(&mut out), &mut cx);
        shard.data(conn, &answers[taken.consumed..], false, Some(&mut out), &mut cx);
        shard.tick(&mut cx);
    }
    let allocated = counting::of_this_thread() - before;
    assert_eq!(shard.measure().measured.requests.ok, 2 * rounds * pipeline as u64);
    allocated
}

/// Answers every request of `request_bytes` bytes on one connection, without allocating.
fn answer_all(mut stream: impl Read + Write, request_bytes: usize, answer: &[u8]) {
    let mut buffer = [0; 16 * 1024];
    let mut unread = 0;
    while let Ok(bytes @ 1..) = stream.read(&mut buffer) {
        unread += bytes;
        while unread >= request_bytes {
            unread -= request_bytes;
            if stream.write_all(answer).is_err() {
                return;
            }
        }
    }
}

/// Allocations of a whole run of `requests` on a real engine, all threads together.
fn run_allocations(engine: Engine, port: u16, requests: u64) -> u64 {
    let plan = LoadPlan {
        connections: 4,
        pipeline: 4,
        engine,
        length: Length::Requests { total: requests },
        headers: vec![loader::value::header("Host: a").expect("a header")],
        ..fake::plan(&format!("http://127.0.0.1:{port}/"))
    };
    let before = of_the_process();
    let report = run(&plan, &AtomicBool::new(false), &mut |_| {}).expect("a result");
    let allocated = of_the_process() - before;
    assert_eq!(report.run.requests.ok, requests);
    allocated
}

/// Three requests, one of them large enough to be shared instead of copied.
fn scenario(wire: &str) -> loader::Mix {
    let text = format!(
        "[[request]]\nname = \"a\"\npath = \"/a\"\nweight = 3\n[[request]]\nname = \"b\"\npath = \"/b\"\n\
         [[request]]\nname = \"c\"\npath = \"/c\"\nbody = \"{}\"\n",
        "x".repeat(20_000)
    );
    let path = std::env::temp_dir().join(format!("zapring-allocations-{}.toml", std::process::id()));
    std::fs::write(&path, text).expect("written");
    let target = loader::Target::parse(&format!("{wire}://127.0.0.1/")).expect("a URL");
    let mix = loader::scenario::read(&path, &target, &loader::Expect::default()).expect("sound");
    std::fs::remove_file(&path).expect("removed");
    mix
}

/// What a long run allocates more than a short one, on every engine: nothing that grows with its requests.
fn no_allocation_per_request_on_engines() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let request_bytes = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".len();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer_all(stream, request_bytes, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
        }
    });
    for engine in Engine::ALL {
        let short = run_allocations(engine, port, 2_000);
        let long = run_allocations(engine, port, 42_000);
        if engine == Engine::Glommio {
            // Its own, for each poll of a socket: told, not promised.
            println!("{engine}: {:.2} allocations per request", long.saturating_sub(short) as f64 / 40_000.0);
            continue;
        }
        assert!(long < short + 400, "{engine}: {short} allocations for 2,000 requests, {long} for 42,000");
    }
}

#[test]
fn no_allocation_per_request() {
    no_allocation_per_request_on_engines();
    let http = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok";
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n3\r\nabc\r\n0\r\n\r\n";
    let mut zap = Vec::new();
    let headers: [(&[u8], &[u8]); 1] = [(b"Content-Type", b"text/plain")];
    let head = codec::zap::response::ResponseHead::new(200, &headers[..]);
    codec::zap::response::encode(&mut zap, &head, b"ok", ()).expect("encodes");
    let mut stream = Vec::new();
    codec::zap::response::encode_head(&mut stream, &head).expect("encodes");
    codec::zap::stream::encode_data(&mut stream, b"chunk").expect("encodes");
    codec::zap::stream::encode_end(&mut stream, ()).expect("encodes");
    let floor = |bytes: usize| [&codec::floor::length(bytes)[..], &vec![0; bytes - 4]].concat();
    for pipeline in [1, 16] {
        let plan = |url: &str| LoadPlan { pipeline, ..fake::plan(url) };
        assert_eq!(allocations::<Http>(plan("http://127.0.0.1/health"), http, 1000), 0, "http x{pipeline}");
        assert_eq!(allocations::<Http>(plan("http://127.0.0.1/health"), chunked, 1000), 0, "chunked x{pipeline}");
        assert_eq!(allocations::<Zap>(plan("zap://127.0.0.1/health"), &zap, 1000), 0, "zap x{pipeline}");
        assert_eq!(allocations::<Zap>(plan("zap://127.0.0.1/health"), &stream, 1000), 0, "zap stream x{pipeline}");
        assert_eq!(allocations::<Floor>(plan("floor://127.0.0.1"), &floor(114), 1000), 0, "floor x{pipeline}");
    }
    for (wire, answer) in [("http", &http[..]), ("zap", &zap)] {
        let mix = scenario(wire);
        let plan = LoadPlan { pipeline: 16, mix: Some(mix), ..fake::plan(&format!("{wire}://127.0.0.1/")) };
        let allocated = match wire {
            "http" => allocations::<Http>(plan, answer, 1000),
            _ => allocations::<Zap>(plan, answer, 1000),
        };
        assert_eq!(allocated, 0, "three requests on {wire}");
    }
    let large_reply = fake::plan("floor://127.0.0.1/20000/1000000");
    assert_eq!(allocations::<Floor>(large_reply, &floor(1_000_000), 1000), 0, "a large reply on floor");
    let large = LoadPlan { body: vec![b'x'; 100_000].into(), ..fake::plan("http://127.0.0.1/echo") };
    assert_eq!(allocations::<Http>(large, http, 1000), 0, "a shared request body");
}
