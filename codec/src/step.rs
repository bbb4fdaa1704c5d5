//! The three-way answer of every incremental reader: complete, need more, or (through `Result`) an error.
//!
//! Owns nothing but the type. Needing more bytes is the normal state of a socket and therefore not an error.

/// What an incremental reader found at the start of a slice; used as `Result<Step<T>, E>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<T> {
    /// The value is whole.
    Complete {
        /// What was read.
        value: T,
        /// Bytes of the given slice that the value took, counted from the slice's start.
        consumed: usize,
    },
    /// The slice holds a valid beginning only.
    NeedMore {
        /// Total contiguous bytes, counted from the start of the given slice, before another call makes sense.
        /// Always larger than the length of the slice that was given.
        at_least: usize,
    },
}

impl<T> Step<T> {
    /// The same step with its value put through `f`.
    #[inline]
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Step<U> {
        match self {
            Self::Complete { value, consumed } => Step::Complete { value: f(value), consumed },
            Self::NeedMore { at_least } => Step::NeedMore { at_least },
        }
    }

    /// The value and the bytes it took, or `None` where more bytes are needed.
    #[inline]
    pub fn complete(self) -> Option<(T, usize)> {
        match self {
            Self::Complete { value, consumed } => Some((value, consumed)),
            Self::NeedMore { .. } => None,
        }
    }
}
