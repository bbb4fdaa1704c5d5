//! The client side of each wire: answers out of bytes.
//!
//! A reader is the parse state of one connection. It knows neither requests nor times: its caller matches answers to requests in
//! order, and counts.

mod floor;
mod http;
mod memo;
mod zap;

use bytes::Bytes;
use codec::{
    floor::FloorError,
    http::{BodyError, ResponseError},
    zap::frame::{FrameError, Kind, LengthError},
};
use results::Outcome;
use thiserror::Error;

pub use floor::Floor;
pub use http::Http;
pub use memo::Memo;
pub use zap::Zap;

/// What the answers to a request have in common.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// It is a HEAD request.
    pub is_head: bool,
    /// Each request is the last one on its connection, whatever its answer says. HTTP only.
    pub closes: bool,
    /// What every body must be.
    pub body: Option<Bytes>,
    /// Bytes that every reply on the floor wire must have, its length included; 0 on other wires.
    pub reply_bytes: usize,
}

/// A complete answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// The status; 0 on a wire without.
    pub status: u16,
    /// Bytes of its body, framing not counted.
    pub body_bytes: u64,
    /// Whether the body, on floor its length, is the one that was asked for; true where none was.
    pub body_matches: bool,
    /// Whether another answer may follow on the connection.
    pub reusable: bool,
}

/// What a reader found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// The end of an answer.
    Answer(Answer),
    /// Nothing whole: this many contiguous bytes, the unconsumed ones included, before another look makes sense. 0 for any.
    Need(usize),
}

/// What a reader did with its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Bytes that need not be shown again.
    pub consumed: usize,
    /// What was found in them.
    pub found: Found,
}

/// What the end of the connection means for the answer under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// No answer had begun, or no more than its head.
    Nothing,
    /// It completes the answer.
    Answer(Answer),
    /// It cuts the answer short.
    Cut(Fault),
}

/// Why an answer is not one; the connection is of no further use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Fault {
    /// An HTTP head that breaks the rules.
    #[error("{0}")]
    Head(ResponseError),
    /// An HTTP body that does, or that ends early.
    #[error("{0}")]
    Body(BodyError),
    /// A ZAP length prefix that does.
    #[error("{0}")]
    Length(LengthError),
    /// A ZAP frame that does.
    #[error("{0}")]
    Frame(FrameError),
    /// A ZAP frame of a kind that cannot come here.
    #[error("zap: a {found} frame where {wanted} was due")]
    Sequence {
        /// What came.
        found: FrameWord,
        /// What would have been right.
        wanted: &'static str,
    },
    /// A ZAP frame whose root lies too far in.
    #[error("zap: the root object lies more than {} bytes into the frame", crate::limits::MAX_PEEK_BYTES)]
    FarRoot,
    /// A ZAP answer that the peer's close cut off.
    #[error("the connection closed within a frame or before the end frame of a streamed answer")]
    CutFrames,
    /// A floor frame whose length is out of bounds.
    #[error("{0}")]
    Floor(FloorError),
    /// A floor reply that the peer's close cut off.
    #[error("the connection closed within a reply")]
    CutReply,
    /// Bytes that no request asked for.
    #[error("an answer that no request asked for")]
    Unasked,
}

/// The name of a frame's kind, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameWord(pub Option<Kind>);

impl std::fmt::Display for FrameWord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            Some(Kind::Request) => "request",
            Some(Kind::Response) => "response",
            Some(Kind::Head) => "head",
            Some(Kind::Data) => "data",
            Some(Kind::End) => "end",
            None => "strange",
        })
    }
}

impl Fault {
    /// The outcome of the request that was due for an answer: a body cut off by the close is a bad body, all else broke the rules.
    pub fn outcome(self) -> Outcome {
        match self {
            Fault::Body(BodyError::Truncated) | Fault::CutFrames | Fault::CutReply => Outcome::BadBody,
            _ => Outcome::Protocol,
        }
    }
}

/// The parse state of one connection.
pub trait Wire: Default + Send + 'static {
    /// Whether answers have a status, to be compared with the expected ones and counted.
    const HAS_STATUS: bool = true;

    /// Looks for the end of the next answer in `input`, which is what has arrived and was not consumed. `memo` is shared by the
    /// connections of a shard.
    ///
    /// # Errors
    /// [`Fault`]: the bytes are no answer; drop the connection.
    fn read(&mut self, input: &[u8], asked: &Asked, memo: &mut Memo) -> Result<Seen, Fault>;

    /// The peer has closed, and all that came before was read.
    fn end(&mut self, asked: &Asked) -> End;

    /// Back to the state of a new connection.
    fn reset(&mut self) {
        *self = Self::default();
    }
}

/// A running comparison of a body with what it must be.
#[derive(Debug, Clone, Copy, Default)]
struct BodyCheck {
    bytes: u64,
    differs: bool,
}

impl BodyCheck {
    /// Takes the next piece.
    #[inline]
    fn piece(&mut self, piece: &[u8], asked: &Asked) {
        if let Some(wanted) = &asked.body {
            let at = usize::try_from(self.bytes).unwrap_or(usize::MAX);
            let right = wanted.get(at..).and_then(|rest| rest.get(..piece.len()));
            self.differs |= right != Some(piece);
        }
        self.bytes += piece.len() as u64;
    }

    /// Whether the whole of the body was right.
    #[inline]
    fn matches(&self, asked: &Asked) -> bool {
        match &asked.body {
            None => true,
            Some(wanted) => !self.differs && self.bytes == wanted.len() as u64,
        }
    }
}
