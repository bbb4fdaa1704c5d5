//! Whether the connection stays open after a message (RFC 9112 section 9.3, RFC 9110 section 7.6.1).
//!
//! Owns the one rule for both versions and both sides.

use super::version::Version;

/// What the Connection fields of one head asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConnectionOptions {
    /// `close` was listed.
    pub close: bool,
    /// `keep-alive` was listed.
    pub keep_alive: bool,
}

impl ConnectionOptions {
    /// Adds the options of one Connection field value: a comma list, names in any case, unknown names ignored.
    #[inline]
    pub fn add(&mut self, value: &[u8]) {
        if value.eq_ignore_ascii_case(b"keep-alive") {
            self.keep_alive = true;
        } else if value.eq_ignore_ascii_case(b"close") {
            self.close = true;
        } else {
            self.add_list(value);
        }
    }

    #[cold]
    fn add_list(&mut self, value: &[u8]) {
        for option in value.split(|&b| b == b',') {
            let option = option.trim_ascii();
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    /// Whether the connection outlives the message: `close` always wins; 1.1 keeps, 1.0 keeps only when asked.
    #[inline]
    pub fn persists(self, version: Version) -> bool {
        !self.close && (version == Version::Http11 || self.keep_alive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b19_keep_alive_table_of_both_versions() {
        // Connection values, kept on 1.0, kept on 1.1.
        let table: &[(&[&str], bool, bool)] = &[
            (&[], false, true),
            (&["close"], false, false),
            (&["Close"], false, false),
            (&["CLOSE"], false, false),
            (&["keep-alive"], true, true),
            (&["Keep-Alive"], true, true),
            (&["keep-alive, close"], false, false),
            (&["close, keep-alive"], false, false),
            (&["close,TE"], false, false),
            (&["TE ,\tkeep-alive"], true, true),
            (&["keep-alive", "close"], false, false),
            (&["close", "keep-alive"], false, false),
            (&["upgrade"], false, true),
            (&["keep-alive, upgrade"], true, true),
            (&["closed"], false, true),
            (&["not-close"], false, true),
            (&["keep-alive-ish"], false, true),
            (&[""], false, true),
            (&[",,"], false, true),
            (&[", close ,"], false, false),
        ];
        for &(values, on_10, on_11) in table {
            let mut options = ConnectionOptions::default();
            for value in values {
                options.add(value.as_bytes());
            }
            assert_eq!(options.persists(Version::Http10), on_10, "1.0 with {values:?}");
            assert_eq!(options.persists(Version::Http11), on_11, "1.1 with {values:?}");
        }
    }
}
