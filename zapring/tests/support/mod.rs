//! A zapring server as its own process, for tests that drive it from outside.

#![allow(dead_code, reason = "each test file uses its part of it")]

pub(crate) mod go;

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

pub(crate) const ENGINES: [&str; 4] = ["monoio", "uring", "epoll", "glommio"];

/// A server that is killed when the test is done with it.
pub(crate) struct Server {
    child: Child,
    pub(crate) http: SocketAddr,
    pub(crate) zap: SocketAddr,
    pub(crate) floor: SocketAddr,
}

impl Server {
    /// Starts a server on free ports of loopback and waits until it serves.
    pub(crate) fn start(engine: &str, more: &[&str]) -> Self {
        let mut child = zapring()
            .args(["serve", "--engine", engine, "--listen", "http://127.0.0.1:0", "--listen", "zap://127.0.0.1:0"])
            .args(["--listen", "floor://127.0.0.1:0"])
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary under test");
        let mut http = None;
        let mut zap = None;
        let mut floor = None;
        for line in BufReader::new(child.stdout.take().expect("piped")).lines() {
            let line = line.expect("text");
            if let Some(address) = line.strip_prefix("listening http://") {
                http = address.parse().ok();
            } else if let Some(address) = line.strip_prefix("listening zap://") {
                zap = address.parse().ok();
            } else if let Some(address) = line.strip_prefix("listening floor://") {
                floor = address.parse().ok();
            } else if line == "ready" {
                break;
            }
        }
        Server {
            child,
            http: http.expect("an http listener"),
            zap: zap.expect("a zap listener"),
            floor: floor.expect("a floor listener"),
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn http_url(&self, path: &str) -> String {
        format!("http://{}{path}", self.http)
    }

    pub(crate) fn zap_url(&self, path: &str) -> String {
        format!("zap://{}{path}", self.zap)
    }

    /// The target on floor; `sizes` as in `/111/114`, or empty.
    pub(crate) fn floor_url(&self, sizes: &str) -> String {
        format!("floor://{}{sizes}", self.floor)
    }

    /// Sends it SIGTERM and waits; how long it took, and its exit code.
    pub(crate) fn terminate(&mut self) -> (Duration, Option<i32>) {
        let begun = Instant::now();
        signal(self.pid(), "TERM");
        let status = self.child.wait().expect("our child");
        (begun.elapsed(), status.code())
    }

    /// `GET /stats`.
    pub(crate) fn stats(&self) -> serde_json::Value {
        let answer = ask(self.http, b"GET /stats HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
        let body = answer.windows(4).position(|w| w == b"\r\n\r\n").map(|at| &answer[at + 4..]).expect("a head");
        serde_json::from_slice(body).expect("JSON")
    }

    /// Whether it still answers, on both wires.
    pub(crate) fn is_well(&self) -> bool {
        let http = ask(self.http, b"GET /health HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
        let mut zap = dial(self.zap);
        zap.write_all(&framed(&vector("req_get_health"))).expect("written");
        let expected = framed(&vector("resp_200_ok"));
        let mut got = vec![0; expected.len()];
        zap.read_exact(&mut got).expect("answered");
        http.starts_with(b"HTTP/1.1 200 OK\r\n") && http.ends_with(b"ok") && got == expected
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The binary under test.
pub(crate) fn zapring() -> Command {
    Command::new(assert_cmd::cargo::cargo_bin!("zapring"))
}

/// Sends a signal to a process that this test started.
pub(crate) fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([format!("-{name}"), pid.to_string()]).status().expect("kill(1)");
    assert!(sent.success());
}

/// A tool that may not be installed; says so when it is not.
pub(crate) fn tool(name: &str, package: &str) -> Option<Command> {
    let found = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(name).is_file()));
    if !found {
        eprintln!("skipped: {name} is not installed (apt-get install {package})");
    }
    found.then(|| Command::new(name))
}

pub(crate) fn succeeded(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{:?}\n{text}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    text
}

pub(crate) fn dial(address: SocketAddr) -> TcpStream {
    let peer = TcpStream::connect(address).expect("connected");
    peer.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
    peer.set_write_timeout(Some(Duration::from_secs(20))).expect("set");
    peer.set_nodelay(true).expect("set");
    peer
}

/// Sends bytes and reads to the end.
pub(crate) fn ask(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut peer = dial(address);
    peer.write_all(bytes).expect("written");
    let mut answer = Vec::new();
    peer.read_to_end(&mut answer).expect("read to the end");
    answer
}

/// A frame of the recorded vectors, without its length prefix.
pub(crate) fn vector(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../codec/tests/vectors").join(format!("{name}.hex"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let nibble = |digit: u8| (digit as char).to_digit(16).expect("a hex digit") as u8;
    digits.chunks(2).map(|pair| nibble(pair[0]) << 4 | nibble(pair[1])).collect()
}

/// A frame behind its length.
pub(crate) fn framed(frame: &[u8]) -> Vec<u8> {
    [&(frame.len() as u32).to_be_bytes(), frame].concat()
}

/// Bytes resident now.
pub(crate) fn rss_bytes(pid: u32) -> u64 {
    kib(pid, "status", "VmRSS:") * 1024
}

/// The most bytes that were ever resident.
pub(crate) fn rss_peak_bytes(pid: u32) -> u64 {
    kib(pid, "status", "VmHWM:") * 1024
}

/// Bytes resident now that no other process shares.
pub(crate) fn private_bytes(pid: u32) -> u64 {
    (kib(pid, "smaps_rollup", "Private_Clean:") + kib(pid, "smaps_rollup", "Private_Dirty:")) * 1024
}

fn kib(pid: u32, file: &str, field: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/{file}")).expect("a live process");
    let line = text.lines().find(|line| line.starts_with(field)).expect(field);
    line.split_ascii_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
}

pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(15);
    while !done() {
        assert!(Instant::now() < deadline, "timed out waiting until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
