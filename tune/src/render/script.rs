//! A plan as two POSIX scripts that people can read before they run them: one that does it, one that undoes it.
//!
//! They need nothing of this program: a shell, and `ethtool` where a device is set. The first saves every old value in a file before
//! it changes it, and does not run over a file that is there; the second reads that file.

use std::fmt::Write as _;

use crate::plan::{Plan, Step};
use crate::roots::Roots;
use crate::setting::Setting;

/// The two scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scripts {
    /// Does it.
    pub apply: String,
    /// Undoes it.
    pub undo: String,
}

/// What both begin with: how a setting is read, written and compared.
const COMMON: &str = include_str!("setting.sh.in");

/// What only the first needs: noting, setting, checking, and going back.
const DOING: &str = include_str!("doing.sh.in");

/// What only the second needs.
const UNDOING: &str = include_str!("undoing.sh.in");

/// Writes both. `name` stands in their comments and in the name of the file with the old values; `about` says for which host.
#[must_use]
pub fn scripts(plan: &Plan, name: &str, about: &str) -> Scripts {
    let request = &plan.request;
    let nic = request.nic.as_deref().unwrap_or("lo");
    let head = |verb: &str| {
        let mut head = format!("#!/bin/sh\n# {verb} ({}, {}, for {about}).\n", request.profile, request.role);
        head.push_str("# Made by `zapring tune plan --script`; run as root.\n");
        let _ =
            write!(head, "set -eu\n\nnic=${{NIC:-{nic}}}\nstate=${{STATE:-/var/lib/zapring/script-{name}.state}}\n\n");
        head
    };
    let mut apply = head(&format!("Tunes the host: {name}"));
    apply.push_str(COMMON);
    apply.push_str(DOING);
    for step in &plan.steps {
        let _ = write!(apply, "\n# {} Source: {}.\n{}\n", sentence(&step.reason), step.source, line(step, nic));
    }
    for note in &plan.advice {
        let _ = write!(apply, "\n# Left to you: {}: {}\n", note.what, note.why);
    }
    apply.push_str("\nfinish\n");
    let mut undo = head(&format!("Undoes what the script {name} did"));
    undo.push_str(COMMON);
    undo.push_str(UNDOING);
    for step in plan.steps.iter().rev() {
        let _ = writeln!(undo, "back {}", place(&step.setting, nic));
    }
    undo.push_str("\nfinish\n");
    Scripts { apply, undo }
}

fn sentence(reason: &str) -> String {
    let mut letters = reason.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

fn line(step: &Step, nic: &str) -> String {
    let need = if step.optional { "optional" } else { "needed" };
    format!("put {need} {} {}", place(&step.setting, nic), quoted(&step.to))
}

/// Kind and place of a setting, as the functions of the scripts take them.
fn place(setting: &Setting, main: &str) -> String {
    let named = |nic: &str| if nic == main { "$nic".to_owned() } else { nic.to_owned() };
    let path = || setting.path(&Roots::live()).expect("rules name no paths").display().to_string();
    match setting {
        Setting::Device { nic, knob } => {
            let (option, word) = knob.ethtool();
            format!("ethtool \"{} {option} {word}\"", named(nic))
        }
        // By its name: numbers change.
        Setting::Interrupt { nic, action, .. } => {
            let action = if nic == main { action.replacen(nic, "$nic", 1) } else { action.clone() };
            format!("irq \"{action}\"")
        }
        Setting::Rps { nic, .. } | Setting::Xps { nic, .. } => {
            format!("mask \"{}\"", path().replacen(&format!("/net/{nic}/"), &format!("/net/{}/", named(nic)), 1))
        }
        Setting::RpsFlows { nic, .. } | Setting::Mtu { nic } => {
            format!("plain \"{}\"", path().replacen(&format!("/net/{nic}/"), &format!("/net/{}/", named(nic)), 1))
        }
        Setting::Sysctl { .. } | Setting::Governor { .. } | Setting::IdleState { .. } => format!("plain {}", path()),
    }
}

fn quoted(value: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.,".contains(letter);
    if !value.is_empty() && value.chars().all(plain) { value.to_owned() } else { format!("'{value}'") }
}
