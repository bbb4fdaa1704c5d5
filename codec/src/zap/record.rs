//! Typed records: the two ZAP messages that travel in the bodies of the rpc scenario.
//!
//! Owns their layout (ZAP wire §6). They are read by the rules of a frame, but their flags are not looked at. Must not
//! answer a call: see [`rpc`](crate::rpc).

use super::encoder::{EncodeError, RecordEncoder};
use super::frame::{Frame, FrameError};
use super::slot::{Fields, Object};
use crate::limits::{HEADER_BYTES, RECORD_SECTION_BYTES};

const ID: usize = 0;
const BLOCK: usize = 8;
const METHOD: usize = 16;
const ACCOUNT: usize = 24;

const BALANCE: usize = 8;
const NONCE: usize = 16;
const BLOCK_HASH: usize = 24;

/// A call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// Which call this is; the answer repeats it.
    pub id: u64,
    /// The block's number.
    pub block: u64,
    /// The method's name.
    pub method: &'a [u8],
    /// The account, 20 bytes in a well-formed call. Any length is read.
    pub account: &'a [u8],
}

impl<'a> Request<'a> {
    /// Reads a record.
    ///
    /// # Errors
    ///
    /// [`FrameError`], but never for kind or pairs.
    #[inline(always)]
    pub fn decode(record: &'a [u8]) -> Result<Self, FrameError> {
        read(record, Self::from_fields, Self::from_fields)
    }

    // Always inlined, as are its callers: a field that is not looked at then costs nothing.
    #[inline(always)]
    fn from_fields(fields: impl Fields<'a>) -> Self {
        Self {
            id: fields.u64::<ID>(),
            block: fields.u64::<BLOCK>(),
            method: fields.slot::<METHOD>(),
            account: fields.slot::<ACCOUNT>(),
        }
    }

    /// Bytes that [`encode`](Self::encode) appends.
    #[inline]
    pub fn encoded_bytes(&self) -> usize {
        HEADER_BYTES + RECORD_SECTION_BYTES + self.method.len() + self.account.len()
    }

    /// Appends the record to `out`, which grows at most once.
    ///
    /// # Errors
    ///
    /// [`EncodeError::TooLarge`] where no frame could carry it; `out` is then as it was.
    #[inline(always)]
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut encoder = RecordEncoder::new(None);
        encoder.u64::<ID>(self.id);
        encoder.u64::<BLOCK>(self.block);
        encoder.slot::<METHOD>(self.method.len());
        encoder.slot::<ACCOUNT>(self.account.len());
        encoder.seal(out, 0)?;
        out.extend_from_slice(self.method);
        out.extend_from_slice(self.account);
        Ok(())
    }
}

/// The answer to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response<'a> {
    /// The call's id.
    pub id: u64,
    /// The account's balance.
    pub balance: u64,
    /// The account's nonce.
    pub nonce: u64,
    /// The block's hash, 32 bytes in a well-formed answer. Any length is read.
    pub block_hash: &'a [u8],
}

impl<'a> Response<'a> {
    /// Reads a record.
    ///
    /// # Errors
    ///
    /// [`FrameError`], but never for kind or pairs.
    #[inline(always)]
    pub fn decode(record: &'a [u8]) -> Result<Self, FrameError> {
        read(record, Self::from_fields, Self::from_fields)
    }

    #[inline(always)]
    fn from_fields(fields: impl Fields<'a>) -> Self {
        Self {
            id: fields.u64::<ID>(),
            balance: fields.u64::<BALANCE>(),
            nonce: fields.u64::<NONCE>(),
            block_hash: fields.slot::<BLOCK_HASH>(),
        }
    }

    /// Bytes that [`encode`](Self::encode) appends.
    #[inline]
    pub fn encoded_bytes(&self) -> usize {
        HEADER_BYTES + RECORD_SECTION_BYTES + self.block_hash.len()
    }

    /// Appends the record to `out`, which grows at most once.
    ///
    /// # Errors
    ///
    /// [`EncodeError::TooLarge`] where no frame could carry it; `out` is then as it was.
    #[inline(always)]
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut encoder = RecordEncoder::new(None);
        encoder.u64::<ID>(self.id);
        encoder.u64::<BALANCE>(self.balance);
        encoder.u64::<NONCE>(self.nonce);
        encoder.slot::<BLOCK_HASH>(self.block_hash.len());
        encoder.seal(out, 0)?;
        out.extend_from_slice(self.block_hash);
        Ok(())
    }
}

/// Checks a record's header, then reads its fields from the whole section, or one by one where it is cut short.
// Numbers then go from register to message and back. Through a record in memory they are copied two at a time, and a load of two waits
// until both stores of a record that was just written have left the store buffer.
#[inline(always)]
fn read<'a, T>(
    record: &'a [u8],
    whole: impl FnOnce(super::slot::Section<'a, RECORD_SECTION_BYTES>) -> T,
    short: impl FnOnce(Object<'a>) -> T,
) -> Result<T, FrameError> {
    let root = Frame::parse(record)?.root()?;
    Ok(match root.section() {
        Some(section) => whole(section),
        None => short(root),
    })
}
