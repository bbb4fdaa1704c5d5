//! `zapring tune` for real, in a network namespace with a pair of virtual interfaces that the test makes: applied, read back, restored,
//! killed in the middle, changed from outside, and done by the scripts it writes. Nothing of the host itself is set: `--without cpu`
//! leaves governors alone, and the sysctls of the whole machine do not exist in there.

mod support;

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Output, Stdio},
};

use support::{succeeded, tool};

const NIC: &str = "tunetest0";

/// A network namespace with its own view of `/sys`, held open by a process that ends with this.
struct Namespace {
    holder: Child,
    folder: tempfile::TempDir,
}

impl Namespace {
    /// `None`, after saying why, where a namespace cannot be made.
    fn new() -> Option<Self> {
        if !succeeded(&Command::new("id").arg("-u").output().expect("id(1)")).trim().eq("0") {
            eprintln!("skipped: making a network namespace needs root");
            return None;
        }
        tool("ip", "iproute2")?;
        let script = format!(
            "mount -t sysfs sysfs /sys && ip link set lo up && ip link add {NIC} numrxqueues 1 numtxqueues 4 type veth peer name tunetest1 \
             && ip link set {NIC} up && ip link set tunetest1 up && echo ready && exec sleep 900"
        );
        let mut holder = tool("unshare", "util-linux")?
            .args(["--net", "--mount", "--propagation", "private", "sh", "-c", &script])
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare(1)");
        let mut line = String::new();
        BufReader::new(holder.stdout.take().expect("piped")).read_line(&mut line).expect("text");
        let namespace = Self { holder, folder: tempfile::tempdir().expect("a folder") };
        if line.trim() != "ready" {
            eprintln!("skipped: no network namespace with a veth pair can be made here");
            return None;
        }
        let cpus = succeeded(&namespace.run(&["nproc"]));
        if cpus.trim() == "1" {
            eprintln!("skipped: with one CPU there is nothing to steer");
            return None;
        }
        Some(namespace)
    }

    /// Something that runs in there.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.holder.id().to_string(), "-n", "-m", "--"]).args(words);
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("nsenter(1)")
    }

    fn journals(&self) -> String {
        self.folder.path().join("journals").display().to_string()
    }

    fn tune(&self, words: &[&str]) -> Output {
        let binary = assert_cmd::cargo::cargo_bin!("zapring").display().to_string();
        let all: Vec<&str> = [binary.as_str(), "tune"].iter().chain(words).copied().collect();
        self.run(&all)
    }

    fn apply(&self) -> Output {
        self.tune(&[&["apply"], WISH, &["--journal-dir", &self.journals()]].concat())
    }

    fn restore(&self, more: &[&str]) -> Output {
        self.tune(&[&["restore", "--journal-dir", &self.journals()], more].concat())
    }

    /// Every setting of the interface and of the namespace, byte for byte, and what ethtool shows.
    fn settings(&self) -> String {
        let script = format!(
            "cd /sys/class/net/{NIC} && grep -H . mtu queues/*/rps_cpus queues/*/rps_flow_cnt queues/*/xps_cpus; \
             cd /proc/sys/net && grep -rH . core ipv4 2>/dev/null | sort"
        );
        let files = succeeded(&self.run(&["sh", "-c", &script]));
        let json = succeeded(&self.tune(&["show", NIC, "--json", "-"]));
        let shown: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(shown["schema"], "zapring.tune_facts");
        let nics = shown["facts"]["nics"].as_array().expect("a list");
        let nic = nics.iter().find(|nic| nic["name"] == NIC).expect("it is there");
        format!("{files}\n{:#}", nic["device"])
    }

    fn value(&self, path: &str) -> String {
        succeeded(&self.run(&["cat", path])).trim().to_owned()
    }

    fn write(&self, path: &str, value: &str) {
        succeeded(&self.run(&["sh", "-c", &format!("echo {value} >{path}")]));
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// What is asked for everywhere.
const WISH: &[&str] = &[NIC, "--cores", "0-1", "--mtu", "1400", "--without", "cpu"];

fn queue(file: &str) -> String {
    format!("/sys/class/net/{NIC}/queues/{file}")
}

const SOMAXCONN: &str = "/proc/sys/net/core/somaxconn";

#[test]
fn applied_twice_and_restored_once_to_the_byte() {
    let Some(namespace) = Namespace::new() else { return };
    let before = namespace.settings();
    let said = succeeded(&namespace.apply());
    assert_eq!(u64::from_str_radix(&namespace.value(&queue("rx-0/rps_cpus")).replace(',', ""), 16), Ok(3), "{said}");
    assert_eq!(namespace.value(&queue("rx-0/rps_flow_cnt")), "32768");
    assert_eq!(u64::from_str_radix(&namespace.value(&queue("tx-1/xps_cpus")).replace(',', ""), 16), Ok(2));
    assert_eq!(namespace.value(&format!("/sys/class/net/{NIC}/mtu")), "1400");
    assert_eq!(namespace.value(SOMAXCONN), "65535");
    assert!(said.contains("net.core.rps_sock_flow_entries") && said.contains("does not have it"), "{said}");
    let tuned = namespace.settings();
    assert_ne!(tuned, before);

    assert!(succeeded(&namespace.apply()).contains("nothing to change"));
    let status = succeeded(&namespace.tune(&["status", "--journal-dir", &namespace.journals()]));
    assert!(status.contains("applied") && status.contains(" 0 do not"), "{status}");
    assert_eq!(namespace.settings(), tuned);

    let said = succeeded(&namespace.restore(&[]));
    assert!(said.contains("restored"), "{said}");
    assert_eq!(namespace.settings(), before);
    assert!(succeeded(&namespace.restore(&[])).contains("nothing to restore"));
}

#[test]
fn a_value_changed_from_outside_is_left_unless_forced() {
    let Some(namespace) = Namespace::new() else { return };
    let before = namespace.settings();
    succeeded(&namespace.apply());
    namespace.write(SOMAXCONN, "777");
    let restored = namespace.restore(&[]);
    let said = String::from_utf8_lossy(&restored.stdout).into_owned();
    assert_eq!(restored.status.code(), Some(41), "{said}");
    assert!(said.contains("left net.core.somaxconn") && said.contains("777"), "{said}");
    assert!(String::from_utf8_lossy(&restored.stderr).contains(&namespace.journals()), "the journal's path");
    assert_eq!(namespace.value(SOMAXCONN), "777");
    assert_eq!(namespace.value(&queue("rx-0/rps_flow_cnt")), "0", "all else is back");
    succeeded(&namespace.restore(&["--force"]));
    assert_eq!(namespace.settings(), before);
}

#[test]
fn killed_in_the_middle_and_restored() {
    let Some(namespace) = Namespace::new() else { return };
    if tool("strace", "strace").is_none() {
        return;
    }
    let before = namespace.settings();
    let device = format!("/sys/devices/virtual/net/{NIC}");
    // The kernel kills it as it writes there: at the beginning, in the middle, near the end.
    for place in ["mtu", "queues/rx-0/rps_cpus", "queues/tx-1/xps_cpus", SOMAXCONN] {
        let path = if place.starts_with('/') { place.to_owned() } else { format!("{device}/{place}") };
        let binary = assert_cmd::cargo::cargo_bin!("zapring").display().to_string();
        let tracer = [
            "strace",
            "-f",
            "-o",
            "/dev/null",
            "-P",
            &path,
            "-e",
            "trace=write",
            "-e",
            "inject=write:signal=KILL",
            &binary,
            "tune",
            "apply",
        ];
        let journals = namespace.journals();
        let killed = namespace.run(&[&tracer, WISH, &["--journal-dir", &journals]].concat());
        assert!(!killed.status.success(), "{place}: {killed:?}");
        assert_eq!(killed.stdout, b"", "{place}: it did not come to its end");
        let status = succeeded(&namespace.tune(&["status", "--journal-dir", &journals]));
        assert!(status.contains(" applying "), "{place}: {status}");
        let again = namespace.apply();
        assert_eq!(again.status.code(), Some(41), "{place}: half a journal is open");
        assert!(String::from_utf8_lossy(&again.stderr).contains("zapring tune restore"));
        let said = succeeded(&namespace.restore(&[]));
        assert!(said.contains("restored"), "{place}: {said}");
        assert_eq!(namespace.settings(), before, "killed at {place}");
    }
}

#[test]
fn channels_come_and_go_and_so_does_what_hangs_on_them() {
    let Some(namespace) = Namespace::new() else { return };
    // The queues that a change takes away are steered too: that must be back in the end.
    namespace.write(&queue("tx-3/xps_cpus"), "1");
    let before = namespace.settings();
    let journals = namespace.journals();
    let words = ["apply", NIC, "--cores", "0-1", "--queues", "2", "--without", "cpu", "--journal-dir", &journals];
    // One receive queue is the most that this pair was made with, so only the transmit side can change.
    let said = succeeded(&namespace.tune(&words));
    assert!(said.contains("applied     tunetest0 ethtool -L tx: 4 -> 2"), "{said}");
    assert!(said.contains("ethtool -L rx: 1 -> 2") && said.contains("refused"), "{said}");
    assert!(!namespace.run(&["test", "-e", &queue("tx-2")]).status.success(), "two queues are gone");
    succeeded(&namespace.restore(&[]));
    assert_eq!(namespace.settings(), before);
}

#[test]
fn a_journal_is_not_restored_from_another_namespace() {
    let (Some(namespace), Some(other)) = (Namespace::new(), Namespace::new()) else { return };
    let (before, others) = (namespace.settings(), other.settings());
    succeeded(&namespace.apply());
    let tuned = namespace.settings();
    let journals = namespace.journals();
    let refused = other.tune(&["restore", "--journal-dir", &journals]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("network namespace"), "{refused:?}");
    let status = succeeded(&other.tune(&["status", "--journal-dir", &journals]));
    assert!(status.contains("in another network namespace"), "{status}");
    assert_eq!((namespace.settings(), other.settings()), (tuned, others));
    succeeded(&namespace.restore(&[]));
    assert_eq!(namespace.settings(), before);
}

#[test]
fn the_scripts_do_what_apply_does() {
    let Some(namespace) = Namespace::new() else { return };
    let device: &[&str] = if tool("ethtool", "ethtool").is_some() { &[] } else { &["--without", "device"] };
    let wish: Vec<&str> =
        if device.is_empty() { WISH.to_vec() } else { vec![NIC, "--cores", "0-1", "--without", "cpu"] };
    let before = namespace.settings();
    let name = namespace.folder.path().join("made").display().to_string();
    succeeded(&namespace.tune(&[&["plan"], wish.as_slice(), device, &["--script", &name]].concat()));

    let journals = namespace.journals();
    succeeded(&namespace.tune(&[&["apply"], wish.as_slice(), device, &["--journal-dir", &journals]].concat()));
    let applied = namespace.settings();
    succeeded(&namespace.restore(&[]));

    let state = namespace.folder.path().join("state");
    let script = |end: &str| {
        let file = format!("{name}{end}");
        namespace.command(&["sh", &file]).env("STATE", &state).output().expect("a shell")
    };
    let said = succeeded(&script(".sh"));
    assert_eq!(namespace.settings(), applied, "{said}");
    assert_eq!(script(".sh").status.code(), Some(41), "not over old values that were not restored");
    let said = succeeded(&script("-undo.sh"));
    assert_eq!(namespace.settings(), before, "{said}");
    assert!(!Path::new(&state).exists());
    assert!(succeeded(&script("-undo.sh")).contains("nothing to undo"));
}
