//! Any result file: which kind it is, read by what it says itself.

use std::path::Path;

use crate::bench::{self, Bench};
use crate::canonical::{self, Canonical};
use crate::codec::{self, Axis};
use crate::reader::{self, ReadError, Schema};
use crate::run::{self, Run};
use crate::sweep::{self, Sweep};
use crate::versus::{self, Versus};

/// What a reader of any document calls for.
const KNOWN: &str = "zapring.run, zapring.bench, zapring.sweep, zapring.versus, zapring.codec or zapring.canonical";

/// One result file of any kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Document {
    /// One load run.
    Run(Box<Run>),
    /// Several runs made in one go.
    Bench(Box<Bench>),
    /// Settings of an engine against a base.
    Sweep(Box<Sweep>),
    /// What codecs cost in process.
    Codec(Box<Axis>),
    /// The canonical codec suite.
    Canonical(Box<Canonical>),
    /// A comparison with others.
    Versus(Box<Versus>),
}

impl From<Run> for Document {
    fn from(run: Run) -> Self {
        Self::Run(Box::new(run))
    }
}

impl From<Bench> for Document {
    fn from(bench: Bench) -> Self {
        Self::Bench(Box::new(bench))
    }
}

impl From<Versus> for Document {
    fn from(versus: Versus) -> Self {
        Self::Versus(Box::new(versus))
    }
}

impl From<Sweep> for Document {
    fn from(sweep: Sweep) -> Self {
        Self::Sweep(Box::new(sweep))
    }
}

impl Document {
    /// Reads a result file of any kind.
    ///
    /// # Errors
    /// [`ReadError`]: missing, truncated, broken, an unknown schema, or a newer major version.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        Self::parse(&reader::bytes(path)?, &path.display().to_string())
    }

    /// Parses a document from JSON text; `input` names it in errors.
    ///
    /// # Errors
    /// As [`Document::read`], without `Io`.
    pub fn parse(bytes: &[u8], input: &str) -> Result<Self, ReadError> {
        let schema = reader::schema_of(bytes, input)?;
        if schema == run::SCHEMA.name {
            reader::parse(bytes, run::SCHEMA, input).map(Run::into)
        } else if schema == bench::SCHEMA.name {
            reader::parse(bytes, bench::SCHEMA, input).map(Bench::into)
        } else if schema == sweep::SCHEMA.name {
            reader::parse(bytes, sweep::SCHEMA, input).map(Sweep::into)
        } else if schema == codec::SCHEMA.name {
            reader::parse(bytes, codec::SCHEMA, input).map(|axis| Self::Codec(Box::new(axis)))
        } else if schema == canonical::SCHEMA.name {
            reader::parse(bytes, canonical::SCHEMA, input).map(|suite| Self::Canonical(Box::new(suite)))
        } else if schema == versus::SCHEMA.name {
            reader::parse(bytes, versus::SCHEMA, input).map(Versus::into)
        } else {
            Err(ReadError::WrongSchema { input: input.to_owned(), found: schema, expected: KNOWN })
        }
    }

    /// A note when a newer version wrote the file, so that something in it was not understood; `input` names it.
    #[must_use]
    pub fn newer_minor(&self, input: &str) -> Option<String> {
        let (known, major, minor) = match self {
            Self::Run(run) => (run::SCHEMA, run.schema_major, run.schema_minor),
            Self::Bench(bench) => (bench::SCHEMA, bench.schema_major, bench.schema_minor),
            Self::Sweep(sweep) => (sweep::SCHEMA, sweep.schema_major, sweep.schema_minor),
            Self::Codec(axis) => (codec::SCHEMA, axis.schema_major, axis.schema_minor),
            Self::Canonical(suite) => (canonical::SCHEMA, suite.schema_major, suite.schema_minor),
            Self::Versus(versus) => (versus::SCHEMA, versus.schema_major, versus.schema_minor),
        };
        let Schema { name, major: known_major, minor: known_minor } = known;
        (major == known_major && minor > known_minor).then(|| {
            format!(
                "{input} is version {major}.{minor} of {name}; this build knows {known_major}.{known_minor} and shows no more than that"
            )
        })
    }
}
