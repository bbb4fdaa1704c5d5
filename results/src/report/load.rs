//! The text of one load run.

use std::fmt::Write as _;

use crate::config::{EngineConfig, Mode};
use crate::cores::ranges;
use crate::histogram::Histogram;
use crate::latency::{Distribution, percentile};
use crate::limits::LATE_NS;
use crate::report::escape::visible;
use crate::report::number::{Unit, or_dash, significant};
use crate::report::requests;
use crate::report::table::render;
use crate::report::wrk;
use crate::requests::Outcome;
use crate::run::Run;

/// How much of the latency is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// The usual percentiles.
    #[default]
    Usual,
    /// `-L`: also the 75th and 99.999th, and the whole distribution.
    Full,
}

/// The report of one run, ending in a newline.
#[must_use]
pub fn text(run: &Run, detail: Detail) -> String {
    written(run, detail, named_requests)
}

/// The usual report without what is said of each of several requests, for a page that has tables of them.
#[must_use]
pub(crate) fn text_beside_tables(run: &Run) -> String {
    written(run, Detail::Usual, |_, _| ())
}

fn written(run: &Run, detail: Detail, of_requests: fn(&mut String, &Run)) -> String {
    let mut out = String::new();
    heading(&mut out, run);
    out.push_str(&wrk::headline(run));
    out.push('\n');
    latency(&mut out, run, detail);
    answers(&mut out, run);
    of_requests(&mut out, run);
    failures(&mut out, run);
    costs(&mut out, run);
    verdict(&mut out, run);
    limits(&mut out, run);
    doubts(&mut out, run);
    if detail == Detail::Full {
        spectrum(&mut out, &run.latency);
    }
    out
}

/// `text` goes into a `String`, which cannot fail.
fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a String cannot fail");
    out.push('\n');
}

fn heading(out: &mut String, run: &Run) {
    let config = &run.config;
    let words = ["zapring load", &config.method, &config.url].map(str::to_owned);
    line(out, format_args!("{}", words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")));
    if let Some(floor) = &config.floor {
        let (request, reply) = (floor.request_bytes, floor.reply_bytes);
        line(out, format_args!("floor: no protocol, {request} bytes there and {reply} back"));
    }
    if let Some(origin) = named_origin(run) {
        line(out, format_args!("  {origin}"));
    }
    let pipelined = if config.pipeline > 1 { format!(", pipelined x{}", config.pipeline) } else { String::new() };
    match run.mode {
        Mode::ClosedLoop => {
            line(out, format_args!("closed loop: throughput test, latency not comparable{pipelined}"));
        }
        Mode::OpenLoop => {
            let rate = config.rate_per_s.unwrap_or(0);
            line(out, format_args!("open loop: {rate} requests/s asked{pipelined}"));
        }
    }
    let cores =
        if config.cores.is_empty() { "not pinned".to_owned() } else { format!("cores {}", ranges(&config.cores)) };
    line(
        out,
        format_args!(
            "  {} threads and {} connections, {cores}, engine {}",
            config.threads,
            config.connections,
            engine(run)
        ),
    );
    ways(out, run);
    if let Some(warmup) = &run.warmup {
        let (time, requests) = (wrk::format_time_us(warmup.elapsed_ns as f64 / 1e3), &warmup.requests);
        let failed = requests.failed_in(run.mode);
        let not_sent = requests.failed() - failed;
        let of_them =
            |count: u64, how: &str| if count > 0 { format!(", {count} of them {how}") } else { String::new() };
        let (failed, not_sent) = (of_them(failed, "failed"), of_them(not_sent, "not sent"));
        line(out, format_args!("  warm-up {time}, {} requests{failed}{not_sent}, not counted below", requests.planned));
    }
    if run.interrupted {
        line(out, format_args!("  interrupted: this is a partial result"));
    }
    if run.traced {
        line(out, format_args!("  traced: every request was logged, which slows the run"));
    }
}

/// Where the requests came from that are not in the URL; none for a run with one that is.
pub(crate) fn named_origin(run: &Run) -> Option<String> {
    let (config, count) = (&run.config, run.named_requests.len());
    if let Some(path) = &config.scenario_file {
        return Some(format!("{count} requests of the scenario {}", visible(path)));
    }
    if config.request_files.is_empty() {
        return None;
    }
    Some(format!("requests as they stand in {}", visible(&config.request_files.join(", "))))
}

/// The addresses that the connections go to and come from, as far as the file says.
fn ways(out: &mut String, run: &Run) {
    if !run.addresses.is_empty() {
        let each = run.addresses.iter().map(|to| format!("{} ({})", visible(&to.address), to.connections));
        line(out, format_args!("  connections to {}", each.collect::<Vec<_>>().join(", ")));
    }
    let config = &run.config;
    if !config.sources.is_empty() {
        let given = visible(&config.sources.join(", "));
        line(
            out,
            format_args!("  connections from {} source addresses, round robin: {given}", config.source_addresses),
        );
    }
}

fn engine(run: &Run) -> String {
    let engine = &run.config.engine;
    let mut text = engine.name.clone();
    if !engine.flags.is_empty() {
        text.push_str(&format!(" ({})", engine.flags.join(" ")));
    }
    let options = options(engine);
    if !options.is_empty() {
        text.push_str(&format!(" with {options}"));
    }
    text
}

/// The engine's options that differ from its defaults, as in `buffers 64, spin 50.00us`; empty for none.
pub(crate) fn options(engine: &EngineConfig) -> String {
    let option = |(name, value): (&String, &u64)| match name.strip_suffix("_ns") {
        Some(name) => format!("{name} {}", wrk::format_time_us(*value as f64 / 1e3)),
        None => format!("{name} {value}"),
    };
    engine.options.iter().map(option).collect::<Vec<_>>().join(", ")
}

/// In open loop what was asked and what became of it, and where the time of the requests went.
fn latency(out: &mut String, run: &Run, detail: Detail) {
    distribution(out, "latency", &run.latency, detail);
    let parts = [("conn wait", &run.conn_wait), ("send lag", &run.send_lag), ("service time", &run.service_time)];
    for (name, part) in parts {
        if let Some(part) = part {
            distribution(out, name, part, detail);
        }
    }
    if let (Some(rate), Some(late)) = (run.config.rate_per_s, run.late) {
        let requests = &run.requests;
        line(
            out,
            format_args!(
                "asked          {rate}/s: {} planned, {} sent, {} done, {late} late (sent more than {} after they were due)",
                requests.planned,
                requests.sent,
                requests.done(),
                wrk::format_time_us(LATE_NS as f64 / 1e3)
            ),
        );
    }
}

fn distribution(out: &mut String, name: &str, latency: &Distribution, detail: Detail) {
    // The two percentiles of -L are not in the file's headline figures; they come from its histogram.
    let histogram = if detail == Detail::Full { latency.histogram().ok() } else { None };
    let from_histogram = |thousandths| histogram.as_ref().and_then(|histogram| percentile(histogram, thousandths));
    let mut columns = vec![("min", latency.min_ns), ("p50", latency.p50_ns)];
    if detail == Detail::Full {
        columns.push(("p75", from_histogram(75_000)));
    }
    columns.extend([
        ("p90", latency.p90_ns),
        ("p95", latency.p95_ns),
        ("p99", latency.p99_ns),
        ("p99.9", latency.p99_9_ns),
        ("p99.99", latency.p99_99_ns),
    ]);
    if detail == Detail::Full {
        columns.push(("p99.999", from_histogram(99_999)));
    }
    columns.push(("max", latency.max_ns));
    let mut heading = vec![name.to_owned()];
    let mut row = vec![format!("{} samples", latency.count)];
    for (name, value_ns) in columns {
        let unit = Unit::of_times([value_ns]);
        heading.push(format!("{name} {}", unit.name));
        row.push(unit.show_ns(value_ns));
    }
    out.push_str(&render(&heading, &[row], 1));
}

fn answers(out: &mut String, run: &Run) {
    if run.status_codes.is_empty() {
        return;
    }
    let mut classes: Vec<(u16, u64)> = Vec::new();
    for (code, count) in &run.status_codes {
        match classes.last_mut() {
            Some((class, sum)) if *class == code / 100 => *sum = sum.saturating_add(*count),
            _ => classes.push((code / 100, *count)),
        }
    }
    let exact: Vec<String> = run.status_codes.iter().map(|(code, count)| format!("{code}: {count}")).collect();
    let classes: Vec<String> = classes.iter().map(|(class, count)| format!("{class}xx: {count}")).collect();
    line(out, format_args!("status codes   {} ({})", exact.join(", "), classes.join(", ")));
}

/// Where the run had several requests: a line for each and for each category; and what was left out.
fn named_requests(out: &mut String, run: &Run) {
    for table in [requests::requests(run), requests::categories(run)].into_iter().flatten() {
        out.push('\n');
        out.push_str(&render(&table.heading, &table.rows, table.left));
    }
    for sentence in requests::skipped(run) {
        line(out, format_args!("{sentence}"));
    }
    if !run.named_requests.is_empty() {
        out.push('\n');
    }
}

/// Nothing when all is well; else the identity, and each kind with its first message.
fn failures(out: &mut String, run: &Run) {
    let requests = &run.requests;
    if run.reconnects > 0 {
        let per_s = (run.elapsed_ns > 0).then(|| run.reconnects as f64 * 1e9 / run.elapsed_ns as f64);
        line(out, format_args!("reconnects     {}, {} connections/s", run.reconnects, or_dash(per_s)));
    }
    if requests.failed() > 0 || requests.adds_up().is_err() {
        let counted = Outcome::ALL.iter().filter(|outcome| **outcome == Outcome::Ok || requests.count(**outcome) > 0);
        let parts: Vec<String> = counted.map(|outcome| format!("{outcome} {}", requests.count(*outcome))).collect();
        let sign = if requests.adds_up().is_ok() { "=" } else { "IS NOT" };
        line(out, format_args!("failures       {}", requests.failed()));
        line(out, format_args!("  planned {} {sign} {}", requests.planned, parts.join(" + ")));
    }
    for (outcome, sample) in &run.error_samples {
        line(out, format_args!("  {outcome}: {}", one_line(sample)));
    }
}

/// A peer chose these bytes: control characters are shown, not sent to a terminal.
fn one_line(sample: &str) -> String {
    sample
        .chars()
        .flat_map(|char| if char.is_control() { char.escape_default().collect() } else { vec![char] })
        .collect()
}

fn costs(out: &mut String, run: &Run) {
    let us = |ns: Option<u64>| Unit::US.show_ns(ns);
    let busy =
        |share: Option<f64>| share.map_or_else(String::new, |share| format!(", busiest core {} %", percent(share)));
    let loader = &run.loader;
    line(
        out,
        format_args!(
            "loader         {} us CPU/request, {} us core-busy/request{}",
            us(loader.cpu_ns_per_request),
            us(loader.core_busy_ns_per_request),
            busy(loader.busiest_core())
        ),
    );
    let per_request = |count: Option<u64>| {
        or_dash(count.filter(|_| run.requests.ok > 0).map(|count| count as f64 / run.requests.ok as f64))
    };
    if loader.enters.is_some() {
        line(
            out,
            format_args!(
                "               {} enters, {} SQEs, {} CQEs per request",
                per_request(loader.enters),
                per_request(loader.sqes),
                per_request(loader.cqes)
            ),
        );
    }
    if let Some(server) = &run.server {
        line(
            out,
            format_args!(
                "server         {} us CPU/request, {} us core-busy/request{}, RSS {} MiB (peak {})",
                us(server.cpu_ns_per_request),
                us(server.core_busy_ns_per_request),
                busy(server.busiest_core()),
                Unit::MIB.show(Some(server.rss_end_bytes as f64)),
                Unit::MIB.show(Some(server.rss_peak_bytes as f64)),
            ),
        );
    }
}

/// What limited the run; nothing for a file without a verdict.
fn verdict(out: &mut String, run: &Run) {
    if let Some(verdict) = &run.verdict {
        line(out, format_args!("verdict        {}", verdict.line()));
    }
}

/// Limits that were to be kept, if any.
fn limits(out: &mut String, run: &Run) {
    for limit in &run.limits {
        line(out, format_args!("limit          {}", limit.line()));
    }
}

/// A share as a percentage with three digits.
pub(crate) fn percent(share: f64) -> String {
    significant(share * 100.0)
}

fn doubts(out: &mut String, run: &Run) {
    for doubt in &run.validity {
        let word = if doubt.fatal { "not trusted" } else { "note" };
        line(out, format_args!("{word}: {}: {} ({})", doubt.code.key(), doubt.detail, doubt.advice));
    }
}

/// The whole distribution in HdrHistogram's own text form, values in milliseconds, as wrk2 prints it.
fn spectrum(out: &mut String, latency: &Distribution) {
    let Ok(histogram) = latency.histogram() else { return };
    if histogram.is_empty() {
        return;
    }
    line(out, format_args!("\n       Value   Percentile   TotalCount 1/(1-Percentile)\n"));
    spectrum_rows(out, &histogram);
    line(
        out,
        format_args!(
            "#[Mean = {:12.3}, StdDeviation = {:12.3}]",
            histogram.inner().mean() / 1e6,
            histogram.inner().stdev() / 1e6
        ),
    );
    line(
        out,
        format_args!(
            "#[Max  = {:12.3}, Total count  = {:12}]",
            histogram.inner().max() as f64 / 1e6,
            histogram.count()
        ),
    );
}

fn spectrum_rows(out: &mut String, histogram: &Histogram) {
    /// wrk2's steps per halving of the distance to 100 %.
    const TICKS: u32 = 5;
    let mut total = 0;
    for value in histogram.inner().iter_quantiles(TICKS) {
        total += value.count_since_last_iteration();
        let (value_ms, quantile) = (value.value_iterated_to() as f64 / 1e6, value.quantile());
        let rest = 1.0 - quantile;
        if rest > 0.0 {
            line(out, format_args!("{value_ms:12.3} {quantile:14.6} {total:10} {:14.2}", 1.0 / rest));
        } else {
            line(out, format_args!("{value_ms:12.3} {quantile:14.6} {total:10} {:>14}", "inf"));
        }
    }
}
