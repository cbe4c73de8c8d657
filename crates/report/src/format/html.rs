//! Blocks as HTML. A table has a caption, column heads with scope, numbers to the right; a chart has its
//! data as a table.

use maud::{Markup, Render, html};
use results::{CellValue, Column, ColumnKind, Table};

use super::Units;
use super::units::ColumnFacts;
use crate::block::{Block, Paragraph, Span};
use crate::chart::{Chart, Drawing, SLIM, coordinate};

const MOST_STACKED: usize = 80;

impl Render for Block {
    fn render(&self) -> Markup {
        match self {
            Self::Heading(text) => html! { h3 { (text) } },
            Self::Paragraph(paragraph) => paragraph.render(),
            Self::List(items) => html! { ul { @for item in items { li { (item) } } } },
            Self::Table(own) => table(own),
            Self::Chart(chart) => chart_figure(chart.as_ref()),
            Self::Picture(markup) => markup.clone(),
            Self::Code(text) => html! { pre { code { (text) } } },
            Self::Details { summary, open, blocks } => html! {
                details open[*open] {
                    summary { (summary) }
                    @for block in blocks { (block) }
                }
            },
            Self::Group { class, blocks } => html! { div class=(class) { @for block in blocks { (block) } } },
        }
    }
}

impl Render for Paragraph {
    fn render(&self) -> Markup {
        let class = (!self.class().is_empty()).then_some(self.class());
        html! {
            p class=[class] {
                @for span in self.spans() {
                    @match span {
                        Span::Plain(text) => (text),
                        Span::Strong(text) => strong { (text) },
                        Span::Warning(text) => strong.unsafe { (text) },
                        Span::Code(text) => code { (text) },
                    }
                }
            }
        }
    }
}

fn chart_figure(chart: &dyn Chart) -> Markup {
    let caption = chart.caption();
    let svg = |class: &str, width: f64| {
        let Drawing { markup, height } = chart.draw(width)?;
        let view = format!("0 0 {} {}", coordinate(width), coordinate(height));
        Some(html! {
            svg class=(class) viewBox=(view) role="img" {
                title { (chart.title()) }
                desc { (caption) }
                (markup)
            }
        })
    };
    html! {
        @if let (Some(broad), Some(slim)) = (svg("broad", chart.width()), svg("slim", SLIM)) {
            figure.chart {
                h4 { (chart.title()) }
                div.drawing { (broad) (slim) }
                figcaption { (caption) }
                details {
                    summary { "Data of this chart" }
                    (table(chart.data()))
                }
            }
        }
    }
}

/// On narrow screens each row of a small table is a block. A large one scrolls in its container, which must
/// be reachable by keyboard.
fn table(table: &Table) -> Markup {
    let table = Units::Suited.columns(table);
    let facts = ColumnFacts::of(&(&*table).into());
    let stacks =
        table.stacked || (table.columns.len() > 2 && table.columns.len() * table.rows.len() <= MOST_STACKED);
    let heads: Vec<(String, bool)> = (table.columns.iter().enumerate())
        .map(|(at, column)| (heading(column), facts[at].is_numeric))
        .collect();
    html! {
        div.scroll tabindex="0" {
            table.stack[stacks] {
                caption { (table.caption) }
                thead { tr {
                    @for (name, numeric) in &heads { th scope="col" class=[numeric.then_some("n")] { (name) } }
                } }
                tbody {
                    @for row in &table.rows { tr {
                        @for (at, value) in row.iter().enumerate() {
                            @let (name, numeric) = &heads[at];
                            @let class = class(*numeric, value);
                            @if at == 0 { th scope="row" class=[class] { (cell(value, &table.columns[at])) } }
                            @else {
                                td data-of=[stacks.then_some(name)] class=[class] { (cell(value, &table.columns[at])) }
                            }
                        }
                    } }
                }
            }
        }
    }
}

/// `tps mean` of a column `tps_mean`.
fn heading(column: &Column) -> String {
    if let Some(head) = column.head {
        return head.to_owned();
    }
    let name = Units::Suited.heading(column);
    if column.kind == ColumnKind::Named { name.replace('_', " ") } else { name.to_owned() }
}

fn cell(value: &CellValue, column: &Column) -> Markup {
    let text = Units::Suited.text(value, column);
    match value {
        CellValue::Marked(marked) if let Some(address) = &marked.link => {
            html! { a href=(address) rel="noreferrer" { (text) } }
        }
        _ => html! { (text) },
    }
}

fn class(numeric: bool, value: &CellValue) -> Option<String> {
    let own = if let CellValue::Marked(marked) = value { marked.class } else { "" };
    match (numeric, own) {
        (false, "") => None,
        (false, own) => Some(own.to_owned()),
        (true, own) => Some(format!("n {own}").trim_end().to_owned()),
    }
}

#[cfg(test)]
pub(crate) fn page(blocks: &[Block]) -> String {
    html! { @for block in blocks { (block) } }.into_string()
}
