//! The comparison with real servers and loaders: what is measured, what is said of those who are not there, and that nobody is left
//! behind; and that an outside loader, ours and the server count the same.

mod support;

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
};

use serde_json::Value;
use support::{Server, signal, succeeded, tool, wait_until, zapring};

/// Our own server and loader, one that is not there, one that answers wrongly and one that does not start.
const LIST: &str = r#"
[[server]]
name = "ours"
wire = "http"
command = ["{zapring}", "serve", "--engine", "epoll", "--cores", "{cores}", "--listen", "http://127.0.0.1:0"]
ready = "prints"
body_bytes = 2
[[server]]
name = "longer"
wire = "http"
command = ["{zapring}", "serve", "--engine", "epoll", "--cores", "{cores}", "--listen", "http://127.0.0.1:{port}"]
url = "http://127.0.0.1:{port}"
path = "/bytes/63"
body_bytes = 63
[[server]]
name = "ours-zap"
wire = "zap"
command = ["{zapring}", "serve", "--engine", "epoll", "--cores", "{cores}", "--listen", "zap://127.0.0.1:0", "--listen", "http://127.0.0.1:0"]
ready = "prints"
[[server]]
name = "wrong"
wire = "http"
command = ["{zapring}", "serve", "--engine", "epoll", "--listen", "http://127.0.0.1:0"]
ready = "prints"
path = "/nowhere"
[[server]]
name = "broken"
wire = "http"
command = ["sh", "-c", "echo no luck >&2; exit 3"]
url = "http://127.0.0.1:{port}"
[[server]]
name = "gone"
wire = "http"
command = ["/nonexistent/server"]
url = "http://127.0.0.1:{port}"
install = "apt-get install gone"
[[loader]]
name = "ours"
wire = "http"
command = ["{zapring}", "load", "{url}", "--engine", "epoll", "-c", "{connections}", "-n", "2000", "--json", "-", "--quiet"]
read = { requests = "/requests/ok", rate = "/rates/ok_per_s", p50 = "/latency/p50_ns", time_unit = "ns" }
[[loader]]
name = "ours-zap"
wire = "zap"
command = ["{zapring}", "load", "{url}", "--engine", "epoll", "-c", "{connections}", "-n", "2000", "--json", "-", "--quiet"]
read = { requests = "/requests/ok", failed = ["/requests/reset"] }
[[loader]]
name = "modest"
wire = "http"
command = ["sh", "-c", "{zapring} load {url} --engine epoll -n 2000 --quiet && echo 3 requests"]
read = { requests = '(\d+) requests' }
[[loader]]
name = "mute"
wire = "http"
command = ["true"]
read = { requests = '(\d+) requests' }
"#;

fn list(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("peers.toml");
    fs::write(&path, text).expect("written");
    path
}

fn versus(peers: &Path, out: &Path, more: &[&str]) -> Command {
    let mut command = zapring();
    command.args([
        "versus",
        "-c",
        "4",
        "-d",
        "100ms",
        "--warmup",
        "20ms",
        "--quiet",
        "--loader-engine",
        "epoll",
        "--peers",
    ]);
    command.arg(peers).arg("--out").arg(out).args(more);
    command
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("it was written")).expect("JSON")
}

fn row<'a>(table: &'a Value, name: &str, again: bool) -> &'a Value {
    let rows = table.as_array().expect("rows");
    rows.iter()
        .find(|row| row["name"] == name && row["again"] == again)
        .unwrap_or_else(|| panic!("no {name} in {table}"))
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn everybody_who_is_there_is_measured_and_the_others_are_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("out.json");
    let output = versus(&list(folder.path(), LIST), &out, &["--rounds", "3"]).output().expect("it runs");
    let said = format!("{}\n{}", text(&output), String::from_utf8_lossy(&output.stderr));
    // Three did not get through.
    assert_eq!(output.status.code(), Some(10), "{said}");
    let document = read(&out);
    assert_eq!((&document["schema"], &document["interrupted"]), (&"zapring.versus".into(), &false.into()));
    for (name, again, reply_bytes) in
        [("ours", false, 66), ("ours", true, 66), ("longer", false, 142), ("ours-zap", false, 114)]
    {
        let server = row(&document["servers"], name, again);
        assert_eq!((&server["reply_bytes"], &server["problem"]), (&reply_bytes.into(), &Value::Null), "{said}");
        for point in server["points"].as_array().filter(|points| points.len() == 3).expect("three rounds") {
            assert!(point["ok"].as_u64() > Some(0) && point["failed"] == 0, "{point}");
            assert!(
                point["core_busy_ns_per_request"].as_u64().is_some() && point["rss_bytes"].as_u64() > Some(0),
                "{point}"
            );
        }
    }
    assert!(row(&document["servers"], "longer", false)["rate"]["pairs"] == 3, "{document}");
    for (name, reason) in
        [("wrong", "its answer to /nowhere was not right"), ("broken", "it ended before it served: exit 3")]
    {
        let server = row(&document["servers"], name, false);
        assert_eq!(server["points"].as_array().map(Vec::len), Some(0));
        assert!(server["problem"].as_str().is_some_and(|problem| problem.contains(reason)), "{server}");
    }
    assert!(row(&document["servers"], "broken", false)["problem"].as_str().is_some_and(|why| why.contains("no luck")));
    for name in ["ours", "ours-zap"] {
        for point in row(&document["loaders"], name, false)["points"].as_array().expect("points") {
            // The server counts what the loader counts.
            assert_eq!((&point["ok"], &point["counted"]), (&2000.into(), &2000.into()), "{name}: {point}");
        }
    }
    // What it made has cost something, whatever it tells of it: two seconds of CPU would be more than 2000 requests can take.
    for point in row(&document["loaders"], "modest", false)["points"].as_array().expect("points") {
        assert_eq!((&point["ok"], &point["counted"]), (&3.into(), &2000.into()), "{point}");
        assert!(point["cpu_ns_per_request"].as_u64() < Some(1_000_000), "{point}");
    }
    assert!(
        row(&document["loaders"], "mute", false)["problem"]
            .as_str()
            .is_some_and(|why| why.contains("no number of requests"))
    );
    for part in [
        "absent server gone (there is no /nonexistent/server): apt-get install gone",
        "mute was not run any more",
        "(A/A)",
        "base",
    ] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
    // The file alone makes the same text.
    let again = zapring().arg("report").arg(&out).output().expect("it runs");
    assert!(text(&output).starts_with(&succeeded(&again)), "{}", text(&again));
    let page = folder.path().join("page.html");
    succeeded(
        &zapring().arg("report").arg(&out).args(["--markdown", "-", "--html"]).arg(&page).output().expect("it runs"),
    );
}

/// What `parent` has started and not yet ended.
fn children(parent: u32) -> Vec<i32> {
    let processes = procfs::process::all_processes().expect("a /proc").flatten();
    let stats = processes.filter_map(|process| process.stat().ok());
    stats.filter(|stat| stat.ppid == parent as i32).map(|stat| stat.pid).collect()
}

#[test]
fn an_interrupt_leaves_nobody_behind_and_keeps_what_was_made() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("out.json");
    let more = ["--servers", "ours", "--loaders", "none", "--rounds", "200"];
    let mut running = versus(&list(folder.path(), LIST), &out, &more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    // Some rounds in, with a server and a loader under way.
    let mut seen = std::collections::BTreeSet::new();
    wait_until("several servers were started", || {
        seen.extend(children(running.id()));
        assert!(running.try_wait().expect("our child").is_none(), "it ended by itself");
        seen.len() >= 12
    });
    signal(running.id(), "INT");
    let output = running.wait_with_output().expect("our child");
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    let alive: Vec<&i32> = seen.iter().filter(|pid| Path::new(&format!("/proc/{pid}")).exists()).collect();
    assert!(alive.is_empty(), "left behind: {alive:?}");
    let document = read(&out);
    assert_eq!(document["interrupted"], true);
    let points: usize = document["servers"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| row["points"].as_array().map_or(0, Vec::len))
        .sum();
    assert!(points > 0, "{document}");
    assert!(text(&output).contains("interrupted: runs are missing"));
}

/// Answers every request on every connection with the same bytes, for as long as the test process lives.
fn little_server(answer: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its own");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().expect("a descriptor")).lines();
                while let Some(Ok(line)) = lines.next() {
                    if line.is_empty() && stream.write_all(answer).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

#[test]
fn a_server_with_another_body_is_not_measured() {
    let same_length = little_server(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\x1bo");
    let chunked = little_server(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n");
    let ours = Server::start("epoll", &[]);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("out.json");
    let entry = |name: &str, wire: &str, address: SocketAddr, body: &str| {
        format!(
            "[[server]]\nname = \"{name}\"\nwire = \"{wire}\"\nurl = \"{wire}://{address}\"\nexpect_body = \"{body}\"\n"
        )
    };
    let text = [
        entry("same-length", "http", same_length, "ok"),
        entry("chunked", "http", chunked, "ok"),
        entry("ours", "http", ours.http, "ok"),
        entry("ours-zap", "zap", ours.zap, "ok"),
        entry("ours-zap-other", "zap", ours.zap, "okay"),
    ]
    .concat();
    let output = versus(&list(folder.path(), &text), &out, &["--rounds", "1"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(10), "{}", String::from_utf8_lossy(&output.stderr));
    let document = read(&out);
    for name in ["chunked", "ours", "ours-zap"] {
        let server = row(&document["servers"], name, false);
        assert_eq!(server["problem"], Value::Null, "{server}");
        assert!(server["points"][0]["ok"].as_u64() > Some(0), "{server}");
    }
    for (name, words) in [
        ("same-length", r#"to /health was not right: its body is "\x1bo" (2 bytes) and not "ok" (2 bytes)"#),
        ("ours-zap-other", r#"its body is "ok" (2 bytes) and not "okay" (4 bytes)"#),
    ] {
        let server = row(&document["servers"], name, false);
        assert_eq!(server["points"].as_array().map(Vec::len), Some(0), "{server}");
        assert!(server["problem"].as_str().is_some_and(|why| why.contains(words)), "{server}");
    }
    assert!(ours.is_well());
}

/// A document goes to other hosts: what is written relative to the list stays so, and nothing tells where this host keeps its files.
#[test]
fn paths_of_this_host_are_not_in_the_document() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (lists, out) = (folder.path().join("lists"), folder.path().join("out.json"));
    fs::create_dir(&lists).expect("a folder");
    fs::write(lists.join("no-program"), "").expect("a file that cannot be executed");
    let text = r#"
places = { built = "../built", here = "." }
[[server]]
name = "ours"
wire = "http"
command = ["{zapring}", "serve", "--engine", "epoll", "--cores", "{cores}", "--listen", "http://127.0.0.1:0"]
ready = "prints"
[[server]]
name = "gone"
wire = "http"
command = ["{built}/server"]
url = "http://127.0.0.1:{port}"
install = "make -C {built}"
[[server]]
name = "broken"
wire = "http"
command = ["{here}/no-program"]
url = "http://127.0.0.1:{port}"
[[server]]
name = "talks"
wire = "http"
command = ["sh", "-c", "echo {zapring} {folder} {here} >&2; exit 3"]
url = "http://127.0.0.1:{port}"
"#;
    let output = versus(&list(&lists, text), &out, &["--rounds", "1"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(10), "{}", String::from_utf8_lossy(&output.stderr));
    let mut document = read(&out);
    let absent = &document["absent"][0];
    assert_eq!(absent["reason"], "there is no ../built/server, seen from the list of peers");
    assert_eq!(absent["install"], "make -C ../built");
    let problem = |name: &str| row(&document["servers"], name, false)["problem"].to_string();
    assert!(problem("broken").contains("./no-program"), "{}", problem("broken"));
    assert!(problem("talks").contains("zapring {folder} ."), "{}", problem("talks"));
    // What was typed is the user's own.
    document["command"] = Value::Null;
    let rest = document.to_string();
    let exe = Path::new(env!("CARGO_BIN_EXE_zapring")).parent().expect("a folder");
    for path in [folder.path(), exe, &std::env::temp_dir().join(".tmp")] {
        assert!(!rest.contains(&path.display().to_string()), "{} is in {rest}", path.display());
    }
}

#[test]
fn a_service_that_runs_elsewhere_is_driven_by_its_url() {
    let server = Server::start("epoll", &[]);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("out.json");
    let entry = format!("[[server]]\nname = \"there\"\nwire = \"http\"\nurl = \"http://{}\"\n", server.http);
    succeeded(&versus(&list(folder.path(), &entry), &out, &["--rounds", "1"]).output().expect("it runs"));
    let document = read(&out);
    let there = row(&document["servers"], "there", false);
    assert_eq!((&there["command"], &there["reply_bytes"]), (&Value::Array(Vec::new()), &66.into()));
    assert!(
        there["points"][0]["ok"].as_u64() > Some(0) && there["points"][0]["cpu_ns_per_request"].is_null(),
        "{there}"
    );
    assert!(server.is_well());
}

#[test]
fn lists_that_are_wrong_are_refused_with_a_reason() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("out.json");
    for (text, more, words) in [
        ("[[server]]\nname = 1\n", &[][..], "is no list of peers"),
        ("", &[], "nobody is there to be compared"),
        (LIST, &["--servers", "apache"], "has no server apache; it has ours, longer"),
        (LIST, &["--base", "apache"], "has no server or loader apache"),
        (LIST, &["--rounds", "0"], "0 rounds"),
    ] {
        let output = versus(&list(folder.path(), text), &out, more).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{more:?}: {said}");
        assert!(said.contains(words), "{words} is not in {said}");
    }
    let output = versus(Path::new("/nonexistent.toml"), &out, &[]).output().expect("it runs");
    assert!(String::from_utf8_lossy(&output.stderr).contains("--peers names another"));
}

#[test]
fn the_published_list_is_a_right_one() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("../peers/peers.toml");
    let out = folder.path().join("out.json");
    let more = ["--servers", "zapring-epoll,zapring-epoll-zap", "--loaders", "none", "--rounds", "1"];
    succeeded(&versus(&published, &out, &more).output().expect("it runs"));
    assert_eq!(read(&out)["servers"].as_array().map(Vec::len), Some(4));
}

/// The cross-check: what wrk counts, what we count and what the server counts are the same requests.
#[test]
fn wrk_our_loader_and_the_server_count_the_same() {
    const CONNECTIONS: u64 = 8;
    for engine in support::ENGINES {
        let server = Server::start(engine, &[]);
        let counted = || server.stats()["requests"]["http_requests"].as_u64().expect("a number");
        let base = counted();
        // What asking counts itself: the difference between two looks with nothing in between.
        let own = counted() - base;
        let url = server.http_url("/health");

        let before = counted();
        let run = zapring()
            .args(["load", &url, "-c", "8", "-n", "5000", "--engine", engine, "--json", "-", "--quiet"])
            .output();
        let run: Value = serde_json::from_str(&succeeded(&run.expect("it runs"))).expect("a run file");
        assert_eq!((&run["requests"]["ok"], counted() - before - own), (&5000.into(), 5000), "{engine}");

        let Some(mut wrk) = tool("wrk", "wrk") else { return };
        let before = counted();
        let output = wrk.args(["-t", "1", "-c", "8", "-d", "1s"]).arg(&url).output().expect("wrk runs");
        let said = succeeded(&output);
        let theirs: u64 = said
            .lines()
            .find_map(|line| line.split_once(" requests in ")?.0.trim().parse().ok())
            .unwrap_or_else(|| panic!("no count in {said}"));
        let ours = counted() - before - own;
        // What was under way when wrk stopped was answered and not counted by it.
        assert!((theirs..=theirs + CONNECTIONS).contains(&ours), "{engine}: wrk counted {theirs}, the server {ours}");
    }
}
