//! Changes with their intervals and the band of the margin, on an axis of ratios: twice and half are
//! equally far from no change, and nothing can be below -100 %.

use maud::{Markup, html};
use results::Table;

use super::axis::{AxisScale, Spacing, Tick, ratio_ticks};
use super::{
    Anchor, Chart, Drawing, END, FONT, LINE, MIDDLE, START, WIDE, label, labels, rectangle, rule, shape,
    text_width, widest, wrapped,
};
use crate::compared::Tone;
use crate::numbers;

/// Height of a row without its lines of text.
const ROW: f64 = 10.0;
/// Widest names and figures; wider ones are broken into lines.
const NAMES: f64 = 215.0;
const FIGURES: f64 = 185.0;
/// Narrowest plot between names and figures.
const LEAST_PLOT: f64 = 180.0;
/// Space at both sides of the plot, in which arrows end.
const GAP: f64 = 14.0;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ForestRow {
    pub(crate) label: String,
    /// In percent.
    pub(crate) change: f64,
    /// Its 95 % interval in percent, if there is one.
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) tone: Tone,
    /// Whether it summarises others: drawn as a diamond.
    pub(crate) total: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Forest {
    pub(crate) title: String,
    pub(crate) caption: String,
    /// Name of the axis, e.g. `change of throughput against stock`.
    pub(crate) x_name: String,
    /// Margin in percent.
    pub(crate) margin: f64,
    pub(crate) rows: Vec<ForestRow>,
    pub(crate) data: Table,
}

struct Placed<'a> {
    row: &'a ForestRow,
    name: Words,
    figure: Words,
    /// Height of the interval and its mark.
    middle: f64,
}

struct Words {
    lines: Vec<String>,
    x: f64,
    middle: f64,
    anchor: Anchor,
}

struct Layout<'a> {
    rows: Vec<Placed<'a>>,
    left: f64,
    right: f64,
    bottom: f64,
}

const TOP: f64 = 4.0;

impl<'a> Layout<'a> {
    fn of(rows: &[&'a ForestRow], width: f64) -> Self {
        if width < NAMES + FIGURES + LEAST_PLOT {
            Self::above(rows, width)
        } else {
            Self::beside(rows, width)
        }
    }

    /// Names to the left of the plot, figures to its right.
    fn beside(rows: &[&'a ForestRow], width: f64) -> Self {
        let texts: Vec<_> = rows.iter().map(|row| (wrapped(&row.label, NAMES), figure_lines(row))).collect();
        let left = widest(texts.iter().flat_map(|(name, _)| name)) + GAP + 6.0;
        let right = width - widest(texts.iter().flat_map(|(_, figure)| figure)) - GAP - 6.0;
        let mut bottom = TOP;
        let placed = |(row, (name, figure)): (&&'a ForestRow, (Vec<String>, Vec<String>))| {
            let height = ROW + LINE * name.len().max(figure.len()) as f64;
            bottom += height;
            let middle = bottom - height / 2.0;
            let words = |lines, x, anchor| Words { lines, x, middle, anchor };
            Placed {
                row,
                name: words(name, left - GAP - 2.0, END),
                figure: words(figure, right + GAP + 2.0, START),
                middle,
            }
        };
        let rows = rows.iter().zip(texts).map(placed).collect();
        Self { rows, left, right, bottom }
    }

    /// On a phone: name and figure above each interval.
    fn above(rows: &[&'a ForestRow], width: f64) -> Self {
        let mut bottom = TOP;
        let placed = |row: &&'a ForestRow| {
            let (name, figure) = (wrapped(&row.label, width), vec![figure_lines(row).join(" ")]);
            let last = name.last().map_or(0.0, |line| text_width(line));
            let beside = last + widest(&figure) + GAP <= width;
            let names_end = bottom + LINE * name.len() as f64;
            let figures_end = if beside { names_end } else { names_end + LINE };
            let top = std::mem::replace(&mut bottom, figures_end + ROW * 2.6);
            Placed {
                row,
                name: Words { lines: name, x: 0.0, middle: f64::midpoint(top, names_end), anchor: START },
                figure: Words { lines: figure, x: width, middle: figures_end - LINE / 2.0, anchor: END },
                middle: figures_end + ROW,
            }
        };
        let rows = rows.iter().map(placed).collect();
        Self { rows, left: GAP, right: width - GAP, bottom }
    }
}

fn ratio(percent: f64) -> f64 {
    (1.0 + percent / 100.0).max(0.0)
}

impl Forest {
    /// The rows with a finite place on an axis of ratios.
    fn drawable(&self) -> Vec<&ForestRow> {
        self.rows.iter().filter(|row| row.change.is_finite() && ratio(row.change) > 0.0).collect()
    }
}

impl Chart for Forest {
    fn title(&self) -> &str {
        &self.title
    }

    fn caption(&self) -> String {
        let rows = self.drawable();
        let ends = self.ends(&rows);
        let clipped = rows.iter().any(|row| row.interval.is_some_and(|interval| goes_beyond(interval, ends)));
        let arrows = if clipped { " An arrow: the interval goes on, to the figure beside it." } else { "" };
        format!("{}{arrows}", self.caption)
    }

    fn data(&self) -> &Table {
        &self.data
    }

    fn width(&self) -> f64 {
        WIDE
    }

    /// `None` without a finite change.
    fn draw(&self, width: f64) -> Option<Drawing> {
        let rows = self.drawable();
        if rows.is_empty() {
            return None;
        }
        let Layout { rows: placed, left, right, bottom } = Layout::of(&rows, width);
        let (ticks, ends) = (self.ticks(&rows), self.ends(&rows));
        let x = AxisScale::new(Spacing::Log, ends, (left, right));
        let band = (x.at(ratio(-self.margin)), x.at(ratio(self.margin)));
        let (axis, height) = self.axis(ticks, &x, bottom, (left, right), width);
        let markup = html! {
            (rectangle("band", (band.0, TOP), (band.1 - band.0, bottom - TOP)))
            (axis)
            @for Placed { row, name, figure, middle } in &placed {
                @for words in [name, figure] {
                    @let weight = if row.total { "strong" } else { "" };
                    (labels(words.x, words.middle, words.anchor, weight, &words.lines))
                }
                (interval_and_mark(row, &x, ends, *middle))
            }
        };
        Some(Drawing { markup, height })
    }
}

impl Forest {
    fn axis(
        &self,
        ticks: Vec<f64>,
        x: &AxisScale,
        bottom: f64,
        (left, right): (f64, f64),
        width: f64,
    ) -> (Markup, f64) {
        let factors = ticks.iter().any(|tick| numbers::is_factor(percent(*tick)));
        let named = |value: f64| {
            let text = numbers::change_tick(percent(value));
            let unit = if factors && value != 1.0 && !numbers::is_factor(percent(value)) { " %" } else { "" };
            Tick { value, label: format!("{text}{unit}") }
        };
        let lines = wrapped(&format!("{}{}", self.x_name, if factors { "" } else { ", %" }), width);
        // Kept inside the drawing near an edge.
        let half = widest(&lines) / 2.0;
        let middle = f64::midpoint(left, right).min(width - half).max(half);
        let lowest = bottom + 38.0 + LINE * (lines.len() as f64 - 1.0);
        let drawing = html! {
            (rule("base", (x.at(1.0), TOP), (x.at(1.0), bottom)))
            @for tick in apart(ticks.into_iter().map(named).collect(), x) {
                @let at = x.at(tick.value);
                @if tick.value != 1.0 { (rule("grid", (at, TOP), (at, bottom))) }
                // Kept inside the drawing.
                @let half = text_width(&tick.label) / 2.0;
                (label(at.min(width - half).max(half), bottom + 18.0, MIDDLE, "", &tick.label))
            }
            (labels(middle, f64::midpoint(bottom + 38.0, lowest) - FONT * 0.35, MIDDLE, "axis", &lines))
        };
        (drawing, lowest + 8.0)
    }

    /// First and last value of the axis, as ratios.
    fn ends(&self, rows: &[&ForestRow]) -> (f64, f64) {
        let ticks = self.ticks(rows);
        (ticks.first().copied().unwrap_or(1.0), ticks.last().copied().unwrap_or(1.0))
    }

    /// The axis covers every change, and every interval up to the range of the changes further on each
    /// side.
    fn ticks(&self, rows: &[&ForestRow]) -> Vec<f64> {
        let margin = (ratio(-self.margin).max(0.5).ln() * 1.2, ratio(self.margin).ln() * 1.2);
        let (low, high) = rows
            .iter()
            .map(|row| ratio(row.change).ln())
            .fold(margin, |(low, high), change| (low.min(change), high.max(change)));
        let reach = (high - low).max(2.0 * (margin.1 - margin.0));
        let (first, last) = rows
            .iter()
            .filter_map(|row| row.interval)
            .map(|(low, high)| (ratio(low).ln(), ratio(high).ln()))
            .fold((low, high), |(first, last), (low, high)| (first.min(low), last.max(high)));
        ratio_ticks(first.max(low - reach).exp(), last.min(high + reach).exp())
    }
}

fn percent(ratio: f64) -> f64 {
    100.0 * (ratio - 1.0)
}

/// Change and interval in one line, or in two if that is too wide.
fn figure_lines(row: &ForestRow) -> Vec<String> {
    let (change, interval) = numbers::change_and_interval(row.change, row.interval);
    match interval {
        Some(interval) if text_width(&format!("{change} {interval}")) > FIGURES => vec![change, interval],
        Some(interval) => vec![format!("{change} {interval}")],
        None => vec![change],
    }
}

/// Ticks whose labels do not touch: no change first, then from the ends inwards.
fn apart(ticks: Vec<Tick>, x: &AxisScale) -> Vec<Tick> {
    const SPACE: f64 = 10.0;
    let last = ticks.len().saturating_sub(1);
    let rank = |at: usize, tick: &Tick| if tick.value == 1.0 { 0 } else { 1 + at.min(last - at) };
    let mut ranked: Vec<(usize, Tick)> =
        ticks.into_iter().enumerate().map(|(at, tick)| (rank(at, &tick), tick)).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let mut kept: Vec<Tick> = Vec::new();
    for (_, tick) in ranked {
        let touches = |other: &Tick| {
            (x.at(other.value) - x.at(tick.value)).abs()
                < (text_width(&other.label) + text_width(&tick.label)) / 2.0 + SPACE
        };
        if !kept.iter().any(touches) {
            kept.push(tick);
        }
    }
    kept
}

fn goes_beyond((low, high): (f64, f64), (first, last): (f64, f64)) -> bool {
    ratio(low) < first || ratio(high) > last
}

/// The interval and the mark; an end outside the axis is an arrow.
fn interval_and_mark(row: &ForestRow, x: &AxisScale, (first, last): (f64, f64), y: f64) -> Markup {
    let class = row.tone.mark_class();
    let end = |end: f64, is_beyond: bool, arrow: &'static str| {
        if is_beyond {
            shape(class, arrow, (x.at(end), y))
        } else {
            rule(class, (x.at(end), y - 4.0), (x.at(end), y + 4.0))
        }
    };
    let mark = if row.total { "M-8 0L0-6L8 0L0 6z" } else { row.tone.shape() };
    html! {
        @if let Some((low, high)) = row.interval.map(|(low, high)| (ratio(low), ratio(high))) {
            (rule(class, (x.at(low), y), (x.at(high), y)))
            (end(low, low < first, "M0-4.5L-8 0L0 4.5z"))
            (end(high, high > last, "M0-4.5L8 0L0 4.5z"))
        }
        (shape(class, mark, (x.at(ratio(row.change)), y)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::SLIM;
    use super::*;

    /// Label, change and interval.
    type Line<'a> = (&'a str, f64, Option<(f64, f64)>);

    fn drawn(rows: &[Line<'_>]) -> String {
        let rows = rows
            .iter()
            .map(|(label, change, interval)| ForestRow {
                label: (*label).to_owned(),
                change: *change,
                interval: *interval,
                tone: Tone::Unclear,
                total: false,
            })
            .collect();
        let forest = Forest {
            title: "t".into(),
            caption: "c.".into(),
            x_name: "change of throughput against stock".into(),
            margin: 3.0,
            rows,
            data: Table::captioned("d"),
        };
        let drawings = [WIDE, SLIM].map(|width| forest.draw(width).expect("changes to draw").markup.0);
        assert!(
            drawings
                .iter()
                .all(|drawing| drawing.matches(ARROW).count() == drawings[0].matches(ARROW).count())
        );
        let [broad, _] = drawings;
        broad + &forest.caption()
    }

    const ARROW: &str = "M0-4.5L8 0L0 4.5z";
    const CAPS: &str = "class=\"v-unclear\"";

    /// Regression: an interval to +193 % was drawn with an end cap at +75 %.
    #[test]
    fn a_clipped_interval_ends_in_an_arrow() {
        let clipped = drawn(&[("a", 5.0, Some((-3.0, 193.0))), ("b", 1.0, Some((-1.0, 3.0)))]);
        assert_eq!(clipped.matches(ARROW).count(), 1);
        assert!(clipped.contains("+193.0") || clipped.contains("+193"), "the true figure stands beside it");
        assert!(clipped.contains("An arrow"));
        // Two lines, with one cap and with two; two marks and an arrow.
        assert_eq!(clipped.matches(CAPS).count(), 2 + 3 + 3);
        let whole = drawn(&[("a", 5.0, Some((3.0, 7.0)))]);
        assert!(!whole.contains(ARROW) && !whole.contains("An arrow"));
    }

    /// Regression: an axis of changes reached -2,000 %.
    #[test]
    fn no_axis_goes_below_minus_a_hundred_percent() {
        for rows in [
            &[("a", 5088.0, Some((-99.9, 90_000.0)))][..],
            &[("a", -99.0, Some((-99.999, 40.0))), ("b", 5088.0, Some((3700.0, 7000.0)))],
            &[("a", 12.0, Some((-100.0, f64::INFINITY)))],
            &[("a", -60.0, Some((-80.0, 300.0)))],
        ] {
            let text = drawn(rows);
            for label in
                text.split('>').filter_map(|piece| piece.split_once("</text").map(|(label, _)| label))
            {
                let number = label.trim_end_matches(" %").replace(',', "");
                if let Ok(percent) = number.parse::<f64>() {
                    assert!(percent >= -100.0, "{label}");
                }
            }
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        }
    }

    /// Regression: names were cut with an ellipsis, figures by the edge.
    #[test]
    fn names_and_figures_are_whole() {
        let name =
            "the reporting query with every join that we could think of, scale 1000, zoom 14, 16 clients";
        let text = drawn(&[(name, 12.0, Some((-99.98, f64::INFINITY)))]);
        assert!(!text.contains('…'));
        let words: Vec<&str> = name.split(' ').collect();
        assert!(words.iter().all(|word| text.contains(word)));
        assert!(text.contains(">+12.0 %<") && text.contains(">[-99.98, over 1,000,000]<"), "{text}");
    }
}
