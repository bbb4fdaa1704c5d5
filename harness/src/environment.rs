//! Facts about the host for the record. What cannot be read stays empty; nothing is guessed.

use procfs::{CpuInfo, FromRead as _};
use results::Environment;

use crate::core_list::CoreList;
use crate::host::{HostFiles, read};

/// Collects the environment block of a run or bench. Ask before pinning the calling thread.
#[must_use]
pub fn collect(files: &HostFiles, zapring_version: &str) -> Environment {
    let line = |path: std::path::PathBuf| read(&path).ok().map(|text| text.trim().to_owned());
    let numbers = |list: CoreList| list.as_slice().to_vec();
    let cpus_online = files.online_cores().map(numbers).unwrap_or_default();
    let first = cpus_online.first().copied().unwrap_or(0);
    Environment {
        kernel_release: line(files.proc_path("sys/kernel/osrelease")),
        architecture: std::env::consts::ARCH.to_owned(),
        cpu_model: CpuInfo::from_file(files.proc_path("cpuinfo")).ok().as_ref().and_then(cpu_model),
        cpus_allowed: files.usable_cores().map(numbers).unwrap_or_default(),
        memory_bytes: line(files.proc_path("meminfo")).as_deref().and_then(memory_bytes),
        load_average: line(files.proc_path("loadavg")).as_deref().and_then(load_average),
        governor: line(files.sys_path(format!("devices/system/cpu/cpu{first}/cpufreq/scaling_governor"))),
        smt_active: line(files.sys_path("devices/system/cpu/smt/active")).map(|active| active == "1"),
        zapring_version: zapring_version.to_owned(),
        cpus_online,
    }
}

/// The model name; on arm64, which has none, the implementer and part numbers.
fn cpu_model(info: &CpuInfo) -> Option<String> {
    if let Some(name) = info.model_name(0) {
        return Some(name.to_owned());
    }
    let field = |name| info.get_field(0, name);
    Some(format!("implementer {} part {}", field("CPU implementer")?, field("CPU part")?))
}

fn memory_bytes(meminfo: &str) -> Option<u64> {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

fn load_average(loadavg: &str) -> Option<[f64; 3]> {
    let mut fields =
        loadavg.split_ascii_whitespace().map_while(|field| field.parse().ok().filter(|load: &f64| load.is_finite()));
    Some([fields.next()?, fields.next()?, fields.next()?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn facts_of_a_built_tree() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let files = HostFiles::at(folder.path().join("proc"), folder.path().join("sys"));
        let put = |path: std::path::PathBuf, text: &str| {
            fs::create_dir_all(path.parent().expect("inside the tree")).expect("writable");
            fs::write(path, text).expect("writable");
        };
        put(files.proc_path("sys/kernel/osrelease"), "6.18.0-test\n");
        put(files.proc_path("cpuinfo"), "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n\n");
        put(files.proc_path("meminfo"), "MemTotal:       1024 kB\nMemFree: 1 kB\n");
        put(files.proc_path("loadavg"), "0.50 1.25 2.00 1/99 4242\n");
        put(files.proc_path("thread-self/status"), "Cpus_allowed_list:\t0-127\n");
        put(files.sys_path("devices/system/cpu/online"), "2-3\n");
        put(files.sys_path("devices/system/cpu/cpu2/cpufreq/scaling_governor"), "performance\n");
        put(files.sys_path("devices/system/cpu/smt/active"), "0\n");
        let environment = collect(&files, "0.0.0");
        assert_eq!(environment.kernel_release.as_deref(), Some("6.18.0-test"));
        assert_eq!(environment.cpu_model.as_deref(), Some("implementer 0x41 part 0xd40"));
        assert_eq!((environment.cpus_online, environment.cpus_allowed), (vec![2, 3], vec![2, 3]));
        assert_eq!((environment.memory_bytes, environment.load_average), (Some(1_048_576), Some([0.5, 1.25, 2.0])));
        assert_eq!((environment.governor.as_deref(), environment.smt_active), (Some("performance"), Some(false)));
    }

    #[test]
    fn an_empty_tree_gives_an_empty_record() {
        let environment = collect(&HostFiles::at("/nonexistent", "/nonexistent"), "0.0.0");
        assert_eq!((environment.kernel_release, environment.cpu_model, environment.load_average), (None, None, None));
        assert!(environment.cpus_online.is_empty() && environment.cpus_allowed.is_empty());
    }
}
