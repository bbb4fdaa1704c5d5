//! The text of a comparison: one table per level, what differs, and the verdict last.

use std::fmt::Write as _;

use crate::compare::{Compared, Comparison, Level, Verdict};
use crate::limits::RESAMPLES;
use crate::report::escape::visible;
use crate::report::number::significant;
use crate::report::table::render;

/// The report of a comparison, ending in a newline.
#[must_use]
pub fn text(comparison: &Comparison) -> String {
    let mut out = String::new();
    for level in &comparison.levels {
        of_level(&mut out, level);
        out.push('\n');
    }
    let percent = significant(comparison.threshold * 100.0);
    line(
        &mut out,
        format_args!(
            "ratio: new over base, pair by pair where the runs were made in turns, with its 95 % interval from {RESAMPLES} resamples, seed fixed"
        ),
    );
    line(
        &mut out,
        format_args!(
            "same: the whole interval lies within {percent} % of 1; improved and regressed: it excludes 1 and the ratio is beyond {percent} %"
        ),
    );
    line(&mut out, format_args!("verdict: {}", comparison.verdict.word()));
    out
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("writing to a String cannot fail");
}

fn of_level(out: &mut String, level: &Level) {
    let (base, new) = level.runs;
    line(out, format_args!("{}: {}, {base} runs of base and {new} of new", visible(&level.name), level.verdict.word()));
    for difference in &level.differences {
        let words = |words: &[String]| {
            let quoted = |word: &String| if word.is_empty() { "nothing".to_owned() } else { visible(word) };
            let all = words.iter().map(quoted).collect::<Vec<_>>().join(" and ");
            if all.is_empty() { "no run".to_owned() } else { all }
        };
        line(
            out,
            format_args!(
                "  differs: {}: {} in base, {} in new",
                difference.key,
                words(&difference.base),
                words(&difference.new)
            ),
        );
    }
    if !level.figures.is_empty() {
        let heading = ["figure", "base", "new", "ratio", "95 % interval", "verdict"].map(str::to_owned);
        let comparable = level.verdict != Verdict::NotComparable;
        let rows: Vec<Vec<String>> = level.figures.iter().map(|figure| row(figure, comparable)).collect();
        out.push_str(&render(&heading, &rows, 1));
    }
    for note in &level.notes {
        line(out, format_args!("  note: {}", visible(note)));
    }
}

fn row(compared: &Compared, comparable: bool) -> Vec<String> {
    let interval = compared
        .interval
        .map_or_else(|| "-".to_owned(), |interval| format!("{} to {}", ratio(interval.low), ratio(interval.high)));
    vec![
        compared.figure.name().to_owned(),
        significant(compared.base),
        significant(compared.new),
        ratio(compared.ratio),
        interval,
        if comparable { compared.verdict.word() } else { "-" }.to_owned(),
    ]
}

/// Three decimals; `-` where the base is zero.
fn ratio(ratio: f64) -> String {
    if ratio.is_finite() { format!("{ratio:.3}") } else { "-".to_owned() }
}
