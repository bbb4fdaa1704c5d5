//! What a bench is asked to do, and the command lines that follow from it.

use std::path::PathBuf;
use std::time::Duration;

use crate::bench::error::BenchError;
use crate::child::CommandLine;
use crate::cores::CoreSplit;
use crate::host::HostFiles;
use crate::levels::Levels;
use crate::limits::{LOAD_SLACK, READY_WAIT};

/// A bench to be made.
#[derive(Debug, Clone)]
pub struct BenchPlan {
    /// The executable that has the commands `serve` and `load`: usually [`std::env::current_exe`].
    pub exe: PathBuf,
    /// What was typed, for the record.
    pub command: Vec<String>,
    /// Wires, as schemes of the server's addresses; the last is compared with the first.
    pub wires: Vec<String>,
    /// Connection counts.
    pub levels: Levels,
    /// Measured part of each run.
    pub duration: Duration,
    /// Excluded part before it.
    pub warmup: Duration,
    /// Cores of both sides.
    pub split: CoreSplit,
    /// The server's engine; the program's default when `None`.
    pub server_engine: Option<String>,
    /// The loader's engine; the program's default when `None`.
    pub loader_engine: Option<String>,
    /// More arguments for `serve`.
    pub server_args: Vec<String>,
    /// More arguments for `load`.
    pub loader_args: Vec<String>,
    /// What is asked of the server, as in `/health`.
    pub target_path: String,
    /// Version for the record.
    pub zapring_version: String,
    /// Where facts about the host are read.
    pub host: HostFiles,
    /// Longest wait for the server to be ready.
    pub ready_wait: Duration,
    /// What a load run may take beyond warm-up and duration.
    pub load_slack: Duration,
}

impl BenchPlan {
    /// The default bench: `/health` over `http` and `zap`, 1, 8, 64 and 256 connections, 3 s each after 1 s of warm-up.
    #[must_use]
    pub fn new(exe: PathBuf, split: CoreSplit, zapring_version: &str) -> Self {
        Self {
            exe,
            command: Vec::new(),
            wires: vec!["http".to_owned(), "zap".to_owned()],
            levels: Levels::default(),
            duration: Duration::from_secs(3),
            warmup: Duration::from_secs(1),
            split,
            server_engine: None,
            loader_engine: None,
            server_args: Vec::new(),
            loader_args: Vec::new(),
            target_path: "/health".to_owned(),
            zapring_version: zapring_version.to_owned(),
            host: HostFiles::live(),
            ready_wait: READY_WAIT,
            load_slack: LOAD_SLACK,
        }
    }

    /// Every run in order: level by level, the wires interleaved within each.
    pub fn runs(&self) -> impl Iterator<Item = (u32, &str)> {
        self.levels.as_slice().iter().flat_map(|level| self.wires.iter().map(|wire| (*level, wire.as_str())))
    }

    /// About how long the bench takes, without starting and connecting.
    #[must_use]
    pub fn expected(&self) -> Duration {
        let runs = u32::try_from(self.runs().count()).unwrap_or(u32::MAX);
        (self.warmup.saturating_add(self.duration)).saturating_mul(runs)
    }

    /// Checks what the types do not.
    ///
    /// # Errors
    /// [`BenchError::Plan`].
    pub fn check(&self) -> Result<(), BenchError> {
        let wrong = |reason: &str| Err(BenchError::Plan { reason: reason.to_owned() });
        if self.wires.is_empty() {
            return wrong("there is no wire to drive; give at least one");
        }
        if self.duration < Duration::from_millis(1) {
            return wrong("the duration of a run is below 1 ms; give a longer one");
        }
        Ok(())
    }

    /// The server's command line.
    #[must_use]
    pub fn serve_command(&self) -> CommandLine {
        let mut command = CommandLine::new(&self.exe).arg("serve");
        for wire in &self.wires {
            command = command.arg("--listen").arg(format!("{wire}://127.0.0.1:0"));
        }
        command = command.arg("--cores").arg(self.split.server.to_string());
        if let Some(engine) = &self.server_engine {
            command = command.arg("--engine").arg(engine);
        }
        command
            .arg("--die-with-parent")
            .arg(std::process::id().to_string())
            .args(self.server_args.iter().map(String::as_str))
    }

    /// The loader's command line for one run against `address`, as in `http://127.0.0.1:41231`.
    #[must_use]
    pub fn load_command(&self, address: &str, connections: u32, server_pid: u32) -> CommandLine {
        // A thread without a connection has nothing to do, so a small level uses fewer cores.
        let threads = self.split.loader.len().min(connections as usize);
        let mut command = CommandLine::new(&self.exe)
            .arg("load")
            .arg(format!("{}{}", address.trim_end_matches('/'), self.target_path))
            .args(["-c".to_owned(), connections.to_string(), "-t".to_owned(), threads.to_string()])
            .args(["-d".to_owned(), time_arg(self.duration), "--warmup".to_owned(), time_arg(self.warmup)])
            .arg("--cores")
            .arg(self.split.loader.first(threads).to_string());
        if let Some(engine) = &self.loader_engine {
            command = command.arg("--engine").arg(engine);
        }
        command
            .args(["--watch-pid".to_owned(), server_pid.to_string()])
            .args(["--watch-cores".to_owned(), self.split.server.to_string()])
            .args(["--json", "-", "--quiet"])
            .arg("--die-with-parent")
            .arg(std::process::id().to_string())
            .args(self.loader_args.iter().map(String::as_str))
    }
}

/// Whole seconds, else milliseconds, else microseconds: what the loader's command line takes.
fn time_arg(time: Duration) -> String {
    let us = time.as_micros();
    match us {
        _ if us.is_multiple_of(1_000_000) => format!("{}s", us / 1_000_000),
        _ if us.is_multiple_of(1000) => format!("{}ms", us / 1000),
        _ => format!("{us}us"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::choose;

    fn plan() -> BenchPlan {
        let split = choose(&"0-7".parse().expect("a valid list"));
        let mut plan = BenchPlan::new(PathBuf::from("/x/zapring"), split, "0.0.0");
        plan.levels = "1,64".parse().expect("a valid ramp");
        plan
    }

    #[test]
    fn wires_are_interleaved_within_each_level() {
        let runs: Vec<_> = plan().runs().map(|(level, wire)| format!("{wire}/{level}")).collect();
        assert_eq!(runs, ["http/1", "zap/1", "http/64", "zap/64"]);
        assert_eq!(plan().expected(), Duration::from_secs(16));
    }

    #[test]
    fn command_lines() {
        let mut plan = plan();
        plan.server_engine = Some("uring".to_owned());
        plan.warmup = Duration::from_millis(250);
        let pid = std::process::id();
        assert_eq!(
            plan.serve_command().to_string(),
            format!(
                "/x/zapring serve --listen http://127.0.0.1:0 --listen zap://127.0.0.1:0 --cores 2-4 --engine uring --die-with-parent {pid}"
            )
        );
        assert_eq!(
            plan.load_command("zap://127.0.0.1:9", 64, 7).to_string(),
            format!(
                "/x/zapring load zap://127.0.0.1:9/health -c 64 -t 3 -d 3s --warmup 250ms --cores 5-7 --watch-pid 7 --watch-cores 2-4 --json - --quiet --die-with-parent {pid}"
            )
        );
        assert!(plan.load_command("http://a", 1, 7).to_string().contains(" -c 1 -t 1 -d 3s --warmup 250ms --cores 5 "));
    }

    #[test]
    fn nonsense_is_refused() {
        let mut none = plan();
        none.wires.clear();
        assert!(none.check().is_err());
        let mut short = plan();
        short.duration = Duration::ZERO;
        assert!(short.check().is_err());
    }
}
