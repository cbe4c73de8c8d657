//! Response times by percentile, on HdrHistogram's axis of nines.

use super::Curve;
use crate::chart::axis::{Spacing, Tick};
use crate::chart::line::{AxisUnit, ChartPoint, LineChart, Series};
use crate::numbers;
use results::cells::Response;
use results::{CellValue, Table};

use crate::sections::verdicts::sentence;

/// Percentiles of the table, and the ticks of the axis.
const QUANTILES: [(f64, &str); 7] = [
    (0.0, "0 %"),
    (0.5, "50 %"),
    (0.9, "90 %"),
    (0.99, "99 %"),
    (0.999, "99.9 %"),
    (0.9999, "99.99 %"),
    (0.99999, "99.999 %"),
];

type ArmResponse<'a> = (&'a str, &'a Response);

/// A line per arm; `None` if nothing was measured.
pub(super) fn chart(curve: &Curve<'_>) -> Option<LineChart> {
    let arms =
        curve.by_arm(|cells| cells.iter().map(|cell| &cell.response).find(|response| response.count > 0));
    let most = arms.iter().map(|(_, response)| response.count).max()?;
    Some(LineChart {
        title: format!("{}: response times with {}", curve.title, curve.most_clients()),
        caption: caption(&arms) + curve.of_started_only(),
        x_name: "percentile",
        y_name: "response time",
        x_ticks: ticks(nines(last_quantile(most))),
        y_spacing: Spacing::Log,
        unit: AxisUnit::Nanoseconds,
        markers: false,
        series: arms.iter().map(series).collect(),
        data: sheet(&arms, most),
    })
}

/// Place of a quantile: the number of nines, so that 90, 99 and 99.9 % are equally far apart.
fn nines(quantile: f64) -> f64 {
    -(1.0 - quantile).log10()
}

/// The last quantile of this many values.
fn last_quantile(count: u64) -> f64 {
    1.0 - 1.0 / count.max(10) as f64
}

fn ticks(last: f64) -> Vec<Tick> {
    let tick = |&(q, label): &(f64, &str)| Tick { value: nines(q), label: label.to_owned() };
    let below = QUANTILES.iter().map(tick).filter(|tick| tick.value < last - 0.25);
    below.chain([Tick { value: last, label: "max".to_owned() }]).collect()
}

fn series((name, response): &ArmResponse<'_>) -> Series {
    let last = last_quantile(response.count);
    let point =
        |&(quantile, ns): &(f64, u64)| ChartPoint { x: nines(quantile.min(last)), y: ns as f64, range: None };
    Series::measured((*name).to_owned(), response.curve.iter().map(point).collect())
}

fn quantile(response: &Response, q: f64) -> String {
    numbers::percentile(response, q)
}

fn caption(arms: &[ArmResponse<'_>]) -> String {
    let one = |(name, response): &ArmResponse<'_>| {
        let (q, most) = if response.count >= 1000 { (0.99, "99 in 100") } else { (0.9, "9 in 10") };
        let text =
            format!("half within {}, {most} within {}", quantile(response, 0.5), quantile(response, q));
        if name.is_empty() { sentence(&text) } else { format!("{name}: {text}") }
    };
    let each: Vec<String> = arms.iter().map(one).collect();
    format!("{}. All rounds together; further right is rarer, lower is better.", each.join("; "))
}

fn sheet(arms: &[ArmResponse<'_>], most: u64) -> Table {
    let mut sheet = Table::captioned("Response time by percentile")
        .text(["percentile"])
        .numbers(arms.iter().map(|(name, _)| if name.is_empty() { "all" } else { name }));
    let mut row = |label: &str, of: &dyn Fn(&Response) -> String| {
        sheet.push(
            [label.into()].into_iter().chain(arms.iter().map(|(_, response)| CellValue::from(of(response)))),
        );
    };
    // At least one value is beyond each.
    for &(q, label) in QUANTILES.iter().filter(|(q, _)| (1.0 - q) * most as f64 >= 0.999) {
        row(label, &|response| quantile(response, q));
    }
    row("max", &|response| quantile(response, 1.0));
    row("values", &|response| numbers::count(response.count));
    sheet
}
