//! Setting up a ring: the best flags the kernel grants, and what stands in the way when it grants none.

use std::{fmt, fs, io, path::Path};

use thiserror::Error;

/// A set of ring setup flags, newest first in [`LADDER`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rung {
    /// `IORING_SETUP_SINGLE_ISSUER`, kernel 6.0.
    pub single_issuer: bool,
    /// `IORING_SETUP_DEFER_TASKRUN`, kernel 6.1; needs `SINGLE_ISSUER`.
    pub defer_taskrun: bool,
    /// `IORING_SETUP_COOP_TASKRUN`, kernel 5.19.
    pub coop_taskrun: bool,
}

/// Tried from the first on; a rung is left for the next one only when the kernel says `EINVAL`.
pub const LADDER: [Rung; 3] = [
    Rung { single_issuer: true, defer_taskrun: true, coop_taskrun: true },
    Rung { single_issuer: false, defer_taskrun: false, coop_taskrun: true },
    Rung { single_issuer: false, defer_taskrun: false, coop_taskrun: false },
];

impl Rung {
    /// These flags without those about the work of the submitting thread.
    pub(crate) fn without_taskrun(self) -> Self {
        Rung { defer_taskrun: false, coop_taskrun: false, ..self }
    }

    /// The kernel's names of the flags, as they go into result files.
    pub fn names(self) -> Vec<&'static str> {
        [
            (self.single_issuer, "SINGLE_ISSUER"),
            (self.defer_taskrun, "DEFER_TASKRUN"),
            (self.coop_taskrun, "COOP_TASKRUN"),
        ]
        .into_iter()
        .filter_map(|(set, name)| set.then_some(name))
        .collect()
    }
}

impl fmt::Display for Rung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.names();
        f.write_str(if names.is_empty() { "none".into() } else { names.join("|") }.as_str())
    }
}

/// Why no ring could be set up; each says the likely cause and what mends it.
#[derive(Debug, Error)]
pub enum RingError {
    /// The sysctl forbids it to everybody.
    #[error(
        "io_uring is switched off on this host (kernel.io_uring_disabled = 2); as root run `sysctl kernel.io_uring_disabled=0`, or use `--engine epoll`"
    )]
    SwitchedOff,
    /// The sysctl allows it to a group and to administrators only.
    #[error(
        "io_uring is kept to administrators and group {group} on this host (kernel.io_uring_disabled = 1); join that group or as root run `sysctl kernel.io_uring_disabled=0`, or use `--engine epoll`"
    )]
    Restricted {
        /// `kernel.io_uring_group`; -1 for none.
        group: i64,
    },
    /// A seccomp filter answers for the kernel.
    #[error(
        "a seccomp filter of this process forbids io_uring ({errno}); in a container run it with a profile that allows io_uring_setup, io_uring_enter and io_uring_register (docker: `--security-opt seccomp=unconfined`), or use `--engine epoll`"
    )]
    Seccomp {
        /// `EPERM` or `ENOSYS`.
        errno: &'static str,
    },
    /// The kernel does not know io_uring.
    #[error(
        "this kernel ({release}) has no io_uring (ENOSYS): it is older than 5.1, was built without it, or is emulated; use `--engine epoll`"
    )]
    OldKernel {
        /// `uname -r`.
        release: String,
    },
    /// Ring memory is charged to `RLIMIT_MEMLOCK` on kernels up to 5.11.
    #[error(
        "no memory for the ring (ENOMEM): the locked-memory limit is {limit_bytes} bytes and kernels up to 5.11 charge each shard's ring to it; run `ulimit -l unlimited`, use fewer cores, or use `--engine epoll`"
    )]
    Memlock {
        /// The soft limit, in bytes.
        limit_bytes: u64,
    },
    /// Permission refused although the sysctl allows it and no filter is visible.
    #[error(
        "the kernel refused a ring (EPERM) although kernel.io_uring_disabled allows it: a security module may forbid it; use `--engine epoll`"
    )]
    Denied,
    /// glommio insists on a limit of locked memory of its own.
    #[error(
        "glommio wants a locked-memory limit of {wanted_bytes} bytes and it is {limit_bytes}; run `ulimit -l {}` (as root, or raise the hard limit in /etc/security/limits.conf), or use `--engine uring` or `--engine epoll`",
        wanted_bytes / 1024
    )]
    GlommioMemlock {
        /// The soft limit, in bytes.
        limit_bytes: u64,
        /// What glommio wants, in bytes.
        wanted_bytes: u64,
    },
    /// glommio asks for operations that this kernel does not have.
    #[error("this kernel ({release}) is too old for glommio, which wants 5.8; use `--engine epoll`")]
    GlommioKernel {
        /// `uname -r`.
        release: String,
    },
    /// Anything else.
    #[error("the kernel refused a ring: {0}; use `--engine epoll` to run without io_uring")]
    Other(#[source] io::Error),
}

/// What the host says about io_uring, read from `/proc` (or a tree like it).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFacts {
    /// `kernel.io_uring_disabled`; `None` where the sysctl does not exist (before 6.6).
    pub disabled: Option<u8>,
    /// `kernel.io_uring_group`.
    pub group: i64,
    /// Whether a seccomp filter is installed in this process.
    pub seccomp: bool,
    /// `uname -r`.
    pub release: String,
    /// `RLIMIT_MEMLOCK`, the soft limit.
    pub memlock_bytes: u64,
}

impl HostFacts {
    /// Reads the facts below `proc_root`, normally `/proc`.
    pub fn read(proc_root: &Path) -> Self {
        let text = |name: &str| fs::read_to_string(proc_root.join(name)).unwrap_or_default();
        let status = text("thread-self/status");
        let seccomp = status.lines().find_map(|line| line.strip_prefix("Seccomp:")).is_some_and(|v| v.trim() == "2");
        HostFacts {
            disabled: text("sys/kernel/io_uring_disabled").trim().parse().ok(),
            group: text("sys/kernel/io_uring_group").trim().parse().unwrap_or(-1),
            seccomp,
            release: text("sys/kernel/osrelease").trim().to_owned(),
            memlock_bytes: crate::rlimit::memlock_bytes(),
        }
    }
}

/// Tries each rung with `setup` until one is granted.
///
/// # Errors
/// The first error that is not `EINVAL`, or the last one, explained from `facts`.
pub fn climb<R>(
    mut setup: impl FnMut(Rung) -> io::Result<R>,
    facts: impl FnOnce() -> HostFacts,
) -> Result<(R, Rung), RingError> {
    let mut last = io::Error::from_raw_os_error(libc::EINVAL);
    for rung in LADDER {
        match setup(rung) {
            Ok(ring) => return Ok((ring, rung)),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => last = error,
            Err(error) => {
                last = error;
                break;
            }
        }
    }
    Err(explain(last, &facts()))
}

fn explain(error: io::Error, facts: &HostFacts) -> RingError {
    match error.raw_os_error() {
        Some(libc::EPERM) => match facts.disabled {
            Some(2) => RingError::SwitchedOff,
            Some(1) => RingError::Restricted { group: facts.group },
            _ if facts.seccomp => RingError::Seccomp { errno: "EPERM" },
            _ => RingError::Denied,
        },
        Some(libc::ENOSYS) if facts.seccomp => RingError::Seccomp { errno: "ENOSYS" },
        Some(libc::ENOSYS) => RingError::OldKernel { release: facts.release.clone() },
        Some(libc::ENOMEM) => RingError::Memlock { limit_bytes: facts.memlock_bytes },
        _ => RingError::Other(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> HostFacts {
        HostFacts { disabled: Some(0), group: -1, seccomp: false, release: "5.15.0".into(), memlock_bytes: 65536 }
    }

    fn refuse(errno: i32, facts: HostFacts) -> (RingError, usize) {
        let mut tries = 0;
        let result = climb(
            |_| -> io::Result<()> {
                tries += 1;
                Err(io::Error::from_raw_os_error(errno))
            },
            || facts,
        );
        (result.expect_err("every rung was refused"), tries)
    }

    #[test]
    fn each_kernel_gets_the_best_rung_it_knows() {
        // What the kernels of the flags' documentation accept: (single issuer, defer taskrun, coop taskrun) known.
        for (kernel, known, granted) in [
            ("6.1", (true, true, true), "SINGLE_ISSUER|DEFER_TASKRUN|COOP_TASKRUN"),
            ("6.0", (true, false, true), "COOP_TASKRUN"),
            ("5.19", (false, false, true), "COOP_TASKRUN"),
            ("5.15", (false, false, false), "none"),
        ] {
            let setup = |rung: Rung| {
                let unknown = (rung.single_issuer && !known.0)
                    || (rung.defer_taskrun && !known.1)
                    || (rung.coop_taskrun && !known.2);
                if unknown { Err(io::Error::from_raw_os_error(libc::EINVAL)) } else { Ok(rung) }
            };
            let (ring, rung) = climb(setup, facts).expect("the last rung asks for nothing");
            assert_eq!(ring, rung);
            assert_eq!(rung.to_string(), granted, "kernel {kernel}");
        }
    }

    #[test]
    fn defer_taskrun_is_never_asked_for_alone() {
        assert!(LADDER.iter().all(|rung| !rung.defer_taskrun || rung.single_issuer));
    }

    #[test]
    fn refusals_are_told_apart_and_end_the_climb() {
        let cases: [(i32, HostFacts, &str); 8] = [
            (libc::EPERM, HostFacts { disabled: Some(2), ..facts() }, "kernel.io_uring_disabled = 2"),
            (libc::EPERM, HostFacts { disabled: Some(1), group: 7, ..facts() }, "group 7"),
            // A filter must not be blamed on the sysctl, nor the other way round.
            (libc::EPERM, HostFacts { seccomp: true, ..facts() }, "seccomp"),
            (libc::EPERM, HostFacts { disabled: Some(2), seccomp: true, ..facts() }, "kernel.io_uring_disabled = 2"),
            (libc::EPERM, facts(), "security module"),
            (libc::ENOSYS, facts(), "(5.15.0) has no io_uring"),
            (libc::ENOSYS, HostFacts { seccomp: true, ..facts() }, "seccomp"),
            (libc::ENOMEM, facts(), "locked-memory limit is 65536"),
        ];
        for (errno, facts, words) in cases {
            let (error, tries) = refuse(errno, facts);
            assert!(error.to_string().contains(words), "{error}");
            assert!(error.to_string().contains("--engine epoll"), "{error}");
            assert_eq!(tries, 1);
        }
        assert_eq!(refuse(libc::EINVAL, facts()).1, LADDER.len());
    }

    #[test]
    fn facts_come_from_the_tree_they_are_read_from() {
        let root = std::env::temp_dir().join(format!("zapring-ladder-{}", std::process::id()));
        fs::create_dir_all(root.join("sys/kernel")).expect("a temporary folder");
        fs::create_dir_all(root.join("thread-self")).expect("a temporary folder");
        fs::write(root.join("sys/kernel/io_uring_disabled"), "1\n").expect("written");
        fs::write(root.join("sys/kernel/io_uring_group"), "1001\n").expect("written");
        fs::write(root.join("sys/kernel/osrelease"), "6.6.1\n").expect("written");
        fs::write(root.join("thread-self/status"), "Name:\tx\nSeccomp:\t2\n").expect("written");
        let facts = HostFacts::read(&root);
        fs::remove_dir_all(&root).expect("removed");
        assert_eq!(
            (facts.disabled, facts.group, facts.seccomp, facts.release.as_str()),
            (Some(1), 1001, true, "6.6.1")
        );
    }
}
