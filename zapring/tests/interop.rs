//! Our ZAP is their ZAP: our loader against the reference's server, its client and a loader on it against our server, and both
//! decoders on the same damaged frames.
//!
//! The reference is Go; `peers/go/build.sh` says how its programs are built, and what happens on a host that cannot. What differs on
//! purpose stands in `WIRE.md`.

#[path = "../../testing/mutated.rs"]
mod mutated;
mod support;

use std::{
    fs,
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use codec::zap::response::Response;
use mutated::{Made, Mutated};
use serde_json::{Value, json};
use support::{
    ENGINES, Server, dial, framed,
    go::{GoServer, go},
    succeeded, vector, zapring,
};

/// What is asked of a server by the loader: path, flags, and the status that is right.
type Workload = (&'static str, &'static [&'static str], &'static str);

const WORKLOADS: [Workload; 11] = [
    ("/health", &[], "200"),
    ("/plaintext", &[], "200"),
    ("/json", &[], "200"),
    ("/bytes/0", &[], "200"),
    ("/bytes/300000", &[], "200"),
    ("/stream/0/0", &[], "200"),
    ("/stream/7/1000", &[], "200"),
    ("/stream/3/70000", &[], "200"),
    ("/echo", &["-b", "hello", "-H", "X-Trace: 1", "-H", "X-Trace: 2", "-H", "Content-Type: text/x"], "200"),
    ("/nowhere", &[], "404"),
    ("/rpc", &["-b", "no record"], "400"),
];

fn load(url: &str, more: &[&str]) -> Value {
    let output = zapring().args(["load", url, "-c", "4", "--json", "-", "--quiet"]).args(more).output();
    let text = succeeded(&output.expect("the binary under test"));
    serde_json::from_str(&text).expect("a run file")
}

#[test]
fn our_loader_against_their_server() {
    let Some(server) = go("zap-server").map(|program| GoServer::start(program, "zap://127.0.0.1:0")) else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let record = folder.path().join("record");
    fs::write(&record, vector("rpc_request")).expect("written");
    for engine in ENGINES {
        let ask = |path: &str, more: &[&str]| {
            let run = load(&format!("{}{path}", server.url), &[&["-n", "200", "--engine", engine], more].concat());
            assert_eq!(run["requests"]["ok"], 200, "{engine} {path} {more:?}: {}", run["requests"]);
            run
        };
        for (path, more, status) in WORKLOADS {
            ask(path, &[more, &["--expect", status]].concat());
            ask(path, &[more, &["--expect", status, "--pipeline", "8"]].concat());
        }
        assert_eq!(ask("/bytes/3000", &[])["bytes"]["body_received"], 200 * 3000);
        assert_eq!(ask("/stream/7/1000", &[])["bytes"]["body_received"], 200 * 7000);
        // A field behind the body changes nothing for a loader.
        assert_eq!(ask("/trailer", &[])["bytes"]["body_received"], 200 * 2);
        let run = ask("/rpc", &["-f", record.to_str().expect("a path of text"), "-H", "Content-Type: application/zap"]);
        assert_eq!(run["bytes"]["body_received"], 200 * 80);
    }
}

#[test]
fn our_loader_against_their_unix_socket() {
    let Some(program) = go("zap-server") else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = GoServer::start(program, &format!("zap+unix:{}", folder.path().join("their.sock").display()));
    for engine in ENGINES {
        for (path, more, status) in WORKLOADS {
            let all = [&["-n", "60", "--engine", engine, "--expect", status, "--pipeline", "4"], more].concat();
            let run = load(&format!("{}:{path}", server.url), &all);
            assert_eq!(run["requests"]["ok"], 60, "{engine} {path}: {}", run["requests"]);
        }
    }
}

/// Asks through their client, all over one connection; an answer for each request.
fn ask_through_theirs(url: &str, requests: &[Value]) -> Vec<Value> {
    let mut client = go("zap-client").expect("checked before");
    let lines: String = requests.iter().map(|request| format!("{request}\n")).collect();
    let text = fed(client.arg(url), lines.as_bytes());
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// What a program prints that is given `input`.
fn fed(program: &mut Command, input: &[u8]) -> String {
    let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("built before");
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input).expect("the program reads all of it"));
    let output = child.wait_with_output().expect("our child");
    writer.join().expect("written");
    succeeded(&output)
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(digits: &str) -> Vec<u8> {
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hex")).collect()
}

fn body(answer: &Value) -> Vec<u8> {
    from_hex(answer["body"].as_str().unwrap_or_else(|| panic!("an answer: {answer}")))
}

fn get(path: &str) -> Value {
    json!({ "method": "GET", "path": path })
}

/// The letters that /bytes and /stream send.
fn letters(count: usize) -> Vec<u8> {
    (b'a'..=b'z').cycle().take(count).collect()
}

/// Every route of ours, as their client sees it.
fn see_every_route(url: &str) {
    let big: Vec<u8> = (0..200_000).map(|i| (i * 7 % 251) as u8).collect();
    let requests = [
        get("/health"),
        get("/json"),
        get("/bytes/100000"),
        get("/stream/3/1000"),
        get("/stream/0/0"),
        json!({ "method": "POST", "path": "/echo", "body": to_hex(&big), "headers": [["X-A", "1"], ["X-A", "2"], ["Content-Type", "text/x"]] }),
        json!({ "method": "POST", "path": "/echo", "body": "6869", "trailer": [["X-Checksum", "abc123"]] }),
        json!({ "method": "POST", "path": "/rpc", "body": to_hex(&vector("rpc_request")) }),
        json!({ "method": "POST", "path": "/rpc", "body": "00" }),
        get("/nowhere"),
        json!({ "method": "DELETE", "path": "/health" }),
        get("/health"),
    ];
    let answers = ask_through_theirs(url, &requests);
    let statuses: Vec<&Value> = answers.iter().map(|answer| &answer["status"]).collect();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 200, 200, 200, 400, 404, 405, 200], "{answers:?}");
    assert_eq!(body(&answers[0]), b"ok");
    assert_eq!(body(&answers[1]), br#"{"message":"Hello, World!"}"#);
    assert_eq!(body(&answers[2]), letters(100_000));
    // A stream comes as it was cut, chunk by chunk.
    assert_eq!(answers[3]["chunks"], json!([1000, 1000, 1000]));
    assert_eq!(body(&answers[3]), [letters(1000), letters(1000), letters(1000)].concat());
    assert_eq!(answers[4]["chunks"], json!([]));
    assert_eq!(body(&answers[5]), big);
    let fields = answers[5]["headers"].as_array().expect("pairs");
    for wanted in [json!(["X-A", "1"]), json!(["X-A", "2"]), json!(["Content-Type", "text/x"])] {
        assert!(fields.contains(&wanted), "{wanted} is not among {fields:?}");
    }
    assert_eq!(body(&answers[6]), b"hi");
    assert_eq!(body(&answers[7]).len(), 80);
    assert_eq!(answers[10]["reason"], "Method Not Allowed");
    assert_eq!(body(&answers[11]), b"ok");
}

#[test]
fn their_client_against_our_server() {
    if go("zap-client").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    for engine in ENGINES {
        let socket = format!("zap+unix:{}", folder.path().join(engine).display());
        let server = Server::start(engine, &["--listen", &socket]);
        see_every_route(&server.zap_url(""));
        see_every_route(&socket);
        assert!(server.is_well());
    }
}

#[test]
fn their_loader_against_our_server() {
    for engine in ENGINES {
        let Some(mut loader) = go("zap-load") else { return };
        let server = Server::start(engine, &[]);
        let flags = ["-c", "8", "-d", "300ms", "-warmup", "50ms"];
        let output = loader.args(flags).arg(server.zap_url("/health")).output().expect("built before");
        let report: Value = serde_json::from_str(&succeeded(&output)).expect("JSON");
        let ok = report["ok"].as_u64().expect("a number");
        assert!(ok > 0 && report["failed"] == 0, "{engine}: {report}");
        let counted = server.stats()["requests"]["zap_requests"].as_u64().expect("a number");
        assert!(counted >= ok, "{engine}: they counted {ok} answers, we {counted}");
    }
}

/// What a server says to bytes: all frames it sends until it is silent or closes, and whether it closed.
fn said_to(address: SocketAddr, bytes: &[u8], frames: usize) -> (Vec<Vec<u8>>, bool) {
    let mut peer = dial(address);
    peer.write_all(bytes).expect("written");
    let mut answers = Vec::new();
    for _ in 0..frames {
        match read_frame(&mut peer) {
            Some(frame) => answers.push(frame),
            None => return (answers, true),
        }
    }
    // Whether it still serves: what it closed answers no more.
    let closed = peer.write_all(&framed(&vector("req_get_health"))).is_err() || read_frame(&mut peer).is_none();
    (answers, closed)
}

/// The next frame, or `None` at the end.
fn read_frame(peer: &mut TcpStream) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    let mut frame = Vec::new();
    let got = peer.read_exact(&mut length).and_then(|()| {
        frame.resize(u32::from_be_bytes(length) as usize, 0);
        peer.read_exact(&mut frame)
    });
    match got {
        Ok(()) => Some(frame),
        Err(error) if matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset) => None,
        Err(error) => panic!("neither an answer nor an end: {error}"),
    }
}

fn vectors() -> Vec<String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../codec/tests/vectors");
    let names = fs::read_dir(folder).expect("the vectors").filter_map(|entry| {
        let name = entry.expect("an entry").file_name().into_string().expect("text");
        name.strip_suffix(".hex").map(str::to_owned)
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn malformed_frames_are_answered_as_theirs() {
    let Some(theirs) = go("zap-server").map(|program| GoServer::start(program, "zap://127.0.0.1:0")) else { return };
    let lengths = [0_u32, 64 << 20 | 1, 0x7fff_ffff, 0xffff_ffff].map(|length| length.to_be_bytes().to_vec());
    let mut inputs: Vec<(String, Vec<u8>)> =
        vectors().into_iter().map(|name| (name.clone(), framed(&vector(&name)))).collect();
    inputs.extend(lengths.into_iter().map(|bytes| (format!("length {bytes:?}"), bytes)));
    for engine in ENGINES {
        let ours = Server::start(engine, &[]);
        for (name, bytes) in &inputs {
            let (their_frames, they_closed) = said_to(theirs.address(), bytes, 1);
            let (our_frames, we_closed) = said_to(ours.zap, bytes, 1);
            assert_eq!(we_closed, they_closed, "{engine} {name}: who closes");
            assert_eq!(our_frames.len(), their_frames.len(), "{engine} {name}: answers");
            for (our, their) in our_frames.iter().zip(&their_frames) {
                let (our, their) = (Response::decode(our).expect("ours"), Response::decode(their).expect("theirs"));
                // Not the Content-Type: theirs names a charset where it refuses.
                let parts =
                    |answer: &Response<'_>| (answer.kind, answer.status, answer.reason.to_vec(), answer.body.to_vec());
                assert_eq!(parts(&our), parts(&their), "{engine} {name}");
            }
        }
    }
}

#[test]
fn pipelined_frames_are_answered_as_theirs() {
    let Some(theirs) = go("zap-server").map(|program| GoServer::start(program, "zap://127.0.0.1:0")) else { return };
    let names = ["req_get_health", "req_post_echo_h04_b16", "req_post_rpc", "req_trailer", "req_post_echo_h08_b256"];
    let order: Vec<&str> = names.iter().cycle().take(50).copied().collect();
    let bytes: Vec<u8> = order.iter().flat_map(|name| framed(&vector(name))).collect();
    let (their_frames, they_closed) = said_to(theirs.address(), &bytes, order.len());
    assert_eq!((their_frames.len(), they_closed), (50, false));
    for engine in ENGINES {
        let ours = Server::start(engine, &[]);
        let (our_frames, we_closed) = said_to(ours.zap, &bytes, order.len());
        assert_eq!((our_frames.len(), we_closed), (50, false), "{engine}");
        for ((name, our), their) in order.iter().zip(&our_frames).zip(&their_frames) {
            let (our, their) = (Response::decode(our).expect("ours"), Response::decode(their).expect("theirs"));
            assert_eq!((our.status, our.body), (their.status, their.body), "{engine} {name}");
            let first = ("Content-Type".as_bytes(), our.headers.get(b"content-type"));
            // fasthttp answers with a Content-Type of its own where the request of an echo has none.
            if first.1.is_some() {
                assert_eq!(first.1, their.headers.get(b"content-type"), "{engine} {name}");
            }
        }
    }
}

/// What the reference makes of frames.
fn made_by_theirs(frames: &[Mutated]) -> Vec<Made> {
    let lines: String = frames.iter().map(|frame| format!("{} {}\n", frame.kind, to_hex(&frame.bytes))).collect();
    let text = fed(&mut go("zap-decode").expect("checked before"), lines.as_bytes());
    let made: Vec<Made> = text.lines().map(|line| made_of(&serde_json::from_str(line).expect("JSON"))).collect();
    assert_eq!(made.len(), frames.len());
    made
}

fn made_of(told: &Value) -> Made {
    let bytes = |value: &Value| from_hex(value.as_str().expect("hex"));
    let pairs = |key: &str| {
        let pairs = told[key].as_array().into_iter().flatten();
        pairs.map(|pair| (bytes(&pair[0]), bytes(&pair[1]))).collect::<Vec<_>>()
    };
    let status = told["status"].as_u64().map(|status| status.to_string().into_bytes());
    let of = |key: &str| told.get(key).map(&bytes);
    let fields = [of("method"), of("target"), status, of("reason"), of("proto"), of("body")];
    Made {
        error: told["error"].as_str().map(str::to_owned),
        fields: fields.into_iter().flatten().collect(),
        pairs: [pairs("headers"), pairs("trailer")].concat(),
    }
}

/// The recorded lines of seed 1; the codec's own tests hold against them where the reference is not at hand.
fn record(frames: &[Mutated], theirs: &[Made]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../codec/tests/vectors/mutated.txt");
    let lines: String =
        frames.iter().zip(theirs).map(|(frame, made)| format!("{} {}\n", frame.kind, made.line(frame.kind))).collect();
    fs::write(path, lines).expect("written");
}

#[test]
fn damaged_frames_are_read_as_theirs() {
    if go("zap-decode").is_none() {
        return;
    }
    let (mut taken, mut refused, mut meant) = (0, 0, 0);
    for seed in 1..=5 {
        let frames = mutated::frames(seed, 4000, vector);
        let theirs = made_by_theirs(&frames);
        if seed == 1 && std::env::var_os("ZAPRING_RECORD").is_some() {
            record(&frames, &theirs);
        }
        for (number, (frame, theirs)) in frames.iter().zip(&theirs).enumerate() {
            let ours = mutated::made(frame);
            let (our_line, their_line) = (ours.line(frame.kind), theirs.line(frame.kind));
            if our_line != their_line {
                let hex = to_hex(&frame.bytes);
                let meant = mutated::meant(frame.kind, &our_line, &their_line);
                assert!(meant, "seed {seed}, frame {number}, {} {hex}\nours {ours:?}\ntheirs {theirs:?}", frame.kind);
            }
            meant += u32::from(our_line != their_line);
            let count = if ours.error.is_some() { &mut refused } else { &mut taken };
            *count += 1;
        }
    }
    // The damage is of a kind that lets both happen often, and what is meant is rare.
    assert!(taken > 5000 && refused > 5000 && meant < 2000, "{taken} taken, {refused} refused, {meant} meant");
}
