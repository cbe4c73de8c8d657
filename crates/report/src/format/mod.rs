//! Prints any table; one small file per format.

mod csv;
mod html;
mod json;
mod markdown;
mod parquet;
mod text;
mod units;

use csv::Formulas;
use results::{LongTable, Table};

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
pub fn print<'t>(table: impl Into<LongTable<'t>>, format: TableFormat) -> String {
    let mut all = String::new();
    write(&table.into(), format, |piece| all.push_str(piece));
    all
}

/// The same piece by piece, for tables of many rows.
pub fn write(table: &LongTable<'_>, format: TableFormat, mut out: impl FnMut(&str)) {
    written_with(table, format, Units::Suited, &mut out);
}

/// Prints a table with the reader's columns (of a query): names and numbers are unchanged.
#[must_use]
pub fn print_as_named(table: &Table, format: TableFormat) -> String {
    let mut all = String::new();
    write_as_named(table, format, |piece| all.push_str(piece));
    all
}

/// The same piece by piece.
pub fn write_as_named(table: &Table, format: TableFormat, mut out: impl FnMut(&str)) {
    written_with(&table.into(), format, Units::Named, &mut out);
}

/// As text of another width, characters.
pub(crate) fn text_of_width(table: &Table, width: usize) -> String {
    let mut all = String::new();
    text::write(&table.into(), Units::Suited, width, &mut |piece| all.push_str(piece));
    all
}

fn written_with(table: &LongTable<'_>, format: TableFormat, units: Units, out: &mut dyn FnMut(&str)) {
    match format {
        TableFormat::Text => text::write(table, units, TERMINAL, out),
        TableFormat::Md => markdown::write(table, units, out),
        TableFormat::Json => json::write(table, out),
        TableFormat::Csv => csv::write(table, Formulas::Neutralised, out),
        TableFormat::CsvFormulas => csv::write(table, Formulas::Kept, out),
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
            insta::assert_snapshot!(format!("{format:?}").to_lowercase(), print(sample(), format));
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

    /// Only some rows of a long table are in memory.
    #[test]
    fn rows_that_are_made_one_by_one_look_like_those_in_memory() {
        let row =
            |at: i64| vec![at.into(), format!("run {}", at % 7).into(), CellValue::Null, (at * at).into()];
        let mut table = Table::new(["run", "workload", "never", "seed"]);
        table.optional(["never"]);
        table.hide(["seed"]);
        (0..1_201).for_each(|at| table.push(row(at)));
        let long = LongTable::new(table.columns.clone(), |take| (0..1_201).for_each(|at| take(&row(at))));
        for format in [TableFormat::Text, TableFormat::Json, TableFormat::Csv, TableFormat::Md] {
            let (mut printed, mut longest) = (String::new(), 0);
            write(&long, format, |piece| {
                printed.push_str(piece);
                longest = longest.max(piece.len());
            });
            assert!(longest < printed.len() / 2, "{format:?} comes in pieces");
            assert_eq!(printed, print(&table, format), "{format:?}");
            let names = ["run", "workload", "never", "seed"].map(|name| printed.contains(name));
            let is_for_people = matches!(format, TableFormat::Text | TableFormat::Md);
            assert_eq!(names, [true, true, !is_for_people, !is_for_people], "{format:?}");
        }
        let text = print(&table, TableFormat::Text);
        assert_eq!(text.lines().count(), 2 + 1_201, "one head");
        let places = text.lines().skip(2).map(|line| line.find("run"));
        assert!(places.clone().all(|place| place == places.clone().next().unwrap()), "{text}");
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
