//! The text of a gate: one table, what differs, and the outcome last.

use std::fmt::Write as _;

use crate::gate::{Check, Outcome, Report};
use crate::report::number::significant;
use crate::report::table::render;

/// The report of a gate over so many rounds on each side, ending in a newline.
#[must_use]
pub fn text(report: &Report, base_rounds: usize, new_rounds: usize) -> String {
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").expect("writing to a String cannot fail");
    line(format!("gate: {new_rounds} rounds against {base_rounds} of the baseline"));
    for difference in &report.differences {
        line(format!("differs: {difference}"));
    }
    let heading = ["check", "", "baseline", "now", "at most", "outcome"].map(str::to_owned);
    let rows: Vec<Vec<String>> = report.checks.iter().map(row).collect();
    line(render(&heading, &rows, 2).trim_end().to_owned());
    for note in &report.notes {
        line(note.clone());
    }
    line(
        "exchanges/req: CPU time of a request in units of a plain exchange over TCP, measured in the same round"
            .to_owned(),
    );
    line(match (report.differences.is_empty(), report.outcome()) {
        (false, _) => "outcome: not comparable; make a new baseline here with gate --init".to_owned(),
        (true, Outcome::Held) => "outcome: held".to_owned(),
        (true, outcome) => {
            let names: Vec<&str> = report
                .checks
                .iter()
                .filter(|check| check.outcome == outcome)
                .map(|check| check.name.as_str())
                .collect();
            format!("outcome: {}: {}", outcome.word(), names.join(", "))
        }
    });
    out
}

fn row(check: &Check) -> Vec<String> {
    vec![
        check.name.clone(),
        check.unit.to_owned(),
        significant(check.base),
        significant(check.new),
        significant(check.most),
        check.outcome.word().to_owned(),
    ]
}
