//! What CPU quotas took from a process: `cpu.stat` of its control groups, in either version of them.

use std::fs;
use std::path::{Component, Path, PathBuf};

use procfs::{FromRead as _, ProcessCGroups};
use results::Throttling;

use crate::host::HostFiles;
use crate::limits::MAX_GROUP_DEPTH;

/// Counters since the groups of process `pid` began, summed over the group and those above it: a quota stops all below it. `None` where
/// none of them counts, as outside of any group.
#[must_use]
pub fn throttling(files: &HostFiles, pid: u32) -> Option<Throttling> {
    let groups = ProcessCGroups::from_file(files.proc_path(format!("{pid}/cgroup"))).ok()?;
    groups
        .0
        .iter()
        .flat_map(|group| folders(files, group.hierarchy, &group.controllers, &group.pathname))
        .filter_map(|folder| counters(&folder))
        .reduce(sum)
}

/// The difference of two samples. Groups that came or went make it zero, not negative.
#[must_use]
pub fn since(start: Option<Throttling>, end: Option<Throttling>) -> Option<Throttling> {
    let (start, end) = (start?, end?);
    Some(Throttling {
        periods: end.periods.saturating_sub(start.periods),
        throttled_ns: end.throttled_ns.saturating_sub(start.throttled_ns),
    })
}

fn sum(sum: Throttling, one: Throttling) -> Throttling {
    Throttling {
        periods: sum.periods.saturating_add(one.periods),
        throttled_ns: sum.throttled_ns.saturating_add(one.throttled_ns),
    }
}

/// The group's folder and those above it, where the hierarchy is usually mounted (systemd, cgroups(7)).
fn folders(files: &HostFiles, hierarchy: u32, controllers: &[String], pathname: &str) -> Vec<PathBuf> {
    let names = controllers.join(",");
    let roots: Vec<String> = match hierarchy {
        0 => vec!["fs/cgroup".to_owned(), "fs/cgroup/unified".to_owned()],
        _ if !controllers.iter().any(|controller| controller == "cpu") => Vec::new(),
        _ if names == "cpu" => vec!["fs/cgroup/cpu".to_owned()],
        // Mounted together, and `cpu` is a link to it.
        _ => vec![format!("fs/cgroup/{names}")],
    };
    // A group outside of our cgroup namespace begins with `..`, and cannot be seen.
    let below: PathBuf = Path::new(pathname)
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        })
        .take(MAX_GROUP_DEPTH)
        .collect();
    let levels =
        |root: String| -> Vec<PathBuf> { below.ancestors().map(|level| files.sys_path(&root).join(level)).collect() };
    roots.into_iter().flat_map(levels).collect()
}

/// `nr_throttled`, and `throttled_usec` (version 2) or `throttled_time` in nanoseconds (version 1).
fn counters(folder: &Path) -> Option<Throttling> {
    let text = fs::read_to_string(folder.join("cpu.stat")).ok()?;
    let field = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse::<u64>().ok())
    };
    let throttled_ns = field("throttled_usec").map(|us| us.saturating_mul(1000)).or_else(|| field("throttled_time"))?;
    Some(Throttling { periods: field("nr_throttled")?, throttled_ns })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built_tree::BuiltTree;

    fn tree(groups: &str, stats: &[(&str, &str)]) -> BuiltTree {
        let tree = BuiltTree::new();
        tree.proc("5/cgroup", groups);
        for (group, text) in stats {
            tree.sys(format!("fs/cgroup/{group}/cpu.stat"), text);
        }
        tree
    }

    /// `cpu.stat` of version 2 on Linux 6.18.
    fn v2(periods: u64, throttled_us: u64) -> String {
        format!(
            "usage_usec 90210\nuser_usec 60000\nsystem_usec 30210\nnice_usec 0\ncore_sched.force_idle_usec 0\n\
             nr_periods 40\nnr_throttled {periods}\nthrottled_usec {throttled_us}\nnr_bursts 0\nburst_usec 0\n"
        )
    }

    #[test]
    fn version_2_counts_the_groups_above_too() {
        let root = "usage_usec 1\nuser_usec 1\nsystem_usec 0\n";
        let stats = [("", root), ("box", &v2(3, 70)), ("box/job", &v2(1, 5)), ("other", &v2(9, 900))];
        let tree = tree("0::/box/job\n", &stats);
        assert_eq!(throttling(&tree.files, 5), Some(Throttling { periods: 4, throttled_ns: 75_000 }));
    }

    #[test]
    fn version_1_counts_nanoseconds_and_only_its_cpu_hierarchy() {
        let v1 = "nr_periods 10\nnr_throttled 2\nthrottled_time 3500\nnr_bursts 0\nburst_time 0\n";
        let groups = "4:memory:/box\n2:cpu,cpuacct:/box\n0::/\n";
        let tree = tree(groups, &[("cpu,cpuacct/box", v1), ("memory/box", v1)]);
        assert_eq!(throttling(&tree.files, 5), Some(Throttling { periods: 2, throttled_ns: 3500 }));
    }

    #[test]
    fn bad_files_say_nothing() {
        for (groups, stat) in [
            ("0::/box\n", "nr_throttled many\nthrottled_usec 1\n"),
            ("0::/box\n", "usage_usec 1\n"),
            ("0::/../../elsewhere\n", "\u{0}"),
            ("nonsense\n", "nr_throttled 1\nthrottled_usec 1\n"),
            ("", ""),
        ] {
            assert_eq!(throttling(&tree(groups, &[("box", stat)]).files, 5), None, "{groups:?} {stat:?}");
        }
        assert_eq!(throttling(&HostFiles::at("/nonexistent", "/nonexistent"), 5), None);
    }

    #[test]
    fn differences() {
        let counts = |periods, throttled_ns| Some(Throttling { periods, throttled_ns });
        assert_eq!(since(counts(1, 10), counts(4, 25)), counts(3, 15));
        assert_eq!(since(counts(4, 25), counts(1, 10)), counts(0, 0));
        assert_eq!((since(None, counts(1, 1)), since(counts(1, 1), None)), (None, None));
    }
}
