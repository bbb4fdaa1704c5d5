//! Chaos: two thousand connections on both wires, half of them closed or reset in the middle of what they do. Whoever stays gets
//! exactly its own bytes, and the server keeps nothing of those who left.
//!
//! All decisions come from a seed, each connection's from the seed and its number; only the order in which connections meet is the
//! machine's. The seed is printed; `ZAPRING_CHAOS_SEED=… cargo test -p zapring --test chaos` repeats it. An emulated machine, on which
//! a client alone would outlast the server's deadlines, gives `ZAPRING_CHAOS_CONNECTIONS`.

mod support;

use std::{
    fmt::Write as _,
    io::{ErrorKind, Read, Write as _},
    net::{Shutdown, SocketAddr, TcpStream},
    thread,
    time::{Duration, Instant, SystemTime},
};

use codec::{
    http::{BodyLength, HeadScan, Limits},
    limits::MAX_FRAME_BYTES,
    zap::{frame, request, response},
};
use engine::Engine;
use support::{Server, wait_until};

/// Opened in all, half of them on each wire; a multiple of 16.
const CONNECTIONS: u64 = 2_000;
/// Threads that drive them; each polls its own sockets.
const DRIVERS: u64 = 4;
/// Hundredths of its connections that a driver has open at once; the others follow as these end, so that descriptors and slots are
/// given out again while the operations of those who left are still ending.
const OPEN_AT_ONCE: u64 = 70;
/// Requests that one connection keeps under way, at most.
const MAX_PIPELINE: u64 = 4;
/// Requests of one connection, at most.
const MAX_REQUESTS: u64 = 40;
/// When a run that does not end is given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// `splitmix64`.
struct Dice(u64);

impl Dice {
    fn new(seed: u64, stream: u64) -> Self {
        let mut dice = Dice(seed ^ stream.wrapping_mul(0xd6e8_feb8_6659_fd93));
        dice.roll();
        dice
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// From `low` up to and with `high`.
    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.roll() % (high - low + 1)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.roll().is_multiple_of(n)
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        for piece in bytes.chunks_mut(8) {
            piece.copy_from_slice(&self.roll().to_le_bytes()[..piece.len()]);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wire {
    Http,
    Zap,
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Closed when everything is answered.
    Answered,
    /// Shuts down writing behind its last request; every answer and then the end must arrive.
    HalfClosed,
    /// Closed or reset when so many thousandths of this request are written.
    Writing { at: Moment, reset: bool },
    /// Closed or reset when so many thousandths of this answer have been read.
    Reading { at: Moment, reset: bool },
    /// Reads nothing, writes what fits, and is reset.
    Deaf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moment {
    request: u64,
    thousandths: usize,
}

impl End {
    fn of(stays: bool, requests: u64, dice: &mut Dice) -> Self {
        let at = Moment { request: dice.between(0, requests - 1), thousandths: dice.between(0, 999) as usize };
        let reset = dice.one_in(2);
        match (stays, dice.between(0, 9)) {
            (true, 0..=4) => End::Answered,
            (true, _) => End::HalfClosed,
            (false, 0..=3) => End::Writing { at, reset },
            (false, 4..=7) => End::Reading { at, reset },
            (false, _) => End::Deaf,
        }
    }

    fn stays(self) -> bool {
        matches!(self, End::Answered | End::HalfClosed)
    }

    /// Bytes of `whole` after which a connection leaves that does so while it does this.
    fn cut(at: Moment, request: u64, whole: usize) -> Option<usize> {
        (at.request == request).then_some(whole * at.thousandths / 1000)
    }
}

/// What a request says and its answer must repeat.
struct Tagged {
    tag: String,
    body: Vec<u8>,
}

impl Tagged {
    fn new(seed: u64, connection: u64, request: u64) -> Self {
        let mut dice = Dice::new(seed, connection << 20 | request | 1 << 60);
        let most = match dice.between(0, 99) {
            0..=64 => 200,
            65..=91 => 4_000,
            92..=98 => 60_000,
            _ => 200_000,
        };
        let mut body = vec![0; dice.between(0, most) as usize];
        dice.fill(&mut body);
        Tagged { tag: format!("{connection}-{request}"), body }
    }

    fn encode(&self, wire: Wire, dice: &mut Dice) -> Vec<u8> {
        match wire {
            Wire::Zap => {
                let headers = [("Content-Type", "application/octet-stream"), ("X-Tag", self.tag.as_str())];
                let head = request::RequestHead { method: b"POST", target: b"/echo", proto: b"", headers };
                let mut out = Vec::new();
                request::encode(&mut out, &head, &self.body, ()).expect("far below the largest frame");
                out
            }
            Wire::Http if dice.one_in(4) => {
                let mut out = self.http_head("Transfer-Encoding: chunked").into_bytes();
                let mut rest = self.body.as_slice();
                while !rest.is_empty() {
                    let (chunk, behind) = rest.split_at((dice.between(1, 9_000) as usize).min(rest.len()));
                    out.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                    out.extend_from_slice(chunk);
                    out.extend_from_slice(b"\r\n");
                    rest = behind;
                }
                out.extend_from_slice(b"0\r\n\r\n");
                out
            }
            Wire::Http => {
                let head = self.http_head(&format!("Content-Length: {}", self.body.len()));
                [head.as_bytes(), &self.body].concat()
            }
        }
    }

    fn http_head(&self, length: &str) -> String {
        format!("POST /echo HTTP/1.1\r\nHost: t\r\nX-Tag: {}\r\n{length}\r\n\r\n", self.tag)
    }

    fn check(&self, answer: &Answer<'_>) -> Result<(), String> {
        let tag = answer.tag.map(String::from_utf8_lossy);
        if answer.status != 200 || tag.as_deref() != Some(&self.tag) {
            return Err(format!("request {} was answered with status {} and tag {tag:?}", self.tag, answer.status));
        }
        if answer.body != self.body {
            let (got, sent) = (answer.body.len(), self.body.len());
            let at = answer.body.iter().zip(&self.body).position(|(got, sent)| got != sent);
            return Err(format!("request {}: {got} bytes for {sent}, the first other one at {at:?}", self.tag));
        }
        Ok(())
    }
}

struct Answer<'a> {
    /// Bytes of the input that it takes.
    whole_bytes: usize,
    status: u16,
    tag: Option<&'a [u8]>,
    body: &'a [u8],
}

/// The answer at the start of `input`; `None` while it is not whole.
fn answer(wire: Wire, input: &[u8]) -> Result<Option<Answer<'_>>, String> {
    match wire {
        Wire::Zap => {
            let step = frame::split(input, MAX_FRAME_BYTES).map_err(|error| error.to_string())?;
            let Some((frame, whole_bytes)) = step.complete() else { return Ok(None) };
            let head = response::Response::decode(frame).map_err(|error| error.to_string())?;
            let tag = head.headers.get(b"x-tag");
            Ok(Some(Answer { whole_bytes, status: head.status, tag, body: head.body }))
        }
        Wire::Http => {
            let step = codec::http::response::parse(input, &mut HeadScan::default(), false, &Limits::default());
            let Some((head, begin)) = step.map_err(|error| error.to_string())?.complete() else { return Ok(None) };
            let BodyLength::Length(body_bytes) = head.body else { return Err(format!("a body of {:?}", head.body)) };
            let whole_bytes = begin + body_bytes as usize;
            let tag = head.headers.get(b"x-tag");
            Ok(input.get(begin..whole_bytes).map(|body| Answer { whole_bytes, status: head.status, tag, body }))
        }
    }
}

enum Visit {
    Moved,
    Still,
    /// It is over as it was meant to be.
    Over,
}

struct Connection {
    peer: TcpStream,
    seed: u64,
    number: u64,
    wire: Wire,
    end: End,
    dice: Dice,
    requests: u64,
    pipeline: u64,
    /// Requests of which all bytes are written.
    written: u64,
    answered: u64,
    outgoing: Vec<u8>,
    outgoing_at: usize,
    /// Where the piece that is being written ends.
    piece_end: usize,
    incoming: Vec<u8>,
    /// Visits to sit out.
    pause: u64,
    shut: bool,
}

impl Connection {
    fn open(seed: u64, number: u64, server: &Addresses) -> Result<Self, String> {
        let mut dice = Dice::new(seed, number);
        let wire = if number.is_multiple_of(2) { Wire::Http } else { Wire::Zap };
        let requests = dice.between(1, MAX_REQUESTS);
        // Two neighbours, one of each wire, stay or leave together.
        let end = End::of((number / 2).is_multiple_of(2), requests, &mut dice);
        let peer = TcpStream::connect(if wire == Wire::Http { server.http } else { server.zap });
        let peer = peer.map_err(|error| format!("connection {number} cannot be made: {error}"))?;
        peer.set_nonblocking(true).and_then(|()| peer.set_nodelay(true)).map_err(|error| error.to_string())?;
        let pipeline = dice.between(1, MAX_PIPELINE);
        Ok(Connection {
            peer,
            seed,
            number,
            wire,
            end,
            dice,
            requests,
            pipeline,
            written: 0,
            answered: 0,
            outgoing: Vec::new(),
            outgoing_at: 0,
            piece_end: 0,
            incoming: Vec::new(),
            pause: 0,
            shut: false,
        })
    }

    fn visit(&mut self, block: &mut [u8]) -> Result<Visit, String> {
        if self.pause > 0 {
            self.pause -= 1;
            return Ok(Visit::Still);
        }
        let wrote = self.write()?;
        let read = if matches!(wrote, Visit::Over) || self.end == End::Deaf { Visit::Still } else { self.read(block)? };
        Ok(match (wrote, read) {
            (Visit::Over, _) | (_, Visit::Over) => Visit::Over,
            (Visit::Still, Visit::Still) if self.end == End::Deaf => self.leave(true),
            (Visit::Still, Visit::Still) => Visit::Still,
            _ => Visit::Moved,
        })
    }

    /// Writes up to the end of a piece.
    fn write(&mut self) -> Result<Visit, String> {
        if self.outgoing_at == self.outgoing.len() {
            if self.written == self.requests || self.written - self.answered == self.pipeline {
                return Ok(Visit::Still);
            }
            self.outgoing = Tagged::new(self.seed, self.number, self.written).encode(self.wire, &mut self.dice);
            (self.outgoing_at, self.piece_end) = (0, 0);
        }
        let whole = self.outgoing.len();
        let cut = match self.end {
            End::Writing { at, reset } => End::cut(at, self.written, whole).map(|cut| (cut, reset)),
            _ => None,
        };
        if let Some((_, reset)) = cut.filter(|(cut, _)| *cut <= self.outgoing_at) {
            return Ok(self.leave(reset));
        }
        if self.piece_end == self.outgoing_at {
            let piece = match self.dice.between(0, 9) {
                0 => self.dice.between(1, 8),
                1..=3 => self.dice.between(1, 1_500),
                _ => 100_000,
            };
            self.piece_end = cut.map_or(whole, |(cut, _)| cut).min(self.outgoing_at + piece as usize);
        }
        match self.peer.write(&self.outgoing[self.outgoing_at..self.piece_end]) {
            Ok(n) => self.outgoing_at += n,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Visit::Still),
            Err(error) => return Err(format!("{}: write: {error}", self.describe())),
        }
        if self.outgoing_at == self.piece_end && self.dice.one_in(8) {
            self.pause = self.dice.between(1, 20);
        }
        if self.outgoing_at == whole {
            self.written += 1;
            if self.written == self.requests && self.end == End::HalfClosed {
                self.peer.shutdown(Shutdown::Write).map_err(|error| format!("{}: {error}", self.describe()))?;
                self.shut = true;
            }
        }
        Ok(Visit::Moved)
    }

    /// Reads what is there, up to the moment to leave, and compares each answer.
    fn read(&mut self, block: &mut [u8]) -> Result<Visit, String> {
        let mut most = block.len();
        if let End::Reading { at, reset } = self.end {
            // The answer before may have brought this one along, then the moment has passed.
            if self.answered > at.request {
                return Ok(self.leave(reset));
            }
            let expected_bytes = Tagged::new(self.seed, self.number, at.request).body.len() + 64;
            if let Some(cut) = End::cut(at, self.answered, expected_bytes).filter(|_| self.written > self.answered) {
                if cut <= self.incoming.len() {
                    return Ok(self.leave(reset));
                }
                most = most.min(cut - self.incoming.len());
            }
        }
        match self.peer.read(&mut block[..most]) {
            Ok(0) if self.shut && self.answered == self.requests => return Ok(Visit::Over),
            Ok(0) => return Err(format!("{}: closed by the server", self.describe())),
            Ok(n) => self.incoming.extend_from_slice(&block[..n]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Visit::Still),
            Err(error) => return Err(format!("{}: read: {error}", self.describe())),
        }
        let told = |error, one: &Self| format!("{}: {error}", one.describe());
        while let Some(answer) = answer(self.wire, &self.incoming).map_err(|error| told(error, self))? {
            if self.answered == self.written {
                return Err(told("an answer to nothing".to_owned(), self));
            }
            let sent = Tagged::new(self.seed, self.number, self.answered);
            sent.check(&answer).map_err(|error| told(error, self))?;
            let whole_bytes = answer.whole_bytes;
            self.incoming.drain(..whole_bytes);
            self.answered += 1;
        }
        if self.answered == self.requests && !self.incoming.is_empty() {
            return Err(format!("{}: {} bytes behind the last answer", self.describe(), self.incoming.len()));
        }
        let over = self.answered == self.requests && self.end == End::Answered;
        Ok(if over { Visit::Over } else { Visit::Moved })
    }

    /// Leaves without a word; a reset takes what is unsent and unread with it.
    fn leave(&mut self, reset: bool) -> Visit {
        if reset {
            socket2::SockRef::from(&self.peer).set_linger(Some(Duration::ZERO)).expect("an open socket");
        }
        Visit::Over
    }

    fn describe(&self) -> String {
        format!(
            "connection {} ({:?}, {:?}, pipeline {}), {} of {} requests and {} bytes written, {} answered",
            self.number,
            self.wire,
            self.end,
            self.pipeline,
            self.written,
            self.requests,
            self.outgoing_at,
            self.answered
        )
    }
}

#[derive(Clone, Copy)]
struct Addresses {
    http: SocketAddr,
    zap: SocketAddr,
}

#[derive(Default, Debug)]
struct Tally {
    stayed: u64,
    left: u64,
    answered: u64,
}

/// Drives these connections to their ends, so many of them at a time.
fn drive(seed: u64, numbers: std::ops::Range<u64>, server: Addresses) -> Result<Tally, String> {
    let begun = Instant::now();
    let at_once = ((numbers.end - numbers.start) * OPEN_AT_ONCE / 100) as usize;
    let mut numbers = numbers;
    let mut open: Vec<Connection> = Vec::new();
    let mut block = vec![0; 64 << 10];
    let mut tally = Tally::default();
    loop {
        while open.len() < at_once {
            let Some(number) = numbers.next() else { break };
            open.push(Connection::open(seed, number, &server)?);
        }
        if open.is_empty() {
            return Ok(tally);
        }
        let mut moved = false;
        let mut at = 0;
        while at < open.len() {
            match open[at].visit(&mut block)? {
                Visit::Still => at += 1,
                Visit::Moved => {
                    moved = true;
                    at += 1;
                }
                Visit::Over => {
                    moved = true;
                    let over = open.swap_remove(at);
                    tally.answered += over.answered;
                    *(if over.end.stays() { &mut tally.stayed } else { &mut tally.left }) += 1;
                }
            }
        }
        if !moved {
            thread::sleep(Duration::from_millis(1));
        }
        if begun.elapsed() > PATIENCE {
            let mut text = format!("{} connections do not end:", open.len());
            open.iter().take(10).for_each(|one| write!(text, "\n  {}", one.describe()).expect("a string"));
            return Err(text);
        }
    }
}

fn descriptors(server: &Server) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", server.pid())).expect("alive").count()
}

fn cpu_ns(server: &Server) -> u64 {
    let process = procfs::process::Process::new(server.pid() as i32).expect("alive");
    let tasks = process.tasks().expect("procfs").flatten();
    tasks.map(|task| task.schedstat().map_or(0, |stat| stat.sum_exec_runtime)).sum()
}

/// A number from the environment.
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

fn chaos(engine: Engine, seed: u64, connections: u64) {
    let name = format!("{engine}, ZAPRING_CHAOS_SEED={seed}");
    let mut server = Server::start(engine.name(), &[]);
    assert!(server.is_well());
    let count = |what: &str| server.stats()["connections"][what].as_u64().unwrap_or_else(|| panic!("no {what}"));
    // The one that asks is open as well, and closes after its answer.
    wait_until("only the asker is connected", || count("connections_open") == 1);
    wait_until("the descriptors are those of an unused server", || {
        let first = descriptors(&server);
        thread::sleep(Duration::from_millis(50));
        first == descriptors(&server)
    });
    let before = descriptors(&server);
    let opened = count("connections_opened");

    let addresses = Addresses { http: server.http, zap: server.zap };
    let share = connections / DRIVERS;
    let drivers: Vec<_> = (0..DRIVERS)
        .map(|driver| thread::spawn(move || drive(seed, driver * share..(driver + 1) * share, addresses)))
        .collect();
    let begun = Instant::now();
    let mut total = Tally::default();
    for driver in drivers {
        let tally = driver.join().expect("joined").unwrap_or_else(|error| panic!("{name}: {error}"));
        total.stayed += tally.stayed;
        total.left += tally.left;
        total.answered += tally.answered;
    }
    println!("{name}: {total:?} in {:?}", begun.elapsed());
    assert_eq!((total.stayed, total.left), (connections / 2, connections / 2), "{name}");

    wait_until(&format!("all connections are closed ({name})"), || count("connections_open") == 1);
    assert!(count("connections_opened") >= opened + connections, "{name}");
    assert_eq!((count("connections_refused"), count("accept_pauses")), (0, 0), "{name}");
    wait_until(&format!("no descriptor is left ({name})"), || descriptors(&server) == before);

    thread::sleep(Duration::from_millis(300));
    let used_before = cpu_ns(&server);
    thread::sleep(Duration::from_secs(1));
    let used_ns = cpu_ns(&server) - used_before;
    assert!(used_ns < 10_000_000, "{name}: {used_ns} ns of CPU in an idle second");
    assert_eq!(descriptors(&server), before, "{name}");

    assert!(server.is_well(), "{name}");
    let (took, code) = server.terminate();
    assert!(took < Duration::from_secs(1), "{name}: took {took:?} to end");
    assert_eq!(code, Some(0), "{name}");
}

#[test]
fn those_who_stay_get_their_own_bytes_and_nothing_is_kept_of_those_who_leave() {
    let connections = setting("ZAPRING_CHAOS_CONNECTIONS").unwrap_or(CONNECTIONS);
    assert!(
        connections.is_multiple_of(16),
        "{connections} connections cannot be dealt evenly over wires, ends and drivers"
    );
    let limit = engine::raise_nofile().expect("the limit of descriptors can be read and raised");
    assert!(limit > connections + 100, "a limit of {limit} descriptors is too low for {connections} connections");
    let clock = || SystemTime::UNIX_EPOCH.elapsed().map_or(0, |now| now.as_nanos() as u64);
    let seed = setting("ZAPRING_CHAOS_SEED").unwrap_or_else(clock);
    println!("ZAPRING_CHAOS_SEED={seed}");
    for engine in Engine::ALL {
        chaos(engine, seed, connections);
    }
}
