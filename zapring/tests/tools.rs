//! What people point at an HTTP server: curl, wrk and h2load, without an error on any engine.

mod support;

use std::{fs, io::Write};

use support::{ENGINES, Server, ask, dial, succeeded, tool};

#[test]
fn curl_in_every_manner() {
    if tool("curl", "curl").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let body: Vec<u8> = (0..1 << 20).map(|i| (i * 7 % 253) as u8).collect();
    let file = folder.path().join("body");
    fs::write(&file, &body).expect("written");
    let upload = format!("@{}", file.display());
    for engine in ENGINES {
        let server = Server::start(engine, &[]);
        let curl = |args: &[&str], url: &str| {
            let output =
                tool("curl", "curl").expect("found before").args(["-sS", "-m", "20"]).args(args).arg(url).output();
            let output = output.expect("curl runs");
            succeeded(&output);
            output.stdout
        };
        let health = server.http_url("/health");
        assert_eq!(curl(&[], &health), b"ok");
        assert_eq!(curl(&["-H", "Connection: close"], &health), b"ok");
        assert_eq!(curl(&["--http1.0"], &health), b"ok");
        assert_eq!(curl(&["--http1.0", "-H", "Connection: keep-alive"], &health), b"ok");
        let head = String::from_utf8(curl(&["-I"], &health)).expect("text");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("Content-Length: 2\r\n"), "{head}");
        // Keep-alive: three answers over one connection.
        let reused = curl(&["-w", "%{num_connects} ", &health, &health], &health);
        assert_eq!(String::from_utf8(reused).expect("text"), "ok1 ok0 ok0 ");
        let echo = server.http_url("/echo");
        let typed = ["-H", "Content-Type: application/x-test", "--data-binary", &upload];
        assert!(curl(&typed, &echo) == body, "1 MiB came back changed");
        let chunked = ["-H", "Transfer-Encoding: chunked", "-H", "Expect:", "--data-binary", &upload];
        assert!(curl(&chunked, &echo) == body, "1 MiB in chunks came back changed");
        let expect = ["-H", "Expect: 100-continue", "--data-binary", &upload];
        assert!(curl(&expect, &echo) == body, "1 MiB after 100-continue came back changed");
        assert_eq!(curl(&[], &server.http_url("/bytes/3000000")).len(), 3_000_000);
        assert_eq!(curl(&[], &server.http_url("/stream/100/1000")).len(), 100_000);
        assert_eq!(curl(&["-o", "/dev/null", "-w", "%{http_code}"], &server.http_url("/nowhere")), b"404");
        assert_eq!(curl(&["-X", "DELETE", "-o", "/dev/null", "-w", "%{http_code}"], &health), b"405");
        assert!(server.is_well());
    }
}

#[test]
fn wrk_without_an_error() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let script = folder.path().join("pipeline.lua");
    fs::write(
        &script,
        "init = function() local r = {} for i = 1, 16 do r[i] = wrk.format(nil, '/health') end req = table.concat(r) end\n\
         request = function() return req end\n",
    )
    .expect("written");
    for engine in ENGINES {
        let server = Server::start(engine, &[]);
        let health = server.http_url("/health");
        let script = script.display().to_string();
        for more in [&[][..], &["-s", script.as_str()][..]] {
            let Some(mut wrk) = tool("wrk", "wrk") else { return };
            let output =
                wrk.args(["-t", "1", "-c", "32", "-d", "1s"]).args(more).arg(&health).output().expect("wrk runs");
            let text = succeeded(&output);
            assert!(!text.contains("Socket errors") && !text.contains("Non-2xx"), "{engine} {more:?}: {text}");
            let rate: f64 = text
                .lines()
                .find_map(|line| line.strip_prefix("Requests/sec:"))
                .and_then(|rate| rate.trim().parse().ok())
                .expect("a rate");
            assert!(rate > 100.0, "{text}");
        }
        assert!(server.is_well());
    }
}

#[test]
fn h2load_counts_every_request_as_succeeded() {
    for engine in ENGINES {
        let server = Server::start(engine, &[]);
        for depth in ["1", "16"] {
            let Some(mut h2load) = tool("h2load", "nghttp2-client") else { return };
            let output = h2load
                .args(["--h1", "-n", "20000", "-c", "16", "-m", depth, &server.http_url("/health")])
                .output()
                .expect("h2load runs");
            let text = succeeded(&output);
            assert!(text.contains("20000 succeeded, 0 failed, 0 errored, 0 timeout"), "{engine}: {text}");
        }
        assert!(server.is_well());
    }
}

#[test]
fn sixteen_requests_in_one_segment_are_answered_in_order() {
    for engine in ENGINES {
        let server = Server::start(engine, &[]);
        let mut requests = Vec::new();
        for i in 0..15 {
            write!(requests, "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\n\r\n{i:04}").expect("into memory");
        }
        requests.extend_from_slice(b"GET /health HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
        let answer = String::from_utf8(ask(server.http, &requests)).expect("text");
        let mut rest = answer.as_str();
        for i in 0..15 {
            let at = rest.find("\r\n\r\n").expect("a head") + 4;
            assert!(rest.starts_with("HTTP/1.1 200 OK\r\n"), "{rest}");
            assert_eq!(&rest[at..at + 4], format!("{i:04}"));
            rest = &rest[at + 4..];
        }
        assert!(rest.ends_with("ok") && rest.contains("Connection: close"), "{rest}");
        // And the connection is gone after the last one.
        let mut peer = dial(server.http);
        peer.write_all(b"GET /health HTTP/1.0\r\n\r\n").expect("written");
        let mut all = Vec::new();
        std::io::Read::read_to_end(&mut peer, &mut all).expect("closed by the server");
        assert!(all.ends_with(b"ok"));
    }
}
