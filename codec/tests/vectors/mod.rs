//! The golden vectors of this folder as bytes. `PROVENANCE.md` says where they come from.

use std::fs;
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

/// One vector by its name without `.hex`: a frame without its length prefix.
pub(crate) fn vector(name: &str) -> Vec<u8> {
    let path = folder().join(format!("{name}.hex"));
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    from_hex(text.trim())
}

/// The bytes that a hex text stands for.
pub(crate) fn from_hex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2), "half a byte: {text}");
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// The names of all vectors, sorted.
#[allow(dead_code, reason = "not each test file goes through all of them")]
pub(crate) fn names() -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            name.strip_suffix(".hex").map(str::to_owned)
        })
        .collect();
    names.sort();
    names
}
