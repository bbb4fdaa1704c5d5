//! What became of an apply, a restore, and of journals.

use crate::journal::{Journal, StepState};
use crate::restore::Restored;
use crate::state::Status;

/// An apply: one line per setting, then the count.
#[must_use]
pub fn applied(journal: &Journal) -> String {
    let mut text = String::new();
    let mut done = 0;
    for entry in &journal.entries {
        let (word, why) = match &entry.state {
            StepState::Applied => {
                done += 1;
                ("applied", String::new())
            }
            StepState::Refused { why } => ("refused", format!(" ({why})")),
            StepState::Unsupported { why } => ("unsupported", format!(" ({why})")),
            StepState::Left { why } => ("left", format!(" ({why})")),
            StepState::Pending => ("pending", String::new()),
            StepState::Restored => ("restored", String::new()),
            StepState::Gone => ("gone", String::new()),
        };
        let before = entry.found.as_deref().unwrap_or(&entry.old);
        text.push_str(&format!("{word:<11} {}: {before} -> {}{why}\n", entry.what, entry.new));
    }
    text.push_str(&format!("{done} of {} settings applied, journal {}\n", journal.entries.len(), journal.id));
    text
}

/// Restores, the newest first.
#[must_use]
pub fn restored(all: &[Restored]) -> String {
    if all.is_empty() {
        return "nothing to restore\n".to_owned();
    }
    let mut text = String::new();
    for one in all {
        let id = &one.id;
        match one.state {
            crate::journal::JournalState::Rebooted => {
                text.push_str(&format!(
                    "journal {id}: the host was booted since, so its settings are gone; nothing was written\n"
                ));
            }
            _ => {
                let (back, already, gone) = (one.back, one.already, one.gone.len());
                text.push_str(&format!(
                    "journal {id}: {}; {back} settings put back, {already} were as before, {gone} do not exist any more\n",
                    one.state.name()
                ));
            }
        }
        for note in &one.left {
            text.push_str(&format!("  left {}: {}\n", note.what, note.why));
        }
    }
    text
}

/// Journals and what still holds of them.
#[must_use]
pub fn status(all: &[Status]) -> String {
    if all.is_empty() {
        return "no journals: nothing was tuned here\n".to_owned();
    }
    let mut text = String::new();
    for one in all {
        let nic = one.nic.as_deref().unwrap_or("no interface");
        text.push_str(&format!("{} {} {} ({nic}), {}", one.id, one.state.name(), one.profile, one.created_at));
        if one.elsewhere && one.state.is_open() {
            text.push_str(", in another network namespace");
        } else if one.state.is_open() {
            text.push_str(&format!(", {} settings hold, {} do not", one.hold, one.changed.len()));
        }
        text.push('\n');
        for note in &one.changed {
            text.push_str(&format!("  {}: {}\n", note.what, note.why));
        }
    }
    text
}
