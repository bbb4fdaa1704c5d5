//! Header lines (RFC 9112 section 5): reading one strictly, and walking those of a parsed head.
//!
//! Owns the grammar of a line and its ends. Does not know what any field means. Requests and responses share it:
//! line folding, a bare CR or LF and a space before the colon are refused from both sides, since each is a known way
//! to have two programs disagree on where a message ends.

use super::class;

/// What is wrong with a header line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum FieldError {
    /// A CR that no LF follows.
    #[error("a carriage return stands alone inside the head")]
    BareCr,
    /// A line ended by LF alone.
    #[error("a line of the head ends with a bare line feed")]
    BareLf,
    /// A line that starts with a space or tab.
    #[error("a header line starts with white space (folded lines are obsolete)")]
    Folded,
    /// White space between name and colon.
    #[error("white space stands between a header name and its colon")]
    SpaceBeforeColon,
    /// A line that starts with the colon.
    #[error("a header name is empty")]
    EmptyName,
    /// A name with a byte that no token has.
    #[error("a header name holds a byte that is not allowed in a token")]
    BadName,
    /// A line without a colon.
    #[error("a header line has no colon")]
    NoColon,
    /// A value with a control byte.
    #[error("a header value holds a control byte")]
    BadValue,
}

/// What the bytes at one position of a head are, and what follows them.
pub(super) enum Line<'a> {
    /// A header line.
    Field { name: &'a [u8], value: &'a [u8], rest: &'a [u8] },
    /// The empty line that ends the head.
    End { rest: &'a [u8] },
    /// The line is not whole.
    Partial,
}

/// Reads the line at the start of `line`. Inlined by force into each loop over lines, where its result then needs no
/// memory: that is a tenth of a head's cost.
#[inline(always)]
pub(super) fn read_line(line: &[u8]) -> Result<Line<'_>, FieldError> {
    if let [b'\r', b'\n', rest @ ..] = line {
        return Ok(Line::End { rest });
    }
    let name_len = class::token_run(line);
    let (name, after) = line.split_at(name_len);
    let ([b':', after @ ..], [_, ..]) = (after, name) else {
        return bad_line(line, name_len);
    };
    let mut after = after;
    while let [b' ' | b'\t', more @ ..] = after {
        after = more;
    }
    let mut value_len = class::visible_run::<0x20>(after);
    while after.get(value_len) == Some(&b'\t') {
        value_len += 1;
        value_len += class::visible_run::<0x20>(&after[value_len..]);
    }
    let (mut value, end) = after.split_at(value_len);
    let [b'\r', b'\n', rest @ ..] = end else {
        return bad_line_end(end);
    };
    while let [before @ .., b' ' | b'\t'] = value {
        value = before;
    }
    Ok(Line::Field { name, value, rest })
}

/// A line that does not start with `token ":"`: cut short or wrong.
#[cold]
fn bad_line(line: &[u8], name_len: usize) -> Result<Line<'_>, FieldError> {
    let Some(&stop) = line.get(name_len) else {
        return Ok(Line::Partial);
    };
    if name_len == 0 {
        return match (stop, line.get(1)) {
            (b'\r', None) => Ok(Line::Partial),
            (b'\r', Some(_)) => Err(FieldError::BareCr),
            (b'\n', _) => Err(FieldError::BareLf),
            (b' ' | b'\t', _) => Err(FieldError::Folded),
            (b':', _) => Err(FieldError::EmptyName),
            _ => Err(FieldError::BadName),
        };
    }
    match stop {
        b' ' | b'\t' => Err(FieldError::SpaceBeforeColon),
        b'\r' | b'\n' => Err(FieldError::NoColon),
        _ => Err(FieldError::BadName),
    }
}

/// A value that does not end with CRLF: cut short, or with a control byte.
#[cold]
fn bad_line_end(end: &[u8]) -> Result<Line<'_>, FieldError> {
    match end {
        [] | [b'\r'] => Ok(Line::Partial),
        [b'\r', ..] => Err(FieldError::BareCr),
        [b'\n', ..] => Err(FieldError::BareLf),
        _ => Err(FieldError::BadValue),
    }
}

/// The header lines of a head that was parsed, in order; duplicates stay apart. Lines are found again on each walk,
/// which costs nothing where nobody walks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headers<'a> {
    /// Checked lines, each ended by CRLF.
    lines: &'a [u8],
}

impl<'a> Headers<'a> {
    pub(super) fn new(lines: &'a [u8]) -> Self {
        Self { lines }
    }

    /// All (name, value) pairs as received, values without the white space around them.
    pub fn iter(&self) -> HeadersIter<'a> {
        HeadersIter { lines: self.lines }
    }

    /// The value of the first field with this name; names are compared without regard to ASCII case.
    pub fn get(&self, name: &[u8]) -> Option<&'a [u8]> {
        self.iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The lines as received, each with its CRLF.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.lines
    }
}

impl<'a> IntoIterator for Headers<'a> {
    type Item = (&'a [u8], &'a [u8]);
    type IntoIter = HeadersIter<'a>;

    fn into_iter(self) -> HeadersIter<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &Headers<'a> {
    type Item = (&'a [u8], &'a [u8]);
    type IntoIter = HeadersIter<'a>;

    fn into_iter(self) -> HeadersIter<'a> {
        self.iter()
    }
}

/// A walk over [`Headers`].
#[derive(Debug, Clone)]
pub struct HeadersIter<'a> {
    lines: &'a [u8],
}

impl<'a> Iterator for HeadersIter<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        match read_line(self.lines) {
            Ok(Line::Field { name, value, rest }) => {
                self.lines = rest;
                Some((name, value))
            }
            _ => None,
        }
    }
}
