//! Comma-separated values, RFC 4180: CRLF, quotes doubled. A row is always one line: line breaks in texts
//! are escaped.

use results::{CellValue, LongTable, Marked};

use super::hex;
use crate::visible;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Formulas {
    /// An apostrophe before it makes it a text (OWASP, CSV Injection).
    Neutralised,
    Kept,
}

pub(super) fn write(table: &LongTable<'_>, formulas: Formulas, out: &mut dyn FnMut(&str)) {
    out(&line(table.columns.iter().map(|column| formulas.text(&column.name))));
    table.each(|row| out(&line(row.iter().map(|value| field(value, formulas)))));
}

impl Formulas {
    fn text(self, text: &str) -> String {
        let shown = visible::line(text);
        match self {
            Self::Neutralised if is_formula(&shown) => quoted(&format!("'{shown}")),
            Self::Neutralised | Self::Kept => quoted(&shown),
        }
    }
}

/// Whether a spreadsheet may calculate it. A number with its sign is not a formula.
fn is_formula(text: &str) -> bool {
    let text = text.trim_start();
    let is_number = || text.trim_end().parse().is_ok_and(f64::is_finite);
    text.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']) && !is_number()
}

fn line(fields: impl Iterator<Item = String>) -> String {
    format!("{}\r\n", fields.collect::<Vec<_>>().join(","))
}

fn field(value: &CellValue, formulas: Formulas) -> String {
    match value.raw() {
        CellValue::Null => String::new(),
        CellValue::Int(number) => number.to_string(),
        // NaN is an empty field, which spreadsheets and pandas read as missing.
        CellValue::Real(number) => {
            if number.is_finite() {
                number.to_string()
            } else {
                String::new()
            }
        }
        CellValue::Text(text) | CellValue::Marked(Marked { text, .. }) => formulas.text(text),
        CellValue::Blob(bytes) => hex(bytes),
        CellValue::Data(data) => quoted(&visible::json(&data.to_string())),
    }
}

fn quoted(text: &str) -> String {
    if text.is_empty() || text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use results::Table;

    use super::super::{TableFormat, print};
    use super::*;

    /// Regression: `=HYPERLINK(…)` in a name was a formula in a spreadsheet.
    #[test]
    fn a_text_is_no_formula_and_a_number_stays_one() {
        for (text, wanted) in [
            ("=1+2", "'=1+2"),
            ("@SUM(A1:B2)", "'@SUM(A1:B2)"),
            ("-cmd|' /C calc'!A0", "'-cmd|' /C calc'!A0"),
            (" \u{a0}=HYPERLINK(\"http://x\",\"y\")", "\"' \u{a0}=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\""),
            ("\t=1", "\\t=1"),
            ("a\r\n=1", "a\\r\\n=1"),
            ("＝1", "'＝1"),
            ("+inf", "'+inf"),
            ("-1.4", "-1.4"),
            ("+2e-3", "+2e-3"),
            ("a=b", "a=b"),
        ] {
            assert_eq!(Formulas::Neutralised.text(text), wanted, "{text:?}");
        }
        assert_eq!(Formulas::Kept.text("=1+2"), "=1+2");
        assert_eq!(field(&CellValue::Real(-1.4), Formulas::Neutralised), "-1.4");
        assert_eq!(field(&CellValue::Int(-3), Formulas::Neutralised), "-3");
        let table = Table::new(["=a", "b"]);
        assert_eq!(print(&table, TableFormat::Csv), "'=a,b\r\n");
    }

    proptest! {
        #[test]
        fn a_row_is_one_line_without_formulas(cells in prop::collection::vec("\\PC{0,5}|[-=+@,\"\r\n\t ;a1\u{9b}\u{202e}]{0,6}", 1..5)) {
            let mut table = Table::new(vec!["c"; cells.len()]);
            table.push(cells.iter().map(CellValue::from));
            let text = print(&table, TableFormat::Csv);
            let row = text.strip_suffix("\r\n").and_then(|text| text.split_once("\r\n")).expect("a head and a row").1;
            prop_assert!(!row.contains(visible::is_hostile), "{:?}", row);
            for cell in cells {
                let shown = Formulas::Neutralised.text(&cell);
                let first = shown.strip_prefix('"').unwrap_or(&shown).trim_start().chars().next();
                let number = shown.trim().parse::<f64>().is_ok();
                prop_assert!(number || !first.is_some_and(|c| "=+-@".contains(c)), "{:?}", shown);
            }
        }
    }
}
