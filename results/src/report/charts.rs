//! Which charts a document has, from the figures in it and nothing else. Those over time are in `over_time`.

use crate::bench::{Bench, BenchRow};
use crate::config::Placement;
use crate::document::Document;
use crate::latency::Distribution;
use crate::limits::{MAX_CHART_BARS, MAX_CHART_CURVES};
use crate::report::chart::{Axis, Corner, Layout, Shape, svg};
use crate::report::intervals::{self, Line};
use crate::report::number::{Unit, significant};
use crate::report::over_time::{of_levels, of_one};
use crate::report::rows::{busy_shares, level_name};
use crate::report::sweep::names;
use crate::report::versus::named;
use crate::run::Run;
use crate::sweep::{Setting, Sweep, is_real};
use crate::versus::{Contender, Versus};

/// A chart with the words below it.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub caption: &'static str,
    /// The `svg` element.
    pub svg: String,
}

/// A chart across the page.
pub const WIDE: Layout = Layout { width: 1600, height: 680, left: 170, legend: Some(Corner::UpperLeft) };

/// How to read a chart of ratios.
const INTERVALS: &str = "Left of 1 is cheaper; lines are 95 % intervals; grey may be noise.";

/// The charts of one document, in reading order. What the document has no data for is left out.
#[must_use]
pub fn of(document: &Document) -> Vec<Figure> {
    match document {
        Document::Run(run) => of_run(run),
        Document::Bench(bench) => of_bench(bench),
        Document::Sweep(sweep) => ratios(sweep).into_iter().collect(),
        Document::Versus(versus) => of_versus(versus),
        Document::Codec(_) | Document::Canonical(_) => Vec::new(),
    }
}

fn of_run(run: &Run) -> Vec<Figure> {
    let parts = [
        ("latency", Some(&run.latency)),
        ("conn wait", run.conn_wait.as_ref()),
        ("send lag", run.send_lag.as_ref()),
        ("service time", run.service_time.as_ref()),
    ];
    let curves = parts.into_iter().filter_map(|(name, part)| Some((name.to_owned(), part?))).collect::<Vec<_>>();
    [of_one(run), percentiles("Latency by percentile".to_owned(), &curves), cores(run, &level_name(run))]
        .into_iter()
        .flatten()
        .collect()
}

fn of_bench(bench: &Bench) -> Vec<Figure> {
    let mut figures: Vec<Figure> = scaling(bench).into_iter().collect();
    figures.extend(costs(bench));
    for wire in wires(bench) {
        let runs: Vec<_> = rows_of(bench, wire).into_iter().map(|row| (level(row), &row.run)).collect();
        figures.extend(of_levels(wire, &runs));
    }
    for wire in wires(bench) {
        let rows = rows_of(bench, wire);
        let curves: Vec<_> = rows.iter().map(|row| (level(row), &row.run.latency)).collect();
        figures.extend(percentiles(format!("Latency by percentile: {wire}"), &curves));
    }
    for wire in wires(bench) {
        let rate = |row: &BenchRow| row.run.rates.ok_per_s.unwrap_or(0.0);
        let fastest = rows_of(bench, wire).into_iter().max_by(|a, b| rate(a).total_cmp(&rate(b)));
        figures.extend(fastest.and_then(|row| cores(&row.run, &format!("{}/{}", row.wire, row.connections))));
    }
    figures
}

fn level(row: &BenchRow) -> String {
    if row.connections == 1 { "1 connection".to_owned() } else { format!("{} connections", row.connections) }
}

fn rows_of<'a>(bench: &'a Bench, wire: &str) -> Vec<&'a BenchRow> {
    bench.rows.iter().filter(|row| row.wire == wire).collect()
}

/// Wires in the order of their first rows, as many as a chart can hold.
fn wires(bench: &Bench) -> Vec<&str> {
    let mut wires: Vec<&str> = Vec::new();
    for row in &bench.rows {
        if wires.len() < MAX_CHART_CURVES && !wires.contains(&row.wire.as_str()) {
            wires.push(&row.wire);
        }
    }
    wires
}

/// Latency over the distance to 100 %, both logarithmic, from the stored histograms.
fn percentiles(title: String, curves: &[(String, &Distribution)]) -> Option<Figure> {
    let mut drawn: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for (name, distribution) in curves.iter().take(MAX_CHART_CURVES) {
        let Ok(histogram) = distribution.histogram() else { continue };
        let count = histogram.count() as f64;
        let mut points: Vec<(f64, f64)> = Vec::new();
        for value in histogram.inner().iter_quantiles(10).filter(|_| count > 0.0) {
            // The last sample has no distance to 100 %; it is drawn at one sample in all of them.
            let distance = (1.0 / (1.0 - value.quantile_iterated_to()).max(1.0 / count)).log10();
            points.push((distance, (value.value_iterated_to() as f64).max(1.0).log10()));
        }
        if !points.is_empty() {
            drawn.push((name.clone(), points));
        }
    }
    let all = || drawn.iter().flat_map(|(_, points)| points.iter().copied());
    let longest = all().map(|(x, _)| x).fold(1.0, f64::max);
    let ns = |log: f64| 10_f64.powf(log);
    let (lowest, highest) =
        (all().map(|(_, y)| y).reduce(f64::min).map(ns)?, all().map(|(_, y)| y).reduce(f64::max).map(ns)?);
    let label = |nines: u32| match nines {
        0 => "0 %".to_owned(),
        1 => "90 %".to_owned(),
        2 => "99 %".to_owned(),
        more => format!("99.{} %", "9".repeat(more as usize - 2)),
    };
    let marks = (0..=longest.floor() as u32).map(|nines| (f64::from(nines), label(nines))).collect();
    let x = Axis { name: "percentile".to_owned(), low: 0.0, high: longest * 1.02, marks };
    let y = Axis::logarithmic("latency", lowest, highest, round_time);
    // Room for the legend above what lies to the left.
    let left = all().filter(|(x, _)| *x < longest * 0.3).map(|(_, y)| y).fold(y.low, f64::max);
    let legend = 0.05 + 0.075 * drawn.len() as f64;
    let y = Axis { high: y.high.max(y.low + (left - y.low) / (1.0 - legend)), ..y };
    let shapes: Vec<Shape> = drawn
        .into_iter()
        .enumerate()
        .map(|(colour, (name, points))| Shape::Curve { name, colour, points, dots: false })
        .collect();
    let svg = svg(&title, WIDE, &x, &y, &shapes)?;
    Some(Figure { title, caption: "Each mark to the right is ten times nearer to 100 %.", svg })
}

/// A round time on an axis, as in `200 us`.
pub(crate) fn round_time(ns: f64) -> String {
    let unit = Unit::of_times([Some(ns.round() as u64)]);
    format!("{} {}", (ns / unit.scale).round(), unit.name)
}

/// Requests per second by connections, a line per wire.
fn scaling(bench: &Bench) -> Option<Figure> {
    let rate = |row: &BenchRow| row.run.rates.ok_per_s;
    let unit = Unit::of_counts(bench.rows.iter().map(rate));
    let name = if unit.name.is_empty() { "requests/s".to_owned() } else { format!("{} requests/s", unit.name) };
    let svg = by_connections(
        bench,
        "Requests per second by connections",
        &name,
        &|row| Some(rate(row)? / unit.scale),
        false,
    )?;
    Some(Figure {
        title: "Requests per second by connections".to_owned(),
        caption: "Answers that were right. Closed loop: a throughput test.",
        svg,
    })
}

/// The server's CPU time per request by connections, a line per wire.
fn costs(bench: &Bench) -> Option<Figure> {
    let title = "Server CPU time per request by connections";
    let server = |row: &BenchRow| Some(row.run.server.as_ref()?.cpu_ns_per_request? as f64 / 1e3);
    let svg = by_connections(bench, title, "server CPU us/request", &server, true)?;
    Some(Figure { title: title.to_owned(), caption: "Time of the server's threads. Lower is better.", svg })
}

fn by_connections(
    bench: &Bench,
    title: &str,
    name: &str,
    figure: &dyn Fn(&BenchRow) -> Option<f64>,
    falling: bool,
) -> Option<String> {
    let usable = |figure: f64| (figure.is_finite() && (1e-9..1e18).contains(&figure)).then_some(figure);
    let mut shapes = Vec::new();
    let mut levels: Vec<u32> = Vec::new();
    let mut highest: f64 = 0.0;
    for (colour, wire) in wires(bench).into_iter().enumerate() {
        let mut points = Vec::new();
        for row in rows_of(bench, wire) {
            if let Some(value) = figure(row).and_then(usable).filter(|_| row.connections > 0) {
                points.push((f64::from(row.connections).log10(), value));
                levels.push(row.connections);
                highest = highest.max(value);
            }
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        if !points.is_empty() {
            shapes.push(Shape::Curve { name: wire.to_owned(), colour, points, dots: true });
        }
    }
    levels.sort_unstable();
    levels.dedup();
    if levels.len() < 2 {
        return None;
    }
    let (first, last) = (f64::from(*levels.first()?).log10(), f64::from(*levels.last()?).log10());
    // Marks that would overlap are left out.
    let mut marks: Vec<(f64, String)> = Vec::new();
    for level in &levels {
        let at = f64::from(*level).log10();
        if marks.last().is_none_or(|(before, _)| at - before > (last - first) / 16.0) {
            marks.push((at, level.to_string()));
        }
    }
    let room = (last - first) * 0.04;
    let x = Axis { name: "connections".to_owned(), low: first - room, high: last + room, marks };
    let y = Axis::from_zero(name, highest, significant_or_zero);
    let legend = Some(if falling { Corner::UpperRight } else { Corner::LowerRight });
    svg(title, Layout { legend, ..WIDE }, &x, &y, &shapes)
}

pub(crate) fn significant_or_zero(mark: f64) -> String {
    let text = significant(mark);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// How busy each core was.
fn cores(run: &Run, of: &str) -> Option<Figure> {
    let shares = busy_shares(run);
    if shares.is_empty() {
        return None;
    }
    let shares = &shares[..shares.len().min(MAX_CHART_BARS)];
    let colour = |side: &str| match side {
        "loader" => 1,
        "both" => 2,
        _ => 0,
    };
    let shapes: Vec<Shape> = shares
        .iter()
        .enumerate()
        .map(|(at, (side, _, share))| Shape::Bar { at: at as f64 + 1.0, height: share * 100.0, colour: colour(side) })
        .collect();
    let few = shares.len() <= 8;
    let label = |(side, core, _): &(&str, u32, f64)| if few { format!("{side} {core}") } else { core.to_string() };
    let marks = shares.iter().enumerate().map(|(at, share)| (at as f64 + 1.0, label(share))).collect();
    let name = if run.config.placement == Placement::Paired { "core, of both sides" } else { "core" };
    let x = Axis { name: name.to_owned(), low: 0.4, high: shares.len() as f64 + 0.6, marks };
    let percent = (0..=4).map(|quarter| f64::from(quarter * 25)).map(|mark| (mark, format!("{mark} %"))).collect();
    let y = Axis { name: "busy".to_owned(), low: 0.0, high: 116.0, marks: percent };
    let title = format!("Load of each core: {of}");
    let svg = svg(&title, Layout { height: 480, legend: None, ..WIDE }, &x, &y, &shapes)?;
    Some(Figure { title, caption: "Busy with anything, interrupts included, over the measured part.", svg })
}

/// The cost of each setting over the base's, with its interval.
fn ratios(sweep: &Sweep) -> Option<Figure> {
    let line = |setting: &Setting| {
        let (factor, value) = names(setting);
        let kind = if setting.real == Some(true) { intervals::Kind::Real } else { intervals::Kind::Unclear };
        Some(Line::of(format!("{factor} {value}"), setting.cpu.as_ref()?, kind))
    };
    let title = "Cost of each setting over the base's".to_owned();
    let lines = sweep.settings.iter().filter_map(line).collect();
    let svg = intervals::chart(&title, "CPU time per request over the base's", lines)?;
    Some(Figure { title, caption: INTERVALS, svg })
}

/// What servers and loaders cost over the base of their wire, a chart for each side and wire.
fn of_versus(versus: &Versus) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (side, contenders) in [("Server", &versus.servers), ("Loader", &versus.loaders)] {
        let bases = contenders.iter().filter(|one| one.base).take(MAX_CHART_CURVES);
        figures.extend(bases.filter_map(|base| over_base(side, base, contenders)));
    }
    figures
}

fn over_base(side: &str, base: &Contender, contenders: &[Contender]) -> Option<Figure> {
    let of_wire: Vec<&Contender> = contenders.iter().filter(|one| one.wire == base.wire).collect();
    let again = of_wire.iter().find(|one| one.again).and_then(|one| one.cpu);
    let line = |one: &&Contender| {
        if one.base {
            return Some(Line::base(format!("{} (base)", one.name)));
        }
        let cpu = one.cpu?;
        let real = !one.again && again.is_some_and(|again| is_real(&cpu, &again));
        let kind = if real { intervals::Kind::Real } else { intervals::Kind::Unclear };
        Some(Line::of(named(one), &cpu, kind))
    };
    let lines: Vec<Line> = of_wire.iter().filter_map(line).collect();
    if lines.len() < 2 {
        return None;
    }
    let title = format!("{side} CPU time per request over that of {}: {}", base.name, base.wire);
    let svg = intervals::chart(&title, &format!("CPU time per request over that of {}", base.name), lines)?;
    Some(Figure { title, caption: INTERVALS, svg })
}
