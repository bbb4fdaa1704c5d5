//! A server shard without an engine: bytes in, bytes out, the time set by hand. Follows the engine's contract: nothing is
//! read while the protocol holds, and `fill` comes after each send.

#![allow(dead_code, reason = "not each test file uses all of it")]

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use codec::zap::{
    frame::{Frame, Kind, split},
    request::{self, RequestHead},
    response::Response,
    stream,
};
use engine::{Board, Cause, Conn, Cx, Flow, Next, Origin, Outbox, Shard, Wishes};
use server::{Published, ServerOptions, ServerShard, Wire};

/// 1994-11-06 08:49:37, the example of RFC 9110.
pub(crate) fn wall() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(784_111_777)
}

pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Open,
    Closed,
    Aborted,
    OutOfEngine,
}

struct Line {
    inbox: Vec<u8>,
    need: usize,
    hold: bool,
    more: bool,
    eof: bool,
    outbox: Outbox,
    /// Everything sent so far.
    sent: Vec<u8>,
    sends: usize,
    end: End,
    /// Sends do not complete.
    stuck: bool,
}

pub(crate) struct Driver {
    pub(crate) shard: ServerShard,
    pub(crate) published: Arc<Published>,
    pub(crate) now_ns: u64,
    pub(crate) memory_left_bytes: usize,
    pub(crate) budget_bytes: usize,
    pub(crate) largest_send_bytes: usize,
    wishes: Wishes,
    lines: Vec<Line>,
}

impl Driver {
    pub(crate) fn new(options: ServerOptions) -> Self {
        let options = Arc::new(ServerOptions { wires: Wire::ALL.to_vec(), ..options });
        let published = Arc::new(Published::new(Arc::new(Board::new(1)), 1));
        let mut driver = Driver {
            shard: ServerShard::new(0, options, Arc::clone(&published), wall),
            published,
            now_ns: 0,
            memory_left_bytes: 1 << 30,
            budget_bytes: 64 * 1024,
            largest_send_bytes: 0,
            wishes: Wishes::default(),
            lines: Vec::new(),
        };
        driver.tick();
        driver
    }

    pub(crate) fn plain() -> Self {
        Self::new(ServerOptions::default())
    }

    fn call<T>(&mut self, with: impl FnOnce(&mut ServerShard, &mut Cx<'_>) -> T) -> T {
        let mut cx = Cx::new(self.now_ns, self.memory_left_bytes, &mut self.wishes);
        with(&mut self.shard, &mut cx)
    }

    fn add(&mut self, index: usize) {
        let line = Line {
            inbox: Vec::new(),
            need: 0,
            hold: false,
            more: true,
            eof: false,
            outbox: Outbox::new(self.budget_bytes),
            sent: Vec::new(),
            sends: 0,
            end: End::Open,
            stuck: false,
        };
        if index == self.lines.len() {
            self.lines.push(line);
        } else {
            self.lines[index] = line;
        }
    }

    /// A new connection in the first free slot.
    pub(crate) fn open(&mut self, wire: Wire) -> Conn {
        let free = self.lines.iter().position(|line| line.end != End::Open);
        let index = free.unwrap_or(self.lines.len());
        self.add(index);
        let conn = Conn::new(index as u32);
        let listener = Wire::ALL.iter().position(|served| *served == wire).expect("every wire is served");
        self.call(|shard, cx| shard.open(conn, Origin::Accepted { listener }, cx));
        self.pump(conn);
        conn
    }

    /// Bytes from the peer.
    pub(crate) fn send(&mut self, conn: Conn, bytes: &[u8]) {
        self.lines[conn.index()].inbox.extend_from_slice(bytes);
        self.pump(conn);
    }

    /// The peer closes its side.
    pub(crate) fn finish(&mut self, conn: Conn) {
        self.lines[conn.index()].eof = true;
        self.lines[conn.index()].need = 0;
        self.pump(conn);
        if self.lines[conn.index()].end == End::Open {
            self.kill(conn, End::Closed, Cause::PeerClosed);
        }
    }

    /// All that was sent since the last call.
    pub(crate) fn take(&mut self, conn: Conn) -> Vec<u8> {
        std::mem::take(&mut self.lines[conn.index()].sent)
    }

    pub(crate) fn sends(&self, conn: Conn) -> usize {
        self.lines[conn.index()].sends
    }

    pub(crate) fn end(&self, conn: Conn) -> End {
        self.lines[conn.index()].end
    }

    pub(crate) fn unread_bytes(&self, conn: Conn) -> usize {
        self.lines[conn.index()].inbox.len()
    }

    pub(crate) fn need(&self, conn: Conn) -> usize {
        self.lines[conn.index()].need
    }

    /// Makes sends of this connection not complete, or complete again.
    pub(crate) fn stick(&mut self, conn: Conn, stuck: bool) {
        self.lines[conn.index()].stuck = stuck;
        self.pump(conn);
    }

    pub(crate) fn drain(&mut self) {
        self.call(|shard, cx| shard.drain(cx));
        for index in 0..self.lines.len() {
            self.wake(Conn::new(index as u32));
        }
    }

    /// When the next tick is wanted; `None` for never.
    pub(crate) fn tick_at(&self) -> Option<u64> {
        (self.wishes.tick_at_ns != u64::MAX).then_some(self.wishes.tick_at_ns)
    }

    fn tick(&mut self) {
        self.wishes.tick_at_ns = u64::MAX;
        self.call(|shard, cx| shard.tick(cx));
        for conn in std::mem::take(&mut self.wishes.wake) {
            self.wake(conn);
        }
        assert!(self.wishes.is_empty());
    }

    /// Lets time pass, with every tick that is asked for.
    pub(crate) fn advance(&mut self, ns: u64) {
        let until_ns = self.now_ns + ns;
        while let Some(at_ns) = self.tick_at().filter(|&at_ns| at_ns <= until_ns) {
            self.now_ns = self.now_ns.max(at_ns);
            self.tick();
        }
        self.now_ns = until_ns;
    }

    fn wake(&mut self, conn: Conn) {
        let line = &mut self.lines[conn.index()];
        if line.end == End::Open {
            line.more = true;
            line.hold = false;
            self.pump(conn);
        }
    }

    fn kill(&mut self, conn: Conn, end: End, cause: Cause) {
        self.lines[conn.index()].end = end;
        self.call(|shard, cx| shard.closed(conn, cause, cx));
    }

    fn pump(&mut self, conn: Conn) {
        let mut turns = 0;
        while self.lines[conn.index()].end == End::Open {
            turns += 1;
            assert!(turns < 10_000_000, "the protocol spins");
            let line = &mut self.lines[conn.index()];
            let in_flight = line.stuck && !line.outbox.is_empty();
            if line.more && line.outbox.is_empty() {
                line.more = false;
                let mut outbox = std::mem::take(&mut line.outbox);
                let flow = self.call(|shard, cx| shard.fill(conn, &mut outbox, cx));
                let line = &mut self.lines[conn.index()];
                line.outbox = outbox;
                match flow {
                    Flow::Idle => line.hold = false,
                    Flow::More => {
                        assert!(!line.outbox.is_empty(), "more without anything said");
                        line.more = true;
                    }
                    Flow::Close => self.close(conn),
                }
            } else if !in_flight && !line.outbox.is_empty() && (line.more || line.hold || !line.readable()) {
                self.flush(conn);
            } else if line.readable() {
                self.offer(conn, in_flight);
            } else {
                return;
            }
        }
    }

    /// The send in flight completes.
    fn flush(&mut self, conn: Conn) {
        let line = &mut self.lines[conn.index()];
        if line.outbox.is_empty() {
            return;
        }
        let bytes = line.outbox.to_vec();
        self.largest_send_bytes = self.largest_send_bytes.max(bytes.len());
        line.sent.extend_from_slice(&bytes);
        line.sends += 1;
        line.outbox.clear();
        line.more = true;
        line.hold = false;
    }

    fn offer(&mut self, conn: Conn, in_flight: bool) {
        let line = &mut self.lines[conn.index()];
        let (inbox, eof) = (std::mem::take(&mut line.inbox), line.eof);
        let mut outbox = std::mem::take(&mut line.outbox);
        let out = if in_flight { None } else { Some(&mut outbox) };
        let taken = self.call(|shard, cx| shard.data(conn, &inbox, eof, out, cx));
        let line = &mut self.lines[conn.index()];
        line.outbox = outbox;
        line.inbox = inbox[taken.consumed..].to_vec();
        match taken.next {
            Next::Need(bytes) => line.need = bytes.max(line.inbox.len() + 1),
            Next::Hold => {
                assert!(in_flight || !line.outbox.is_empty(), "holds for a send that will not come");
                line.hold = true;
                line.need = 0;
            }
            Next::Close => self.close(conn),
            Next::Abort => self.kill(conn, End::Aborted, Cause::Finished),
        }
    }

    fn close(&mut self, conn: Conn) {
        self.flush(conn);
        self.kill(conn, End::Closed, Cause::Finished);
    }
}

impl Line {
    fn readable(&self) -> bool {
        !self.hold && !self.inbox.is_empty() && self.inbox.len() >= self.need
    }
}

/// One HTTP answer as a client reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("a text body")
    }
}

/// Cuts the next answer off `bytes`. `head_only` says that it answers a HEAD request.
pub(crate) fn next_reply(bytes: &mut &[u8], head_only: bool) -> Reply {
    let end = bytes.windows(4).position(|at| at == b"\r\n\r\n").expect("a whole head") + 4;
    let head = std::str::from_utf8(&bytes[..end]).expect("a head of ASCII");
    let mut lines = head[..head.len() - 4].split("\r\n");
    let status_line = lines.next().expect("a status line");
    let status = status_line.strip_prefix("HTTP/1.1 ").expect("version")[..3].parse().expect("a status");
    let headers: Vec<(String, String)> = lines
        .map(|line| line.split_once(": ").expect("a field"))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    *bytes = &bytes[end..];
    let mut reply = Reply { status, headers, body: Vec::new() };
    if head_only || status < 200 {
        return reply;
    }
    if let Some(length) = reply.header("content-length") {
        let (body, rest) = bytes.split_at(length.parse().expect("a length"));
        reply.body = body.to_vec();
        *bytes = rest;
    } else if reply.header("transfer-encoding") == Some("chunked") {
        reply.body = dechunk(bytes);
    } else {
        reply.body = std::mem::take(bytes).to_vec();
    }
    reply
}

fn dechunk(bytes: &mut &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = bytes.windows(2).position(|at| at == b"\r\n").expect("a chunk size");
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).expect("hex"), 16).expect("hex");
        *bytes = &bytes[end + 2..];
        body.extend_from_slice(&bytes[..size]);
        assert_eq!(&bytes[size..size + 2], b"\r\n");
        *bytes = &bytes[size + 2..];
        if size == 0 {
            return body;
        }
    }
}

/// All answers in `bytes`, none of them to HEAD.
pub(crate) fn replies(mut bytes: &[u8]) -> Vec<Reply> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        all.push(next_reply(&mut bytes, false));
    }
    all
}

/// A request on the floor wire.
pub(crate) fn floor_frame(request_bytes: usize, reply_bytes: usize) -> Vec<u8> {
    let mut out = Vec::new();
    codec::floor::Sizes { request_bytes, reply_bytes }.write_request(&mut out).expect("within bounds");
    out
}

/// The sizes of all replies on the floor wire.
pub(crate) fn floor_replies(mut bytes: &[u8]) -> Vec<usize> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let reply_bytes = codec::floor::reply_bytes(bytes).expect("within bounds").expect("a whole length");
        assert!(bytes[4..reply_bytes].iter().all(|byte| *byte == 0), "padding of zeros");
        bytes = &bytes[reply_bytes..];
        all.push(reply_bytes);
    }
    all
}

/// A request frame with its length prefix.
pub(crate) fn frame(method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let head = RequestHead { method: method.as_bytes(), target: target.as_bytes(), proto: b"", headers };
    request::encode(&mut out, &head, body, ()).expect("a frame");
    out
}

/// `message` with its length before it.
pub(crate) fn prefixed(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u32).to_be_bytes()[..], message].concat()
}

/// All ZAP answers in `bytes`; a stream is one, of status and concatenated chunks.
pub(crate) fn zap_replies(mut bytes: &[u8]) -> Vec<Reply> {
    let mut all: Vec<Reply> = Vec::new();
    let mut streaming = false;
    while !bytes.is_empty() {
        let (message, used) = split(bytes, usize::MAX).expect("a length").complete().expect("a whole frame");
        bytes = &bytes[used..];
        let kind = Frame::parse(message).expect("a message").kind().expect("a kind");
        assert_eq!(streaming, matches!(kind, Kind::Data | Kind::End), "{kind:?} out of sequence");
        match kind {
            Kind::Response | Kind::Head => {
                let response = Response::decode(message).expect("a response");
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                all.push(Reply {
                    status: response.status,
                    headers: response.headers.iter().map(|(name, value)| (text(name), text(value))).collect(),
                    body: response.body.to_vec(),
                });
                streaming = kind == Kind::Head;
            }
            Kind::Data => {
                let chunk = stream::decode_data(message).expect("a chunk");
                all.last_mut().expect("a head before").body.extend_from_slice(chunk);
            }
            Kind::End => {
                assert!(stream::decode_end(message).expect("an end").is_empty());
                streaming = false;
            }
            Kind::Request => panic!("a server does not ask"),
        }
    }
    assert!(!streaming, "a stream without an end");
    all
}

/// Sends `input` on a fresh connection and returns all that came back, with how the connection stands then.
pub(crate) fn exchange(wire: Wire, input: &[u8]) -> (Vec<u8>, End) {
    let mut driver = Driver::plain();
    let conn = driver.open(wire);
    driver.send(conn, input);
    (driver.take(conn), driver.end(conn))
}

/// The one HTTP answer to `input`, and how the connection stands then.
pub(crate) fn ask(input: &str) -> (Reply, End) {
    let (bytes, end) = exchange(Wire::Http, input.as_bytes());
    let mut all = replies(&bytes);
    assert_eq!(all.len(), 1, "{input:?}: {:?}", String::from_utf8_lossy(&bytes));
    (all.remove(0), end)
}

/// The letters that `/bytes` and `/stream` give.
pub(crate) fn letters(n: usize) -> Vec<u8> {
    (b'a'..=b'z').cycle().take(n).collect()
}

/// A golden vector of the codec, without length prefix.
pub(crate) fn vector(name: &str) -> Vec<u8> {
    let path = format!("{}/../codec/tests/vectors/{name}.hex", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let text = text.trim();
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("hex")).collect()
}
