//! A host that is files in a temporary folder, for tests of what reads `/proc` and `/sys`.

use std::fs;
use std::path::Path;

use super::HostFiles;

/// Trees of both kinds, empty at first, gone with this.
pub(crate) struct BuiltTree {
    _folder: tempfile::TempDir,
    pub(crate) files: HostFiles,
}

impl BuiltTree {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let files = HostFiles::at(folder.path().join("proc"), folder.path().join("sys"));
        Self { _folder: folder, files }
    }

    /// Writes a file under `/proc`, with the folders above it.
    pub(crate) fn proc(&self, path: impl AsRef<Path>, text: &str) {
        put(&self.files.proc_path(path), text);
    }

    /// And one under `/sys`.
    #[allow(dead_code, reason = "not every test that includes this file reads /sys")]
    pub(crate) fn sys(&self, path: impl AsRef<Path>, text: &str) {
        put(&self.files.sys_path(path), text);
    }
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("inside the tree")).expect("writable");
    fs::write(path, text).expect("writable");
}
