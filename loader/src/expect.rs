//! What counts as a good answer: its status, and its body where the user gave one.

use std::fmt;

use bytes::Bytes;
use thiserror::Error;

/// Statuses below this are told apart one by one; HTTP has none above.
const STATUSES: usize = 1000;

/// A list of status ranges was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{input:?} is not a list of statuses: write three-digit numbers and ranges separated by commas, as in 200-299,304"
)]
pub struct ExpectError {
    /// What was given.
    pub input: String,
}

/// The expected statuses and, where it is checked, the expected body.
#[derive(Clone, PartialEq, Eq)]
pub struct Expect {
    text: String,
    /// One bit for each status below [`STATUSES`].
    statuses: [u64; STATUSES.div_ceil(64)],
    /// What every body must be, byte for byte; the answers to HEAD excepted.
    pub body: Option<Bytes>,
}

impl Expect {
    /// Reads statuses and ranges, `200-299,304`.
    ///
    /// # Errors
    /// [`ExpectError`] quoting the input.
    pub fn parse(text: &str) -> Result<Self, ExpectError> {
        let wrong = || ExpectError { input: text.into() };
        let status = |part: &str| {
            let part = part.trim();
            let number = (part.len() == 3).then(|| part.parse::<u16>().ok()).flatten();
            number.filter(|status| (100..STATUSES as u16).contains(status)).ok_or_else(wrong)
        };
        let mut statuses = [0; STATUSES.div_ceil(64)];
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (status(first)?, status(last)?);
            if first > last {
                return Err(wrong());
            }
            for status in first..=last {
                statuses[usize::from(status) / 64] |= 1 << (status % 64);
            }
        }
        Ok(Self { text: text.trim().to_owned(), statuses, body: None })
    }

    /// Whether this status is a good one.
    #[inline]
    pub fn status(&self, status: u16) -> bool {
        self.statuses.get(usize::from(status) / 64).is_some_and(|word| word >> (status % 64) & 1 == 1)
    }
}

/// `200-299`, any body.
impl Default for Expect {
    fn default() -> Self {
        Self::parse("200-299").expect("a valid range")
    }
}

impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expect")
            .field("statuses", &self.text)
            .field("body", &self.body.as_ref().map(Bytes::len))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_of_a_list_and_no_other() {
        let expect = Expect::parse("200-299,304, 999").expect("a list");
        for status in 0..=u16::MAX {
            let want = (200..300).contains(&status) || status == 304 || status == 999;
            assert_eq!(expect.status(status), want, "{status}");
        }
        assert_eq!(expect.to_string(), "200-299,304, 999");
        assert!(Expect::default().status(204) && !Expect::default().status(300));
    }

    #[test]
    fn what_is_no_list_is_quoted() {
        for text in ["", "2xx", "200-", "299-200", "20", "1000", "099", "200,,300", "+20"] {
            let error = Expect::parse(text).expect_err(text);
            assert!(error.to_string().contains(&format!("{text:?}")), "{error}");
        }
    }
}
