//! The list of peers: servers and loaders by command line, how each shows that it is ready, and how its output is read. Owns the form
//! of `peers.toml`; starts nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use regex_lite::Regex;
use serde::Deserialize;

use crate::limits::MAX_PEERS_BYTES;

/// Why a list of peers cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PeersError {
    /// The file could not be read.
    #[error("cannot read the list of peers {path}: {source}; --peers names another")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// It is no list of peers.
    #[error("{path} is no list of peers: {reason}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        reason: String,
    },
}

/// The list.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peers {
    /// Folders by the name they have in braces; relative ones count from the folder of the list.
    #[serde(default)]
    pub places: BTreeMap<String, PathBuf>,
    /// The same as they stand in the list, for whoever reads of them on another host.
    #[serde(skip)]
    pub written: BTreeMap<String, String>,
    /// Servers; the first of each wire is the base.
    #[serde(default, rename = "server")]
    pub servers: Vec<ServerPeer>,
    /// Loaders; likewise.
    #[serde(default, rename = "loader")]
    pub loaders: Vec<LoaderPeer>,
}

/// How a server shows that it serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ready {
    /// Its port can be connected to.
    #[default]
    Connects,
    /// It prints a line `listening URL` for each listener, then `ready`.
    Prints,
}

/// A server to be compared.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerPeer {
    /// Its name in tables and on the command line.
    pub name: String,
    /// `http` or `zap`: what zapring's loader speaks to it.
    pub wire: String,
    /// Program and arguments, with words in braces filled in. Empty for a server that runs already.
    #[serde(default)]
    pub command: Vec<String>,
    /// Where it serves, without a path; not needed where it prints that.
    #[serde(default)]
    pub url: String,
    /// What is asked of it.
    #[serde(default = "health")]
    pub path: String,
    /// How it shows that it serves.
    #[serde(default)]
    pub ready: Ready,
    /// Bytes of the body of a right answer; not looked at when absent.
    pub body_bytes: Option<u64>,
    /// The body of a right answer, byte for byte; not looked at when absent. Braces in it stay as they are.
    pub expect_body: Option<String>,
    /// Files that are written to its folder, `{folder}`, before it starts; braces are filled in where a known word stands in them.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// The command that brings it.
    #[serde(default)]
    pub install: String,
}

/// A loader to be compared.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoaderPeer {
    /// Its name in tables and on the command line.
    pub name: String,
    /// `http` or `zap`: what it speaks.
    pub wire: String,
    /// Program and arguments, with words in braces filled in.
    pub command: Vec<String>,
    /// Variables of its environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// How its output is read.
    pub read: Reading,
    /// The command that brings it.
    #[serde(default)]
    pub install: String,
}

/// Where the figures of a loader stand in what it prints. Each is a JSON pointer, as in `/summary/total`, or else a pattern whose first
/// group is a number; where a second one is a unit of time, it counts.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// Requests with a right answer.
    pub requests: String,
    /// All others; several are added.
    #[serde(default)]
    pub failed: Vec<String>,
    /// Requests per second; else the requests over the asked time.
    pub rate: Option<String>,
    /// Median latency.
    pub p50: Option<String>,
    /// 99th percentile.
    pub p99: Option<String>,
    /// Unit of times that stand there without one: `ns`, `us`, `ms` or `s`.
    #[serde(default)]
    pub time_unit: Option<String>,
}

fn health() -> String {
    "/health".to_owned()
}

impl Peers {
    /// Reads and checks a list; its places become absolute.
    ///
    /// # Errors
    /// [`PeersError`] naming the file, and the entry where there is one.
    pub fn read(path: &Path) -> Result<Self, PeersError> {
        let failed = |source| PeersError::Unreadable { path: path.to_path_buf(), source };
        let mut text = String::new();
        fs::File::open(path).map_err(failed)?.take(MAX_PEERS_BYTES).read_to_string(&mut text).map_err(failed)?;
        let folder = std::path::absolute(path).map_err(failed)?;
        Self::parse(&text, folder.parent().unwrap_or(Path::new("/")))
            .map_err(|reason| PeersError::Malformed { path: path.to_path_buf(), reason })
    }

    /// The same from a text; `folder` is where its places count from.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, String> {
        let mut peers: Self = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        for (name, place) in &mut peers.places {
            peers.written.insert(name.clone(), place.display().to_string());
            *place = folder.join(&*place);
        }
        peers.check()?;
        Ok(peers)
    }

    fn check(&self) -> Result<(), String> {
        let mut names = BTreeSet::new();
        for server in &self.servers {
            named("server", &server.name, &server.wire, &mut names)?;
            let name = &server.name;
            if server.command.is_empty() && server.url.is_empty() {
                return Err(format!("server {name} has neither a command nor a url"));
            }
            if server.ready == Ready::Connects && server.url.is_empty() {
                return Err(format!("server {name} has no url; give one, or ready = \"prints\" where it prints that"));
            }
            if !server.path.starts_with('/') {
                return Err(format!("server {name}: the path {:?} does not begin with /", server.path));
            }
            let expected = server.expect_body.as_ref().map(|body| body.len() as u64);
            if let (Some(expected), Some(bytes)) = (expected, server.body_bytes)
                && expected != bytes
            {
                return Err(format!(
                    "server {name}: its expect_body has {expected} bytes and its body_bytes are {bytes}; expect_body is enough"
                ));
            }
        }
        names.clear();
        for loader in &self.loaders {
            named("loader", &loader.name, &loader.wire, &mut names)?;
            if loader.command.is_empty() {
                return Err(format!("loader {} has no command", loader.name));
            }
            loader.read.check().map_err(|reason| format!("loader {}: {reason}", loader.name))?;
        }
        Ok(())
    }
}

fn named<'a>(side: &str, name: &'a str, wire: &str, names: &mut BTreeSet<&'a str>) -> Result<(), String> {
    if name.is_empty() {
        return Err(format!("a {side} has no name"));
    }
    if !names.insert(name) {
        return Err(format!("two {side}s are called {name}; name each once"));
    }
    match wire {
        "http" | "zap" => Ok(()),
        _ => Err(format!("{side} {name}: no wire {wire:?} here: http or zap")),
    }
}

impl Reading {
    fn check(&self) -> Result<(), String> {
        let optional = [&self.rate, &self.p50, &self.p99].into_iter().flatten();
        for place in std::iter::once(&self.requests).chain(&self.failed).chain(optional) {
            if !place.starts_with('/') {
                let pattern = Regex::new(place).map_err(|error| format!("{place:?} is no pattern: {error}"))?;
                if pattern.captures_len() < 2 {
                    return Err(format!("{place:?} has no group for the number, as in ([0-9]+)"));
                }
            }
        }
        match self.time_unit.as_deref() {
            None | Some("ns" | "us" | "ms" | "s") => Ok(()),
            Some(other) => Err(format!("no time_unit {other:?} here: ns, us, ms or s")),
        }
    }
}

/// Fills the words in braces of a text. Braces around anything else stay, as those of a configuration do; a command line has none.
#[must_use]
pub(crate) fn filled(text: &str, words: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        let (before, from) = rest.split_at(start);
        out.push_str(before);
        let word = from.find('}').map(|end| (&from[1..end], &from[end + 1..]));
        match word.and_then(|(word, after)| Some((words.get(word)?, after))) {
            Some((value, after)) => {
                out.push_str(value);
                rest = after;
            }
            None => {
                out.push('{');
                rest = &from[1..];
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Peers, String> {
        Peers::parse(text, Path::new("/lists"))
    }

    #[test]
    fn a_list_as_it_is_written() {
        let peers = parsed(
            r#"
            places = { go = "../target/go", other = "/opt" }
            [[server]]
            name = "a"
            wire = "http"
            command = ["{go}/a", "{port}"]
            url = "http://127.0.0.1:{port}"
            files = { "a.conf" = "x { listen {port}; }" }
            expect_body = "{\"port\": 1}\n"
            [[server]]
            name = "there"
            wire = "zap"
            url = "zap://10.0.0.1:9653"
            [[loader]]
            name = "a"
            wire = "http"
            command = ["wrk", "{url}"]
            read = { requests = '(\d+) requests', p50 = "/latency/p50", time_unit = "us" }
            "#,
        );
        let peers = peers.expect("a right list");
        assert_eq!(peers.places["go"], Path::new("/lists/../target/go"));
        assert_eq!(peers.places["other"], Path::new("/opt"));
        assert_eq!((peers.written["go"].as_str(), peers.written["other"].as_str()), ("../target/go", "/opt"));
        assert_eq!(peers.servers[0].expect_body.as_deref(), Some("{\"port\": 1}\n"));
        assert_eq!((peers.servers[0].path.as_str(), peers.servers[0].ready), ("/health", Ready::Connects));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let server = "[[server]]\nname = \"a\"\nwire = \"http\"\n";
        let loader = "[[loader]]\nname = \"a\"\nwire = \"http\"\ncommand = [\"a\"]\n";
        for (text, words) in [
            ("x = 1".to_owned(), "unknown field `x`"),
            (server.to_owned(), "neither a command nor a url"),
            (format!("{server}command = [\"a\"]"), "ready = \"prints\""),
            (format!("{server}url = \"u\"\npath = \"x\""), "does not begin with /"),
            (format!("{server}url = \"u\"\nexpect_body = 2"), "expected a string"),
            (
                format!("{server}url = \"u\"\nexpect_body = \"ok\"\nbody_bytes = 3"),
                "has 2 bytes and its body_bytes are 3",
            ),
            (format!("{server}url = \"u\"\n{server}url = \"u\""), "two servers are called a"),
            (server.replace("http", "ftp") + "url = \"u\"", "no wire \"ftp\" here"),
            (loader.to_owned(), "missing field `read`"),
            (format!("{loader}read = {{ requests = '(' }}"), "is no pattern"),
            (format!("{loader}read = {{ requests = 'n' }}"), "has no group"),
            (format!("{loader}read = {{ requests = '/n', time_unit = \"h\" }}"), "no time_unit"),
        ] {
            let error = parsed(&text).expect_err(&text);
            assert!(error.contains(words), "{text}: {error}");
        }
        let error = Peers::read(Path::new("/nonexistent/peers.toml")).expect_err("nothing there");
        assert!(error.to_string().contains("/nonexistent/peers.toml") && error.to_string().contains("--peers"));
    }

    #[test]
    fn words_in_braces() {
        let words = BTreeMap::from([("port".to_owned(), "80".to_owned()), ("url".to_owned(), "{port}".to_owned())]);
        for (text, wanted) in [
            ("a {port}", "a 80"),
            ("{port}{port}", "8080"),
            ("x { listen {port}; }", "x { listen 80; }"),
            ("{url}", "{port}"),
            ("{none} {", "{none} {"),
            ("", ""),
        ] {
            assert_eq!(filled(text, &words), wanted, "{text}");
        }
    }
}
