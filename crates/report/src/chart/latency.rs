//! Response times by percentile, on HdrHistogram's axis of nines.

use stats::Histogram;

use super::Figure;
use super::axis::{Spacing, Tick};
use super::line::{LineChart, Point, Series};
use crate::arrivals;
use crate::data::{Curve, ReportData};
use crate::numbers;
use crate::sheet::{Cell, Sheet};
use crate::words;

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

/// The chart of one curve at its most clients; `None` when nothing was measured.
pub(crate) fn figure(data: &ReportData, title: &str, curve: &Curve<'_>) -> Option<Figure> {
    let curve = curve.at_most_clients();
    let arms: Vec<(String, Histogram)> = data
        .arms()
        .into_iter()
        .map(|arm| (arm.unwrap_or_default().to_owned(), merged(&curve, arm)))
        .filter(|(_, histogram)| !histogram.is_empty())
        .collect();
    let most = arms.iter().map(|(_, histogram)| histogram.count()).max()?;
    let last = nines(1.0 - 1.0 / most.max(10) as f64);
    let clients = curve.clients().last().copied().unwrap_or(0);
    Some(
        LineChart {
            title: format!(
                "{title}: response times with {}",
                numbers::counted(clients as usize, "client", "clients")
            ),
            caption: caption(&arms) + arrivals::caption(&curve.runs),
            x_name: "percentile",
            y_name: "response time",
            x_ticks: ticks(last),
            y_spacing: Spacing::Log,
            y_label: numbers::latency_tick,
            markers: false,
            series: arms.iter().map(|(name, histogram)| series(name, histogram)).collect(),
            data: sheet(&arms),
        }
        .figure(),
    )
}

fn merged(curve: &Curve<'_>, arm: Option<&str>) -> Histogram {
    let mut all = Histogram::new();
    for script in curve.of_arm(arm).flat_map(|run| &run.scripts) {
        all.add(&script.response);
    }
    all
}

/// Place of a quantile: the number of nines, so that 90, 99 and 99.9 % are equally far apart.
fn nines(quantile: f64) -> f64 {
    -(1.0 - quantile).log10()
}

/// Percentiles of the table that `count` values can support: one value at least beyond each.
fn supported(count: u64) -> impl Iterator<Item = &'static (f64, &'static str)> {
    QUANTILES.iter().filter(move |(q, _)| (1.0 - q) * count as f64 >= 0.999)
}

fn ticks(last: f64) -> Vec<Tick> {
    let mut ticks: Vec<Tick> = QUANTILES
        .iter()
        .map(|&(q, label)| Tick { value: nines(q), label: label.to_owned() })
        .filter(|tick| tick.value < last - 0.25)
        .collect();
    ticks.push(Tick { value: last, label: "max".to_owned() });
    ticks
}

fn series(name: &str, histogram: &Histogram) -> Series {
    let most = 1.0 - 1.0 / histogram.count().max(10) as f64;
    let points = histogram
        .curve()
        .into_iter()
        .map(|(quantile, ns)| Point { x: nines(quantile.min(most)), y: ns as f64, range: None })
        .collect();
    Series { name: name.to_owned(), points }
}

fn quantile(histogram: &Histogram, q: f64) -> String {
    histogram.quantile_ns(q).map_or(numbers::ABSENT.to_owned(), |ns| numbers::latency_ns(ns as f64))
}

fn caption(arms: &[(String, Histogram)]) -> String {
    let each: Vec<String> = arms
        .iter()
        .map(|(name, histogram)| {
            let tail = if histogram.count() >= 1000 { (0.99, "99 in 100") } else { (0.9, "9 in 10") };
            let (half, most) = (quantile(histogram, 0.5), quantile(histogram, tail.0));
            let text = format!("half within {half}, {} within {most}", tail.1);
            if name.is_empty() { words::sentence(&text) } else { format!("{name}: {text}") }
        })
        .collect();
    format!("{}. All rounds together; further right is rarer, lower is better.", each.join("; "))
}

fn sheet(arms: &[(String, Histogram)]) -> Sheet {
    let name =
        |(name, _): &(String, Histogram)| if name.is_empty() { "all".to_owned() } else { name.clone() };
    let mut sheet =
        Sheet::new("Response time by percentile").text(["percentile"]).numbers(arms.iter().map(name));
    let most = arms.iter().map(|(_, histogram)| histogram.count()).max().unwrap_or(0);
    for &(q, label) in supported(most) {
        let mut row: Vec<Cell> = vec![label.into()];
        row.extend(arms.iter().map(|(_, histogram)| Cell::from(quantile(histogram, q))));
        sheet.row(row);
    }
    let mut maximum: Vec<Cell> = vec!["max".into()];
    maximum.extend(arms.iter().map(|(_, histogram)| Cell::from(quantile(histogram, 1.0))));
    sheet.row(maximum);
    let mut values: Vec<Cell> = vec!["values".into()];
    values.extend(arms.iter().map(|(_, histogram)| Cell::from(numbers::count(histogram.count()))));
    sheet.row(values);
    sheet
}
