//! Stacked bars: the parts of a time, one bar below the other, each with the interval of the whole.

use maud::{Markup, html};
use results::Table;

use super::axis::{AxisScale, Spacing, Tick, round_ticks, without_overlap};
use super::{
    Chart, Drawing, END, FONT, LINE, MIDDLE, START, coordinate, label, labels, rule, text_width, widest,
    wrapped,
};
use crate::numbers;
use crate::stages;

const ROW: f64 = 30.0;
const BAR: f64 = 18.0;
/// Share of the width for names; wider ones are broken into lines.
const NAMES: f64 = 0.36;
/// Styles of parts; further parts share the last style, which also marks the rest.
const LOOKS: [&str; 7] = ["part p0", "part p1", "part p2", "part p3", "part p4", "part p5", "part p6"];

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stack {
    pub(crate) name: String,
    /// Length of each part, in the order of their names.
    pub(crate) parts: Vec<f64>,
    /// 95 % interval of their sum.
    pub(crate) interval: Option<(f64, f64)>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stacks {
    pub(crate) title: String,
    pub(crate) parts: Vec<&'static str>,
    pub(crate) stacks: Vec<Stack>,
    pub(crate) scale: StackScale,
    pub(crate) data: Table,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum StackScale {
    /// Seconds of a job, over rounds.
    Seconds,
    /// Milliseconds of a transaction, over a sample.
    Milliseconds,
    /// The same as shares of each bar's whole, percent.
    Shares,
}

impl StackScale {
    fn axis(self) -> &'static str {
        match self {
            Self::Seconds => "seconds since the start",
            Self::Milliseconds => "milliseconds of a transaction",
            Self::Shares => "% of a transaction",
        }
    }

    fn means(self) -> &'static str {
        match self {
            Self::Seconds => "Means over rounds, from the start on",
            Self::Milliseconds => "Means over the sample, from the left",
            Self::Shares => "The same means as shares of each whole, from the left",
        }
    }
}

impl Stack {
    fn sum(&self) -> f64 {
        self.parts.iter().sum()
    }
}

impl Chart for Stacks {
    fn title(&self) -> &str {
        &self.title
    }

    fn caption(&self) -> String {
        let whiskers = if self.stacks.iter().any(|stack| stack.interval.is_some()) {
            " The whisker is the 95 % interval of the whole, over rounds."
        } else {
            ""
        };
        format!("{}: {}.{whiskers}", self.scale.means(), self.parts.join(", "))
    }

    fn data(&self) -> &Table {
        &self.data
    }

    fn draw(&self, width: f64) -> Option<Drawing> {
        let most = |stack: &Stack| stack.interval.map_or(0.0, |(_, high)| high).max(stack.sum());
        let most = self.stacks.iter().map(most).fold(0.0, f64::max);
        if !(most.is_finite() && most > 0.0) {
            return None;
        }
        let (legend, top) = legend(&self.parts, width);
        let names: Vec<Vec<String>> =
            self.stacks.iter().map(|stack| wrapped(&stack.name, width * NAMES)).collect();
        let left = widest(names.iter().flatten()) + 10.0;
        let ticks = round_ticks(0.0, most, 5.0);
        let last = ticks.last().map(|value| text_width(&numbers::figure_short(*value)));
        let right = width - (last.unwrap_or(0.0) / 2.0).max(14.0);
        let mut bottom = top + 4.0;
        let middles: Vec<f64> = names
            .iter()
            .map(|lines| {
                let height = ROW + LINE * (lines.len() as f64 - 1.0);
                bottom += height;
                bottom - height / 2.0
            })
            .collect();
        let x = AxisScale::new(
            Spacing::Linear,
            (0.0, ticks.last().copied().unwrap_or(1.0).max(most)),
            (left, right),
        );
        let tick = |value| Tick { value, label: numbers::figure_short(value) };
        let markup = html! {
            (legend)
            @for tick in without_overlap(ticks.into_iter().map(tick).collect(), &x) {
                @let at = x.at(tick.value);
                (rule("grid", (at, top), (at, bottom)))
                (label(at, bottom + 18.0, MIDDLE, "", &tick.label))
            }
            (label((left + right) / 2.0, bottom + 38.0, MIDDLE, "axis", self.scale.axis()))
            @for ((stack, name), middle) in self.stacks.iter().zip(&names).zip(middles) {
                (labels(left - 8.0, middle, END, "", name))
                (bar(stack, &self.parts, &x, middle))
            }
            (rule("base", (left, top), (left, bottom)))
        };
        Some(Drawing { markup, height: bottom + 46.0 })
    }
}

fn bar(stack: &Stack, names: &[&str], x: &AxisScale, middle: f64) -> Markup {
    let mut from = 0.0;
    let parts = stack.parts.iter().zip(names).enumerate().map(|(place, (seconds, name))| {
        let (start, end) = (x.at(from), x.at(from + seconds));
        from += seconds;
        (look(name, place), start, end)
    });
    let parts: Vec<(&str, f64, f64)> = parts.filter(|(_, start, end)| end > start).collect();
    html! {
        @for (look, start, end) in parts {
            rect x=(coordinate(start)) y=(coordinate(middle - BAR / 2.0)) width=(coordinate(end - start))
                height=(coordinate(BAR)) class=(look) {}
        }
        @if let Some((low, high)) = stack.interval {
            @let (low, high) = (coordinate(x.at(low.max(0.0))), coordinate(x.at(high)));
            @let y = coordinate(middle);
            path d=(format!("M{low} {y}H{high}M{low} {y}m0 -4v8M{high} {y}m0 -4v8")) class="whisker" {}
        }
    }
}

fn look(part: &str, place: usize) -> &'static str {
    let last = LOOKS.len() - 1;
    LOOKS[if part == stages::REST { last } else { place.min(last) }]
}

fn legend(parts: &[&str], whole: f64) -> (Markup, f64) {
    const SAMPLE: f64 = 14.0;
    const GAP: f64 = 16.0;
    let (mut x, mut y) = (0.0, 11.0);
    let mut entries = Vec::new();
    for (place, part) in parts.iter().enumerate() {
        let width = SAMPLE + 5.0 + text_width(part);
        if x > 0.0 && x + width > whole {
            (x, y) = (0.0, y + 22.0);
        }
        entries.push(html! {
            rect x=(coordinate(x)) y=(coordinate(y - 7.0)) width=(coordinate(SAMPLE)) height="14" class=(look(part, place)) {}
            (label(x + SAMPLE + 5.0, y + FONT * 0.35, START, "", part))
        });
        x += width + GAP;
    }
    (html! { @for entry in &entries { (entry) } }, y + 15.0)
}
