//! Journals: what was set to what, and what it was before, on disk before the first write. One file for each apply.
//!
//! A journal is written whole and renamed, and synced together with its folder. Nothing here touches a setting.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use results::reader::{self, ReadError, Schema};
use results::timestamp;
use serde::{Deserialize, Serialize};

use crate::limits::{MAX_JOURNAL_BYTES, MAX_JOURNALS};
use crate::plan::Request;
use crate::setting::Setting;

/// The journal's document.
pub const SCHEMA: Schema = Schema { name: "zapring.tune_journal", major: 1, minor: 0 };

/// Where journals lie unless told otherwise.
pub const FOLDER: &str = "/var/lib/zapring";

/// How far an apply came, and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JournalState {
    /// Under way, or cut off in the middle.
    Applying,
    /// Everything that had to be set is set.
    Applied,
    /// It failed, and everything is as it was.
    Undone,
    /// Put back.
    Restored,
    /// Undoing or restoring is not complete.
    Dirty,
    /// The host was booted since: everything it set is gone.
    Rebooted,
}

impl JournalState {
    /// Whether there is something to restore.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Applying | Self::Applied | Self::Dirty)
    }

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Applying => "applying",
            Self::Applied => "applied",
            Self::Undone => "undone",
            Self::Restored => "restored",
            Self::Dirty => "dirty",
            Self::Rebooted => "rebooted",
        }
    }
}

/// What became of one setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum StepState {
    /// Not known to be written.
    Pending,
    /// Written and read back.
    Applied,
    /// Not taken, and not needed.
    Refused {
        /// What was said, or what it read as instead.
        why: String,
    },
    /// Neither kernel nor driver has it, and it is not needed.
    Unsupported {
        /// What was said.
        why: String,
    },
    /// Back at its old value.
    Restored,
    /// Does not exist any more.
    Gone,
    /// Left as it is.
    Left {
        /// Why.
        why: String,
    },
}

impl StepState {
    /// Whether the setting may have another value than before.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        matches!(self, Self::Pending | Self::Applied | Self::Left { .. })
    }
}

/// One setting of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// As people name it.
    pub what: String,
    /// Which.
    pub setting: Setting,
    /// What it was before anybody tuned it: what a restore writes.
    pub old: String,
    /// What it was right before the write, where that is something else: an earlier apply had set it.
    pub found: Option<String>,
    /// What it was set to.
    pub new: String,
    /// Whether the rest stands without it.
    pub optional: bool,
    /// What became of it.
    #[serde(flatten)]
    pub state: StepState,
}

/// A setting that a reset of its device may lose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saved {
    /// Which.
    pub setting: Setting,
    /// Its value before.
    pub old: String,
}

/// One apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// Always `zapring.tune_journal`.
    pub schema: String,
    /// Fields were removed or changed.
    pub schema_major: u32,
    /// Fields were added.
    pub schema_minor: u32,
    /// Unique on this host; sorts by time.
    pub id: String,
    /// When it began, RFC 3339.
    pub created_at: String,
    /// The version of zapring that wrote it.
    pub zapring_version: String,
    /// The boot it belongs to.
    pub boot_id: Option<String>,
    /// The network namespace it belongs to.
    pub network_namespace: Option<String>,
    /// What was asked for.
    pub request: Request,
    /// How far it came.
    pub state: JournalState,
    /// Index of each interface that it touches: another one under the same name is left alone.
    pub ifindexes: BTreeMap<String, u32>,
    /// What was set, in order.
    pub entries: Vec<Entry>,
    /// What a reset of a device may lose, written again after the reset is taken back.
    pub saved: Vec<Saved>,
}

/// Why journals could not be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The folder could not be made or read.
    #[error("cannot use the journal folder {path}: {source}; name another one with --journal-dir")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A journal could not be written; nothing was changed that is not in an older state of it.
    #[error("cannot write the journal {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A journal is broken or of a newer version.
    #[error("{0}; it may hold values to be restored: mend it, or move it away if you know that it does not")]
    Read(#[from] ReadError),
    /// Another process is at it.
    #[error("another zapring tune is at work on {path}")]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// There is none with this id.
    #[error("there is no journal {id} in {path}")]
    Unknown {
        /// The id.
        id: String,
        /// The folder.
        path: PathBuf,
    },
}

/// A folder of journals.
#[derive(Debug, Clone)]
pub struct Journals {
    folder: PathBuf,
}

/// Held while journals are changed; lets go when dropped, and when its process dies.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Journals {
    /// The journals in a folder, which need not exist.
    #[must_use]
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Where they lie.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file of a journal.
    #[must_use]
    pub fn path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("tune-{id}.json"))
    }

    /// Makes the folder and keeps others out.
    ///
    /// # Errors
    /// [`JournalError::Folder`] and [`JournalError::Locked`].
    pub fn lock(&self) -> Result<Lock, JournalError> {
        let failed = |source| JournalError::Folder { path: self.folder.clone(), source };
        fs::create_dir_all(&self.folder).map_err(failed)?;
        let file =
            File::options().create(true).truncate(false).write(true).open(self.folder.join("lock")).map_err(failed)?;
        match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Lock { _file: file }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(JournalError::Locked { path: self.folder.clone() }),
            Err(errno) => Err(failed(errno.into())),
        }
    }

    /// All of them, the oldest first; none when there is no folder.
    ///
    /// # Errors
    /// [`JournalError::Folder`], and [`JournalError::Read`] for a broken one: it may hold what somebody needs.
    pub fn all(&self) -> Result<Vec<Journal>, JournalError> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|source| JournalError::Folder { path: self.folder.clone(), source })?,
        };
        let is_journal = |name: &String| name.starts_with("tune-") && name.ends_with(".json");
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).filter(is_journal).collect();
        names.sort_unstable();
        names.iter().map(|name| self.read(&self.folder.join(name))).collect()
    }

    fn read(&self, path: &Path) -> Result<Journal, JournalError> {
        let input = path.display().to_string();
        if fs::metadata(path).is_ok_and(|file| file.len() > MAX_JOURNAL_BYTES) {
            return Err(ReadError::TooLarge { input, limit_bytes: MAX_JOURNAL_BYTES }.into());
        }
        Ok(reader::read(path, SCHEMA)?)
    }

    /// An id that no journal here has.
    #[must_use]
    pub fn fresh_id(&self, unix_ns: u64) -> String {
        let id = timestamp::run_id(unix_ns, std::process::id());
        let mut candidates = std::iter::once(id.clone()).chain((2..).map(|again| format!("{id}-{again}")));
        candidates.find(|id| !self.path(id).exists()).expect("numbers do not end")
    }

    /// Writes a journal, whole or not at all, and waits until it is on disk.
    ///
    /// # Errors
    /// [`JournalError::Write`].
    pub fn write(&self, journal: &Journal) -> Result<(), JournalError> {
        let path = self.path(&journal.id);
        let failed = |source| JournalError::Write { path: path.clone(), source };
        let mut bytes = serde_json::to_vec_pretty(journal).map_err(|error| failed(error.into()))?;
        bytes.push(b'\n');
        let partial = self.folder.join(format!(".tune-{}.partial", journal.id));
        let mut file = File::create(&partial).map_err(failed)?;
        // Readable by everybody: a load run notes the id.
        file.set_permissions(Permissions::from_mode(0o644)).map_err(failed)?;
        file.write_all(&bytes).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        fs::rename(&partial, &path).map_err(failed)?;
        File::open(&self.folder).and_then(|folder| folder.sync_all()).map_err(failed)
    }

    /// Removes the oldest closed journals where there are too many. What cannot be removed stays.
    pub fn prune(&self) {
        let all = self.all().unwrap_or_default();
        let excess = all.len().saturating_sub(MAX_JOURNALS);
        for journal in all.iter().filter(|journal| !journal.state.is_open()).take(excess) {
            let _ = fs::remove_file(self.path(&journal.id));
        }
    }
}

impl Journal {
    /// Whether it was written since this boot; `true` where a host does not tell its boots apart.
    #[must_use]
    pub fn is_of_boot(&self, boot_id: Option<&str>) -> bool {
        match (self.boot_id.as_deref(), boot_id) {
            (Some(written), Some(now)) => written == now,
            _ => true,
        }
    }

    /// The entry of a setting.
    #[must_use]
    pub fn entry(&self, setting: &Setting) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.setting == *setting)
    }
}
