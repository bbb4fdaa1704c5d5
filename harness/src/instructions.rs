//! Instructions that the threads of a process retire in user space, as the processor counts them (perf_event_open(2)).
//!
//! Owns opening a counter on each thread from outside, and the words for a host that gives none. Threads that begin later are not counted: a
//! server's shards are all there before it says that it is ready. What the kernel does for them is left out: the figure is the program's own,
//! and `kernel.perf_event_paranoid` may be 2, as most distributions have it. Must not estimate: a counter that was shared has no figure.

use std::{fs, io};

use perf_event::events::{Event, Hardware};
use perf_event::{Builder, Counter};
use rustix::io::Errno;

use crate::limits::UNPRIVILEGED_PARANOID;

/// Why there is no figure.
#[derive(Debug, thiserror::Error)]
pub enum InstructionsError {
    /// The processor has no such counter, or a hypervisor keeps it.
    #[error("this host has no hardware counters (perf_event_open: {source})")]
    NoCounters {
        /// The system's reason.
        source: io::Error,
    },
    /// A setting of the host.
    #[error(
        "kernel.perf_event_paranoid is {level} (perf_event_open: {source}): `sysctl -w kernel.perf_event_paranoid={UNPRIVILEGED_PARANOID}`"
    )]
    Paranoid {
        /// Its value.
        level: i64,
        /// The system's reason.
        source: io::Error,
    },
    /// The process belongs to another user, or a seccomp filter forbids the call.
    #[error(
        "this process may not count what process {pid} does (perf_event_open: {source}); run both as one user, outside of a container that forbids perf_event_open"
    )]
    NotAllowed {
        /// The process.
        pid: u32,
        /// The system's reason.
        source: io::Error,
    },
    /// No such process, or it has ended.
    #[error("process {pid} is not there: it has ended, or belongs to another PID namespace")]
    NoProcess {
        /// The process.
        pid: u32,
    },
    /// The process that is driven is not known.
    #[error("the server's process is not known")]
    Elsewhere,
    /// Somebody else counts too, and the processor has not enough counters for both.
    #[error(
        "the hardware counters were shared with another program, such as `perf` or a watchdog; stop it while a run is made"
    )]
    Shared,
    /// Anything else.
    #[error("counters cannot be used (perf_event_open: {source})")]
    Refused {
        /// The system's reason.
        source: io::Error,
    },
}

/// A counter on each thread of a process.
#[derive(Debug)]
pub struct Instructions {
    counters: Vec<Counter>,
}

impl Instructions {
    /// Begins to count what the threads that process `pid` has now retire in user space.
    ///
    /// # Errors
    /// [`InstructionsError`] with the cause and, where there is one, the command that mends it.
    pub fn of(pid: u32) -> Result<Self, InstructionsError> {
        Self::counting(Hardware::INSTRUCTIONS, pid)
    }

    /// The same of any event.
    fn counting(event: impl Event + Copy, pid: u32) -> Result<Self, InstructionsError> {
        let mut counters = Vec::new();
        for thread in threads(pid)? {
            // In user space only: what the builder starts with.
            let opened = Builder::new(event).observe_pid(thread).enabled(true).build();
            match opened {
                Ok(counter) => counters.push(counter),
                // It has ended meanwhile.
                Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => {}
                Err(error) => return Err(reason(error, pid, paranoid())),
            }
        }
        if counters.is_empty() {
            return Err(InstructionsError::NoProcess { pid });
        }
        Ok(Self { counters })
    }

    /// What was counted since it began, over all threads, those that have ended included.
    ///
    /// # Errors
    /// [`InstructionsError::Shared`] where a counter did not run all the time that its thread did.
    pub fn read(&mut self) -> Result<u64, InstructionsError> {
        let mut total: u64 = 0;
        for counter in &mut self.counters {
            let read = counter.read_count_and_time().map_err(|source| InstructionsError::Refused { source })?;
            if read.time_running < read.time_enabled {
                return Err(InstructionsError::Shared);
            }
            total = total.saturating_add(read.count);
        }
        Ok(total)
    }
}

fn threads(pid: u32) -> Result<Vec<i32>, InstructionsError> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).map_err(|_| InstructionsError::NoProcess { pid })?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

/// `kernel.perf_event_paranoid`; `None` on a kernel without counters.
fn paranoid() -> Option<i64> {
    fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?.trim().parse().ok()
}

/// What a refusal of perf_event_open(2) means on a host with that `paranoid` setting.
fn reason(source: io::Error, pid: u32, paranoid: Option<i64>) -> InstructionsError {
    match (source.raw_os_error().map(Errno::from_raw_os_error), paranoid) {
        (Some(Errno::NOENT | Errno::NODEV | Errno::OPNOTSUPP | Errno::NOSYS), _) => {
            InstructionsError::NoCounters { source }
        }
        (Some(Errno::ACCESS | Errno::PERM), Some(level)) if level > UNPRIVILEGED_PARANOID => {
            InstructionsError::Paranoid { level, source }
        }
        (Some(Errno::ACCESS | Errno::PERM), _) => InstructionsError::NotAllowed { pid, source },
        _ => InstructionsError::Refused { source },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use perf_event::events::Software;

    use super::*;

    fn refused(errno: Errno, paranoid: Option<i64>) -> String {
        reason(errno.into(), 7, paranoid).to_string()
    }

    #[test]
    fn a_refusal_says_its_cause_and_what_mends_it() {
        assert_eq!(
            refused(Errno::NOENT, Some(2)),
            "this host has no hardware counters (perf_event_open: No such file or directory (os error 2))"
        );
        assert!(refused(Errno::NOSYS, None).starts_with("this host has no hardware counters"));
        let said = refused(Errno::ACCESS, Some(3));
        assert!(said.starts_with("kernel.perf_event_paranoid is 3 "), "{said}");
        assert!(said.ends_with("`sysctl -w kernel.perf_event_paranoid=2`"), "{said}");
        assert!(refused(Errno::PERM, Some(2)).contains("may not count what process 7 does"));
        assert!(refused(Errno::MFILE, Some(2)).contains("Too many open files"));
    }

    /// What a software counter of this process says; `None`, and said, where not even such a one may be had.
    fn counting_this_process() -> Option<Instructions> {
        match Instructions::counting(Software::TASK_CLOCK, std::process::id()) {
            Ok(counters) => Some(counters),
            Err(error) => {
                eprintln!("skipped: {error}");
                None
            }
        }
    }

    fn some_work() {
        for value in 0..2_000_000_u64 {
            std::hint::black_box(value);
        }
    }

    #[test]
    fn threads_that_were_there_are_counted_until_they_end() {
        let (go, wait) = channel::<()>();
        let thread = std::thread::spawn(move || {
            wait.recv().expect("told");
            some_work();
        });
        let Some(mut counters) = counting_this_process() else { return };
        assert!(counters.counters.len() >= 2, "this thread and the other one");
        let before = counters.read().expect("a software event is never shared");
        some_work();
        let own = counters.read().expect("as before");
        assert!(own > before, "{own} after {before}");
        go.send(()).expect("it waits");
        thread.join().expect("it ends well");
        let both = counters.read().expect("a thread that has ended keeps its count");
        assert!(both > own, "{both} after {own}");
    }

    #[test]
    fn instructions_are_counted_or_it_is_said_why_not() {
        match Instructions::of(std::process::id()) {
            Ok(mut counters) => {
                some_work();
                let counted = counters.read();
                assert!(matches!(counted, Ok(1_000_000..) | Err(InstructionsError::Shared)), "{counted:?}");
            }
            Err(error) => assert!(error.to_string().contains("perf_event_open: "), "{error}"),
        }
        assert!(matches!(Instructions::of(u32::MAX), Err(InstructionsError::NoProcess { pid: u32::MAX })));
    }
}
