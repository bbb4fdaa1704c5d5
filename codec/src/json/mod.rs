//! The JSON twin of the rpc scenario: the same call and answer as text (ZAP wire §6), by a library of the user's choice.
//!
//! Owns which libraries there are, and the fairness rules between them and the records: all four fields of a call are
//! decoded, all four of an answer are written, and account and hash stay text, so that nobody pays for hex. Must not
//! answer a call: see [`rpc`]. Strings without escapes are borrowed from the input.

mod library;

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::limits::KEPT_JSON_BYTES;
use crate::rpc;
use crate::zap::record;

pub use library::{Library, LibraryError};

/// [`rpc::BLOCK_HASH`] as the JSON twin writes it.
pub const BLOCK_HASH_HEX: &str = "0x0123456789abcdeffedcba98765432100f1e2d3c4b5a69788796a5b4c3d2e1f0";

/// The sample call: [`rpc::SAMPLE_REQUEST`] with its account in hex, 103 bytes as text.
pub const SAMPLE_CALL: Call<'static> = Call {
    method: Cow::Borrowed("eth_getBalance"),
    account: Cow::Borrowed("0xdeadbeef00112233445566778899aabbccddeeff"),
    block: 0x10d4f,
    id: 1,
};

/// A call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call<'a> {
    /// The method's name.
    #[serde(borrow)]
    pub method: Cow<'a, str>,
    /// The account, `0x` and 40 hex digits in a well-formed call. Any text is read.
    #[serde(borrow)]
    pub account: Cow<'a, str>,
    /// The block's number.
    pub block: u64,
    /// Which call this is; the answer repeats it.
    pub id: u64,
}

impl Call<'_> {
    /// Answers the call. The texts go through the same fold as the bytes of a record.
    #[inline]
    pub fn answer(&self) -> Reply<'static> {
        let answer = rpc::answer(&record::Request {
            id: self.id,
            block: self.block,
            method: self.method.as_bytes(),
            account: self.account.as_bytes(),
        });
        Reply { id: answer.id, balance: answer.balance, nonce: answer.nonce, block_hash: Cow::Borrowed(BLOCK_HASH_HEX) }
    }

    /// Appends the call as text.
    #[inline]
    pub fn encode(&self, library: Library, out: &mut Vec<u8>) {
        encode(self, library, out);
    }
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reply<'a> {
    /// The call's id.
    pub id: u64,
    /// The account's balance.
    pub balance: u64,
    /// The account's nonce.
    pub nonce: u64,
    /// The block's hash, `0x` and 64 hex digits in a well-formed answer. Any text is read.
    #[serde(borrow)]
    pub block_hash: Cow<'a, str>,
}

impl Reply<'_> {
    /// Appends the answer as text.
    #[inline]
    pub fn encode(&self, library: Library, out: &mut Vec<u8>) {
        encode(self, library, out);
    }
}

fn encode(value: &impl Serialize, library: Library, out: &mut Vec<u8>) {
    match library {
        Library::Serde => serde_json::to_writer(out, value).expect("numbers and texts serialise into memory"),
        Library::Sonic => sonic_rs::to_writer(out, value).expect("numbers and texts serialise into memory"),
        Library::Simd => simd_json::to_writer(out, value).expect("numbers and texts serialise into memory"),
    }
}

/// Why a text was refused: what the library says.
#[derive(Debug, Error)]
pub enum JsonError {
    /// By `serde_json`.
    #[error("{0}")]
    Serde(#[from] serde_json::Error),
    /// By `sonic-rs`. Its message quotes the input below its first line.
    #[error("{}", first_line(&.0.to_string()))]
    Sonic(#[from] sonic_rs::Error),
    /// By `simd-json`.
    #[error("{0}")]
    Simd(#[from] simd_json::Error),
}

fn first_line(text: &str) -> String {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

/// Reads texts with one library; holds what that library wants to write to.
#[derive(Default)]
pub struct Reader {
    library: Library,
    /// `simd-json` unescapes in place, and the input is only lent to us: it is copied, which is part of its cost.
    copy: Vec<u8>,
    buffers: simd_json::Buffers,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("library", &self.library).finish_non_exhaustive()
    }
}

impl Reader {
    /// A reader by this library.
    pub fn new(library: Library) -> Self {
        Self { library, ..Self::default() }
    }

    /// Whose reader it is.
    #[inline]
    pub fn library(&self) -> Library {
        self.library
    }

    /// Reads a call. Fields in any order; unknown ones are ignored, a missing or repeated one is an error.
    ///
    /// # Errors
    ///
    /// [`JsonError`]: what is wrong with the text.
    #[inline]
    pub fn call<'a>(&'a mut self, text: &'a [u8]) -> Result<Call<'a>, JsonError> {
        self.read(text)
    }

    /// Reads an answer, by the rules of [`call`](Self::call).
    ///
    /// # Errors
    ///
    /// [`JsonError`]: what is wrong with the text.
    #[inline]
    pub fn reply<'a>(&'a mut self, text: &'a [u8]) -> Result<Reply<'a>, JsonError> {
        self.read(text)
    }

    #[inline]
    fn read<'a, T: Deserialize<'a>>(&'a mut self, text: &'a [u8]) -> Result<T, JsonError> {
        match self.library {
            Library::Serde => Ok(serde_json::from_slice(text)?),
            Library::Sonic => Ok(sonic_rs::from_slice(text)?),
            Library::Simd => {
                if self.copy.capacity() > KEPT_JSON_BYTES {
                    // A large text came before this one; neither its copy nor what grew with it is kept.
                    *self = Self::new(self.library);
                }
                self.copy.clear();
                self.copy.extend_from_slice(text);
                Ok(simd_json::serde::from_slice_with_buffers(&mut self.copy, &mut self.buffers)?)
            }
        }
    }
}

#[cfg(test)]
mod tests;
