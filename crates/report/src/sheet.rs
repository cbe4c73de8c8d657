//! A table for a page: caption, column heads with scope, numbers to the right.

use std::fmt::Display;

use maud::{Markup, Render, html};
use serde::Serialize;

/// Cells of a table that stand below each other on a phone, at most.
const MOST_STACKED: usize = 80;

/// A table being put together; each row holds as many cells as there are columns.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Sheet {
    caption: String,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    /// Stands as a block per row on a phone, however large.
    stacked: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Column {
    name: String,
    numeric: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Cell {
    text: String,
    /// For colour, e.g. that of a verdict; never alone.
    class: &'static str,
    /// Address that the text leads to.
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
}

impl<T: Display> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::classed(text, "")
    }
}

impl Cell {
    pub(crate) fn classed(text: impl Display, class: &'static str) -> Self {
        Self { text: text.to_string(), class, link: None }
    }

    /// A text that leads to a place outside of the page.
    pub(crate) fn linked(text: impl Display, address: String) -> Self {
        Self { link: Some(address), ..Self::from(text) }
    }
}

impl Render for Cell {
    fn render(&self) -> Markup {
        html! {
            @match &self.link {
                Some(address) => a href=(address) rel="noreferrer" { (self.text) },
                None => (self.text),
            }
        }
    }
}

impl Sheet {
    /// A table that says in its caption what it shows.
    pub(crate) fn new(caption: impl Display) -> Self {
        Self { caption: caption.to_string(), ..Self::default() }
    }

    /// Adds columns of text.
    pub(crate) fn text<S: Display>(self, names: impl IntoIterator<Item = S>) -> Self {
        self.columns(names, false)
    }

    /// Adds columns of numbers.
    pub(crate) fn numbers<S: Display>(self, names: impl IntoIterator<Item = S>) -> Self {
        self.columns(names, true)
    }

    fn columns<S: Display>(mut self, names: impl IntoIterator<Item = S>, numeric: bool) -> Self {
        self.columns.extend(names.into_iter().map(|name| Column { name: name.to_string(), numeric }));
        self
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let cells: Vec<Cell> = cells.into_iter().collect();
        debug_assert_eq!(cells.len(), self.columns.len(), "a row has one cell per column");
        self.rows.push(cells);
    }

    /// The same, as a block per row on a phone whatever its size: for what is seen first.
    pub(crate) fn stacked(self) -> Self {
        Self { stacked: true, ..self }
    }

    /// Whether its rows stand below each other on a phone: there are few.
    fn stacks(&self) -> bool {
        self.stacked || (self.columns.len() > 2 && self.columns.len() * self.rows.len() <= MOST_STACKED)
    }
}

impl Render for Sheet {
    /// On narrow screens a small one stands as a block per row. A large one scrolls in its own container, which must be
    /// reachable by keyboard for that.
    fn render(&self) -> Markup {
        let stacks = self.stacks();
        html! {
            div.scroll tabindex="0" {
                table.stack[stacks] {
                    caption { (self.caption) }
                    thead { tr {
                        @for column in &self.columns {
                            th scope="col" class=[column.numeric.then_some("n")] { (column.name) }
                        }
                    } }
                    tbody {
                        @for row in &self.rows { tr {
                            @for (at, (cell, column)) in row.iter().zip(&self.columns).enumerate() {
                                @let class = class(column.numeric, cell.class);
                                @if at == 0 { th scope="row" class=[class] { (cell) } }
                                @else { td data-of=[stacks.then_some(&column.name)] class=[class] { (cell) } }
                            }
                        } }
                    }
                }
            }
        }
    }
}

fn class(numeric: bool, own: &str) -> Option<String> {
    match (numeric, own) {
        (false, "") => None,
        (false, own) => Some(own.to_owned()),
        (true, own) => Some(format!("n {own}").trim_end().to_owned()),
    }
}
