//! Builds trees like `/proc` and `/sys` in a temporary folder, for tests of several members. Only files; nothing of the host is touched.

#![allow(dead_code, reason = "each test file uses its part of it")]

use std::fs;
use std::path::{Path, PathBuf};

/// A host that exists as files only.
pub(crate) struct HostTree {
    folder: tempfile::TempDir,
    cpus: u32,
}

/// One CPU as it shall look.
#[derive(Clone, Copy, Default)]
pub(crate) struct CpuLook {
    /// MIDR_EL1 of an Arm CPU; 0 for none.
    pub(crate) midr: u64,
    /// `cpu_capacity`; 0 for none.
    pub(crate) capacity: u32,
    /// First and last CPU with the same last cache.
    pub(crate) cache: (u32, u32),
    /// The other hardware thread of its core.
    pub(crate) sibling: Option<u32>,
    /// NUMA node.
    pub(crate) node: u32,
}

/// One network interface as it shall look.
#[derive(Clone)]
pub(crate) struct NicLook<'a> {
    pub(crate) name: &'a str,
    /// Receive and transmit queues.
    pub(crate) queues: (u32, u32),
    /// Interrupt names; `{}` stands for the queue's number and makes one of each queue.
    pub(crate) interrupts: &'a [&'a str],
    /// Whether a device stands behind it.
    pub(crate) device: bool,
    /// `DEVTYPE` of its uevent; empty for none.
    pub(crate) devtype: &'a str,
    /// Interfaces below it.
    pub(crate) lowers: &'a [&'a str],
}

impl<'a> NicLook<'a> {
    /// A device with so many queue pairs, each with an interrupt.
    pub(crate) fn device(name: &'a str, queues: u32) -> Self {
        let interrupts: &[&str] =
            if queues == 1 { &["eth0-rx-0", "eth0-tx-0", "eth0"] } else { &["eth0-TxRx-{}", "eth0"] };
        Self { name, queues: (queues, queues), interrupts, device: true, devtype: "", lowers: &[] }
    }

    /// An interface that exists in the kernel only.
    pub(crate) fn virtual_one(name: &'a str, queues: u32, devtype: &'a str) -> Self {
        Self { name, queues: (queues, queues), interrupts: &[], device: false, devtype, lowers: &[] }
    }
}

impl HostTree {
    /// A host with so many equal CPUs, all online, sharing one cache, without interfaces but `lo`.
    pub(crate) fn new(cpus: u32) -> Self {
        Self::with_cpus(cpus, &format!("0-{}", cpus - 1), |_| CpuLook { cache: (0, cpus - 1), ..CpuLook::default() })
    }

    /// A host whose online CPUs look as told.
    pub(crate) fn with_cpus(cpus: u32, online: &str, look: impl Fn(u32) -> CpuLook) -> Self {
        let tree = Self { folder: tempfile::tempdir().expect("a temporary folder"), cpus };
        let online_list = tune::CpuSet::from_list(online).expect("a list");
        tree.sys("devices/system/cpu/online", online);
        tree.sys("devices/system/cpu/present", &format!("0-{}", cpus - 1));
        tree.sys("devices/system/cpu/isolated", "");
        let mut info = String::new();
        for cpu in 0..cpus {
            let look = look(cpu);
            let at = |file: &str| format!("devices/system/cpu/cpu{cpu}/{file}");
            if online_list.contains(cpu) {
                info.push_str(&format!("processor\t: {cpu}\nmodel name\t: Test CPU\n\n"));
                let (first, last) = look.cache;
                tree.sys(&at("cache/index3/level"), "3");
                tree.sys(&at("cache/index3/type"), "Unified");
                tree.sys(&at("cache/index3/size"), "16384K");
                tree.sys(&at("cache/index3/shared_cpu_list"), &format!("{first}-{last}"));
                let siblings = look
                    .sibling
                    .map_or_else(|| cpu.to_string(), |other| format!("{},{}", cpu.min(other), cpu.max(other)));
                tree.sys(&at("topology/thread_siblings_list"), &siblings);
                fs::create_dir_all(tree.sys_root().join(at(&format!("node{}", look.node)))).expect("writable");
            }
            if look.midr > 0 {
                tree.sys(&at("regs/identification/midr_el1"), &format!("{:#018x}", look.midr));
            }
            if look.capacity > 0 {
                tree.sys(&at("cpu_capacity"), &look.capacity.to_string());
            }
        }
        tree.proc("cpuinfo", &info);
        tree.proc("interrupts", &tree.interrupts_heading());
        tree.proc("self/status", &format!("Name:\tx\nCpus_allowed_list:\t{online}\nSeccomp:\t0\n"));
        tree.proc("sys/kernel/random/boot_id", "11111111-2222-3333-4444-555555555555");
        tree.proc("sys/kernel/osrelease", "6.18.0-test");
        for (name, value) in SYSCTLS {
            tree.proc(&format!("sys/{}", name.replace('.', "/")), value);
        }
        tree.nic(&NicLook::virtual_one("lo", 1, ""));
        tree.sys("class/net/lo/type", "772");
        tree.sys("class/net/lo/mtu", "65536");
        tree
    }

    /// Twenty CPUs as in NVIDIA's GB10: five Cortex-A725 and five Cortex-X925, twice, each ten with a cache of their own.
    pub(crate) fn gb10() -> Self {
        Self::with_cpus(20, "0-19", |cpu| {
            let (cluster, big) = (cpu / 10, cpu % 10 >= 5);
            let (part, capacity) = if big { (0xd85, 1024 - 30 * (1 - cluster)) } else { (0xd87, 718) };
            CpuLook {
                midr: 0x41 << 24 | 0xf << 16 | part << 4 | 1,
                capacity,
                cache: (cluster * 10, cluster * 10 + 9),
                sibling: None,
                node: 0,
            }
        })
    }

    pub(crate) fn proc_root(&self) -> PathBuf {
        self.folder.path().join("proc")
    }

    pub(crate) fn sys_root(&self) -> PathBuf {
        self.folder.path().join("sys")
    }

    pub(crate) fn roots(&self) -> tune::Roots {
        tune::Roots::at(self.proc_root(), self.sys_root())
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A file below `/proc`, with a newline as kernels write it.
    pub(crate) fn proc(&self, path: &str, text: &str) {
        put(&self.proc_root().join(path), text);
    }

    /// A file below `/sys`.
    pub(crate) fn sys(&self, path: &str, text: &str) {
        put(&self.sys_root().join(path), text);
    }

    pub(crate) fn read_sys(&self, path: &str) -> String {
        fs::read_to_string(self.sys_root().join(path)).expect("it was built").trim().to_owned()
    }

    pub(crate) fn read_proc(&self, path: &str) -> String {
        fs::read_to_string(self.proc_root().join(path)).expect("it was built").trim().to_owned()
    }

    fn interrupts_heading(&self) -> String {
        (0..self.cpus.min(4)).map(|cpu| format!("CPU{cpu} ")).collect()
    }

    /// An interface with its queues and interrupts.
    pub(crate) fn nic(&self, look: &NicLook<'_>) {
        let at = |file: &str| format!("class/net/{}/{file}", look.name);
        let index = fs::read_dir(self.sys_root().join("class/net")).map_or(0, Iterator::count) as u32 + 1;
        self.sys(&at("type"), "1");
        self.sys(&at("ifindex"), &index.to_string());
        self.sys(&at("iflink"), &(if look.device { index } else { index + 100 }).to_string());
        self.sys(&at("mtu"), "1500");
        self.sys(&at("operstate"), "up");
        self.sys(&at("carrier"), "1");
        let devtype = if look.devtype.is_empty() { String::new() } else { format!("DEVTYPE={}\n", look.devtype) };
        self.sys(&at("uevent"), &format!("{devtype}INTERFACE={}\n", look.name));
        let groups = (self.cpus as usize).div_ceil(32);
        let zero = vec!["00000000"; groups].join(",");
        for queue in 0..look.queues.0 {
            self.sys(&at(&format!("queues/rx-{queue}/rps_cpus")), &zero);
            self.sys(&at(&format!("queues/rx-{queue}/rps_flow_cnt")), "0");
        }
        for queue in 0..look.queues.1 {
            fs::create_dir_all(self.sys_root().join(at(&format!("queues/tx-{queue}")))).expect("writable");
            if look.queues.1 > 1 {
                self.sys(&at(&format!("queues/tx-{queue}/xps_cpus")), &zero);
            }
        }
        for lower in look.lowers {
            fs::create_dir_all(self.sys_root().join(at(&format!("lower_{lower}")))).expect("writable");
        }
        if look.device {
            self.sys(&at("device/numa_node"), "0");
            self.interrupts(look);
        }
    }

    fn interrupts(&self, look: &NicLook<'_>) {
        let mut table = self.read_proc("interrupts");
        let first = 30 + table.lines().count() as u32;
        let names = look.interrupts.iter().flat_map(|name| {
            let each = if name.contains("{}") { look.queues.0.max(look.queues.1) } else { 1 };
            (0..each).map(|queue| name.replace("{}", &queue.to_string()))
        });
        for (irq, name) in (first..).zip(names) {
            let name = name.replace("eth0", look.name);
            table.push_str(&format!("\n {irq}: {} PCI-MSIX 1-edge {name}", "0 ".repeat(self.cpus.min(4) as usize)));
            self.proc(&format!("irq/{irq}/smp_affinity_list"), &format!("0-{}", self.cpus - 1));
            self.sys(&format!("class/net/{}/device/msi_irqs/{irq}", look.name), "msix");
        }
        self.proc("interrupts", &table);
    }

    /// A frequency policy for these CPUs.
    pub(crate) fn policy(&self, number: u32, cpus: &str, governor: &str) {
        let at = |file: &str| format!("devices/system/cpu/cpufreq/policy{number}/{file}");
        self.sys(&at("affected_cpus"), cpus);
        self.sys(&at("scaling_governor"), governor);
        self.sys(&at("scaling_available_governors"), "performance powersave schedutil");
    }

    /// An idle state of a CPU.
    pub(crate) fn idle_state(&self, cpu: u32, state: u32, name: &str, latency_us: u32) {
        let at = |file: &str| format!("devices/system/cpu/cpu{cpu}/cpuidle/state{state}/{file}");
        self.sys(&at("name"), name);
        self.sys(&at("latency"), &latency_us.to_string());
        self.sys(&at("disable"), "0");
    }
}

const SYSCTLS: [(&str, &str); 16] = [
    ("net.core.busy_poll", "0"),
    ("net.core.busy_read", "0"),
    ("net.core.netdev_budget", "300"),
    ("net.core.netdev_budget_usecs", "2000"),
    ("net.core.netdev_max_backlog", "1000"),
    ("net.core.rmem_max", "212992"),
    ("net.core.rps_sock_flow_entries", "0"),
    ("net.core.somaxconn", "4096"),
    ("net.core.wmem_max", "212992"),
    ("net.ipv4.ip_local_port_range", "32768\t60999"),
    ("net.ipv4.ip_local_reserved_ports", ""),
    ("net.ipv4.tcp_max_syn_backlog", "2048"),
    ("net.ipv4.tcp_mtu_probing", "0"),
    ("net.ipv4.tcp_no_metrics_save", "0"),
    ("net.ipv4.tcp_slow_start_after_idle", "1"),
    ("net.ipv4.tcp_tw_reuse", "2"),
];

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("inside the tree")).expect("writable");
    fs::write(path, format!("{text}\n")).expect("writable");
}
