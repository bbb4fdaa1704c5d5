//! The `Date` of answers (RFC 9110 section 6.6.1): formatted at most once a second, and never stale after a quiet time.
//!
//! The wall clock is asked in [`Date::set`] only. Between two settings the time is that plus what the engine's monotonic
//! clock has advanced, so that the first answer after an idle hour is right before any timer has run.

use std::{
    io::Write,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use httpdate::HttpDate;

const SECOND_NS: u64 = 1_000_000_000;

/// IMF-fixdate text and until when it holds.
#[derive(Debug)]
pub(crate) struct Date {
    /// Nanoseconds since the Unix epoch at monotonic time 0.
    epoch_at_zero_ns: i128,
    /// Monotonic time at which the next second begins.
    valid_until_ns: u64,
    text: [u8; 29],
}

impl Date {
    /// A date that has to be set before it is read.
    pub(crate) fn new() -> Self {
        Date { epoch_at_zero_ns: 0, valid_until_ns: 0, text: *b"Thu, 01 Jan 1970 00:00:00 GMT" }
    }

    /// Takes the wall clock's time, read at monotonic time `now_ns`; true when the text has changed.
    pub(crate) fn set(&mut self, wall: SystemTime, now_ns: u64) -> bool {
        let before = self.text;
        let epoch_ns = wall.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as i128;
        self.epoch_at_zero_ns = epoch_ns - i128::from(now_ns);
        self.format(now_ns);
        self.text != before
    }

    /// Brings the text up to date; true when it has changed.
    #[inline]
    pub(crate) fn advance(&mut self, now_ns: u64) -> bool {
        let stale = now_ns >= self.valid_until_ns;
        if stale {
            self.format(now_ns);
        }
        stale
    }

    /// The text of the last [`Date::set`] or [`Date::advance`].
    #[inline]
    pub(crate) fn text(&self) -> &[u8; 29] {
        &self.text
    }

    #[cold]
    fn format(&mut self, now_ns: u64) {
        let epoch_ns = u64::try_from(self.epoch_at_zero_ns + i128::from(now_ns)).unwrap_or(0);
        self.valid_until_ns = now_ns + (SECOND_NS - epoch_ns % SECOND_NS);
        let time = UNIX_EPOCH + Duration::from_secs(epoch_ns / SECOND_NS);
        write!(&mut self.text[..], "{}", HttpDate::from(time))
            .expect("an IMF-fixdate has 29 bytes until the year 9999");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_changes_with_the_second_and_not_before() {
        let mut date = Date::new();
        date.set(UNIX_EPOCH + Duration::from_nanos(784_111_777_400_000_000), 5_000);
        assert_eq!(date.text(), b"Sun, 06 Nov 1994 08:49:37 GMT");
        assert!(!date.advance(5_000 + 599_999_999));
        assert!(date.advance(5_000 + 600_000_000));
        assert_eq!(date.text(), b"Sun, 06 Nov 1994 08:49:38 GMT");
        assert!(!date.advance(5_000 + 1_599_999_999));
    }

    #[test]
    fn a_quiet_hour_leaves_no_stale_date() {
        let mut date = Date::new();
        date.set(UNIX_EPOCH + Duration::from_secs(784_111_777), 0);
        assert!(date.advance(3_600 * SECOND_NS));
        assert_eq!(date.text(), b"Sun, 06 Nov 1994 09:49:37 GMT");
    }

    #[test]
    fn a_clock_before_the_epoch_reads_as_the_epoch() {
        let mut date = Date::new();
        date.set(UNIX_EPOCH - Duration::from_secs(9), 77);
        assert_eq!(date.text(), b"Thu, 01 Jan 1970 00:00:00 GMT");
    }
}
