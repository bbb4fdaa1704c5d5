//! Rules over built trees: masks, spreads and orders on hosts of every size and shape.

mod fake;
#[path = "../../testing/host_tree.rs"]
mod host_tree;

use fake::Fake;
use host_tree::{CpuLook, HostTree, NicLook};
use tune::netlink::Amount;
use tune::plan::{Area, Rings};
use tune::{CpuSet, Facts, Plan, Profile, Request, Role, RuleError, Setting, plan};

fn request(nic: Option<&str>, cores: &str) -> Request {
    let cores = CpuSet::from_list(cores).expect("a list");
    Request { nic: nic.map(str::to_owned), ..Request::new(cores.iter().collect()) }
}

fn made(tree: &HostTree, netlink: &Fake, request: &Request) -> Plan {
    plan(&Facts::gather(&tree.roots(), netlink), request).expect("the request fits")
}

/// The value planned for a setting, if it is planned.
fn to<'a>(plan: &'a Plan, what: &str) -> Option<&'a str> {
    plan.steps.iter().find(|step| step.what == what).map(|step| step.to.as_str())
}

/// A mask as a list.
fn cpus(mask: &str) -> String {
    CpuSet::from_mask(mask).expect("a mask").list()
}

#[test]
fn one_queue_and_any_number_of_cpus() {
    for count in [1, 2, 4, 20, 31, 32, 33, 63, 64, 65, 128, 192, 1024] {
        let tree = HostTree::new(count);
        tree.nic(&NicLook::device("eth0", 1));
        let all = format!("0-{}", count - 1);
        let plan = made(&tree, &Fake::default(), &request(Some("eth0"), &all));
        let rps = to(&plan, "eth0 rx-0 rps_cpus");
        if count == 1 {
            assert_eq!(rps, None, "one core has nobody to hand packets to");
            assert!(plan.settled.iter().any(|settled| settled.what == "eth0 rx-0 rps_cpus"));
            assert_eq!(to(&plan, "net.core.rps_sock_flow_entries"), None);
        } else {
            let mask = rps.expect("fewer queues than cores");
            let want = if count == 2 { "1".to_owned() } else { format!("1-{}", count - 1) };
            assert_eq!(cpus(mask), want, "{count} CPUs: all but the one that takes the interrupts");
            assert!(mask.split(',').skip(1).all(|group| group.len() == 8), "{mask}");
            assert_eq!(mask.split(',').count(), (count as usize).div_ceil(32), "{mask}");
            assert_eq!(to(&plan, "net.core.rps_sock_flow_entries"), Some("32768"));
            assert_eq!(to(&plan, "eth0 rx-0 rps_flow_cnt"), Some("32768"));
        }
        for step in &plan.steps {
            if let Setting::Rps { .. } | Setting::Xps { .. } = step.setting {
                assert!(!CpuSet::from_mask(&step.to).expect("a mask").is_empty(), "{count} CPUs: {step:?}");
            }
            if let Setting::Interrupt { .. } = step.setting {
                assert_eq!(step.to, "0", "{step:?}");
            }
        }
        // One transmit queue: nothing to steer, and no attempt.
        assert!(!plan.steps.iter().any(|step| matches!(step.setting, Setting::Xps { .. })));
    }
}

#[test]
fn a_queue_for_every_worker_needs_no_packet_steering() {
    for count in [8, 20, 33, 64, 65, 128, 1024] {
        let tree = HostTree::new(count);
        tree.nic(&NicLook::device("eth0", 8));
        let workers: Vec<u32> = (count - 8..count).collect();
        let mut request = request(Some("eth0"), "0");
        request.cores.clone_from(&workers);
        let plan = made(&tree, &Fake::default(), &request);
        for (queue, core) in (0..8).zip(&workers) {
            assert_eq!(to(&plan, &format!("eth0 rx-{queue} rps_cpus")), None);
            let mask = to(&plan, &format!("eth0 tx-{queue} xps_cpus")).expect("one core per queue");
            assert_eq!(cpus(mask), core.to_string(), "{count} CPUs");
            let irq = plan.steps.iter().find(|step| step.what.ends_with(&format!("eth0-TxRx-{queue}")));
            assert_eq!(irq.expect("each queue has one").to, core.to_string());
        }
        assert_eq!(to(&plan, "net.core.rps_sock_flow_entries"), None, "no steering, no table");
        assert!(!plan.steps.iter().any(|step| step.what.ends_with(" eth0")), "the link's interrupt is left alone");
    }
}

#[test]
fn steering_that_only_costs_is_switched_off() {
    let tree = HostTree::new(8);
    tree.nic(&NicLook::device("eth0", 8));
    tree.sys("class/net/eth0/queues/rx-3/rps_cpus", "ff");
    let plan = made(&tree, &Fake::default(), &request(Some("eth0"), "0-7"));
    assert_eq!(to(&plan, "eth0 rx-3 rps_cpus"), Some("0"));
    let step = plan.steps.iter().find(|step| step.what == "eth0 rx-3 rps_cpus").expect("it is planned");
    assert!(step.from == "ff" && step.reason.contains("a queue for every worker"), "{step:?}");
}

#[test]
fn gb10_is_taken_by_list_and_cluster() {
    let tree = HostTree::gb10();
    tree.nic(&NicLook::device("eth0", 1));
    let facts = Facts::gather(&tree.roots(), &Fake::default());
    let groups: Vec<String> =
        facts.cpus.groups().iter().map(|group| format!("{} {}", group.kind, group.cpus)).collect();
    assert_eq!(groups, ["Cortex-A725 0-4", "Cortex-X925 5-9", "Cortex-A725 10-14", "Cortex-X925 15-19"]);
    let mut asked = request(Some("eth0"), "5-9");
    asked.loader_cores = CpuSet::from_list("15-19").expect("a list");
    let plan = made(&tree, &Fake::default(), &asked);
    assert_eq!(to(&plan, "eth0 rx-0 rps_cpus").map(cpus).as_deref(), Some("6-9"));
    // Interrupts on a small core of the same cluster leave all big ones to the workers.
    asked.irq_cores = vec![0];
    let plan = made(&tree, &Fake::default(), &asked);
    assert_eq!(to(&plan, "eth0 rx-0 rps_cpus"), Some("3e0"));
    let irq = plan.steps.iter().find(|step| step.what.ends_with("eth0-rx-0")).expect("planned");
    assert_eq!(irq.to, "0");
}

#[test]
fn workers_of_two_clusters_get_the_queue_of_their_own() {
    let tree = HostTree::gb10();
    tree.nic(&NicLook::device("eth0", 2));
    let mut asked = request(Some("eth0"), "5-9,15-19");
    asked.irq_cores = vec![0, 10];
    let plan = made(&tree, &Fake::default(), &asked);
    let mask = |what: &str| to(&plan, what).map(cpus);
    assert_eq!(mask("eth0 rx-0 rps_cpus").as_deref(), Some("5-9"));
    assert_eq!(mask("eth0 rx-1 rps_cpus").as_deref(), Some("15-19"));
    assert_eq!(mask("eth0 tx-0 xps_cpus").as_deref(), Some("5-9"));
    assert_eq!(mask("eth0 tx-1 xps_cpus").as_deref(), Some("15-19"));
    assert_eq!(to(&plan, "eth0 rx-0 rps_flow_cnt"), Some("16384"), "half of the table each");
}

#[test]
fn offline_cpus_and_hardware_threads() {
    // CPUs 2 and 3 are offline; n and n + 4 are one core.
    let tree = HostTree::with_cpus(8, "0-1,4-7", |cpu| CpuLook {
        cache: (0, 7),
        sibling: Some((cpu + 4) % 8).filter(|other| ![2, 3].contains(other)),
        ..CpuLook::default()
    });
    tree.nic(&NicLook::device("eth0", 1));
    let error = plan(&Facts::gather(&tree.roots(), &Fake::default()), &request(Some("eth0"), "0-3"));
    assert_eq!(error.expect_err("2 and 3").to_string(), "CPUs 2-3 are not online; online are 0-1,4-7");
    let plan = made(&tree, &Fake::default(), &request(Some("eth0"), "0-1,4-7"));
    let mask = to(&plan, "eth0 rx-0 rps_cpus").map(cpus);
    assert_eq!(mask.as_deref(), Some("1,5-7"), "neither the interrupt's core nor its other thread");
}

#[test]
fn two_nodes() {
    let tree = HostTree::with_cpus(16, "0-15", |cpu| CpuLook {
        cache: (cpu / 8 * 8, cpu / 8 * 8 + 7),
        node: cpu / 8,
        ..CpuLook::default()
    });
    tree.nic(&NicLook::device("eth0", 8));
    tree.sys("class/net/eth0/device/numa_node", "1");
    let plan = made(&tree, &Fake::default(), &request(Some("eth0"), "4-11"));
    let far = plan.advice.iter().find(|note| note.what == "eth0").expect("half of them are on the other node");
    assert!(far.why.contains("node 1") && far.why.contains("CPUs 4-7"), "{far:?}");
    let plan = made(&tree, &Fake::default(), &request(Some("eth0"), "8-15"));
    assert!(!plan.advice.iter().any(|note| note.what == "eth0"), "{:?}", plan.advice);
}

#[test]
fn the_loaders_cores_get_none_of_the_servers_packets() {
    let tree = HostTree::new(8);
    tree.nic(&NicLook::virtual_one("veth0", 1, ""));
    let mut asked = request(Some("veth0"), "0-3");
    asked.role = Role::Both;
    assert_eq!(plan(&Facts::gather(&tree.roots(), &Fake::default()), &asked), Err(RuleError::NoLoaderCores));
    asked.loader_cores = CpuSet::from_list("4-7").expect("a list");
    let plan_made = made(&tree, &Fake::default(), &asked);
    assert_eq!(to(&plan_made, "veth0 rx-0 rps_cpus"), Some("f"), "a veth has no interrupts: every worker");
    assert!(to(&plan_made, "net.ipv4.ip_local_port_range").is_some() && to(&plan_made, "net.core.somaxconn").is_some());
    asked.loader_cores = CpuSet::from_list("3-5").expect("a list");
    let error = plan(&Facts::gather(&tree.roots(), &Fake::default()), &asked).expect_err("3 is on both sides");
    assert!(error.to_string().contains("CPUs 3 are"), "{error}");
}

#[test]
fn no_interface_loopback_bond_and_nonsense() {
    let tree = HostTree::new(4);
    tree.nic(&NicLook::device("eth0", 1));
    tree.nic(&NicLook::device("eth1", 1));
    let mut bond = NicLook::virtual_one("bond0", 16, "bond");
    bond.lowers = &["eth0", "eth1"];
    tree.nic(&bond);
    let facts = Facts::gather(&tree.roots(), &Fake::default());

    let none = plan(&facts, &request(None, "0-3")).expect("the host alone");
    assert!(none.steps.iter().all(|step| step.setting.nic().is_none()), "{:?}", none.steps);
    assert!(none.advice.iter().any(|note| note.what == "no interface"));

    tree.sys("class/net/lo/queues/rx-0/rps_cpus", "f");
    let facts = Facts::gather(&tree.roots(), &Fake::default());
    let lo = plan(&facts, &Request { mtu_bytes: Some(1500), ..request(Some("lo"), "0-1") }).expect("loopback");
    assert_eq!((to(&lo, "lo rx-0 rps_cpus"), to(&lo, "lo mtu")), (Some("0"), Some("1500")));
    assert_eq!(to(&lo, "net.core.netdev_max_backlog"), None, "nothing is handed to another core");

    let bond = plan(&facts, &Request { mtu_bytes: Some(9000), ..request(Some("bond0"), "0-3") }).expect("a bond");
    assert_eq!(to(&bond, "bond0 mtu"), Some("9000"));
    for nic in ["eth0", "eth1"] {
        assert_eq!(to(&bond, &format!("{nic} rx-0 rps_cpus")).map(cpus).as_deref(), Some("1-3"));
    }
    assert!(!bond.steps.iter().any(|step| step.what.starts_with("bond0 rx")), "its members are tuned");

    let error = plan(&facts, &request(Some("eth9"), "0")).expect_err("no such interface");
    assert_eq!(error.to_string(), "there is no network interface eth9; there are: bond0, eth0, eth1, lo");
    assert_eq!(plan(&facts, &Request::new(Vec::new())), Err(RuleError::NoCores));
    assert!(matches!(
        plan(&facts, &Request { mtu_bytes: Some(67), ..request(Some("eth0"), "0") }),
        Err(RuleError::Mtu { mtu_bytes: 67 })
    ));
    assert!(matches!(
        plan(&facts, &Request { mtu_bytes: Some(1500), ..request(None, "0") }),
        Err(RuleError::NeedsNic { option: "--mtu" })
    ));
    assert!(matches!(
        plan(&facts, &Request { queues: Some(3), ..request(Some("eth0"), "0") }),
        Err(RuleError::Queues { queues: 3, max: 1, .. })
    ));
}

#[test]
fn queues_rings_and_coalescing_of_a_device() {
    let tree = HostTree::new(8);
    tree.nic(&NicLook::device("eth0", 8));
    let netlink = Fake::default();
    netlink.device("eth0", |device| {
        device.combined = Some(Amount { now: 8, max: 8 });
        device.ring_rx = Some(Amount { now: 256, max: 4096 });
        device.ring_tx = Some(Amount { now: 256, max: 4096 });
        device.rx_usecs = Some(3);
        device.adaptive_rx = Some(false);
    });
    let asked = request(Some("eth0"), "0-3");
    let plan_made = made(&tree, &netlink, &asked);
    assert_eq!(to(&plan_made, "eth0 ethtool -L combined"), Some("4"));
    assert_eq!(to(&plan_made, "eth0 ethtool -G rx"), None, "no drops, not asked for");
    assert_eq!(to(&plan_made, "eth0 ethtool -C adaptive-rx"), Some("on"));
    assert!(plan_made.steps[0].setting.resets_link(), "what resets the device comes first");
    assert_eq!(to(&plan_made, "eth0 rx-0 rps_cpus"), None, "four queues for four workers");

    tree.sys("class/net/eth0/statistics/rx_missed_errors", "17");
    let plan_made = made(&tree, &netlink, &asked);
    assert_eq!(to(&plan_made, "eth0 ethtool -G rx"), Some("512"), "doubled on drops");
    assert_eq!(to(&plan_made, "eth0 ethtool -G tx"), None);
    let max = made(&tree, &netlink, &Request { rings: Rings::Max, ..asked.clone() });
    assert_eq!((to(&max, "eth0 ethtool -G rx"), to(&max, "eth0 ethtool -G tx")), (Some("4096"), Some("4096")));

    let latency = made(&tree, &netlink, &Request { profile: Profile::Latency, ..asked.clone() });
    assert_eq!(to(&latency, "eth0 ethtool -C rx-usecs"), Some("0"));
    assert_eq!(to(&latency, "net.core.busy_poll"), Some("50"));

    let bare = Request { without: Area::ALL.to_vec(), ..asked };
    assert_eq!(made(&tree, &netlink, &bare).steps, []);
}

#[test]
fn the_seed_profile_is_the_seed_scripts() {
    let tree = HostTree::new(80);
    tree.nic(&NicLook::device("eth0", 4));
    tree.policy(0, "0 1", "schedutil");
    tree.policy(2, "2 3", "performance");
    tree.proc("sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456");
    let netlink = Fake::default();
    netlink.device("eth0", |device| device.ring_rx = Some(Amount { now: 256, max: 4096 }));
    let asked = Request { profile: Profile::Seed, ..request(Some("eth0"), "0-3") };
    let plan_made = made(&tree, &netlink, &asked);
    let expected = [
        ("eth0 ethtool -G rx", "4096"),
        ("eth0 rx-3 rps_cpus", "ffff,ffffffff,ffffffff"),
        ("eth0 rx-0 rps_flow_cnt", "65536"),
        ("net.core.rps_sock_flow_entries", "1048576"),
        ("eth0 tx-1 xps_cpus", "ffff,ffffffff,ffffffff"),
        ("net.core.rmem_max", "268435456"),
        ("net.ipv4.tcp_rmem", "4096 131072 268435456"),
        ("net.core.netdev_max_backlog", "300000"),
        ("net.core.netdev_budget", "60000"),
        ("net.core.netdev_budget_usecs", "8000"),
        ("net.core.somaxconn", "65535"),
        ("net.ipv4.tcp_max_syn_backlog", "65535"),
        ("net.ipv4.tcp_tw_reuse", "1"),
        ("net.ipv4.ip_local_port_range", "1024 65535"),
        ("net.ipv4.tcp_mtu_probing", "1"),
        ("net.ipv4.tcp_slow_start_after_idle", "0"),
        ("net.ipv4.tcp_no_metrics_save", "1"),
        ("cpufreq policy0 governor", "performance"),
    ];
    for (what, value) in expected {
        assert_eq!(to(&plan_made, what), Some(value), "{what}");
    }
    assert!(plan_made.settled.iter().any(|settled| settled.what == "cpufreq policy2 governor"));
    assert!(plan_made.unsupported.iter().any(|note| note.what == "net.ipv4.tcp_wmem"), "not in this tree");
}

#[test]
fn governors_and_idle_states_of_the_used_cores_only() {
    let tree = HostTree::new(4);
    tree.policy(0, "0 1", "powersave");
    tree.policy(2, "2 3", "powersave");
    for cpu in 0..4 {
        tree.idle_state(cpu, 0, "POLL", 0);
        tree.idle_state(cpu, 1, "C1", 2);
        tree.idle_state(cpu, 2, "C6", 133);
    }
    let asked = Request { profile: Profile::Latency, ..request(None, "2") };
    let plan_made = made(&tree, &Fake::default(), &asked);
    assert_eq!(to(&plan_made, "cpufreq policy2 governor"), Some("performance"));
    assert_eq!(to(&plan_made, "cpufreq policy0 governor"), None);
    let idle: Vec<&str> = plan_made
        .steps
        .iter()
        .filter(|step| matches!(step.setting, Setting::IdleState { .. }))
        .map(|step| step.what.as_str())
        .collect();
    assert_eq!(idle, ["cpu2 idle state 2 off"]);
}

#[test]
fn ports_that_somebody_listens_on_are_reserved_first() {
    let tree = HostTree::new(2);
    let row = |port: u16| {
        format!("   0: 0100007F:{port:04X} 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n")
    };
    tree.proc("net/tcp", &format!("  sl  local_address\n{}{}{}", row(22), row(9653), row(40_000)));
    let plan_made = made(&tree, &Fake::default(), &Request { role: Role::Loader, ..request(None, "0") });
    assert_eq!(to(&plan_made, "net.ipv4.ip_local_reserved_ports"), Some("9653"), "22 and 40000 are as safe as before");
    let position = |what: &str| plan_made.steps.iter().position(|step| step.what == what);
    assert!(position("net.ipv4.ip_local_reserved_ports") < position("net.ipv4.ip_local_port_range"));
    assert!(to(&plan_made, "net.core.somaxconn").is_none(), "nobody is accepted here");
}

#[test]
fn a_namespace_that_does_not_show_the_flow_table_says_so() {
    let tree = HostTree::new(4);
    tree.nic(&NicLook::virtual_one("veth0", 1, ""));
    std::fs::remove_file(tree.proc_root().join("sys/net/core/rps_sock_flow_entries")).expect("it was built");
    let plan_made = made(&tree, &Fake::default(), &request(Some("veth0"), "0-3"));
    assert_eq!(to(&plan_made, "veth0 rx-0 rps_flow_cnt"), Some("32768"));
    assert!(plan_made.unsupported.iter().any(|note| note.what == "net.core.rps_sock_flow_entries"));
}
