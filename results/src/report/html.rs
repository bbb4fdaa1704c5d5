//! One page that needs nothing else: no network, no script. For a laptop and for paper, light and dark.

use crate::config::Mode;
use crate::cores::ranges;
use crate::document::Document;
use crate::environment::{CoreType, Environment};
use crate::report::bench;
use crate::report::canonical;
use crate::report::chart::{COLOURS, GRID, INK, PAPER};
use crate::report::charts;
use crate::report::codec;
use crate::report::escape::html as escaped;
use crate::report::load::options;
use crate::report::number::significant;
use crate::report::page_table::table;
use crate::report::requests;
use crate::report::rows::NamedDocument;
use crate::report::{load, sweep, versus};
use crate::run::Run;
use crate::sweep::Sweep;
use crate::validity::Validity;
use crate::versus::Versus;

/// The style sheet. Charts have colours of their own on paper and in the light; [`dark_colours`] replaces them in the dark.
const STYLE: &str = include_str!("page.css");

/// The colours of [`COLOURS`] on a dark ground.
const DARK: [&str; 7] = ["#4ea8e6", "#ff8f4d", "#3fd0a4", "#e6a1c8", "#f5bf4f", "#8fd0f5", "#a0a6ad"];

/// The page, ending in a newline.
#[must_use]
pub fn text(documents: &[NamedDocument]) -> String {
    let sections: String = documents.iter().map(section).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>zapring report</title>\n<style>\n{STYLE}{}</style>\n</head>\n<body>\n<main>\n{sections}</main>\n</body>\n</html>\n",
        chart_colours()
    )
}

/// Rules that tell curves (the lines of width 4) apart without colour, and recolour charts in the dark.
fn chart_colours() -> String {
    let dashes = ["none", "22 10", "6 10", "30 10 6 10", "14 8", "2 8", "40 12"];
    let mut light = String::new();
    let mut dark = String::new();
    for ((colour, dash), night) in COLOURS.iter().zip(dashes).zip(DARK) {
        let day = hex(*colour);
        if dash != "none" {
            light.push_str(&format!("polyline[stroke=\"{day}\"][stroke-width=\"4\"]{{stroke-dasharray:{dash}}}\n"));
        }
        dark.push_str(&format!("[stroke=\"{day}\"]{{stroke:{night}}} [fill=\"{day}\"]{{fill:{night}}}\n"));
    }
    for (day, night) in [(INK, "#d6dde4"), (GRID, "#363d45"), (PAPER, "#1b2026")] {
        let day = hex(day);
        dark.push_str(&format!("[stroke=\"{day}\"]{{stroke:{night}}} [fill=\"{day}\"]{{fill:{night}}}\n"));
    }
    format!("{light}@media screen and (prefers-color-scheme:dark){{\n{dark}}}\n")
}

fn hex(colour: plotters::style::RGBColor) -> String {
    format!("#{:02X}{:02X}{:02X}", colour.0, colour.1, colour.2)
}

fn section(named: &NamedDocument) -> String {
    let (kind, started_at, environment) = match &named.document {
        Document::Run(run) => ("load", &run.started_at, &run.environment),
        Document::Bench(bench) => ("bench", &bench.started_at, &bench.environment),
        Document::Sweep(sweep) => ("sweep", &sweep.started_at, &sweep.environment),
        Document::Codec(axis) => ("codec", &axis.started_at, &axis.environment),
        Document::Canonical(suite) => ("codec, canonical suite", &suite.started_at, &suite.host),
        Document::Versus(versus) => ("versus", &versus.started_at, &versus.environment),
    };
    let mut out = format!(
        "<section>\n<header><h1>zapring {kind}</h1><p>{} · {}</p></header>\n",
        escaped(&named.name),
        escaped(started_at)
    );
    out.push_str(&card(&named.document, environment));
    for figure in charts::of(&named.document) {
        out.push_str(&format!(
            "<figure>\n<h2>{}</h2>\n{}<figcaption>{}</figcaption>\n</figure>\n",
            escaped(&figure.title),
            figure.svg,
            figure.caption
        ));
    }
    match &named.document {
        Document::Run(run) => {
            out.push_str(&request_tables(run));
            out.push_str(&as_printed(&load::text_beside_tables(run)));
        }
        Document::Bench(document) => out.push_str(&as_printed(&bench::text(document))),
        Document::Sweep(document) => out.push_str(&as_printed(&sweep::text(document))),
        Document::Codec(document) => out.push_str(&as_printed(&codec::text(document))),
        Document::Canonical(document) => out.push_str(&as_printed(&canonical::text(document))),
        Document::Versus(document) => out.push_str(&contender_tables(document)),
    }
    out.push_str("</section>\n");
    out
}

/// The text that the terminal shows.
fn as_printed(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(escaped).collect();
    format!("<h2>In figures</h2>\n<pre>{}</pre>\n", lines.join("\n"))
}

/// The tables of a comparison, which are too wide to be printed as text; and who was absent or failed.
fn contender_tables(document: &Versus) -> String {
    let mut out = String::new();
    for (title, of, note) in versus::tables(document) {
        let table = table(&of.heading, &of.rows, of.left);
        let note = escaped(note);
        out.push_str(&format!(
            "<div class=\"figures\">\n<h2>{}</h2>\n{table}<p class=\"below\">{note}</p>\n</div>\n",
            escaped(title)
        ));
    }
    out + &list_below(&versus::lines_below(document))
}

/// Sentences below a table.
fn list_below(sentences: &[String]) -> String {
    if sentences.is_empty() {
        return String::new();
    }
    let items: String = sentences.iter().map(|sentence| format!("<li>{}</li>\n", escaped(sentence))).collect();
    format!("<ul class=\"below\">\n{items}</ul>\n")
}

/// A table of the requests of a run that has several, one of their categories, and what was left out.
fn request_tables(run: &Run) -> String {
    let titled = [("By request", requests::requests(run)), ("By category of requests", requests::categories(run))];
    let mut out = String::new();
    for (title, columns) in titled {
        if let Some(columns) = columns {
            let of = table(&columns.heading, &columns.rows, columns.left);
            out.push_str(&format!("<div class=\"figures\">\n<h2>{title}</h2>\n{of}</div>\n"));
        }
    }
    out + &list_below(&requests::skipped(run))
}

/// What was found, on what, and whether to believe it.
fn card(document: &Document, environment: &Environment) -> String {
    let (verdicts, mut facts, doubts) = match document {
        Document::Run(run) => (run_verdicts(run), run_facts(run), run.validity.iter().collect()),
        Document::Bench(bench) => {
            let mut doubts: Vec<&Validity> = bench.validity.iter().collect();
            for doubt in bench.rows.iter().flat_map(|row| &row.run.validity) {
                if !doubts.iter().any(|said| (said.code, said.fatal) == (doubt.code, doubt.fatal)) {
                    doubts.push(doubt);
                }
            }
            let mut facts = bench.rows.first().map_or_else(Vec::new, |row| run_facts(&row.run));
            facts.retain(|(name, _)| !["target", "load", "loader cores", "placement"].contains(name));
            facts.insert(0, ("server cores", ranges(&bench.server_cores)));
            facts.insert(1, ("loader cores", ranges(&bench.loader_cores)));
            facts.insert(2, ("placement", bench.placement.word().to_owned()));
            (bench::limits(bench), facts, doubts)
        }
        Document::Sweep(sweep) => (
            sweep.best.iter().map(|best| sweep::best_line(sweep, best)).collect(),
            sweep_facts(sweep),
            sweep.validity.iter().collect(),
        ),
        Document::Versus(document) => {
            let [_, setting] = versus::lines_above(document);
            let mut verdicts = vec![setting];
            verdicts.extend(document.interrupted.then(|| "interrupted: runs are missing".to_owned()));
            (verdicts, Vec::new(), document.validity.iter().collect())
        }
        Document::Codec(axis) => {
            (codec::summary(axis), vec![("built by", codec::built(&axis.toolchain))], axis.validity.iter().collect())
        }
        Document::Canonical(suite) => {
            (Vec::new(), vec![("built by", codec::built(&suite.toolchain))], suite.validity.iter().collect())
        }
    };
    facts.extend(environment_facts(environment));
    let verdicts: String = verdicts.iter().map(|verdict| format!("<p>{}</p>\n", escaped(verdict))).collect();
    let facts: String =
        facts.iter().map(|(name, value)| format!("<div><dt>{name}</dt><dd>{}</dd></div>\n", escaped(value))).collect();
    format!(
        "<div class=\"card\">\n<div class=\"verdict\">\n{verdicts}</div>\n<dl>\n{facts}</dl>\n{}</div>\n",
        doubt_list(&doubts)
    )
}

fn doubt_list(doubts: &[&Validity]) -> String {
    if doubts.is_empty() {
        return String::new();
    }
    let item = |doubt: &&Validity| {
        let (class, word) = if doubt.fatal { ("fatal", "not trusted") } else { ("note", "note") };
        format!(
            "<li class=\"{class}\"><b>{word}</b> {}: {} <i>{}</i></li>\n",
            doubt.code.key(),
            escaped(&doubt.detail),
            escaped(&doubt.advice)
        )
    };
    format!("<ul>\n{}</ul>\n", doubts.iter().map(item).collect::<String>())
}

fn run_verdicts(run: &Run) -> Vec<String> {
    let rate = run.rates.ok_per_s.map_or_else(|| "-".to_owned(), significant);
    let (requests, failed) = (run.requests.planned, run.requests.failed());
    let mut verdicts = vec![format!("{rate} requests/s answered right; {failed} of {requests} failed")];
    verdicts.push(run.judged().line());
    verdicts.extend(run.interrupted.then(|| "interrupted: a partial result".to_owned()));
    verdicts
}

fn run_facts(run: &Run) -> Vec<(&'static str, String)> {
    let config = &run.config;
    let load = match run.mode {
        Mode::ClosedLoop => "closed loop: throughput test, latency not comparable".to_owned(),
        Mode::OpenLoop => format!("open loop: {} requests/s asked", config.rate_per_s.unwrap_or(0)),
    };
    let target = format!("{} {}", config.method, config.url);
    let options = options(&config.engine);
    let mut engine = vec![config.engine.name.clone(), config.engine.flags.join(" "), options];
    engine.retain(|part| !part.is_empty());
    vec![
        ("target", target.trim().to_owned()),
        (
            "load",
            format!(
                "{load}; {} connections, {} threads, pipeline {}",
                config.connections, config.threads, config.pipeline
            ),
        ),
        ("loader cores", if config.cores.is_empty() { "not pinned".to_owned() } else { ranges(&config.cores) }),
        ("placement", config.placement.word().to_owned()),
        ("loader engine", engine.join(", ")),
    ]
}

fn sweep_facts(sweep: &Sweep) -> Vec<(&'static str, String)> {
    vec![
        ("swept", sweep.side.word().to_owned()),
        ("load", format!("{} at {} connections, {} rounds", sweep.wire, sweep.connections, sweep.rounds)),
        ("server", format!("{} on cores {}", sweep.server_engine, ranges(&sweep.server_cores))),
        ("loader", format!("{} on cores {}", sweep.loader_engine, ranges(&sweep.loader_cores))),
        ("placement", sweep.placement.word().to_owned()),
    ]
}

fn environment_facts(environment: &Environment) -> Vec<(&'static str, String)> {
    let unknown = || "unknown".to_owned();
    let text = |text: &Option<String>| text.clone().unwrap_or_else(unknown);
    let gib = |bytes: u64| format!("{} GiB", significant(bytes as f64 / f64::from(1 << 30)));
    let mut facts = vec![
        ("kernel", format!("Linux {} {}", text(&environment.kernel_release), environment.architecture)),
        ("CPU", text(&environment.cpu_model)),
        ("CPUs", format!("{} online, {} allowed", ranges(&environment.cpus_online), ranges(&environment.cpus_allowed))),
        ("memory", environment.memory_bytes.map_or_else(unknown, gib)),
        ("governor", text(&environment.governor)),
        ("SMT", environment.smt_active.map_or_else(unknown, |on| if on { "on" } else { "off" }.to_owned())),
        ("load average", environment.load_average.map_or_else(unknown, |load| load.map(significant).join(" "))),
        ("zapring", version(environment)),
    ];
    facts.extend(known_facts(environment));
    facts
}

fn version(environment: &Environment) -> String {
    match &environment.zapring_commit {
        Some(commit) => format!("{} at {commit}", environment.zapring_version),
        None => environment.zapring_version.clone(),
    }
}

/// Facts that not every host has, and no file of before version 1.2.
fn known_facts(environment: &Environment) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if environment.core_types.len() > 1 {
        let of = |of: &CoreType| format!("{}: {}", of.model.as_deref().unwrap_or("unknown"), ranges(&of.cpus));
        facts.push(("core types", environment.core_types.iter().map(of).collect::<Vec<_>>().join("; ")));
    }
    if let Some(clock) = &environment.clock_source {
        facts.push(("clock", clock.clone()));
    }
    let (open, all) = (vulnerable(environment), environment.mitigations.len());
    if all > 0 {
        let open = if open.is_empty() { String::new() } else { format!("; vulnerable: {}", open.join(", ")) };
        let mitigated = environment.mitigations.values().filter(|state| state.starts_with("Mitigation")).count();
        facts.push(("mitigations", format!("{mitigated} of {all} flaws{open}")));
    }
    if let Some(nic) = &environment.nic {
        let mut parts = vec![nic.name.clone()];
        parts.extend(nic.driver.clone());
        parts.extend(nic.speed_bits_per_s.map(|speed| format!("{} Gbit/s", significant(speed as f64 / 1e9))));
        parts.extend(nic.mtu_bytes.map(|mtu| format!("MTU {mtu}")));
        parts.push(format!("{} receive and {} send queues", nic.receive_queues, nic.send_queues));
        facts.push(("NIC", parts.join(", ")));
    }
    facts
}

fn vulnerable(environment: &Environment) -> Vec<&str> {
    environment
        .mitigations
        .iter()
        .filter(|(_, state)| state.starts_with("Vulnerable"))
        .map(|(name, _)| name.as_str())
        .collect()
}
