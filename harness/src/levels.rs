//! The ramp of connection counts of a bench: `1,8,64,256`.

use std::fmt;
use std::num::NonZero;
use std::str::FromStr;

use crate::limits::{MAX_CONNECTIONS, MAX_LEVELS};

/// Connection counts in the order they are driven; never empty, each at least 1, none twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Levels(Vec<u32>);

/// Why a ramp cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LevelsError {
    /// Nothing in it.
    #[error("the list of levels is empty; give connection counts, as in 1,8,64,256")]
    Empty,
    /// An item that is no count.
    #[error(
        "\"{item}\" in levels \"{list}\" is not a connection count; give numbers from 1 to {MAX_CONNECTIONS}, as in 1,8,64,256"
    )]
    Item {
        /// The whole list.
        list: String,
        /// The item.
        item: String,
    },
    /// A count named twice.
    #[error("level {level} is named twice in levels \"{list}\"; name each once")]
    Twice {
        /// The whole list.
        list: String,
        /// The count.
        level: u32,
    },
    /// Too many.
    #[error("{count} levels are more than {MAX_LEVELS}; drive fewer")]
    TooMany {
        /// How many were given.
        count: usize,
    },
}

impl Levels {
    /// The ramp up to `most` users: 1, a quarter, a half, all of them, each once.
    #[must_use]
    pub fn up_to(most: NonZero<u32>) -> Self {
        let mut levels = vec![1, most.get() / 4, most.get() / 2, most.get()];
        levels.retain(|level| *level > 0);
        levels.dedup();
        Self(levels)
    }

    /// The counts, in order.
    #[must_use]
    pub fn as_slice(&self) -> &[u32] {
        &self.0
    }
}

impl Default for Levels {
    fn default() -> Self {
        Self(vec![1, 8, 64, 256])
    }
}

impl FromStr for Levels {
    type Err = LevelsError;

    fn from_str(list: &str) -> Result<Self, Self::Err> {
        if list.trim().is_empty() {
            return Err(LevelsError::Empty);
        }
        let count = list.split(',').count();
        if count > MAX_LEVELS {
            return Err(LevelsError::TooMany { count });
        }
        let mut levels = Vec::with_capacity(count);
        for item in list.split(',').map(str::trim) {
            let digits = item.bytes().all(|byte| byte.is_ascii_digit());
            let level = item.parse().ok().filter(|level| digits && (1..=MAX_CONNECTIONS).contains(level));
            let level = level.ok_or_else(|| LevelsError::Item { list: list.to_owned(), item: item.to_owned() })?;
            if levels.contains(&level) {
                return Err(LevelsError::Twice { list: list.to_owned(), level });
            }
            levels.push(level);
        }
        Ok(Self(levels))
    }
}

impl fmt::Display for Levels {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        formatter.write_str(&counts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ramps_up_to_a_number_of_users() {
        for (most, levels) in [(1, "1"), (2, "1,2"), (3, "1,3"), (4, "1,2,4"), (8, "1,2,4,8"), (256, "1,64,128,256")] {
            assert_eq!(Levels::up_to(NonZero::new(most).expect("not zero")).to_string(), levels);
        }
    }

    #[test]
    fn parses_and_names_what_is_wrong() {
        let levels: Levels = " 1, 8,64 ".parse().expect("a valid ramp");
        assert_eq!((levels.as_slice(), levels.to_string()), (&[1, 8, 64][..], "1,8,64".to_owned()));
        assert_eq!("".parse::<Levels>(), Err(LevelsError::Empty));
        for bad in ["0", "1,", "1,x", "-1", "+1", "99999999999"] {
            assert!(matches!(bad.parse::<Levels>(), Err(LevelsError::Item { .. })), "{bad}");
        }
        assert!(matches!("8,8".parse::<Levels>(), Err(LevelsError::Twice { level: 8, .. })));
        let many: Vec<String> = (1..=65).map(|level| level.to_string()).collect();
        assert_eq!(many.join(",").parse::<Levels>(), Err(LevelsError::TooMany { count: 65 }));
    }
}
