//! HTTP/1.1 messages to meaning and back (RFC 9112, with the semantics of RFC 9110 that framing needs).
//!
//! Owns: where a head ends, what it means for the connection, where a body ends, and how heads, chunks and requests
//! are written. Must not route, answer, keep time or touch a socket. Readers borrow from the caller's buffer; nothing
//! here allocates except where a caller's `Vec` has to grow.
//!
//! Server side: [`request::parse`], then [`body::BodyReader`], then [`answer::write_head`].
//! Loader side: [`ask::write_request`], then [`response::parse`], then [`body::BodyReader`].

pub mod answer;
pub mod ask;
pub mod body;
pub mod chunk;
mod class;
pub mod field;
mod framing;
pub mod limits;
pub mod method;
pub mod persistence;
pub mod request;
mod request_line;
pub mod response;
pub mod scan;
pub mod version;

pub use body::{BodyError, BodyLength, BodyReader, Piece};
pub use field::{FieldError, Headers};
pub use limits::Limits;
pub use method::Method;
pub use request::{RequestError, RequestHead};
pub use response::{ResponseError, ResponseHead};
pub use scan::HeadScan;
pub use version::Version;
