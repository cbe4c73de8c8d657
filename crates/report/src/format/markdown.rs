//! A Markdown table; what would end a cell, start markup or become a link by itself is escaped.

use results::{Column, LongTable};

use super::Units;
use super::units::ColumnFacts;
use crate::visible;

pub(super) fn write(table: &LongTable<'_>, units: Units, out: &mut dyn FnMut(&str)) {
    let facts = ColumnFacts::of(table);
    let shown = || table.columns.iter().zip(&facts).enumerate().filter(|(_, (_, facts))| facts.is_shown);
    let head =
        |(_, (column, _)): (usize, (&Column, &ColumnFacts))| escaped(&visible::line(units.heading(column)));
    out(&line(shown().map(head)));
    let rule = |is_numeric| if is_numeric { "---:".to_owned() } else { "---".to_owned() };
    out(&line(shown().map(|(_, (_, facts))| rule(facts.is_numeric))));
    table.each(|row| {
        out(&line(shown().map(|(at, (column, _))| escaped(&units.text(&row[at], column)))));
    });
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

/// What GitHub makes a link of (GFM, 6.9 Autolinks).
const SCHEMES: [&str; 5] = ["http", "https", "ftp", "mailto", "xmpp"];

/// A code span: its fences are longer than any run of backticks in it.
pub(crate) fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let (fence, gap) = ("`".repeat(longest + 1), if longest == 0 { "" } else { " " });
    format!("{fence}{gap}{text}{gap}{fence}")
}

fn ends_with(text: &str, end: &str) -> bool {
    let text = text.as_bytes();
    text.len() >= end.len() && text[text.len() - end.len()..].eq_ignore_ascii_case(end.as_bytes())
}

pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            // Inside a word it starts no emphasis, and names of columns contain many.
            '_' if is_of_a_word(before) && is_of_a_word(letters.peek().copied()) => out.push(c),
            '|' | '\\' | '*' | '_' | '`' | '[' | ']' | '~' => out.extend(['\\', c]),
            ':' if SCHEMES.iter().any(|scheme| ends_with(&out, scheme)) => out.push_str("\\:"),
            '.' if ends_with(&out, "www") => out.push_str("\\."),
            '@' if before.is_some_and(|c| !c.is_whitespace()) => out.push_str("\\@"),
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
    use results::Table;

    use super::super::{TableFormat, print};
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
            (
                "see HTTPS://x.org, www.x.org, a@x.org @ noon",
                "see HTTPS\\://x.org, www\\.x.org, a\\@x.org @ noon",
            ),
            ("postgres://h 12:30", "postgres://h 12:30"),
        ] {
            assert_eq!(escaped(text), wanted);
        }
        assert_eq!([code("a b"), code("'`x``'")], ["`a b`", "``` '`x``' ```"]);
        let table = Table::new(["tps_mean", "tps_max"]);
        assert!(print(&table, TableFormat::Md).starts_with("| tps_mean | tps_max |\n"));
    }
}
