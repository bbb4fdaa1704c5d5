//! A whole server on real sockets, on every engine: started, asked, stopped.

mod driver;

use std::{
    io::{Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
    time::{Duration, Instant},
};

use driver::{floor_frame, frame, prefixed, replies, vector};
use engine::Engine;
use server::{Listen, Running, StartError, StartOptions, start};

fn serve(engine: Engine, listen: &[&str]) -> Running {
    let listen = listen.iter().map(|url| url.parse().expect("an address")).collect();
    start(StartOptions { engine, listen, ..StartOptions::default() })
        .unwrap_or_else(|error| panic!("{engine}: {error}"))
}

/// Sends `input`, and reads until `bytes` have come.
fn exchange(mut stream: impl Read + Write, input: &[u8], bytes: usize) -> Vec<u8> {
    stream.write_all(input).expect("sent");
    let mut answer = vec![0; bytes];
    stream.read_exact(&mut answer).expect("a whole answer");
    answer
}

fn connect(url: &str) -> TcpStream {
    let stream = TcpStream::connect(url.split_once("://").expect("a URL").1).expect("connected");
    stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a valid timeout");
    stream
}

#[test]
fn every_engine_serves_every_wire_and_ends_when_told() {
    for engine in Engine::ALL {
        let path = std::env::temp_dir().join(format!("zapring-live-{}-{engine}.sock", std::process::id()));
        let unix = format!("zap+unix:{}", path.display());
        let floor_path = path.with_extension("floor");
        let floor_unix = format!("floor+unix:{}", floor_path.display());
        let running =
            serve(engine, &["zap://127.0.0.1:0", "http://127.0.0.1:0", &unix, "floor://127.0.0.1:0", &floor_unix]);
        let urls = running.urls();
        assert!(urls.iter().all(|url| !url.ends_with(":0")), "{urls:?}");
        let (ask, golden) = (frame("GET", "/health", &[], b""), prefixed(&vector("resp_200_ok")));
        let zap = connect(&urls[0]);
        assert_eq!(exchange(&zap, &ask.repeat(3), golden.len() * 3), golden.repeat(3), "{engine}");
        assert_eq!(exchange(UnixStream::connect(&path).unwrap(), &ask, golden.len()), golden, "{engine}");
        let (ask, reply) = (floor_frame(111, 114), [&[0, 0, 0, 110][..], &[0; 110]].concat());
        assert_eq!(exchange(connect(&urls[3]), &ask.repeat(3), 3 * 114), reply.repeat(3), "{engine}");
        assert_eq!(exchange(UnixStream::connect(&floor_path).unwrap(), &ask, 114), reply, "{engine}");
        let large = exchange(connect(&urls[3]), &floor_frame(1 << 20, 1 << 20), 1 << 20);
        assert_eq!(driver::floor_replies(&large), [1 << 20], "{engine}");

        let mut http = connect(&urls[1]);
        let stats = b"GET /stats HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        http.write_all(stats).unwrap();
        let mut answer = Vec::new();
        http.read_to_end(&mut answer).unwrap();
        let stats: serde_json::Value = serde_json::from_slice(&replies(&answer)[0].body).unwrap();
        assert_eq!((stats["engine"].as_str(), &stats["requests"]["zap_requests"]), (Some(engine.name()), &4.into()));
        assert_eq!(stats["requests"]["floor_requests"], 5);
        assert!(stats["connections"]["connections_open"].as_u64() >= Some(2), "{stats}");
        let stats: serde_json::Value = serde_json::from_str(&running.stats_json()).unwrap();
        assert_eq!(stats["requests"]["http_requests"], 1);

        let told = Instant::now();
        running.stop();
        running.join().unwrap_or_else(|errors| panic!("{engine}: {errors:?}"));
        assert!(told.elapsed() < Duration::from_secs(1), "{engine}: {:?}", told.elapsed());
        assert!(!path.exists() && !floor_path.exists(), "{engine} leaves a socket behind");
        drop(zap);
    }
}

#[test]
fn every_engine_streams_a_hundred_mebibytes_and_echoes_one() {
    for engine in Engine::ALL {
        let running = serve(engine, &["http://127.0.0.1:0"]);
        let mut stream = connect(&running.urls()[0]);
        stream.write_all(b"GET /stream/1600/65536 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        assert_eq!(replies(&answer)[0].body.len(), 100 << 20, "{engine}");

        let body = driver::letters(1 << 20);
        let mut stream = connect(&running.urls()[0]);
        let head =
            format!("POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all(&[head.as_bytes(), &body].concat()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        assert!(replies(&answer)[0].body == body, "{engine}");
        running.join().unwrap_or_else(|errors| panic!("{engine}: {errors:?}"));
    }
}

#[test]
fn what_cannot_start_says_so() {
    let running = serve(Engine::Epoll, &["127.0.0.1:0"]);
    let listen = running.listens().to_vec();
    let again = start(StartOptions { engine: Engine::Epoll, listen, ..StartOptions::default() });
    let Err(error @ StartError::Listen(_)) = again else { panic!("an address in use") };
    assert!(error.to_string().contains("it is in use"), "{error}");
    let nowhere = start(StartOptions { listen: Vec::new(), ..StartOptions::default() });
    assert!(matches!(nowhere, Err(StartError::NoListener)));
    let mut options =
        StartOptions { listen: vec!["127.0.0.1:0".parse::<Listen>().unwrap()], ..StartOptions::default() };
    options.server.max_frame_bytes = (64 << 20) + 1;
    assert!(matches!(start(options), Err(StartError::FrameLimit { .. })));
}
