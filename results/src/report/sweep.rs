//! The text of a sweep: one table of settings against the base, and one line per factor saying which value is best.

use std::fmt::Write as _;

use crate::cores::ranges;
use crate::ratio::PairedRatio;
use crate::report::bench::doubt_text;
use crate::report::heading::heading;
use crate::report::number::{Unit, significant};
use crate::report::table::render;
use crate::sweep::{Best, Point, Setting, Side, Sweep};

/// The report of a sweep, ending in a newline.
#[must_use]
pub fn text(sweep: &Sweep) -> String {
    let mut out = String::new();
    for line in lines_above(sweep) {
        push_line(&mut out, &line);
    }
    out.push_str(&table(sweep));
    let whose = whose(sweep.side);
    push_line(
        &mut out,
        &format!(
            "CPU: time of {whose} threads; busy: time of {whose} cores, interrupts included; medians; ratios to the base round by round, with their 95 % interval"
        ),
    );
    push_line(
        &mut out,
        "real: the interval excludes 1, and the ratio lies further from 1 than the base against itself (A/A) ever might",
    );
    for best in &sweep.best {
        push_line(&mut out, &best_line(sweep, best));
    }
    let points = sweep.settings.iter().flat_map(|setting| &setting.points);
    let failed = points.fold(0, |sum: u64, point| sum.saturating_add(point.failed));
    if failed > 0 {
        push_line(&mut out, &format!("failed requests: {failed}; the file says in which runs"));
    }
    for doubt in &sweep.validity {
        push_line(&mut out, &doubt_text(doubt, ""));
    }
    if sweep.interrupted {
        push_line(&mut out, "interrupted: runs are missing");
    }
    out
}

fn push_line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("writing to a String cannot fail");
}

const fn whose(side: Side) -> &'static str {
    match side {
        Side::Server => "the server's",
        Side::Loader => "the loader's",
        Side::Both => "both sides'",
    }
}

fn lines_above(sweep: &Sweep) -> [String; 3] {
    let seconds = |ns: u64| significant(ns as f64 / 1e9);
    [
        heading("sweep", &sweep.started_at, &sweep.environment),
        format!(
            "swept: {}; {} at {} connections, placement {}, server {} on cores {}, loader {} on cores {}",
            sweep.side.word(),
            sweep.wire,
            sweep.connections,
            sweep.placement.word(),
            sweep.server_engine,
            ranges(&sweep.server_cores),
            sweep.loader_engine,
            ranges(&sweep.loader_cores)
        ),
        format!(
            "{} interleaved rounds of {} s after {} s of warm-up, one factor changed at a time",
            sweep.rounds,
            seconds(sweep.duration_ns),
            seconds(sweep.warmup_ns)
        ),
    ]
}

fn table(sweep: &Sweep) -> String {
    let side = sweep.side;
    let rate = |point: &Point| point.ok_per_s;
    let cpu = move |point: &Point| point.cpu_ns(side).map(|ns| ns as f64);
    let busy = move |point: &Point| point.core_busy_ns(side).map(|ns| ns as f64);
    let unit = Unit::of_counts(sweep.settings.iter().map(|setting| setting.median(rate)));
    let rate_heading = format!("req/s\n{}", unit.name);
    let headings = [
        "factor",
        "value",
        "placement",
        rate_heading.trim_end(),
        "CPU\nus/req",
        "busy\nus/req",
        "CPU\nratio",
        "req/s\nratio",
        "real",
    ];
    let row = |setting: &Setting| {
        let (factor, value) = names(setting);
        vec![
            factor,
            value,
            sweep.placement.word().to_owned(),
            unit.show(setting.median(rate)),
            Unit::US.show(setting.median(cpu)),
            Unit::US.show(setting.median(busy)),
            interval(setting.cpu.as_ref()),
            interval(setting.rate.as_ref()),
            verdict(setting).to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = sweep.settings.iter().map(row).collect();
    render(&headings.map(str::to_owned), &rows, 3)
}

pub(crate) fn names(setting: &Setting) -> (String, String) {
    match &setting.change {
        Some(change) => (change.factor.clone(), change.value.clone()),
        None if setting.again => ("base again".to_owned(), "(A/A)".to_owned()),
        None => ("base".to_owned(), String::new()),
    }
}

/// Three decimals: the differences looked for are of some per cent.
pub(crate) fn interval(ratio: Option<&PairedRatio>) -> String {
    ratio.map_or_else(String::new, |ratio| format!("{:.3} ({:.3} to {:.3})", ratio.ratio, ratio.low, ratio.high))
}

pub(crate) fn verdict(setting: &Setting) -> &'static str {
    match (setting.real, setting.cpu) {
        (Some(true), Some(ratio)) if ratio.ratio < 1.0 => "cheaper",
        (Some(true), Some(_)) => "dearer",
        (Some(false), _) => "no",
        _ if setting.change.is_some() => "-",
        _ => "",
    }
}

pub(crate) fn best_line(sweep: &Sweep, best: &Best) -> String {
    let Some(ratio) = &best.cpu else {
        return format!("{}: keep {}: nothing tried is really cheaper", best.factor, best.base);
    };
    let is_best = |setting: &&Setting| {
        setting.change.as_ref().is_some_and(|change| (&change.factor, &change.value) == (&best.factor, &best.value))
    };
    let rate = sweep.settings.iter().find(is_best).and_then(|setting| setting.rate);
    let price = match rate {
        Some(rate) if rate.high < 1.0 => format!("; but it carries {:.3} of the base's req/s", rate.ratio),
        _ => String::new(),
    };
    format!("{}: best {}: {} of the CPU of {}{price}", best.factor, best.value, interval(Some(ratio)), best.base)
}
