//! The HTTP version of a message.
//!
//! Owns the two versions spoken and the reading of `HTTP/d.d` (RFC 9112 section 2.3, RFC 9110 section 2.5).

/// A version this crate speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1, or a higher minor of major 1, which RFC 9110 section 2.5 has us treat as 1.1.
    Http11,
}

/// Why eight bytes are not a version we speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VersionError {
    /// Not of the form `HTTP/d.d`.
    Malformed,
    /// Well formed, with a major other than 1.
    Unsupported,
}

impl Version {
    /// Reads exactly `HTTP/d.d`; the name is case-sensitive.
    pub(super) fn read(token: &[u8; 8]) -> Result<Self, VersionError> {
        match token {
            b"HTTP/1.1" => Ok(Self::Http11),
            b"HTTP/1.0" => Ok(Self::Http10),
            [b'H', b'T', b'T', b'P', b'/', major, b'.', minor] if major.is_ascii_digit() && minor.is_ascii_digit() => {
                if *major == b'1' {
                    Ok(Self::Http11)
                } else {
                    Err(VersionError::Unsupported)
                }
            }
            _ => Err(VersionError::Malformed),
        }
    }

    /// The token as written on the wire.
    pub const fn as_bytes(self) -> &'static [u8; 8] {
        match self {
            Self::Http10 => b"HTTP/1.0",
            Self::Http11 => b"HTTP/1.1",
        }
    }
}
