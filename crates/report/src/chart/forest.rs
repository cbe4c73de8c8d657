//! Changes with their intervals beside the band of the margin.

use super::axis::{Scale, Spacing, Tick, round_ticks, without_overlap};
use super::{END, FONT, Figure, MIDDLE, START, WIDTH, fitted, label, rectangle, rule, text_width};
use crate::markup::Markup;
use crate::numbers;
use crate::sheet::Sheet;
use crate::words::Tone;

const ROW: f64 = 26.0;

/// One line of the plot.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) label: String,
    /// Change in percent.
    pub(crate) change: f64,
    /// Its 95 % interval in percent, where there is one.
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) tone: Tone,
    /// Whether it sums up others: drawn as a diamond.
    pub(crate) total: bool,
}

/// What is drawn.
pub(crate) struct Forest {
    pub(crate) title: String,
    pub(crate) caption: String,
    /// Name of the axis, e.g. `change of throughput, gis against stock, %`.
    pub(crate) x_name: String,
    /// Margin in percent.
    pub(crate) margin: f64,
    pub(crate) rows: Vec<Row>,
    pub(crate) data: Sheet,
}

impl Forest {
    /// Draws it; `None` without a finite change.
    pub(crate) fn figure(self) -> Option<Figure> {
        let rows: Vec<&Row> = self.rows.iter().filter(|row| row.change.is_finite()).collect();
        if rows.is_empty() {
            return None;
        }
        let mut drawing = Markup::new();
        let labels: Vec<String> = rows.iter().map(|row| fitted(&row.label, 190.0)).collect();
        let figures: Vec<String> =
            rows.iter().map(|row| numbers::change_with_interval(row.change, row.interval)).collect();
        let widest = |texts: &[String]| texts.iter().map(|text| text_width(text)).fold(0.0, f64::max);
        let left = widest(&labels) + 14.0;
        let right = (WIDTH - widest(&figures) - 16.0).max(left + 120.0);
        let (top, bottom) = (4.0, 4.0 + ROW * rows.len() as f64);
        let ticks = self.ticks(&rows);
        let x = Scale::new(Spacing::Linear, (ticks[0], ticks[ticks.len() - 1]), (left, right));

        let band = (x.at(-self.margin), x.at(self.margin));
        rectangle(&mut drawing, "band", (band.0, top), (band.1 - band.0, bottom - top));
        self.axis(&mut drawing, ticks, &x, (top, bottom), (left, right));
        for (place, ((row, text), figure)) in rows.iter().zip(&labels).zip(&figures).enumerate() {
            let middle = top + ROW * (place as f64 + 0.5);
            label(&mut drawing, left - 12.0, middle + FONT * 0.35, END, weight(row), text);
            label(&mut drawing, right + 14.0, middle + FONT * 0.35, START, weight(row), figure);
            draw(&mut drawing, row, &x, middle);
        }
        Some(Figure {
            title: self.title,
            caption: self.caption,
            height: bottom + 46.0,
            drawing,
            data: self.data,
        })
    }

    fn axis(
        &self,
        out: &mut Markup,
        ticks: Vec<f64>,
        x: &Scale,
        (top, bottom): (f64, f64),
        (left, right): (f64, f64),
    ) {
        let named =
            ticks.into_iter().map(|value| Tick { value, label: numbers::figure_short(value) }).collect();
        for tick in without_overlap(named, x) {
            let at = x.at(tick.value);
            rule(out, if tick.value == 0.0 { "base" } else { "grid" }, (at, top), (at, bottom));
            label(out, at, bottom + 18.0, MIDDLE, "", &tick.label);
        }
        // Held inside the drawing when its middle is near an edge.
        let half = text_width(&self.x_name) / 2.0;
        let middle = ((left + right) / 2.0).clamp(half.min(WIDTH / 2.0), (WIDTH - half).max(WIDTH / 2.0));
        label(out, middle, bottom + 38.0, MIDDLE, "axis", &self.x_name);
    }

    /// The axis holds every interval, but is not stretched beyond four times the changes by a very wide one.
    fn ticks(&self, rows: &[&Row]) -> Vec<f64> {
        let far = rows.iter().map(|row| row.change.abs()).fold(self.margin * 1.5, f64::max) * 4.0;
        let ends = rows.iter().flat_map(|row| {
            let (low, high) = row.interval.unwrap_or((row.change, row.change));
            [row.change, low, high]
        });
        let (low, high) = ends
            .filter(|end| end.is_finite())
            .fold((-self.margin * 1.2, self.margin * 1.2), |(low, high), end| (low.min(end), high.max(end)));
        let low = low.max(-far);
        let mut ticks = round_ticks(low, high.min(far), 5.0);
        if ticks.first().is_some_and(|first| *first > low) {
            ticks.insert(0, low);
        }
        ticks
    }
}

fn weight(row: &Row) -> &'static str {
    if row.total { "strong" } else { "" }
}

fn draw(out: &mut Markup, row: &Row, x: &Scale, y: f64) {
    let at = x.at(row.change);
    let class = row.tone.mark_class();
    if let Some((low, high)) = row.interval {
        rule(out, class, (x.at(low), y), (x.at(high), y));
        rule(out, class, (x.at(low), y - 4.0), (x.at(low), y + 4.0));
        rule(out, class, (x.at(high), y - 4.0), (x.at(high), y + 4.0));
    }
    let shape = if row.total { "M-8 0L0-6L8 0L0 6z" } else { row.tone.shape() };
    out.tag("path")
        .attr("d", shape)
        .attr("transform", format_args!("translate({} {})", super::coordinate(at), super::coordinate(y)))
        .class(class)
        .empty();
}
