//! What the ring engine asks of the kernel per request with sixty-four connections, on both sides, by their own counters.

mod support;

use support::{Server, succeeded, zapring};

#[test]
fn a_request_takes_one_operation_and_a_share_of_an_enter() {
    let server = Server::start("uring", &["--cores", "0"]);
    for url in [server.http_url("/health"), server.zap_url("/health"), server.floor_url("")] {
        let counts = || {
            let stats = server.stats();
            ["operations", "enters", "completions"].map(|name| stats["connections"][name].as_u64().expect("a count"))
        };
        let before = counts();
        let load = ["load", &url, "-c", "64", "-n", "60000", "--warmup", "0", "--engine", "uring", "--cores", "1"];
        let output = zapring().args(load).args(["--json", "-", "--quiet"]).output().expect("the binary under test");
        let run: serde_json::Value = serde_json::from_str(&succeeded(&output)).expect("a run file");
        let after = counts();
        assert_eq!(run["requests"]["ok"], 60_000);
        let side = |total: u64| total as f64 / 60_000.0;
        let of_server = [0, 1, 2].map(|i| side(after[i] - before[i]));
        let of_loader = ["sqes", "enters", "cqes"].map(|name| side(run["loader"][name].as_u64().expect("a count")));
        println!("{url}: SQEs, enters, CQEs per request: server {of_server:.3?}, loader {of_loader:.3?}");
        for (name, [operations, enters, completions]) in [("server", of_server), ("loader", of_loader)] {
            assert!(operations <= 1.2, "{name}: {operations} operations per request on {url}");
            assert!(completions <= 2.2, "{name}: {completions} completions per request on {url}");
            // Measured at 0.02 to 0.1; how many come together is the machine's. Two would be one for every send and one for every receive.
            assert!(enters <= 1.2, "{name}: {enters} enters per request on {url}");
        }
    }
}
