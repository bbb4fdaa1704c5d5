//! Frames of the ZAP wire, damaged by a seed, and what our decoder makes of each, as one line of text that can be compared with what
//! the reference made of it.
//!
//! Owns the damage and the form of the line. Must not judge: which differences are meant stands in `WIRE.md`.

use std::fmt::Write as _;

use codec::zap::{frame::FrameError, pairs::Pairs, request::Request, response::Response, stream};

/// Recorded frames that the damage starts from, and what each is read as.
const BASES: [(&str, &str); 16] = [
    ("request", "req_get_health"),
    ("request", "req_no_headers"),
    ("request", "req_post_echo_h04_b16"),
    ("request", "req_post_echo_h08_b256"),
    ("request", "req_post_rpc"),
    ("request", "req_trailer"),
    ("response", "resp_200_ok"),
    ("response", "resp_204_no_ct"),
    ("response", "resp_404_reason"),
    ("response", "resp_trailer"),
    ("head", "stream_head"),
    ("head", "stream_head"),
    ("data", "stream_data"),
    ("data", "stream_data_empty"),
    ("end", "stream_end"),
    ("end", "stream_end"),
];

/// Numbers at which readers go wrong; the frame's own length and its neighbours are added.
const EDGES: [u32; 14] = [0, 1, 7, 8, 15, 16, 17, 24, 47, 48, 64, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];

/// Most changes of one frame.
const MAX_CHANGES: u64 = 3;

/// A frame without its length prefix, and what it is read as.
pub(crate) struct Mutated {
    pub(crate) kind: &'static str,
    pub(crate) bytes: Vec<u8>,
}

/// `splitmix64`.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.roll() % end.max(1) as u64) as usize
    }
}

/// The first `count` frames of a seed; every base is damaged equally often.
pub(crate) fn frames(seed: u64, count: usize, vector: impl Fn(&str) -> Vec<u8>) -> Vec<Mutated> {
    let bases: Vec<(&'static str, Vec<u8>)> = BASES.iter().map(|(kind, name)| (*kind, vector(name))).collect();
    let mut dice = Dice(seed);
    let one = |number: usize| {
        let (kind, base) = &bases[number % bases.len()];
        let mut bytes = base.clone();
        for _ in 0..=dice.roll() % MAX_CHANGES {
            change(&mut bytes, &mut dice);
        }
        Mutated { kind, bytes }
    };
    (0..count).map(one).collect()
}

/// One change: of a bit, a byte, a number, a slot, the length.
fn change(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let len = bytes.len();
    if len < 16 {
        bytes.extend_from_slice(&dice.roll().to_le_bytes());
        return;
    }
    match dice.below(8) {
        0 => bytes[dice.below(len)] ^= 1 << dice.below(8),
        1 => bytes[dice.below(len)] = dice.roll() as u8,
        // A number of the header or of the fixed section.
        2 => put(bytes, 4 * dice.below(16), edge(len, dice)),
        // Any number, at any alignment: lengths inside a block of pairs among them.
        3 => put(bytes, dice.below(len), edge(len, dice)),
        // A slot that points where another does.
        4 => {
            let (from, to) = (16 + 8 * dice.below(6), 16 + 8 * dice.below(6));
            if from.max(to) + 8 <= len {
                let slot: Vec<u8> = bytes[from..from + 8].to_vec();
                bytes[to..to + 8].copy_from_slice(&slot);
            }
        }
        5 => bytes.truncate(dice.below(len)),
        6 => bytes.extend_from_slice(&dice.roll().to_le_bytes()),
        // Cut short, and saying so.
        _ => {
            let cut = 16 + dice.below(len - 15);
            bytes.truncate(cut);
            put(bytes, 12, cut as u32);
        }
    }
}

fn edge(len: usize, dice: &mut Dice) -> u32 {
    match dice.below(EDGES.len() + 4) {
        0 => len as u32 - 1,
        1 => len as u32,
        2 => len as u32 + 1,
        3 => dice.below(len + 8) as u32,
        at => EDGES[at - 4],
    }
}

/// Overwrites as much of a number as there is room for.
fn put(bytes: &mut [u8], at: usize, number: u32) {
    for (byte, new) in bytes.iter_mut().skip(at).zip(number.to_le_bytes()) {
        *byte = new;
    }
}

/// What our decoder makes of a frame.
pub(crate) fn made(frame: &Mutated) -> Made {
    match frame.kind {
        "request" => of(Request::decode(&frame.bytes), |request| Made {
            fields: vec![
                request.method().into(),
                request.target().into(),
                or_http_11(request.proto),
                request.body.into(),
            ],
            ..Made::with_pairs(request.headers, request.trailer)
        }),
        "response" | "head" => of(decoded_as(frame), |response| Made {
            fields: vec![
                response.status.to_string().into_bytes(),
                response.reason.into(),
                or_http_11(response.proto),
                response.body.into(),
            ],
            ..Made::with_pairs(response.headers, response.trailer)
        }),
        "data" => of(stream::decode_data(&frame.bytes), |chunk| Made { fields: vec![chunk.into()], ..Made::default() }),
        // The reference looks no further than at the type of an end.
        "end" => of(stream::decode_end(&frame.bytes), |_| Made::default()),
        other => panic!("no kind of frame: {other}"),
    }
}

/// A response, or a head; our decoder takes either, and the caller knows which it wants.
fn decoded_as(frame: &Mutated) -> Result<Response<'_>, FrameError> {
    let want = if frame.kind == "head" { codec::zap::frame::Kind::Head } else { codec::zap::frame::Kind::Response };
    let parsed = codec::zap::frame::Frame::parse(&frame.bytes)?;
    parsed.root_of(want)?;
    Response::from_frame(&parsed)
}

fn or_http_11(proto: &[u8]) -> Vec<u8> {
    if proto.is_empty() { b"HTTP/1.1".into() } else { proto.into() }
}

fn of<T>(decoded: Result<T, FrameError>, fields: impl FnOnce(T) -> Made) -> Made {
    match decoded {
        Ok(value) => fields(value),
        Err(error) => Made { error: Some(error.to_string()), ..Made::default() },
    }
}

/// What was made of a frame: an error, or its fields.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) error: Option<String>,
    /// All but the pairs, in the order of the frame; the status as a decimal number.
    pub(crate) fields: Vec<Vec<u8>>,
    /// Headers, then the trailer.
    pub(crate) pairs: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Made {
    fn with_pairs(headers: Pairs<'_>, trailer: Pairs<'_>) -> Self {
        let pairs = headers.iter().chain(trailer.iter()).map(|(name, value)| (name.into(), value.into()));
        Made { pairs: pairs.collect(), ..Made::default() }
    }

    /// The line: the error, or a digest of the fields, with pairs as fasthttp keeps them (`WIRE.md` says how). Pairs that it gives a
    /// meaning of its own are left out of the digest.
    pub(crate) fn line(&self, kind: &str) -> String {
        if let Some(error) = &self.error {
            return format!("refused {error}");
        }
        let mut text = String::new();
        for field in &self.fields {
            hex(&mut text, field);
        }
        for (name, value) in folded(&self.pairs, kind == "request") {
            hex(&mut text, &name);
            hex(&mut text, &value);
        }
        format!("taken {:016x}", digest(text.as_bytes()))
    }
}

/// Fields that fasthttp keeps apart: of these the last one counts, and an empty one is none.
const KEPT_ONCE_IN_REQUESTS: [&[u8]; 3] = [b"host", b"content-type", b"user-agent"];
const KEPT_ONCE_IN_RESPONSES: [&[u8]; 3] = [b"content-type", b"content-encoding", b"server"];
/// Fields that it makes itself, or takes apart and puts together again.
const ITS_OWN: [&[u8]; 6] = [b"content-length", b"transfer-encoding", b"connection", b"trailer", b"cookie", b"date"];

/// Pairs in fasthttp's terms: names in lower case, line ends in values as spaces, sorted.
fn folded(pairs: &[(Vec<u8>, Vec<u8>)], is_request: bool) -> Vec<(Vec<u8>, Vec<u8>)> {
    let once = if is_request { KEPT_ONCE_IN_REQUESTS } else { KEPT_ONCE_IN_RESPONSES };
    let mut kept: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    for (name, value) in pairs {
        let name = name.to_ascii_lowercase();
        let value: Vec<u8> =
            value.iter().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { *byte }).collect();
        if ITS_OWN.contains(&name.as_slice()) {
            continue;
        }
        if once.contains(&name.as_slice()) {
            kept.retain(|(other, _)| *other != name);
            if value.is_empty() {
                continue;
            }
        }
        kept.push((name, value));
    }
    if !is_request {
        // What it answers where no Content-Type was given.
        kept.retain(|(name, value)| name != b"content-type" || value != b"text/plain; charset=utf-8");
    }
    kept.sort();
    kept
}

fn hex(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        write!(text, "{byte:02x}").expect("memory takes any text");
    }
    text.push(' ');
}

/// FNV-1a, 64 bits.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Whether two lines differ on purpose, as `WIRE.md` says.
pub(crate) fn meant(kind: &str, ours: &str, theirs: &str) -> bool {
    match kind {
        // We look into an end frame, the reference's client at its magic and type alone, so the reasons differ as well.
        "end" => ours.starts_with("refused "),
        // We say for a head as well which block is cut short.
        "head" => ours.strip_prefix("refused http: decode headers: ") == theirs.strip_prefix("refused "),
        _ => false,
    }
}
