//! Where the kernel shows its facts: `/proc` and `/sys`, or folders built by a test; and which cores they allow.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::core_list::{CoreList, CoreListError};

/// The roots of the kernel's two fact trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFiles {
    proc_root: PathBuf,
    sys_root: PathBuf,
}

/// A fact about the host that was needed and not there.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A file could not be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file does not say what it should.
    #[error("{path} does not have {wanted}")]
    Missing {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        wanted: &'static str,
    },
    /// A core list in a file is broken.
    #[error("{path}: {source}")]
    Cores {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: CoreListError,
    },
}

impl HostFiles {
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

    /// A path below `/proc`.
    #[must_use]
    pub fn proc_path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.proc_root.join(relative)
    }

    /// A path below `/sys`.
    #[must_use]
    pub fn sys_path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.sys_root.join(relative)
    }

    /// Load average over 1, 5 and 15 minutes; `None` where the kernel does not tell.
    #[must_use]
    pub fn load_average(&self) -> Option<[f64; 3]> {
        let text = read(&self.proc_path("loadavg")).ok()?;
        let fields = text.split_ascii_whitespace();
        let mut fields = fields.map_while(|field| field.parse().ok().filter(|load: &f64| load.is_finite()));
        Some([fields.next()?, fields.next()?, fields.next()?])
    }

    /// Cores that are online.
    ///
    /// # Errors
    /// [`HostError`] when the kernel's list is missing or broken.
    pub fn online_cores(&self) -> Result<CoreList, HostError> {
        let path = self.sys_path("devices/system/cpu/online");
        let text = read(&path)?;
        parse_cores(path, &text)
    }

    /// Cores that are online and that the calling thread may run on. Ask before pinning it.
    ///
    /// # Errors
    /// [`HostError`] when either list is missing or broken, or they have no core in common.
    pub fn usable_cores(&self) -> Result<CoreList, HostError> {
        // The kernel's mask names every possible CPU until it is narrowed, online or not.
        let online = self.online_cores()?;
        let path = self.proc_path("thread-self/status");
        let text = read(&path)?;
        let line = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let line = line.ok_or_else(|| HostError::Missing { path: path.clone(), wanted: "a line Cpus_allowed_list" })?;
        let allowed = parse_cores(path.clone(), line)?;
        let both = allowed.as_slice().iter().copied().filter(|core| online.as_slice().contains(core)).collect();
        CoreList::new(both).map_err(|source| HostError::Cores { path, source })
    }
}

/// Reads a small text file.
pub(crate) fn read(path: &Path) -> Result<String, HostError> {
    fs::read_to_string(path).map_err(|source| HostError::Unreadable { path: path.to_path_buf(), source })
}

fn parse_cores(path: PathBuf, text: &str) -> Result<CoreList, HostError> {
    text.parse().map_err(|source| HostError::Cores { path, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(allowed: &str, online: &str) -> (tempfile::TempDir, HostFiles) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let files = HostFiles::at(folder.path().join("proc"), folder.path().join("sys"));
        fs::create_dir_all(files.proc_path("thread-self")).expect("writable");
        fs::create_dir_all(files.sys_path("devices/system/cpu")).expect("writable");
        fs::write(files.proc_path("thread-self/status"), format!("Name:\tx\nCpus_allowed_list:\t{allowed}\n"))
            .expect("writable");
        fs::write(files.sys_path("devices/system/cpu/online"), format!("{online}\n")).expect("writable");
        (folder, files)
    }

    #[test]
    fn usable_is_allowed_and_online() {
        for (allowed, online, usable) in [("0-127", "0-1", "0-1"), ("2,5-6", "0-5", "2,5"), ("3", "0-7", "3")] {
            let (_folder, files) = tree(allowed, online);
            assert_eq!(files.usable_cores().expect("both lists are fine").to_string(), usable);
        }
        let (_folder, files) = tree("8", "0-7");
        assert!(matches!(files.usable_cores(), Err(HostError::Cores { .. })));
    }

    #[test]
    fn this_host_has_a_usable_core() {
        assert!(HostFiles::live().usable_cores().expect("a Linux host").len() >= 1);
    }

    #[test]
    fn a_missing_tree_is_named() {
        let error = HostFiles::at("/nonexistent", "/nonexistent").usable_cores().expect_err("nothing there");
        assert!(error.to_string().contains("/nonexistent/devices/system/cpu/online"), "{error}");
    }
}
