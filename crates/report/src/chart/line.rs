//! Lines with markers and whiskers over a common x.

use maud::{Markup, html};
use results::Table;

use super::axis::{AxisScale, Spacing, Tick, log_ticks, round_ticks, without_overlap};
use super::{Chart, Drawing, END, FONT, MIDDLE, START, label, mark, rule, text_width};
use crate::numbers;

const PLOT: f64 = 230.0;
const BOTTOM: f64 = 46.0;
const RIGHT: f64 = 14.0;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ChartPoint {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) range: Option<(f64, f64)>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Series {
    /// Empty if it is the only series.
    pub(crate) name: String,
    pub(crate) points: Vec<ChartPoint>,
    /// Whether it is computed, not measured: a line without markers.
    pub(crate) computed: bool,
    /// Whether ranges are drawn as a band, not as whiskers.
    pub(crate) banded: bool,
}

impl Series {
    pub(crate) fn measured(name: String, points: Vec<ChartPoint>) -> Self {
        Self { name, points, computed: false, banded: false }
    }

    pub(crate) fn banded(name: String, points: Vec<ChartPoint>) -> Self {
        Self { banded: true, ..Self::measured(name, points) }
    }

    pub(crate) fn computed(name: String, points: Vec<ChartPoint>) -> Self {
        Self { name, points, computed: true, banded: false }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AxisUnit {
    PerSecond,
    Nanoseconds,
    Percent,
    /// A number whose unit is in the name of the axis.
    Plain,
}

impl AxisUnit {
    fn tick(self, value: f64) -> String {
        match self {
            Self::PerSecond | Self::Plain => numbers::figure_short(value),
            Self::Percent => format!("{} %", numbers::figure_short(value)),
            Self::Nanoseconds if value == 0.0 => "0".to_owned(),
            Self::Nanoseconds => numbers::latency_tick(value),
        }
    }

    pub(crate) fn text(self, value: f64) -> String {
        match self {
            Self::PerSecond | Self::Plain => numbers::figure_text(value),
            Self::Percent => numbers::percent(value / 100.0),
            Self::Nanoseconds => numbers::latency_ns(value),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LineChart {
    pub(crate) title: String,
    pub(crate) caption: String,
    pub(crate) x_name: &'static str,
    pub(crate) y_name: &'static str,
    /// The first and last bound the axis.
    pub(crate) x_ticks: Vec<Tick>,
    pub(crate) y_spacing: Spacing,
    pub(crate) unit: AxisUnit,
    pub(crate) markers: bool,
    pub(crate) series: Vec<Series>,
    pub(crate) data: Table,
}

impl Chart for LineChart {
    fn title(&self) -> &str {
        &self.title
    }

    fn caption(&self) -> String {
        self.caption.clone()
    }

    fn data(&self) -> &Table {
        &self.data
    }

    fn draw(&self, width: f64) -> Option<Drawing> {
        let ticks = self.y_ticks();
        let widest = ticks.iter().map(|tick| text_width(&tick.label)).fold(0.0, f64::max);
        let left = (widest + 12.0).clamp(36.0, width / 3.0);
        let names: Vec<&str> = self.series.iter().map(|series| series.name.as_str()).collect();
        let (legend, height) = mark::legend(&names, left, width);
        let top = height + FONT + 16.0;
        let (bottom, right) = (top + PLOT, width - RIGHT);
        let bounds = |ticks: &[Tick]| {
            (ticks.first().map_or(0.0, |tick| tick.value), ticks.last().map_or(1.0, |tick| tick.value))
        };
        let y = AxisScale::new(self.y_spacing, bounds(&ticks), (bottom, top));
        // Space for the markers of the first and last point.
        let x = AxisScale::new(Spacing::Linear, bounds(&self.x_ticks), (left + 10.0, right - 10.0));
        let markup = html! {
            (legend)
            (label(0.0, top - 15.0, START, "axis", self.y_name))
            @for tick in &ticks {
                @let at = y.at(tick.value);
                (rule("grid", (left, at), (right, at)))
                (label(left - 6.0, at + FONT * 0.35, END, "", &tick.label))
            }
            (rule("base", (left, bottom), (right, bottom)))
            @for tick in without_overlap(self.x_ticks.clone(), &x) {
                @let at = x.at(tick.value);
                (rule("base", (at, bottom), (at, bottom + 5.0)))
                // Kept inside the drawing.
                (label(at.min(width - text_width(&tick.label) / 2.0), bottom + 20.0, MIDDLE, "", &tick.label))
            }
            (label((left + right) / 2.0, bottom + 40.0, MIDDLE, "axis", self.x_name))
            @for (style, series) in self.series.iter().enumerate() { (self.line(style, series, &x, &y)) }
        };
        Some(Drawing { markup, height: bottom + BOTTOM })
    }
}

impl LineChart {
    fn line(&self, style: usize, series: &Series, x: &AxisScale, y: &AxisScale) -> Markup {
        let finite = || series.points.iter().filter(|point| point.x.is_finite() && point.y.is_finite());
        let ranges: Vec<_> = finite()
            .filter_map(|point| {
                let (low, high) = point.range.filter(|(low, high)| low.is_finite() && high.is_finite())?;
                Some((x.at(point.x), (y.at(low), y.at(high))))
            })
            .collect();
        let places: Vec<(f64, f64)> = finite().map(|point| (x.at(point.x), y.at(point.y))).collect();
        let marked = if self.markers && !series.computed { 0 } else { places.len().saturating_sub(1) };
        html! {
            @if series.banded { (mark::band(style, &ranges)) }
            @else { @for (x, ends) in ranges { (mark::whisker(style, x, ends)) } }
            (mark::line(style, &places))
            @for place in &places[marked..] { (mark::marker(style, *place)) }
        }
    }

    fn y_ticks(&self) -> Vec<Tick> {
        let values = self.series.iter().flat_map(|series| &series.points).flat_map(|point| {
            let (low, high) = point.range.unwrap_or((point.y, point.y));
            [point.y, low, high]
        });
        let positive = self.y_spacing == Spacing::Log;
        let (low, high) = values
            .filter(|value| value.is_finite() && (*value > 0.0 || !positive))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let ticks = match self.y_spacing {
            Spacing::Linear => round_ticks(0.0, high, 4.0),
            Spacing::Near => round_ticks(low, high, 4.0),
            Spacing::Log => log_ticks(low, high),
        };
        ticks.into_iter().map(|value| Tick { value, label: self.unit.tick(value) }).collect()
    }
}
