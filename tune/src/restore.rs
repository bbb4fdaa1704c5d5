//! Putting back what journals say, newest first. A value that somebody else has changed since is theirs, unless forced.

use serde::{Deserialize, Serialize};

use crate::facts::kernel::network_namespace;
use crate::host::{Host, SettingError};
use crate::journal::{Entry, Journal, JournalError, JournalState, Journals, StepState};
use crate::plan::Note;
use crate::roots::text;
use crate::setting::Setting;

/// Why nothing was restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The journals.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// One is named that others were laid over.
    #[error("journal {newer} was applied after {id}: restore that one first, or all with `zapring tune restore`")]
    NotNewest {
        /// The one asked for.
        id: String,
        /// The newer one.
        newer: String,
    },
    /// It belongs elsewhere.
    #[error(
        "journal {id} was made in network namespace {made_in}, and this is {here}: run this there (nsenter -t PID -n -m), or restore \
         what belongs to the whole machine alone with --force"
    )]
    Namespace {
        /// The journal.
        id: String,
        /// Where it was made.
        made_in: String,
        /// Where this runs.
        here: String,
    },
}

/// What became of one journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    /// Which.
    pub id: String,
    /// Its state now.
    pub state: JournalState,
    /// Settings that were put back.
    pub back: u32,
    /// Settings that were as before already.
    pub already: u32,
    /// Settings that do not exist any more.
    pub gone: Vec<String>,
    /// Settings that are not as before, and why.
    pub left: Vec<Note>,
}

/// Restores a journal, or all that are open.
///
/// # Errors
/// [`RestoreError`]. A setting that is left alone is none: see [`Restored::left`].
pub fn restore(
    host: &Host<'_>,
    journals: &Journals,
    id: Option<&str>,
    force: bool,
) -> Result<Vec<Restored>, RestoreError> {
    let _lock = journals.lock()?;
    let all = journals.all()?;
    let mut chosen: Vec<Journal> = all.iter().filter(|journal| journal.state.is_open()).cloned().collect();
    if let Some(id) = id {
        let unknown = || JournalError::Unknown { id: id.to_owned(), path: journals.folder().to_owned() };
        let named = all.iter().find(|journal| journal.id == id).ok_or_else(unknown)?;
        let newer = chosen.iter().rfind(|open| {
            open.id.as_str() > id && open.entries.iter().any(|entry| named.entry(&entry.setting).is_some())
        });
        if let Some(newer) = newer {
            return Err(RestoreError::NotNewest { id: id.to_owned(), newer: newer.id.clone() });
        }
        chosen.retain(|journal| journal.id == id);
    }
    let (boot_id, here) = (text(&host.roots().proc("sys/kernel/random/boot_id")), network_namespace(host.roots()));
    let mut restored = Vec::new();
    for mut journal in chosen.into_iter().rev() {
        let elsewhere = journal.network_namespace.is_some() && journal.network_namespace != here;
        let booted = !journal.is_of_boot(boot_id.as_deref());
        if elsewhere && !booted && !force {
            let name = |namespace: Option<String>| namespace.unwrap_or_else(|| "another one".to_owned());
            return Err(RestoreError::Namespace {
                id: journal.id,
                made_in: name(journal.network_namespace),
                here: name(here),
            });
        }
        let report = if booted {
            journal.state = JournalState::Rebooted;
            report(&journal)
        } else {
            back(host, &mut journal, force, elsewhere)
        };
        journals.write(&journal)?;
        restored.push(report);
    }
    Ok(restored)
}

/// A report without a count yet.
fn report(journal: &Journal) -> Restored {
    Restored { id: journal.id.clone(), state: journal.state, back: 0, already: 0, gone: Vec::new(), left: Vec::new() }
}

/// Puts everything of one journal back, the last entry first. Whatever of it is of another namespace is gone from here.
fn back(host: &Host<'_>, journal: &mut Journal, force: bool, elsewhere: bool) -> Restored {
    let mut report = report(journal);
    let reset = journal.entries.iter().any(|entry| entry.setting.resets_link() && entry.state.is_open());
    for index in (0..journal.entries.len()).rev() {
        let entry = &journal.entries[index];
        if !entry.state.is_open() {
            continue;
        }
        let there = (!elsewhere || entry.setting.is_of_the_machine()) && same_nic(host, journal, &entry.setting);
        let ended = if there { back_one(host, entry, force) } else { Back::Gone };
        let entry = &mut journal.entries[index];
        entry.state = match ended {
            Back::Written => {
                report.back += 1;
                StepState::Restored
            }
            Back::Already => {
                report.already += 1;
                StepState::Restored
            }
            Back::Gone => {
                report.gone.push(entry.what.clone());
                StepState::Gone
            }
            Back::Left(why) => {
                report.left.push(Note { what: entry.what.clone(), why: why.clone() });
                StepState::Left { why }
            }
        };
    }
    if reset && !elsewhere {
        report.left.extend(saved_back(host, journal));
    }
    report.left.reverse();
    journal.state = if report.left.is_empty() { JournalState::Restored } else { JournalState::Dirty };
    report.state = journal.state;
    report
}

fn same_nic(host: &Host<'_>, journal: &Journal, setting: &Setting) -> bool {
    let Some(nic) = setting.nic() else { return true };
    journal.ifindexes.get(nic).is_none_or(|then| host.ifindex(nic) == Some(*then))
}

/// What a reset of the device may have lost, written again.
fn saved_back(host: &Host<'_>, journal: &Journal) -> Vec<Note> {
    let mut left = Vec::new();
    for saved in journal.saved.iter().filter(|saved| same_nic(host, journal, &saved.setting)) {
        let left_alone =
            journal.entry(&saved.setting).is_some_and(|entry| matches!(entry.state, StepState::Left { .. }));
        match host.read(&saved.setting) {
            Ok(now) if !left_alone && !saved.setting.same(&now, &saved.old) => {
                if let Err(error) = write_back(host, &saved.setting, &saved.old) {
                    left.push(Note { what: saved.setting.to_string(), why: error });
                }
            }
            // As it was, or not there any more.
            Ok(_) | Err(_) => {}
        }
    }
    left
}

/// What became of one setting.
pub(crate) enum Back {
    Written,
    Already,
    Gone,
    Left(String),
}

/// Writes one setting's old value, if it still has the value that it was given, or the other way round: a write that was cut off may
/// not have happened.
pub(crate) fn back_one(host: &Host<'_>, entry: &Entry, force: bool) -> Back {
    let now = match host.read(&entry.setting) {
        Ok(now) => now,
        Err(SettingError::Gone) => return Back::Gone,
        Err(error) => return Back::Left(error.to_string()),
    };
    let is = |value: &str| entry.setting.same(&now, value);
    if is(&entry.old) {
        return Back::Already;
    }
    let ours = is(&entry.new) || entry.found.as_deref().is_some_and(is);
    if !ours && !force {
        return Back::Left(format!(
            "it was set to {:?} and is {now:?} now: somebody changed it since; --force puts {:?} back",
            entry.new, entry.old
        ));
    }
    match write_back(host, &entry.setting, &entry.old) {
        Ok(()) => Back::Written,
        Err(why) => Back::Left(why),
    }
}

fn write_back(host: &Host<'_>, setting: &Setting, old: &str) -> Result<(), String> {
    host.write(setting, old).map_err(|error| error.to_string())?;
    match host.read(setting) {
        Ok(now) if setting.same(&now, old) => Ok(()),
        Ok(now) => Err(format!("{old:?} was written and it reads {now:?}")),
        Err(error) => Err(format!("{old:?} was written and cannot be read back: {error}")),
    }
}
