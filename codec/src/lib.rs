//! ZAP frames, HTTP/1.1 messages and the frames of the floor wire to meaning and back.
//!
//! Owns every rule about the bytes of these wires. Does no I/O, keeps no clock and holds no connection: each
//! reader is a pure function of a byte slice, and each writer appends to a caller's `Vec<u8>`. Readers borrow from
//! their input and allocate nothing; writers allocate only where the output has to grow.
//!
//! The ZAP wire is the one that `zap-proto/http` speaks at commit a7896ad; where this crate says "ZAP wire §n" it
//! means the section of that wire's description by number: 1 connection, 2 frame, 3 slots, 4 pairs, 5 answers,
//! 6 typed records.

#![forbid(unsafe_code)]

pub mod floor;
pub mod http;
pub mod json;
pub mod limits;
pub mod rpc;
pub mod scenario;
pub mod step;
pub mod zap;

pub use step::Step;
