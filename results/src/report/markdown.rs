//! Markdown tables of result files, for issues and documents. Text from files is escaped.

use crate::bench::Bench;
use crate::config::Mode;
use crate::document::Document;
use crate::environment::Environment;
use crate::report::canonical;
use crate::report::codec;
use crate::report::escape::markdown as escaped;
use crate::report::heading::heading;
use crate::report::load::named_origin;
use crate::report::number::{Unit, significant};
use crate::report::requests;
use crate::report::rows::NamedDocument;
use crate::report::sweep::{best_line, interval, names, verdict};
use crate::report::versus;
use crate::report::wrk;
use crate::run::Run;
use crate::sweep::{Point, Sweep};
use crate::validity::Validity;
use crate::versus::Versus;

/// All documents, one section each, ending in a newline.
#[must_use]
pub fn text(documents: &[NamedDocument]) -> String {
    documents.iter().map(section).collect::<Vec<_>>().join("\n")
}

fn section(named: &NamedDocument) -> String {
    let body = match &named.document {
        Document::Run(run) => of_run(run),
        Document::Bench(bench) => of_bench(bench),
        Document::Sweep(sweep) => of_sweep(sweep),
        // Their tables are wide and made of words: as they are printed.
        Document::Codec(axis) => format!("```\n{}```\n", codec::text(axis)),
        Document::Canonical(suite) => format!("```\n{}```\n", canonical::text(suite)),
        Document::Versus(versus) => of_versus(versus),
    };
    format!("## {}\n\n{body}", escaped(&named.name))
}

fn of_run(run: &Run) -> String {
    let loop_line = match run.mode {
        Mode::ClosedLoop => "closed loop: throughput test, latency not comparable".to_owned(),
        Mode::OpenLoop => format!("open loop: {} requests/s asked", run.config.rate_per_s.unwrap_or(0)),
    };
    let target = [run.config.method.as_str(), run.config.url.as_str()].join(" ");
    let mut lines = vec![
        first_line("load", &run.started_at, &run.environment),
        format!("{}; {loop_line}; engine {}", escaped(target.trim()), escaped(&run.config.engine.name)),
    ];
    lines.extend(named_origin(run).map(|origin| escaped(&origin)));
    let mut out = paragraph(&lines);
    out.push_str(&runs_table(&[run]));
    let parts: Vec<(&str, &crate::latency::Distribution)> = [
        ("latency", Some(&run.latency)),
        ("conn wait", run.conn_wait.as_ref()),
        ("send lag", run.send_lag.as_ref()),
        ("service time", run.service_time.as_ref()),
    ]
    .into_iter()
    .filter_map(|(name, part)| Some((name, part?)))
    .collect();
    if parts.len() > 1 {
        let unit = Unit::of_times(parts.iter().map(|(_, part)| part.p50_ns));
        let heading = ["part", "p50", "p99", "p99.9", "max"];
        let heading: Vec<String> = heading.iter().enumerate().map(|(i, name)| with_unit(name, unit, i > 0)).collect();
        let row = |(name, part): &(&str, &crate::latency::Distribution)| {
            let times = [part.p50_ns, part.p99_ns, part.p99_9_ns, part.max_ns];
            std::iter::once((*name).to_owned()).chain(times.map(|time| unit.show_ns(time))).collect()
        };
        out.push('\n');
        out.push_str(&table(&heading, &parts.iter().map(row).collect::<Vec<_>>(), 1));
    }
    for columns in [requests::requests(run), requests::categories(run)].into_iter().flatten() {
        let rows: Vec<Vec<String>> =
            columns.rows.iter().map(|row| row.iter().map(|cell| escaped(cell)).collect()).collect();
        out.push('\n');
        out.push_str(&table(&columns.heading, &rows, columns.left));
    }
    let mut items: Vec<String> = requests::skipped(run).iter().map(|sentence| escaped(sentence)).collect();
    items.extend(run.error_samples.iter().map(|(kind, sample)| format!("{kind}: {}", escaped(sample))));
    items.extend(run.validity.iter().map(|doubt| doubt_item(doubt, "")));
    items.extend(run.interrupted.then(|| "**interrupted: this is a partial result**".to_owned()));
    out.push_str(&list(&items));
    out
}

fn of_bench(bench: &Bench) -> String {
    let mut out = paragraph(&[
        first_line("bench", &bench.started_at, &bench.environment),
        format!("placement {}", bench.placement.word()),
    ]);
    out.push_str(&runs_table(&bench.rows.iter().map(|row| &row.run).collect::<Vec<_>>()));
    if !bench.ratios.is_empty() {
        let heading = ["conns", "ratio", "req/s", "server CPU/request"].map(str::to_owned);
        let of = |ratio: &crate::bench::Ratio| {
            ratio.scenario.as_ref().map_or_else(String::new, |scenario| format!("{}: ", escaped(scenario)))
        };
        let figure = |figure: Option<f64>| figure.map_or_else(|| "-".to_owned(), significant);
        let row = |ratio: &crate::bench::Ratio| {
            let name = format!("{}{}/{}", of(ratio), escaped(&ratio.wire), escaped(&ratio.base));
            vec![ratio.connections.to_string(), name, figure(ratio.ok_per_s), figure(ratio.server_cpu_per_request)]
        };
        out.push('\n');
        out.push_str(&table(&heading, &bench.ratios.iter().map(row).collect::<Vec<_>>(), 0));
    }
    let mut items = Vec::new();
    for row in &bench.rows {
        let name = format!("{}/{}", row.wire, row.connections);
        items.extend(
            row.run
                .error_samples
                .iter()
                .map(|(kind, sample)| format!("{}: {kind}: {}", escaped(&name), escaped(sample))),
        );
    }
    items.extend(bench.validity.iter().map(|doubt| doubt_item(doubt, "")));
    for row in &bench.rows {
        let name = format!("{}/{}: ", row.wire, row.connections);
        let unsaid = row.run.validity.iter().filter(|doubt| !bench.validity.iter().any(|said| said.code == doubt.code));
        items.extend(unsaid.map(|doubt| doubt_item(doubt, &name)));
    }
    items.extend(bench.interrupted.then(|| "**interrupted: rows are missing**".to_owned()));
    out.push_str(&list(&items));
    out
}

fn of_sweep(sweep: &Sweep) -> String {
    let side = sweep.side;
    let mut out = paragraph(&[
        first_line("sweep", &sweep.started_at, &sweep.environment),
        format!(
            "swept: {}; {} at {} connections, placement {}, {} interleaved rounds of {}",
            side.word(),
            escaped(&sweep.wire),
            sweep.connections,
            sweep.placement.word(),
            sweep.rounds,
            wrk::format_time_us(sweep.duration_ns as f64 / 1e3)
        ),
    ]);
    let rate = |point: &Point| point.ok_per_s;
    let cpu = move |point: &Point| point.cpu_ns(side).map(|ns| ns as f64);
    let unit = Unit::of_counts(sweep.settings.iter().map(|setting| setting.median(rate)));
    let heading =
        ["factor", "value", &named_count(unit), "CPU us/req", "CPU ratio", "req/s ratio", "real"].map(str::to_owned);
    let row = |setting: &crate::sweep::Setting| {
        let (factor, value) = names(setting);
        vec![
            escaped(&factor),
            escaped(&value),
            unit.show(setting.median(rate)),
            Unit::US.show(setting.median(cpu)),
            interval(setting.cpu.as_ref()),
            interval(setting.rate.as_ref()),
            verdict(setting).to_owned(),
        ]
    };
    out.push_str(&table(&heading, &sweep.settings.iter().map(row).collect::<Vec<_>>(), 2));
    let mut items: Vec<String> = sweep.best.iter().map(|best| escaped(&best_line(sweep, best))).collect();
    items.extend(sweep.validity.iter().map(|doubt| doubt_item(doubt, "")));
    items.extend(sweep.interrupted.then(|| "**interrupted: runs are missing**".to_owned()));
    out.push_str(&list(&items));
    out
}

fn of_versus(versus: &Versus) -> String {
    let [_, setting] = versus::lines_above(versus);
    let mut out = paragraph(&[first_line("versus", &versus.started_at, &versus.environment), escaped(&setting)]);
    for (title, of, note) in versus::tables(versus) {
        let heading: Vec<String> = of.heading.iter().map(|words| words.replace('\n', " ")).collect();
        let rows: Vec<Vec<String>> = of.rows.iter().map(|row| row.iter().map(|cell| escaped(cell)).collect()).collect();
        out.push_str(&format!("\n### {title}\n\n"));
        out.push_str(&table(&heading, &rows, of.left));
        out.push_str(&format!("\n{note}\n"));
    }
    let mut items: Vec<String> = versus::lines_below(versus).iter().map(|line| escaped(line)).collect();
    items.extend(versus.validity.iter().map(|doubt| doubt_item(doubt, "")));
    items.extend(versus.interrupted.then(|| "**interrupted: runs are missing**".to_owned()));
    out.push('\n');
    out.push_str(&list(&items));
    out
}

/// A line per run, one unit per column.
fn runs_table(runs: &[&Run]) -> String {
    let rate = Unit::of_counts(runs.iter().map(|run| run.rates.ok_per_s));
    let mut heading = vec!["wire".to_owned(), "placement".to_owned(), "conns".to_owned(), named_count(rate)];
    type Time = fn(&Run) -> Option<u64>;
    let times: [(&str, Time); 5] = [
        ("p50", |run| run.latency.p50_ns),
        ("p95", |run| run.latency.p95_ns),
        ("p99", |run| run.latency.p99_ns),
        ("p99.9", |run| run.latency.p99_9_ns),
        ("max", |run| run.latency.max_ns),
    ];
    let units = times.map(|(_, time)| Unit::of_times(runs.iter().map(|run| time(run))));
    heading.extend(times.iter().zip(units).map(|((name, _), unit)| with_unit(name, unit, true)));
    heading.extend(
        ["failed", "server CPU us/req", "loader CPU us/req", "server busy us/req", "loader busy us/req"]
            .map(str::to_owned),
    );
    let row = |run: &&Run| {
        let mut cells = vec![
            escaped(&run.config.wire),
            run.config.placement.word().to_owned(),
            run.config.connections.to_string(),
            rate.show(run.rates.ok_per_s),
        ];
        cells.extend(times.iter().zip(units).map(|((_, time), unit)| unit.show_ns(time(run))));
        let point = Point::of(0, run);
        cells.push(point.failed.to_string());
        cells.extend(
            [
                point.server_cpu_ns_per_request,
                point.loader_cpu_ns_per_request,
                point.server_core_busy_ns_per_request,
                point.loader_core_busy_ns_per_request,
            ]
            .map(|ns| Unit::US.show_ns(ns)),
        );
        cells
    };
    table(&heading, &runs.iter().map(row).collect::<Vec<_>>(), 2)
}

fn first_line(kind: &str, started_at: &str, environment: &Environment) -> String {
    escaped(&heading(kind, started_at, environment))
}

/// A line break in Markdown is a backslash at the end of a line.
fn paragraph(lines: &[String]) -> String {
    format!("{}\n\n", lines.join("\\\n"))
}

fn named_count(unit: Unit) -> String {
    if unit.name.is_empty() { "req/s".to_owned() } else { format!("req/s ({})", unit.name) }
}

fn with_unit(name: &str, unit: Unit, shown: bool) -> String {
    if shown { format!("{name} {}", unit.name) } else { name.to_owned() }
}

/// The first `left` columns hold words. The cells are escaped already.
fn table(heading: &[String], rows: &[Vec<String>], left: usize) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule: Vec<String> = (0..heading.len()).map(|i| if i < left { "---" } else { "---:" }.to_owned()).collect();
    [heading, &rule].into_iter().map(line).chain(rows.iter().map(|row| line(row))).collect()
}

fn list(items: &[String]) -> String {
    let items: String = items.iter().map(|item| format!("- {item}\n")).collect();
    if items.is_empty() { items } else { format!("\n{items}") }
}

fn doubt_item(doubt: &Validity, name: &str) -> String {
    let word = if doubt.fatal { "**not trusted**" } else { "note" };
    let (code, detail, advice) = (doubt.code.key(), escaped(&doubt.detail), escaped(&doubt.advice));
    format!("{word}: {}`{code}`: {detail} ({advice})", escaped(name))
}
