//! The text of a bench: one table, and one line per wire saying what limited it.

use std::fmt::Write as _;

use crate::bench::{Bench, BenchRow};
use crate::config::Placement;
use crate::cores::{CoreBusy, ranges};
use crate::report::heading::heading as environment_line;
use crate::report::load::{options, percent};
use crate::report::number::{Unit, or_dash};
use crate::report::table::render;
use crate::requests::Outcome;
use crate::spread::Spread;
use crate::usage::ServerBlock;
use crate::validity::Validity;
use crate::verdict::Verdict;

/// The report of a bench, ending in a newline.
#[must_use]
pub fn text(bench: &Bench) -> String {
    let mut out = heading(bench);
    out.push_str(&table(bench));
    push_line(
        &mut out,
        if paired(bench) {
            "CPU: time of the process's threads; busy: time the cores were busy with anything, both sides and interrupts included"
        } else {
            "CPU: time of the process's threads; busy: time its cores were busy with anything, interrupts included"
        },
    );
    for limit in limits(bench) {
        push_line(&mut out, &limit);
    }
    for row in &bench.rows {
        failures(&mut out, row);
    }
    for doubt in &bench.validity {
        push_line(&mut out, &doubt_text(doubt, ""));
    }
    row_doubts(&mut out, bench);
    if bench.interrupted {
        push_line(&mut out, "interrupted: rows are missing");
    }
    out
}

fn push_line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("writing to a String cannot fail");
}

fn heading(bench: &Bench) -> String {
    let mut out = String::new();
    push_line(&mut out, &environment_line("bench", &bench.started_at, &bench.environment));
    if let Some(row) = bench.rows.first() {
        let config = &row.run.config;
        let flags = if config.engine.flags.is_empty() {
            String::new()
        } else {
            format!(" ({})", config.engine.flags.join(" "))
        };
        let options = options(&config.engine);
        let options = if options.is_empty() { options } else { format!(" with {options}") };
        let pipelined = if config.pipeline > 1 { format!(", pipelined x{}", config.pipeline) } else { String::new() };
        push_line(
            &mut out,
            &format!(
                "closed loop: throughput test, latency not comparable{pipelined}; loader engine {}{flags}{options}, placement {}",
                config.engine.name,
                config.placement.word()
            ),
        );
    }
    let server = match ranges(&bench.server_cores) {
        cores if cores.is_empty() => "server elsewhere".to_owned(),
        cores => format!("server on cores {cores}"),
    };
    push_line(&mut out, &format!("{server}, loader on cores {}", ranges(&bench.loader_cores)));
    out
}

/// One column: its heading and its cells.
struct Column {
    heading: String,
    cells: Vec<String>,
}

fn table(bench: &Bench) -> String {
    let columns = columns(bench);
    let heading: Vec<String> = columns.iter().map(|column| column.heading.clone()).collect();
    let rows: Vec<Vec<String>> =
        (0..bench.rows.len()).map(|row| columns.iter().map(|column| column.cells[row].clone()).collect()).collect();
    render(&heading, &rows, 2)
}

/// Whether both sides share every core on purpose, so that its busy time belongs to both.
fn paired(bench: &Bench) -> bool {
    !bench.rows.is_empty() && bench.rows.iter().all(|row| row.run.config.placement == Placement::Paired)
}

fn columns(bench: &Bench) -> Vec<Column> {
    let rows = &bench.rows;
    let plain = |heading: &str, cell: &dyn Fn(&BenchRow) -> String| Column {
        heading: heading.to_owned(),
        cells: rows.iter().map(cell).collect(),
    };
    let time = |name: &str, value_ns: &dyn Fn(&BenchRow) -> Option<u64>| {
        let unit = Unit::of_times(rows.iter().map(value_ns));
        Column {
            heading: format!("{name}\n{}", unit.name),
            cells: rows.iter().map(|row| unit.show_ns(value_ns(row))).collect(),
        }
    };
    let cost = |heading: &str, value_ns: &dyn Fn(&BenchRow) -> Option<u64>| Column {
        heading: heading.to_owned(),
        cells: rows.iter().map(|row| Unit::US.show_ns(value_ns(row))).collect(),
    };
    let rate = Unit::of_counts(rows.iter().map(|row| row.run.rates.ok_per_s));
    let server = |row: &BenchRow| row.run.server.clone().unwrap_or_default();
    let mut columns = Vec::new();
    if rows.iter().any(|row| row.run.config.scenario.is_some()) {
        columns.push(plain("scenario", &|row| row.run.config.scenario.clone().unwrap_or_default()));
    }
    columns.extend([
        plain("wire", &|row| row.wire.clone()),
        plain("placement", &|row| row.run.config.placement.word().to_owned()),
        plain("conns", &|row| row.connections.to_string()),
        plain(format!("req/s\n{}", rate.name).trim_end(), &|row| rate.show(row.run.rates.ok_per_s)),
        time("p50", &|row| row.run.latency.p50_ns),
        time("p95", &|row| row.run.latency.p95_ns),
        time("p99", &|row| row.run.latency.p99_ns),
        time("p99.9", &|row| row.run.latency.p99_9_ns),
        time("max", &|row| row.run.latency.max_ns),
        plain("failed", &|row| row.run.requests.failed().to_string()),
        cost("server\nCPU\nus/req", &|row| server(row).cpu_ns_per_request),
        cost("loader\nCPU\nus/req", &|row| row.run.loader.cpu_ns_per_request),
    ]);
    if paired(bench) {
        columns.push(cost("both\nbusy\nus/req", &|row| server(row).core_busy_ns_per_request));
    } else {
        columns.push(cost("server\nbusy\nus/req", &|row| server(row).core_busy_ns_per_request));
        columns.push(cost("loader\nbusy\nus/req", &|row| row.run.loader.core_busy_ns_per_request));
    }
    let rss = |row: &BenchRow, figure: fn(&ServerBlock) -> f64| Unit::MIB.show(row.run.server.as_ref().map(figure));
    columns.push(plain("rss\nMiB", &|row| rss(row, |server| server.rss_end_bytes as f64)));
    columns.push(plain("drss\nMiB", &|row| rss(row, ServerBlock::rss_growth_bytes)));
    if rows.iter().any(|row| row.counts.is_some_and(|counts| counts.allocations.is_some())) {
        columns.push(plain("allocs\n/req", &|row| {
            or_dash(row.counts.and_then(|counts| counts.per_request(counts.allocations?)))
        }));
    }
    if rows.iter().any(|row| row.counts.is_some_and(|counts| counts.instructions.is_some())) {
        columns.push(plain("instr\n/req", &|row| {
            or_dash(row.counts.and_then(|counts| counts.per_request(counts.instructions?)))
        }));
    }
    if rows.iter().any(|row| row.spread.is_some()) {
        columns.push(plain("conns\nper\nshard", &spread_cell));
    }
    if let Some(ratio) = bench.ratios.first() {
        columns.push(plain(&format!("{}/{}\nreq/s", ratio.wire, ratio.base), &|row| ratio_cell(bench, row)));
    }
    columns
}

/// Fewest to most connections of the shards that were driven.
fn spread_cell(row: &BenchRow) -> String {
    match row.spread.as_ref().and_then(Spread::range) {
        Some((fewest, most)) => format!("{fewest}..{most}"),
        None => "-".to_owned(),
    }
}

/// The ratio of a level, on the row of the wire above the line.
fn ratio_cell(bench: &Bench, row: &BenchRow) -> String {
    let ratio = bench.ratios.iter().find(|ratio| ratio.level() == row.level() && ratio.wire == row.wire);
    ratio.map_or_else(String::new, |ratio| or_dash(ratio.ok_per_s))
}

/// Wires in the order of their first rows.
fn wires(bench: &Bench) -> Vec<&str> {
    let mut wires: Vec<&str> = Vec::new();
    for row in &bench.rows {
        if !wires.contains(&row.wire.as_str()) {
            wires.push(&row.wire);
        }
    }
    wires
}

/// Which side was full, a line per wire.
pub(crate) fn limits(bench: &Bench) -> Vec<String> {
    wires(bench).into_iter().map(|wire| limit(bench, wire)).collect()
}

/// What limited the wire's fastest run.
fn limit(bench: &Bench, wire: &str) -> String {
    let rate = |row: &BenchRow| row.run.rates.ok_per_s.unwrap_or(0.0);
    let rows = bench.rows.iter().filter(|row| row.wire == wire);
    let fastest = rows.reduce(|best, row| if rate(row) > rate(best) { row } else { best });
    let Some(row) = fastest else { return format!("{wire}: no run") };
    let verdict = row.run.judged();
    if row.run.config.placement == Placement::Paired && verdict.word != Verdict::Starved {
        return together(row);
    }
    format!("{wire} at {} connections: {}", row.connections, verdict.line())
}

/// Neither side can be called full where both take turns on every core: only the cores can.
fn together(row: &BenchRow) -> String {
    let shares = || row.run.loader.core_busy.iter().filter_map(CoreBusy::share);
    let busy = match (shares().reduce(f64::min), shares().reduce(f64::max)) {
        (Some(least), Some(most)) if percent(least) == percent(most) => format!("{} % busy", percent(most)),
        (Some(least), Some(most)) => format!("{} to {} % busy", percent(least), percent(most)),
        _ => "busy for an unknown time".to_owned(),
    };
    format!("{} at {} connections: both sides share each core: the cores were {busy}", row.wire, row.connections)
}

fn failures(out: &mut String, row: &BenchRow) {
    let requests = &row.run.requests;
    if requests.failed() == 0 {
        return;
    }
    let kinds: Vec<String> = Outcome::ALL
        .into_iter()
        .filter(|outcome| *outcome != Outcome::Ok && requests.count(*outcome) > 0)
        .map(|outcome| match row.run.error_samples.get(&outcome) {
            Some(sample) => format!("{outcome} {} ({})", requests.count(outcome), sample.escape_debug()),
            None => format!("{outcome} {}", requests.count(outcome)),
        })
        .collect();
    let text = format!(
        "{}/{}: {} of {} failed: {}",
        row.wire,
        row.connections,
        requests.failed(),
        requests.planned,
        kinds.join(", ")
    );
    push_line(out, &text);
}

pub(crate) fn doubt_text(doubt: &Validity, rows: &str) -> String {
    let word = if doubt.fatal { "not trusted" } else { "note" };
    format!("{word}: {rows}{}: {} ({})", doubt.code.key(), doubt.detail, doubt.advice)
}

/// Doubts of the rows that the bench itself does not have, each code once with the rows it applies to and its first detail.
fn row_doubts(out: &mut String, bench: &Bench) {
    let mut seen: Vec<(&Validity, Vec<String>)> = Vec::new();
    for row in &bench.rows {
        let name = format!("{}/{}", row.wire, row.connections);
        for doubt in &row.run.validity {
            let same = |other: &Validity| (other.code, other.fatal) == (doubt.code, doubt.fatal);
            if bench.validity.iter().any(same) {
                continue;
            }
            match seen.iter_mut().find(|(other, _)| same(other)) {
                Some((_, rows)) => rows.push(name.clone()),
                None => seen.push((doubt, vec![name.clone()])),
            }
        }
    }
    for (doubt, rows) in seen {
        push_line(out, &doubt_text(doubt, &format!("{}: ", rows.join(" "))));
    }
}
