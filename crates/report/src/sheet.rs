//! A table for a page: caption, column heads with scope, numbers to the right.

use std::fmt::Display;

use crate::markup::Markup;

/// A table being put together; each row holds as many cells as there are columns.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sheet {
    caption: Markup,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

#[derive(Debug, Clone)]
struct Column {
    name: String,
    numeric: bool,
}

/// One cell.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    content: Markup,
    class: &'static str,
}

impl<T: Display> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { content: Markup::of(text), class: "" }
    }
}

impl Cell {
    /// A cell with a class of its own, e.g. the colour of a verdict.
    pub(crate) fn classed(text: impl Display, class: &'static str) -> Self {
        Self { content: Markup::of(text), class }
    }
}

impl Sheet {
    /// A table that says in its caption what it shows.
    pub(crate) fn new(caption: impl Display) -> Self {
        Self { caption: Markup::of(caption), ..Self::default() }
    }

    /// Adds columns of text.
    pub(crate) fn text<S: Display>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.columns.extend(names.into_iter().map(|name| Column { name: name.to_string(), numeric: false }));
        self
    }

    /// Adds columns of numbers.
    pub(crate) fn numbers<S: Display>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.columns.extend(names.into_iter().map(|name| Column { name: name.to_string(), numeric: true }));
        self
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.columns.len(), "a row has one cell per column");
        self.rows.push(cells);
    }

    /// Writes the table, in a container that scrolls by itself on narrow screens.
    pub(crate) fn write(&self, out: &mut Markup) {
        // A scrolling region must be reachable by keyboard.
        out.tag("div").class("scroll").attr("tabindex", "0").with(|out| {
            out.tag("table").with(|out| {
                out.tag("caption").with(|out| {
                    out.append(&self.caption);
                });
                out.tag("thead").with(|out| out.tag("tr").with(|out| self.heads(out)));
                out.tag("tbody").with(|out| {
                    for row in &self.rows {
                        out.tag("tr").with(|out| self.cells(row, out));
                    }
                });
            });
        });
    }

    fn heads(&self, out: &mut Markup) {
        for column in &self.columns {
            let class = if column.numeric { "n" } else { "" };
            out.tag("th").attr("scope", "col").class(class).text(&column.name);
        }
    }

    fn cells(&self, row: &[Cell], out: &mut Markup) {
        for (position, (cell, column)) in row.iter().zip(&self.columns).enumerate() {
            let class = match (column.numeric, cell.class) {
                (true, "") => "n".to_owned(),
                (true, class) => format!("n {class}"),
                (false, class) => class.to_owned(),
            };
            let tag = if position == 0 { out.tag("th").attr("scope", "row") } else { out.tag("td") };
            let tag = if class.is_empty() { tag } else { tag.attr("class", class) };
            tag.with(|out| {
                out.append(&cell.content);
            });
        }
    }
}
