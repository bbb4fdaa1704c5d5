//! What `zapring report` makes of stored files, byte for byte.

mod common;

use std::path::Path;

use results::Document;
use results::report::{self, Detail, NamedDocument};

fn named(file: &str) -> NamedDocument {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(file);
    NamedDocument { name: file.to_owned(), document: Document::read(&path).expect("a stored file") }
}

fn all() -> Vec<NamedDocument> {
    ["run-1.0.json", "open-loop-1.1.json", "bench-1.1.json", "sweep-1.0.json"].map(named).into()
}

#[test]
fn markdown() {
    insta::assert_snapshot!(report::markdown::text(&all()));
}

#[test]
fn csv() {
    let text = report::csv::text(&all());
    let columns = |line: &str| {
        let mut quoted = false;
        1 + line
            .chars()
            .filter(|char| {
                quoted ^= *char == '"';
                *char == ',' && !quoted
            })
            .count()
    };
    let counts: Vec<usize> = text.lines().map(columns).collect();
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
    insta::assert_snapshot!(text);
}

#[test]
fn hgrm() {
    let runs = named("run-1.0.json");
    let merged = report::hgrm::merged(runs.runs()).expect("its histogram decodes");
    insta::assert_snapshot!(report::hgrm::text(&merged));
}

#[test]
fn html() {
    insta::assert_snapshot!(report::html::text(&[named("bench-split-1.1.json")]));
}

/// Seconds without an answer, a last part of one, and levels over time.
#[test]
fn html_over_time() {
    let run = NamedDocument { name: "frozen.json".to_owned(), document: common::frozen_run().into() };
    let bench = NamedDocument { name: "bench.json".to_owned(), document: common::paired_bench().into() };
    let page = report::html::text(&[run, bench]);
    for title in ["Requests per second and latency over time", "Requests per second and p99 over time: zap"] {
        assert!(page.contains(title), "{title}");
    }
    insta::assert_snapshot!(page);
}

/// The list of published files.
#[test]
fn catalogue() {
    let mut bench = common::bench();
    bench.command.extend(["--levels".to_owned(), "1,64".to_owned()]);
    let documents = [
        NamedDocument { name: "runs/run.json".to_owned(), document: common::bad_run().into() },
        NamedDocument { name: "runs/bench.json".to_owned(), document: bench.into() },
        NamedDocument { name: "runs/sweep.json".to_owned(), document: common::sweep().into() },
    ];
    insta::assert_snapshot!(report::catalogue::list(&documents));
}

/// One file, nothing fetched, nothing run, and nothing of a peer's left as markup.
#[test]
fn a_page_needs_nothing_else_and_runs_nothing() {
    let page = report::html::text(&all());
    for word in ["<script", "<img", "<link", "@import", "url(", "src=\"", "href", "onerror=\"", "\u{1b}"] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    for chart in [
        "Requests per second by connections",
        "Latency by percentile: zap",
        "Load of each core",
        "Cost of each setting",
    ] {
        assert!(page.contains(chart), "{chart}");
    }
    assert!(!page.contains("NaN") && !page.contains(">inf"));
}

#[test]
fn text_of_several_files_names_them() {
    let text = report::text(&all(), Detail::Usual);
    for name in ["run-1.0.json:\n", "\nbench-1.1.json:\n", "\nsweep-1.0.json:\n"] {
        assert!(text.contains(name), "{text}");
    }
    assert!(!report::text(&[named("run-1.0.json")], Detail::Usual).contains("run-1.0.json"));
}

#[test]
fn only_one_level_is_kept_when_asked() {
    let mut bench = named("bench-1.1.json");
    assert!(bench.keep("zap/64"));
    assert_eq!(bench.rows().len(), 1);
    assert!(!bench.keep("http/64"));
}

/// Every prefix and every damaged byte of a file is an error or a document, and every report of that document is made.
#[test]
fn damaged_files_never_panic() {
    for file in ["run-1.0.json", "open-loop-1.1.json", "sweep-1.0.json"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(file);
        let bytes = std::fs::read(&path).expect("a stored file");
        for cut in (0..bytes.len()).step_by(131) {
            Document::parse(&bytes[..cut], file).expect_err("cut short");
        }
        for at in (0..bytes.len()).step_by(37) {
            let mut damaged = bytes.clone();
            damaged[at] = if damaged[at].is_ascii_digit() { b'9' } else { damaged[at] ^ 0x15 };
            let Ok(document) = Document::parse(&damaged, file) else { continue };
            every_report(document);
        }
    }
}

/// The largest numbers that a file can hold.
#[test]
fn extreme_figures_never_panic() {
    for file in ["run-1.0.json", "open-loop-1.1.json", "bench-1.1.json", "sweep-1.0.json"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(file);
        let mut value: serde_json::Value = serde_json::from_slice(&std::fs::read(path).expect("stored")).expect("JSON");
        for extreme in [serde_json::json!(u64::MAX), serde_json::json!(0), serde_json::json!(1)] {
            replace_numbers(&mut value, &extreme);
            let bytes = serde_json::to_vec(&value).expect("JSON");
            if let Ok(document) = Document::parse(&bytes, file) {
                every_report(document);
            }
        }
    }
}

/// Versions and 32-bit and smaller figures stay, so that the file is still read.
fn replace_numbers(value: &mut serde_json::Value, with: &serde_json::Value) {
    match value {
        serde_json::Value::Array(items) => items.iter_mut().for_each(|item| replace_numbers(item, with)),
        serde_json::Value::Object(fields) => {
            for (key, field) in fields {
                let small =
                    ["schema_major", "schema_minor", "connections", "threads", "cores", "core", "pipeline", "pid"];
                let small = small.contains(&key.as_str())
                    || ["cpus_online", "cpus_allowed", "round", "rounds", "server_cores", "loader_cores"]
                        .contains(&key.as_str());
                if !(small
                    && (field.is_number()
                        || field.as_array().is_some_and(|items| items.iter().all(serde_json::Value::is_number))))
                {
                    replace_numbers(field, with);
                }
            }
        }
        serde_json::Value::Number(_) => *value = with.clone(),
        _ => {}
    }
}

fn every_report(document: Document) {
    let documents = [NamedDocument { name: "damaged.json".to_owned(), document }];
    let _ = report::text(&documents, Detail::Full);
    let _ = report::markdown::text(&documents);
    let _ = report::csv::text(&documents);
    let _ = report::html::text(&documents);
    if let Ok(merged) = report::hgrm::merged(documents[0].runs()) {
        let _ = report::hgrm::text(&merged);
    }
}
