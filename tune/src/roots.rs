//! Where the kernel shows its facts and takes its settings: `/proc` and `/sys`, or trees in other places. Reads small texts, nothing else.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::limits::MAX_FACT_BYTES;

/// The roots of the kernel's two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    proc_root: PathBuf,
    sys_root: PathBuf,
}

impl Roots {
    /// This host.
    #[must_use]
    pub fn live() -> Self {
        Self::at("/proc", "/sys")
    }

    /// Trees in other places.
    #[must_use]
    pub fn at(proc_root: impl Into<PathBuf>, sys_root: impl Into<PathBuf>) -> Self {
        Self { proc_root: proc_root.into(), sys_root: sys_root.into() }
    }

    /// Whether this is the running kernel, which can be asked for what stands in no file.
    #[must_use]
    pub fn are_live(&self) -> bool {
        self == &Self::live()
    }

    /// A path below `/proc`.
    #[must_use]
    pub fn proc(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.proc_root.join(relative)
    }

    /// A path below `/sys`.
    #[must_use]
    pub fn sys(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.sys_root.join(relative)
    }
}

/// A file's text without blanks around it; `None` when it cannot be read, whatever the reason, and when it is no text.
pub(crate) fn text(path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(MAX_FACT_BYTES).read_to_string(&mut text).ok()?;
    Some(text.trim().to_owned())
}

/// A decimal number that stands alone in a file.
pub(crate) fn number<T: std::str::FromStr>(path: &Path) -> Option<T> {
    text(path)?.parse().ok()
}

/// Names in a folder, sorted; empty when it cannot be read.
pub(crate) fn names(path: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
    let mut names: Vec<String> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    names
}

/// The numbers `N` of the names `prefixN` in a folder, ascending.
pub(crate) fn numbered(path: &Path, prefix: &str) -> Vec<u32> {
    let number = |name: &String| name.strip_prefix(prefix)?.parse::<u32>().ok();
    let mut numbers: Vec<u32> = names(path).iter().filter_map(number).collect();
    numbers.sort_unstable();
    numbers
}
