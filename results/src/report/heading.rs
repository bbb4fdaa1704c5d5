//! The first line of a document of several runs: what made it, when, and on what.

use crate::environment::Environment;

/// As in `zapring 0.1.0 bench, 2026-11-30T13:35:33.042Z, Linux 6.18.0 x86_64, Example CPU`.
pub(crate) fn heading(kind: &str, started_at: &str, environment: &Environment) -> String {
    let unknown = || "unknown".to_owned();
    format!(
        "zapring {} {kind}, {started_at}, Linux {} {}, {}",
        environment.zapring_version,
        environment.kernel_release.clone().unwrap_or_else(unknown),
        environment.architecture,
        environment.cpu_model.clone().unwrap_or_else(unknown),
    )
}
