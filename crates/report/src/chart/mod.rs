//! Charts as SVG, without a library: a page needs no script and is the same in print and without colour
//! (docs/decisions/0006). Colours are CSS variables; each chart has its data as a table.
//!
//! A chart is plain data: a [`line::LineChart`], a [`forest::Forest`], the [`bars::Bars`] of a job's
//! phases, [`stacks::Stacks`] of the parts of times.

pub(crate) mod axis;
pub(crate) mod bars;
pub(crate) mod forest;
pub(crate) mod line;
mod mark;
pub(crate) mod stacks;

use maud::{Markup, html};
use results::Table;

/// Full width of most drawings, in their units; the page scales them.
const WIDTH: f64 = 560.0;
/// Full width of drawings with text on both sides of the plot.
const WIDE: f64 = 680.0;
pub(crate) const FONT: f64 = 13.0;

/// Width on a phone, where labels keep their size.
pub(crate) const SLIM: f64 = 360.0;

/// A chart: on a page in two widths, of which the screen selects one, or as a separate file.
pub trait Chart {
    fn title(&self) -> &str;

    fn caption(&self) -> String;

    fn data(&self) -> &Table;

    fn width(&self) -> f64 {
        WIDTH
    }

    /// The drawing at a width; `None` if it has no data.
    fn draw(&self, width: f64) -> Option<Drawing>;
}

/// A drawing, from the origin on.
pub struct Drawing {
    pub(crate) markup: Markup,
    pub(crate) height: f64,
}

pub(crate) fn coordinate(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Approximate width of a text in the drawing's units: by the widest usual font, since the reader's is not
/// known.
pub(crate) fn text_width(text: &str) -> f64 {
    text.chars().map(character_width).sum::<f64>() * FONT
}

/// Width of a character as a share of the font's size.
fn character_width(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 'I' | '|' | '\'' | '.' | ',' | ':' | ';' | ' ' | '!' | '-' | '(' | ')' | '['
        | ']' | '/' => 0.4,
        'f' | 'r' | 't' => 0.45,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '+' | '…' => 0.97,
        'A'..='Z' => 0.77,
        // Chinese, Japanese, Korean, and pictures.
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{1f000}'.. => 1.05,
        _ => 0.65,
    }
}

/// A text in lines of at most this width: broken after commas, else between words, else within a word,
/// after an underscore or the like if it has one. Nothing is cut off.
pub(crate) fn wrapped(text: &str, width: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in text.split_inclusive(", ").map(str::trim_end) {
        if !add(&mut lines, part, width) {
            for word in part.split(' ') {
                if !add(&mut lines, word, width) {
                    lines.extend(broken(word, width));
                }
            }
        }
    }
    if lines.len() > 1 && lines[0].is_empty() {
        lines.remove(0);
    }
    lines
}

fn add(lines: &mut Vec<String>, piece: &str, width: f64) -> bool {
    let last = lines.last_mut().expect("there is always a line");
    let longer = if last.is_empty() { piece.to_owned() } else { format!("{last} {piece}") };
    if text_width(&longer) <= width {
        *last = longer;
    } else if text_width(piece) <= width {
        lines.push(piece.to_owned());
    } else {
        return false;
    }
    true
}

fn broken(word: &str, width: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for c in word.chars() {
        let line = lines.last_mut().expect("there is always a line");
        if !line.is_empty() && text_width(line) + character_width(c) * FONT > width {
            // The last joint, unless it leaves less than half a line.
            let joint = line.rfind(['_', '-', '/', '.']).map(|at| at + 1).filter(|at| at * 2 > line.len());
            let rest = line.split_off(joint.unwrap_or(line.len()));
            let is_full = !rest.is_empty() && text_width(&rest) + character_width(c) * FONT > width;
            lines.push(rest);
            if is_full {
                lines.push(String::new());
            }
        }
        lines.last_mut().expect("there is always a line").push(c);
    }
    lines
}

/// Distance between lines of a label.
const LINE: f64 = 16.0;

/// Lines of text around the middle of a row.
fn labels(x: f64, middle: f64, anchor: Anchor, class: &'static str, lines: &[String]) -> Markup {
    let first = middle + FONT * 0.35 - LINE * (lines.len() as f64 - 1.0) / 2.0;
    html! {
        @for (line, place) in lines.iter().zip(0u32..) {
            (label(x, first + LINE * f64::from(place), anchor, class, line))
        }
    }
}

fn widest<'a>(lines: impl IntoIterator<Item = &'a String>) -> f64 {
    lines.into_iter().map(|line| text_width(line)).fold(0.0, f64::max)
}

/// The point of a label at its x: start, middle or end.
type Anchor = &'static str;
const START: Anchor = "start";
const MIDDLE: Anchor = "middle";
const END: Anchor = "end";

fn label(x: f64, y: f64, anchor: Anchor, class: &'static str, text: &str) -> Markup {
    let class = (!class.is_empty()).then_some(class);
    html! { text x=(coordinate(x)) y=(coordinate(y)) text-anchor=(anchor) class=[class] { (text) } }
}

fn rule(class: &'static str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) -> Markup {
    html! {
        line x1=(coordinate(x1)) y1=(coordinate(y1)) x2=(coordinate(x2)) y2=(coordinate(y2)) class=(class) {}
    }
}

fn rectangle(class: &'static str, (x, y): (f64, f64), (width, height): (f64, f64)) -> Markup {
    let (width, height) = (coordinate(width.max(0.0)), coordinate(height.max(0.0)));
    html! { rect x=(coordinate(x)) y=(coordinate(y)) width=(width) height=(height) class=(class) {} }
}

fn shape(class: &str, outline: &'static str, (x, y): (f64, f64)) -> Markup {
    let place = format!("translate({} {})", coordinate(x), coordinate(y));
    html! { path d=(outline) transform=(place) class=(class) {} }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn labels_are_broken_between_words() {
        assert_eq!(wrapped("tpcb, 4 clients", 400.0), ["tpcb, 4 clients"]);
        assert_eq!(
            wrapped("tpcb with a very long name, 4 clients", 130.0),
            ["tpcb with a very", "long name,", "4 clients"]
        );
        assert_eq!(wrapped("planet_osm_polygon_way_idx", 140.0), ["planet_osm_", "polygon_way_idx"]);
        assert_eq!(wrapped("", 10.0), [""]);
    }

    proptest! {
        /// Regression: labels were cut off with an ellipsis.
        #[test]
        fn nothing_of_a_label_is_cut(text in ".{0,60}", width in 20.0f64..300.0) {
            let lines = wrapped(&text, width);
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
            prop_assert!(lines.iter().all(|line| text_width(line) <= width || line.chars().count() == 1));
        }
    }
}
