//! Where connections come from and go to, as a server sees it, on every engine.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{IpAddr, TcpListener},
    sync::{Arc, Mutex, atomic::AtomicBool},
    thread,
};

use engine::Engine;
use loader::{Family, Length, LoadError, LoadPlan, Sources, Target, run};
use results::ExitCode;

type Peers = Arc<Mutex<BTreeMap<IpAddr, u32>>>;

/// Answers every request on this address, and counts where connections come from. Each test has its own; its threads end with it.
fn serve(address: &str) -> Option<(u16, Peers)> {
    let listener = TcpListener::bind(address).ok()?;
    let port = listener.local_addr().expect("bound").port();
    let peers = Peers::default();
    let seen = Arc::clone(&peers);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let from = stream.peer_addr().expect("connected").ip();
            *seen.lock().expect("no panic").entry(from).or_default() += 1;
            thread::spawn(move || {
                let mut bytes = [0; 4096];
                while let Ok(1..) = stream.read(&mut bytes) {
                    if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_err() {
                        return;
                    }
                }
            });
        }
    });
    Some((port, peers))
}

fn plan(url: &str, engine: Engine, sources: &[&str]) -> LoadPlan {
    LoadPlan {
        connections: 18,
        threads: 2,
        engine,
        length: Length::Requests { total: 180 },
        sources: Sources::parse(sources.iter().copied()).expect("sources"),
        ..LoadPlan::new(Target::parse(url).expect("a URL"))
    }
}

fn go(plan: &LoadPlan) -> Result<loader::Report, LoadError> {
    run(plan, &AtomicBool::new(false), &mut |_| {})
}

#[test]
fn every_source_has_the_same_share_of_the_connections() {
    for engine in Engine::ALL {
        let (port, peers) = serve("127.0.0.1:0").expect("loopback");
        let plan =
            plan(&format!("http://127.0.0.1:{port}/"), engine, &["127.0.7.8/29,127.0.8.1", "127.0.9.2,127.0.9.3"]);
        let report = go(&plan).expect("a result");
        assert_eq!(report.run.requests.ok, 180, "{engine}: {:?}", report.run.requests);
        let expected = ["127.0.7.9", "127.0.7.10", "127.0.7.11", "127.0.7.12", "127.0.7.13", "127.0.7.14"]
            .into_iter()
            .chain(["127.0.8.1", "127.0.9.2", "127.0.9.3"])
            .map(|ip| (ip.parse().expect("an address"), 2));
        assert_eq!(*peers.lock().expect("no panic"), expected.collect(), "{engine}");
        let config = &report.run.config;
        assert_eq!((config.sources.len(), config.source_addresses), (4, 9));
        assert_eq!(report.run.addresses.len(), 1);
        assert_eq!(
            (report.run.addresses[0].address.as_str(), report.run.addresses[0].connections),
            (&*format!("127.0.0.1:{port}"), 18)
        );
    }
}

/// A connection that is made again comes from where it came from before.
#[test]
fn sources_last_over_reconnects() {
    for engine in Engine::ALL {
        let (port, peers) = serve("127.0.0.1:0").expect("loopback");
        let mut plan = plan(&format!("http://127.0.0.1:{port}/"), engine, &["127.0.7.1,127.0.7.2,127.0.7.3"]);
        (plan.connections, plan.threads, plan.requests_per_conn) = (3, 1, Some(5));
        plan.pipeline = 1;
        let run = go(&plan).expect("a result").run;
        assert_eq!((run.requests.ok, run.requests.failed()), (180, 0), "{engine}");
        let peers = peers.lock().expect("no panic");
        // How many requests each connection gets is up to chance, where they come from is not.
        assert_eq!(peers.len(), 3, "{engine}: {peers:?}");
        assert!(peers.values().sum::<u32>() >= 36 && peers.values().all(|count| *count >= 2), "{engine}: {peers:?}");
    }
}

#[test]
fn ipv6_sources_work_alike() {
    let Some((port, peers)) = serve("[::1]:0") else { return eprintln!("skipped: this host has no ::1") };
    let before = Engine::ALL.len() as u32;
    for engine in Engine::ALL {
        let run = go(&plan(&format!("http://[::1]:{port}/"), engine, &["::1"])).expect("a result").run;
        assert_eq!(run.requests.ok, 180, "{engine}");
    }
    assert_eq!(peers.lock().expect("no panic").values().sum::<u32>(), 18 * before);
}

#[test]
fn what_cannot_work_is_refused_before_the_start() {
    let refused = |url: &str, sources: &[&str], family, connections| {
        let plan = LoadPlan { family, connections, ..plan(url, Engine::Epoll, sources) };
        let error = go(&plan).expect_err(url);
        (error.exit_code(), error.to_string())
    };
    let (code, text) = refused("http://127.0.0.1:1/", &["192.0.2.7"], Family::Any, 18);
    assert!(code == ExitCode::Address && text.contains("192.0.2.7 is not an address of this host"), "{text}");
    let (code, text) = refused("http://127.0.0.1:1/", &["::1"], Family::Any, 18);
    assert!(code == ExitCode::Usage && text.contains("source ::1 is an IPv6 address"), "{text}");
    let (code, text) = refused("http+unix:/nowhere", &["127.0.0.1"], Family::Any, 18);
    assert!(code == ExitCode::Usage && text.contains("unix socket"), "{text}");
    let (code, text) = refused("http://127.0.0.1:1/", &[], Family::V6, 18);
    assert!(code == ExitCode::Usage && text.contains("leave out -6"), "{text}");
    // More than two sources have ports in any range.
    let (code, text) = refused("http://127.0.0.1:1/", &["127.0.0.2,127.0.0.3"], Family::Any, 140_000);
    assert_eq!(code, ExitCode::Address, "{text}");
    for part in ["140000 connections from 2 source", "up to 70000 for each pair", "local ports", "--source", "sysctl"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
