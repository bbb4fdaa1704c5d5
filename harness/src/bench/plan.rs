//! What a bench is asked to do.

use std::path::PathBuf;
use std::time::Duration;

use crate::bench::BenchError;
use crate::cores::CoreLayout;
use crate::host::HostFiles;
use crate::levels::Levels;
use crate::rig::{Rig, Target};

/// A bench to be made.
#[derive(Debug, Clone)]
pub struct BenchPlan {
    /// What was typed, for the record.
    pub command: Vec<String>,
    /// What is started, on which cores, and for how long; the last of its targets is compared with the first.
    pub rig: Rig,
    /// Connection counts.
    pub levels: Levels,
    /// Version for the record.
    pub zapring_version: String,
    /// Where facts about the host are read.
    pub host: HostFiles,
}

impl BenchPlan {
    /// The default bench: `/health` over `http` and `zap`, 1, 8, 64 and 256 connections, 3 s each after 1 s of warm-up.
    #[must_use]
    pub fn new(exe: PathBuf, cores: CoreLayout, zapring_version: &str) -> Self {
        let targets = vec![Target::new("http", "/health"), Target::new("zap", "/health")];
        Self {
            command: Vec::new(),
            rig: Rig::new(exe, targets, cores),
            levels: Levels::default(),
            zapring_version: zapring_version.to_owned(),
            host: HostFiles::live(),
        }
    }

    /// Every run in order: level by level, the wires interleaved within each.
    pub fn runs(&self) -> impl Iterator<Item = (u32, &Target)> {
        self.levels.as_slice().iter().flat_map(|level| self.rig.targets.iter().map(|target| (*level, target)))
    }

    /// About how long the bench takes, without starting and connecting.
    #[must_use]
    pub fn expected(&self) -> Duration {
        let runs = u32::try_from(self.runs().count()).unwrap_or(u32::MAX);
        (self.rig.warmup.saturating_add(self.rig.duration)).saturating_mul(runs)
    }

    /// Checks what the types do not.
    ///
    /// # Errors
    /// [`BenchError::Plan`].
    pub fn check(&self) -> Result<(), BenchError> {
        self.rig.problem().map_or(Ok(()), |reason| Err(BenchError::Plan { reason }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> BenchPlan {
        let cores = CoreLayout::split(&"0-7".parse().expect("a valid list"));
        let mut plan = BenchPlan::new(PathBuf::from("/x/zapring"), cores, "0.0.0");
        plan.levels = "1,64".parse().expect("a valid ramp");
        plan
    }

    #[test]
    fn wires_are_interleaved_within_each_level() {
        let runs: Vec<_> = plan().runs().map(|(level, target)| format!("{}/{level}", target.wire)).collect();
        assert_eq!(runs, ["http/1", "zap/1", "http/64", "zap/64"]);
        assert_eq!(plan().expected(), Duration::from_secs(16));
    }

    #[test]
    fn nonsense_is_refused() {
        let mut none = plan();
        none.rig.targets.clear();
        assert!(none.check().is_err());
        let mut short = plan();
        short.rig.duration = Duration::ZERO;
        assert!(short.check().is_err());
    }
}
