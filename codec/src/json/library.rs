//! The JSON libraries by name.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A library that reads and writes the JSON twins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Library {
    /// `serde_json`: the plain choice.
    #[default]
    Serde,
    /// `sonic-rs`. It uses the vector instructions that the program was compiled for, SSE2 on a plain x86-64 build.
    Sonic,
    /// `simd-json`. It finds out at run time which vector instructions there are.
    Simd,
}

/// A name that no library has.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{input:?} is no JSON library here: give serde, sonic or simd")]
pub struct LibraryError {
    /// What was given.
    pub input: String,
}

impl Library {
    /// Every library.
    pub const ALL: [Self; 3] = [Self::Serde, Self::Sonic, Self::Simd];

    /// The name by which it is chosen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Serde => "serde",
            Self::Sonic => "sonic",
            Self::Simd => "simd",
        }
    }

    /// The name of its crate.
    pub const fn crate_name(self) -> &'static str {
        match self {
            Self::Serde => "serde_json",
            Self::Sonic => "sonic-rs",
            Self::Simd => "simd-json",
        }
    }
}

impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Library {
    type Err = LibraryError;

    fn from_str(text: &str) -> Result<Self, LibraryError> {
        let found = Self::ALL.into_iter().find(|library| library.name() == text);
        found.ok_or_else(|| LibraryError { input: text.to_owned() })
    }
}
