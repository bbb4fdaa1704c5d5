//! `zapring tune` and `doctor` over built trees and on this host: exit codes, documents, and what is said. Sets nothing of the host.

#[path = "../../testing/host_tree.rs"]
mod host_tree;
mod support;

use std::{fs, process::Output};

use host_tree::{HostTree, NicLook};
use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
use support::{succeeded, zapring};

fn tune(tree: &HostTree, words: &[&str]) -> Output {
    let mut command = zapring();
    command.arg("tune").args(words);
    command.arg("--proc-root").arg(tree.proc_root()).arg("--sys-root").arg(tree.sys_root());
    command.output().expect("the binary under test")
}

fn built() -> HostTree {
    let tree = HostTree::new(4);
    tree.nic(&NicLook::device("eth0", 1));
    tree
}

#[test]
fn a_refused_write_ends_with_40_and_leaves_nothing() {
    let tree = built();
    tree.policy(0, "0 1 2 3", "schedutil");
    let path = tree.sys_root().join("devices/system/cpu/cpufreq/policy0/scaling_governor");
    let file = fs::File::open(&path).expect("it was built");
    let flags = ioctl_getflags(&file).unwrap_or(IFlags::empty());
    if let Err(errno) = ioctl_setflags(&file, flags | IFlags::IMMUTABLE) {
        eprintln!("skipped: a file that refuses root too cannot be made here: {errno}");
        return;
    }
    let journals = tree.folder().join("journals").display().to_string();
    let ended = tune(&tree, &["apply", "eth0", "--cores", "0-3", "--journal-dir", &journals]);
    ioctl_setflags(&file, flags).expect("ours");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(40), "{said}");
    assert!(said.contains("policy0") && said.contains("everything was undone"), "{said}");
    assert_eq!(tree.read_proc("sys/net/core/somaxconn"), "4096");
    assert_eq!(tree.read_sys("class/net/eth0/queues/rx-0/rps_cpus"), "00000000");
}

#[test]
fn plans_are_documents() {
    let tree = built();
    let json = succeeded(&tune(&tree, &["plan", "eth0", "--cores", "0-3", "--json", "-"]));
    let plan: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&plan["schema"], &plan["schema_major"]), (&"zapring.tune_plan".into(), &1.into()));
    let steps = plan["steps"].as_array().expect("a list");
    for step in steps {
        for field in ["what", "from", "to", "reason", "source"] {
            assert!(step[field].is_string(), "{step}");
        }
    }
    assert!(steps.iter().any(|step| step["what"] == "eth0 rx-0 rps_cpus" && step["to"] == "e"), "{json}");
    let journals = tree.folder().join("journals").display().to_string();
    let dry = succeeded(&tune(&tree, &["apply", "eth0", "--cores", "0-3", "--dry-run", "--journal-dir", &journals]));
    assert!(dry.contains("eth0 rx-0 rps_cpus") && !tree.folder().join("journals").exists(), "{dry}");
    assert_eq!(tree.read_proc("sys/net/core/somaxconn"), "4096");
}

#[test]
fn bad_input_is_named() {
    let tree = built();
    let cases: [(&[&str], &str); 7] = [
        (&["plan", "eth7", "--cores", "0"], "there is no network interface eth7; there are: eth0, lo"),
        (&["plan", "--cores", "0-9"], "CPUs 4-9 are not online; online are 0-3"),
        (&["plan", "--profile", "fast"], "there are: throughput, latency, seed"),
        (&["plan", "--role", "both", "--cores", "0"], "--loader-cores"),
        (&["plan", "--mtu", "1500"], "--mtu needs an interface"),
        (&["plan", "eth0", "--rings", "0"], "a number of entries above 0"),
        (&["plan", "eth0", "--peer", "127.0.0.1"], "cannot be used with"),
    ];
    for (words, message) in cases {
        let ended = tune(&tree, words);
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(message), "{words:?}: {said}");
    }
}

#[test]
fn this_host_is_shown_and_planned_for_without_a_change() {
    let shown = succeeded(&zapring().args(["tune", "show"]).output().expect("the binary under test"));
    assert!(shown.contains("\nlo (loopback)\n"), "{shown}");
    let planned = zapring().args(["tune", "plan", "--peer", "127.0.0.1"]).output().expect("the binary under test");
    assert!(String::from_utf8_lossy(&planned.stderr).contains("own address"), "{planned:?}");
    assert!(succeeded(&planned).contains("lo"));
    let doctor = zapring().arg("doctor").output().expect("the binary under test");
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(matches!(doctor.status.code(), Some(0 | 30 | 31)), "{said}");
    for part in ["engines\n", "epoll", "\ntuning\n", "\ncores\n"] {
        assert!(said.contains(part), "{part:?} is missing:\n{said}");
    }
}
