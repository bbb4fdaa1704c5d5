//! A plan: what would be changed, from what to what, in which order and why; and what is left to people. Made by the rules.

use std::fmt;
use std::str::FromStr;

use results::reader::Schema;
use serde::{Deserialize, Serialize};

use crate::cpu_set::CpuSet;
use crate::limits::DEFAULT_CONNECTIONS;
use crate::setting::Setting;

/// The plan's document.
pub const SCHEMA: Schema = Schema { name: "zapring.tune_plan", major: 1, minor: 0 };

/// What the host is to be tuned for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// Most requests per second.
    #[default]
    Throughput,
    /// Shortest answers.
    Latency,
    /// What the script of the project this one grew out of sets, for comparison with it.
    Seed,
}

/// Which side of a run the cores belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It is connected to.
    #[default]
    Server,
    /// It connects.
    Loader,
    /// Both run here.
    Both,
}

/// How long the rings shall be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rings {
    /// Doubled where the device has lost packets for want of entries, else left.
    #[default]
    OnDrops,
    /// As long as the device has them.
    Max,
    /// So many entries, or the most the device has.
    Entries(u32),
}

/// A part of the plan that can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Area {
    /// Governors and idle states.
    Cpu,
    /// What `ethtool` sets, and the MTU.
    Device,
    /// Interrupt affinity.
    Interrupts,
    /// RPS, RFS and XPS.
    Steering,
    /// Sysctls.
    Sysctl,
}

macro_rules! words {
    ($type:ty, $what:literal, $($variant:ident => $word:literal),+) => {
        impl $type {
            /// Every one of them.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The word for it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let found = Self::ALL.iter().copied().find(|known| known.name() == text);
                let names: Vec<&str> = Self::ALL.iter().map(|known| known.name()).collect();
                found.ok_or_else(|| format!("unknown {} {text:?}; there are: {}", $what, names.join(", ")))
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(self.name())
            }
        }
    };
}

words!(Profile, "profile", Throughput => "throughput", Latency => "latency", Seed => "seed");
words!(Role, "role", Server => "server", Loader => "loader", Both => "both");
words!(Area, "area", Cpu => "cpu", Device => "device", Interrupts => "interrupts", Steering => "steering", Sysctl => "sysctl");

/// `on-drops`, `max` or a number.
impl FromStr for Rings {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "on-drops" => Ok(Self::OnDrops),
            "max" => Ok(Self::Max),
            number => match number.parse() {
                Ok(entries) if entries > 0 => Ok(Self::Entries(entries)),
                _ => Err(format!("\"{text}\" is none of on-drops, max and a number of entries above 0")),
            },
        }
    }
}

/// What somebody wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The interface that carries the load; none for loopback and the host's own settings alone.
    pub nic: Option<String>,
    /// Cores of the workers, in the order of their threads: queue i goes with the i-th of them.
    pub cores: Vec<u32>,
    /// Cores of a loader on the same host, which must not get the server's interrupts.
    pub loader_cores: CpuSet,
    /// Cores that interrupts go to instead of the workers' own.
    pub irq_cores: Vec<u32>,
    /// Which side the workers are.
    pub role: Role,
    /// What for.
    pub profile: Profile,
    /// How long the rings shall be.
    pub rings: Rings,
    /// How many queues the device shall have; none for as many as there are workers.
    pub queues: Option<u32>,
    /// Largest packet in bytes; none to leave it.
    pub mtu_bytes: Option<u32>,
    /// Connections that flow steering is sized for.
    pub connections: u32,
    /// What is left alone.
    pub without: Vec<Area>,
}

impl Request {
    /// A server on these cores, for throughput.
    #[must_use]
    pub fn new(cores: Vec<u32>) -> Self {
        Self {
            nic: None,
            cores,
            loader_cores: CpuSet::default(),
            irq_cores: Vec::new(),
            role: Role::default(),
            profile: Profile::default(),
            rings: Rings::default(),
            queues: None,
            mtu_bytes: None,
            connections: DEFAULT_CONNECTIONS,
            without: Vec::new(),
        }
    }

    /// The workers as a set.
    #[must_use]
    pub fn workers(&self) -> CpuSet {
        self.cores.iter().copied().collect()
    }

    /// Every core that the run uses.
    #[must_use]
    pub fn all_cores(&self) -> CpuSet {
        self.workers().or(&self.loader_cores).or(&self.irq_cores.iter().copied().collect())
    }

    /// Cores that interrupts go to, in the order of the queues.
    #[must_use]
    pub fn interrupt_cores(&self) -> &[u32] {
        if self.irq_cores.is_empty() { &self.cores } else { &self.irq_cores }
    }
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Which setting, as people name it.
    pub what: String,
    /// Which setting.
    pub setting: Setting,
    /// Its value now.
    pub from: String,
    /// The value wanted.
    pub to: String,
    /// Why.
    pub reason: String,
    /// Where that is known from.
    pub source: String,
    /// Whether the rest stands when this is refused.
    pub optional: bool,
}

/// A setting that already has the value wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// Which.
    pub what: String,
    /// Its value.
    pub value: String,
}

/// Something that the rules wanted and this host does not have, or that only people can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// What it is about.
    pub what: String,
    /// Why, and where there is a command that mends it, that command.
    pub why: String,
}

/// What would be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Always `zapring.tune_plan`.
    pub schema: String,
    /// Fields were removed or changed.
    pub schema_major: u32,
    /// Fields were added.
    pub schema_minor: u32,
    /// What was asked for.
    pub request: Request,
    /// Changes, in order: what resets a link comes first.
    pub steps: Vec<Step>,
    /// What is as it should be.
    pub settled: Vec<Settled>,
    /// What this host does not have.
    pub unsupported: Vec<Note>,
    /// What nobody but people should do.
    pub advice: Vec<Note>,
}

impl Plan {
    /// The steps that reset a device, before which queues and interrupts behind them are not known for certain.
    #[must_use]
    pub fn resets(&self) -> Vec<Step> {
        self.steps.iter().filter(|step| step.setting.resets_link()).cloned().collect()
    }

    /// All the others.
    #[must_use]
    pub fn rest(&self) -> Vec<Step> {
        self.steps.iter().filter(|step| !step.setting.resets_link()).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back_and_errors_name_them() {
        for profile in Profile::ALL {
            assert_eq!(profile.name().parse(), Ok(*profile));
        }
        let error = "fast".parse::<Profile>().expect_err("no profile");
        assert_eq!(error, "unknown profile \"fast\"; there are: throughput, latency, seed");
        assert_eq!("1024".parse(), Ok(Rings::Entries(1024)));
        assert_eq!(("max".parse(), "on-drops".parse()), (Ok(Rings::Max), Ok(Rings::OnDrops)));
        assert!("0".parse::<Rings>().is_err() && "-1".parse::<Rings>().is_err());
    }
}
