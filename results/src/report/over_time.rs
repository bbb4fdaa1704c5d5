//! Charts of runs over time: requests per second above, latency below, over the same seconds.

use crate::limits::MAX_CHART_CURVES;
use crate::report::chart::{Axis, Layout, Panel, Shape, stacked};
use crate::report::charts::{Figure, WIDE, round_time, significant_or_zero};
use crate::report::number::Unit;
use crate::run::Run;
use crate::series::SeriesRow;

/// Points of a chart that have dots: with more, a line is all that can be seen.
const DOTTED: usize = 80;

/// Height of each of the two charts, with the line of names: both fit on the first sheet of paper, below what was found.
const HEIGHT: u32 = 360;

/// One run: what was answered and what failed, the median, the 99th percentile and the largest latency. `None` for a run of one row.
pub(crate) fn of_one(run: &Run) -> Option<Figure> {
    let rows = measured(run);
    let mut rates = vec![("answered right", 0, rate_points(&rows, SeriesRow::ok_per_s))];
    if rows.iter().any(|row| row.failed > 0) {
        rates.push(("failed", 1, rate_points(&rows, SeriesRow::failed_per_s)));
    }
    let latencies = [
        ("median", 2, time_points(&rows, |row| row.p50_ns)),
        ("p99", 0, time_points(&rows, |row| row.p99_ns)),
        ("largest", 3, time_points(&rows, |row| row.max_ns)),
    ];
    let title = "Requests per second and latency over time";
    let curves = |lines: &[(&str, usize, Points)]| -> Vec<Curve> {
        let curve = |(name, colour, points): &(&str, usize, Points)| Curve {
            name: (*name).to_owned(),
            colour: *colour,
            points: points.clone(),
        };
        lines.iter().map(curve).collect()
    };
    let svg = chart(title, seconds(&[run])?, curves(&rates), ("latency", curves(&latencies)))?;
    let caption = "Each point is one step of the measured part, a second in most runs, where requests ended. Without an answer there is no latency.";
    Some(Figure { title: title.to_owned(), caption, svg })
}

/// Several levels of one wire: the rate of each, and its 99th percentile.
pub(crate) fn of_levels(wire: &str, runs: &[(String, &Run)]) -> Option<Figure> {
    let runs = &runs[..runs.len().min(MAX_CHART_CURVES)];
    let of = |named: bool, points: &dyn Fn(&Run) -> Points| -> Vec<Curve> {
        let curve = |(colour, (name, run)): (usize, &(String, &Run))| Curve {
            name: if named { name.clone() } else { String::new() },
            colour,
            points: points(run),
        };
        runs.iter().enumerate().map(curve).collect()
    };
    let rates = of(true, &|run| rate_points(&measured(run), SeriesRow::ok_per_s));
    let latencies = of(false, &|run| time_points(&measured(run), |row| row.p99_ns));
    let title = format!("Requests per second and p99 over time: {wire}");
    let all: Vec<&Run> = runs.iter().map(|(_, run)| *run).collect();
    let svg = chart(&title, seconds(&all)?, rates, ("p99", latencies))?;
    let caption = "Each level from the beginning of its measured part. A level with too few answers in a second has no p99 there.";
    Some(Figure { title, caption, svg })
}

/// Where a curve goes; `None` is a gap.
type Points = Vec<(f64, Option<f64>)>;

struct Curve {
    name: String,
    colour: usize,
    points: Points,
}

fn measured(run: &Run) -> Vec<&SeriesRow> {
    run.series.iter().filter(|row| !row.drain).collect()
}

fn rate_points(rows: &[&SeriesRow], rate: impl Fn(&SeriesRow) -> Option<f64>) -> Points {
    rows.iter().map(|row| (row.middle_s(), rate(row).filter(|rate| *rate < 1e15))).collect()
}

/// On a logarithmic axis.
fn time_points(rows: &[&SeriesRow], time: impl Fn(&SeriesRow) -> Option<u64>) -> Points {
    rows.iter().map(|row| (row.middle_s(), time(row).map(|ns| (ns.max(1) as f64).log10()))).collect()
}

/// The horizontal axis; `None` where no run has two rows, or where the rows are not of this world.
fn seconds(runs: &[&Run]) -> Option<Axis> {
    let many = runs.iter().any(|run| measured(run).len() > 1);
    let end = |row: &SeriesRow| row.second as f64 + row.step_ns as f64 / 1e9;
    let end_s = runs.iter().flat_map(|run| measured(run)).map(end).fold(0.0, f64::max);
    let sane = many && (1e-3..1e9).contains(&end_s);
    let axis = Axis::from_zero("seconds since the measured part began", end_s, significant_or_zero);
    sane.then(|| Axis { high: end_s, marks: axis.marks.into_iter().filter(|(at, _)| *at <= end_s).collect(), ..axis })
}

fn chart(title: &str, x: Axis, rates: Vec<Curve>, (name, latencies): (&str, Vec<Curve>)) -> Option<String> {
    let values = |curves: &[Curve]| -> Vec<f64> {
        curves.iter().flat_map(|curve| curve.points.iter().filter_map(|(_, value)| *value)).collect()
    };
    let highest = values(&rates).into_iter().fold(0.0, f64::max);
    let unit = Unit::of_counts([Some(highest)]);
    let rate_name = if unit.name.is_empty() { "requests/s".to_owned() } else { format!("{} requests/s", unit.name) };
    let y = Axis::from_zero(rate_name, highest / unit.scale, significant_or_zero);
    let mut panels = vec![Panel { y, shapes: shapes(rates, unit.scale) }];
    let times = values(&latencies);
    let extremes = (times.iter().copied().reduce(f64::min), times.iter().copied().reduce(f64::max));
    if let (Some(low), Some(high)) = extremes {
        // Wide enough for a mark.
        let (low, high) = (10_f64.powf(low - 0.2), 10_f64.powf(high + 0.2));
        panels.push(Panel { y: Axis::logarithmic(name, low, high, round_time), shapes: shapes(latencies, 1.0) });
    }
    stacked(title, Layout { height: HEIGHT, legend: None, ..WIDE }, &x, &panels)
}

/// Each curve without its gaps: as many pieces as there are between them, of which the first bears the name.
fn shapes(curves: Vec<Curve>, scale: f64) -> Vec<Shape> {
    let mut shapes = Vec::new();
    for Curve { name, colour, points } in curves {
        let few = points.len() <= DOTTED;
        let mut name = name;
        for piece in points.split(|(_, value)| value.is_none()).filter(|piece| !piece.is_empty()) {
            let points: Vec<_> = piece.iter().filter_map(|(at, value)| Some((*at, (*value)? / scale))).collect();
            let dots = few || points.len() == 1;
            shapes.push(Shape::Curve { name: std::mem::take(&mut name), colour, points, dots });
        }
    }
    shapes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(second: u64, ok: u64, p99_ns: Option<u64>) -> SeriesRow {
        SeriesRow { second, step_ns: 1_000_000_000, ok, p99_ns, max_ns: p99_ns, ..SeriesRow::default() }
    }

    #[test]
    fn a_gap_breaks_the_curve_and_zero_does_not() {
        let rows = [row(0, 5, Some(10)), row(1, 0, None), row(2, 5, Some(1000))];
        let rows: Vec<&SeriesRow> = rows.iter().collect();
        let curve = |points| vec![Curve { name: "x".to_owned(), colour: 0, points }];
        let rates = shapes(curve(rate_points(&rows, SeriesRow::ok_per_s)), 1.0);
        assert!(matches!(&rates[..], [Shape::Curve { points, .. }] if points[1] == (1.5, 0.0)), "{rates:?}");
        let times = shapes(curve(time_points(&rows, |row| row.p99_ns)), 1.0);
        assert!(
            matches!(&times[..], [Shape::Curve { name, .. }, Shape::Curve { name: again, points, .. }]
                if name == "x" && again.is_empty() && points[..] == [(2.5, 3.0)]),
            "{times:?}"
        );
    }

    #[test]
    fn what_has_no_course_has_no_chart() {
        let run = |series| Run { series, ..Run::default() };
        assert_eq!(of_one(&run(vec![])), None);
        assert_eq!(of_one(&run(vec![row(0, 5, None)])), None);
        let drain = SeriesRow { drain: true, ..row(1, 5, None) };
        assert_eq!(of_one(&run(vec![row(0, 5, None), drain])), None);
        let silent = of_one(&run(vec![row(0, 0, None), row(1, 0, None)])).expect("a chart of nothing answered");
        assert!(silent.svg.contains("requests/s") && !silent.svg.contains("NaN"), "{}", silent.svg);
        let wild = SeriesRow { second: u64::MAX, step_ns: u64::MAX, ok: u64::MAX, ..SeriesRow::default() };
        assert_eq!(of_one(&run(vec![wild.clone(), wild])), None);
    }
}
