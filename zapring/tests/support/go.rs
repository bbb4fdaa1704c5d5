//! The Go programs under `peers/go`, built once per run of a test file, and a server among them as its own process.

use std::{
    fs,
    io::{self, BufRead, BufReader, Write},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

/// Where they are built to, and what the build said.
struct Built {
    folder: PathBuf,
    said: String,
}

fn built() -> &'static Built {
    static BUILT: OnceLock<Built> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers-go");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../peers/go/build.sh");
        // What an older build left behind must not stand for one that cannot be had now.
        let _ = fs::remove_dir_all(&folder);
        let output = Command::new("bash").arg(script).arg(&folder).stdin(Stdio::null()).output().expect("bash runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        // 3: no Go here.
        let fine = matches!(output.status.code(), Some(0 | 3));
        assert!(fine, "building the Go peers: {said}\n{}", String::from_utf8_lossy(&output.stderr));
        Built { folder, said }
    })
}

/// One of the programs; where it could not be built the test is skipped, which is counted and said.
pub(crate) fn go(program: &str) -> Option<Command> {
    static SKIPPED: AtomicU32 = AtomicU32::new(0);
    let Built { folder, said } = built();
    let path = folder.join(program);
    if path.is_file() {
        return Some(Command::new(path));
    }
    let reason = said
        .lines()
        .find_map(|line| line.strip_prefix(&format!("skipped {program}: ")).or(line.strip_prefix("skipped all: ")))
        .unwrap_or_else(|| panic!("{program} was neither built nor skipped: {said}"));
    let count = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
    // Past the capture of the test runner: a passing test would hide it.
    let _ = writeln!(io::stderr(), "skipped ({count} here): a test with {program}: {reason}");
    None
}

/// A server of theirs, killed when the test is done with it.
pub(crate) struct GoServer {
    child: Child,
    /// As it printed it, without a path.
    pub(crate) url: String,
}

impl GoServer {
    /// Starts it where `listen` says, and waits until it serves.
    pub(crate) fn start(mut program: Command, listen: &str) -> Self {
        let mut child =
            program.args(["-listen", listen, "-maxprocs", "2"]).stdout(Stdio::piped()).spawn().expect("built before");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let line = lines.next().expect("a line").expect("text");
        let url = line.strip_prefix("listening ").expect("where it listens").to_owned();
        assert_eq!(lines.next().expect("a line").expect("text"), "ready");
        GoServer { child, url }
    }

    /// Its address on TCP.
    pub(crate) fn address(&self) -> SocketAddr {
        let (_, address) = self.url.split_once("://").expect("a TCP listener");
        address.parse().expect("an address")
    }
}

impl Drop for GoServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
