//! Phases of a job as bars along its time.

use record::Phase;

use super::axis::{Scale, Spacing, Tick, round_ticks, without_overlap};
use super::{
    END, FONT, Figure, LINE, MIDDLE, START, WIDTH, label, labels, rectangle, rule, text_width, widest,
    wrapped,
};
use crate::markup::Markup;
use crate::numbers;
use crate::sheet::Sheet;

/// Height of a bar with its gap.
const ROW: f64 = 24.0;
const BAR: f64 = 15.0;

/// The chart of a job's phases; `None` without any. `data` is the same as a table.
pub(crate) fn figure(title: &str, phases: &[Phase], data: Sheet) -> Option<Figure> {
    let end = phases.iter().map(|phase| phase.start_us.saturating_add(phase.duration_us)).max()?;
    let longest = phases.iter().max_by_key(|phase| phase.duration_us)?;
    let mut drawing = Markup::new();
    let names: Vec<Vec<String>> = phases.iter().map(|phase| wrapped(&name(phase), 230.0)).collect();
    let left = widest(names.iter().flatten()) + 10.0;
    let (top, right) = (4.0, WIDTH - 14.0);
    let mut bottom = top;
    let middles: Vec<f64> = names
        .iter()
        .map(|lines| {
            let height = ROW + LINE * (lines.len() as f64 - 1.0);
            bottom += height;
            bottom - height / 2.0
        })
        .collect();
    let ticks = round_ticks(0.0, end as f64 / 1e6, 5.0);
    let x = Scale::new(Spacing::Linear, (0.0, ticks.last().copied().unwrap_or(1.0)), (left, right));

    let ticks = ticks.into_iter().map(|value| Tick { value, label: numbers::figure_short(value) }).collect();
    for tick in without_overlap(ticks, &x) {
        let at = x.at(tick.value);
        rule(&mut drawing, "grid", (at, top), (at, bottom));
        label(&mut drawing, at, bottom + 18.0, MIDDLE, "", &tick.label);
    }
    label(&mut drawing, (left + right) / 2.0, bottom + 38.0, MIDDLE, "axis", "seconds since the start");
    for ((phase, name), middle) in phases.iter().zip(&names).zip(middles) {
        labels(&mut drawing, left - 8.0, middle, END, "", name);
        bar(&mut drawing, phase, &x, middle, (left, right));
    }
    rule(&mut drawing, "base", (left, top), (left, bottom));
    Some(Figure {
        title: title.to_owned(),
        caption: format!(
            "{} in all; longest: {}, {}. Bars that stand above each other ran at the same time.",
            numbers::milliseconds(end),
            name(longest),
            numbers::milliseconds(longest.duration_us)
        ),
        width: WIDTH,
        height: bottom + 46.0,
        drawing,
        data,
    })
}

/// `cluster planet_osm_line`.
fn name(phase: &Phase) -> String {
    if phase.item.is_empty() { phase.name.clone() } else { format!("{} {}", phase.name, phase.item) }
}

/// A bar at least a hair wide, with its duration after it, before it, or inside where there is no room else.
fn bar(out: &mut Markup, phase: &Phase, x: &Scale, middle: f64, (left, right): (f64, f64)) {
    let from = x.at(phase.start_us as f64 / 1e6);
    let to = x.at(phase.start_us.saturating_add(phase.duration_us) as f64 / 1e6).max(from + 1.5);
    rectangle(out, "bar", (from, middle - BAR / 2.0), (to - from, BAR));
    let text = numbers::milliseconds(phase.duration_us);
    let (width, y) = (text_width(&text) + 6.0, middle + FONT * 0.35);
    if to + width <= right + 14.0 {
        label(out, to + 5.0, y, START, "", &text);
    } else if from - width >= left {
        label(out, from - 5.0, y, END, "", &text);
    } else {
        label(out, to - 5.0, y, END, "inside", &text);
    }
}
