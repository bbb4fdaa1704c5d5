//! What a comparison is asked to do, and who takes part in it: the peers of the list that are installed, each wire's base twice.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use results::versus::{Absent, Contender};

use crate::child::CommandLine;
use crate::cores::CoreLayout;
use crate::host::HostFiles;
use crate::limits::{MAX_CONTENDERS, MAX_ROUNDS};
use crate::versus::VersusError;
use crate::versus::peers::{Peers, ServerPeer, filled};

/// Asks a server how many requests it has answered before this one, given its `http` address.
pub type Count = fn(&str) -> Result<u64, String>;

/// Asks a server once for what a URL names, and gives the body of its answer.
pub type Fetch = fn(&str) -> Result<Vec<u8>, String>;

/// A comparison to be made.
#[derive(Debug, Clone)]
pub struct VersusPlan {
    /// What was typed, for the record.
    pub command: Vec<String>,
    /// The list of peers.
    pub peers: Peers,
    /// Servers by name; all when `None`.
    pub servers: Option<Vec<String>>,
    /// Loaders by name; all when `None`.
    pub loaders: Option<Vec<String>>,
    /// Bases other than the first of their wire.
    pub bases: Vec<String>,
    /// The executable that has the commands `serve` and `load`.
    pub exe: PathBuf,
    /// Cores of servers and loaders.
    pub cores: CoreLayout,
    /// Connections of every run.
    pub connections: u32,
    /// Measured part of each run.
    pub duration: Duration,
    /// Excluded part before it; loaders are measured whole.
    pub warmup: Duration,
    /// How often everybody is run.
    pub rounds: u32,
    /// Requests per second asked of servers; closed loop when `None`.
    pub rate_per_s: Option<u64>,
    /// More arguments of our loader, which drives the servers.
    pub loader_args: Vec<String>,
    /// How a server is asked for a body that is compared.
    pub fetch: Fetch,
    /// How a server of ours is asked for its count.
    pub count: Option<Count>,
    /// Version for the record.
    pub zapring_version: String,
    /// Where facts about the host are read.
    pub host: HostFiles,
}

/// A side that takes part: its row in the document, and its place in the list.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) row: Contender,
    pub(super) peer: usize,
}

/// Who takes part, and who does not.
#[derive(Debug, Default)]
pub(super) struct Field {
    pub(super) servers: Vec<Entry>,
    pub(super) loaders: Vec<Entry>,
    pub(super) absent: Vec<Absent>,
}

impl VersusPlan {
    /// 64 connections, five rounds of 1 s after 300 ms of warm-up; everybody in the list.
    #[must_use]
    pub fn new(exe: PathBuf, peers: Peers, cores: CoreLayout, zapring_version: &str, fetch: Fetch) -> Self {
        Self {
            command: Vec::new(),
            peers,
            servers: None,
            loaders: None,
            bases: Vec::new(),
            exe,
            cores,
            connections: 64,
            duration: Duration::from_secs(1),
            warmup: Duration::from_millis(300),
            rounds: 5,
            rate_per_s: None,
            loader_args: Vec::new(),
            fetch,
            count: None,
            zapring_version: zapring_version.to_owned(),
            host: HostFiles::live(),
        }
    }

    /// Everybody who takes part.
    ///
    /// # Errors
    /// [`VersusError::Plan`].
    pub(super) fn field(&self) -> Result<Field, VersusError> {
        if let Some(reason) = self.problem() {
            return Err(VersusError::Plan { reason });
        }
        let mut field = Field::default();
        for (peer, one) in self.peers.servers.iter().enumerate().filter(|(_, one)| wanted(&self.servers, &one.name)) {
            match self.missing(&one.command) {
                Some(reason) => field.absent.push(absent("server", &one.name, reason, &self.shown(&one.install))),
                None => field.servers.push(entry(&one.name, &one.wire, one.command.clone(), peer)),
            }
        }
        for (peer, one) in self.peers.loaders.iter().enumerate().filter(|(_, one)| wanted(&self.loaders, &one.name)) {
            let driven = self.driven(&one.wire);
            match self.missing(&one.command) {
                Some(reason) => field.absent.push(absent("loader", &one.name, reason, &self.shown(&one.install))),
                None if driven.is_none() => {
                    let reason = format!("no server of the wire {} is there to be driven", one.wire);
                    field.absent.push(absent("loader", &one.name, reason, ""));
                }
                None => field.loaders.push(entry(&one.name, &one.wire, one.command.clone(), peer)),
            }
        }
        self.seat_bases(&mut field.servers);
        self.seat_bases(&mut field.loaders);
        match field.servers.len() + field.loaders.len() {
            0 => Err(VersusError::Plan { reason: nobody(&field.absent) }),
            count if count > MAX_CONTENDERS => Err(VersusError::Plan {
                reason: format!(
                    "{count} servers and loaders are more than {MAX_CONTENDERS}; name fewer with --servers and --loaders"
                ),
            }),
            _ => Ok(field),
        }
    }

    /// The server that loaders of a wire drive: the first one of the list that is there, and not one that runs already.
    pub(super) fn driven(&self, wire: &str) -> Option<&ServerPeer> {
        let usable =
            |one: &&ServerPeer| one.wire == wire && !one.command.is_empty() && self.missing(&one.command).is_none();
        self.peers.servers.iter().find(usable)
    }

    /// Marks the base of each wire and puts it there once more, right behind.
    fn seat_bases(&self, entries: &mut Vec<Entry>) {
        for wire in ["http", "zap"] {
            let of_wire = |entry: &Entry| entry.row.wire == wire;
            let named = entries.iter().position(|entry| of_wire(entry) && self.bases.contains(&entry.row.name));
            let Some(at) = named.or_else(|| entries.iter().position(of_wire)) else { continue };
            let mut again = entries[at].clone();
            entries[at].row.base = true;
            again.row.again = true;
            entries.insert(at + 1, again);
        }
    }

    fn problem(&self) -> Option<String> {
        if self.connections == 0 {
            return Some("0 connections carry nothing; give at least 1".to_owned());
        }
        if !(1..=MAX_ROUNDS).contains(&self.rounds) {
            return Some(format!("{} rounds: it must be from 1 to {MAX_ROUNDS}; ratios take 3", self.rounds));
        }
        if self.duration < Duration::from_millis(1) {
            return Some("the duration of a run is below 1 ms; give a longer one".to_owned());
        }
        if found("taskset").is_none() {
            return Some(
                "everybody is pinned with taskset, which is not installed (apt-get install util-linux)".to_owned(),
            );
        }
        let servers: Vec<&str> = self.peers.servers.iter().map(|one| one.name.as_str()).collect();
        let loaders: Vec<&str> = self.peers.loaders.iter().map(|one| one.name.as_str()).collect();
        let unknown = |side: &str, asked: &[String], known: &[&str]| {
            let name = asked.iter().find(|name| !known.contains(&name.as_str()))?;
            Some(format!("the list of peers has no {side} {name}; it has {}", known.join(", ")))
        };
        let both = [servers.as_slice(), loaders.as_slice()].concat();
        unknown("server", self.servers.as_deref().unwrap_or_default(), &servers)
            .or_else(|| unknown("loader", self.loaders.as_deref().unwrap_or_default(), &loaders))
            .or_else(|| unknown("server or loader", &self.bases, &both))
    }

    /// Why a command cannot be started; nothing for a server that runs already.
    fn missing(&self, command: &[String]) -> Option<String> {
        let program = filled(command.first()?, &self.words());
        found(&program).is_none().then(|| {
            let shown = self.shown(command.first().unwrap_or(&program));
            if shown != program {
                format!("there is no {shown}, seen from the list of peers")
            } else if program.contains('/') {
                format!("there is no {program}")
            } else {
                format!("no {program} in PATH")
            }
        })
    }

    /// A text of the list for a reader on another host: with its places as they are written there.
    fn shown(&self, text: &str) -> String {
        let mut words = self.words();
        words.extend(self.peers.written.clone());
        words.insert("zapring".to_owned(), "zapring".to_owned());
        filled(text, &words)
    }

    /// What a peer said or could not do, for such a reader: without the paths that only this host has.
    pub(super) fn without_paths(&self, text: &str, folder: &Path) -> String {
        let own = |path: &Path, word: &str| {
            let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
            [path.to_path_buf(), real].map(|path| (path.display().to_string(), word.to_owned()))
        };
        let mut paths: Vec<(String, String)> = own(folder, "{folder}").into();
        paths.extend(own(&self.exe, "zapring"));
        for (name, place) in &self.peers.places {
            // What is absolute in the list is the user's own.
            if let Some(written) = self.peers.written.get(name).filter(|written| !Path::new(written).is_absolute()) {
                paths.extend(own(place, written));
            }
        }
        // A folder before the folders that hold it.
        paths.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        paths
            .iter()
            .filter(|(path, _)| path.len() > 1)
            .fold(text.to_owned(), |text, (path, word)| text.replace(path, word))
    }

    /// What stands for a word in braces, as far as it is the same for every run.
    pub(super) fn words(&self) -> BTreeMap<String, String> {
        let mut words: BTreeMap<String, String> =
            self.peers.places.iter().map(|(name, path)| (name.clone(), path.display().to_string())).collect();
        let own = [
            ("zapring", self.exe.display().to_string()),
            ("connections", self.connections.to_string()),
            ("seconds", self.whole_seconds().to_string()),
        ];
        words.extend(own.map(|(name, value)| (name.to_owned(), value)));
        words
    }

    /// The duration for loaders that take whole seconds, at least one.
    pub(super) fn whole_seconds(&self) -> u64 {
        (self.duration.as_millis().div_ceil(1000) as u64).max(1)
    }
}

fn wanted(asked: &Option<Vec<String>>, name: &str) -> bool {
    asked.as_ref().is_none_or(|asked| asked.iter().any(|other| other == name))
}

fn entry(name: &str, wire: &str, command: Vec<String>, peer: usize) -> Entry {
    Entry { row: Contender { name: name.to_owned(), wire: wire.to_owned(), command, ..Contender::default() }, peer }
}

fn absent(side: &str, name: &str, reason: String, install: &str) -> Absent {
    Absent { name: name.to_owned(), side: side.to_owned(), reason, install: install.to_owned() }
}

fn nobody(absent: &[Absent]) -> String {
    let lines: Vec<String> =
        absent.iter().map(|one| format!("\n  {} {}: {}; {}", one.side, one.name, one.reason, one.install)).collect();
    format!("nobody is there to be compared{}", lines.concat())
}

/// Where a program is: by path, else in `PATH` or where servers are installed that only root starts.
pub(super) fn found(program: &str) -> Option<PathBuf> {
    let is_there = |path: &Path| path.is_file();
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| is_there(path));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    folders.map(|folder| folder.join(program)).find(|path| is_there(path))
}

/// A command line on exactly these cores, which ends (SIGKILL) when we do where setpriv is there to ask for it.
pub(super) fn pinned(cores: &str, words: &[String], env: &BTreeMap<String, String>) -> CommandLine {
    let mut all: Vec<String> = Vec::new();
    if found("setpriv").is_some() {
        all.extend(["setpriv", "--pdeathsig", "KILL"].map(str::to_owned));
    }
    if !env.is_empty() {
        all.push("env".to_owned());
        all.extend(env.iter().map(|(name, value)| format!("{name}={value}")));
    }
    all.extend(["taskset", "-c", cores].map(str::to_owned));
    let mut words = words.iter().cloned();
    if let Some(program) = words.next() {
        all.push(found(&program).map_or(program, |path| path.display().to_string()));
    }
    all.extend(words);
    let mut all = all.into_iter();
    CommandLine::new(all.next().expect("taskset is among them")).args(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = r#"
        places = { here = "." }
        [[server]]
        name = "gone"
        wire = "http"
        command = ["{here}/no-such-program"]
        url = "http://127.0.0.1:{port}"
        install = "make -C {here}"
        [[server]]
        name = "first"
        wire = "http"
        command = ["sh", "{connections}", "{port}"]
        url = "http://127.0.0.1:{port}"
        [[server]]
        name = "second"
        wire = "http"
        command = ["sh"]
        url = "http://127.0.0.1:{port}"
        [[server]]
        name = "running"
        wire = "zap"
        url = "zap://10.0.0.1:9653"
        [[loader]]
        name = "l"
        wire = "http"
        command = ["sh"]
        read = { requests = "/n" }
        [[loader]]
        name = "z"
        wire = "zap"
        command = ["sh"]
        read = { requests = "/n" }
    "#;

    fn plan() -> VersusPlan {
        let peers = Peers::parse(LIST, Path::new("/lists")).expect("a right list");
        let cores = CoreLayout::split(&"0-1".parse().expect("a valid list"));
        VersusPlan::new("/x/zapring".into(), peers, cores, "0.0.0", |_| Ok(Vec::new()))
    }

    fn names(entries: &[Entry]) -> Vec<(&str, bool, bool)> {
        entries.iter().map(|entry| (entry.row.name.as_str(), entry.row.base, entry.row.again)).collect()
    }

    #[test]
    fn who_is_there_takes_part_and_each_base_twice() {
        let field = plan().field().expect("a plan");
        let wanted = [
            ("first", true, false),
            ("first", false, true),
            ("second", false, false),
            ("running", true, false),
            ("running", false, true),
        ];
        assert_eq!(names(&field.servers), wanted);
        assert_eq!(names(&field.loaders), [("l", true, false), ("l", false, true)]);
        assert_eq!(
            field.servers[0].row.command,
            ["sh", "{connections}", "{port}"],
            "as in the list: the same on every host"
        );
        let absent: Vec<String> =
            field.absent.iter().map(|one| format!("{} {}: {}", one.name, one.reason, one.install)).collect();
        assert_eq!(absent[0], "gone there is no ./no-such-program, seen from the list of peers: make -C .");
        assert!(absent[1].starts_with("z no server of the wire zap is there"), "{absent:?}");
    }

    #[test]
    fn names_choose_and_bases_change() {
        let mut plan = plan();
        plan.servers = Some(vec!["second".into(), "first".into()]);
        plan.loaders = Some(Vec::new());
        plan.bases = vec!["second".into()];
        let field = plan.field().expect("a plan");
        assert_eq!(names(&field.servers), [("first", false, false), ("second", true, false), ("second", false, true)]);
        assert!(field.loaders.is_empty());
        plan.servers = Some(vec!["gone".into()]);
        let error = plan.field().expect_err("nobody").to_string();
        assert!(error.contains("nobody is there") && error.contains("make -C"), "{error}");
        plan.servers = Some(vec!["nginx".into()]);
        let error = plan.field().expect_err("not in the list").to_string();
        assert!(error.contains("no server nginx; it has gone, first, second, running"), "{error}");
    }

    #[test]
    fn paths_of_this_host_are_not_told() {
        let plan = plan();
        let folder = Path::new("/tmp/.tmpX");
        for (said, told) in [
            ("cannot execute /lists/./bin/a", "cannot execute ./bin/a"),
            ("/x/zapring ended; see /tmp/.tmpX/nginx.err", "zapring ended; see {folder}/nginx.err"),
            ("no /opt/a", "no /opt/a"),
            ("", ""),
        ] {
            assert_eq!(plan.without_paths(said, folder), told, "{said}");
        }
    }

    #[test]
    fn pinned_command_lines() {
        let env = BTreeMap::from([("HOME".to_owned(), "/tmp".to_owned())]);
        let words: Vec<String> = ["sh", "-c", "true"].map(str::to_owned).into();
        let line = pinned("0-1", &words, &env).to_string();
        assert!(line.contains("env HOME=/tmp taskset -c 0-1 /"), "{line}");
        assert!(line.ends_with("/sh -c true"), "{line}");
    }
}
