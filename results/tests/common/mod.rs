//! Fixed runs and benches for the tests: no clock, no chance, the same on every machine.

#![allow(dead_code, reason = "each test file uses its part of it")]

use results::{
    Bench, BenchRow, Config, ContextSwitches, CoreBusy, CoreRow, CoreType, Distribution, EngineConfig, Environment,
    FloorConfig, Histogram, HostBlock, LimitRow, LinkUse, LoaderBlock, Nic, Outcome, Placement, ProcessLimit, Run,
    SeriesRow, ServerBlock, Spread, Sweep, TcpCounts, Throttling, Validity, ValidityCode, Warmup,
    sweep::{Change, Point, Setting, Side},
    versus::{self, Absent, Contender, Versus},
};

const SECOND_NS: u64 = 1_000_000_000;

/// A distribution of `count` samples around `typical_ns` with a tail ten times as long.
fn distribution(count: u64, typical_ns: u64) -> Distribution {
    let mut histogram = Histogram::new();
    for sample in 0..count {
        let spread = sample * 7919 % 1000;
        let tail = if sample % 997 == 0 { 10 } else { 1 };
        histogram.record(typical_ns * tail / 2 + typical_ns * spread / 1000);
    }
    Distribution::of(&histogram)
}

fn environment() -> Environment {
    Environment {
        kernel_release: Some("6.18.0".to_owned()),
        architecture: "x86_64".to_owned(),
        cpu_model: Some("Example CPU @ 3.00GHz".to_owned()),
        cpus_online: vec![0, 1],
        cpus_allowed: vec![0, 1],
        memory_bytes: Some(8 << 30),
        load_average: Some([0.5, 0.25, 0.125]),
        smt_active: Some(false),
        core_types: vec![CoreType {
            model: Some("Example CPU @ 3.00GHz".to_owned()),
            cpus: vec![0, 1],
            ..CoreType::default()
        }],
        clock_source: Some("tsc".to_owned()),
        mitigations: [("meltdown".to_owned(), "Not affected".to_owned())].into(),
        sysctls: [("net.core.somaxconn".to_owned(), "4096".to_owned())].into(),
        limits: vec![ProcessLimit { name: "max_open_files".to_owned(), soft: Some(1024), hard: None }],
        nic: Some(Nic { name: "eth0".to_owned(), mtu_bytes: Some(1500), ..Nic::default() }),
        zapring_version: "0.1.0".to_owned(),
        zapring_commit: Some("0123456789ab".to_owned()),
        ..Environment::default()
    }
}

fn core(core: u32, busy_ns: u64) -> CoreBusy {
    let (interrupt_ns, own_ns) = (Some(busy_ns / 10), Some(busy_ns / 10 * 9));
    CoreBusy {
        core,
        window_ns: 3 * SECOND_NS,
        busy_ns,
        steal_ns: 0,
        interrupt_ns,
        interrupts_apart: Some(false),
        own_ns,
    }
}

/// A clean host whose link was little used.
fn host() -> HostBlock {
    let tcp = TcpCounts {
        segments_sent: Some(2_000_000),
        retransmits: Some(4),
        listen_overflows: Some(0),
        listen_drops: Some(0),
    };
    let link = LinkUse {
        name: "eth0".to_owned(),
        window_ns: 3 * SECOND_NS,
        speed_bits_per_s: Some(10_000_000_000),
        received_bytes: 1 << 20,
        sent_bytes: 2 << 20,
        received_packets: 1000,
        sent_packets: 2000,
        dropped_packets: 0,
    };
    HostBlock {
        window_ns: 3 * SECOND_NS,
        tcp: Some(tcp),
        links: Some(vec![link]),
        load_average: Some([1.5, 0.5, 0.25]),
        steal_ns: Some(0),
    }
}

/// Three seconds, the second a little slower.
fn series(ok: u64, typical_ns: u64) -> Vec<SeriesRow> {
    let row = |second: u64| {
        let part = [ok / 3, ok / 4, ok - ok / 3 - ok / 4][second as usize];
        SeriesRow {
            second,
            step_ns: SECOND_NS,
            ok: part,
            p50_ns: Some(typical_ns),
            p99_ns: Some(typical_ns * (2 + second % 2)),
            max_ns: Some(typical_ns * 6),
            ..SeriesRow::default()
        }
    };
    (0..3).map(row).collect()
}

/// A run without a failure: `ok` requests in three seconds.
pub(crate) fn good_run(wire: &str, connections: u32, ok: u64, typical_ns: u64) -> Run {
    let mut run = Run {
        run_id: format!("20261130T133533Z-042-{connections}"),
        started_at: "2026-11-30T13:35:33.042Z".to_owned(),
        elapsed_ns: 3 * SECOND_NS,
        config: Config {
            url: format!("{wire}://127.0.0.1:41231/health"),
            wire: wire.to_owned(),
            connections,
            threads: 1,
            cores: vec![1],
            pipeline: 1,
            duration_ns: Some(3 * SECOND_NS),
            warmup_ns: SECOND_NS,
            timeout_ns: 2 * SECOND_NS,
            method: "GET".to_owned(),
            expect: "200-299".to_owned(),
            placement: Placement::Split,
            engine: EngineConfig {
                name: "monoio".to_owned(),
                flags: vec!["SINGLE_ISSUER".to_owned(), "DEFER_TASKRUN".to_owned()],
                features: vec!["RECV_MULTISHOT".to_owned()],
                ..EngineConfig::default()
            },
            ..Config::default()
        },
        environment: environment(),
        latency: distribution(ok / 10, typical_ns),
        connect: distribution(u64::from(connections), 40_000),
        warmup: Some(Warmup { elapsed_ns: SECOND_NS, ..Warmup::default() }),
        series: series(ok, typical_ns),
        cores: vec![CoreRow { core: Some(1), connections, ok, cpu_busy: Some(0.99), ..CoreRow::default() }],
        loader: LoaderBlock {
            window_ns: 3 * SECOND_NS,
            cpu_ns: 2_900_000_000,
            core_busy: vec![core(1, 2_970_000_000)],
            rss_peak_bytes: Some(9 << 20),
            enters: Some(ok / 8),
            sqes: Some(ok),
            cqes: Some(ok * 2),
            ..LoaderBlock::default()
        },
        server: Some(ServerBlock {
            pid: 4242,
            window_ns: 3 * SECOND_NS,
            cpu_ns: 2_400_000_000,
            core_busy: vec![core(0, if connections == 1 { 1_200_000_000 } else { 2_940_000_000 })],
            rss_start_bytes: 5 << 20,
            rss_end_bytes: 6 << 20,
            rss_peak_bytes: 7 << 20,
            context_switches: Some(ContextSwitches { voluntary: 100_000, involuntary: 20 }),
            throttling: Some(Throttling { periods: 0, throttled_ns: 0 }),
            ..ServerBlock::default()
        }),
        host: Some(host()),
        validity: vec![Validity::note(ValidityCode::Loopback, "server and loader ran on one host")],
        ..Run::default()
    };
    if connections == 1 {
        run.loader.core_busy[0].busy_ns = 1_500_000_000;
    }
    run.requests.planned = ok;
    run.requests.sent = ok;
    run.requests.ok = ok;
    run.bytes.sent = ok * 111;
    run.bytes.received = ok * 114;
    run.bytes.body_received = ok * 2;
    run.status_codes.insert(200, ok);
    run.conclude();
    run
}

/// A pipelined run in which several things went wrong.
pub(crate) fn bad_run() -> Run {
    let mut run = good_run("http", 64, 90_000, 250_000);
    run.config.pipeline = 16;
    run.config.cores.clear();
    run.interrupted = true;
    run.reconnects = 3;
    run.server = None;
    run.loader.core_busy.clear();
    for (outcome, count) in
        [(Outcome::BadStatus, 40), (Outcome::Timeout, 12), (Outcome::Reset, 3), (Outcome::NotSent, 5)]
    {
        run.requests.add(outcome, count);
        run.requests.planned += count;
    }
    run.requests.sent = run.requests.planned - 5;
    run.status_codes.insert(404, 30);
    run.status_codes.insert(503, 10);
    run.sample(Outcome::Timeout, "no answer within 2 s");
    run.sample(Outcome::Timeout, "the second message is not kept");
    run.sample(Outcome::Reset, "connection reset by peer\u{1b}[2J\nafter 12 bytes");
    if let Some(warmup) = &mut run.warmup {
        warmup.requests.planned = 10;
        warmup.requests.add(Outcome::Ok, 8);
        warmup.requests.add(Outcome::Connect, 2);
    }
    run.conclude();
    run.limits = vec![
        LimitRow { limit: "latency.p99 > 2ms".to_owned(), measured: Some("500 us".to_owned()), crossed: false },
        LimitRow { limit: "latency.p99.99 > 2ms".to_owned(), measured: None, crossed: true },
    ];
    run
}

/// Twelve seconds and a half, of which three without an answer, some failures after them, and what was drained.
pub(crate) fn frozen_run() -> Run {
    let mut run = good_run("http", 16, 22_000, 90_000);
    let row = |second: u64| {
        let frozen = (5..8).contains(&second);
        let typical_ns = if second == 8 { 2_000_000_000 } else { 90_000 + 1000 * second };
        SeriesRow {
            second,
            step_ns: if second == 12 { SECOND_NS / 2 } else { SECOND_NS },
            ok: if frozen { 0 } else { [2000, 1980, 1000][(second / 6) as usize] + if second == 8 { 5400 } else { 0 } },
            failed: if second == 8 { 40 } else { 0 },
            p50_ns: (!frozen).then_some(typical_ns),
            p99_ns: (!frozen).then_some(typical_ns * 3 / 2),
            max_ns: (!frozen).then_some(typical_ns * 2),
            drain: false,
        }
    };
    run.series = (0..13).map(row).collect();
    run.series.push(SeriesRow { second: 12, step_ns: 700_000, ok: 16, drain: true, ..SeriesRow::default() });
    run.elapsed_ns = 25 * SECOND_NS / 2;
    run
}

/// A run on floor whose loader was spinning, with fewer buffers than usual.
pub(crate) fn floor_run() -> Run {
    let mut run = good_run("floor", 8, 20_000, 9_000);
    run.config.url = "floor://127.0.0.1:9654".to_owned();
    run.config.method.clear();
    run.config.expect.clear();
    run.config.floor = Some(FloorConfig { request_bytes: 111, reply_bytes: 114 });
    run.config.engine.name = "uring".to_owned();
    run.config.engine.options = [("buffers".to_owned(), 64), ("spin_ns".to_owned(), 50_000)].into();
    run.status_codes.clear();
    run.conclude();
    run
}

/// Two wires at three levels; one row has failures.
pub(crate) fn bench() -> Bench {
    let mut bench = Bench {
        run_id: "20261130T133533Z-042-1".to_owned(),
        started_at: "2026-11-30T13:35:33.042Z".to_owned(),
        command: vec!["zapring".to_owned(), "bench".to_owned()],
        placement: Placement::Split,
        server_cores: vec![0],
        loader_cores: vec![1],
        environment: environment(),
        validity: vec![Validity::note(ValidityCode::Loopback, "server and loader ran on one host")],
        ..Bench::default()
    };
    for (connections, http, zap, typical_ns) in
        [(1, 36_000, 37_500, 81_000), (64, 820_000, 893_711, 211_000), (256, 801_000, 880_000, 850_000)]
    {
        for (wire, ok) in [("http", http), ("zap", zap)] {
            let run = good_run(wire, connections, ok, typical_ns);
            bench.rows.push(BenchRow { wire: wire.to_owned(), connections, spread: None, counts: None, run });
        }
    }
    let last = bench.rows.last_mut().expect("rows were just added");
    last.run.requests.add(Outcome::Timeout, 2);
    last.run.requests.planned += 2;
    last.run.requests.sent += 2;
    last.run.sample(Outcome::Timeout, "no answer within 2 s");
    last.run.validity.push(Validity::note(ValidityCode::TooFewSamples, "9 samples"));
    bench.compare_wires("zap", "http");
    bench
}

/// Two wires in paired placement on two cores, one of which took a connection that was not its own.
pub(crate) fn paired_bench() -> Bench {
    let mut bench = bench();
    bench.placement = Placement::Paired;
    (bench.server_cores, bench.loader_cores) = (vec![0, 1], vec![0, 1]);
    for row in &mut bench.rows {
        let half = u64::from(row.connections / 2);
        let per_shard = if row.connections == 1 { vec![1, 0] } else { vec![half, half] };
        row.spread = Some(Spread { driven: per_shard.iter().filter(|count| **count > 0).count() as u64, per_shard });
        row.run.config.placement = Placement::Paired;
        row.run.loader.core_busy = vec![core(0, 2_910_000_000), core(1, 2_970_000_000)];
        let server = row.run.server.as_mut().expect("every run is watched");
        server.core_busy = row.run.loader.core_busy.clone();
        row.run.conclude();
    }
    let last = bench.rows.last_mut().expect("there are rows");
    let spread = last.spread.as_mut().expect("it was just set");
    spread.per_shard = vec![80, 176];
    last.run.validity.extend(spread.uneven());
    last.run.validity.extend(spread.unpaired(&[128, 128], 0));
    bench.compare_wires("zap", "http");
    bench
}

/// A sweep with one value that is really cheaper, and slower.
pub(crate) fn sweep() -> Sweep {
    let noise = [1.0, 1.01, 0.99, 1.005, 0.995];
    let points = |cpu_ns: f64, ok_per_s: f64, turn: usize| -> Vec<Point> {
        let point = |round: u32| {
            let noise = noise[(round as usize + turn) % noise.len()];
            Point {
                round,
                ok: (ok_per_s * 2.0) as u64,
                failed: u64::from(round == 4 && turn == 2),
                ok_per_s: Some((ok_per_s / noise).round()),
                server_cpu_ns_per_request: Some((cpu_ns * noise) as u64),
                loader_cpu_ns_per_request: Some(3300),
                server_core_busy_ns_per_request: Some((cpu_ns * noise * 1.1) as u64),
                loader_core_busy_ns_per_request: Some(3400),
                p50_ns: Some(211_000),
                p99_ns: Some(315_000),
            }
        };
        (0..5).map(point).collect()
    };
    let change = |factor: &str, value: &str, base: &str| {
        Some(Change { factor: factor.to_owned(), value: value.to_owned(), base: base.to_owned() })
    };
    let setting = |change: Option<Change>, points| Setting { change, points, ..Setting::default() };
    let mut sweep = Sweep {
        run_id: "20261130T133533Z-042-1".to_owned(),
        started_at: "2026-11-30T13:35:33.042Z".to_owned(),
        command: vec!["zapring".to_owned(), "sweep".to_owned()],
        side: Side::Server,
        wire: "http".to_owned(),
        connections: 64,
        server_engine: "uring".to_owned(),
        loader_engine: "uring".to_owned(),
        placement: Placement::Split,
        server_cores: vec![0],
        loader_cores: vec![1],
        rounds: 5,
        duration_ns: 2 * SECOND_NS,
        warmup_ns: SECOND_NS / 2,
        environment: environment(),
        settings: vec![
            setting(None, points(3000.0, 290_000.0, 0)),
            Setting { again: true, ..setting(None, points(3000.0, 290_000.0, 1)) },
            setting(change("ring-entries", "64", "1024"), points(3015.0, 290_000.0, 2)),
            setting(change("buffers", "64", "1024"), points(3600.0, 250_000.0, 3)),
            setting(change("min-wait", "20us", "0us"), points(2400.0, 200_000.0, 4)),
            setting(change("min-wait", "50us", "0us"), points(2500.0, 150_000.0, 0)),
        ],
        validity: vec![Validity::note(ValidityCode::Loopback, "server and loader ran on one host")],
        ..Sweep::default()
    };
    sweep.conclude();
    sweep
}

/// Servers of both wires and loaders of one: cheaper, dearer, perhaps neither, one that could not go on and one that was not there.
pub(crate) fn versus() -> Versus {
    let noise = [1.0, 1.02, 0.99, 1.01, 0.98];
    let contender = |name: &str, wire: &str, cpu_ns: f64, turn: usize| {
        let point = |round: u32| {
            let noise = noise[(round as usize + turn) % noise.len()];
            let ok_per_s = 4e8 / cpu_ns / noise;
            versus::Point {
                round,
                ok: ok_per_s as u64,
                failed: u64::from(round == 4 && turn == 3),
                ok_per_s: Some(ok_per_s.round()),
                p50_ns: Some(310_000),
                p99_ns: Some((5_000_000.0 * noise) as u64),
                cpu_ns_per_request: Some((cpu_ns * noise) as u64),
                core_busy_ns_per_request: Some((cpu_ns * noise * 1.5) as u64),
                rss_bytes: Some(9 << 20),
                limit: Some("server-bound".to_owned()),
                counted: None,
            }
        };
        Contender {
            name: name.to_owned(),
            wire: wire.to_owned(),
            command: vec![format!("{{here}}/{name}"), "{port}".to_owned()],
            reply_bytes: Some(66),
            points: (0..5).map(point).collect(),
            ..Contender::default()
        }
    };
    let base = |name: &str, wire: &str, cpu_ns: f64| {
        let base = Contender { base: true, ..contender(name, wire, cpu_ns, 0) };
        [base, Contender { again: true, ..contender(name, wire, cpu_ns, 1) }]
    };
    let loader = |one: Contender| {
        let points = one.points.into_iter().map(|point| versus::Point {
            rss_bytes: None,
            limit: None,
            counted: Some(point.ok + point.failed + 1),
            ..point
        });
        Contender { reply_bytes: None, points: points.collect(), ..one }
    };
    let mut servers: Vec<Contender> = base("ours", "http", 4000.0).into();
    servers.push(contender("cheaper <b>", "http", 2500.0, 2));
    servers.push(contender("dearer", "http", 6600.0, 3));
    servers.push(contender("like ours", "http", 4010.0, 4));
    let broken = contender("broken", "http", 1.0, 0);
    let problem = Some("its answer to /health was not right: its body is \"no\" (2 bytes)".to_owned());
    servers.push(Contender { points: Vec::new(), reply_bytes: None, problem, ..broken });
    servers.extend(base("ours-zap", "zap", 3900.0));
    servers.push(contender("theirs-zap", "zap", 6300.0, 2));
    let mut loaders: Vec<Contender> = base("ours", "http", 4200.0).map(loader).into();
    loaders.push(loader(contender("slow", "http", 23_000.0, 2)));
    let mut versus = Versus {
        run_id: "20261130T133533Z-042-1".to_owned(),
        started_at: "2026-11-30T13:35:33.042Z".to_owned(),
        command: vec!["zapring".to_owned(), "versus".to_owned()],
        connections: 64,
        server_cores: vec![0],
        loader_cores: vec![1],
        rounds: 5,
        duration_ns: SECOND_NS,
        warmup_ns: SECOND_NS / 2,
        environment: environment(),
        servers,
        loaders,
        absent: vec![Absent {
            name: "gone".to_owned(),
            side: "loader".to_owned(),
            reason: "no gone in PATH".to_owned(),
            install: "apt-get install gone".to_owned(),
        }],
        validity: vec![Validity::note(ValidityCode::Loopback, "server and loader ran on one host")],
        ..Versus::default()
    };
    versus.conclude();
    versus
}
