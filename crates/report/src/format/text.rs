//! Aligned columns for a terminal; nothing depends on colour.

use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentArrangement, ContentLineStyle, LineStyle, Table as Grid,
    TableStyle, Width,
};
use results::LongTable;

use super::Units;
use super::units::SeenValues;
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

/// Rows that are laid out together: so many are in memory.
const AT_ONCE: usize = 500;

/// `most` is the width in characters, if the columns can be narrowed to fit.
pub(super) fn write(table: &LongTable<'_>, units: Units, most: usize, out: &mut dyn FnMut(&str)) {
    let columns = Column::of(table, units);
    let widths = widths(&columns, most);
    let (mut is_first, mut rows) = (true, Vec::new());
    let mut lay_out = |rows: &mut Vec<Vec<String>>| {
        let head = std::mem::take(&mut is_first);
        out(&grid(&columns, &widths, head, &std::mem::take(rows)));
    };
    let mut is_empty = true;
    table.each(|row| {
        is_empty = false;
        rows.push(columns.iter().map(|own| units.text(&row[own.at], &table.columns[own.at])).collect());
        if rows.len() == AT_ONCE {
            lay_out(&mut rows);
        }
    });
    if is_empty || !rows.is_empty() {
        lay_out(&mut rows);
    }
    if is_empty {
        out("(0 rows)\n");
    }
}

/// Lines of these rows, below the head of the table if they are the first.
fn grid(columns: &[Column], widths: &[usize], with_head: bool, rows: &[Vec<String>]) -> String {
    let mut grid = Grid::new();
    grid.load_style(STYLE).set_content_arrangement(ContentArrangement::Dynamic);
    grid.set_width((total(widths) + GAP) as u16);
    if with_head {
        grid.set_header(columns.iter().zip(widths).map(|(column, &width)| column.cell(&column.head(width))));
    }
    for row in rows {
        grid.add_row(columns.iter().zip(row).map(|(column, text)| column.cell(text)));
    }
    for (at, width) in widths.iter().enumerate() {
        let padding = if at + 1 < widths.len() { PADDING } else { 0 };
        if let Some(column) = grid.column_mut(at) {
            column.set_padding((0, padding));
            column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(*width as u16 + padding)));
        }
    }
    grid.lines().fold(String::new(), |all, line| all + line.trim_end() + "\n")
}

/// A column that is shown.
struct Column {
    /// Its place in the table.
    at: usize,
    name: String,
    numeric: bool,
    widest: Widest,
}

/// The greatest widths of the texts of a column, characters.
#[derive(Debug, Clone, Copy, Default)]
struct Widest {
    /// Unbroken.
    natural: usize,
    /// Broken between words, and longer words in pieces.
    words: usize,
    /// The same, but numbers are never broken.
    numbers: usize,
}

impl Widest {
    fn add(&mut self, text: &str) {
        let natural = text.chars().count();
        let words = text.split(' ').map(|word| word.chars().count()).max().unwrap_or(0).min(LONGEST_WORD);
        self.natural = self.natural.max(natural);
        self.words = self.words.max(words);
        self.numbers = self.numbers.max(if text.starts_with(char::is_alphabetic) { words } else { natural });
    }
}

impl Column {
    fn of(table: &LongTable<'_>, units: Units) -> Vec<Self> {
        let mut seen = vec![(SeenValues::default(), Widest::default()); table.columns.len()];
        table.each(|row| {
            for (((seen, widest), value), column) in seen.iter_mut().zip(row).zip(&*table.columns) {
                seen.add(value);
                widest.add(&units.text(value, column));
            }
        });
        let column = |(at, ((seen, widest), own)): (usize, ((SeenValues, Widest), &results::Column))| {
            let facts = seen.facts(own);
            let name = visible::line(units.heading(own)).into_owned();
            facts.is_shown.then_some(Self { at, name, numeric: facts.is_numeric, widest })
        };
        seen.into_iter().zip(&*table.columns).enumerate().filter_map(column).collect()
    }

    fn natural(&self) -> usize {
        self.widest.natural.max(self.name.chars().count())
    }

    /// Least width: whole numbers, text (also instead of a number) between words, the name broken before underscores.
    fn least(&self) -> usize {
        let pieces = pieces(&self.name).into_iter().map(|piece| piece.chars().count()).max().unwrap_or(0);
        pieces.max(if self.numeric { self.widest.numbers } else { self.widest.words })
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
