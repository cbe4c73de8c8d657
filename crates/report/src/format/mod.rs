//! Prints any table; one small file per format.

mod csv;
mod html;
mod json;
mod markdown;
mod parquet;
mod text;
mod units;

use csv::Formulas;
use results::Table;

#[cfg(test)]
pub(crate) use html::page;
pub(crate) use json::document as json;
pub(crate) use markdown::escaped as markdown_text;
pub use parquet::{ParquetError, parquet};
use units::Units;

use crate::block::{Block, Paragraph, Span};
use crate::lines::TERMINAL;
use crate::visible;

/// How a table is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TableFormat {
    /// Aligned columns for a terminal, 80 columns wide.
    #[default]
    Text,
    /// A list of objects, one per row, keys as columns.
    Json,
    /// RFC 4180, with a header; texts that a spreadsheet would take for formulas are neutralised.
    Csv,
    /// The same with formulas.
    CsvFormulas,
    Md,
}

/// A line of text above or below a table; foreign text in it is made safe.
#[must_use]
pub fn line(text: &str, format: TableFormat) -> String {
    let text = visible::line(text);
    if format == TableFormat::Md { markdown_text(&text) } else { text.into_owned() }
}

/// Blocks for people, as text or Markdown: an empty line before each paragraph and below each caption. Only
/// pages have charts and pictures.
#[must_use]
pub fn blocks(blocks: &[Block], format: TableFormat) -> String {
    let gap = |at: usize| if at > 0 && is_bare(&blocks[at]) { "\n" } else { "" };
    blocks.iter().enumerate().map(|(at, block)| gap(at).to_owned() + &written(block, format)).collect()
}

fn is_bare(block: &Block) -> bool {
    matches!(block, Block::Table(table) if table.caption.is_empty())
}

fn written(block: &Block, format: TableFormat) -> String {
    match block {
        Block::Heading(text) => format!("\n{}\n", line(text, format)),
        Block::Paragraph(paragraph) => format!("\n{}\n", spans(paragraph, format)),
        Block::List(items) => items.iter().map(|item| format!("- {}\n", line(item, format))).collect(),
        Block::Table(table) if table.caption.is_empty() => print(table, format),
        Block::Table(table) => format!("\n{}\n\n{}", line(&table.caption, format), print(table, format)),
        Block::Code(text) => format!("\n{}\n", code(text, format)),
        Block::Chart(_) | Block::Picture(_) => String::new(),
        Block::Details { summary, blocks: own, .. } => {
            format!("\n{}\n{}", line(summary, format), blocks(own, format))
        }
        Block::Group { blocks: own, .. } => blocks(own, format),
    }
}

fn spans(paragraph: &Paragraph, format: TableFormat) -> String {
    let text = |span: &Span| match span {
        Span::Plain(text) | Span::Strong(text) | Span::Warning(text) => line(text, format),
        Span::Code(text) => code(text, format),
    };
    paragraph.spans().iter().map(text).collect()
}

fn code(text: &str, format: TableFormat) -> String {
    let text = visible::line(text);
    if format == TableFormat::Md { markdown::code(&text) } else { text.into_owned() }
}

/// Prints a table; the result ends with a line break.
///
/// Text and Markdown are for people: each number has suitable digits and a suitable unit, e.g. `273 ms`
/// below `p99` for the column `p99_us`. CSV and JSON print all stored digits, and keep the unit in the
/// column's name.
#[must_use]
pub fn print(table: &Table, format: TableFormat) -> String {
    printed(table, format, Units::Suited)
}

/// Prints a table with the reader's columns (of a query): names and numbers are unchanged.
#[must_use]
pub fn print_as_named(table: &Table, format: TableFormat) -> String {
    printed(table, format, Units::Named)
}

/// As text of another width, characters.
pub(crate) fn text_of_width(table: &Table, width: usize) -> String {
    text::print(&Units::Suited.columns(table), Units::Suited, width)
}

fn printed(table: &Table, format: TableFormat, units: Units) -> String {
    match format {
        TableFormat::Text => text::print(&units.columns(table), units, TERMINAL),
        TableFormat::Md => markdown::print(&units.columns(table), units),
        TableFormat::Json => json::print(table),
        TableFormat::Csv => csv::print(table, Formulas::Neutralised),
        TableFormat::CsvFormulas => csv::print(table, Formulas::Kept),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold("\\x".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use results::CellValue;

    use super::*;

    fn sample() -> Table {
        let mut table = Table::new(["workload", "clients", "tps", "doubt"]);
        table.push(vec!["polygons".into(), 4_i64.into(), 17.332_67.into(), CellValue::Null]);
        table.push(vec![
            "tpcb, \"own\"\u{1b}[2J|x".into(),
            16_i64.into(),
            885.33.into(),
            "client\nbusy".into(),
        ]);
        table.push(vec!["".into(), CellValue::Null, f64::NAN.into(), CellValue::Blob(vec![0, 255])]);
        table
    }

    #[test]
    fn each_format_of_one_table() {
        for format in [TableFormat::Text, TableFormat::Json, TableFormat::Csv, TableFormat::Md] {
            insta::assert_snapshot!(format!("{format:?}").to_lowercase(), print(&sample(), format));
        }
    }

    #[test]
    fn a_table_without_rows_still_has_its_columns() {
        let table = Table::new(["a", "b"]);
        assert_eq!(print(&table, TableFormat::Csv), "a,b\r\n");
        assert_eq!(print(&table, TableFormat::Json), "[]\n");
        assert!(print(&table, TableFormat::Text).contains("(0 rows)"));
        assert!(print(&table, TableFormat::Md).starts_with("| a"));
    }

    #[test]
    fn text_fits_80_columns() {
        let mut table = Table::new(["name", "detail"]);
        table.push(vec!["n".into(), "word ".repeat(60).into()]);
        assert!(print(&table, TableFormat::Text).lines().all(|line| line.chars().count() <= 80));
    }

    proptest! {
        #[test]
        fn a_cell_begins_no_line(
            name in "\\PC{0,6}|[\\x00-\\x9f\u{2028}-\u{202e}|`<a]{0,8}",
            cells in prop::collection::vec("\\PC{0,6}|[\\x00-\\x9f\u{2028}\u{2066}|`<a]{0,8}", 1..4),
        ) {
            let mut table = Table::new(vec![name.as_str(); cells.len()]);
            table.push(cells.iter().map(CellValue::from));
            for format in [TableFormat::Text, TableFormat::Json, TableFormat::Csv, TableFormat::CsvFormulas, TableFormat::Md] {
                let printed = print_as_named(&table, format).replace("\r\n", "\n");
                prop_assert!(!printed.contains(|c| c != '\n' && visible::is_hostile(c)), "{:?}", printed);
                let lines = match format {
                    // Wide cells are broken between words.
                    TableFormat::Text => continue,
                    TableFormat::Json | TableFormat::Md => 3,
                    TableFormat::Csv | TableFormat::CsvFormulas => 2,
                };
                prop_assert_eq!(printed.lines().count(), lines, "{:?}", printed);
                let said = spans(&Paragraph::new("").plain(&name).code(&cells[0]), format);
                prop_assert!(!said.contains(visible::is_hostile), "{:?}", said);
            }
        }
    }
}
