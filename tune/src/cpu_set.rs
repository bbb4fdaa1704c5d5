//! A set of CPU numbers, read and written as the kernel does: lists (`0-3,5`) and masks (`3,0000ff00`).
//!
//! Masks are groups of 32 bits, highest first, with a comma between them: a number of 64 bits is none, and one that was cut to 64 bits
//! silently names other CPUs or nobody.

use std::collections::BTreeSet;
use std::fmt;

use results::cores::ranges;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::limits::MAX_CPU;

/// Bits of one group of a mask.
const GROUP_BITS: u32 = 32;

/// CPU numbers without an order; may be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuSet(BTreeSet<u32>);

/// Why a list or mask is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CpuSetError {
    /// Not a list.
    #[error("\"{text}\" is no list of CPUs; they look like 0-3,5")]
    List {
        /// What stood there.
        text: String,
    },
    /// Not a mask.
    #[error("\"{text}\" is no mask of CPUs; they are groups of up to 8 hexadecimal digits, as in 3,0000ff00")]
    Mask {
        /// What stood there.
        text: String,
    },
    /// A number no kernel knows.
    #[error("\"{text}\" names a CPU beyond {MAX_CPU}, the highest number a kernel can have")]
    TooHigh {
        /// What stood there.
        text: String,
    },
}

impl CpuSet {
    /// Reads a kernel's list; an empty text is an empty set.
    ///
    /// # Errors
    /// [`CpuSetError::List`] or [`CpuSetError::TooHigh`].
    pub fn from_list(text: &str) -> Result<Self, CpuSetError> {
        let broken = || CpuSetError::List { text: text.trim().to_owned() };
        let number = |part: &str| -> Result<u32, CpuSetError> {
            if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(broken());
            }
            let too_high = || CpuSetError::TooHigh { text: text.trim().to_owned() };
            part.parse().ok().filter(|cpu| *cpu <= MAX_CPU).ok_or_else(too_high)
        };
        let mut cpus = BTreeSet::new();
        for item in text.trim().split(',').filter(|_| !text.trim().is_empty()) {
            match item.split_once('-') {
                None => {
                    cpus.insert(number(item)?);
                }
                Some((first, last)) => {
                    let (first, last) = (number(first)?, number(last)?);
                    if first > last {
                        return Err(broken());
                    }
                    cpus.extend(first..=last);
                }
            }
        }
        Ok(Self(cpus))
    }

    /// Reads a kernel's mask.
    ///
    /// # Errors
    /// [`CpuSetError::Mask`] or [`CpuSetError::TooHigh`].
    pub fn from_mask(text: &str) -> Result<Self, CpuSetError> {
        let text = text.trim();
        let mut cpus = BTreeSet::new();
        for (index, group) in text.rsplit(',').enumerate() {
            if group.is_empty() || group.len() > 8 || !group.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(CpuSetError::Mask { text: text.to_owned() });
            }
            let bits = u32::from_str_radix(group, 16).map_err(|_| CpuSetError::Mask { text: text.to_owned() })?;
            let set = (0..GROUP_BITS).filter(|bit| bits & (1 << bit) != 0);
            let first = u32::try_from(index).unwrap_or(u32::MAX).saturating_mul(GROUP_BITS);
            if first > MAX_CPU && bits != 0 {
                return Err(CpuSetError::TooHigh { text: text.to_owned() });
            }
            cpus.extend(set.map(|bit| first + bit));
        }
        Ok(Self(cpus))
    }

    /// As a kernel's list; empty for an empty set.
    #[must_use]
    pub fn list(&self) -> String {
        ranges(&self.0.iter().copied().collect::<Vec<_>>())
    }

    /// As a kernel's mask: as many groups as the highest number needs, each but the first with all its digits; `0` for an empty set.
    #[must_use]
    pub fn mask(&self) -> String {
        let highest = self.0.last().copied().unwrap_or(0);
        let mut groups = vec![0u32; (highest / GROUP_BITS) as usize + 1];
        for cpu in &self.0 {
            groups[(cpu / GROUP_BITS) as usize] |= 1 << (cpu % GROUP_BITS);
        }
        let mut text = String::new();
        for (position, group) in groups.iter().rev().enumerate() {
            text.push_str(&if position == 0 { format!("{group:x}") } else { format!(",{group:08x}") });
        }
        text
    }

    /// Whether a CPU is in it.
    #[must_use]
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    /// Whether nobody is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many are in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// The lowest number.
    #[must_use]
    pub fn first(&self) -> Option<u32> {
        self.0.first().copied()
    }

    /// Adds one.
    pub fn insert(&mut self, cpu: u32) {
        self.0.insert(cpu);
    }

    /// Those of either.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        Self(self.0.union(&other.0).copied().collect())
    }

    /// Those of both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).copied().collect())
    }

    /// Those that are not in `other`.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).copied().collect())
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        Self(cpus.into_iter().collect())
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.list())
    }
}

impl Serialize for CpuSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.list())
    }
}

impl<'de> Deserialize<'de> for CpuSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_list(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_of_all_cpus() {
        let table = [
            (1, "1"),
            (2, "3"),
            (4, "f"),
            (20, "fffff"),
            (31, "7fffffff"),
            (32, "ffffffff"),
            (33, "1,ffffffff"),
            (63, "7fffffff,ffffffff"),
            (64, "ffffffff,ffffffff"),
            (65, "1,ffffffff,ffffffff"),
        ];
        for (count, mask) in table {
            let all: CpuSet = (0..count).collect();
            assert_eq!(all.mask(), mask, "{count} CPUs");
            assert_eq!(CpuSet::from_mask(mask), Ok(all));
        }
        for (count, groups) in [(128, 4), (192, 6), (1024, 32)] {
            let all: CpuSet = (0..count).collect();
            assert_eq!(all.mask(), vec!["ffffffff"; groups].join(","), "{count} CPUs");
        }
    }

    #[test]
    fn masks_have_every_group_and_read_back() {
        let table: [(&[u32], &str); 7] = [
            (&[], "0"),
            (&[0], "1"),
            (&[31], "80000000"),
            (&[32], "1,00000000"),
            (&[8, 15, 64], "1,00000000,00008100"),
            (&[1023], &format!("80000000{}", ",00000000".repeat(31))),
            (&[5, 6, 7, 8, 9, 15, 16, 17, 18, 19], "f83e0"),
        ];
        for (cpus, mask) in table {
            let set: CpuSet = cpus.iter().copied().collect();
            assert_eq!(set.mask(), mask);
            assert_eq!(CpuSet::from_mask(mask), Ok(set));
        }
        // As kernels print them: padded to all the CPUs there may be.
        assert_eq!(CpuSet::from_mask("00000000,0000ff00\n").map(|set| set.list()), Ok("8-15".to_owned()));
        assert_eq!(CpuSet::from_mask("00\n"), Ok(CpuSet::default()));
    }

    #[test]
    fn what_is_no_mask() {
        for text in ["", "ff,,0", "1ffffffff", "0x3", "3,", ",3", "g", "-1", "f f", "+f"] {
            assert!(matches!(CpuSet::from_mask(text), Err(CpuSetError::Mask { .. })), "{text:?}");
        }
        let high = format!("1{}", ",00000000".repeat(256));
        assert!(matches!(CpuSet::from_mask(&high), Err(CpuSetError::TooHigh { .. })));
    }

    #[test]
    fn lists() {
        for (text, list) in [("0-3,5\n", "0-3,5"), ("", ""), ("\n", ""), ("5,0-1", "0-1,5"), ("0-1,1-2", "0-2")] {
            assert_eq!(CpuSet::from_list(text).map(|set| set.list()).as_deref(), Ok(list));
        }
        for text in ["0-", "3-1", "a", "0,,1", "+1", "0 1"] {
            assert!(matches!(CpuSet::from_list(text), Err(CpuSetError::List { .. })), "{text:?}");
        }
        assert!(matches!(CpuSet::from_list("0-9999"), Err(CpuSetError::TooHigh { .. })));
    }
}
