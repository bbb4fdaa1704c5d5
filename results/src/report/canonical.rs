//! The text of the canonical suite: one line per measurement.

use crate::canonical::{Canonical, CanonicalRun};
use crate::report::bench::doubt_text;
use crate::report::codec::built;
use crate::report::heading::heading;
use crate::report::number::{Unit, or_dash};
use crate::report::table::render;

/// The report, ending in a newline.
#[must_use]
pub fn text(canonical: &Canonical) -> String {
    let core = canonical.core.map_or("not pinned".to_owned(), |core| format!("core {core}"));
    let mut out = format!(
        "{}\n{core}; {}\n",
        heading("codec, canonical suite", &canonical.started_at, &canonical.host),
        built(&canonical.toolchain)
    );
    let rate = Unit::of_counts(canonical.runs.iter().map(CanonicalRun::per_s));
    let heading = [
        "case".to_owned(),
        "mode".to_owned(),
        "compression".to_owned(),
        "scratch".to_owned(),
        "iterations".to_owned(),
        "seconds".to_owned(),
        format!("iterations/s\n{}", rate.name).trim_end().to_owned(),
        "bytes\n/iteration".to_owned(),
        "allocations\n/iteration".to_owned(),
    ];
    let per = |run: &CanonicalRun, total: u64| (run.iterations > 0).then(|| total as f64 / run.iterations as f64);
    let row = |run: &CanonicalRun| {
        let mut cells: Vec<String> = [&run.case, &run.mode, &run.compression, &run.scratch].map(Clone::clone).into();
        cells.extend([
            run.iterations.to_string(),
            format!("{:.3}", run.elapsed_ns as f64 / 1e9),
            rate.show(run.per_s()),
            or_dash(per(run, run.message_bytes)),
            or_dash(per(run, run.allocations)),
        ]);
        cells
    };
    out.push_str(&render(&heading, &canonical.runs.iter().map(row).collect::<Vec<_>>(), 4));
    out.push_str(
        "every answer was checked: carsales' total, catrank's count of cats, eval against a direct evaluation\n",
    );
    for doubt in &canonical.validity {
        out.push_str(&doubt_text(doubt, ""));
        out.push('\n');
    }
    if canonical.interrupted {
        out.push_str("interrupted: measurements are missing\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_per_measurement() {
        let run = CanonicalRun {
            case: "eval".to_owned(),
            mode: "pipe".to_owned(),
            compression: "packed".to_owned(),
            scratch: "no-reuse".to_owned(),
            iterations: 2000,
            elapsed_ns: 500_000_000,
            message_bytes: 400_000,
            allocations: 3000,
        };
        let canonical = Canonical { runs: vec![run], ..Canonical::default() };
        let text = text(&canonical);
        let cells = |line: &str| line.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let line = text.lines().map(cells).find(|cells| cells.first().is_some_and(|case| case == "eval"));
        assert_eq!(
            line.expect("the measurement"),
            ["eval", "pipe", "packed", "no-reuse", "2000", "0.500", "4.00", "200", "1.50"]
        );
    }
}
