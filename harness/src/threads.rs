//! Where the threads of a process may run, and how often they left their CPUs: `/proc/PID/task/TID/status`.

use std::collections::BTreeMap;
use std::fs;

use results::ContextSwitches;

use crate::core_list::CoreList;
use crate::host::HostFiles;

/// What the status files of a process's live threads say. Threads that could not be read are absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ThreadStates {
    /// Threads that may run on one core only, and that core.
    pub pinned: BTreeMap<u32, u32>,
    /// Context switches since each thread began.
    pub switches: BTreeMap<u32, ContextSwitches>,
}

impl ThreadStates {
    /// Reads those of `threads` of process `pid` that are still there.
    #[must_use]
    pub fn read(files: &HostFiles, pid: u32, threads: impl IntoIterator<Item = u32>) -> Self {
        let mut states = Self::default();
        for thread in threads {
            let Ok(text) = fs::read_to_string(files.proc_path(format!("{pid}/task/{thread}/status"))) else { continue };
            if let Some(core) = only_core(&text) {
                states.pinned.insert(thread, core);
            }
            if let Some(switches) = switches(&text) {
                states.switches.insert(thread, switches);
            }
        }
        states
    }

    /// Takes in the threads of another process.
    pub fn extend(&mut self, other: Self) {
        self.pinned.extend(other.pinned);
        self.switches.extend(other.switches);
    }

    /// Context switches between two samples; `None` where the kernel does not count them. Threads that began in between count from zero.
    #[must_use]
    pub fn switches_since(&self, start: &Self) -> Option<ContextSwitches> {
        let since = |(thread, end): (&u32, &ContextSwitches)| {
            let start = start.switches.get(thread).copied().unwrap_or_default();
            ContextSwitches {
                voluntary: end.voluntary.saturating_sub(start.voluntary),
                involuntary: end.involuntary.saturating_sub(start.involuntary),
            }
        };
        self.switches.iter().map(since).reduce(|sum, one| ContextSwitches {
            voluntary: sum.voluntary.saturating_add(one.voluntary),
            involuntary: sum.involuntary.saturating_add(one.involuntary),
        })
    }

    /// Whether a thread's time may have been spent on `core`: it is pinned there, or may run on several.
    #[must_use]
    pub fn may_run_on(&self, thread: u32, core: u32) -> bool {
        self.pinned.get(&thread).is_none_or(|pinned| *pinned == core)
    }

    /// Whether all of a thread's time was spent on `core`: it is pinned there.
    #[must_use]
    pub fn runs_only_on(&self, thread: u32, core: u32) -> bool {
        self.pinned.get(&thread) == Some(&core)
    }
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

fn only_core(status: &str) -> Option<u32> {
    let cores: CoreList = field(status, "Cpus_allowed_list")?.parse().ok()?;
    match cores.as_slice() {
        [core] => Some(*core),
        _ => None,
    }
}

fn switches(status: &str) -> Option<ContextSwitches> {
    let count = |name| field(status, name)?.parse().ok();
    Some(ContextSwitches {
        voluntary: count("voluntary_ctxt_switches")?,
        involuntary: count("nonvoluntary_ctxt_switches")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end of `/proc/PID/task/TID/status` of Linux 6.18.
    const STATUS: &str = "Name:\tzapring\nCpus_allowed:\t2\nCpus_allowed_list:\t1\nMems_allowed:\t1\n\
        Mems_allowed_list:\t0\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t7\n";

    fn tree(threads: &[(u32, &str)]) -> (tempfile::TempDir, HostFiles) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let files = HostFiles::at(folder.path().join("proc"), folder.path().join("sys"));
        for (thread, text) in threads {
            let path = files.proc_path(format!("9/task/{thread}"));
            fs::create_dir_all(&path).expect("writable");
            fs::write(path.join("status"), text).expect("writable");
        }
        (folder, files)
    }

    #[test]
    fn pinned_threads_and_others() {
        let wide = STATUS.replace("list:\t1\n", "list:\t0-1\n");
        let (_folder, files) = tree(&[(9, &wide), (10, STATUS), (11, "Name:\tx\n"), (12, "Cpus_allowed_list:\tone\n")]);
        let states = ThreadStates::read(&files, 9, [9, 10, 11, 12, 13]);
        assert_eq!(states.pinned, [(10, 1)].into());
        assert_eq!(states.switches.keys().copied().collect::<Vec<_>>(), [9, 10]);
        assert!(states.may_run_on(10, 1) && !states.may_run_on(10, 0));
        assert!(states.may_run_on(9, 0) && states.may_run_on(13, 5), "what is not known may be anywhere");
    }

    #[test]
    fn switches_between_two_samples() {
        let switches = |voluntary, involuntary| ContextSwitches { voluntary, involuntary };
        let states = |switches| ThreadStates { switches, ..ThreadStates::default() };
        let start = states([(1, switches(10, 1)), (2, switches(5, 5))].into());
        let end = states([(1, switches(30, 2)), (3, switches(4, 0))].into());
        assert_eq!(end.switches_since(&start), Some(switches(24, 1)));
        assert_eq!(ThreadStates::default().switches_since(&start), None);
    }
}
