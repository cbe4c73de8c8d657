//! Repeats without arms: mean, interval, range and outliers of each cell.

use results::comparison::{Metric, Spread};
use results::{CellValue, Table};

use crate::arrivals;
use crate::numbers::{self, real_cell};
use results::ReportData;
use results::data::levels;

/// The repeats of each cell.
#[must_use]
pub fn repeats(data: &ReportData, metric: Metric) -> Vec<Spread> {
    Spread::of(data.grid_runs(), metric)
}

/// For programs: a line per cell, figures per second, or in µs or (jobs) seconds, as the column `unit`
/// says.
#[must_use]
pub fn spread(found: &[Spread], metric: Metric) -> Table {
    let mut table = Table::new([
        "workload", "cell", "unit", "runs", "invalid", "mean", "low", "high", "least", "most", "outliers",
        "doubt",
    ]);
    for of in found {
        let (summary, interval) = (of.summary(), of.interval());
        let unit = match (metric, of.job) {
            (Metric::Tps, true) => "s",
            (Metric::Tps, false) => "tps",
            (Metric::P50 | Metric::P95 | Metric::P99 | Metric::Cpu, _) => "us",
        };
        let outliers = of.outliers().into_iter();
        let outliers: Vec<serde_json::Value> =
            outliers.map(|(round, value)| serde_json::json!({ "round": round, "value": value })).collect();
        table.push(vec![
            of.cell.workload.clone().into(),
            levels(&of.cell).into(),
            unit.into(),
            (summary.n as u64).into(),
            (of.invalid as u64).into(),
            real_cell(summary.mean),
            real_cell(interval.map(|(low, _)| low)),
            real_cell(interval.map(|(_, high)| high)),
            real_cell(summary.min),
            real_cell(summary.max),
            CellValue::Data(outliers.into()),
            doubt(of).into(),
        ]);
    }
    table
}

/// For people.
#[must_use]
pub fn spread_in_words(found: &[Spread], metric: Metric) -> Table {
    let mut table =
        Table::new(["workload", "cell", "runs", "invalid", "mean [95 %]", "least", "most", "outliers"]);
    table.optional(["invalid"]);
    for of in found {
        let summary = of.summary();
        let words = |value: Option<f64>| value.map_or(numbers::ABSENT.to_owned(), value_in_words(of, metric));
        let interval = of.interval().map(|(low, high)| {
            // A mean of positive values is not below 0, however wide its interval.
            format!(" [{}, {}]", words(Some(low.max(0.0))), words(Some(high)))
        });
        table.push(vec![
            of.cell.workload.clone().into(),
            levels(&of.cell).into(),
            (summary.n as u64).into(),
            (of.invalid as u64).into(),
            (words(summary.mean) + &interval.unwrap_or_default()).into(),
            words(summary.min).into(),
            words(summary.max).into(),
            outliers_in_words(of, metric).into(),
        ]);
    }
    table
}

/// As in the answer: a cell whose load was too much is overloaded, whatever else its runs are suspect for.
fn doubt(of: &Spread) -> Option<String> {
    let overloaded = of.overload.as_ref().map(arrivals::share_of_offered);
    let overloaded = overloaded.map(|share| format!("overloaded ({share})"));
    overloaded.or_else(|| of.suspect.map(|suspect| suspect.words()))
}

/// `round 3 (300)`; `none`.
pub(crate) fn outliers_in_words(of: &Spread, metric: Metric) -> String {
    let value = value_in_words(of, metric);
    let each = of.outliers().into_iter().map(|(round, own)| format!("round {round} ({})", value(own)));
    let each: Vec<String> = each.collect();
    match each.is_empty() {
        true if of.values.len() < 3 => "too few runs".to_owned(),
        true => "none".to_owned(),
        false => each.join(", "),
    }
}

fn value_in_words(of: &Spread, metric: Metric) -> fn(f64) -> String {
    match (metric, of.job) {
        (Metric::Tps, true) => numbers::duration,
        (Metric::Tps, false) => numbers::tps,
        (Metric::P50 | Metric::P95 | Metric::P99 | Metric::Cpu, _) => numbers::latency_us,
    }
}

/// The sentences below the table, for people.
#[must_use]
pub fn below_spread(found: &[Spread], metric: Metric) -> Vec<String> {
    let mut said = vec![format!("{}; no arms, so nothing is compared.", metric.text())];
    for of in found {
        let cell = if found.len() > 1 { format!("{}: ", of.cell.text()) } else { String::new() };
        said.extend(doubt(of).map(|doubt| format!("Doubtful: {cell}{doubt}.")));
    }
    if found.iter().any(|of| of.values.len() < 2) {
        said.push("One run has no interval: the same command again adds a run.".to_owned());
    }
    if found.iter().any(|of| !of.outliers().is_empty()) {
        said.push(
            "Outliers do not fit the other runs (Rosner's test, 5 %); they count in all figures.".to_owned(),
        );
    }
    said
}
