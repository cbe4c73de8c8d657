//! Charts as hand-written SVG: themed by CSS variables, readable without colour, with their data as a table.
//!
//! [`line`] draws anything with a y for each x; [`clients`], [`latency`] and [`time`] shape runs for it.
//! [`forest`] draws changes with intervals, [`phases`] the phases of a job.

pub(crate) mod axis;
pub(crate) mod clients;
pub(crate) mod forest;
pub(crate) mod latency;
pub(crate) mod line;
pub(crate) mod mark;
pub(crate) mod phases;
pub(crate) mod time;

use crate::markup::Markup;
use crate::sheet::Sheet;

/// Width of every drawing, in its own units; the page scales it.
const WIDTH: f64 = 560.0;
/// Size of labels, in the same units.
const FONT: f64 = 13.0;
/// Width of a character as a share of its size; generous, since the reader's font is not known.
const CHARACTER: f64 = 0.6;

/// A drawing with the words and the data that belong to it.
#[derive(Debug, Clone)]
pub(crate) struct Figure {
    /// What it is a picture of.
    pub(crate) title: String,
    /// A sentence that says what one sees.
    pub(crate) caption: String,
    /// Height in the drawing's units.
    pub(crate) height: f64,
    /// The drawing.
    pub(crate) drawing: Markup,
    /// The same as a table.
    pub(crate) data: Sheet,
}

impl Figure {
    /// Writes title, drawing, caption and data.
    pub(crate) fn write(&self, out: &mut Markup) {
        out.tag("figure").class("chart").with(|out| {
            out.tag("h4").text(&self.title);
            out.tag("div").class("drawing").with(|out| self.draw(out));
            out.tag("figcaption").text(&self.caption);
            out.tag("details").with(|out| {
                out.tag("summary").text("Data of this chart");
                self.data.write(out);
            });
        });
    }

    fn draw(&self, out: &mut Markup) {
        let view = format!("0 0 {WIDTH} {}", coordinate(self.height));
        out.tag("svg").attr("viewBox", view).attr("role", "img").with(|out| {
            out.tag("title").text(&self.title);
            out.tag("desc").text(&self.caption);
            out.append(&self.drawing);
        });
    }
}

/// A coordinate with one decimal: enough for a screen, short in the file.
fn coordinate(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// About how wide a text is drawn, in the drawing's units.
fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * FONT * CHARACTER
}

/// Cuts a text that would be wider than `width`, with an ellipsis.
fn fitted(text: &str, width: f64) -> String {
    if text_width(text) <= width {
        return text.to_owned();
    }
    let keep = (width / (FONT * CHARACTER)) as usize;
    text.chars().take(keep.saturating_sub(1)).chain(['…']).collect()
}

/// Where a label is held: at its start, middle or end.
type Anchor = &'static str;
const START: Anchor = "start";
const MIDDLE: Anchor = "middle";
const END: Anchor = "end";

fn label(out: &mut Markup, x: f64, y: f64, anchor: Anchor, class: &'static str, text: &str) {
    out.tag("text")
        .attr("x", coordinate(x))
        .attr("y", coordinate(y))
        .attr("text-anchor", anchor)
        .class(class)
        .text(text);
}

fn rule(out: &mut Markup, class: &'static str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
    out.tag("line")
        .attr("x1", coordinate(x1))
        .attr("y1", coordinate(y1))
        .attr("x2", coordinate(x2))
        .attr("y2", coordinate(y2))
        .class(class)
        .empty();
}

fn rectangle(out: &mut Markup, class: &'static str, (x, y): (f64, f64), (width, height): (f64, f64)) {
    out.tag("rect")
        .attr("x", coordinate(x))
        .attr("y", coordinate(y))
        .attr("width", coordinate(width.max(0.0)))
        .attr("height", coordinate(height.max(0.0)))
        .class(class)
        .empty();
}
