//! What `zapring load` is given besides a URL: sources, a family of addresses, request files, scenarios; on a real server.

mod support;

use std::{path::Path, process::Output};

use serde_json::Value;
use support::{ENGINES, Server, framed, vector, zapring};

fn load(url: &str, more: &[&str]) -> Output {
    let base = ["load", url, "-c", "6", "-n", "600", "--timeout", "10s"];
    zapring().args(base).args(more).env("ZR_TOKEN", "s3cret-token").env_remove("ZR_GONE").output().expect("the binary")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The run file of a run that must end well, its text being on standard error.
fn run_of(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).expect("a run file")
}

fn file(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("written");
    path.display().to_string()
}

fn row<'a>(run: &'a Value, name: &str) -> &'a Value {
    let rows = run["named_requests"].as_array().expect("rows");
    rows.iter().find(|row| row["name"].as_str().is_some_and(|found| found.ends_with(name))).expect(name)
}

#[test]
fn request_files_have_exact_shares_and_figures_of_their_own_on_every_engine() {
    let folder = tempfile::tempdir().expect("a folder");
    let get = file(folder.path(), "get.http", b"GET /health HTTP/1.1\r\nHost: t\r\n\r\n");
    let head = file(folder.path(), "head.http", b"HEAD /bytes/1000 HTTP/1.1\r\nHost: t\r\n\r\n");
    let close = file(folder.path(), "close.http", b"GET /health HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
    let echo = file(folder.path(), "echo.http", b"POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n\r\nabc");
    let files = [format!("{get}@5"), format!("{head}@2"), format!("{close}@1"), format!("{echo}@2")];
    let flags: Vec<&str> = files.iter().flat_map(|file| ["--request-file", file]).collect();
    for engine in ENGINES {
        let server = Server::start(engine, &[]);
        for more in [&["--pipeline", "1"][..], &["--pipeline", "4"], &["-R", "3000"]] {
            let output = load(&server.http_url(""), &[&flags[..], &["--engine", engine, "--json", "-"], more].concat());
            let run = run_of(&output);
            assert_eq!(run["requests"]["ok"], 600, "{engine} {more:?}: {}", run["error_samples"]);
            for (name, ok, body) in
                [("get.http", 300, 2), ("head.http", 120, 0), ("close.http", 60, 2), ("echo.http", 120, 3)]
            {
                let row = row(&run, name);
                assert_eq!(
                    (&row["requests"]["ok"], &row["requests"]["sent"]),
                    (&ok.into(), &ok.into()),
                    "{engine}: {row}"
                );
                assert_eq!(row["body_received_bytes"], ok * body, "{engine}: {row}");
                assert_eq!((&row["status_codes"]["200"], &row["latency"]["count"]), (&ok.into(), &ok.into()), "{row}");
            }
            assert!(run["reconnects"].as_u64() >= Some(50), "{}", run["reconnects"]);
            let text = stderr(&output);
            assert!(text.contains("share %") && text.contains("head.http"), "{text}");
        }
    }
}

#[test]
fn zap_frames_are_sent_as_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let get = file(folder.path(), "get.zap", &framed(&vector("req_get_health")));
    let echo = file(folder.path(), "echo.zap", &framed(&vector("req_post_echo_h04_b256")));
    let bare = file(folder.path(), "bare.zap", &vector("req_get_health"));
    let weighted = format!("{echo}@2");
    let server = Server::start("monoio", &[]);
    for engine in ENGINES {
        let flags = ["--request-file", &get, "--request-file", &weighted, "--engine", engine, "--json", "-"];
        let run = run_of(&load(&server.zap_url(""), &flags));
        assert_eq!(
            (&row(&run, "get.zap")["requests"]["ok"], &row(&run, "echo.zap")["requests"]["ok"]),
            (&200.into(), &400.into())
        );
        assert_eq!(row(&run, "echo.zap")["body_received_bytes"], 400 * 256);
    }
    let output = load(&server.zap_url(""), &["--request-file", &bare]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("bare.zap is not one zap request: it begins with a frame"), "{}", stderr(&output));
}

const SCENARIO: &str = r#"
[[request]]
name = "health"
category = "cheap"
weight = 3
path = "/health"

[[request]]
name = "missing"
category = "cheap"
path = "/nowhere"
expect = "404"

[[request]]
name = "echo"
category = "dear"
path = "/echo"
headers = ["X-Token: ${ZR_TOKEN}"]
body_file = "body.bin"
requires_env = "ZR_TOKEN"

[[request]]
name = "admin"
category = "dear"
path = "/admin"
headers = ["Authorization: Bearer ${ZR_GONE}"]
requires_env = "ZR_GONE"
"#;

#[test]
fn a_scenario_is_told_by_request_and_category_and_keeps_its_secrets() {
    let folder = tempfile::tempdir().expect("a folder");
    let scenario = file(folder.path(), "s.toml", SCENARIO.as_bytes());
    file(folder.path(), "body.bin", b"hello");
    let server = Server::start("uring", &[]);
    let markdown = folder.path().join("run.md").display().to_string();
    let csv = folder.path().join("run.csv").display().to_string();
    for (url, more) in [
        (server.http_url(""), &["-t", "2"][..]),
        (server.http_url("/"), &["--pipeline", "3", "--requests-per-conn", "7"]),
        (server.http_url(""), &["-R", "4000"]),
        (server.zap_url(""), &["--pipeline", "2"]),
        (server.zap_url(""), &["-R", "4000", "--requests-per-conn", "9"]),
    ] {
        let output = load(&url, &[&["--scenario-file", &scenario, "--json", "-"], more].concat());
        let run = run_of(&output);
        assert_eq!(run["requests"]["ok"], 600, "{url} {more:?}: {}", run["error_samples"]);
        for (name, ok) in [("health", 360), ("missing", 120), ("echo", 120)] {
            assert_eq!(row(&run, name)["requests"]["ok"], ok, "{url} {more:?}: {name}");
        }
        assert_eq!(
            (&run["categories"][0]["category"], &run["categories"][0]["requests"]["ok"]),
            (&"cheap".into(), &480.into())
        );
        assert_eq!(
            (&run["categories"][1]["category"], &run["categories"][1]["requests"]["ok"]),
            (&"dear".into(), &120.into())
        );
        assert_eq!(run["categories"][0]["status_codes"]["404"], 120);
        assert_eq!(run["skipped_requests"][0]["requires_env"], "ZR_GONE");
        let (text, json) = (stderr(&output), String::from_utf8_lossy(&output.stdout).into_owned());
        assert!(text.contains("left out: admin (dear): the environment variable ZR_GONE is not set"), "{text}");
        assert!(!text.contains("s3cret") && !json.contains("s3cret"));

        let path = file(folder.path(), "run.json", &output.stdout);
        let report =
            zapring().args(["report", &path, "--markdown", &markdown, "--csv", &csv]).output().expect("the binary");
        assert!(report.status.success(), "{}", stderr(&report));
        let markdown = std::fs::read_to_string(&markdown).expect("written");
        assert!(markdown.contains("| missing | cheap | GET | 1 | 120 | 20.0 | 120 | 0 |"), "{markdown}");
        let csv = std::fs::read_to_string(&csv).expect("written");
        assert_eq!(csv.lines().filter(|line| line.contains(",echo,dear,")).count(), 1, "{csv}");
    }
    let last = SCENARIO.rsplit("[[request]]").next().expect("four requests");
    let alone = file(folder.path(), "alone.toml", format!("[[request]]{last}").as_bytes());
    let output = load(&server.http_url(""), &["--scenario-file", &alone]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("every request is left out: set ZR_GONE"), "{}", stderr(&output));
}

#[test]
fn the_token_arrives() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "[[request]]\nname = \"echo\"\npath = \"/echo\"\nbody = \"b\"\nheaders = [\"X-Token: <${ZR_TOKEN}>\"]\n";
    let scenario = file(folder.path(), "s.toml", text.as_bytes());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    let received = std::thread::spawn(move || {
        let (mut peer, _) = listener.accept().expect("accepted");
        let mut bytes = vec![0; 4096];
        let count = std::io::Read::read(&mut peer, &mut bytes).expect("read");
        std::io::Write::write_all(&mut peer, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").expect("written");
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    });
    let output = zapring()
        .args(["load", &url, "--scenario-file", &scenario, "-c", "1", "-n", "1"])
        .env("ZR_TOKEN", "s3cret-token")
        .output()
        .expect("the binary");
    let received = received.join().expect("served");
    assert!(received.contains("\r\nX-Token: <s3cret-token>\r\n"), "{received}");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn connections_come_from_the_sources_and_go_to_the_family() {
    let server = Server::start("epoll", &[]);
    for engine in ENGINES {
        let flags = ["--source", "127.0.5.8/30", "--source", "127.0.6.1", "-4", "--engine", engine, "--json", "-"];
        let output = load(&server.http_url("/health"), &flags);
        let run = run_of(&output);
        assert_eq!((&run["config"]["source_addresses"], &run["config"]["family"]), (&3.into(), &"ipv4".into()));
        assert_eq!(run["config"]["sources"], serde_json::json!(["127.0.5.8/30", "127.0.6.1"]));
        assert_eq!(run["addresses"][0]["connections"], 6);
        let text = stderr(&output);
        let to = format!("connections to {} (6)", server.http);
        assert!(text.contains(&to) && text.contains("from 3 source addresses, round robin: 127.0.5.8/30"), "{text}");
    }
}

#[test]
fn what_contradicts_itself_is_a_usage_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let get = file(folder.path(), "get.http", b"GET / HTTP/1.1\r\nHost: t\r\n\r\n");
    let broken = file(folder.path(), "broken.http", b"GET / HTTP/1.1\nHost: t\n\n");
    let scenario = file(folder.path(), "s.toml", SCENARIO.as_bytes());
    file(folder.path(), "body.bin", b"hello");
    for (url, flags, code, want) in [
        ("http://[::1]/", &["-4"][..], 2, "::1 is not an IPv4 address"),
        ("http://127.0.0.1/", &["-6"], 2, "127.0.0.1 is not an IPv6 address"),
        ("http://127.0.0.1/", &["-4", "-6"], 2, "cannot be used with"),
        ("http://127.0.0.1/", &["--source", "nonsense"], 2, "\"nonsense\" is not a source"),
        ("http://127.0.0.1/", &["--source", "::1"], 2, "source ::1 is an IPv6 address"),
        ("http://127.0.0.1/", &["--source", "192.0.2.1"], 32, "192.0.2.1 is not an address of this host"),
        ("http://127.0.0.1/", &["--request-file", &get, "-m", "GET"], 2, "cannot be used with"),
        ("http://127.0.0.1/", &["--request-file", &get, "-H", "A: b"], 2, "cannot be used with"),
        ("http://127.0.0.1/", &["--request-file", &get, "-b", "x"], 2, "cannot be used with"),
        ("http://127.0.0.1/", &["--scenario-file", &scenario, "-f", &get], 2, "cannot be used with"),
        ("http://127.0.0.1/", &["--request-file", &get, "--scenario-file", &scenario], 2, "cannot be used with"),
        ("http://127.0.0.1/path", &["--request-file", &get], 2, "the URL's path and --request-file exclude each other"),
        ("http://127.0.0.1/path", &["--scenario-file", &scenario], 2, "the URL's path and --scenario-file"),
        ("http://127.0.0.1/", &["--request-file", &broken], 2, "broken.http is not one http request: at byte 14"),
        ("http://127.0.0.1/", &["--request-file", "/nonexistent"], 2, "cannot read /nonexistent"),
        ("floor://127.0.0.1/", &["--request-file", &get], 2, "leave the file out"),
        ("floor://127.0.0.1/", &["--scenario-file", &scenario], 2, "a floor URL and --scenario-file"),
    ] {
        let output = load(url, flags);
        assert_eq!(output.status.code(), Some(code), "{flags:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(want), "{flags:?}: {}", stderr(&output));
    }
}
