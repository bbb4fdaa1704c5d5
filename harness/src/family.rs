//! The processes that a process has started, and these in turn: a server with workers is all of them.

use std::collections::BTreeMap;
use std::fs;

use procfs::FromRead as _;
use procfs::process::Stat;

use crate::host::HostFiles;
use crate::limits::MAX_FAMILY;
use crate::usage::{self, Memory};

/// All descendants of `pid`, without itself; those that end while this looks are absent. Looks at every process of the host once.
pub(crate) fn of(files: &HostFiles, pid: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(files.proc_path("")) else { return Vec::new() };
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in entries.flatten() {
        let Some(child) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let Ok(stat) = Stat::from_file(entry.path().join("stat")) else { continue };
        if let Ok(parent) = u32::try_from(stat.ppid) {
            children.entry(parent).or_default().push(child);
        }
    }
    let mut found = Vec::new();
    let mut parents = vec![pid];
    while let Some(parent) = parents.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            if found.len() < MAX_FAMILY {
                found.push(child);
                parents.push(child);
            }
        }
    }
    found
}

/// The memory of one of them; nothing when it has ended.
pub(crate) fn memory(files: &HostFiles, pid: u32) -> Memory {
    usage::memory(files, pid).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Child, CommandLine};

    #[test]
    fn children_of_children_are_found() {
        let sleepers = "sleep 60 & sleep 60 & wait";
        let shell = Child::start(&CommandLine::new("sh").args(["-c", sleepers])).expect("a shell");
        let files = HostFiles::live();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while of(&files, shell.pid()).len() < 2 {
            assert!(std::time::Instant::now() < deadline, "the shell starts two");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let own = of(&files, std::process::id());
        assert!(of(&files, shell.pid()).iter().all(|child| own.contains(child)), "grandchildren are ours");
        assert!(of(&files, shell.pid()).iter().all(|child| memory(&files, *child).rss_bytes > 0));
        assert!(of(&HostFiles::at("/nonexistent", "/nonexistent"), 1).is_empty());
    }
}
