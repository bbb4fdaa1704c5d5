//! In what state the host is, as far as journals tell: for the record of a run, and for `tune status`.

use serde::{Deserialize, Serialize};

use crate::facts::kernel::network_namespace;
use crate::host::Host;
use crate::journal::{Journal, JournalError, JournalState, Journals, StepState};
use crate::plan::{Note, Profile};
use crate::roots::{Roots, text};

/// The tuning state of a host, for the record of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TuneState {
    /// `untuned`, or the state of the newest open journal: `applied`, `applying` or `dirty`.
    pub state: String,
    /// That journal's id.
    pub journal: Option<String>,
    /// Its profile.
    pub profile: Option<Profile>,
}

/// The tuning state of this boot and network namespace. `None` when the journals cannot be read: then it is not known.
#[must_use]
pub fn state(roots: &Roots, journals: &Journals) -> Option<TuneState> {
    let all = journals.all().ok()?;
    let newest = all.iter().rev().find(|journal| concerns(roots, journal));
    Some(TuneState {
        state: newest.map_or("untuned", |journal| journal.state.name()).to_owned(),
        journal: newest.map(|journal| journal.id.clone()),
        profile: newest.map(|journal| journal.request.profile),
    })
}

/// Whether it is open, and of this boot and network namespace.
fn concerns(roots: &Roots, journal: &Journal) -> bool {
    let boot_id = text(&roots.proc("sys/kernel/random/boot_id"));
    journal.state.is_open()
        && journal.is_of_boot(boot_id.as_deref())
        && (journal.network_namespace.is_none() || journal.network_namespace == network_namespace(roots))
}

/// One journal, compared with the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Which.
    pub id: String,
    /// When it began.
    pub created_at: String,
    /// Its state; one that an earlier boot left open is `rebooted`.
    pub state: JournalState,
    /// Its profile.
    pub profile: Profile,
    /// Its interface.
    pub nic: Option<String>,
    /// Whether it is of another network namespace, where its settings cannot be seen from here.
    pub elsewhere: bool,
    /// Settings that still have the value they were given.
    pub hold: u32,
    /// Settings that somebody has changed since, or that are gone.
    pub changed: Vec<Note>,
}

/// Every journal, the oldest first.
///
/// # Errors
/// [`JournalError`].
pub fn status(host: &Host<'_>, journals: &Journals) -> Result<Vec<Status>, JournalError> {
    Ok(journals.all()?.iter().map(|journal| one(host, journal)).collect())
}

fn one(host: &Host<'_>, journal: &Journal) -> Status {
    let boot_id = text(&host.roots().proc("sys/kernel/random/boot_id"));
    let rebooted = journal.state.is_open() && !journal.is_of_boot(boot_id.as_deref());
    let elsewhere = journal.network_namespace.is_some() && journal.network_namespace != network_namespace(host.roots());
    let mut status = Status {
        id: journal.id.clone(),
        created_at: journal.created_at.clone(),
        state: if rebooted { JournalState::Rebooted } else { journal.state },
        profile: journal.request.profile,
        nic: journal.request.nic.clone(),
        elsewhere,
        hold: 0,
        changed: Vec::new(),
    };
    if !status.state.is_open() || elsewhere {
        return status;
    }
    for entry in journal.entries.iter().filter(|entry| matches!(entry.state, StepState::Applied | StepState::Pending)) {
        match host.read(&entry.setting) {
            Ok(now) if entry.setting.same(&now, &entry.new) => status.hold += 1,
            Ok(now) => {
                let why = format!("it was set to {:?} and is {now:?}", entry.new);
                status.changed.push(Note { what: entry.what.clone(), why });
            }
            Err(error) => status.changed.push(Note { what: entry.what.clone(), why: error.to_string() }),
        }
    }
    status
}
