//! A table of a page: words to the left, figures to the right, every cell escaped.

use crate::report::escape::html as escaped;

/// A `table` element that can be moved sideways where the page is narrower. The first `left` columns hold words, and the first of them
/// names its row; a line break in a heading stays one.
#[must_use]
pub(crate) fn table(heading: &[String], rows: &[Vec<String>], left: usize) -> String {
    let class = |index: usize| if index < left { " class=\"word\"" } else { "" };
    let head = |(index, words): (usize, &String)| {
        let lines: Vec<String> = words.split('\n').map(escaped).collect();
        format!("<th scope=\"col\"{}>{}</th>", class(index), lines.join("<br>"))
    };
    let cell = |(index, text): (usize, &String)| match index {
        0 => format!("<th scope=\"row\"{}>{}</th>", class(index), escaped(text)),
        _ => format!("<td{}>{}</td>", class(index), escaped(text)),
    };
    let row = |cells: &Vec<String>| format!("<tr>{}</tr>\n", cells.iter().enumerate().map(cell).collect::<String>());
    format!(
        "<div class=\"table\">\n<table>\n<thead>\n<tr>{}</tr>\n</thead>\n<tbody>\n{}</tbody>\n</table>\n</div>\n",
        heading.iter().enumerate().map(head).collect::<String>(),
        rows.iter().map(row).collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_escaped_and_headings_may_have_two_lines() {
        let cells = |of: [&str; 2]| of.map(str::to_owned).to_vec();
        let html = table(&cells(["name", "req/s\n<k>"]), &[cells(["<b>\u{1b}", "1 & 2"])], 1);
        for part in [
            "<th scope=\"col\" class=\"word\">name</th><th scope=\"col\">req/s<br>&lt;k&gt;</th>",
            "<th scope=\"row\" class=\"word\">&lt;b&gt;\\u{1b}</th><td>1 &amp; 2</td>",
        ] {
            assert!(html.contains(part), "{part} is not in {html}");
        }
    }
}
