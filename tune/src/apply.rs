//! Applying a plan: journal first, then write, read back, and undo everything at the first mismatch.
//!
//! What resets a device is set first and by itself; then the host is read again, because queues and interrupts may have come and gone,
//! and the rest is planned from what there is. Each part is in the journal, on disk, before its first write.

use std::sync::atomic::{AtomicBool, Ordering};

use results::timestamp;

use crate::facts::{Facts, Interrupts};
use crate::host::{Host, SettingError};
use crate::journal::{Entry, Journal, JournalError, JournalState, Journals, SCHEMA, Saved, StepState};
use crate::plan::{Note, Plan, Request, Step};
use crate::restore::{Back, back_one};
use crate::rules::{RuleError, plan, plan_rest};
use crate::setting::Setting;

/// Why nothing is applied any more.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The request.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// The journals.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// An earlier apply or restore was cut off.
    #[error("journal {id} is {}: run `zapring tune restore` first", state.name())]
    Open {
        /// The journal.
        id: String,
        /// What it is.
        state: JournalState,
    },
    /// A setting was not taken, and everything was undone; or not everything could be.
    #[error("{what}: {why}; {}", undone(left, path))]
    Failed {
        /// The setting.
        what: String,
        /// Why.
        why: String,
        /// What is not as before, and why.
        left: Vec<Note>,
        /// The journal.
        path: std::path::PathBuf,
    },
    /// The user stopped it.
    #[error("stopped; {}", undone(left, path))]
    Stopped {
        /// What is not as before, and why.
        left: Vec<Note>,
        /// The journal.
        path: std::path::PathBuf,
    },
}

fn undone(left: &[Note], path: &std::path::Path) -> String {
    if left.is_empty() {
        return "everything was undone".to_owned();
    }
    let left: Vec<String> = left.iter().map(|note| format!("{}: {}", note.what, note.why)).collect();
    format!("not undone: {}; the journal {} is kept", left.join("; "), path.display())
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The journal, unless there was nothing to do.
    pub journal: Option<Journal>,
    /// The plan; of a device that was reset, that of what was left then.
    pub plan: Plan,
}

/// Who applies, and when.
#[derive(Debug, Clone, Copy)]
pub struct Stamp<'a> {
    /// The version of zapring.
    pub version: &'a str,
    /// Now, in nanoseconds since 1970.
    pub unix_ns: u64,
}

/// Plans for what is wanted and does it.
///
/// # Errors
/// [`ApplyError`]; unless it says otherwise, everything is as it was.
pub fn apply(
    host: &Host<'_>,
    journals: &Journals,
    request: &Request,
    stamp: Stamp<'_>,
    stop: &AtomicBool,
) -> Result<Applied, ApplyError> {
    let mut facts = host.facts();
    let mut planned = plan(&facts, request)?;
    let _lock = journals.lock()?;
    let open = open_journals(journals, &facts)?;
    if planned.steps.is_empty() {
        return Ok(Applied { journal: None, plan: planned });
    }
    let mut work = Work { host, journals, open, stop, journal: fresh(journals, &facts, request, stamp) };
    let resets = planned.resets();
    if !resets.is_empty() {
        work.journal.saved = saved(&facts, &resets);
        work.part(&resets, &facts)?;
        facts = host.facts();
        planned = match plan_rest(&facts, request) {
            Ok(rest) => {
                let said = |note: &Note| rest.unsupported.iter().any(|known| known.what == note.what);
                let more: Vec<Note> = planned.unsupported.iter().filter(|note| !said(note)).cloned().collect();
                Plan { unsupported: [rest.unsupported.clone(), more].concat(), ..rest }
            }
            Err(error) => return Err(work.fail("planning after the device was reset", error.to_string())),
        };
    }
    let rest = planned.rest();
    work.part(&rest, &facts)?;
    // Where every step was optional and refused, there is nothing to restore.
    let any = work.journal.entries.iter().any(|entry| entry.state == StepState::Applied);
    work.journal.state = if any { JournalState::Applied } else { JournalState::Restored };
    journals.write(&work.journal)?;
    journals.prune();
    Ok(Applied { journal: Some(work.journal), plan: planned })
}

/// Journals with something to restore, of this boot and network namespace.
fn open_journals(journals: &Journals, facts: &Facts) -> Result<Vec<Journal>, ApplyError> {
    let ours = |journal: &Journal| {
        journal.state.is_open()
            && journal.is_of_boot(facts.kernel.boot_id.as_deref())
            && journal.network_namespace == facts.kernel.network_namespace
    };
    let open: Vec<Journal> = journals.all()?.into_iter().filter(ours).collect();
    match open.iter().find(|journal| journal.state != JournalState::Applied) {
        Some(journal) => Err(ApplyError::Open { id: journal.id.clone(), state: journal.state }),
        None => Ok(open),
    }
}

fn fresh(journals: &Journals, facts: &Facts, request: &Request, stamp: Stamp<'_>) -> Journal {
    Journal {
        schema: SCHEMA.name.to_owned(),
        schema_major: SCHEMA.major,
        schema_minor: SCHEMA.minor,
        id: journals.fresh_id(stamp.unix_ns),
        created_at: timestamp::rfc3339(stamp.unix_ns),
        zapring_version: stamp.version.to_owned(),
        boot_id: facts.kernel.boot_id.clone(),
        network_namespace: facts.kernel.network_namespace.clone(),
        request: request.clone(),
        state: JournalState::Applying,
        ifindexes: facts.nics.iter().filter_map(|nic| Some((nic.name.clone(), nic.ifindex?))).collect(),
        entries: Vec::new(),
        saved: Vec::new(),
    }
}

/// Steering and interrupts of the devices that are about to be reset.
fn saved(facts: &Facts, resets: &[Step]) -> Vec<Saved> {
    let mut saved = Vec::new();
    let of_reset = |nic: &&crate::facts::Nic| resets.iter().any(|step| step.setting.nic() == Some(nic.name.as_str()));
    for nic in facts.nics.iter().filter(of_reset) {
        let name = || nic.name.clone();
        let rx = (0..nic.rx_queues.len() as u32)
            .flat_map(|queue| [Setting::Rps { nic: name(), queue }, Setting::RpsFlows { nic: name(), queue }]);
        let tx = (0..nic.tx_queues.len() as u32).map(|queue| Setting::Xps { nic: name(), queue });
        let irqs = nic.interrupts.iter().map(|interrupt| Setting::Interrupt {
            nic: name(),
            irq: interrupt.number,
            action: interrupt.action.clone(),
        });
        let there = |setting: Setting| facts.value(&setting).map(|old| Saved { setting, old });
        saved.extend(rx.chain(tx).chain(irqs).filter_map(there));
    }
    saved
}

fn not_taken(error: SettingError) -> StepState {
    match error {
        SettingError::Refused(why) => StepState::Refused { why },
        SettingError::Unsupported(why) => StepState::Unsupported { why },
        error => StepState::Unsupported { why: error.to_string() },
    }
}

/// One apply under way.
struct Work<'a> {
    host: &'a Host<'a>,
    journals: &'a Journals,
    open: Vec<Journal>,
    stop: &'a AtomicBool,
    journal: Journal,
}

impl Work<'_> {
    /// Notes these steps, then does them.
    fn part(&mut self, steps: &[Step], facts: &Facts) -> Result<(), ApplyError> {
        let first = self.journal.entries.len();
        for step in steps {
            let entry = self.entry(step);
            self.journal.entries.push(entry);
        }
        for nic in &facts.nics {
            if let Some(ifindex) = nic.ifindex {
                self.journal.ifindexes.insert(nic.name.clone(), ifindex);
            }
        }
        if let Err(error) = self.journals.write(&self.journal) {
            // Nothing of this part was written; the part before it is undone.
            self.journal.entries.truncate(first);
            let why = error.to_string();
            return if first == 0 { Err(error.into()) } else { Err(self.fail("the journal", why)) };
        }
        for index in first..self.journal.entries.len() {
            if self.stop.load(Ordering::Relaxed) {
                let left = self.undo();
                return Err(ApplyError::Stopped { left, path: self.journals.path(&self.journal.id) });
            }
            self.step(index)?;
        }
        Ok(())
    }

    /// What a restore of this step has to write: the value before the first of all open journals, not what one of them set.
    fn entry(&self, step: &Step) -> Entry {
        let first = self.open.iter().find_map(|journal| {
            journal.entry(&step.setting).filter(|entry| entry.state.is_open()).map(|entry| entry.old.clone())
        });
        let saved =
            self.journal.saved.iter().find(|saved| saved.setting == step.setting).map(|saved| saved.old.clone());
        let old = first.or(saved).unwrap_or_else(|| step.from.clone());
        let found = (!step.setting.same(&old, &step.from)).then(|| step.from.clone());
        Entry {
            what: step.what.clone(),
            setting: step.setting.clone(),
            old,
            found,
            new: step.to.clone(),
            optional: step.optional,
            state: StepState::Pending,
        }
    }

    /// Writes one setting and reads it back.
    fn step(&mut self, index: usize) -> Result<(), ApplyError> {
        let entry = &self.journal.entries[index];
        let (what, optional) = (entry.what.clone(), entry.optional);
        let before = entry.found.clone().unwrap_or_else(|| entry.old.clone());
        let (setting, new) = (entry.setting.clone(), entry.new.clone());
        match self.host.read(&setting) {
            Ok(now) if !setting.same(&now, &before) => {
                let why = format!("it was {before:?} when this began and is {now:?} now: somebody else is changing it");
                return self.not_written(index, &what, SettingError::Refused(why));
            }
            Ok(_) => {}
            Err(error) => return self.not_written(index, &what, error),
        }
        let written = self.host.write(&setting, &new);
        let refused = match written.and_then(|()| self.host.read(&setting)) {
            Ok(now) if setting.same(&now, &new) => {
                self.journal.entries[index].state = StepState::Applied;
                return Ok(());
            }
            Ok(now) => SettingError::Refused(format!("{new:?} was written and it reads {now:?}")),
            Err(error) => error,
        };
        if !optional || matches!(refused, SettingError::Link { .. }) {
            return Err(self.half_done(index, &what, &refused));
        }
        // What was taken in part is put back.
        if let Ok(now) = self.host.read(&setting)
            && !setting.same(&now, &before)
            && self.host.write(&setting, &before).is_err()
        {
            return Err(self.half_done(index, &what, &refused));
        }
        self.journal.entries[index].state = not_taken(refused);
        Ok(())
    }

    /// A setting that was not even tried: the rest stands without it, or everything before it is undone.
    fn not_written(&mut self, index: usize, what: &str, error: SettingError) -> Result<(), ApplyError> {
        if self.journal.entries[index].optional {
            self.journal.entries[index].state = not_taken(error);
            return Ok(());
        }
        self.journal.entries.truncate(index);
        Err(self.fail(what, error.to_string()))
    }

    /// A setting that was written and is not what it should be: whatever it reads now came of that write, and is undone too.
    fn half_done(&mut self, index: usize, what: &str, error: &SettingError) -> ApplyError {
        self.journal.entries.truncate(index + 1);
        if let Ok(now) = self.host.read(&self.journal.entries[index].setting) {
            self.journal.entries[index].new = now;
        }
        self.fail(what, error.to_string())
    }

    fn fail(&mut self, what: &str, why: String) -> ApplyError {
        let left = self.undo();
        ApplyError::Failed { what: what.to_owned(), why, left, path: self.journals.path(&self.journal.id) }
    }

    /// Puts back what this apply has set, the last first, to what it found.
    fn undo(&mut self) -> Vec<Note> {
        let mut left = Vec::new();
        let mut reset = false;
        for entry in self.journal.entries.iter_mut().rev().filter(|entry| entry.state.is_open()) {
            let found =
                Entry { old: entry.found.clone().unwrap_or_else(|| entry.old.clone()), found: None, ..entry.clone() };
            reset |= entry.setting.resets_link();
            entry.state = match back_one(self.host, &found, false) {
                Back::Written | Back::Already => StepState::Restored,
                Back::Gone => StepState::Gone,
                Back::Left(why) => {
                    left.push(Note { what: entry.what.clone(), why: why.clone() });
                    StepState::Left { why }
                }
            };
        }
        if reset {
            let interrupts = Interrupts::read(self.host.roots());
            for saved in &self.journal.saved {
                let there = match &saved.setting {
                    Setting::Interrupt { irq, action, .. } => interrupts.has(*irq, action),
                    _ => true,
                };
                if there
                    && let Ok(now) = self.host.read(&saved.setting)
                    && !saved.setting.same(&now, &saved.old)
                    && let Err(error) = self.host.write(&saved.setting, &saved.old)
                {
                    left.push(Note { what: saved.setting.to_string(), why: error.to_string() });
                }
            }
        }
        left.reverse();
        self.journal.state = if left.is_empty() { JournalState::Undone } else { JournalState::Dirty };
        if let Err(error) = self.journals.write(&self.journal) {
            left.push(Note { what: "the journal".to_owned(), why: error.to_string() });
        }
        left
    }
}
