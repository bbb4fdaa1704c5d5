//! How often each case of the suite is done.

use std::fmt;
use std::str::FromStr;

use results::canonical::Iterations;
use thiserror::Error;

use super::CaseName;

/// A length of the suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Preset {
    /// A look whether everything works, in a second or two.
    Quick,
    /// The numbers that the custom is.
    #[default]
    Default,
    /// Ten times as many.
    Full,
}

/// A name that no preset has.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{input:?} is no preset: give quick, default or full")]
pub struct PresetError {
    /// What was given.
    pub input: String,
}

impl Preset {
    /// Every preset.
    pub const ALL: [Self; 3] = [Self::Quick, Self::Default, Self::Full];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Default => "default",
            Self::Full => "full",
        }
    }

    /// Iterations of every case.
    #[must_use]
    pub const fn iterations(self) -> Iterations {
        match self {
            Self::Quick => Iterations { carsales: 500, catrank: 50, eval: 10_000 },
            Self::Default => Iterations { carsales: 10_000, catrank: 1000, eval: 200_000 },
            Self::Full => Iterations { carsales: 100_000, catrank: 10_000, eval: 2_000_000 },
        }
    }

    /// Iterations of one case.
    #[must_use]
    pub const fn of(self, case: CaseName) -> u64 {
        let Iterations { carsales, catrank, eval } = self.iterations();
        match case {
            CaseName::CarSales => carsales,
            CaseName::CatRank => catrank,
            CaseName::Eval => eval,
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Preset {
    type Err = PresetError;

    fn from_str(text: &str) -> Result<Self, PresetError> {
        let found = Self::ALL.into_iter().find(|preset| preset.name() == text);
        found.ok_or_else(|| PresetError { input: text.to_owned() })
    }
}
