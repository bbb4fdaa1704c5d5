//! The rig that every measurement stands on: one server process, and one load process at a time against it, on cores chosen for both.
//!
//! The programs are the same executable; what passes between them and us is command lines, a few lines of text, and run files.

pub mod census;
pub mod error;
mod hold;
mod load;
mod server;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

pub use census::{Census, ShardCounts, Totals};
pub use error::RigError;
pub(crate) use error::said;
pub use hold::{Held, hold};
pub(crate) use load::{LoadEnd, Measured, finish, server_alive};
pub(crate) use server::{Server, ready};

use crate::child::CommandLine;
use crate::cores::CoreLayout;
use crate::limits::{LOAD_SLACK, READY_WAIT};

/// How a measurement of several runs ended.
#[derive(Debug)]
pub enum End<E> {
    /// All runs were made.
    Complete,
    /// The stop flag was raised: the document holds the runs made before.
    Interrupted,
    /// A run failed: the document holds the runs made before.
    Failed(E),
}

/// A wire to listen on, and what is asked on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its name: the scheme of the server's addresses.
    pub wire: String,
    /// What follows the address in the loader's URL, as in `/health`.
    pub path: String,
    /// The loader's scenario, which says what is asked; the path is empty then.
    pub scenario: Option<String>,
}

impl Target {
    /// A wire and a path.
    #[must_use]
    pub fn new(wire: &str, path: &str) -> Self {
        Self { wire: wire.to_owned(), path: path.to_owned(), scenario: None }
    }

    /// A wire and one of the loader's scenarios.
    #[must_use]
    pub fn scenario(wire: &str, scenario: &str) -> Self {
        Self { wire: wire.to_owned(), path: String::new(), scenario: Some(scenario.to_owned()) }
    }

    /// What the loader is asked for, but for its URL.
    fn args(&self) -> impl Iterator<Item = &str> {
        self.scenario.iter().flat_map(|scenario| ["--scenario", scenario.as_str()])
    }
}

/// A server that somebody else started and will end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elsewhere {
    /// Where each wire is served: a URL without a path.
    pub urls: BTreeMap<String, String>,
    /// Its process, where it is on this host and shall be watched.
    pub pid: Option<u32>,
}

/// What a server and its loaders are started with.
#[derive(Debug, Clone)]
pub struct Rig {
    /// The server, when it is there already: none is started then.
    pub elsewhere: Option<Elsewhere>,
    /// The executable that has the commands `serve` and `load`: usually [`std::env::current_exe`].
    pub exe: PathBuf,
    /// What is served and driven; the server listens on each wire once.
    pub targets: Vec<Target>,
    /// Cores of both sides.
    pub cores: CoreLayout,
    /// Measured part of each run.
    pub duration: Duration,
    /// So many requests instead, over all connections.
    pub requests: Option<u64>,
    /// Excluded part before it.
    pub warmup: Duration,
    /// The server's engine; the program's default when `None`.
    pub server_engine: Option<String>,
    /// The loader's engine; the program's default when `None`.
    pub loader_engine: Option<String>,
    /// More arguments for `serve`.
    pub server_args: Vec<String>,
    /// More arguments for `load`.
    pub loader_args: Vec<String>,
    /// How to ask the server where its connections lie; nobody asks when `None`.
    pub census: Option<Census>,
    /// Counts the instructions of the server's threads during each run. A counter costs something at every context switch.
    pub count_instructions: bool,
    /// Longest wait for the server to be ready.
    pub ready_wait: Duration,
    /// What a load run may take beyond warm-up and duration.
    pub load_slack: Duration,
}

impl Rig {
    /// A rig with the program's own engines, 3 s a run after 1 s of warm-up, and nobody asking for the spread of connections.
    #[must_use]
    pub fn new(exe: PathBuf, targets: Vec<Target>, cores: CoreLayout) -> Self {
        Self {
            elsewhere: None,
            exe,
            targets,
            cores,
            duration: Duration::from_secs(3),
            requests: None,
            warmup: Duration::from_secs(1),
            server_engine: None,
            loader_engine: None,
            server_args: Vec::new(),
            loader_args: Vec::new(),
            census: None,
            count_instructions: false,
            ready_wait: READY_WAIT,
            load_slack: LOAD_SLACK,
        }
    }

    /// What no type forbids and no run can be made with; in words that say what would be right.
    #[must_use]
    pub fn problem(&self) -> Option<&'static str> {
        if self.targets.is_empty() {
            return Some("there is no wire to drive; give at least one");
        }
        (self.duration < Duration::from_millis(1)).then_some("the duration of a run is below 1 ms; give a longer one")
    }

    /// Wires that the server listens on: the targets', and the one on which it can be asked.
    pub(crate) fn wires(&self) -> impl Iterator<Item = &str> {
        let asked = self.census.as_ref().map(Census::wire);
        let mut wires: Vec<&str> = Vec::new();
        for wire in self.targets.iter().map(|target| target.wire.as_str()).chain(asked) {
            if !wires.contains(&wire) {
                wires.push(wire);
            }
        }
        wires.into_iter()
    }

    /// The server's command line.
    #[must_use]
    pub fn serve_command(&self) -> CommandLine {
        let mut command = CommandLine::new(&self.exe).arg("serve");
        for wire in self.wires() {
            command = command.arg("--listen").arg(format!("{wire}://127.0.0.1:0"));
        }
        command = command.arg("--cores").arg(self.cores.server.to_string());
        if let Some(cpus) = self.cores.incoming_cpus() {
            command = command.arg("--incoming-cpus").arg(cpus.to_string());
        }
        if let Some(engine) = &self.server_engine {
            command = command.arg("--engine").arg(engine);
        }
        command
            .arg("--die-with-parent")
            .arg(std::process::id().to_string())
            .args(self.server_args.iter().map(String::as_str))
    }

    /// The loader's command line for one run against the target at `address`, as in `http://127.0.0.1:41231`, watching the server where
    /// its process is known.
    #[must_use]
    pub fn load_command(
        &self,
        target: &Target,
        address: &str,
        connections: u32,
        server_pid: Option<u32>,
    ) -> CommandLine {
        let url = format!("{}{}", address.trim_end_matches('/'), target.path);
        let length = match self.requests {
            Some(requests) => ["-n".to_owned(), requests.to_string()],
            None => ["-d".to_owned(), time_arg(self.duration)],
        };
        let threads = self.cores.threads(connections);
        let mut command = CommandLine::new(&self.exe)
            .arg("load")
            .arg(url)
            .args(target.args())
            .args(["-c".to_owned(), connections.to_string(), "-t".to_owned(), threads.to_string()])
            .args(length)
            .args(["--warmup".to_owned(), time_arg(self.warmup)])
            .arg("--cores")
            .arg(self.cores.loader.first(threads).to_string());
        if let Some(engine) = &self.loader_engine {
            command = command.arg("--engine").arg(engine);
        }
        if let Some(pid) = server_pid {
            command = command
                .args(["--watch-pid".to_owned(), pid.to_string()])
                .args(["--watch-cores".to_owned(), self.cores.server.to_string()]);
        }
        command
            .args(["--json", "-", "--quiet"])
            .arg("--die-with-parent")
            .arg(std::process::id().to_string())
            .args(self.loader_args.iter().map(String::as_str))
    }
}

/// Whole seconds, else milliseconds, else microseconds: what the loader's command line takes.
pub(crate) fn time_arg(time: Duration) -> String {
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

    fn rig(cores: CoreLayout) -> Rig {
        Rig::new(
            PathBuf::from("/x/zapring"),
            vec![Target::new("http", "/health"), Target::new("zap", "/health")],
            cores,
        )
    }

    fn list(text: &str) -> crate::CoreList {
        text.parse().expect("a valid list")
    }

    #[test]
    fn command_lines() {
        let mut rig = rig(CoreLayout::split(&list("0-7")));
        rig.server_engine = Some("uring".to_owned());
        rig.warmup = Duration::from_millis(250);
        let pid = std::process::id();
        assert_eq!(
            rig.serve_command().to_string(),
            format!(
                "/x/zapring serve --listen http://127.0.0.1:0 --listen zap://127.0.0.1:0 --cores 2-4 --incoming-cpus 5-7 --engine uring --die-with-parent {pid}"
            )
        );
        assert_eq!(
            rig.load_command(&Target::new("zap", "/health"), "zap://127.0.0.1:9", 64, Some(7)).to_string(),
            format!(
                "/x/zapring load zap://127.0.0.1:9/health -c 64 -t 3 -d 3s --warmup 250ms --cores 5-7 --watch-pid 7 --watch-cores 2-4 --json - --quiet --die-with-parent {pid}"
            )
        );
        let load = |rig: &Rig| rig.load_command(&Target::scenario("http", "rpc"), "http://a/", 1, Some(7)).to_string();
        assert!(
            load(&rig).contains(" http://a --scenario rpc -c 1 -t 1 -d 3s --warmup 250ms --cores 5 "),
            "{}",
            load(&rig)
        );
        rig.requests = Some(5000);
        assert!(load(&rig).contains(" -t 1 -n 5000 --warmup 250ms "), "{}", load(&rig));
    }

    #[test]
    fn paired_puts_both_on_the_same_cores() {
        let rig = rig(CoreLayout::paired(&list("0-3")));
        assert!(rig.serve_command().to_string().contains(" --cores 0-3 --incoming-cpus 0-3 "));
        let load = rig.load_command(&Target::new("zap", "/"), "zap://127.0.0.1:9", 2, Some(7)).to_string();
        assert!(load.contains(" -t 2 ") && load.contains(" --cores 0-1 --watch-pid 7 --watch-cores 0-3 "), "{load}");
    }

    #[test]
    fn the_server_listens_where_it_is_asked_once() {
        let mut rig = rig(CoreLayout::split(&list("0-1")));
        rig.census = Some(Census::new("http", |_| Err(String::new())));
        assert_eq!(rig.wires().collect::<Vec<_>>(), ["http", "zap"]);
        rig.targets.push(Target::scenario("zap", "rpc"));
        assert_eq!(rig.wires().collect::<Vec<_>>(), ["http", "zap"]);
        rig.targets.pop();
        rig.targets.remove(0);
        assert_eq!(rig.wires().collect::<Vec<_>>(), ["zap", "http"]);
    }
}
