//! What a sweep is asked to do, and the settings that follow from it: the base, the base again, and the base with one factor changed.

use std::time::Duration;

use results::sweep::{Change, Setting, Side};

use crate::host::HostFiles;
use crate::limits::{MAX_ROUNDS, MAX_SETTINGS, MIN_ROUNDS};
use crate::rig::{Rig, Target};
use crate::sweep::SweepError;

/// One thing that is varied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Factor {
    /// Its name, as in `ring-entries`: the argument without its dashes.
    pub name: String,
    /// Its value in the base.
    pub base: String,
    /// Values to try; the base's own among them is not tried again.
    pub values: Vec<String>,
}

/// A sweep to be made.
#[derive(Debug, Clone)]
pub struct SweepPlan {
    /// What was typed, for the record.
    pub command: Vec<String>,
    /// What is started, on which cores, and for how long. Its first target is driven.
    pub rig: Rig,
    /// Connections of every run.
    pub connections: u32,
    /// Which side gets the settings.
    pub side: Side,
    /// What is varied.
    pub factors: Vec<Factor>,
    /// How often every setting is run.
    pub rounds: u32,
    /// Version for the record.
    pub zapring_version: String,
    /// Where facts about the host are read.
    pub host: HostFiles,
}

impl SweepPlan {
    /// 64 connections, the server's side, five rounds; nothing varied yet.
    #[must_use]
    pub fn new(rig: Rig, zapring_version: &str) -> Self {
        Self {
            command: Vec::new(),
            rig,
            connections: 64,
            side: Side::Server,
            factors: Vec::new(),
            rounds: 5,
            zapring_version: zapring_version.to_owned(),
            host: HostFiles::live(),
        }
    }

    /// Every setting, without its points. One factor at a time: the full product would take hours and say little more.
    #[must_use]
    pub fn settings(&self) -> Vec<Setting> {
        let plain = |again| Setting { again, args: self.args(None), ..Setting::default() };
        let mut settings = vec![plain(false), plain(true)];
        for factor in &self.factors {
            for value in factor.values.iter().filter(|value| **value != factor.base) {
                let (name, value, base) = (factor.name.clone(), value.clone(), factor.base.clone());
                let change = Change { factor: name, value, base };
                settings.push(Setting { args: self.args(Some(&change)), change: Some(change), ..Setting::default() });
            }
        }
        settings
    }

    /// The arguments of a setting: every factor is named, so that nothing hangs on the program's defaults.
    fn args(&self, change: Option<&Change>) -> Vec<String> {
        let value = |factor: &Factor| {
            let changed = change.filter(|change| change.factor == factor.name);
            changed.map_or_else(|| factor.base.clone(), |change| change.value.clone())
        };
        self.factors.iter().flat_map(|factor| [format!("--{}", factor.name), value(factor)]).collect()
    }

    /// The rig with these arguments on the swept side.
    pub(super) fn rig_with(&self, args: &[String]) -> Rig {
        let mut rig = self.rig.clone();
        if matches!(self.side, Side::Server | Side::Both) {
            rig.server_args.extend_from_slice(args);
        }
        if matches!(self.side, Side::Loader | Side::Both) {
            rig.loader_args.extend_from_slice(args);
        }
        rig
    }

    /// What is driven.
    pub(super) fn target(&self) -> &Target {
        &self.rig.targets[0]
    }

    /// About how long the sweep takes, without starting and connecting.
    #[must_use]
    pub fn expected(&self) -> Duration {
        self.rig.warmup.saturating_add(self.rig.duration).saturating_mul(self.runs())
    }

    /// Runs in all.
    #[must_use]
    pub fn runs(&self) -> u32 {
        u32::try_from(self.settings().len()).unwrap_or(u32::MAX).saturating_mul(self.rounds)
    }

    /// Checks what the types do not.
    ///
    /// # Errors
    /// [`SweepError::Plan`].
    pub fn check(&self) -> Result<(), SweepError> {
        match self.problem() {
            Some(reason) => Err(SweepError::Plan { reason }),
            None => Ok(()),
        }
    }

    fn problem(&self) -> Option<String> {
        if let Some(reason) = self.rig.problem() {
            return Some(reason.to_owned());
        }
        if self.connections == 0 {
            return Some("0 connections carry nothing; give at least 1".to_owned());
        }
        if !(MIN_ROUNDS..=MAX_ROUNDS).contains(&self.rounds) {
            let given = self.rounds;
            return Some(format!(
                "{given} rounds: it must be from {MIN_ROUNDS}, fewer have no interval, to {MAX_ROUNDS}"
            ));
        }
        for factor in &self.factors {
            let twice = |(index, value): (usize, &String)| factor.values[..index].contains(value);
            if let Some((_, value)) = factor.values.iter().enumerate().find(|pair| twice(*pair)) {
                return Some(format!("--{} names {value} twice; name each value once", factor.name));
            }
        }
        match self.settings().len() {
            ..3 => Some("no value differs from the base, so there is nothing to compare; name other values".to_owned()),
            count if count > MAX_SETTINGS => {
                Some(format!("{count} settings are more than {MAX_SETTINGS}; name fewer values"))
            }
            _ => None,
        }
    }
}

/// What a setting is called: `base`, `base again` or `buffers 64`.
pub(super) fn name(setting: &Setting) -> String {
    match &setting.change {
        Some(change) => format!("{} {}", change.factor, change.value),
        None if setting.again => "base again".to_owned(),
        None => "base".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::CoreLayout;

    fn factor(name: &str, base: &str, values: &[&str]) -> Factor {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        Factor { name: name.to_owned(), base: base.to_owned(), values }
    }

    fn plan() -> SweepPlan {
        let cores = CoreLayout::split(&"0-1".parse().expect("a valid list"));
        let mut plan =
            SweepPlan::new(Rig::new("/x/zapring".into(), vec![Target::new("http", "/health")], cores), "0.0.0");
        plan.factors =
            vec![factor("ring-entries", "1024", &["64", "1024"]), factor("min-wait", "0us", &["0us", "20us", "50us"])];
        plan
    }

    #[test]
    fn one_factor_at_a_time_around_the_base() {
        let settings = plan().settings();
        let names: Vec<String> = settings.iter().map(name).collect();
        assert_eq!(names, ["base", "base again", "ring-entries 64", "min-wait 20us", "min-wait 50us"]);
        let args: Vec<String> = settings.iter().map(|setting| setting.args.join(" ")).collect();
        assert_eq!(args[0], "--ring-entries 1024 --min-wait 0us");
        assert_eq!(args[1], args[0]);
        assert_eq!(args[2], "--ring-entries 64 --min-wait 0us");
        assert_eq!(args[4], "--ring-entries 1024 --min-wait 50us");
        assert_eq!((plan().runs(), plan().expected()), (25, Duration::from_secs(100)));
    }

    #[test]
    fn only_the_swept_side_gets_them() {
        let mut plan = plan();
        let args = ["--buffers".to_owned(), "64".to_owned()];
        for (side, server, loader) in [(Side::Server, 2, 0), (Side::Loader, 0, 2), (Side::Both, 2, 2)] {
            plan.side = side;
            let rig = plan.rig_with(&args);
            assert_eq!((rig.server_args.len(), rig.loader_args.len()), (server, loader), "{side:?}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_what_would_be_right() {
        let wrong = |change: &dyn Fn(&mut SweepPlan)| {
            let mut plan = plan();
            change(&mut plan);
            plan.check().expect_err("it was made wrong").to_string()
        };
        assert!(plan().check().is_ok());
        assert!(wrong(&|plan| plan.rounds = 2).contains("it must be from 3"));
        assert!(wrong(&|plan| plan.connections = 0).contains("at least 1"));
        assert!(wrong(&|plan| plan.factors.clear()).contains("nothing to compare"));
        assert!(wrong(&|plan| plan.factors = vec![factor("buffers", "64", &["64"])]).contains("nothing to compare"));
        let twice = wrong(&|plan| plan.factors = vec![factor("buffers", "64", &["32", "32"])]);
        assert_eq!(twice, "--buffers names 32 twice; name each value once");
        let many: Vec<String> = (0..100).map(|value| value.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(wrong(&|plan| plan.factors = vec![factor("buffers", "x", &many)]).contains("more than 64"));
    }
}
