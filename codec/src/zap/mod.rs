//! The ZAP wire: length-prefixed frames, each one ZAP message.
//!
//! Owns the meaning of every byte of it, as the reference reads and writes them (see the crate's head for which
//! one). Must not know of sockets, of routes, or of how an answer is chosen.
//!
//! Readers take a frame without its length prefix, borrow from it, and follow the reference in what they forgive: a
//! slot that points outside its message reads as absent. Writers append prefix and frame to a caller's `Vec<u8>`.

pub mod builder;
mod encoder;
pub mod frame;
pub mod object;
pub mod packed;
pub mod pairs;
pub mod peek;
pub mod reason;
pub mod record;
pub mod request;
pub mod response;
pub mod slot;
pub mod stream;
pub mod template;

pub use encoder::EncodeError;
