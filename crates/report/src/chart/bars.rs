//! Phases of a job as bars along its time.

use maud::{Markup, html};
use results::Table;
use spec::Phase;

use super::axis::{AxisScale, Spacing, Tick, round_ticks, without_overlap};
use super::{
    Chart, Drawing, END, FONT, LINE, MIDDLE, START, label, labels, rectangle, rule, text_width, widest,
    wrapped,
};
use crate::numbers;

const ROW: f64 = 24.0;
const BAR: f64 = 15.0;
/// Share of the width for names; wider ones are broken into lines.
const NAMES: f64 = 0.41;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bars {
    pub(crate) title: String,
    /// At least one.
    pub(crate) phases: Vec<Phase>,
    pub(crate) data: Table,
}

fn end_us(phase: &Phase) -> u64 {
    phase.start_us.saturating_add(phase.duration_us)
}

fn name(phase: &Phase) -> String {
    if phase.item.is_empty() { phase.name.clone() } else { format!("{} {}", phase.name, phase.item) }
}

impl Bars {
    /// When the last phase ended, µs.
    fn end_us(&self) -> u64 {
        self.phases.iter().map(end_us).max().unwrap_or(0)
    }
}

impl Chart for Bars {
    fn title(&self) -> &str {
        &self.title
    }

    fn caption(&self) -> String {
        let longest =
            self.phases.iter().max_by_key(|phase| phase.duration_us).map(|phase| {
                format!("; longest: {}, {}", name(phase), numbers::milliseconds(phase.duration_us))
            });
        format!(
            "{} in all{}. Bars that stand above each other ran at the same time.",
            numbers::milliseconds(self.end_us()),
            longest.unwrap_or_default()
        )
    }

    fn data(&self) -> &Table {
        &self.data
    }

    fn draw(&self, width: f64) -> Option<Drawing> {
        let names: Vec<Vec<String>> =
            self.phases.iter().map(|phase| wrapped(&name(phase), width * NAMES)).collect();
        let left = widest(names.iter().flatten()) + 10.0;
        let (top, right) = (4.0, width - 14.0);
        let mut bottom = top;
        let mut middle = |lines: &Vec<String>| {
            let height = ROW + LINE * (lines.len() as f64 - 1.0);
            bottom += height;
            bottom - height / 2.0
        };
        let middles: Vec<f64> = names.iter().map(&mut middle).collect();
        let ticks = round_ticks(0.0, self.end_us() as f64 / 1e6, 5.0);
        let x = AxisScale::new(Spacing::Linear, (0.0, ticks.last().copied().unwrap_or(1.0)), (left, right));
        let tick = |value| Tick { value, label: numbers::figure_short(value) };
        let markup = html! {
            @for tick in without_overlap(ticks.into_iter().map(tick).collect(), &x) {
                @let at = x.at(tick.value);
                (rule("grid", (at, top), (at, bottom)))
                (label(at, bottom + 18.0, MIDDLE, "", &tick.label))
            }
            (label((left + right) / 2.0, bottom + 38.0, MIDDLE, "axis", "seconds since the start"))
            @for ((phase, name), middle) in self.phases.iter().zip(&names).zip(middles) {
                (labels(left - 8.0, middle, END, "", name))
                (bar(phase, &x, middle, (left, right)))
            }
            (rule("base", (left, top), (left, bottom)))
        };
        Some(Drawing { markup, height: bottom + 46.0 })
    }
}

/// A bar of a visible minimum width, with its duration after it, before it or, if neither fits, inside.
fn bar(phase: &Phase, x: &AxisScale, middle: f64, (left, right): (f64, f64)) -> Markup {
    let from = x.at(phase.start_us as f64 / 1e6);
    let to = x.at(end_us(phase) as f64 / 1e6).max(from + 1.5);
    let text = numbers::milliseconds(phase.duration_us);
    let width = text_width(&text) + 6.0;
    let (at, anchor, class) = if to + width <= right + 14.0 {
        (to + 5.0, START, "")
    } else if from - width >= left {
        (from - 5.0, END, "")
    } else {
        (to - 5.0, END, "inside")
    };
    html! {
        (rectangle("bar", (from, middle - BAR / 2.0), (to - from, BAR)))
        (label(at, middle + FONT * 0.35, anchor, class, &text))
    }
}
