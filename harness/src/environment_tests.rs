//! The record of built trees, and of this host.

use std::path::Path;

use super::*;
use crate::built_tree::BuiltTree;

/// A file of the CPUs' folder.
fn cpu_file(tree: &BuiltTree, path: &str, text: &str) {
    tree.sys(Path::new("devices/system/cpu").join(path), text);
}

#[test]
fn facts_of_a_built_tree() {
    let tree = BuiltTree::new();
    tree.proc("sys/kernel/osrelease", "6.18.0-test\n");
    tree.proc("cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n\n");
    tree.proc("meminfo", "MemTotal:       1024 kB\nMemFree: 1 kB\n");
    tree.proc("loadavg", "0.50 1.25 2.00 1/99 4242\n");
    tree.proc("thread-self/status", "Cpus_allowed_list:\t0-127\n");
    tree.proc("sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n");
    tree.proc("sys/kernel/io_uring_disabled", "0\n");
    tree.proc(
        "self/limits",
        "Limit                     Soft Limit           Hard Limit           Units\n\
         Max open files            1024                 1048576              files\n\
         Max locked memory         8388608              unlimited            bytes\n",
    );
    cpu_file(&tree, "online", "2-3\n");
    cpu_file(&tree, "isolated", "\n");
    cpu_file(&tree, "nohz_full", "3\n");
    cpu_file(&tree, "cpu2/cpufreq/scaling_governor", "performance\n");
    cpu_file(&tree, "cpu3/cpufreq/scaling_governor", "powersave\n");
    cpu_file(&tree, "cpu2/cpufreq/scaling_driver", "acpi-cpufreq\n");
    cpu_file(&tree, "cpufreq/boost", "0\n");
    cpu_file(&tree, "smt/active", "0\n");
    cpu_file(&tree, "vulnerabilities/spectre_v2", "Mitigation: CSV2, BHB\n");
    let source = "devices/system/clocksource/clocksource0/current_clocksource";
    tree.sys(source, "arch_sys_counter\n");
    let environment = collect(&tree.files, "0.1.0+abc123-dirty");
    assert_eq!(environment.kernel_release.as_deref(), Some("6.18.0-test"));
    assert_eq!(environment.cpu_model.as_deref(), Some("implementer 0x41 part 0xd40"));
    assert_eq!((environment.cpus_online, environment.cpus_allowed), (vec![2, 3], vec![2, 3]));
    assert_eq!((environment.cpus_isolated, environment.cpus_tickless), (vec![], vec![3]));
    assert_eq!((environment.memory_bytes, environment.load_average), (Some(1_048_576), Some([0.5, 1.25, 2.0])));
    assert_eq!((environment.governor.as_deref(), environment.smt_active), (Some("performance"), Some(false)));
    assert_eq!(environment.governors, [("performance".to_owned(), vec![2]), ("powersave".to_owned(), vec![3])].into());
    assert_eq!((environment.frequency_driver.as_deref(), environment.turbo), (Some("acpi-cpufreq"), Some(false)));
    assert_eq!(environment.clock_source.as_deref(), Some("arch_sys_counter"));
    assert_eq!(environment.mitigations["spectre_v2"], "Mitigation: CSV2, BHB");
    assert_eq!(environment.sysctls.len(), 2);
    assert_eq!(environment.sysctls["net.ipv4.tcp_rmem"], "4096 131072 6291456");
    let limit = |name: &str, soft, hard| ProcessLimit { name: name.to_owned(), soft: Some(soft), hard };
    assert_eq!(
        environment.limits,
        [limit("max_open_files", 1024, Some(1_048_576)), limit("max_locked_memory_bytes", 8_388_608, None)]
    );
    assert_eq!(
        (environment.zapring_version.as_str(), environment.zapring_commit.as_deref()),
        ("0.1.0", Some("abc123-dirty"))
    );
}

/// Ten large and ten small cores of a GB10: parts 0xd85 (Cortex-X925) and 0xd87 (Cortex-A725), in two blocks of five each, and without SMT.
#[test]
fn two_types_of_cores_are_told_apart() {
    let tree = BuiltTree::new();
    let is_large = |cpu: u32| (5..10).contains(&cpu) || cpu >= 15;
    let mut cpuinfo = String::new();
    for cpu in 0..20 {
        let part = if is_large(cpu) { "0xd85" } else { "0xd87" };
        cpuinfo.push_str(&format!(
            "processor\t: {cpu}\nBogoMIPS\t: 2000.00\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: {part}\nCPU revision\t: 1\n\n"
        ));
        cpu_file(&tree, &format!("cpu{cpu}/cpu_capacity"), if is_large(cpu) { "1024\n" } else { "718\n" });
        let khz = if is_large(cpu) { "3900000\n" } else { "2808000\n" };
        cpu_file(&tree, &format!("cpu{cpu}/cpufreq/cpuinfo_max_freq"), khz);
    }
    tree.proc("cpuinfo", &cpuinfo);
    cpu_file(&tree, "online", "0-19\n");
    cpu_file(&tree, "smt/active", "0\n");
    let environment = collect(&tree.files, "0.1.0");
    let of = |part: &str, capacity, most_hz, cpus: Vec<u32>| CoreType {
        model: Some(format!("implementer 0x41 part {part} r0x0p1")),
        capacity: Some(capacity),
        most_hz: Some(most_hz),
        cpus,
    };
    assert_eq!(
        environment.core_types,
        [
            of("0xd87", 718, 2_808_000_000, [0..5, 10..15].into_iter().flatten().collect()),
            of("0xd85", 1024, 3_900_000_000, [5..10, 15..20].into_iter().flatten().collect()),
        ]
    );
    assert_eq!((environment.smt_active, environment.zapring_commit), (Some(false), None));
}

/// A virtual machine: no frequencies, no capacities, one model; CPU 1 is offline and has no entry.
#[test]
fn a_virtual_machine_has_one_type_and_no_frequency() {
    let tree = BuiltTree::new();
    let core = |cpu: u32| format!("processor\t: {cpu}\nmodel name\t: Example CPU\n\n");
    tree.proc("cpuinfo", &[core(0), core(2)].concat());
    cpu_file(&tree, "online", "0,2\n");
    let environment = collect(&tree.files, "0.1.0");
    let model = Some("Example CPU".to_owned());
    assert_eq!(environment.core_types, [CoreType { model, capacity: None, most_hz: None, cpus: vec![0, 2] }]);
    assert!(environment.governors.is_empty() && environment.governor.is_none() && environment.turbo.is_none());
}

#[test]
fn an_empty_tree_gives_an_empty_record() {
    let environment = collect(&HostFiles::at("/nonexistent", "/nonexistent"), "0.0.0");
    let empty = Environment {
        architecture: std::env::consts::ARCH.to_owned(),
        zapring_version: "0.0.0".to_owned(),
        ..Environment::default()
    };
    assert_eq!(environment, empty);
}

#[test]
fn this_host_has_limits_and_settings() {
    let environment = collect(&HostFiles::live(), "0.0.0");
    assert!(environment.limits.iter().any(|limit| limit.name == "max_open_files"), "{:?}", environment.limits);
    assert!(environment.sysctls.contains_key("net.core.somaxconn"), "{:?}", environment.sysctls);
    let cores: usize = environment.core_types.iter().map(|of| of.cpus.len()).sum();
    assert_eq!(cores, environment.cpus_online.len());
}
