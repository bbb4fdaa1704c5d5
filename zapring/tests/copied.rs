//! Bytes that each side copies in user space per request, with bodies of 64 KiB: counted by valgrind's DHAT in copy mode, which sees every
//! `memcpy`, `memmove` and `strcpy`. Two runs of different length, and the difference leaves out start and end.
//!
//! Both sides are counted on the epoll engine: under valgrind 3.19 a server on a ring never becomes ready. Wires, outbox and answers are the
//! same code on every engine, and so is the inbox that a large body is received into. What differs is what a ring's shard does with the
//! part of a request that came in a provided buffer: what is not consumed from there at once is copied into the inbox. A connection that
//! waits for more than a buffer holds receives straight into its inbox from then on.

mod support;

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::Value;
use support::{Server, signal, tool, zapring};

const BODY_BYTES: f64 = 65_536.0;
const FEW: u64 = 100;
const MANY: u64 = 300;

/// What a request may cost in copies beside its body: its head and its answer's.
const HEADS_BYTES: f64 = 1024.0;

/// The two kinds of request, as arguments of a load: a body of 64 KiB in the answer, and one both ways.
const ANSWERED: &str = "/bytes/65536";
const ECHOED: &str = "";

/// A command of ours under DHAT, if valgrind is there.
fn counted(profile: &Path) -> Option<Command> {
    let mut valgrind = tool("valgrind", "valgrind")?;
    let mut out = std::ffi::OsString::from("--dhat-out-file=");
    out.push(profile);
    valgrind.args(["--tool=dhat", "--mode=copy"]).arg(out).arg(zapring().get_program());
    Some(valgrind)
}

/// All bytes copied, as the profile says: `tb` of every place.
fn copied_bytes(profile: &Path) -> u64 {
    let profile: Value = serde_json::from_slice(&fs::read(profile).expect("a profile")).expect("JSON");
    assert_eq!(profile["mode"], "copy", "not what was asked for");
    let places = profile["pps"].as_array().expect("places");
    places.iter().map(|place| place["tb"].as_u64().expect("bytes")).sum()
}

/// `zapring load` of so many requests, all of which must be good.
fn load(mut program: Command, address: &str, asked: &str, requests: u64) {
    let url = format!("{address}{asked}");
    program.args(["load", &url, "-c", "2", "-n", &requests.to_string(), "--warmup", "0", "--engine", "epoll"]);
    if asked == ECHOED {
        program.args(["--scenario", "echo-large"]);
    }
    let output = program.args(["--timeout", "60s", "--quiet", "--json", "-"]).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    let run: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{url}: {error}: {said}"));
    assert_eq!(run["requests"]["ok"], requests, "{url}: {said}");
}

/// A server under DHAT that is killed when the test fails.
struct Counted {
    child: Child,
    url: String,
}

impl Counted {
    fn start(mut program: Command, wire: &str) -> Self {
        let mut child = program
            .args(["serve", "--engine", "epoll", "--cores", "0", "--listen", &format!("{wire}://127.0.0.1:0")])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("valgrind runs");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines().map(|line| line.expect("text"));
        let lines: Vec<String> = lines.take_while(|line| line != "ready").collect();
        let url = lines.iter().find_map(|line| line.strip_prefix("listening ")).expect("a listener").to_owned();
        Counted { child, url }
    }

    /// Ends it, so that the profile is written.
    fn stop(mut self) {
        signal(self.child.id(), "TERM");
        assert!(self.child.wait().expect("our child").success());
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What one more request costs.
fn per_request(mut copied_by: impl FnMut(u64) -> u64) -> f64 {
    let (few, many) = (copied_by(FEW), copied_by(MANY));
    (many as f64 - few as f64) / (MANY - FEW) as f64
}

#[test]
fn a_server_copies_no_body_that_it_has_and_an_echo_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let profile = folder.path().join("server.json");
    if counted(&profile).is_none() {
        return;
    }
    for wire in ["http", "zap"] {
        for asked in [ANSWERED, ECHOED] {
            let bytes = per_request(|requests| {
                let server = Counted::start(counted(&profile).expect("there a moment ago"), wire);
                load(zapring(), &server.url, asked, requests);
                server.stop();
                copied_bytes(&profile)
            });
            println!("server {wire} {}: {bytes:.0} bytes copied per request", word(asked));
            if asked == ANSWERED {
                // The body is shared: one piece of memory for all answers.
                assert!((0.0..HEADS_BYTES).contains(&bytes), "{wire}: {bytes} bytes copied per answer");
            } else {
                // Received where it is read, and copied once, into the answer.
                let beside = bytes - BODY_BYTES;
                assert!((0.0..HEADS_BYTES).contains(&beside), "{wire}: {bytes} bytes copied per echo");
            }
        }
    }
}

#[test]
fn a_loader_copies_neither_what_it_sends_nor_what_it_checks() {
    let folder = tempfile::tempdir().expect("a folder");
    let profile = folder.path().join("loader.json");
    if counted(&profile).is_none() {
        return;
    }
    let server = Server::start("epoll", &["--cores", "0"]);
    for address in [server.http_url(""), server.zap_url("")] {
        for asked in [ANSWERED, ECHOED] {
            let bytes = per_request(|requests| {
                load(counted(&profile).expect("there a moment ago"), &address, asked, requests);
                copied_bytes(&profile)
            });
            println!("loader {address} {}: {bytes:.0} bytes copied per request", word(asked));
            // A few moves at the start and the end differ between runs.
            assert!(bytes.abs() < HEADS_BYTES, "{address}: {bytes} bytes copied per request");
        }
    }
}

fn word(asked: &str) -> &str {
    if asked == ANSWERED { "answer" } else { "echo" }
}
