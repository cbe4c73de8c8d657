//! Series differ in colour, dash pattern and marker shape, all three at once.

use maud::{Markup, html};

use super::{FONT, START, coordinate, label, shape, widest, wrapped};

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

pub(super) fn line(style: usize, points: &[(f64, f64)]) -> Markup {
    let step = |(n, (x, y)): (usize, &(f64, f64))| {
        format!("{}{} {}", if n == 0 { 'M' } else { 'L' }, coordinate(*x), coordinate(*y))
    };
    let path: String = points.iter().enumerate().map(step).collect();
    let class = format!("line {}", CLASSES[style % STYLES]);
    html! {
        @if points.len() > 1 { path d=(path) class=(class) stroke-dasharray=(DASHES[style % STYLES]) {} }
    }
}

/// The area between the ends of ranges at these x; fewer than two draw nothing.
pub(super) fn band(style: usize, ranges: &[(f64, (f64, f64))]) -> Markup {
    let there = ranges.iter().map(|(x, (low, _))| (*x, *low));
    let back = ranges.iter().rev().map(|(x, (_, high))| (*x, *high));
    let step = |(x, y): (f64, f64)| format!("{} {}", coordinate(x), coordinate(y));
    let path = there.chain(back).map(step).collect::<Vec<_>>().join("L");
    let class = format!("spread {}", CLASSES[style % STYLES]);
    html! { @if ranges.len() > 1 { path d=(format!("M{path}z")) class=(class) {} } }
}

pub(super) fn marker(style: usize, place: (f64, f64)) -> Markup {
    shape(&format!("mark {}", CLASSES[style % STYLES]), SHAPES[style % STYLES], place)
}

pub(super) fn whisker(style: usize, x: f64, (low, high): (f64, f64)) -> Markup {
    let (x, low, high) = (coordinate(x), coordinate(low), coordinate(high));
    let path = format!("M{x} {low}V{high}m-3.5 0h7M{x} {low}m-3.5 0h7");
    html! { path d=(path) class=(format!("whisker {}", CLASSES[style % STYLES])) {} }
}

/// The legend for a drawing of this width, and its height. A single unnamed series has none.
pub(super) fn legend(names: &[&str], left: f64, whole: f64) -> (Markup, f64) {
    const SAMPLE: f64 = 30.0;
    const GAP: f64 = 18.0;
    if names.iter().all(|name| name.is_empty()) {
        return (html! {}, 0.0);
    }
    let (mut x, mut y) = (left, LINE / 2.0 + 2.0);
    let mut entries = Vec::new();
    for (style, name) in names.iter().enumerate() {
        let lines = wrapped(name, whole - left - SAMPLE - GAP);
        let width = SAMPLE + 6.0 + widest(&lines);
        if x > left && x + width > whole {
            (x, y) = (left, y + LINE);
        }
        let first = y;
        y += super::LINE * (lines.len() as f64 - 1.0);
        entries.push(html! {
            (line(style, &[(x, first), (x + SAMPLE, first)]))
            (marker(style, (x + SAMPLE / 2.0, first)))
            @for (line, place) in lines.iter().zip(0u32..) {
                (label(x + SAMPLE + 6.0, first + super::LINE * f64::from(place) + FONT * 0.35, START, "", line))
            }
        });
        x += width + GAP;
    }
    (html! { @for entry in &entries { (entry) } }, y + LINE / 2.0 + 4.0)
}
