//! How `zapring load` ends: by itself, with a result or a reason, and the exit code of the catalogue.

mod support;

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    process::Output,
    thread,
    time::{Duration, Instant},
};

use support::{ENGINES, Server, signal, zapring};

fn load(engine: &str, url: &str, more: &[&str]) -> (Output, Duration) {
    let begun = Instant::now();
    let output = zapring()
        .args(["load", url, "--engine", engine, "-c", "4", "-d", "500ms", "--warmup", "0", "--timeout", "300ms"])
        .args(more)
        .output()
        .expect("the binary under test");
    (output, begun.elapsed())
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A server on loopback that treats every connection as `serve` does, until the test ends.
fn listen(serve: impl Fn(std::net::TcpStream) + Send + Sync + Clone + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || {
        for peer in listener.incoming().flatten() {
            let serve = serve.clone();
            thread::spawn(move || serve(peer));
        }
    });
    address
}

fn closed_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("bound")
}

#[test]
fn nobody_there() {
    for engine in ENGINES {
        for scheme in ["http", "zap"] {
            let (output, took) = load(engine, &format!("{scheme}://{}/health", closed_port()), &[]);
            assert_eq!(output.status.code(), Some(32), "{}", stderr(&output));
            assert!(stderr(&output).contains("is the server running"), "{}", stderr(&output));
            assert!(took < Duration::from_secs(5), "{took:?}");
        }
    }
}

#[test]
fn somebody_who_speaks_something_else() {
    let garbage = listen(|mut peer| {
        let mut some = [0; 1024];
        while peer.read(&mut some).is_ok_and(|n| n > 0) {
            if peer.write_all(b"220 mail.example ESMTP ready\r\n").is_err() {
                break;
            }
        }
    });
    for engine in ENGINES {
        for scheme in ["http", "zap"] {
            let (output, took) = load(engine, &format!("{scheme}://{garbage}/health"), &["--json", "-"]);
            assert_eq!(output.status.code(), Some(10), "{engine} {scheme}: {}", stderr(&output));
            let run: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a run file");
            assert!(run["requests"]["protocol"].as_u64() > Some(0), "{}", run["requests"]);
            assert_eq!(run["requests"]["ok"], 0);
            assert!(took < Duration::from_secs(5), "{took:?}");
        }
    }
}

#[test]
fn somebody_who_never_answers() {
    let silent = listen(|mut peer| {
        let _ = peer.read_to_end(&mut Vec::new());
    });
    for engine in ENGINES {
        for scheme in ["http", "zap"] {
            let (output, took) = load(engine, &format!("{scheme}://{silent}/health"), &["--json", "-"]);
            assert_eq!(output.status.code(), Some(10), "{}", stderr(&output));
            let run: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a run file");
            let requests = &run["requests"];
            assert!(requests["timeout"].as_u64() > Some(0), "{requests}");
            adds_up(requests);
            assert!(took < Duration::from_secs(5), "{took:?}");
        }
    }
}

#[test]
fn somebody_who_stops_answering_under_way() {
    for engine in ENGINES {
        let server = Server::start(engine, &[]);
        let url = server.http_url("/health");
        let pid = server.pid();
        let freezing = thread::spawn(move || {
            thread::sleep(Duration::from_millis(200));
            signal(pid, "STOP");
        });
        let (output, took) = load(engine, &url, &["--json", "-"]);
        freezing.join().expect("joined");
        assert_eq!(output.status.code(), Some(10), "{}", stderr(&output));
        let run: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a run file");
        assert!(
            run["requests"]["ok"].as_u64() > Some(0) && run["requests"]["timeout"].as_u64() > Some(0),
            "{}",
            run["requests"]
        );
        adds_up(&run["requests"]);
        assert!(took < Duration::from_secs(5), "{took:?}");
    }
}

#[test]
fn somebody_who_closes_after_each_answer_is_normal() {
    let polite = listen(|mut peer| {
        let mut some = [0; 4096];
        if peer.read(&mut some).is_ok_and(|n| n > 0) {
            let _ = peer.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
        }
    });
    for engine in ENGINES {
        let output = zapring()
            .args(["load", &format!("http://{polite}/"), "--engine", engine, "-c", "2", "-n", "40", "--json", "-"])
            .output()
            .expect("the binary under test");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let run: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a run file");
        assert_eq!(run["requests"]["ok"], 40);
        assert!(run["reconnects"].as_u64() >= Some(30), "{}", run["reconnects"]);
    }
}

#[test]
fn an_interrupt_keeps_the_partial_result() {
    let server = Server::start("monoio", &[]);
    let child = zapring()
        .args(["load", &server.http_url("/health"), "-c", "4", "-d", "60s", "--warmup", "0", "--json", "-"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the binary under test");
    thread::sleep(Duration::from_millis(700));
    signal(child.id(), "INT");
    let begun = Instant::now();
    let output = child.wait_with_output().expect("our child");
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let run: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a run file");
    assert_eq!(run["interrupted"], true);
    assert!(run["requests"]["ok"].as_u64() > Some(0));
    adds_up(&run["requests"]);
}

#[test]
fn exact_numbers_of_requests_and_both_sides_agree() {
    for engine in ENGINES {
        let server = Server::start(engine, &[]);
        for url in [
            server.http_url("/health"),
            server.zap_url("/health"),
            server.http_url("/stream/3/100"),
            server.zap_url("/stream/3/100"),
            server.floor_url(""),
            server.floor_url("/8/70000"),
        ] {
            for pipeline in ["1", "16"] {
                let before = requests(&server);
                let output = zapring()
                    .args([
                        "load",
                        &url,
                        "--engine",
                        engine,
                        "-c",
                        "7",
                        "-n",
                        "5001",
                        "--pipeline",
                        pipeline,
                        "--json",
                        "-",
                    ])
                    .output()
                    .expect("the binary under test");
                assert_eq!(output.status.code(), Some(0), "{engine} {url}: {}", stderr(&output));
                let run: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a run file");
                assert_eq!(run["requests"]["ok"], 5001, "{engine} {url} x{pipeline}: {}", run["requests"]);
                // One of them is the question itself.
                assert_eq!(requests(&server) - before, 5002, "{engine} {url} x{pipeline}");
            }
        }
    }
}

fn requests(server: &Server) -> u64 {
    let stats = server.stats();
    let count = |name: &str| stats["requests"][name].as_u64().expect("a number");
    count("http_requests") + count("zap_requests") + count("floor_requests")
}

fn adds_up(requests: &serde_json::Value) {
    let count = |name: &str| requests[name].as_u64().expect("a number");
    let outcomes =
        ["ok", "bad_status", "bad_body", "connect", "reset", "timeout", "protocol", "unfinished", "not_sent"];
    assert_eq!(count("planned"), outcomes.iter().map(|name| count(name)).sum::<u64>(), "{requests}");
}

#[test]
fn usage_errors_name_what_is_wrong() {
    for (args, words) in [
        (&["load", "https://127.0.0.1/"][..], "https"),
        (&["load", "http://127.0.0.1/", "-c", "1", "-t", "2"], "1 connections for 2 threads"),
        (&["load", "http://127.0.0.1/", "-H", "nocolon"], "nocolon"),
        (&["load", "http://127.0.0.1/", "-s", "x.lua"], "scripts are not supported"),
        (&["load", "http://127.0.0.1/", "--cores", "900"], "900"),
        (&["serve", "--listen", "https://127.0.0.1:1"], "https"),
        (&["serve", "--max-memory", "1MiB"], "--max-memory"),
        (&["serve", "--engine", "glomio"], "glomio"),
        (&["bench", "--levels", "1,x"], "x"),
        (&["load", "floor://127.0.0.1/health"], "floor://127.0.0.1:9654/111/114"),
        (&["load", "floor://127.0.0.1/7/114"], "8 to 1048576"),
        (&["load", "floor://127.0.0.1", "-H", "A: b"], "-H means nothing on floor"),
        (&["load", "floor://127.0.0.1", "-b", "x"], "-b"),
        (&["load", "floor://127.0.0.1", "-m", "GET"], "-m means nothing on floor"),
        (&["load", "http://127.0.0.1/", "--spin", "20us"], "--spin is for --engine uring, not for --engine monoio"),
        (&["load", "http://127.0.0.1/", "--drain", "soon"], "soon"),
        (
            &["serve", "--engine", "epoll", "--sqpoll"],
            "--sqpoll is for --engine uring, not for --engine epoll: it has no ring",
        ),
        (&["serve", "--engine", "epoll", "--ring-entries", "64"], "engines with a ring"),
        (&["serve", "--engine", "uring", "--buffers", "3"], "--buffers 3: it must be a power of two"),
        (&["serve", "--engine", "uring", "--buffer-size", "8"], "--buffer-size 8"),
        (&["serve", "--cores", "0", "--incoming-cpus", "0-1"], "--incoming-cpus names 2 CPUs for 1 shards"),
        (&["serve", "--incoming-cpus", "x"], "x"),
        (&["bench", "--engine", "uring", "--ring-entries", "7"], "--ring-entries 7: it must be from 8"),
        (&["bench", "--engine", "uring", "--spin", "1us", "--sqpoll"], "exclude each other"),
        (&["bench", "--engine", "uring", "--loader-engine", "epoll", "--min-wait", "5us"], "not for --engine epoll"),
    ] {
        let output = zapring().args(args).output().expect("the binary under test");
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(words), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn engine_options_and_the_drain_are_on_record() {
    let server = Server::start("uring", &["--buffers", "64", "--spin", "20us", "--incoming-cpus", "0", "--cores", "0"]);
    let knobs = ["--ring-entries", "64", "--spin", "20us", "--drain", "150ms", "-n", "1000", "--json", "-"];
    let output = zapring()
        .args(["load", &server.zap_url("/health"), "--engine", "uring", "-c", "4"])
        .args(knobs)
        .output()
        .expect("the binary under test");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let run: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a run file");
    assert_eq!(run["config"]["engine"]["options"], serde_json::json!({ "ring_entries": 64, "spin_ns": 20_000 }));
    assert_eq!(run["config"]["drain_ns"], 150_000_000);
    assert_eq!(run["config"]["origins"]["drain_ns"], "flag");
    let doubts = run["validity"].as_array().expect("a list");
    assert!(doubts.iter().any(|doubt| doubt["code"] == "spinning"), "{doubts:?}");
    let text = stderr(&output);
    assert!(text.contains("ring_entries 64, spin 20.00us") && text.contains("CPU figures mean nothing"), "{text}");
}

#[test]
fn a_drain_of_nothing_leaves_what_is_under_way_unfinished() {
    let silent = listen(|mut peer| {
        let _ = peer.read_to_end(&mut Vec::new());
    });
    let more = ["--timeout", "60s", "--drain", "0", "--json", "-"];
    let output = zapring()
        .args(["load", &format!("http://{silent}/"), "-c", "4", "-d", "200ms", "--warmup", "0"])
        .args(more)
        .output()
        .expect("the binary under test");
    assert_eq!(output.status.code(), Some(10), "{}", stderr(&output));
    let run: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a run file");
    assert_eq!(run["requests"]["unfinished"], 4, "{}", run["requests"]);
}

#[test]
fn a_result_that_cannot_be_written_is_noticed_before_the_run() {
    let begun = Instant::now();
    let output = zapring()
        .args(["load", "http://127.0.0.1:9/", "--json", "/nowhere/at/all/run.json"])
        .output()
        .expect("the binary under test");
    assert_eq!(output.status.code(), Some(50), "{}", stderr(&output));
    assert!(begun.elapsed() < Duration::from_secs(1));
}

#[test]
fn a_port_in_use_is_told_from_one_that_is_not_allowed() {
    let server = Server::start("monoio", &[]);
    let output = zapring().args(["serve", "--listen", &format!("http://{}", server.http)]).output().expect("runs");
    assert_eq!(output.status.code(), Some(32), "{}", stderr(&output));
    assert!(stderr(&output).contains("in use"), "{}", stderr(&output));
}
