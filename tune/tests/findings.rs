//! What would hurt a run, over built trees, and which cores make a fair pair.

mod fake;
#[path = "../../testing/host_tree.rs"]
mod host_tree;

use fake::Fake;
use host_tree::{CpuLook, HostTree, NicLook};
use tune::findings::{findings, unfair};
use tune::{CpuSet, Facts};

fn codes(tree: &HostTree) -> Vec<String> {
    let facts = Facts::gather(&tree.roots(), &Fake::default());
    let nics: Vec<_> = facts.nics.iter().collect();
    findings(&facts, &nics).into_iter().map(|finding| finding.code).collect()
}

#[test]
fn a_quiet_host_has_nothing_but_the_mtu_of_loopback() {
    assert_eq!(codes(&HostTree::new(4)), ["loopback_mtu"]);
}

#[test]
fn each_finding_is_found() {
    let tree = HostTree::gb10();
    tree.nic(&NicLook::device("eth0", 4));
    tree.policy(0, "0 1 2 3", "powersave");
    tree.policy(5, "5 6 7 8 9", "performance");
    tree.proc("loadavg", "9.50 1.0 1.0 1/1 1");
    tree.proc("stat", "cpu  10 0 10 70 0 0 0 10 0 0");
    tree.proc("sys/kernel/io_uring_disabled", "2");
    tree.proc("net/packet", "sk RefCnt Type Proto Iface R Rmem User Inode\nffff 3 3 0003 2 1 0 0 31337");
    tree.proc("sys/net/netfilter/nf_conntrack_count", "12");
    tree.proc("net/ip_tables_names", "filter\nnat");
    tree.proc("77/comm", "irqbalance");
    tree.sys("class/net/eth0/statistics/rx_crc_errors", "3");
    tree.sys("class/net/eth0/queues/rx-0/rps_flow_cnt", "4096");
    for queue in 0..4 {
        tree.sys(&format!("class/net/eth0/queues/tx-{queue}/xps_cpus"), "fffff");
    }
    for irq in ["31", "32", "33", "34"] {
        tree.proc(&format!("irq/{irq}/effective_affinity_list"), "0");
    }
    let found = codes(&tree);
    for code in [
        "governor",
        "mixed_cores",
        "load",
        "steal",
        "firewall",
        "conntrack",
        "sniffer",
        "io_uring",
        "losses",
        "rfs",
        "irqbalance",
        "xps",
        "interrupts",
        "loopback_mtu",
    ] {
        assert!(found.iter().any(|found| found == code), "{code} is not among {found:?}");
    }
    assert_eq!(found.iter().filter(|code| *code == "governor").count(), 1, "the other policy is fine");
}

#[test]
fn fair_pairs() {
    let unfair_codes = |tree: &HostTree, server: &str, loader: &str| {
        let facts = Facts::gather(&tree.roots(), &Fake::default());
        let set = |list: &str| CpuSet::from_list(list).expect("a list");
        unfair(&facts.cpus, &set(server), &set(loader)).into_iter().map(|finding| finding.code).collect::<Vec<_>>()
    };
    let gb10 = HostTree::gb10();
    let none: [&str; 0] = [];
    assert_eq!(unfair_codes(&gb10, "5-9", "15-19"), none, "equal cores, caches of their own");
    assert_eq!(unfair_codes(&gb10, "0-4", "5-9"), ["unlike_cores", "shared_cache"]);
    assert_eq!(unfair_codes(&gb10, "5-9", "10-14"), ["unlike_cores"]);
    assert_eq!(unfair_codes(&gb10, "5-9", "9,15-18"), ["shared_cores"]);
    assert_eq!(unfair_codes(&HostTree::new(4), "0-1", "2-3"), none, "one cache: there is no fairer pair");
    let threads = HostTree::with_cpus(8, "0-7", |cpu| CpuLook {
        cache: (0, 7),
        sibling: Some((cpu + 4) % 8),
        ..CpuLook::default()
    });
    assert_eq!(unfair_codes(&threads, "0-3", "4-7"), ["siblings"]);
}
