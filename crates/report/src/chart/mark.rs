//! How series are told apart: colour, dash pattern and marker shape, all three at once.

use super::{FONT, WIDTH, coordinate, label};
use crate::markup::Markup;

/// Number of styles; a seventh series looks like the first.
const STYLES: usize = 6;
const CLASSES: [&str; STYLES] = ["s0", "s1", "s2", "s3", "s4", "s5"];
const DASHES: [&str; STYLES] = ["none", "7 4", "2 4", "10 4 2 4", "14 5", "5 3 1 3"];
/// Outlines of markers around the origin.
const SHAPES: [&str; STYLES] = [
    "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
    "M-4-4h8v8h-8z",
    "M0-5.2L5 4H-5z",
    "M0-5.6L5.6 0L0 5.6L-5.6 0z",
    "M0 5.2L5-4H-5z",
    "M-5-1.5h3.5v-3.5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5z",
];

/// Height of one row of the legend.
const LINE: f64 = 22.0;

/// Draws a line through points; fewer than two draw nothing.
pub(crate) fn line(out: &mut Markup, style: usize, points: &[(f64, f64)]) {
    if points.len() < 2 {
        return;
    }
    let path: Vec<String> = points
        .iter()
        .enumerate()
        .map(|(n, (x, y))| format!("{}{} {}", if n == 0 { 'M' } else { 'L' }, coordinate(*x), coordinate(*y)))
        .collect();
    out.tag("path")
        .attr("d", path.concat())
        .attr("class", format_args!("line {}", CLASSES[style % STYLES]))
        .attr("stroke-dasharray", DASHES[style % STYLES])
        .empty();
}

/// Draws a marker.
pub(crate) fn marker(out: &mut Markup, style: usize, (x, y): (f64, f64)) {
    out.tag("path")
        .attr("d", SHAPES[style % STYLES])
        .attr("transform", format_args!("translate({} {})", coordinate(x), coordinate(y)))
        .attr("class", format_args!("mark {}", CLASSES[style % STYLES]))
        .empty();
}

/// Draws a vertical whisker with caps.
pub(crate) fn whisker(out: &mut Markup, style: usize, x: f64, (low, high): (f64, f64)) {
    let (x, low, high) = (coordinate(x), coordinate(low), coordinate(high));
    out.tag("path")
        .attr("d", format_args!("M{x} {low}V{high}m-3.5 0h7M{x} {low}m-3.5 0h7"))
        .attr("class", format_args!("whisker {}", CLASSES[style % STYLES]))
        .empty();
}

/// Draws the legend from the top; returns its height. One nameless series needs none.
pub(crate) fn legend(out: &mut Markup, names: &[&str], left: f64) -> f64 {
    const SAMPLE: f64 = 30.0;
    const GAP: f64 = 18.0;
    if names.iter().all(|name| name.is_empty()) {
        return 0.0;
    }
    let (mut x, mut y) = (left, LINE / 2.0 + 2.0);
    for (style, name) in names.iter().enumerate() {
        let lines = super::wrapped(name, WIDTH - left - SAMPLE - GAP);
        let width = SAMPLE + 6.0 + super::widest(&lines);
        if x > left && x + width > WIDTH {
            (x, y) = (left, y + LINE);
        }
        line(out, style, &[(x, y), (x + SAMPLE, y)]);
        marker(out, style, (x + SAMPLE / 2.0, y));
        for (line, place) in lines.iter().zip(0u32..) {
            if place > 0 {
                y += super::LINE;
            }
            label(out, x + SAMPLE + 6.0, y + FONT * 0.35, super::START, "", line);
        }
        x += width + GAP;
    }
    y + LINE / 2.0 + 4.0
}
