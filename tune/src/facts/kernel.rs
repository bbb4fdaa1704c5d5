//! The kernel, its mitigations, and what it grants this process.

use std::collections::BTreeMap;
use std::fs;

use serde::{Deserialize, Serialize};

use crate::roots::{Roots, names, number, text};

/// The kernel and this process's limits.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Kernel {
    /// As `uname -r` prints it.
    pub release: Option<String>,
    /// Changes with every boot.
    pub boot_id: Option<String>,
    /// The network namespace, as in `net:[4026531840]`.
    pub network_namespace: Option<String>,
    /// Bytes of a page.
    pub page_bytes: Option<u64>,
    /// `mitigations=` of the kernel's command line.
    pub mitigations_option: Option<String>,
    /// What is done against each weakness of the CPU, by its name; `Not affected` left out.
    pub mitigations: BTreeMap<String, String>,
    /// `kernel.io_uring_disabled`: 0 for everybody, 1 for a group, 2 for nobody; before 6.6 there is none.
    pub io_uring_disabled: Option<u8>,
    /// Open files, soft and hard limit; `None` within for no limit.
    pub open_files: Option<Limit>,
    /// Bytes of locked memory.
    pub locked_bytes: Option<Limit>,
    /// Whether a seccomp filter watches this process.
    pub seccomp: Option<bool>,
}

/// A limit of a process; `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Limit {
    /// In force.
    pub soft: Option<u64>,
    /// What it may be raised to.
    pub hard: Option<u64>,
}

pub(super) fn read(roots: &Roots) -> Kernel {
    let limits = text(&roots.proc("self/limits")).unwrap_or_default();
    let status = text(&roots.proc("self/status")).unwrap_or_default();
    let options = text(&roots.proc("cmdline")).unwrap_or_default();
    let option = options.split_ascii_whitespace().rev().find_map(|option| option.strip_prefix("mitigations="));
    let seccomp = status.lines().find_map(|line| line.strip_prefix("Seccomp:"));
    Kernel {
        release: text(&roots.proc("sys/kernel/osrelease")),
        boot_id: text(&roots.proc("sys/kernel/random/boot_id")),
        network_namespace: network_namespace(roots),
        // Only the running kernel can be asked; a tree does not say.
        page_bytes: roots.are_live().then(|| rustix::param::page_size() as u64),
        mitigations_option: option.map(str::to_owned),
        mitigations: mitigations(roots),
        io_uring_disabled: number(&roots.proc("sys/kernel/io_uring_disabled")),
        open_files: limit(&limits, "Max open files"),
        locked_bytes: limit(&limits, "Max locked memory"),
        seccomp: seccomp.map(|mode| mode.trim() != "0"),
    }
}

/// The network namespace that this process is in.
pub(crate) fn network_namespace(roots: &Roots) -> Option<String> {
    fs::read_link(roots.proc("self/ns/net")).ok()?.into_os_string().into_string().ok()
}

fn mitigations(roots: &Roots) -> BTreeMap<String, String> {
    let folder = roots.sys("devices/system/cpu/vulnerabilities");
    let state = |name: String| text(&folder.join(&name)).map(|state| (name, state));
    names(&folder).into_iter().filter_map(state).filter(|(_, state)| state != "Not affected").collect()
}

/// A line of `/proc/self/limits`: name, soft, hard, unit.
fn limit(limits: &str, name: &str) -> Option<Limit> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    let mut fields = line.split_ascii_whitespace();
    let mut next = || match fields.next()? {
        "unlimited" => Some(None),
        number => number.parse().ok().map(Some),
    };
    Some(Limit { soft: next()?, hard: next()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_as_the_kernel_writes_them() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max open files            1024                 524288               files     \n\
                    Max locked memory         8388608              unlimited            bytes     \n";
        assert_eq!(limit(text, "Max open files"), Some(Limit { soft: Some(1024), hard: Some(524_288) }));
        assert_eq!(limit(text, "Max locked memory"), Some(Limit { soft: Some(8_388_608), hard: None }));
        assert_eq!((limit(text, "Max nice"), limit("Max nice 1", "Max nice")), (None, None));
    }
}
