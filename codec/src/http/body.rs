//! Where a body ends and which of its bytes are content (RFC 9112 sections 6.3 and 7.1).
//!
//! Owns the state between two reads of one body. Hands out slices of the caller's buffer and keeps no bytes. Trailers
//! are checked, counted and dropped, never merged into the head (RFC 9112 section 7.1.2).

use super::class;
use super::limits::{MAX_CHUNK_EXTENSION_BYTES, MAX_CHUNK_SIZE_DIGITS, MAX_TRAILER_BYTES};

/// How the end of a body is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BodyLength {
    /// No body follows the head.
    None,
    /// This many bytes follow.
    Length(u64),
    /// Chunks follow.
    Chunked,
    /// Everything until the peer closes; only in responses.
    UntilClose,
}

/// Why a body is refused; the connection cannot be used any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum BodyError {
    /// Something other than digits, or digits and then something other than `;` or CRLF.
    #[error("a chunk size is not a plain hexadecimal number")]
    BadChunkSize,
    /// More than [`MAX_CHUNK_SIZE_DIGITS`] digits.
    #[error("a chunk size has more digits than fit in 64 bits")]
    ChunkSizeTooLong,
    /// A control byte, a bare CR or a bare LF in a chunk extension.
    #[error("a chunk extension holds a control byte")]
    BadChunkExtension,
    /// More than [`MAX_CHUNK_EXTENSION_BYTES`].
    #[error("a chunk extension is longer than the limit")]
    ChunkExtensionTooLong,
    /// The bytes of a chunk are not followed by CRLF.
    #[error("a chunk is not followed by a line end")]
    BadChunkEnd,
    /// A trailer line that is not a name, a colon and a value, ended by CRLF.
    #[error("a trailer line is malformed")]
    BadTrailer,
    /// More than [`MAX_TRAILER_BYTES`].
    #[error("the trailers are longer than the limit")]
    TrailersTooLong,
    /// The peer closed before the end.
    #[error("the connection closed before the body was complete")]
    Truncated,
}

/// One piece of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Content, without chunk framing; may be empty.
    pub data: &'a [u8],
    /// Bytes of the given slice that are dealt with, `data` and framing around it.
    pub consumed: usize,
    /// The body is complete; bytes from `consumed` on belong to the next message.
    pub done: bool,
}

/// The state of one body between reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyReader {
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Done,
    Length { left: u64 },
    UntilClose,
    Size { size: u64, digits: u8 },
    Extension { size: u64, bytes: u16 },
    SizeLf { size: u64 },
    Data { left: u64 },
    DataCr,
    DataLf,
    TrailerStart { bytes: u16 },
    TrailerName { bytes: u16 },
    TrailerValue { bytes: u16 },
    TrailerLf { bytes: u16 },
    EndLf,
}

impl BodyReader {
    /// A reader at the first byte behind a head.
    #[inline]
    pub const fn new(length: BodyLength) -> Self {
        let state = match length {
            BodyLength::None | BodyLength::Length(0) => State::Done,
            BodyLength::Length(left) => State::Length { left },
            BodyLength::Chunked => State::Size { size: 0, digits: 0 },
            BodyLength::UntilClose => State::UntilClose,
        };
        Self { state }
    }

    /// Whether the body is complete, so that the next byte belongs to another message.
    #[inline]
    pub const fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Bytes of content that must still come at least: the rest of a counted body or of the current chunk.
    pub const fn known_left(&self) -> u64 {
        match self.state {
            State::Length { left } | State::Data { left } => left,
            _ => 0,
        }
    }

    /// Takes the next piece from `input`: at most one run of content, with all framing before and behind it. Call
    /// again with the bytes from `consumed` on until `done`, or until `consumed` is the whole of `input` and more has
    /// arrived. Nothing is left unconsumed except content of a further chunk and bytes behind the body.
    ///
    /// # Errors
    ///
    /// [`BodyError`]; the reader is of no further use, and content of this call is lost with it.
    pub fn read<'a>(&mut self, input: &'a [u8]) -> Result<Piece<'a>, BodyError> {
        match self.state {
            State::Done => Ok(piece(&[], 0, true)),
            State::UntilClose => Ok(piece(input, input.len(), false)),
            State::Length { left } => {
                let (data, left) = take(input, left);
                self.state = if left == 0 { State::Done } else { State::Length { left } };
                Ok(piece(data, data.len(), left == 0))
            }
            _ => self.read_chunked(input),
        }
    }

    /// Tells the reader that the peer closed.
    ///
    /// # Errors
    ///
    /// [`BodyError::Truncated`] where the body has another end than the close and has not reached it.
    pub fn finish_eof(&mut self) -> Result<(), BodyError> {
        match self.state {
            State::Done | State::UntilClose => {
                self.state = State::Done;
                Ok(())
            }
            _ => Err(BodyError::Truncated),
        }
    }

    fn read_chunked<'a>(&mut self, input: &'a [u8]) -> Result<Piece<'a>, BodyError> {
        let mut data: &[u8] = &[];
        let mut at = 0;
        while let Some(&byte) = input.get(at) {
            if let State::Data { left } = self.state {
                if !data.is_empty() {
                    break;
                }
                let left_after;
                (data, left_after) = take(&input[at..], left);
                at += data.len();
                self.state = if left_after == 0 { State::DataCr } else { State::Data { left: left_after } };
                continue;
            }
            self.state = self.state.step(byte)?;
            at += 1;
            if self.is_done() {
                return Ok(piece(data, at, true));
            }
        }
        Ok(piece(data, at, false))
    }
}

#[inline]
fn piece(data: &[u8], consumed: usize, done: bool) -> Piece<'_> {
    Piece { data, consumed, done }
}

/// As much of `input` as belongs to `left` bytes, and what is left then.
#[inline]
fn take(input: &[u8], left: u64) -> (&[u8], u64) {
    let len = usize::try_from(left).map_or(input.len(), |left| left.min(input.len()));
    (&input[..len], left - len as u64)
}

impl State {
    /// The state after one byte of framing.
    #[inline]
    fn step(self, byte: u8) -> Result<Self, BodyError> {
        match self {
            Self::Size { size, digits } => step_size(size, digits, byte),
            Self::Extension { size, bytes } => step_extension(size, bytes, byte),
            Self::SizeLf { size } => match (byte, size) {
                (b'\n', 0) => Ok(Self::TrailerStart { bytes: 0 }),
                (b'\n', left) => Ok(Self::Data { left }),
                _ => Err(BodyError::BadChunkSize),
            },
            Self::DataCr if byte == b'\r' => Ok(Self::DataLf),
            Self::DataLf if byte == b'\n' => Ok(Self::Size { size: 0, digits: 0 }),
            Self::DataCr | Self::DataLf => Err(BodyError::BadChunkEnd),
            Self::TrailerStart { .. } if byte == b'\r' => Ok(Self::EndLf),
            Self::EndLf if byte == b'\n' => Ok(Self::Done),
            Self::EndLf => Err(BodyError::BadTrailer),
            _ => self.step_trailer(byte),
        }
    }

    fn step_trailer(self, byte: u8) -> Result<Self, BodyError> {
        let (Self::TrailerStart { bytes }
        | Self::TrailerName { bytes }
        | Self::TrailerValue { bytes }
        | Self::TrailerLf { bytes }) = self
        else {
            unreachable!("counted and finished bodies have no framing bytes to step over")
        };
        if bytes == MAX_TRAILER_BYTES {
            return Err(BodyError::TrailersTooLong);
        }
        let bytes = bytes + 1;
        match (self, byte) {
            (Self::TrailerStart { .. }, _) if class::is_token_byte(byte) => Ok(Self::TrailerName { bytes }),
            (Self::TrailerName { .. }, b':') => Ok(Self::TrailerValue { bytes }),
            (Self::TrailerName { .. }, _) if class::is_token_byte(byte) => Ok(Self::TrailerName { bytes }),
            (Self::TrailerValue { .. }, b'\r') => Ok(Self::TrailerLf { bytes }),
            (Self::TrailerValue { .. }, _) if class::is_field_value(&[byte]) => Ok(Self::TrailerValue { bytes }),
            (Self::TrailerLf { .. }, b'\n') => Ok(Self::TrailerStart { bytes }),
            _ => Err(BodyError::BadTrailer),
        }
    }
}

#[inline]
fn step_size(size: u64, digits: u8, byte: u8) -> Result<State, BodyError> {
    let digit = match byte {
        b'0'..=b'9' => byte - b'0',
        b'a'..=b'f' => byte - b'a' + 10,
        b'A'..=b'F' => byte - b'A' + 10,
        b'\r' if digits > 0 => return Ok(State::SizeLf { size }),
        b';' if digits > 0 => return Ok(State::Extension { size, bytes: 1 }),
        _ => return Err(BodyError::BadChunkSize),
    };
    if digits == MAX_CHUNK_SIZE_DIGITS {
        return Err(BodyError::ChunkSizeTooLong);
    }
    Ok(State::Size { size: size << 4 | u64::from(digit), digits: digits + 1 })
}

fn step_extension(size: u64, bytes: u16, byte: u8) -> Result<State, BodyError> {
    if byte == b'\r' {
        return Ok(State::SizeLf { size });
    }
    if !class::is_field_value(&[byte]) {
        return Err(BodyError::BadChunkExtension);
    }
    if bytes == MAX_CHUNK_EXTENSION_BYTES {
        return Err(BodyError::ChunkExtensionTooLong);
    }
    Ok(State::Extension { size, bytes: bytes + 1 })
}
