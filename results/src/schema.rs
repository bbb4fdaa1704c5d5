//! The JSON Schema of each kind of result file, made from the types that write it. Strict: every key that a file of this version has is required,
//! and no other is allowed.
//!
//! It describes what this build writes. Older files of the same major version lack what was added since; they are read all the same.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use crate::baseline::{self, Baseline};
use crate::bench::{self, Bench};
use crate::canonical::{self, Canonical};
use crate::codec::{self, Axis};
use crate::run::{self, Run};
use crate::sweep::{self, Sweep};
use crate::versus::{self, Versus};

/// A kind of result file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One load run.
    Run,
    /// Several runs made in one go.
    Bench,
    /// Settings of an engine against a base.
    Sweep,
    /// A comparison with others.
    Versus,
    /// What codecs cost in process.
    Codec,
    /// The canonical codec suite.
    Canonical,
    /// What a gate holds a build against.
    Baseline,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 7] =
        [Self::Run, Self::Bench, Self::Sweep, Self::Versus, Self::Codec, Self::Canonical, Self::Baseline];

    /// The value of the key `schema` in its files.
    #[must_use]
    pub const fn schema_name(self) -> &'static str {
        match self {
            Self::Run => run::SCHEMA.name,
            Self::Bench => bench::SCHEMA.name,
            Self::Sweep => sweep::SCHEMA.name,
            Self::Versus => versus::SCHEMA.name,
            Self::Codec => codec::SCHEMA.name,
            Self::Canonical => canonical::SCHEMA.name,
            Self::Baseline => baseline::SCHEMA.name,
        }
    }

    /// The word on the command line.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Bench => "bench",
            Self::Sweep => "sweep",
            Self::Versus => "versus",
            Self::Codec => "codec",
            Self::Canonical => "canonical",
            Self::Baseline => "baseline",
        }
    }

    /// The file in `results/schema` that the schema is kept in.
    #[must_use]
    pub fn file_name(self) -> String {
        format!("{}.schema.json", self.schema_name())
    }

    /// The schema.
    #[must_use]
    pub fn schema(self) -> Value {
        let schema = match self {
            Self::Run => of::<Run>(),
            Self::Bench => of::<Bench>(),
            Self::Sweep => of::<Sweep>(),
            Self::Versus => of::<Versus>(),
            Self::Codec => of::<Axis>(),
            Self::Canonical => of::<Canonical>(),
            Self::Baseline => of::<Baseline>(),
        };
        let mut value = schema.to_value();
        if let Some(root) = value.as_object_mut() {
            root.insert("title".to_owned(), self.schema_name().into());
        }
        value
    }

    /// The schema as it is kept, ending in a newline.
    #[must_use]
    pub fn text(self) -> String {
        let text = serde_json::to_string_pretty(&self.schema()).expect("a schema is plain JSON");
        format!("{text}\n")
    }
}

/// The schema of what is written, not of what is accepted: an old file may lack keys, a new one has them all.
fn of<T: JsonSchema>() -> Schema {
    let mut schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>();
    RecursiveTransform(close).transform(&mut schema);
    schema
}

/// Allows no keys but those of the type, leaves out what stands for a missing one, and makes a line of each description.
fn close(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    if object.contains_key("properties") {
        object.entry("additionalProperties").or_insert(false.into());
    }
    // A reader's business: what is written has every key.
    object.remove("default");
    if let Some(Value::String(text)) = object.get_mut("description") {
        *text = plain(text);
    }
}

/// Doc comments name other items in brackets, and are cut into lines.
fn plain(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut out = String::new();
    let mut rest = words.as_str();
    while let Some((before, after)) = rest.split_once("[`") {
        let Some((link, behind)) = after.split_once("`]") else { break };
        out.push_str(before);
        out.push_str(link.rsplit("::").next().unwrap_or(link));
        rest = behind;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_doc_comments_become_words() {
        assert_eq!(plain("See [`crate::a::B`]\n and [`C`], `d`."), "See B and C, `d`.");
        assert_eq!(plain("[`open"), "[`open");
    }

    /// Every object that has named keys allows no others, at any depth.
    #[test]
    fn every_object_is_closed_and_every_key_required() {
        fn walk(value: &Value, objects: &mut u32) {
            if let Some(properties) = value.get("properties").and_then(Value::as_object) {
                *objects += 1;
                assert_eq!(value["additionalProperties"], false, "{value}");
                let required = value["required"].as_array().map_or(0, Vec::len);
                assert_eq!(required, properties.len(), "{value}");
            }
            match value {
                Value::Object(fields) => fields.values().for_each(|value| walk(value, objects)),
                Value::Array(items) => items.iter().for_each(|value| walk(value, objects)),
                _ => {}
            }
        }
        for kind in Kind::ALL {
            let mut objects = 0;
            walk(&kind.schema(), &mut objects);
            assert!(objects > 5, "{}", kind.word());
        }
    }
}
