//! The text of a comparison: a table of servers and one of loaders, what was absent, and why not to believe it.

use std::fmt::Write as _;

use crate::cores::ranges;
use crate::report::bench::doubt_text;
use crate::report::heading::heading;
use crate::report::number::{Unit, significant};
use crate::report::sweep::interval;
use crate::report::table::render;
use crate::versus::{Contender, Point, Versus};

/// The report of a comparison, ending in a newline.
#[must_use]
pub fn text(versus: &Versus) -> String {
    let mut out = String::new();
    for line in lines_above(versus) {
        push_line(&mut out, &line);
    }
    for (title, table, note) in tables(versus) {
        push_line(&mut out, &format!("\n{title}"));
        out.push_str(&render(&table.heading, &table.rows, table.left));
        push_line(&mut out, note);
    }
    for line in lines_below(versus) {
        push_line(&mut out, &line);
    }
    for doubt in &versus.validity {
        push_line(&mut out, &doubt_text(doubt, ""));
    }
    if versus.interrupted {
        push_line(&mut out, "interrupted: runs are missing");
    }
    out
}

fn push_line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("writing to a String cannot fail");
}

/// Heading and rows; the first `left` columns hold words.
pub(crate) struct Table {
    pub(crate) heading: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) left: usize,
}

const OF_SERVERS: &str = "req/s, latencies and costs: medians; CPU: time of the server's processes; busy: time of its cores, interrupts included; ratios to the base of \
                          the wire round by round, with their 95 % interval; (A/A) is the base against itself: what noise alone does";
const OF_LOADERS: &str = "req/s and latencies as the loader reported them; CPU: time of the loader's processes from start to end; busy: time of its cores; both \
                          per request that the server counted, where it could be asked; counted: those over the ones the loader reported";

/// Both tables with their titles and notes; one without rows is left out.
pub(crate) fn tables(versus: &Versus) -> Vec<(&'static str, Table, &'static str)> {
    let servers = ("servers, driven by zapring's loader", servers(versus), OF_SERVERS);
    let loaders = ("loaders, driving the first server of their wire", loaders(versus), OF_LOADERS);
    [servers, loaders].into_iter().filter(|(_, table, _)| !table.rows.is_empty()).collect()
}

pub(crate) fn lines_above(versus: &Versus) -> [String; 2] {
    let seconds = |ns: u64| significant(ns as f64 / 1e9);
    let asked = versus.rate_per_s.map_or_else(
        || "closed loop: latency is not comparable".to_owned(),
        |rate| format!("servers in open loop at {rate} requests/s, loaders in closed loop"),
    );
    [
        heading("versus", &versus.started_at, &versus.environment),
        format!(
            "{} connections, {asked}; servers on cores {}, loaders on cores {}; {} interleaved rounds of {} s after {} s of warm-up",
            versus.connections,
            ranges(&versus.server_cores),
            ranges(&versus.loader_cores),
            versus.rounds,
            seconds(versus.duration_ns),
            seconds(versus.warmup_ns)
        ),
    ]
}

/// What was absent or ended early, and what failed.
pub(crate) fn lines_below(versus: &Versus) -> Vec<String> {
    let mut lines = Vec::new();
    for one in versus.servers.iter().chain(&versus.loaders) {
        if let Some(problem) = &one.problem {
            lines.push(format!("{} was not run any more: {problem}", one.name));
        }
        let failed = one.points.iter().fold(0, |sum: u64, point| sum.saturating_add(point.failed));
        if failed > 0 {
            lines.push(format!("{}: {failed} failed requests", named(one)));
        }
    }
    for absent in &versus.absent {
        let install = if absent.install.is_empty() { String::new() } else { format!(": {}", absent.install) };
        lines.push(format!("absent {} {} ({}){install}", absent.side, absent.name, absent.reason));
    }
    lines
}

pub(crate) fn named(one: &Contender) -> String {
    if one.again { format!("{} (A/A)", one.name) } else { one.name.clone() }
}

fn rate(point: &Point) -> Option<f64> {
    point.ok_per_s
}

fn busy(point: &Point) -> Option<f64> {
    point.core_busy_ns_per_request.map(|ns| ns as f64)
}

fn cpu(point: &Point) -> Option<f64> {
    point.cpu_ns_per_request.map(|ns| ns as f64)
}

fn p50(point: &Point) -> Option<f64> {
    point.p50_ns.map(|ns| ns as f64)
}

fn p99(point: &Point) -> Option<f64> {
    point.p99_ns.map(|ns| ns as f64)
}

/// The ratio's cell: `base`, or the ratio, or nothing.
fn ratio_of(one: &Contender, ratio: Option<&crate::ratio::PairedRatio>) -> String {
    if one.base { "base".to_owned() } else { interval(ratio) }
}

fn servers(versus: &Versus) -> Table {
    let unit = Unit::of_counts(versus.servers.iter().map(|one| one.median(rate)));
    let heading = [
        "server".to_owned(),
        "wire".to_owned(),
        format!("req/s\n{}", unit.name).trim_end().to_owned(),
        "p50\nus".to_owned(),
        "p99\nus".to_owned(),
        "CPU\nus/req".to_owned(),
        "busy\nus/req".to_owned(),
        "RSS\nMiB".to_owned(),
        "reply\nbytes".to_owned(),
        "CPU\nratio".to_owned(),
        "busy\nratio".to_owned(),
        "req/s\nratio".to_owned(),
        "p99\nratio".to_owned(),
        "limit".to_owned(),
    ];
    let row = |one: &Contender| {
        let rss = one.median(|point| point.rss_bytes.map(|bytes| bytes as f64));
        vec![
            named(one),
            one.wire.clone(),
            unit.show(one.median(rate)),
            Unit::US.show(one.median(p50)),
            Unit::US.show(one.median(p99)),
            Unit::US.show(one.median(cpu)),
            Unit::US.show(one.median(busy)),
            Unit::MIB.show(rss),
            one.reply_bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string()),
            ratio_of(one, one.cpu.as_ref()),
            ratio_of(one, one.busy.as_ref()),
            ratio_of(one, one.rate.as_ref()),
            ratio_of(one, one.p99.as_ref()),
            one.limit().unwrap_or("-").to_owned(),
        ]
    };
    Table { heading: heading.to_vec(), rows: versus.servers.iter().map(row).collect(), left: 2 }
}

fn loaders(versus: &Versus) -> Table {
    let unit = Unit::of_counts(versus.loaders.iter().map(|one| one.median(rate)));
    let heading = [
        "loader".to_owned(),
        "wire".to_owned(),
        format!("req/s\n{}", unit.name).trim_end().to_owned(),
        "p50\nus".to_owned(),
        "p99\nus".to_owned(),
        "CPU\nus/req".to_owned(),
        "busy\nus/req".to_owned(),
        "CPU\nratio".to_owned(),
        "req/s\nratio".to_owned(),
        "counted".to_owned(),
    ];
    let row = |one: &Contender| {
        let counted =
            one.median(|point| Some(point.counted? as f64 / point.ok.saturating_add(point.failed).max(1) as f64));
        vec![
            named(one),
            one.wire.clone(),
            unit.show(one.median(rate)),
            Unit::US.show(one.median(p50)),
            Unit::US.show(one.median(p99)),
            Unit::US.show(one.median(cpu)),
            Unit::US.show(one.median(busy)),
            ratio_of(one, one.cpu.as_ref()),
            ratio_of(one, one.rate.as_ref()),
            counted.map_or_else(|| "-".to_owned(), |share| format!("{share:.4}")),
        ]
    };
    Table { heading: heading.to_vec(), rows: versus.loaders.iter().map(row).collect(), left: 2 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::versus::Absent;

    #[test]
    fn both_tables_and_what_was_missing() {
        let point = |round, ns| Point {
            round,
            ok: 100_000,
            ok_per_s: Some(100_000.0 + f64::from(round)),
            p50_ns: Some(300_000),
            cpu_ns_per_request: Some(ns / 2),
            core_busy_ns_per_request: Some(ns),
            counted: Some(100_050),
            limit: Some("server-bound".to_owned()),
            ..Point::default()
        };
        let one = |name: &str, base, ns| Contender {
            name: name.to_owned(),
            wire: "http".to_owned(),
            base,
            reply_bytes: Some(66),
            points: (0..3).map(|round| point(round, ns)).collect(),
            ..Contender::default()
        };
        let mut versus = Versus {
            connections: 64,
            rounds: 3,
            duration_ns: 1_000_000_000,
            servers: vec![
                one("ours", true, 3000),
                Contender { problem: Some("it ended: exit 1".into()), ..one("theirs", false, 6000) },
            ],
            loaders: vec![one("wrk", true, 5000)],
            absent: vec![Absent {
                name: "hey".into(),
                side: "loader".into(),
                reason: "no such program".into(),
                install: "apt-get install hey".into(),
            }],
            ..Versus::default()
        };
        versus.conclude();
        let text = text(&versus);
        for part in [
            "closed loop: latency is not comparable",
            "2.000 (2.000 to 2.000)",
            "server-bound",
            "1.0005",
            "theirs was not run any more: it ended: exit 1",
            "absent loader hey (no such program): apt-get install hey",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        assert_eq!(text.matches("2.000 (2.000 to 2.000)").count(), 2, "of its processes and of its cores\n{text}");
    }
}
