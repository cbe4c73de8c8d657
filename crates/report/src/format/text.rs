//! Aligned columns for a terminal; nothing depends on colour.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table as Grid, presets};
use results::Table;

use super::{Printer, decimals, is_numeric, readable};

/// Width of the table, in characters.
const WIDTH: u16 = 80;

pub(super) struct Text;

impl Printer for Text {
    fn print(&self, table: &Table) -> String {
        let columns = table.columns.len();
        let mut grid = Grid::new();
        grid.load_style(presets::ASCII_MARKDOWN)
            .set_width(WIDTH)
            .set_content_arrangement(ContentArrangement::Dynamic);
        let numeric: Vec<bool> = (0..columns).map(|column| is_numeric(table, column)).collect();
        let decimals: Vec<usize> = (0..columns).map(|column| decimals(table, column)).collect();
        grid.set_header(table.columns.iter().zip(&numeric).map(|(name, &right)| cell(name.clone(), right)));
        for row in &table.rows {
            let cells = row.iter().zip(&numeric).zip(&decimals);
            grid.add_row(cells.map(|((value, &right), &decimals)| cell(readable(value, decimals), right)));
        }
        let rows = if table.rows.is_empty() { "(0 rows)\n" } else { "" };
        format!("{}\n{rows}", grid.trim_fmt())
    }
}

fn cell(text: String, right: bool) -> Cell {
    let alignment = if right { CellAlignment::Right } else { CellAlignment::Left };
    Cell::new(text).set_alignment(alignment)
}
