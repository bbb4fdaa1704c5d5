//! Text from files and peers made harmless for where it goes. Peers chose some of it: error samples, targets, header values.
//!
//! Control characters are shown as escapes everywhere, so that no report can move a cursor or break a line.

/// Control characters and the marks that turn the direction of text, as visible escapes.
#[must_use]
pub fn visible(text: &str) -> String {
    let hidden = |char: char| {
        char.is_control()
            || matches!(char, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    text.chars().flat_map(|char| if hidden(char) { char.escape_default().collect() } else { vec![char] }).collect()
}

/// For HTML, as text and as the value of a quoted attribute.
#[must_use]
pub fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in visible(text).chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// For Markdown: as words of a line or of a table's cell, which stay words.
#[must_use]
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in visible(text).chars() {
        if matches!(char, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '#' | '&' | '!' | '$') {
            out.push('\\');
        }
        out.push(char);
    }
    out
}

/// One field of a CSV file (RFC 4180). A text that a spreadsheet would take for a formula gets an apostrophe before it.
#[must_use]
pub fn csv(text: &str) -> String {
    let mut text = visible(text);
    if text.trim_start().starts_with(['=', '+', '-', '@']) {
        text.insert(0, '\'');
    }
    if text.contains([',', '"', ';']) || text.starts_with(' ') || text.ends_with(' ') {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "<img src=x onerror=\"a('b')\">|`*_[x](y)\\\r\n\u{1b}[2J\u{202e},=1";

    #[test]
    fn nothing_hostile_is_left() {
        let html = html(HOSTILE);
        assert!(
            !html.contains(['<', '>', '"', '\'']) && html.contains("&lt;img") && html.contains("\\u{1b}"),
            "{html}"
        );
        let markdown = markdown(HOSTILE);
        assert!(markdown.starts_with("\\<img") && markdown.contains("\\|\\`\\*\\_\\[x\\](y)\\\\"), "{markdown}");
        for text in [html, markdown, csv(HOSTILE)] {
            assert!(!text.chars().any(char::is_control) && !text.contains('\u{202e}'), "{text:?}");
        }
    }

    #[test]
    fn fields_of_csv() {
        for (text, field) in [
            ("plain", "plain"),
            ("", ""),
            ("a,b", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("=1+1", "'=1+1"),
            (" @x", "' @x"),
            (" x", "\" x\""),
            ("-2", "'-2"),
            ("two\nlines", "two\\nlines"),
        ] {
            assert_eq!(csv(text), field, "{text:?}");
        }
    }
}
