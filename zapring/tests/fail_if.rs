//! Limits on the command line: read before anything is sent, told in the report, and an exit code of their own.

mod support;

use support::{Server, zapring};

fn load(url: &str, args: &[&str]) -> (Option<i32>, String, String) {
    let output = zapring().args(["load", url, "-c", "2"]).args(args).output().expect("the binary under test");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_limit_that_is_crossed_is_exit_12_and_a_kept_one_is_not() {
    let server = Server::start("monoio", &["--cores", "0"]);
    let url = server.http_url("/health");
    let (code, out, err) = load(&url, &["-n", "3000", "--fail-if", "latency.max > 1ns", "--fail-if", "failed > 0"]);
    assert_eq!(code, Some(12), "{out}{err}");
    assert!(out.contains("limit          latency.max > 1ns: crossed, "), "{out}");
    assert!(out.contains("limit          failed > 0: kept, 0"), "{out}");
    assert!(err.contains("exit 12: limit_crossed"), "{err}");
    let (code, out, _) = load(&url, &["-n", "3000", "--fail-if", "latency.p99 > 1m", "--fail-if", "ok_per_s < 1"]);
    assert_eq!(code, Some(0), "{out}");
    // Ten requests have no 99th percentile, and nobody watches this server.
    for limit in ["latency.p99 > 1m", "cpu_us_per_request > 1000"] {
        let (code, out, _) = load(&url, &["-n", "10", "--fail-if", limit]);
        assert!(code == Some(12) && out.contains("the run has no such figure"), "{limit}: {out}");
    }
    // Failed requests win, and both are named.
    let (code, _, err) = load(&server.http_url("/none"), &["-n", "10", "--fail-if", "errors > 50%"]);
    assert!(code == Some(10) && err.contains("limit_crossed (12)"), "{err}");
}

#[test]
fn what_is_wrong_is_refused_before_anything_is_sent() {
    // Nobody listens there: a run would end with another code.
    let url = "http://127.0.0.1:9/";
    for (limit, words) in [
        ("latency.p98 > 2ms", "there is no figure 'latency.p98'"),
        ("latency.p99 > 2", "give a time with its unit"),
        ("latency.p99", "compares nothing"),
        ("send_lag.p99 > 1ms", "give a rate with -R"),
    ] {
        let (code, _, err) = load(url, &["-n", "10", "--fail-if", limit]);
        assert!(code == Some(2) && err.contains(words), "{limit}: {code:?} {err}");
    }
}
