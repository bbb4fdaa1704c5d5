//! Reading result files: which schema, which version, and what exactly is broken.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::exit_code::ExitCode;
use crate::limits::MAX_FILE_BYTES;

/// Why a result file was not read. Every variant means [`ExitCode::ResultNotRead`].
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be opened or read.
    #[error("cannot read {input}: {source}")]
    Io {
        /// File name, or what stands for it.
        input: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Too large to be a result file.
    #[error("{input} is larger than {limit_bytes} bytes: it is no result file")]
    TooLarge {
        /// File name, or what stands for it.
        input: String,
        /// The bound.
        limit_bytes: u64,
    },
    /// The JSON ends too early.
    #[error("{input} is truncated: it ends at line {line}, column {column}, in the middle of the document")]
    Truncated {
        /// File name, or what stands for it.
        input: String,
        /// Line of the end.
        line: usize,
        /// Column of the end.
        column: usize,
    },
    /// Not JSON, or not the fields of this schema.
    #[error("{input} is broken: {source}")]
    Broken {
        /// File name, or what stands for it.
        input: String,
        /// Where and why.
        source: serde_json::Error,
    },
    /// Another kind of file.
    #[error("{input} has schema \"{found}\", expected \"{expected}\"")]
    WrongSchema {
        /// File name, or what stands for it.
        input: String,
        /// The schema it names.
        found: String,
        /// The schema wanted.
        expected: &'static str,
    },
    /// A major version this build does not know.
    #[error("{input} has major version {found} of {schema}; this build reads up to {known}: use a newer zapring")]
    NewerMajor {
        /// File name, or what stands for it.
        input: String,
        /// The schema.
        schema: &'static str,
        /// The version it names.
        found: u32,
        /// The newest version known here.
        known: u32,
    },
}

impl ReadError {
    /// Always [`ExitCode::ResultNotRead`].
    #[must_use]
    pub const fn exit_code(&self) -> ExitCode {
        ExitCode::ResultNotRead
    }
}

/// Names and versions one kind of result file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schema {
    /// The value of the key `schema`.
    pub name: &'static str,
    /// Newest major version known: an older reader must not read a newer major.
    pub major: u32,
    /// Newest minor version known: fields were only added.
    pub minor: u32,
}

/// The part of a document that tells whether the rest can be understood.
#[derive(Deserialize)]
struct Head {
    schema: String,
    schema_major: u32,
}

/// Parses one result document. `input` names it in errors.
///
/// # Errors
/// [`ReadError`], never `Io`.
pub fn parse<T: DeserializeOwned>(bytes: &[u8], schema: Schema, input: &str) -> Result<T, ReadError> {
    let named = |source: serde_json::Error| name_json_error(source, bytes, input);
    let head: Head = serde_json::from_slice(bytes).map_err(named)?;
    if head.schema != schema.name {
        return Err(ReadError::WrongSchema { input: input.to_owned(), found: head.schema, expected: schema.name });
    }
    if head.schema_major > schema.major {
        return Err(ReadError::NewerMajor {
            input: input.to_owned(),
            schema: schema.name,
            found: head.schema_major,
            known: schema.major,
        });
    }
    serde_json::from_slice(bytes).map_err(named)
}

/// The schema that a document names, whatever it is. `input` names the document in errors.
///
/// # Errors
/// [`ReadError`], never `Io`.
pub fn schema_of(bytes: &[u8], input: &str) -> Result<String, ReadError> {
    let head: Head = serde_json::from_slice(bytes).map_err(|source| name_json_error(source, bytes, input))?;
    Ok(head.schema)
}

fn name_json_error(source: serde_json::Error, bytes: &[u8], input: &str) -> ReadError {
    // A number cut behind its sign, point or exponent is called invalid, not cut.
    let cut_number = matches!(bytes.last(), Some(b'-' | b'+' | b'.' | b'e' | b'E'));
    if source.is_eof() || cut_number {
        ReadError::Truncated { input: input.to_owned(), line: source.line(), column: source.column() }
    } else {
        ReadError::Broken { input: input.to_owned(), source }
    }
}

/// Reads and parses one result file.
///
/// # Errors
/// [`ReadError`] with the path in it.
pub fn read<T: DeserializeOwned>(path: &Path, schema: Schema) -> Result<T, ReadError> {
    parse(&bytes(path)?, schema, &path.display().to_string())
}

/// The bytes of one result file, as many as such a file may have.
///
/// # Errors
/// [`ReadError::Io`] and [`ReadError::TooLarge`].
pub fn bytes(path: &Path) -> Result<Vec<u8>, ReadError> {
    let input = path.display().to_string();
    let io = |source| ReadError::Io { input: input.clone(), source };
    let mut bytes = Vec::new();
    File::open(path).map_err(io)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(ReadError::TooLarge { input, limit_bytes: MAX_FILE_BYTES });
    }
    Ok(bytes)
}
