//! From the records of the shards to the run file's content. Pure: figures in, a [`Run`] out.

use std::collections::BTreeMap;

use engine::{Address, EngineOptions, Granted, ShardFigures};
use results::{
    AddressUse, Bytes, Config, CoreRow, Distribution, EngineConfig, FloorConfig, LoaderBlock, Mode, Rates, Requests,
    Run, Validity, ValidityCode, Warmup, limits::LATE_NS, timestamp,
};

use crate::{
    limits::SHORT_WINDOW_NS,
    measure::{Edge, Measure},
    mix::MixSource,
    phase::Timeline,
    plan::{Length, LoadPlan},
    record::Record,
    rows,
    session::Report,
    shard::LoadShard,
    shared::Shared,
    wire::Wire,
};

/// What the session knows and the shards do not.
pub(crate) struct Facts {
    pub(crate) times: Timeline,
    pub(crate) interrupted: bool,
    pub(crate) started_unix_ns: u64,
}

/// The window of one shard: its engine's counters and CPU time between the edges.
#[derive(Debug, Clone, Copy, Default)]
struct Window {
    cpu_ns: u64,
    figures: ShardFigures,
}

impl Window {
    fn of(measure: &Measure) -> Self {
        match (measure.begin, measure.end) {
            (Some(begin), Some(end)) => {
                Window { cpu_ns: end.cpu_ns.saturating_sub(begin.cpu_ns), figures: end.figures - begin.figures }
            }
            _ => Window::default(),
        }
    }
}

/// Merges the shards and fills the run.
pub(crate) fn build<W: Wire, const MANY: bool>(
    shared: &Shared,
    shards: Vec<LoadShard<W, MANY>>,
    granted: Vec<Granted>,
    facts: &Facts,
) -> Report {
    let plan = &shared.plan;
    let connections: Vec<u32> = shards.iter().map(|shard| shard.share.connections).collect();
    let mut by_address = vec![0; shared.addresses.len()];
    for shard in &shards {
        for (sum, count) in by_address.iter_mut().zip(shard.reached_by_address()) {
            *sum += count;
        }
    }
    let (measures, records): (Vec<Measure>, Vec<Vec<Record>>) = shards.into_iter().map(LoadShard::into_records).unzip();
    let elapsed_ns = elapsed_ns(plan, facts, &measures);
    let windows: Vec<Window> = measures.iter().map(Window::of).collect();
    let cores = measures.iter().enumerate().map(|(index, measure)| {
        let core = granted.get(index).and_then(|granted| granted.core).map(|core| core as u32);
        core_row(core, connections[index], measure, &windows[index])
    });
    let cores: Vec<CoreRow> = cores.collect();
    let total = measures.into_iter().reduce(|mut total, measure| {
        total.merge(measure);
        total
    });
    let total = total.unwrap_or_else(|| Measure::new(plan.length));
    let mut window = Window::default();
    for part in &windows {
        window.cpu_ns += part.cpu_ns;
        window.figures += part.figures;
    }

    let addresses: Vec<(Address, u32)> =
        shared.addresses.iter().cloned().zip(by_address).filter(|(_, n)| *n > 0).collect();
    let mut run = Run {
        run_id: timestamp::run_id(facts.started_unix_ns, std::process::id()),
        started_at: timestamp::rfc3339(facts.started_unix_ns),
        mode: if plan.rate_per_s.is_some() { Mode::OpenLoop } else { Mode::ClosedLoop },
        interrupted: facts.interrupted,
        elapsed_ns,
        config: config(plan, &granted),
        addresses: addresses
            .iter()
            .map(|(to, connections)| AddressUse { address: to.to_string(), connections: *connections })
            .collect(),
        requests: total.measured.requests,
        rates: Rates::of(&total.measured.requests, elapsed_ns),
        bytes: Bytes {
            sent: window.figures.sent_bytes,
            received: window.figures.received_bytes,
            body_received: total.body_bytes,
        },
        latency: Distribution::of(&total.latency),
        service_time: total.paced.as_deref().map(|paced| Distribution::of(&paced.service_time)),
        conn_wait: total.paced.as_deref().map(|paced| Distribution::of(&paced.conn_wait)),
        send_lag: total.paced.as_deref().map(|paced| Distribution::of(&paced.send_lag)),
        late: total.paced.as_deref().map(|paced| paced.late),
        connect: Distribution::of(&total.connect),
        status_codes: total.status_codes(),
        reconnects: total.reconnects,
        warmup: warmup(plan, facts, &total),
        cores,
        series: total.over_time(elapsed_ns),
        loader: loader_block(elapsed_ns, &window),
        ..Run::default()
    };
    if let Some(mix) = &plan.mix {
        rows::fill(&mut run, mix, merged(records), &total);
    }
    debug_assert_eq!(run.requests.adds_up(), Ok(()), "every planned request has exactly one outcome");
    samples(&mut run, &total);
    doubts(&mut run, &addresses);
    let notes = notes(plan, &connections, &addresses);
    Report { run, addresses, granted, notes }
}

/// The records of each request, over all shards.
fn merged(shards: Vec<Vec<Record>>) -> Vec<Record> {
    let sum = |mut sum: Vec<Record>, shard: Vec<Record>| {
        sum.iter_mut().zip(shard).for_each(|(ours, theirs)| ours.merge(theirs));
        sum
    };
    shards.into_iter().reduce(sum).unwrap_or_default()
}

/// Exactly the measured part: as planned, cut by a stop, or until the last counted request had its outcome.
fn elapsed_ns(plan: &LoadPlan, facts: &Facts, measures: &[Measure]) -> u64 {
    let from_ns = facts.times.measure_from_ns;
    let until_ns = match plan.length {
        Length::Time { .. } => facts.times.until_ns,
        Length::Requests { .. } => {
            measures.iter().filter_map(|measure| measure.end).map(|end: Edge| end.at_ns).max().unwrap_or(from_ns)
        }
    };
    until_ns.saturating_sub(from_ns)
}

fn warmup(plan: &LoadPlan, facts: &Facts, total: &Measure) -> Option<Warmup> {
    let requests = total.warmup.requests;
    if plan.warmup_ns() == 0 && requests.planned == 0 {
        return None;
    }
    let until_ns = facts.times.measure_from_ns.min(facts.times.until_ns);
    Some(Warmup { elapsed_ns: until_ns.saturating_sub(facts.times.start_ns), requests })
}

fn core_row(core: Option<u32>, connections: u32, measure: &Measure, window: &Window) -> CoreRow {
    let figures = &window.figures;
    let wakeups = counted(figures.enters);
    CoreRow {
        core,
        connections,
        ok: measure.measured.requests.ok,
        cpu_busy: None,
        cpu_ns: measure.end.is_some().then_some(window.cpu_ns),
        wakeups,
        batch_mean: wakeups.map(|wakeups| figures.completions as f64 / wakeups as f64),
        // Only a ring has completions, and can have too many.
        ring_overflow: counted(figures.completions).map(|_| figures.ring_overflows),
    }
}

/// A counter that an engine without it leaves at zero.
fn counted(count: u64) -> Option<u64> {
    (count > 0).then_some(count)
}

fn loader_block(window_ns: u64, window: &Window) -> LoaderBlock {
    LoaderBlock {
        window_ns,
        cpu_ns: window.cpu_ns,
        enters: counted(window.figures.enters),
        sqes: counted(window.figures.operations),
        cqes: counted(window.figures.completions),
        ..LoaderBlock::default()
    }
}

fn config(plan: &LoadPlan, granted: &[Granted]) -> Config {
    let flags = granted.first().and_then(|granted| granted.setup).map_or_else(Vec::new, |rung| rung.names());
    let features = granted.first().map_or_else(Vec::new, |granted| granted.features.names());
    let (requests, duration_ns) = match plan.length {
        Length::Time { duration_ns } => (None, Some(duration_ns)),
        Length::Requests { total } => (Some(total), None),
    };
    let floor = plan.target.wire.floor_sizes();
    Config {
        url: plan.target.url.clone(),
        wire: plan.target.wire.word().to_owned(),
        connections: plan.connections,
        threads: plan.threads,
        cores: granted.iter().filter_map(|granted| granted.core).map(|core| core as u32).collect(),
        rate_per_s: plan.rate_per_s,
        requests_per_conn: plan.requests_per_conn,
        connect_rate_per_s: plan.connect_rate_per_s,
        sources: plan.sources.given.clone(),
        source_addresses: plan.sources.addresses().len() as u32,
        family: plan.family.word().map(str::to_owned),
        pipeline: plan.pipeline,
        requests,
        duration_ns,
        warmup_ns: plan.warmup_ns(),
        timeout_ns: plan.timeout_ns,
        drain_ns: Some(plan.drain_ns()),
        method: plan.method().to_owned(),
        headers: plan.headers.clone(),
        body_bytes: plan.body.len() as u64,
        request_files: match plan.mix.as_ref().map(|mix| &mix.source) {
            Some(MixSource::Files(given)) => given.clone(),
            _ => Vec::new(),
        },
        scenario_file: match plan.mix.as_ref().map(|mix| &mix.source) {
            Some(MixSource::Scenario(path)) => Some(path.clone()),
            _ => None,
        },
        expect: if floor.is_some() { String::new() } else { plan.expect.to_string() },
        placement: plan.placement,
        engine: EngineConfig {
            name: plan.engine.name().to_owned(),
            flags: flags.into_iter().map(str::to_owned).collect(),
            features: features.into_iter().map(str::to_owned).collect(),
            options: options(&plan.engine_options),
        },
        scenario: plan.scenario.map(|scenario| scenario.name().to_owned()),
        floor: floor.map(|sizes| FloorConfig {
            request_bytes: sizes.request_bytes as u64,
            reply_bytes: sizes.reply_bytes as u64,
        }),
        origins: plan.origins.clone(),
    }
}

/// The engine's options that differ from their defaults, by the names of the run file.
fn options(options: &EngineOptions) -> BTreeMap<String, u64> {
    let default = EngineOptions::default();
    let named = |options: &EngineOptions| {
        [
            ("ring_entries", options.sq_entries.into()),
            ("cq_entries", options.cq_entries.into()),
            ("buffers", options.buffers.into()),
            ("buffer_bytes", options.buffer_bytes.into()),
            ("spin_ns", options.spin_ns),
            ("min_wait_ns", options.min_wait_ns),
            ("sqpoll", options.sqpoll.into()),
            ("napi_busy_poll_ns", u64::from(options.napi_busy_poll_us) * 1000),
        ]
    };
    let differing = named(options).into_iter().zip(named(&default)).filter(|(ours, default)| ours != default);
    differing.map(|((name, value), _)| (name.to_owned(), value)).collect()
}

/// The first message of each kind; what failed during the warm-up only says so.
fn samples(run: &mut Run, total: &Measure) {
    for (outcome, message) in total.measured.samples() {
        run.sample(outcome, message);
    }
    for (outcome, message) in total.warmup.samples() {
        run.sample(outcome, &format!("during the warm-up: {message}"));
    }
}

/// Doubts that the loader itself can see; those that need the host are added by the caller.
fn doubts(run: &mut Run, addresses: &[(Address, u32)]) {
    let local = |address: &Address| match address {
        Address::Tcp(address) => address.ip().to_canonical().is_loopback(),
        Address::Unix(_) => true,
    };
    if !addresses.is_empty() && addresses.iter().all(|(address, _)| local(address)) {
        run.validity.push(Validity::note(ValidityCode::Loopback, "every connection stayed on this host"));
    }
    if run.elapsed_ns < SHORT_WINDOW_NS {
        let detail = format!("{} ms were measured", run.elapsed_ns / 1_000_000);
        run.validity.push(Validity::note(ValidityCode::TooShort, detail));
    }
    if let Some(send_lag) = &run.send_lag {
        let Requests { planned, sent, .. } = run.requests;
        // In whole requests: one of five is not a miss of one in a hundred.
        if sent < planned - planned / 100 {
            let percent = sent as f64 * 100.0 / planned as f64;
            let detail = format!("{sent} of {planned} requests were sent, {percent:.1} %");
            run.validity.push(Validity::fatal(ValidityCode::RateNotReached, detail));
        }
        if let Some(p99_ns) = send_lag.p99_ns.filter(|p99_ns| *p99_ns > LATE_NS) {
            let detail =
                format!("one request in a hundred was sent {} us or more after it could have been", p99_ns / 1000);
            run.validity.push(Validity::note(ValidityCode::SendLag, detail));
        }
    }
    if run.requests.planned == 0 && !run.interrupted {
        let detail = "no request could even be sent in the measured part; look at the failures of the warm-up";
        run.validity.push(Validity::fatal(ValidityCode::TooFewSamples, detail));
    } else if run.latency.p99_ns.is_none() {
        let detail = format!("{} samples are too few for p99", run.latency.count);
        run.validity.push(Validity::note(ValidityCode::TooFewSamples, detail));
    }
}

fn notes(plan: &LoadPlan, connections: &[u32], addresses: &[(Address, u32)]) -> Vec<String> {
    let mut notes = Vec::new();
    if plan.method.is_none() && !plan.body.is_empty() {
        notes.push("the method is POST because a body was given without -m".to_owned());
    }
    let (wanted, reached): (u32, u32) = (connections.iter().sum(), addresses.iter().map(|(_, count)| count).sum());
    if reached < wanted {
        notes.push(format!("{} of {wanted} connections were never open", wanted - reached));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_differ_are_named_with_their_units_and_others_are_not() {
        let default = EngineOptions::default();
        assert!(options(&default).is_empty());
        let changed = EngineOptions {
            sq_entries: 8,
            cq_entries: 16,
            buffers: 2,
            buffer_bytes: 64,
            spin_ns: 5,
            min_wait_ns: 6,
            sqpoll: true,
            napi_busy_poll_us: 7,
        };
        let text: Vec<String> = options(&changed).iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            text.join(" "),
            "buffer_bytes=64 buffers=2 cq_entries=16 min_wait_ns=6 napi_busy_poll_ns=7000 ring_entries=8 spin_ns=5 sqpoll=1"
        );
    }
}
