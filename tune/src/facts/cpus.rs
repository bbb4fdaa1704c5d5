//! CPUs: which there are, of what kind, what they share, how their clocks and idle states are governed.
//!
//! Always by number, never by count: numbers have gaps, and kinds lie in any order.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cpu_set::CpuSet;
use crate::limits::MAX_IDLE_STATES;
use crate::roots::{Roots, number, numbered, text};

/// All CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cpus {
    /// Those that run.
    pub online: CpuSet,
    /// Those that there are, running or not.
    pub present: CpuSet,
    /// Those kept free of other work by a boot option.
    pub isolated: CpuSet,
    /// Those this process may use.
    pub allowed: CpuSet,
    /// Whether two hardware threads share a core anywhere.
    pub smt_active: Option<bool>,
    /// Each online CPU, ascending.
    pub each: Vec<Cpu>,
    /// Clocks.
    pub policies: Vec<Policy>,
}

/// One CPU.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cpu {
    /// Its number.
    pub number: u32,
    /// What it is, as in `Cortex-X925`; equal for CPUs that are equally made.
    pub kind: String,
    /// Its strength, 1024 for the strongest; only where CPUs differ does it say something.
    pub capacity: Option<u32>,
    /// Its highest frequency.
    pub max_khz: Option<u64>,
    /// Its NUMA node.
    pub node: Option<u32>,
    /// Hardware threads of its core, itself among them.
    pub siblings: CpuSet,
    /// CPUs that share its last cache, itself among them.
    pub cache: CpuSet,
    /// That cache as the kernel says it, as in `L3 16384K`.
    pub cache_name: Option<String>,
    /// Idle states, from light to deep.
    pub idle_states: Vec<IdleState>,
}

/// One idle state of a CPU.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IdleState {
    /// Its number.
    pub number: u32,
    /// Its name, as in `C6`.
    pub name: String,
    /// How long it takes to leave it.
    pub exit_latency_us: u64,
    /// Whether it is switched off.
    pub disabled: bool,
}

/// CPUs with one clock.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Policy {
    /// Its number: that of its first CPU.
    pub number: u32,
    /// Its CPUs.
    pub cpus: CpuSet,
    /// Who governs it.
    pub governor: Option<String>,
    /// Who could.
    pub governors: Vec<String>,
    /// The driver.
    pub driver: Option<String>,
    /// The frequency now.
    pub now_khz: Option<u64>,
    /// The highest frequency it may have.
    pub max_khz: Option<u64>,
}

/// CPUs of one kind that share their last cache.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Group {
    /// Their kind.
    pub kind: String,
    /// Everybody who shares the cache, of whatever kind.
    pub cache: CpuSet,
    /// They.
    pub cpus: CpuSet,
}

impl Cpus {
    /// One of them, if it is online.
    #[must_use]
    pub fn cpu(&self, number: u32) -> Option<&Cpu> {
        let found = self.each.binary_search_by_key(&number, |cpu| cpu.number).ok()?;
        self.each.get(found)
    }

    /// Groups of equal CPUs that share a cache, by their first number.
    #[must_use]
    pub fn groups(&self) -> Vec<Group> {
        let mut groups: BTreeMap<(&str, &CpuSet), CpuSet> = BTreeMap::new();
        for cpu in &self.each {
            groups.entry((&cpu.kind, &cpu.cache)).or_default().insert(cpu.number);
        }
        let group = |((kind, cache), cpus): ((&str, &CpuSet), CpuSet)| Group {
            kind: kind.to_owned(),
            cache: cache.clone(),
            cpus,
        };
        let mut groups: Vec<Group> = groups.into_iter().map(group).collect();
        groups.sort_by_key(|group| group.cpus.first());
        groups
    }

    /// Who shares the last cache with a CPU; itself alone when it is not online.
    #[must_use]
    pub fn cache_of(&self, number: u32) -> CpuSet {
        self.cpu(number).map_or_else(|| CpuSet::from_iter([number]), |cpu| cpu.cache.clone())
    }

    /// These CPUs and the hardware threads that share a core with one of them.
    #[must_use]
    pub fn with_siblings(&self, cpus: &CpuSet) -> CpuSet {
        cpus.iter().filter_map(|number| self.cpu(number)).fold(cpus.clone(), |all, cpu| all.or(&cpu.siblings))
    }
}

pub(super) fn read(roots: &Roots) -> Cpus {
    let list = |name: &str| set(roots, name).unwrap_or_default();
    let online = list("devices/system/cpu/online");
    let status = text(&roots.proc("self/status")).unwrap_or_default();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let allowed = allowed.and_then(|list| CpuSet::from_list(list.trim()).ok());
    let models = models(roots);
    let cores = set(roots, "devices/cpu_core/cpus").zip(set(roots, "devices/cpu_atom/cpus"));
    let each: Vec<Cpu> = online
        .iter()
        .map(|number| {
            let mut cpu = cpu(roots, number, &online);
            cpu.kind = kind(roots, &cpu, models.get(&number).or_else(|| models.values().next()), cores.as_ref());
            cpu
        })
        .collect();
    Cpus {
        present: list("devices/system/cpu/present"),
        isolated: list("devices/system/cpu/isolated"),
        allowed: allowed.map_or_else(|| online.clone(), |allowed| allowed.and(&online)),
        smt_active: number::<u8>(&roots.sys("devices/system/cpu/smt/active")).map(|active| active == 1),
        policies: policies(roots),
        each,
        online,
    }
}

fn set(roots: &Roots, path: &str) -> Option<CpuSet> {
    CpuSet::from_list(&text(&roots.sys(path))?).ok()
}

fn cpu(roots: &Roots, number: u32, online: &CpuSet) -> Cpu {
    let folder = format!("devices/system/cpu/cpu{number}");
    let at = |file: &str| roots.sys(format!("{folder}/{file}"));
    let alone = CpuSet::from_iter([number]);
    let (cache_name, cache) = last_cache(roots, &folder).unzip();
    let package = set(roots, &format!("{folder}/topology/package_cpus_list"))
        .or_else(|| set(roots, &format!("{folder}/topology/core_siblings_list")));
    // A host that does not tell its caches is taken as one; so is a CPU that stands in no list of its own.
    let cache = cache.or(package).filter(|cache| cache.contains(number)).unwrap_or_else(|| online.clone());
    let siblings = set(roots, &format!("{folder}/topology/thread_siblings_list"));
    Cpu {
        number,
        kind: String::new(),
        capacity: crate::roots::number(&at("cpu_capacity")),
        max_khz: crate::roots::number(&at("cpufreq/cpuinfo_max_freq")),
        node: numbered(&roots.sys(&folder), "node").first().copied(),
        siblings: siblings.filter(|siblings| siblings.contains(number)).unwrap_or(alone).and(online),
        cache: cache.and(online),
        cache_name,
        idle_states: idle_states(roots, &folder),
    }
}

/// The highest level that holds data, and who shares it.
fn last_cache(roots: &Roots, folder: &str) -> Option<(String, CpuSet)> {
    let folder = format!("{folder}/cache");
    let caches = numbered(&roots.sys(&folder), "index").into_iter().filter_map(|index| {
        let at = |file: &str| text(&roots.sys(format!("{folder}/index{index}/{file}")));
        let level: u32 = at("level")?.parse().ok()?;
        let shared = CpuSet::from_list(&at("shared_cpu_list")?).ok()?;
        let holds_data = at("type").is_none_or(|kind| kind != "Instruction");
        holds_data
            .then(|| (level, format!("L{level} {}", at("size").unwrap_or_default()).trim_end().to_owned(), shared))
    });
    caches.max_by_key(|(level, ..)| *level).map(|(_, name, shared)| (name, shared))
}

fn idle_states(roots: &Roots, folder: &str) -> Vec<IdleState> {
    let folder = format!("{folder}/cpuidle");
    let state = |number: u32| {
        let at = |file: &str| text(&roots.sys(format!("{folder}/state{number}/{file}")));
        Some(IdleState {
            number,
            name: at("name")?,
            exit_latency_us: at("latency")?.parse().ok()?,
            disabled: at("disable")? != "0",
        })
    };
    let numbers = numbered(&roots.sys(&folder), "state").into_iter().filter(|number| *number < MAX_IDLE_STATES);
    numbers.filter_map(state).collect()
}

fn policies(roots: &Roots) -> Vec<Policy> {
    let folder = "devices/system/cpu/cpufreq";
    let policy = |number: u32| {
        let at = |file: &str| text(&roots.sys(format!("{folder}/policy{number}/{file}")));
        let cpus = at("affected_cpus").or_else(|| at("related_cpus")).unwrap_or_default();
        let numbers: Vec<&str> = cpus.split_ascii_whitespace().collect();
        Policy {
            number,
            // Blanks between the numbers here, where all else has commas.
            cpus: CpuSet::from_list(&numbers.join(",")).unwrap_or_default(),
            governor: at("scaling_governor"),
            governors: at("scaling_available_governors")
                .map(|names| names.split_ascii_whitespace().map(str::to_owned).collect())
                .unwrap_or_default(),
            driver: at("scaling_driver"),
            now_khz: at("scaling_cur_freq").and_then(|khz| khz.parse().ok()),
            max_khz: at("scaling_max_freq").and_then(|khz| khz.parse().ok()),
        }
    };
    numbered(&roots.sys(folder), "policy").into_iter().map(policy).collect()
}

/// Names of Arm's designs, by the part number in MIDR_EL1 (arch/arm64/include/asm/cputype.h).
const ARM_PARTS: [(u64, &str); 12] = [
    (0xd03, "Cortex-A53"),
    (0xd08, "Cortex-A72"),
    (0xd0b, "Cortex-A76"),
    (0xd0c, "Neoverse-N1"),
    (0xd40, "Neoverse-V1"),
    (0xd46, "Cortex-A510"),
    (0xd47, "Cortex-A710"),
    (0xd49, "Neoverse-N2"),
    (0xd4f, "Neoverse-V2"),
    (0xd83, "Neoverse-V3AE"),
    (0xd85, "Cortex-X925"),
    (0xd87, "Cortex-A725"),
];

/// What a CPU is: the design on Arm; elsewhere the model, and on a hybrid which of its two sorts. Without either, its capacity.
fn kind(roots: &Roots, cpu: &Cpu, model: Option<&String>, hybrid: Option<&(CpuSet, CpuSet)>) -> String {
    let midr = text(&roots.sys(format!("devices/system/cpu/cpu{}/regs/identification/midr_el1", cpu.number)));
    let midr = midr.and_then(|text| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok());
    if let Some(midr) = midr {
        let (implementer, part) = (midr >> 24 & 0xff, midr >> 4 & 0xfff);
        let arm = ARM_PARTS.iter().find(|(known, _)| implementer == 0x41 && *known == part);
        return arm
            .map_or_else(|| format!("implementer {implementer:#x} part {part:#x}"), |(_, name)| (*name).to_owned());
    }
    let model = model.map_or("unknown", String::as_str);
    match (hybrid, cpu.capacity) {
        (Some((cores, _)), _) if cores.contains(cpu.number) => format!("{model} P-core"),
        (Some((_, atoms)), _) if atoms.contains(cpu.number) => format!("{model} E-core"),
        (None, Some(capacity)) if capacity != 1024 => format!("{model} (capacity {capacity})"),
        _ => model.to_owned(),
    }
}

/// The model of each processor of `/proc/cpuinfo`; on Arm, which has none, its implementer and part.
fn models(roots: &Roots) -> BTreeMap<u32, String> {
    let info = text(&roots.proc("cpuinfo")).unwrap_or_default();
    let mut models = BTreeMap::new();
    for block in info.split("\n\n") {
        let field = |name: &str| {
            block.lines().find_map(|line| {
                let (key, value) = line.split_once(':')?;
                (key.trim() == name).then(|| value.trim().to_owned())
            })
        };
        let arm = || Some(format!("implementer {} part {}", field("CPU implementer")?, field("CPU part")?));
        let number = field("processor").and_then(|number| number.parse().ok());
        if let (Some(number), Some(model)) = (number, field("model name").or_else(arm)) {
            models.insert(number, model);
        }
    }
    models
}
