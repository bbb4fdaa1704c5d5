//! Whole runs on real engines against tiny servers of the standard library: each ends by itself, with the right outcome or error.

use std::{
    io::{Read, Write},
    net::TcpListener,
    os::unix::net::UnixListener,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use engine::Engine;
use loader::{Length, LoadError, LoadPlan, Moment, Report, Target, run};
use results::{ExitCode, FloorConfig, Outcome, ValidityCode};

const GOOD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Serves each connection on a thread of its own; returns the port. The threads end with their connections, the accepting one
/// with the test.
fn serve(each: impl Fn(std::net::TcpStream) + Clone + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let each = each.clone();
            thread::spawn(move || each(stream));
        }
    });
    port
}

/// Answers every request of `request_bytes` bytes with `answer`, until the peer closes.
fn answer_all(mut stream: impl Read + Write, request_bytes: usize, answer: &[u8]) {
    let mut buffer = vec![0; 64 * 1024];
    let mut unread = 0;
    while let Ok(bytes @ 1..) = stream.read(&mut buffer) {
        unread += bytes;
        let answers = answer.repeat(unread / request_bytes);
        unread %= request_bytes;
        if stream.write_all(&answers).is_err() {
            return;
        }
    }
}

fn plan(url: &str, engine: Engine) -> LoadPlan {
    let target = Target::parse(url).expect("a URL");
    LoadPlan {
        connections: 8,
        threads: 2,
        engine,
        warmup_ns: Some(100_000_000),
        length: Length::Time { duration_ns: 300_000_000 },
        timeout_ns: 500_000_000,
        ..LoadPlan::new(target)
    }
}

fn go(plan: &LoadPlan) -> Result<Report, LoadError> {
    run(plan, &AtomicBool::new(false), &mut |_| {})
}

fn request_bytes(plan: &LoadPlan) -> usize {
    let request = loader::request::Request::encode(&plan.target, plan.method(), &plan.headers, &plan.body, 1);
    request.expect("encodes").len_bytes()
}

#[test]
fn a_good_server_gives_a_clean_run_on_every_engine() {
    for engine in Engine::ALL {
        let port =
            serve(|stream| answer_all(stream, request_bytes(&plan("http://127.0.0.1:12345/", Engine::Epoll)), GOOD));
        let url = format!("http://127.0.0.1:{port}/");
        let plan = LoadPlan {
            headers: vec![loader::value::header("Host: 127.0.0.1:12345").expect("a header")],
            ..plan(&url, engine)
        };
        let mut moments = Vec::new();
        let started = Instant::now();
        let report = run(&plan, &AtomicBool::new(false), &mut |moment| moments.push(moment)).expect("a result");
        let took = started.elapsed();
        let mut run = report.run;
        run.conclude();
        assert_eq!(moments, [Moment::Connected { open: 8 }, Moment::MeasureBegins, Moment::MeasureEnds], "{engine}");
        assert!(took < Duration::from_millis(900), "{engine}: {took:?}");
        assert!(run.requests.ok > 100 && run.requests.failed() == 0, "{engine}: {:?}", run.requests);
        assert_eq!((run.elapsed_ns, run.requests.adds_up()), (300_000_000, Ok(())));
        assert_eq!((run.latency.count, run.connect.count), (run.requests.ok, 8));
        assert_eq!(run.status_codes, [(200, run.requests.ok)].into());
        assert_eq!(run.bytes.body_received, 2 * run.requests.ok);
        let near = |bytes: u64, each: usize| bytes.abs_diff(run.requests.ok * each as u64) <= 64 * each as u64;
        assert!(near(run.bytes.received, GOOD.len()) && near(run.bytes.sent, request_bytes(&plan)), "{:?}", run.bytes);
        assert!(run.loader.cpu_ns > 0 && run.loader.cpu_ns_per_request.is_some_and(|ns| ns > 0), "{:?}", run.loader);
        assert!(run.loader.sqes.is_some(), "{engine}");
        assert_eq!(run.cores.iter().map(|core| core.connections).collect::<Vec<_>>(), [4, 4]);
        assert_eq!(run.cores.iter().map(|core| core.ok).sum::<u64>(), run.requests.ok);
        let warmup = run.warmup.expect("there was one");
        assert!(warmup.elapsed_ns == 100_000_000 && warmup.requests.ok > 0);
        assert!(run.validity.iter().any(|doubt| doubt.code == ValidityCode::Loopback));
        assert!(run.exit_codes(0).is_empty(), "{:?}", run.validity);
        assert_eq!(report.addresses.iter().map(|(_, count)| count).sum::<u32>(), 8);
    }
}

#[test]
fn zap_over_a_unix_socket_with_pipelining() {
    let folder = std::env::temp_dir().join(format!("zapring-loader-{}.sock", std::process::id()));
    let listener = UnixListener::bind(&folder).expect("a socket");
    let url = format!("zap+unix:{}:/health", folder.display());
    let plan = LoadPlan { pipeline: 16, ..plan(&url, Engine::Monoio) };
    let bytes = request_bytes(&plan);
    thread::spawn(move || {
        let mut answer = Vec::new();
        let head = codec::zap::response::ResponseHead::new(200, ());
        codec::zap::response::encode(&mut answer, &head, b"ok", ()).expect("encodes");
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            thread::spawn(move || answer_all(stream, bytes, &answer));
        }
    });
    let report = go(&plan).expect("a result");
    std::fs::remove_file(&folder).expect("removed");
    let run = report.run;
    assert!(run.requests.ok > 1000 && run.requests.failed() == 0, "{:?}", run.requests);
    assert_eq!((run.config.wire.as_str(), run.config.pipeline), ("zap", 16));
}

#[test]
fn floor_is_driven_on_every_engine_and_its_sizes_are_on_record() {
    for engine in Engine::ALL {
        let port = serve(|stream| answer_all(stream, 50, &[&[0, 0, 0, 96][..], &[0; 96]].concat()));
        for (asked, outcome) in [(100, Outcome::Ok), (101, Outcome::BadBody)] {
            let plan = LoadPlan {
                length: Length::Requests { total: 501 },
                warmup_ns: None,
                pipeline: 3,
                ..plan(&format!("floor://127.0.0.1:{port}/50/{asked}"), engine)
            };
            let run = go(&plan).expect("a result").run;
            assert_eq!((run.requests.planned, run.requests.count(outcome)), (501, 501), "{engine}");
            assert_eq!(
                (run.config.wire.as_str(), run.config.method.as_str(), run.config.expect.as_str()),
                ("floor", "", "")
            );
            assert_eq!(run.config.floor, Some(FloorConfig { request_bytes: 50, reply_bytes: asked }));
            assert!(run.status_codes.is_empty());
        }
    }
}

#[test]
fn counted_requests_are_exact_on_every_engine() {
    for engine in Engine::ALL {
        let port = serve(|stream| answer_all(stream, request_bytes(&plan("http://127.0.0.1/", Engine::Epoll)), GOOD));
        let url = format!("http://127.0.0.1:{port}/");
        let headers = vec![loader::value::header("Host: 127.0.0.1").expect("a header")];
        let plan = LoadPlan {
            length: Length::Requests { total: 1003 },
            warmup_ns: None,
            pipeline: 3,
            headers,
            ..plan(&url, engine)
        };
        let run = go(&plan).expect("a result").run;
        assert_eq!((run.requests.planned, run.requests.ok, run.latency.count), (1003, 1003, 1003), "{engine}");
        assert!(run.elapsed_ns > 0 && run.warmup.is_none() && run.rates.ok_per_s.is_some());
    }
}

#[test]
fn a_server_that_closes_after_each_answer_is_normal() {
    for engine in Engine::ALL {
        let port = serve(|mut stream| {
            let mut buffer = [0; 4096];
            if matches!(stream.read(&mut buffer), Ok(1..)) {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
            }
        });
        let run = go(&plan(&format!("http://127.0.0.1:{port}/"), engine)).expect("a result").run;
        assert_eq!(run.requests.failed(), 0, "{engine}: {:?} {:?}", run.requests, run.error_samples);
        assert!(run.requests.ok > 50, "{engine}: {:?}", run.requests);
        assert!(run.reconnects + 8 >= run.requests.ok, "{engine}: {} {:?}", run.reconnects, run.requests);
    }
}

#[test]
fn a_server_that_speaks_something_else_ends_by_itself() {
    for engine in Engine::ALL {
        let port = serve(|mut stream| {
            let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.9\r\n");
            let _ = stream.read(&mut [0; 4096]);
        });
        for url in [format!("http://127.0.0.1:{port}/"), format!("zap://127.0.0.1:{port}/")] {
            let run = go(&plan(&url, engine)).expect("a result").run;
            let failed = run.requests.protocol + run.requests.reset;
            assert!(run.requests.protocol > 0 && failed == run.requests.planned, "{engine}: {:?}", run.requests);
            assert!(run.requests.planned < 8 * 10, "patience bounds it: {:?}", run.requests);
            assert_eq!(run.exit_codes(0), [ExitCode::RequestsFailed]);
            assert!(run.error_samples.contains_key(&Outcome::Protocol));
        }
    }
}

#[test]
fn a_server_that_never_answers_ends_by_itself() {
    for engine in Engine::ALL {
        let port = serve(|mut stream| while matches!(stream.read(&mut [0; 4096]), Ok(1..)) {});
        let started = Instant::now();
        let run = go(&plan(&format!("http://127.0.0.1:{port}/"), engine)).expect("a result").run;
        assert!(started.elapsed() < Duration::from_secs(2), "{engine}");
        // Sent in the warm-up, timed out after the window: the measured part is empty.
        let warmup = run.warmup.expect("there was one").requests;
        assert_eq!((warmup.timeout, run.requests.planned), (8, 0), "{engine}: {warmup:?} {:?}", run.requests);
        assert_eq!(run.exit_codes(0), [ExitCode::NotTrusted], "an empty measured part is no success");
        let plan = LoadPlan { warmup_ns: Some(0), ..plan(&format!("http://127.0.0.1:{port}/"), engine) };
        let run = go(&plan).expect("a result").run;
        assert_eq!((run.requests.timeout, run.requests.planned), (8, 8), "{engine}: {:?}", run.requests);
        assert_eq!(run.exit_codes(0), [ExitCode::RequestsFailed]);
    }
}

#[test]
fn a_closed_port_is_an_error_at_once() {
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound").port();
    for engine in Engine::ALL {
        let started = Instant::now();
        let error = go(&plan(&format!("http://127.0.0.1:{port}/"), engine)).expect_err("nobody is there");
        assert!(started.elapsed() < Duration::from_millis(500), "{engine}: {:?}", started.elapsed());
        assert!(matches!(&error, LoadError::NoConnection { errno: Some(111), .. }), "{error:?}");
        assert_eq!(error.exit_code(), ExitCode::Address);
        let text = error.to_string();
        assert!(text.contains(&format!("127.0.0.1:{port}")) && text.contains("refused"), "{text}");
    }
    let error = go(&plan("zap+unix:/nonexistent/x.sock", Engine::Monoio)).expect_err("no such path");
    assert!(error.to_string().contains("/nonexistent/x.sock") && error.exit_code() == ExitCode::Address, "{error}");
}

#[test]
fn a_host_with_one_dead_address_is_reached_by_the_other() {
    let port = serve(|stream| answer_all(stream, request_bytes(&plan("http://a/", Engine::Epoll)), GOOD));
    let mut plan = plan(&format!("http://localhost:{port}/"), Engine::Monoio);
    plan.headers = vec![loader::value::header("Host: a").expect("a header")];
    let Ok(addresses) = plan.target.resolve(loader::Family::Any) else { return };
    let report = go(&plan).expect("a result");
    assert_eq!(report.run.requests.failed(), 0, "{addresses:?} {:?}", report.run.requests);
    assert_eq!(report.addresses.len(), 1);
}

#[test]
fn a_name_without_address_and_too_many_connections_are_errors() {
    let error = go(&plan("http://does-not-exist.invalid/", Engine::Monoio)).expect_err("no address");
    assert!(matches!(error, LoadError::Target(_)) && error.exit_code() == ExitCode::Address, "{error}");
    let many = LoadPlan { connections: 100_000, ..plan("http://127.0.0.1/", Engine::Monoio) };
    let error = go(&many).expect_err("too many");
    let text = error.to_string();
    assert!(text.contains("100000") && (text.contains("local ports") || text.contains("descriptors")), "{text}");
}

#[test]
fn a_stop_gives_a_partial_result_within_a_second() {
    for engine in Engine::ALL {
        let port = serve(|stream| answer_all(stream, request_bytes(&plan("http://a/", Engine::Epoll)), GOOD));
        let plan = LoadPlan {
            length: Length::Time { duration_ns: 60_000_000_000 },
            headers: vec![loader::value::header("Host: a").expect("a header")],
            ..plan(&format!("http://127.0.0.1:{port}/"), engine)
        };
        let stop = AtomicBool::new(false);
        let (report, took) = thread::scope(|scope| {
            let running = scope.spawn(|| run(&plan, &stop, &mut |_| {}).expect("a result"));
            thread::sleep(Duration::from_millis(500));
            stop.store(true, Ordering::Relaxed);
            let stopped = Instant::now();
            (running.join().expect("ended"), stopped.elapsed())
        });
        assert!(took < Duration::from_secs(1), "{engine}: {took:?}");
        let run = report.run;
        assert!(
            run.interrupted && run.requests.ok > 0 && run.requests.adds_up().is_ok(),
            "{engine}: {:?}",
            run.requests
        );
        assert!((200_000_000..800_000_000).contains(&run.elapsed_ns), "{engine}: {}", run.elapsed_ns);
        assert_eq!(run.exit_codes(0)[0], ExitCode::Interrupted);
    }
}

#[test]
fn large_bodies_both_ways_do_not_lock_up() {
    for engine in Engine::ALL {
        let body = vec![b'x'; 1 << 20];
        // Echoes as it reads: neither side waits for the other's whole message.
        let port = serve(move |mut stream| {
            let mut buffer = vec![0; 64 * 1024];
            let (mut head, mut left) = (Vec::new(), 0_usize);
            while let Ok(bytes @ 1..) = stream.read(&mut buffer) {
                let mut input = &buffer[..bytes];
                while !input.is_empty() {
                    if left == 0 {
                        head.push(input[0]);
                        input = &input[1..];
                        if head.ends_with(b"\r\n\r\n") {
                            head.clear();
                            left = 1 << 20;
                            let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {left}\r\n\r\n");
                        }
                    } else {
                        let taken = left.min(input.len());
                        if stream.write_all(&input[..taken]).is_err() {
                            return;
                        }
                        (left, input) = (left - taken, &input[taken..]);
                    }
                }
            }
        });
        let mut plan =
            LoadPlan { pipeline: 4, timeout_ns: 5_000_000_000, ..plan(&format!("http://127.0.0.1:{port}/"), engine) };
        plan.body = body.clone().into();
        plan.expect.body = Some(body.into());
        let run = go(&plan).expect("a result").run;
        assert!(
            run.requests.ok > 0 && run.requests.failed() == 0,
            "{engine}: {:?} {:?}",
            run.requests,
            run.error_samples
        );
        assert_eq!(run.config.method, "POST");
    }
}
