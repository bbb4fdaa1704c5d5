//! Governors, and for latency idle states, of the cores that the run uses.

use super::draft::{Because, Draft};
use crate::limits::IDLE_LATENCY_US;
use crate::plan::Profile;
use crate::setting::Setting;

pub(super) fn govern(draft: &mut Draft<'_>) {
    let facts = draft.facts;
    // The seed script sets the governor of every CPU.
    let used = match draft.request.profile {
        Profile::Seed => facts.cpus.online.clone(),
        Profile::Throughput | Profile::Latency => draft.request.all_cores(),
    };
    let policies: Vec<_> =
        facts.cpus.policies.iter().filter(|policy| policy.cpus.iter().any(|cpu| used.contains(cpu))).collect();
    if policies.is_empty() {
        draft.unsupported(
            "cpufreq governor",
            "the kernel does not govern frequencies here, as in most virtual machines",
        );
    }
    for policy in policies {
        let setting = Setting::Governor { policy: policy.number };
        if !policy.governors.is_empty() && !policy.governors.iter().any(|known| known == "performance") {
            draft.unsupported(setting.to_string(), format!("its governors are {}", policy.governors.join(", ")));
            continue;
        }
        let reason = format!("CPUs {} shall not change their clock during a run", policy.cpus);
        draft.want(
            setting,
            "performance",
            Because { reason: &reason, source: "kernel: admin-guide/pm/cpufreq.rst", optional: false },
        );
    }
    if draft.request.profile == Profile::Latency {
        stay_awake(draft);
    }
}

/// Deep idle states of the used cores are switched off; the light ones stay, so that a hot core's neighbours can still be cool.
fn stay_awake(draft: &mut Draft<'_>) {
    let used = draft.request.all_cores();
    let facts = draft.facts;
    let mut any = false;
    for cpu in facts.cpus.each.iter().filter(|cpu| used.contains(cpu.number)) {
        any |= !cpu.idle_states.is_empty();
        for state in cpu.idle_states.iter().filter(|state| state.exit_latency_us > IDLE_LATENCY_US) {
            let reason = format!("leaving {} takes {} us", state.name, state.exit_latency_us);
            let because = Because { reason: &reason, source: "kernel: admin-guide/pm/cpuidle.rst", optional: true };
            draft.want(Setting::IdleState { cpu: cpu.number, state: state.number }, "1", because);
        }
    }
    if !any {
        draft.unsupported("idle states", "the kernel does not manage idle states here, as in most virtual machines");
    }
}
