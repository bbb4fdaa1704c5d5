//! The scripts in `tune/scripts/`: kept in step with the rules, and readable by a plain shell.
//!
//! After a change of the rules, write them again with `UPDATE_TUNE_SCRIPTS=1 cargo test -p tune --test scripts`.

mod fake;
#[path = "../../testing/host_tree.rs"]
mod host_tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use fake::Fake;
use host_tree::{HostTree, NicLook};
use tune::netlink::{Amount, Offload};
use tune::plan::Rings;
use tune::render::script::{Scripts, scripts};
use tune::{CpuSet, Facts, Request, Role, plan};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts")
}

/// A host with eight CPUs and governors.
fn host() -> HostTree {
    let tree = HostTree::new(8);
    for cpu in 0..8 {
        tree.policy(cpu, &cpu.to_string(), "schedutil");
    }
    tree
}

fn driver(queues: u32) -> Fake {
    let netlink = Fake::default();
    netlink.device("eth0", |device| {
        device.ring_rx = Some(Amount { now: 256, max: 4096 });
        device.ring_tx = Some(Amount { now: 256, max: 4096 });
        device.combined = (queues > 1).then_some(Amount { now: queues, max: queues });
        device.adaptive_rx = (queues > 1).then_some(false);
        device.gro = Some(Offload { on: true, changeable: true });
        device.gso = Some(Offload { on: true, changeable: true });
        device.tso = Some(Offload { on: true, changeable: true });
    });
    netlink
}

/// Name and both scripts of each common host.
fn common_hosts() -> Vec<(&'static str, Scripts)> {
    let list = |text: &str| CpuSet::from_list(text).expect("a list");
    let cores = |text: &str| list(text).iter().collect::<Vec<u32>>();
    let made = |tree: &HostTree, netlink: &Fake, request: &Request, name, about| {
        let planned = plan(&Facts::gather(&tree.roots(), netlink), request).expect("the request fits");
        (name, scripts(&planned, name, about))
    };
    let single = host();
    single.nic(&NicLook::device("eth0", 1));
    let several = host();
    several.nic(&NicLook::device("eth0", 8));
    let nic = Some("eth0".to_owned());
    let rings = Rings::Max;
    vec![
        made(
            &single,
            &driver(1),
            &Request { nic: nic.clone(), irq_cores: vec![0], rings, ..Request::new(cores("1-7")) },
            "single-queue",
            "8 CPUs and a network device with one queue, as of 2.5 or 10 Gb/s; interrupts on core 0, a server on cores 1 to 7",
        ),
        made(
            &several,
            &driver(8),
            &Request { nic, rings, ..Request::new(cores("0-7")) },
            "multi-queue",
            "8 CPUs and a network device with eight queues; a server on all of them",
        ),
        made(
            &host(),
            &Fake::default(),
            &Request {
                nic: Some("lo".to_owned()),
                role: Role::Both,
                loader_cores: list("4-7"),
                mtu_bytes: Some(1500),
                ..Request::new(cores("0-3"))
            },
            "loopback",
            "8 CPUs, server on cores 0 to 3 and loader on cores 4 to 7, over loopback alone",
        ),
    ]
}

#[test]
fn the_committed_scripts_are_what_the_rules_make() {
    let update = std::env::var_os("UPDATE_TUNE_SCRIPTS").is_some();
    for (name, scripts) in common_hosts() {
        for (file, text) in [(format!("{name}.sh"), &scripts.apply), (format!("{name}-undo.sh"), &scripts.undo)] {
            let path = folder().join(&file);
            if update {
                fs::create_dir_all(folder()).expect("writable");
                fs::write(&path, text).expect("writable");
            }
            let committed = fs::read_to_string(&path).unwrap_or_default();
            assert!(
                committed == *text,
                "{file} is out of step: UPDATE_TUNE_SCRIPTS=1 cargo test -p tune --test scripts"
            );
        }
    }
}

#[test]
fn a_plain_shell_and_shellcheck_take_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let files: Vec<PathBuf> = common_hosts()
        .into_iter()
        .flat_map(|(name, scripts)| [(format!("{name}.sh"), scripts.apply), (format!("{name}-undo.sh"), scripts.undo)])
        .map(|(name, text)| {
            let path = folder.path().join(name);
            fs::write(&path, text).expect("writable");
            path
        })
        .collect();
    for file in &files {
        let checked = Command::new("sh").arg("-n").arg(file).output().expect("a shell");
        assert!(checked.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&checked.stderr));
    }
    match Command::new("shellcheck").arg("--shell=sh").args(&files).output() {
        Err(_) => eprintln!("SKIPPED: no shellcheck here (package shellcheck)"),
        Ok(checked) => assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout)),
    }
}
