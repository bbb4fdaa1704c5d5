//! Where a result is written: opened before the run starts, filled in one step after it.
//!
//! A regular file appears whole or not at all: a temporary file in the same folder is written, flushed to disk and renamed. `-`, pipes
//! and devices are written directly.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use tempfile::NamedTempFile;

use crate::exit_code::ExitCode;

/// Why a result could not be written. Every variant means [`ExitCode::ResultNotWritten`].
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The output could not be opened; nothing was measured yet.
    #[error("cannot open {path} for writing: {source}")]
    Open {
        /// The output asked for.
        path: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The folder does not exist.
    #[error("cannot write {path}: the folder {folder} does not exist; create it first")]
    NoFolder {
        /// The output asked for.
        path: String,
        /// The missing folder.
        folder: String,
    },
    /// The output names a folder.
    #[error("cannot write {path}: it is a folder; give a file name")]
    IsFolder {
        /// The output asked for.
        path: String,
    },
    /// Writing failed after the run.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The output asked for.
        path: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The result cannot be put into JSON: a bug.
    #[error("cannot put the result for {path} into JSON: {source}")]
    Json {
        /// The output asked for.
        path: String,
        /// The reason.
        source: serde_json::Error,
    },
}

impl WriteError {
    /// Always [`ExitCode::ResultNotWritten`].
    #[must_use]
    pub const fn exit_code(&self) -> ExitCode {
        ExitCode::ResultNotWritten
    }
}

/// An opened output. Dropping it unwritten leaves nothing behind and an existing file as it was.
#[derive(Debug)]
pub struct Output {
    name: String,
    sink: Sink,
}

#[derive(Debug)]
enum Sink {
    Stdout,
    /// Pipes and devices, which must not be replaced by a file.
    Direct(File),
    File {
        temporary: NamedTempFile,
        target: PathBuf,
    },
}

impl Output {
    /// Opens `path` for one result; `-` means standard output.
    ///
    /// # Errors
    /// [`WriteError`] when a result could not be written there later: no such folder, no permission, a folder itself.
    pub fn open(path: &Path) -> Result<Self, WriteError> {
        let name = path.display().to_string();
        if path.as_os_str() == "-" {
            return Ok(Self { name, sink: Sink::Stdout });
        }
        match open_sink(path, &name) {
            Ok(sink) => Ok(Self { name, sink }),
            Err(error) => Err(error),
        }
    }

    /// Whether this is standard output, so that text has to go elsewhere.
    #[must_use]
    pub const fn is_stdout(&self) -> bool {
        matches!(self.sink, Sink::Stdout)
    }

    /// The output as the user named it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Writes `value` as indented JSON with a final newline, and makes the file appear.
    ///
    /// # Errors
    /// [`WriteError::Write`] or [`WriteError::Json`]; the target then holds what it held before.
    pub fn write<T: Serialize>(self, value: &T) -> Result<(), WriteError> {
        let mut bytes =
            serde_json::to_vec_pretty(value).map_err(|source| WriteError::Json { path: self.name.clone(), source })?;
        bytes.push(b'\n');
        let name = self.name.clone();
        self.put(&bytes).map_err(|source| WriteError::Write { path: name, source })
    }

    /// Writes a text as it is, and makes the file appear.
    ///
    /// # Errors
    /// [`WriteError::Write`]; the target then holds what it held before.
    pub fn write_text(self, text: &str) -> Result<(), WriteError> {
        let name = self.name.clone();
        self.put(text.as_bytes()).map_err(|source| WriteError::Write { path: name, source })
    }

    fn put(self, bytes: &[u8]) -> io::Result<()> {
        match self.sink {
            Sink::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(bytes)?;
                stdout.flush()
            }
            Sink::Direct(mut file) => file.write_all(bytes),
            Sink::File { mut temporary, target } => {
                temporary.write_all(bytes)?;
                temporary.as_file().sync_all()?;
                temporary.persist(&target).map_err(|error| error.error)?;
                File::open(folder_of(&target))?.sync_all()
            }
        }
    }
}

fn open_sink(path: &Path, name: &str) -> Result<Sink, WriteError> {
    let failed = |source| WriteError::Open { path: name.to_owned(), source };
    // A symbolic link keeps pointing where it points: its target is replaced.
    let target = if path.is_symlink() { fs::canonicalize(path).map_err(failed)? } else { path.to_path_buf() };
    let mut mode = 0o666;
    let mut modified_by_umask = true;
    match fs::metadata(&target) {
        Ok(existing) if existing.is_dir() => return Err(WriteError::IsFolder { path: name.to_owned() }),
        Ok(existing) if !existing.is_file() => {
            return OpenOptions::new().write(true).open(&target).map(Sink::Direct).map_err(failed);
        }
        Ok(existing) => {
            // A file the user may not write is not replaced behind a rename.
            OpenOptions::new().write(true).open(&target).map_err(failed)?;
            mode = existing.mode() & 0o777;
            modified_by_umask = false;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    let folder = folder_of(&target);
    if !folder.is_dir() {
        return Err(WriteError::NoFolder { path: name.to_owned(), folder: folder.display().to_string() });
    }
    let temporary = tempfile::Builder::new()
        .prefix(".zapring-")
        .suffix(".partial")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder)
        .map_err(failed)?;
    if !modified_by_umask {
        temporary.as_file().set_permissions(Permissions::from_mode(mode)).map_err(failed)?;
    }
    Ok(Sink::File { temporary, target })
}

fn folder_of(target: &Path) -> &Path {
    match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("the test's folder exists");
        entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_file_appears_whole_and_only_when_written() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("run.json");
        fs::write(&path, "old").expect("writable");
        drop(Output::open(&path).expect("opens"));
        assert_eq!(
            (names(folder.path()), fs::read_to_string(&path).expect("kept")),
            (vec!["run.json".into()], "old".into())
        );
        let output = Output::open(&path).expect("opens");
        assert_eq!(fs::read_to_string(&path).expect("untouched until written"), "old");
        output.write(&[1, 2]).expect("writes");
        assert_eq!(fs::read_to_string(&path).expect("replaced"), "[\n  1,\n  2\n]\n");
        assert_eq!(names(folder.path()), ["run.json"]);
    }

    #[test]
    fn mode_of_an_existing_file_is_kept() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("run.json");
        fs::write(&path, "").expect("writable");
        fs::set_permissions(&path, Permissions::from_mode(0o646)).expect("ours");
        Output::open(&path).expect("opens").write(&1).expect("writes");
        assert_eq!(fs::metadata(&path).expect("there").mode() & 0o777, 0o646);
    }

    #[test]
    fn what_cannot_be_written_fails_before_the_run() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let missing = Output::open(&folder.path().join("no/run.json")).expect_err("no such folder");
        assert!(matches!(missing, WriteError::NoFolder { .. }), "{missing}");
        let itself = Output::open(folder.path()).expect_err("a folder");
        assert!(matches!(itself, WriteError::IsFolder { .. }), "{itself}");
        assert_eq!(itself.exit_code().code(), 50);
    }

    #[test]
    fn devices_and_links_are_not_replaced() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (real, link) = (folder.path().join("real.json"), folder.path().join("link.json"));
        fs::write(&real, "").expect("writable");
        std::os::unix::fs::symlink(&real, &link).expect("links work here");
        Output::open(&link).expect("opens").write(&7).expect("writes");
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&real).expect("written through the link"), "7\n");
        let null = folder.path().join("null");
        std::os::unix::fs::symlink("/dev/null", &null).expect("links work here");
        Output::open(&null).expect("opens").write(&7).expect("writes");
        assert!(!fs::metadata("/dev/null").expect("still there").is_file());
    }
}
