//! Facts about the host for the record. What cannot be read stays empty; nothing is guessed.

use std::collections::BTreeMap;
use std::path::Path;

use procfs::{CpuInfo, FromRead as _};
use results::Environment;
use results::environment::{CoreType, ProcessLimit};

use crate::core_list::CoreList;
use crate::host::{HostFiles, read};
use crate::limits::MAX_FLAWS;

/// Settings that change what is measured, below `/proc/sys` with dots for slashes.
const SYSCTLS: [&str; 29] = [
    "fs.file-max",
    "fs.nr_open",
    "kernel.io_uring_disabled",
    "kernel.nmi_watchdog",
    "kernel.numa_balancing",
    "kernel.sched_autogroup_enabled",
    "kernel.sched_rt_runtime_us",
    "kernel.timer_migration",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.default_qdisc",
    "net.core.dev_weight",
    "net.core.netdev_budget",
    "net.core.netdev_max_backlog",
    "net.core.rmem_max",
    "net.core.rps_sock_flow_entries",
    "net.core.somaxconn",
    "net.core.wmem_max",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_wmem",
    "vm.overcommit_memory",
];

/// Limits of a process that stand in the way of connections and rings: as `/proc/self/limits` and as the record names them.
const LIMITS: [(&str, &str); 4] = [
    ("Max open files", "max_open_files"),
    ("Max locked memory", "max_locked_memory_bytes"),
    ("Max processes", "max_processes"),
    ("Max realtime priority", "max_realtime_priority"),
];

/// Collects the environment block of a run or bench; the interface to the target is added by who knows it. `zapring_version` may have the
/// commit behind a `+`. Ask before pinning the calling thread.
#[must_use]
pub fn collect(files: &HostFiles, zapring_version: &str) -> Environment {
    let numbers = |list: CoreList| list.as_slice().to_vec();
    let cpus_online = files.online_cores().map(numbers).unwrap_or_default();
    let info = CpuInfo::from_file(files.proc_path("cpuinfo")).ok();
    let governors = governors(files, &cpus_online);
    let first = cpus_online.first().copied().unwrap_or(0);
    let (version, commit) = match zapring_version.split_once('+') {
        Some((version, commit)) => (version, Some(commit.to_owned())),
        None => (zapring_version, None),
    };
    Environment {
        kernel_release: line(&files.proc_path("sys/kernel/osrelease")),
        architecture: std::env::consts::ARCH.to_owned(),
        cpu_model: info.as_ref().and_then(cpu_model),
        core_types: core_types(files, info.as_ref(), &cpus_online),
        cpus_allowed: files.usable_cores().map(numbers).unwrap_or_default(),
        cpus_isolated: cpu_set(files, "isolated"),
        cpus_tickless: cpu_set(files, "nohz_full"),
        memory_bytes: line(&files.proc_path("meminfo")).as_deref().and_then(memory_bytes),
        load_average: files.load_average(),
        governor: governors.iter().find(|(_, cpus)| cpus.contains(&first)).map(|(name, _)| name.clone()),
        governors,
        frequency_driver: line(&cpu_path(files, first, "cpufreq/scaling_driver")),
        turbo: turbo(files),
        clock_source: line(&files.sys_path("devices/system/clocksource/clocksource0/current_clocksource")),
        smt_active: line(&files.sys_path("devices/system/cpu/smt/active")).map(|active| active == "1"),
        mitigations: mitigations(files),
        sysctls: sysctls(files),
        limits: line(&files.proc_path("self/limits")).map_or_else(Vec::new, |text| limits(&text)),
        nic: None,
        zapring_version: version.to_owned(),
        zapring_commit: commit,
        tuning: None,
        cpus_online,
    }
}

/// A small file without the blanks around its text; `None` when it is missing or empty.
fn line(path: &Path) -> Option<String> {
    read(path).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn cpu_path(files: &HostFiles, cpu: u32, file: &str) -> std::path::PathBuf {
    files.sys_path(format!("devices/system/cpu/cpu{cpu}/{file}"))
}

/// The model name; on arm64, which has none, the implementer and part numbers.
fn cpu_model(info: &CpuInfo) -> Option<String> {
    if let Some(name) = info.model_name(0) {
        return Some(name.to_owned());
    }
    let field = |name| info.get_field(0, name);
    Some(format!("implementer {} part {}", field("CPU implementer")?, field("CPU part")?))
}

/// Cores that have model, capacity and highest frequency in common, in the order of their first.
fn core_types(files: &HostFiles, info: Option<&CpuInfo>, cpus_online: &[u32]) -> Vec<CoreType> {
    let mut types: Vec<CoreType> = Vec::new();
    for cpu in cpus_online {
        let number = |file| line(&cpu_path(files, *cpu, file))?.parse::<u64>().ok();
        let model = info.and_then(|info| core_model(info, *cpu));
        let khz = number("cpufreq/cpuinfo_max_freq");
        let (capacity, most_hz) = (number("cpu_capacity"), khz.and_then(|khz| khz.checked_mul(1000)));
        let alike = |of: &&mut CoreType| (&of.model, of.capacity, of.most_hz) == (&model, capacity, most_hz);
        match types.iter_mut().find(alike) {
            Some(of) => of.cpus.push(*cpu),
            None => types.push(CoreType { model, capacity, most_hz, cpus: vec![*cpu] }),
        }
    }
    types
}

/// What `/proc/cpuinfo` says of one CPU; its entries are those that are online, each with its number.
fn core_model(info: &CpuInfo, cpu: u32) -> Option<String> {
    let number = |entry: &usize| info.get_field(*entry, "processor").and_then(|text| text.parse::<u32>().ok());
    let entry = (0..info.num_cores()).find(|entry| number(entry) == Some(cpu))?;
    if let Some(name) = info.model_name(entry) {
        return Some(name.to_owned());
    }
    let field = |name| info.get_field(entry, name);
    let (implementer, part) = (field("CPU implementer")?, field("CPU part")?);
    let revision = field("CPU variant").zip(field("CPU revision"));
    let revision = revision.map_or_else(String::new, |(variant, revision)| format!(" r{variant}p{revision}"));
    Some(format!("implementer {implementer} part {part}{revision}"))
}

fn cpu_set(files: &HostFiles, name: &str) -> Vec<u32> {
    let list = line(&files.sys_path("devices/system/cpu").join(name)).and_then(|text| text.parse::<CoreList>().ok());
    list.map_or_else(Vec::new, |list| list.as_slice().to_vec())
}

fn governors(files: &HostFiles, cpus_online: &[u32]) -> BTreeMap<String, Vec<u32>> {
    let mut governors: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for cpu in cpus_online {
        if let Some(name) = line(&cpu_path(files, *cpu, "cpufreq/scaling_governor")) {
            governors.entry(name).or_default().push(*cpu);
        }
    }
    governors
}

/// Drivers of Intel and of all others say it in two ways.
fn turbo(files: &HostFiles) -> Option<bool> {
    let switch = |file| line(&files.sys_path("devices/system/cpu").join(file));
    let intel = switch("intel_pstate/no_turbo").map(|no| no == "0");
    intel.or_else(|| switch("cpufreq/boost").map(|on| on == "1"))
}

fn mitigations(files: &HostFiles) -> BTreeMap<String, String> {
    let folder = files.sys_path("devices/system/cpu/vulnerabilities");
    let Ok(entries) = std::fs::read_dir(folder) else { return BTreeMap::new() };
    let flaw = |entry: std::fs::DirEntry| Some((entry.file_name().into_string().ok()?, line(&entry.path())?));
    entries.flatten().filter_map(flaw).take(MAX_FLAWS).collect()
}

/// Those that this kernel has; blanks within a value are single.
fn sysctls(files: &HostFiles) -> BTreeMap<String, String> {
    let setting = |name: &str| {
        let value = line(&files.proc_path("sys").join(name.replace('.', "/")))?;
        Some((name.to_owned(), value.split_ascii_whitespace().collect::<Vec<_>>().join(" ")))
    };
    SYSCTLS.into_iter().filter_map(setting).collect()
}

/// Lines of `/proc/self/limits`: a name with blanks, then soft, hard and unit.
fn limits(text: &str) -> Vec<ProcessLimit> {
    let limit = |(title, name): (&str, &str)| {
        let rest = text.lines().find_map(|line| line.strip_prefix(title))?;
        let mut values = rest.split_ascii_whitespace();
        let mut value = || values.next().map(|value| value.parse::<u64>().ok().filter(|_| value != "unlimited"));
        Some(ProcessLimit { name: name.to_owned(), soft: value()?, hard: value()? })
    };
    LIMITS.into_iter().filter_map(limit).collect()
}

fn memory_bytes(meminfo: &str) -> Option<u64> {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
#[path = "environment_tests.rs"]
mod tests;
