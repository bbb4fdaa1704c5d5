//! From facts and a wish to a plan: pure functions, no file, no clock. Each file decides about one part of the host.

mod advice;
mod clocks;
mod device;
mod draft;
mod interrupts;
mod steering;
mod sysctls;

use crate::cpu_set::CpuSet;
use crate::facts::{Facts, Nic, NicKind};
use crate::plan::{Area, Plan, Request, Role};
use draft::Draft;

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// No such interface.
    #[error("there is no network interface {nic}; there are: {known}")]
    NoNic {
        /// The name that was given.
        nic: String,
        /// Those that there are.
        known: String,
    },
    /// No cores for the workers.
    #[error("no cores were given; name those of the workers, as in --cores 2-5")]
    NoCores,
    /// Cores that are not there.
    #[error("CPUs {cpus} are not online; online are {online}")]
    Offline {
        /// Those that are not.
        cpus: CpuSet,
        /// Those that are.
        online: CpuSet,
    },
    /// A core on both sides.
    #[error("CPUs {cpus} are among the workers and among the loader's cores; each core belongs to one side")]
    Overlap {
        /// Those.
        cpus: CpuSet,
    },
    /// Both sides without a division.
    #[error("with --role both, name the loader's part too, as in --cores 0-3 --loader-cores 4-7")]
    NoLoaderCores,
    /// A packet size that no link has.
    #[error("an MTU of {mtu_bytes} bytes is none: it is 68 to 65536")]
    Mtu {
        /// What was given.
        mtu_bytes: u32,
    },
    /// A number of queues that no device has.
    #[error("{nic} cannot have {queues} queues: it has 1 to {max}")]
    Queues {
        /// The interface.
        nic: String,
        /// What was given.
        queues: u32,
        /// The most there are.
        max: u32,
    },
    /// Something to be set on an interface, and none named.
    #[error("{option} needs an interface: name one, or the peer it leads to with --peer")]
    NeedsNic {
        /// What was given.
        option: &'static str,
    },
}

/// Makes the plan.
///
/// # Errors
/// [`RuleError`]: the request does not fit this host.
pub fn plan(facts: &Facts, request: &Request) -> Result<Plan, RuleError> {
    make(facts, request, false)
}

/// Makes the plan of what is left once devices were reset: for the queues that there are now, whatever was wanted.
///
/// # Errors
/// As [`plan`].
pub fn plan_rest(facts: &Facts, request: &Request) -> Result<Plan, RuleError> {
    make(facts, request, true)
}

fn make(facts: &Facts, request: &Request, as_is: bool) -> Result<Plan, RuleError> {
    check(facts, request)?;
    let nics = carriers(facts, request);
    let mut draft = Draft::new(facts, request, as_is);
    let wants = |area| !request.without.contains(&area);
    if wants(Area::Device) {
        nics.iter().filter(|_| !as_is).for_each(|nic| device::resets(&mut draft, nic));
        if let Some(nic) = &request.nic {
            device::mtu(&mut draft, nic);
        }
        nics.iter().for_each(|nic| device::others(&mut draft, nic));
    }
    if wants(Area::Interrupts) {
        nics.iter().for_each(|nic| interrupts::affinity(&mut draft, nic));
    }
    if wants(Area::Steering) {
        steering::steer(&mut draft, &nics);
    }
    if wants(Area::Sysctl) {
        sysctls::set(&mut draft, &nics);
    }
    if wants(Area::Cpu) {
        clocks::govern(&mut draft);
    }
    advice::give(&mut draft, &nics);
    Ok(draft.finish())
}

fn check(facts: &Facts, request: &Request) -> Result<(), RuleError> {
    if request.cores.is_empty() {
        return Err(RuleError::NoCores);
    }
    let offline = request.all_cores().without(&facts.cpus.online);
    if !offline.is_empty() {
        return Err(RuleError::Offline { cpus: offline, online: facts.cpus.online.clone() });
    }
    let both = request.workers().and(&request.loader_cores);
    if !both.is_empty() {
        return Err(RuleError::Overlap { cpus: both });
    }
    if request.role == Role::Both && request.loader_cores.is_empty() {
        return Err(RuleError::NoLoaderCores);
    }
    if let Some(mtu_bytes) = request.mtu_bytes.filter(|mtu| !(68..=65_536).contains(mtu)) {
        return Err(RuleError::Mtu { mtu_bytes });
    }
    let Some(name) = &request.nic else {
        let set = [(request.mtu_bytes.is_some(), "--mtu"), (request.queues.is_some(), "--queues")];
        return match set.into_iter().find(|(given, _)| *given) {
            Some((_, option)) => Err(RuleError::NeedsNic { option }),
            None => Ok(()),
        };
    };
    let nic = facts.nic(name).ok_or_else(|| {
        let known: Vec<&str> = facts.nics.iter().map(|nic| nic.name.as_str()).collect();
        RuleError::NoNic {
            nic: name.clone(),
            known: if known.is_empty() { "none".to_owned() } else { known.join(", ") },
        }
    })?;
    match request.queues {
        Some(queues) if queues == 0 || queues > device::most_queues(nic) => {
            Err(RuleError::Queues { nic: name.clone(), queues, max: device::most_queues(nic) })
        }
        _ => Ok(()),
    }
}

/// The interfaces that do the work: the one named, or those below it where it only stands for them.
fn carriers<'a>(facts: &'a Facts, request: &Request) -> Vec<&'a Nic> {
    let Some(nic) = request.nic.as_deref().and_then(|name| facts.nic(name)) else { return Vec::new() };
    let below = |nic: &'a Nic| -> Vec<&'a Nic> { nic.lowers.iter().filter_map(|name| facts.nic(name)).collect() };
    match nic.kind {
        NicKind::Bond | NicKind::Bridge | NicKind::Vlan | NicKind::Virtual if !nic.lowers.is_empty() => {
            // A VLAN on a bond: once more.
            let lowers = below(nic).into_iter();
            lowers.flat_map(|lower| if lower.lowers.is_empty() { vec![lower] } else { below(lower) }).collect()
        }
        _ => vec![nic],
    }
}
