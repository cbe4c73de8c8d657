//! A Markdown table; what would end a cell or start markup is escaped.

use results::Table;

use super::{Units, is_numeric};
use crate::visible;

pub(super) fn print(table: &Table, units: Units) -> String {
    let mut out = line(table.columns.iter().map(|name| escaped(&visible::line(units.heading(name)))));
    out.push_str(&line(
        (0..table.columns.len())
            .map(|column| if is_numeric(table, column) { "---:".to_owned() } else { "---".to_owned() }),
    ));
    for row in &table.rows {
        let cells = row.iter().zip(&table.columns);
        out.push_str(&line(cells.map(|(value, column)| escaped(&units.text(value, column)))));
    }
    out
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            // Inside a word it starts no emphasis, and names of columns are full of it.
            '_' if is_of_a_word(before) && is_of_a_word(letters.peek().copied()) => out.push(c),
            '|' | '\\' | '*' | '_' | '`' | '[' | ']' | '~' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            c => out.push(c),
        }
        before = Some(c);
    }
    out
}

fn is_of_a_word(c: Option<char>) -> bool {
    c.is_some_and(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_escaped_only_where_it_could_be_markup() {
        for (text, wanted) in [
            ("tps_mean", "tps_mean"),
            ("base_p99_us", "base_p99_us"),
            ("_own_", "\\_own\\_"),
            ("a__b", "a\\_\\_b"),
            ("*x* | [y](z)", "\\*x\\* \\| \\[y\\](z)"),
            ("<b>&", "&lt;b>&amp;"),
        ] {
            assert_eq!(escaped(text), wanted);
        }
        let table = Table::new(&["tps_mean", "tps_max"]);
        assert!(print(&table, Units::Suited).starts_with("| tps_mean | tps_max |\n"));
    }
}
