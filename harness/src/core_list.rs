//! A list of CPU numbers, as people and the kernel write it: `0-3,5`.

use std::fmt;
use std::str::FromStr;

use results::cores::ranges;

use crate::limits::MAX_CORE;

/// CPU numbers in the order given, each once, never empty. Threads are pinned in this order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CoreList(Vec<u32>);

/// Why a core list cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CoreListError {
    /// Nothing in it.
    #[error("the core list is empty; give numbers and ranges, as in 0-3,5")]
    Empty,
    /// An item that is neither a number nor a range.
    #[error("\"{item}\" in core list \"{list}\" is neither a number nor a range; write it as in 0-3,5")]
    Item {
        /// The whole list.
        list: String,
        /// The item.
        item: String,
    },
    /// A range that ends before it starts.
    #[error("the range {first}-{last} in core list \"{list}\" is backwards; write {last}-{first}")]
    Backwards {
        /// The whole list.
        list: String,
        /// Its start.
        first: u32,
        /// Its end.
        last: u32,
    },
    /// A core named twice.
    #[error("core {core} is named twice in core list \"{list}\"; name each core once")]
    Twice {
        /// The whole list.
        list: String,
        /// The core.
        core: u32,
    },
    /// A number no kernel knows.
    #[error("core {core} in core list \"{list}\" is beyond {MAX_CORE}, the highest number a kernel can have")]
    TooHigh {
        /// The whole list.
        list: String,
        /// The number, as written.
        core: String,
    },
    /// Cores that are not online.
    #[error("cores {cores} are not online; online are {online}")]
    Offline {
        /// Those that are not.
        cores: CoreList,
        /// Those that are.
        online: CoreList,
    },
    /// Cores that this process may not use.
    #[error(
        "cores {cores} are not allowed to this process; allowed are {allowed} (see taskset -p and the cpuset of its cgroup)"
    )]
    Forbidden {
        /// Those that are not.
        cores: CoreList,
        /// Those that are.
        allowed: CoreList,
    },
}

impl CoreList {
    /// A list of these numbers, in this order.
    ///
    /// # Errors
    /// [`CoreListError::Empty`], [`CoreListError::Twice`] or [`CoreListError::TooHigh`].
    pub fn new(cores: Vec<u32>) -> Result<Self, CoreListError> {
        let written = || Self(cores.clone()).to_string();
        if cores.is_empty() {
            return Err(CoreListError::Empty);
        }
        if let Some(core) = cores.iter().find(|core| **core > MAX_CORE) {
            return Err(CoreListError::TooHigh { list: written(), core: core.to_string() });
        }
        let mut sorted = cores.clone();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(CoreListError::Twice { list: written(), core: pair[0] });
        }
        Ok(Self(cores))
    }

    /// The numbers, in order.
    #[must_use]
    pub fn as_slice(&self) -> &[u32] {
        &self.0
    }

    /// How many; at least one.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a core list is never empty")]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// The first `count` cores of the list, at least one.
    #[must_use]
    pub fn first(&self, count: usize) -> Self {
        Self(self.0[..count.clamp(1, self.0.len())].to_vec())
    }

    /// Whether both lists name a common core.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.0.iter().any(|core| other.0.contains(core))
    }

    /// Checks that every core is online and allowed.
    ///
    /// # Errors
    /// [`CoreListError::Offline`] or [`CoreListError::Forbidden`], naming the cores and what there is instead.
    pub fn check(&self, online: &Self, allowed: &Self) -> Result<(), CoreListError> {
        if let Some(cores) = self.without(online) {
            return Err(CoreListError::Offline { cores, online: online.clone() });
        }
        if let Some(cores) = self.without(allowed) {
            return Err(CoreListError::Forbidden { cores, allowed: allowed.clone() });
        }
        Ok(())
    }

    /// The cores of this list that are not in `other`; `None` when there are none.
    fn without(&self, other: &Self) -> Option<Self> {
        let rest: Vec<u32> = self.0.iter().copied().filter(|core| !other.0.contains(core)).collect();
        (!rest.is_empty()).then_some(Self(rest))
    }
}

impl FromStr for CoreList {
    type Err = CoreListError;

    fn from_str(list: &str) -> Result<Self, Self::Err> {
        if list.trim().is_empty() {
            return Err(CoreListError::Empty);
        }
        let mut cores = Vec::new();
        for item in list.trim().split(',') {
            match item.trim().split_once('-') {
                None => cores.push(number(list, item, item)?),
                Some((first, last)) => {
                    let (first, last) = (number(list, item, first)?, number(list, item, last)?);
                    if first > last {
                        return Err(CoreListError::Backwards { list: list.to_owned(), first, last });
                    }
                    cores.extend(first..=last);
                }
            }
            // Each item adds at most MAX_CORE numbers; a list longer than that repeats one.
            if cores.len() > MAX_CORE as usize + 1 {
                break;
            }
        }
        Self::new(cores).map_err(|error| match error {
            CoreListError::Twice { core, .. } => CoreListError::Twice { list: list.to_owned(), core },
            other => other,
        })
    }
}

/// Plain digits only: `u32::from_str` would take `+3` as well.
fn number(list: &str, item: &str, text: &str) -> Result<u32, CoreListError> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(CoreListError::Item { list: list.to_owned(), item: item.trim().to_owned() });
    }
    match text.parse::<u32>() {
        Ok(core) if core <= MAX_CORE => Ok(core),
        _ => Err(CoreListError::TooHigh { list: list.to_owned(), core: text.to_owned() }),
    }
}

/// Runs of consecutive numbers as ranges: `0-3,5`. Parses back to the same list.
impl fmt::Display for CoreList {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&ranges(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> CoreList {
        text.parse().expect("a valid list")
    }

    #[test]
    fn parses_and_prints() {
        let table: &[(&str, &[u32], &str)] = &[
            ("0", &[0], "0"),
            ("0-3,5", &[0, 1, 2, 3, 5], "0-3,5"),
            (" 1 , 2 ,4 - 5", &[1, 2, 4, 5], "1-2,4-5"),
            ("7,3,4", &[7, 3, 4], "7,3-4"),
            ("2-2", &[2], "2"),
            ("8191", &[8191], "8191"),
        ];
        for (text, cores, printed) in table {
            let parsed = list(text);
            assert_eq!((parsed.as_slice(), parsed.to_string().as_str()), (*cores, *printed));
            assert_eq!(list(printed), parsed);
        }
    }

    #[test]
    fn errors_name_the_input_and_what_would_be_right() {
        let table = [
            ("", "the core list is empty; give numbers and ranges, as in 0-3,5"),
            (",1", "\"\" in core list \",1\" is neither a number nor a range; write it as in 0-3,5"),
            ("0,+3", "\"+3\" in core list \"0,+3\" is neither a number nor a range; write it as in 0-3,5"),
            ("0-", "\"0-\" in core list \"0-\" is neither a number nor a range; write it as in 0-3,5"),
            ("3-1", "the range 3-1 in core list \"3-1\" is backwards; write 1-3"),
            ("0-2,1", "core 1 is named twice in core list \"0-2,1\"; name each core once"),
            ("9999", "core 9999 in core list \"9999\" is beyond 8191, the highest number a kernel can have"),
            (
                "0-99999999999",
                "core 99999999999 in core list \"0-99999999999\" is beyond 8191, the highest number a kernel can have",
            ),
        ];
        for (text, message) in table {
            assert_eq!(text.parse::<CoreList>().expect_err(text).to_string(), message);
        }
    }

    #[test]
    fn a_long_hostile_list_ends() {
        let hostile = ["0-8191"; 1000].join(",");
        assert!(matches!(hostile.parse::<CoreList>(), Err(CoreListError::Twice { .. })));
    }

    #[test]
    fn offline_and_forbidden_cores_are_named() {
        let error = list("0-5").check(&list("0-3"), &list("0-3")).expect_err("4 and 5 are not there");
        assert_eq!(error.to_string(), "cores 4-5 are not online; online are 0-3");
        let error = list("0,2").check(&list("0-3"), &list("0-1")).expect_err("2 is not allowed");
        assert!(error.to_string().starts_with("cores 2 are not allowed to this process; allowed are 0-1"));
        assert_eq!(list("1").check(&list("0-3"), &list("0-1")), Ok(()));
    }
}
