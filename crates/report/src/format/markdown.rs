//! A Markdown table; what would end a cell or start markup is escaped.

use results::Table;

use super::{Printer, decimals, is_numeric, readable};

pub(super) struct Markdown;

impl Printer for Markdown {
    fn print(&self, table: &Table) -> String {
        let mut out = line(table.columns.iter().map(|name| escaped(name)));
        out.push_str(&line(
            (0..table.columns.len())
                .map(|column| if is_numeric(table, column) { "---:".to_owned() } else { "---".to_owned() }),
        ));
        let decimals: Vec<usize> = (0..table.columns.len()).map(|column| decimals(table, column)).collect();
        for row in &table.rows {
            out.push_str(&line(row.iter().zip(&decimals).map(|(v, &d)| escaped(&readable(v, d)))));
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
