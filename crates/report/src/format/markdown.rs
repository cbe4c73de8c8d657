//! A Markdown table; what would end a cell or start markup is escaped.

use results::Table;

use super::{Printer, is_numeric, readable};

pub(super) struct Markdown;

impl Printer for Markdown {
    fn print(&self, table: &Table) -> String {
        let mut out = line(table.columns.iter().map(|name| escaped(name)));
        out.push_str(&line(
            (0..table.columns.len())
                .map(|column| if is_numeric(table, column) { "---:".to_owned() } else { "---".to_owned() }),
        ));
        for row in &table.rows {
            let cells = row.iter().zip(&table.columns);
            out.push_str(&line(cells.map(|(value, column)| escaped(&readable(value, column)))));
        }
        out
    }
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '\\' | '*' | '_' | '`' | '[' | ']' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
