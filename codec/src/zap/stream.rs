//! Data and end frames: what follows the head of a streamed response.
//!
//! Owns their one field (ZAP wire §3 and §5). Must not keep count of a stream: which frame may follow which is its
//! caller's to know.

use super::encoder::{ChunkEncoder, EncodeError};
use super::frame::{Frame, FrameError, Kind};
use super::pairs::{PairSource, Pairs};

/// The chunk of a data frame, or the trailer block of an end frame.
pub(super) const CHUNK: usize = 0;

/// The chunk of a data frame, given without its length prefix. Empty where absent.
///
/// # Errors
///
/// [`FrameError`], as for a response; never for its pairs.
#[inline]
pub fn decode_data(frame: &[u8]) -> Result<&[u8], FrameError> {
    data_from_frame(&Frame::parse(frame)?)
}

/// The chunk of a data frame whose header was checked.
///
/// # Errors
///
/// [`FrameError::Kind`] or [`FrameError::Root`].
#[inline]
pub fn data_from_frame<'a>(frame: &Frame<'a>) -> Result<&'a [u8], FrameError> {
    let root = frame.root_of(Kind::Data)?;
    Ok(root.bytes(CHUNK).unwrap_or_default())
}

/// The trailer of an end frame, given without its length prefix.
///
/// The reference's client does not look into an end frame; here its block has to be whole.
///
/// # Errors
///
/// [`FrameError`], as for a response.
#[inline]
pub fn decode_end(frame: &[u8]) -> Result<Pairs<'_>, FrameError> {
    end_from_frame(&Frame::parse(frame)?)
}

/// The trailer of an end frame whose header was checked.
///
/// # Errors
///
/// [`FrameError::Kind`], [`FrameError::Root`] or [`FrameError::Trailer`].
#[inline]
pub fn end_from_frame<'a>(frame: &Frame<'a>) -> Result<Pairs<'a>, FrameError> {
    let root = frame.root_of(Kind::End)?;
    Pairs::parse(root.bytes(CHUNK).unwrap_or_default()).map_err(FrameError::Trailer)
}

/// Appends length prefix and data frame to `out`. An empty chunk is a frame as well.
///
/// # Errors
///
/// [`EncodeError::TooLarge`]; `out` is then as it was.
#[inline]
pub fn encode_data(out: &mut Vec<u8>, chunk: &[u8]) -> Result<(), EncodeError> {
    let mut encoder = ChunkEncoder::new(Some(Kind::Data));
    encoder.slot::<CHUNK>(chunk.len());
    encoder.seal(out, 0)?;
    out.extend_from_slice(chunk);
    Ok(())
}

/// Appends length prefix and data frame up to the chunk. `chunk_bytes` bytes sent after it complete the frame, from
/// wherever they are.
///
/// # Errors
///
/// [`EncodeError::TooLarge`]; `out` is then as it was.
#[inline]
pub fn data_prefix(out: &mut Vec<u8>, chunk_bytes: usize) -> Result<(), EncodeError> {
    let mut encoder = ChunkEncoder::new(Some(Kind::Data));
    encoder.slot::<CHUNK>(chunk_bytes);
    encoder.seal(out, chunk_bytes)
}

/// Appends length prefix and end frame to `out`; `()` for no trailer.
///
/// # Errors
///
/// [`EncodeError::TooLarge`]; `out` is then as it was.
#[inline]
pub fn encode_end(out: &mut Vec<u8>, trailer: impl PairSource) -> Result<(), EncodeError> {
    let trailer_size = trailer.block_size();
    let mut encoder = ChunkEncoder::new(Some(Kind::End));
    encoder.slot::<CHUNK>(trailer_size.bytes);
    encoder.seal(out, 0)?;
    trailer.append_block(out, trailer_size);
    Ok(())
}
