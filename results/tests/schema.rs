//! The schemas in `results/schema` are those of the types, every example file follows them, and they let nothing else pass.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use jsonschema::Validator;
use results::Document;
use results::schema::Kind;
use serde::Serialize;
use serde_json::{Value, json};

/// Objects whose keys are data.
const MAPS: [&str; 7] = ["status_codes", "error_samples", "options", "origins", "mitigations", "sysctls", "governors"];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn validator(kind: Kind) -> Validator {
    jsonschema::options().should_validate_formats(true).build(&kind.schema()).expect("a schema")
}

fn value(document: &impl Serialize) -> Value {
    serde_json::to_value(document).expect("plain data")
}

fn examples() -> Vec<(Kind, Value)> {
    vec![
        (Kind::Run, value(&common::good_run("zap", 8, 5000, 90_000))),
        (Kind::Run, value(&common::bad_run())),
        (Kind::Run, value(&common::floor_run())),
        (Kind::Bench, value(&common::bench())),
        (Kind::Bench, value(&common::paired_bench())),
        (Kind::Sweep, value(&common::sweep())),
    ]
}

fn assert_valid(kind: Kind, document: &Value, name: &str) {
    let errors: Vec<String> =
        validator(kind).iter_errors(document).map(|error| format!("{}: {error}", error.instance_path)).collect();
    assert!(errors.is_empty(), "{name} does not follow {}: {errors:#?}", kind.file_name());
}

#[test]
fn what_is_checked_in_is_what_the_types_give() {
    for kind in Kind::ALL {
        let path = folder("schema").join(kind.file_name());
        let stored = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            stored == kind.text(),
            "results/schema/{file} is not the schema of the types. If the types are right, write it anew and look at the difference:\n\
             cargo run -- schema {word} > results/schema/{file}",
            file = kind.file_name(),
            word = kind.word()
        );
    }
}

#[test]
fn examples_follow_their_schema() {
    for (kind, document) in examples() {
        assert_valid(kind, &document, "an example");
    }
}

/// Files of this version as they are; older ones once they are read and written again.
#[test]
fn stored_files_follow_their_schema() {
    let mut current = 0;
    for place in ["tests/fixtures", "runs"] {
        for entry in fs::read_dir(folder(place)).expect("a folder of files") {
            let path = entry.expect("readable").path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let name = path.display().to_string();
            let raw: Value = serde_json::from_slice(&fs::read(&path).expect("readable")).expect("JSON");
            let (kind, mut read) = match Document::read(&path).expect("a result file") {
                Document::Run(run) => (Kind::Run, value(&*run)),
                Document::Bench(bench) => (Kind::Bench, value(&*bench)),
                Document::Sweep(sweep) => (Kind::Sweep, value(&*sweep)),
                Document::Versus(versus) => (Kind::Versus, value(&*versus)),
                Document::Codec(axis) => (Kind::Codec, value(&*axis)),
                Document::Canonical(suite) => (Kind::Canonical, value(&*suite)),
            };
            if read["schema_minor"] == kind.schema()["properties"]["schema_minor"]["const"] {
                current += 1;
                assert_valid(kind, &raw, &name);
            }
            as_of_now(&mut read);
            assert_valid(kind, &read, &name);
        }
    }
    assert!(current > 0, "no stored file is of the current version");
}

/// Gives a file that was read the version that this build would write.
fn as_of_now(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let kind = Kind::ALL.into_iter().find(|kind| fields.get("schema") == Some(&kind.schema_name().into()));
            if let Some(kind) = kind {
                let version = kind.schema()["properties"]["schema_minor"]["const"].clone();
                fields.insert("schema_minor".to_owned(), version);
            }
            fields.values_mut().for_each(as_of_now);
        }
        Value::Array(items) => items.iter_mut().for_each(as_of_now),
        _ => {}
    }
}

/// One change at a time, at every place of the document.
fn changes(value: &Value, is_map: bool, put: &dyn Fn(Value) -> Value, out: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(fields) => {
            if !is_map {
                let mut more = fields.clone();
                more.insert("invented".to_owned(), json!(1));
                out.push(("an unknown key".to_owned(), put(Value::Object(more))));
            }
            for (key, field) in fields {
                let mut without = fields.clone();
                without.remove(key);
                if !is_map {
                    out.push((format!("no {key}"), put(Value::Object(without))));
                }
                let put = |changed: Value| {
                    let mut fields = fields.clone();
                    fields.insert(key.clone(), changed);
                    put(Value::Object(fields))
                };
                changes(field, MAPS.contains(&key.as_str()), &put, out);
            }
        }
        Value::Array(items) => {
            // The first stands for all.
            if let Some(first) = items.first() {
                let put = |changed: Value| {
                    let mut items = items.clone();
                    items[0] = changed;
                    put(Value::Array(items))
                };
                changes(first, false, &put, out);
            }
        }
        Value::Number(number) => {
            if number.is_u64() {
                out.push((format!("{number} negative"), put(json!(-1))));
            }
            out.push((format!("{number} as text"), put(json!("7"))));
        }
        Value::Bool(_) => out.push(("a text for a switch".to_owned(), put(json!("true")))),
        Value::String(_) => out.push(("a list for a text".to_owned(), put(json!([])))),
        Value::Null => {}
    }
}

#[test]
fn nothing_else_passes() {
    for (kind, document) in examples() {
        let validator = validator(kind);
        let mut changed = Vec::new();
        // The runs of a bench are runs, which are changed by themselves.
        let mut document = document;
        if let Some(rows) = document.get_mut("rows").and_then(Value::as_array_mut) {
            rows.truncate(1);
        }
        changes(&document, false, &|value| value, &mut changed);
        assert!(changed.len() > 100, "{}", kind.word());
        for (change, document) in changed {
            assert!(!validator.is_valid(&document), "{}: {change} was let pass", kind.word());
        }
    }
}

#[test]
fn a_date_is_a_date_and_a_word_one_of_the_list() {
    let validator = validator(Kind::Run);
    let mut run = value(&common::good_run("zap", 8, 5000, 90_000));
    for (key, wrong) in [
        ("started_at", json!("yesterday")),
        ("mode", json!("ajar")),
        ("schema", json!("zapring.bench")),
        ("schema_major", json!(2)),
        ("schema_minor", json!(99)),
    ] {
        let right = std::mem::replace(&mut run[key], wrong);
        assert!(!validator.is_valid(&run), "{key}");
        run[key] = right;
    }
    assert!(validator.is_valid(&run));
}
