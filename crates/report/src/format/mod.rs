//! Printing of any table: one format, one small file.

mod csv;
mod json;
mod markdown;
mod text;
mod units;

use std::fmt::Display;

use csv::Formulas;
use results::{Table, Value};

pub(crate) use json::document as json;
pub(crate) use markdown::escaped as markdown_text;
use units::Units;

use crate::sheet::Sheet;
use crate::visible;

/// How a table is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
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

/// A line of text above or below a table, whatever it quotes from outside.
#[must_use]
pub fn line(text: &str, format: Format) -> String {
    let text = visible::line(text);
    if format == Format::Md { markdown_text(&text) } else { text.into_owned() }
}

/// The same with a command behind it.
pub(crate) fn line_with_command(text: &str, command: &str, format: Format) -> String {
    let (text, command) = (line(text, format), visible::line(command));
    match format {
        Format::Md => format!("{text} {}", markdown::code(&command)),
        _ => format!("{text} {command}"),
    }
}

/// Prints a table; the result ends with a line break.
///
/// Text and Markdown are for people: each number has the digits and the unit that suit it, and stands as `273 ms` below
/// `p99` what is `p99_us` otherwise. CSV and JSON give every digit that is stored, and keep the unit in the column's name.
#[must_use]
pub fn print(table: &Table, format: Format) -> String {
    printed(table, format, Units::Suited)
}

/// Prints a table whose columns are the reader's own (a query's): they keep their names, and numbers their unit.
#[must_use]
pub fn print_as_named(table: &Table, format: Format) -> String {
    printed(table, format, Units::Named)
}

/// A table for people as it stands on a page.
pub(crate) fn sheet(caption: impl Display, table: &Table) -> Sheet {
    let table = Units::Suited.columns(table);
    let mut sheet = Sheet::new(caption);
    for (at, name) in table.columns.iter().enumerate() {
        let heading = Units::Suited.heading(name);
        sheet = if is_numeric(&table, at) { sheet.numbers([heading]) } else { sheet.text([heading]) };
    }
    for row in &table.rows {
        sheet.row(row.iter().zip(&table.columns).map(|(value, name)| Units::Suited.text(value, name).into()));
    }
    sheet
}

fn printed(table: &Table, format: Format, units: Units) -> String {
    match format {
        Format::Text => text::print(&units.columns(table), units),
        Format::Md => markdown::print(&units.columns(table), units),
        Format::Json => json::print(table),
        Format::Csv => csv::print(table, Formulas::Neutralised),
        Format::CsvFormulas => csv::print(table, Formulas::Kept),
    }
}

/// Whether every value of a column is a number or absent, and one is a number.
fn is_numeric(table: &Table, column: usize) -> bool {
    let mut values =
        table.rows.iter().filter_map(|row| row.get(column)).filter(|v| **v != Value::Null).peekable();
    values.peek().is_some() && values.all(|v| matches!(v, Value::Int(_) | Value::Real(_)))
}

/// Bytes as `\x` and hexadecimal digits, as PostgreSQL writes them.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold("\\x".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample() -> Table {
        let mut table = Table::new(&["workload", "clients", "tps", "doubt"]);
        table.push(vec!["polygons".into(), 4_i64.into(), 17.332_67.into(), Value::Null]);
        table.push(vec![
            "tpcb, \"own\"\u{1b}[2J|x".into(),
            16_i64.into(),
            885.33.into(),
            "client\nbusy".into(),
        ]);
        table.push(vec!["".into(), Value::Null, f64::NAN.into(), Value::Blob(vec![0, 255])]);
        table
    }

    #[test]
    fn each_format_of_one_table() {
        for format in [Format::Text, Format::Json, Format::Csv, Format::Md] {
            insta::assert_snapshot!(format!("{format:?}").to_lowercase(), print(&sample(), format));
        }
    }

    #[test]
    fn a_table_without_rows_still_has_its_columns() {
        let table = Table::new(&["a", "b"]);
        assert_eq!(print(&table, Format::Csv), "a,b\r\n");
        assert_eq!(print(&table, Format::Json), "[]\n");
        assert!(print(&table, Format::Text).contains("(0 rows)"));
        assert!(print(&table, Format::Md).starts_with("| a"));
    }

    #[test]
    fn text_fits_80_columns() {
        let mut table = Table::new(&["name", "detail"]);
        table.push(vec!["n".into(), "word ".repeat(60).into()]);
        assert!(print(&table, Format::Text).lines().all(|line| line.chars().count() <= 80));
    }

    proptest! {
        #[test]
        fn a_cell_begins_no_line(
            name in "\\PC{0,6}|[\\x00-\\x9f\u{2028}-\u{202e}|`<a]{0,8}",
            cells in prop::collection::vec("\\PC{0,6}|[\\x00-\\x9f\u{2028}\u{2066}|`<a]{0,8}", 1..4),
        ) {
            let mut table = Table::new(&vec![name.as_str(); cells.len()]);
            table.push(cells.iter().map(|cell| cell.as_str().into()).collect());
            for format in [Format::Text, Format::Json, Format::Csv, Format::CsvFormulas, Format::Md] {
                let printed = print_as_named(&table, format).replace("\r\n", "\n");
                prop_assert!(!printed.contains(|c| c != '\n' && visible::is_hostile(c)), "{:?}", printed);
                let lines = match format {
                    // Cells are broken between words, where they are wide.
                    Format::Text => continue,
                    Format::Json | Format::Md => 3,
                    Format::Csv | Format::CsvFormulas => 2,
                };
                prop_assert_eq!(printed.lines().count(), lines, "{:?}", printed);
                for said in [line(&name, format), line_with_command(&name, &cells[0], format)] {
                    prop_assert!(!said.contains(visible::is_hostile), "{:?}", said);
                }
            }
        }
    }
}
