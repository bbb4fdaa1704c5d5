//! The frame: cutting one off a byte stream, and checking its header.
//!
//! Owns the length prefix, the 16-byte header and the frame types (ZAP wire §1 and §2). Must not look into the root
//! object.

use thiserror::Error;

use super::pairs::PairsError;
use super::slot::Object;
use crate::limits::{HEADER_BYTES, PREFIX_BYTES};
use crate::step::Step;

pub use crate::limits::MAX_FRAME_BYTES;

/// The first four bytes of each ZAP message.
pub const MAGIC: [u8; 4] = *b"ZAP\0";

/// The version that is written. Versions 1 and 2 are read.
pub const VERSION: u16 = 1;

/// What a frame is, from the high byte of its flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A request.
    Request = 1,
    /// A whole response.
    Response = 2,
    /// The head of a streamed response: status and headers.
    Head = 3,
    /// One chunk of a streamed response.
    Data = 4,
    /// The end of a streamed response, with its trailer.
    End = 5,
}

impl Kind {
    /// The kind of a type byte, or `None` where no kind has it.
    #[inline]
    pub const fn from_type(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::Request),
            2 => Some(Self::Response),
            3 => Some(Self::Head),
            4 => Some(Self::Data),
            5 => Some(Self::End),
            _ => None,
        }
    }
}

/// Why a length prefix ends the connection. The reference closes without an answer on either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LengthError {
    /// The prefix announces a frame of no bytes.
    #[error("http: zero-length frame")]
    Zero,
    /// The prefix announces more than the reader takes.
    #[error("http: frame size {announced} exceeds MaxFrameSize={max}")]
    TooLarge {
        /// Bytes that the prefix announces.
        announced: usize,
        /// Bytes that the reader takes at most.
        max: usize,
    },
}

/// Why a frame was refused. Texts and order of the checks are the reference's, so that a 400 says the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FrameError {
    /// Fewer bytes than the header, or a size field below it or beyond the bytes there are.
    #[error("zap: buffer too small")]
    TooSmall,
    /// The first four bytes are not [`MAGIC`].
    #[error("zap: invalid magic bytes")]
    Magic,
    /// The version is neither 1 nor 2.
    #[error("zap: unsupported version")]
    Version,
    /// The type is not the one that was asked for.
    #[error("http: frame type {found:#x}, want {:#x}", *.want as u8)]
    Kind {
        /// The type byte found.
        found: u8,
        /// The kind that was asked for.
        want: Kind,
    },
    /// The root object lies inside the header or beyond the message.
    #[error("zap: invalid offset")]
    Root,
    /// The header block ends early.
    #[error("http: decode headers: {0}")]
    Headers(PairsError),
    /// The trailer block ends early.
    #[error("http: decode trailer: {0}")]
    Trailer(PairsError),
}

/// Cuts the first frame off `input`, a stream of length-prefixed frames.
///
/// Complete gives the frame without its prefix; `consumed` counts both. Nothing of the frame itself is looked at. A
/// length of more than `max_frame_bytes` ([`MAX_FRAME_BYTES`] for what the reference takes) is refused from its four
/// bytes, so a caller may hold memory for the bytes that arrived and no more.
///
/// # Errors
///
/// [`LengthError`]; the connection is then beyond repair.
#[inline]
pub fn split(input: &[u8], max_frame_bytes: usize) -> Result<Step<&[u8]>, LengthError> {
    let Some((prefix, rest)) = input.split_first_chunk::<PREFIX_BYTES>() else {
        return Ok(Step::NeedMore { at_least: PREFIX_BYTES });
    };
    let announced = u32::from_be_bytes(*prefix) as usize;
    if announced == 0 {
        return Err(LengthError::Zero);
    }
    if announced > max_frame_bytes {
        return Err(LengthError::TooLarge { announced, max: max_frame_bytes });
    }
    Ok(match rest.get(..announced) {
        Some(frame) => Step::Complete { value: frame, consumed: PREFIX_BYTES + announced },
        None => Step::NeedMore { at_least: PREFIX_BYTES.saturating_add(announced) },
    })
}

/// The header's fields, checked as far as they can be without the rest of the frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    /// Bytes of the message: 16 to the frame's length.
    pub(super) size: usize,
    /// Where the root object starts; not checked yet.
    root: usize,
    /// The type byte; not checked yet.
    pub(super) type_byte: u8,
}

impl Header {
    /// Reads the header of a frame of `frame_bytes` bytes.
    #[inline]
    pub(super) fn read(header: &[u8; HEADER_BYTES], frame_bytes: usize) -> Result<Self, FrameError> {
        // Word by word from one array: a load each, and no bounds check.
        let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        if word(0) != u32::from_le_bytes(MAGIC) {
            return Err(FrameError::Magic);
        }
        let version_and_flags = word(4);
        if !matches!(version_and_flags as u16, 1 | 2) {
            return Err(FrameError::Version);
        }
        let size = word(12) as usize;
        if size < HEADER_BYTES || size > frame_bytes {
            return Err(FrameError::TooSmall);
        }
        Ok(Self { size, root: word(8) as usize, type_byte: (version_and_flags >> 24) as u8 })
    }

    /// Refuses any type but `want`'s.
    #[inline]
    pub(super) fn expect(self, want: Kind) -> Result<(), FrameError> {
        if self.type_byte == want as u8 { Ok(()) } else { Err(FrameError::Kind { found: self.type_byte, want }) }
    }

    /// Where the root object starts: at least 16, below the size.
    #[inline]
    pub(super) fn root(self) -> Result<usize, FrameError> {
        if self.root < HEADER_BYTES || self.root >= self.size { Err(FrameError::Root) } else { Ok(self.root) }
    }
}

/// A frame whose header holds: magic, version and size. Its bytes are cut to the header's size; the rest is ignored.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    message: &'a [u8],
    header: Header,
}

impl<'a> Frame<'a> {
    /// Checks the header of `bytes`, one frame without its length prefix.
    ///
    /// The root is checked when it is asked for: the reference refuses a wrong type before a wrong root.
    ///
    /// # Errors
    ///
    /// [`FrameError::TooSmall`], [`FrameError::Magic`] or [`FrameError::Version`].
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, FrameError> {
        let header = bytes.first_chunk::<HEADER_BYTES>().ok_or(FrameError::TooSmall)?;
        let header = Header::read(header, bytes.len())?;
        let message = bytes.get(..header.size).ok_or(FrameError::TooSmall)?;
        Ok(Self { message, header })
    }

    /// What the frame is, or `None` for a type that the wire does not know.
    #[inline]
    pub fn kind(&self) -> Option<Kind> {
        Kind::from_type(self.header.type_byte)
    }

    /// The high byte of the flags as it stands.
    #[inline]
    pub fn type_byte(&self) -> u8 {
        self.header.type_byte
    }

    /// The message: the frame's bytes up to the header's size.
    #[inline]
    pub fn message(&self) -> &'a [u8] {
        self.message
    }

    /// The root object of a frame that has to be of kind `want`.
    ///
    /// # Errors
    ///
    /// [`FrameError::Kind`], then [`FrameError::Root`].
    #[inline]
    pub fn root_of(&self, want: Kind) -> Result<Object<'a>, FrameError> {
        self.header.expect(want)?;
        self.root()
    }

    /// The root object, whatever the frame's type.
    ///
    /// # Errors
    ///
    /// [`FrameError::Root`].
    #[inline]
    pub fn root(&self) -> Result<Object<'a>, FrameError> {
        Ok(Object::new(self.message, self.header.root()?))
    }
}
