//! Aligned columns for a terminal; nothing depends on colour.

use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentArrangement, ContentLineStyle, LineStyle, Table as Grid,
    TableStyle, Width,
};
use results::{CellValue, Table};

use super::Units;
use crate::visible;

/// Blanks between columns: one of padding, one of the style.
const GAP: usize = 2;
const PADDING: u16 = 1;
/// Longer words are broken.
const LONGEST_WORD: usize = 28;

const STYLE: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none())
    .header_separator(LineStyle::none().fill('-').junction('-'))
    .content_lines(ContentLineStyle::none());

/// `most` is the width in characters, if the columns can be narrowed to fit.
pub(super) fn print(table: &Table, units: Units, most: usize) -> String {
    let columns: Vec<Column> = (0..table.columns.len()).map(|at| Column::of(table, at, units)).collect();
    let widths = widths(&columns, most);
    let mut grid = Grid::new();
    grid.load_style(STYLE).set_content_arrangement(ContentArrangement::Dynamic);
    grid.set_width((total(&widths) + GAP) as u16);
    grid.set_header(columns.iter().zip(&widths).map(|(column, &width)| column.cell(&column.head(width))));
    for row in 0..table.rows.len() {
        grid.add_row(columns.iter().map(|column| column.cell(&column.texts[row])));
    }
    for (at, width) in widths.iter().enumerate() {
        let padding = if at + 1 < widths.len() { PADDING } else { 0 };
        if let Some(column) = grid.column_mut(at) {
            column.set_padding((0, padding));
            column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(*width as u16 + padding)));
        }
    }
    let rows = if table.rows.is_empty() { "(0 rows)\n" } else { "" };
    let lines: Vec<String> = grid.lines().map(|line| line.trim_end().to_owned()).collect();
    format!("{}\n{rows}", lines.join("\n"))
}

struct Column {
    name: String,
    texts: Vec<String>,
    numeric: bool,
}

impl Column {
    fn of(table: &Table, at: usize, units: Units) -> Self {
        let own = &table.columns[at];
        let text = |row: &Vec<CellValue>| row.get(at).map_or(String::new(), |value| units.text(value, own));
        let texts = table.rows.iter().map(text).collect();
        Self { texts, numeric: table.is_numeric(at), name: visible::line(units.heading(own)).into_owned() }
    }

    fn natural(&self) -> usize {
        let texts = self.texts.iter().map(|text| text.chars().count());
        texts.chain([self.name.chars().count()]).max().unwrap_or(0)
    }

    /// Least width: whole numbers, text (also instead of a number) between words, the name broken before underscores.
    fn least(&self) -> usize {
        let pieces = pieces(&self.name).into_iter().map(|piece| piece.chars().count()).max().unwrap_or(0);
        let words = |text: &String| text.split(' ').map(|word| word.chars().count()).max().unwrap_or(0);
        let is_number = |text: &str| self.numeric && !text.starts_with(char::is_alphabetic);
        let texts = self.texts.iter().map(|text| match is_number(text) {
            true => text.chars().count(),
            false => words(text).min(LONGEST_WORD),
        });
        texts.chain([pieces]).max().unwrap_or(0)
    }

    fn head(&self, width: usize) -> String {
        if self.name.chars().count() <= width {
            return self.name.clone();
        }
        let mut lines = vec![String::new()];
        for piece in pieces(&self.name) {
            let last = lines.last_mut().filter(|line| line.chars().count() + piece.chars().count() <= width);
            match last {
                Some(line) => line.push_str(&piece),
                None => lines.push(piece),
            }
        }
        lines.join("\n").trim_start().to_owned()
    }

    fn cell(&self, text: &str) -> Cell {
        Cell::new(text).set_alignment(if self.numeric { CellAlignment::Right } else { CellAlignment::Left })
    }
}

/// `change_pct` as `change` and `_pct`.
fn pieces(name: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for (position, piece) in name.split('_').enumerate() {
        pieces.push(if position == 0 { piece.to_owned() } else { format!("_{piece}") });
    }
    pieces
}

/// Natural widths, the widest narrowed first until the table fits or no column can be narrowed.
fn widths(columns: &[Column], most: usize) -> Vec<usize> {
    let least: Vec<usize> = columns.iter().map(Column::least).collect();
    let mut widths: Vec<usize> = columns.iter().map(Column::natural).collect();
    widths.iter_mut().zip(&least).for_each(|(width, least)| *width = (*width).min(most).max(*least));
    while total(&widths) > most {
        let widest = (0..widths.len()).filter(|&at| widths[at] > least[at]).max_by_key(|&at| widths[at]);
        let Some(widest) = widest else { break };
        widths[widest] -= 1;
    }
    widths
}

fn total(widths: &[usize]) -> usize {
    widths.iter().map(|width| width + GAP).sum::<usize>().saturating_sub(GAP)
}
