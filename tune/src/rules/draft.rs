//! A plan while it is made: what is wanted is compared with what is, and falls into its place.

use crate::facts::Facts;
use crate::plan::{Note, Plan, Request, SCHEMA, Settled, Step};
use crate::setting::Setting;

/// A plan in the making.
pub(super) struct Draft<'a> {
    pub(super) facts: &'a Facts,
    pub(super) request: &'a Request,
    /// Whether queues are taken as they are.
    pub(super) as_is: bool,
    steps: Vec<Step>,
    settled: Vec<Settled>,
    unsupported: Vec<Note>,
    advice: Vec<Note>,
}

/// Why a value is wanted, and how badly.
#[derive(Clone, Copy)]
pub(super) struct Because<'a> {
    pub(super) reason: &'a str,
    pub(super) source: &'a str,
    /// Whether the rest stands when it is refused.
    pub(super) optional: bool,
}

/// The kernel's Documentation/networking/scaling.rst.
pub(super) const SCALING: &str = "kernel: networking/scaling.rst";
/// The kernel's Documentation/networking/ip-sysctl.rst.
pub(super) const IP_SYSCTL: &str = "kernel: networking/ip-sysctl.rst";
/// The kernel's Documentation/admin-guide/sysctl/net.rst.
pub(super) const NET_SYSCTL: &str = "kernel: admin-guide/sysctl/net.rst";
/// The script of the project this one grew out of.
pub(super) const SEED: &str = "seed script";

impl<'a> Draft<'a> {
    pub(super) fn new(facts: &'a Facts, request: &'a Request, as_is: bool) -> Self {
        Self {
            facts,
            request,
            as_is,
            steps: Vec::new(),
            settled: Vec::new(),
            unsupported: Vec::new(),
            advice: Vec::new(),
        }
    }

    /// A value is wanted. Where it is there already, that is said; where the setting does not exist, that is too.
    pub(super) fn want(&mut self, setting: Setting, to: impl Into<String>, because: Because<'_>) {
        let (what, to) = (setting.to_string(), to.into());
        let Some(from) = self.facts.value(&setting) else {
            let why = missing(&setting);
            if !self.unsupported.iter().any(|note| note.what == what) {
                self.unsupported.push(Note { what, why });
            }
            return;
        };
        if setting.same(&from, &to) {
            self.settled.push(Settled { what, value: from });
            return;
        }
        let Because { reason, source, optional } = because;
        let step = Step { what, setting, from, to, reason: reason.to_owned(), source: source.to_owned(), optional };
        self.steps.push(step);
    }

    /// Only where the setting exists; else nothing is said.
    pub(super) fn want_if_there(&mut self, setting: Setting, to: impl Into<String>, because: Because<'_>) {
        if self.facts.value(&setting).is_some() {
            self.want(setting, to, because);
        }
    }

    pub(super) fn unsupported(&mut self, what: impl Into<String>, why: impl Into<String>) {
        self.unsupported.push(Note { what: what.into(), why: why.into() });
    }

    pub(super) fn advise(&mut self, what: impl Into<String>, why: impl Into<String>) {
        self.advice.push(Note { what: what.into(), why: why.into() });
    }

    /// Steps that reset a device go to the front; else the order in which they were wanted stays.
    pub(super) fn finish(mut self) -> Plan {
        self.steps.sort_by_key(|step| !step.setting.resets_link());
        Plan {
            schema: SCHEMA.name.to_owned(),
            schema_major: SCHEMA.major,
            schema_minor: SCHEMA.minor,
            request: self.request.clone(),
            steps: self.steps,
            settled: self.settled,
            unsupported: self.unsupported,
            advice: self.advice,
        }
    }
}

fn missing(setting: &Setting) -> String {
    match setting {
        Setting::Sysctl { .. } => "this kernel or network namespace does not have it".to_owned(),
        Setting::Governor { .. } => "the kernel does not govern the frequency of this CPU".to_owned(),
        Setting::IdleState { .. } => "the kernel does not manage idle states of this CPU".to_owned(),
        Setting::Interrupt { .. } => "its affinity cannot be read".to_owned(),
        Setting::Rps { .. } | Setting::RpsFlows { .. } => "this kernel was built without RPS".to_owned(),
        Setting::Xps { .. } => "the kernel does not tell it for this queue".to_owned(),
        Setting::Mtu { .. } => "the interface has none".to_owned(),
        Setting::Device { .. } => "the driver does not have it".to_owned(),
    }
}
