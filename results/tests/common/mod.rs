//! Fixed runs and benches for the tests: no clock, no chance, the same on every machine.

use results::{
    Bench, BenchRow, Config, CoreBusy, CoreRow, Distribution, EngineConfig, Environment, Histogram, LoaderBlock,
    Outcome, Placement, Run, ServerBlock, Validity, ValidityCode, Warmup,
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
        governor: None,
        smt_active: Some(false),
        zapring_version: "0.1.0".to_owned(),
    }
}

fn core(core: u32, busy_ns: u64) -> CoreBusy {
    CoreBusy { core, window_ns: 3 * SECOND_NS, busy_ns, steal_ns: 0 }
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
            },
            ..Config::default()
        },
        environment: environment(),
        latency: distribution(ok / 10, typical_ns),
        connect: distribution(u64::from(connections), 40_000),
        warmup: Some(Warmup { elapsed_ns: SECOND_NS, ..Warmup::default() }),
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
            ..ServerBlock::default()
        }),
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
    run
}

/// Two wires at three levels; one row has failures.
pub(crate) fn bench() -> Bench {
    let mut bench = Bench {
        run_id: "20261130T133533Z-042-1".to_owned(),
        started_at: "2026-11-30T13:35:33.042Z".to_owned(),
        command: vec!["zapring".to_owned(), "bench".to_owned()],
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
            bench.rows.push(BenchRow { wire: wire.to_owned(), connections, run });
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
