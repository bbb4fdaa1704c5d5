//! Values as they are written on a command line: times, counts, sizes and headers. Pure functions of the text; every error quotes
//! the input and says what is right.

use results::Header;
use thiserror::Error;

/// Why a value was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ValueError {
    /// Not a time.
    #[error(
        "{input:?} is not a time: write a number and one of us, ms, s, m, h, as in 500ms or 1.5s; a number alone is seconds"
    )]
    Time {
        /// What was given.
        input: String,
    },
    /// Not a count.
    #[error(
        "{input:?} is not a count: write a whole number, or one with k, M or G for thousands, millions or billions, as in 10k"
    )]
    Count {
        /// What was given.
        input: String,
    },
    /// Not a size.
    #[error(
        "{input:?} is not a size: write a number of bytes, or one with KiB, MiB, GiB (1024) or kB, MB, GB (1000), as in 4KiB"
    )]
    Size {
        /// What was given.
        input: String,
    },
    /// A size with a letter that means 1000 to some and 1024 to others.
    #[error("{input:?} is ambiguous: write KiB, MiB or GiB for steps of 1024, kB, MB or GB for steps of 1000")]
    AmbiguousSize {
        /// What was given.
        input: String,
    },
    /// More than the unit can hold.
    #[error("{input:?} is too large")]
    TooLarge {
        /// What was given.
        input: String,
    },
    /// A header without a colon.
    #[error("{input:?} is not a header: write \"Name: value\"; there is no colon in it")]
    NoColon {
        /// What was given.
        input: String,
    },
    /// A header whose name no HTTP header may have.
    #[error(
        "{input:?} is not a header: the name before the colon must not be empty or hold blanks, controls or any of ()<>@,;:\\\"/[]?={{}}"
    )]
    BadName {
        /// What was given.
        input: String,
    },
    /// A header whose value would end the line.
    #[error("{input:?} is not a header: the value holds a control character")]
    BadValue {
        /// What was given.
        input: String,
    },
}

/// A time in nanoseconds: `us`, `ms`, `s`, `m`, `h`; a bare number is seconds.
///
/// # Errors
/// [`ValueError::Time`], [`ValueError::TooLarge`].
pub fn time_ns(text: &str) -> Result<u64, ValueError> {
    const UNITS: [(&str, u64); 6] = [
        ("", 1_000_000_000),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ];
    scaled(text, &UNITS, || ValueError::Time { input: text.into() })
}

/// A whole count: `k`, `M` and `G` are decimal.
///
/// # Errors
/// [`ValueError::Count`], [`ValueError::TooLarge`].
pub fn count(text: &str) -> Result<u64, ValueError> {
    const UNITS: [(&str, u64); 5] = [("", 1), ("k", 1_000), ("K", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)];
    scaled(text, &UNITS, || ValueError::Count { input: text.into() })
}

/// A size in bytes: `KiB MiB GiB` are binary, `kB MB GB` decimal; a bare number or `B` is bytes.
///
/// # Errors
/// [`ValueError::AmbiguousSize`] for a bare `K`, `k`, `M` or `G`; else [`ValueError::Size`], [`ValueError::TooLarge`].
pub fn size_bytes(text: &str) -> Result<u64, ValueError> {
    const UNITS: [(&str, u64); 8] = [
        ("", 1),
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ];
    let unit = text.trim().trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').trim();
    if matches!(unit, "K" | "k" | "M" | "m" | "G" | "g" | "KB") {
        return Err(ValueError::AmbiguousSize { input: text.into() });
    }
    scaled(text, &UNITS, || ValueError::Size { input: text.into() })
}

/// A header as given, `Name: value`; blanks around the value are dropped.
///
/// # Errors
/// [`ValueError::NoColon`], [`ValueError::BadName`], [`ValueError::BadValue`].
pub fn header(text: &str) -> Result<Header, ValueError> {
    let Some((name, value)) = text.split_once(':') else {
        return Err(ValueError::NoColon { input: text.into() });
    };
    if name.is_empty() || !name.bytes().all(is_token_byte) {
        return Err(ValueError::BadName { input: text.into() });
    }
    let value = value.trim_matches([' ', '\t']);
    if value.bytes().any(|byte| (byte < b' ' && byte != b'\t') || byte == 0x7f) {
        return Err(ValueError::BadValue { input: text.into() });
    }
    Ok(Header { name: name.into(), value: value.into() })
}

/// A byte of a token (RFC 9110 section 5.6.2).
pub(crate) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// A decimal number with at most nine digits behind the point, times its unit; the product must be whole.
fn scaled(text: &str, units: &[(&str, u64)], wrong: impl Fn() -> ValueError) -> Result<u64, ValueError> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim_start();
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !plain(whole) || !plain(fraction) || fraction.len() > 9 || number.ends_with('.') {
        return Err(wrong());
    }
    let &(_, factor) = units.iter().find(|(name, _)| *name == unit).ok_or_else(&wrong)?;
    let too_large = || ValueError::TooLarge { input: text.into() };
    let whole: u64 = whole.parse().map_err(|_| too_large())?;
    let parts = 10_u128.pow(fraction.len() as u32);
    let fraction: u128 = if fraction.is_empty() { 0 } else { fraction.parse().map_err(|_| wrong())? };
    let product = (u128::from(whole) * parts + fraction) * u128::from(factor);
    if !product.is_multiple_of(parts) {
        return Err(wrong());
    }
    u64::try_from(product / parts).map_err(|_| too_large())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let table: [(&str, Option<u64>); 16] = [
            ("10", Some(10_000_000_000)),
            ("0", Some(0)),
            ("250us", Some(250_000)),
            ("500ms", Some(500_000_000)),
            ("1.5s", Some(1_500_000_000)),
            ("2m", Some(120_000_000_000)),
            ("1h", Some(3_600_000_000_000)),
            (" 3 s ", Some(3_000_000_000)),
            ("", None),
            ("s", None),
            ("-1s", None),
            ("1d", None),
            ("1.s", None),
            ("1.2.3s", None),
            ("0.0001us", None),
            ("1e3", None),
        ];
        for (text, want) in table {
            assert_eq!(time_ns(text).ok(), want, "{text:?}");
        }
        let error = time_ns("1 day").expect_err("no such unit").to_string();
        assert!(error.contains("\"1 day\"") && error.contains("ms"), "{error}");
        assert!(matches!(time_ns("99999999999999999999h"), Err(ValueError::TooLarge { .. })));
        assert!(matches!(time_ns("999999999999h"), Err(ValueError::TooLarge { .. })));
    }

    #[test]
    fn counts() {
        for (text, want) in [
            ("64", Some(64)),
            ("10k", Some(10_000)),
            ("1.5M", Some(1_500_000)),
            ("2G", Some(2_000_000_000)),
            ("1.5", None),
            ("10m", None),
            ("k", None),
        ] {
            assert_eq!(count(text).ok(), want, "{text:?}");
        }
    }

    #[test]
    fn sizes() {
        for (text, want) in [
            ("17", Some(17)),
            ("17B", Some(17)),
            ("4KiB", Some(4096)),
            ("1.5MiB", Some(1_572_864)),
            ("2GB", Some(2_000_000_000)),
            ("3 kB", Some(3000)),
            ("4kiB", None),
            ("x", None),
        ] {
            assert_eq!(size_bytes(text).ok(), want, "{text:?}");
        }
        for text in ["4K", "4k", "1M", "1G", "4KB"] {
            assert!(matches!(size_bytes(text), Err(ValueError::AmbiguousSize { .. })), "{text}");
        }
    }

    #[test]
    fn headers() {
        let header_of = |name: &str, value: &str| Header { name: name.into(), value: value.into() };
        assert_eq!(header("X-A: b: c "), Ok(header_of("X-A", "b: c")));
        assert_eq!(header("X-Empty:"), Ok(header_of("X-Empty", "")));
        let error = header("Connection close").expect_err("no colon").to_string();
        assert!(error.contains("\"Connection close\"") && error.contains("Name: value"), "{error}");
        assert!(matches!(header(": x"), Err(ValueError::BadName { .. })));
        assert!(matches!(header("X A: x"), Err(ValueError::BadName { .. })));
        assert!(matches!(header("X: a\r\nY: b"), Err(ValueError::BadValue { .. })));
    }
}
