//! The look of every text table: ASCII, no outer frame, figures to the right, never wrapped (the same text on every terminal).

use comfy_table::{Cell, CellAlignment, ContentArrangement, ContentLineStyle, LineStyle, Row, Table, TableStyle};

/// Blanks between columns, a rule below the heading, nothing else.
const STYLE: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none().junction(' '))
    .header_separator(LineStyle::none().fill('-').junction('-'))
    .content_lines(ContentLineStyle::none().junction(' '));

/// Renders a table with its heading. `left` columns hold words, the others figures. Every line ends in a newline and has no blanks
/// before it.
#[must_use]
pub fn render(heading: &[String], rows: &[Vec<String>], left: usize) -> String {
    let mut table = Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Disabled);
    let aligned = |cells: &[String]| -> Row {
        let align = |(index, text): (usize, &String)| {
            let side = if index < left { CellAlignment::Left } else { CellAlignment::Right };
            Cell::new(text).set_alignment(side)
        };
        cells.iter().enumerate().map(align).collect::<Vec<_>>().into()
    };
    table.set_header(aligned(heading));
    table.add_rows(rows.iter().map(|row| aligned(row)));
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}
