//! Figures over the age of sessions, for cells in which something changes with it.

use results::aging::{Aging, course_over_age};
use results::comparison::Cell;
use results::data::cell_text;
use results::{CellValue, ReportData, Table};
use spec::{AgingQuantity, Run};

use crate::block::Block;
use crate::chart::axis::{Spacing, Tick, round_ticks};
use crate::chart::line::{AxisUnit, ChartPoint, LineChart, Series};
use crate::numbers;

const CAPTION: &str = "Mean over the lives of the sessions. Age is time at work since a session connected, the warm-up included; the time that \
    an arm was held does not count.";

/// A chart of each quantity that changes with age, a line for each arm; below them what was tested.
pub(super) fn blocks(data: &ReportData) -> Vec<Block> {
    let tested = &data.aging;
    let claimed: Vec<&Aging> = tested.iter().filter(|own| own.is_claimed).collect();
    if claimed.is_empty() {
        return Vec::new();
    }
    let several = tested.iter().any(|own| own.cell != tested[0].cell);
    let mut drawn: Vec<&Aging> = Vec::new();
    for own in claimed {
        if !drawn.iter().any(|other| other.cell == own.cell && other.quantity == own.quantity) {
            drawn.push(own);
        }
    }
    drawn.sort_by_key(|own| own.quantity != AgingQuantity::Cpu);
    let charts = drawn.into_iter().filter_map(|own| chart(data, own, several)).map(Block::from);
    let table = Table { caption: TESTED.to_owned(), ..aging(data) };
    Block::group("charts", charts)
        .into_iter()
        .chain(Block::details("What was tested", vec![table.into()]))
        .collect()
}

const TESTED: &str = "Figures at the beginning and at the end of a life, and the change between them: of the ratio to the base, or of the base on \
    its own. Intervals hold together for all lines.";

fn chart(data: &ReportData, own: &Aging, several: bool) -> Option<LineChart> {
    let (what, y_name, unit, scale) = match own.quantity {
        AgingQuantity::Throughput => ("throughput", "transactions per second", AxisUnit::PerSecond, 1.0),
        AgingQuantity::Cpu => ("server CPU", "server CPU per transaction", AxisUnit::Nanoseconds, 1e3),
        AgingQuantity::Memory => {
            ("memory of backends", "private memory, MB", AxisUnit::Plain, 1.0 / 1_048_576.0)
        }
    };
    let arms: Vec<(&str, Vec<(f64, f64)>)> = data
        .arms()
        .into_iter()
        .flatten()
        .map(|arm| {
            let is_its = |run: &&Run| run.arm.as_deref() == Some(arm) && Cell::of(run) == own.cell;
            (arm, course_over_age(data.grid_runs().filter(is_its), own.quantity))
        })
        .filter(|(_, points)| points.len() > 1)
        .collect();
    let end = arms.iter().flat_map(|(_, points)| points.last()).map(|(age, _)| *age).reduce(f64::max)?;
    let series = |(name, points): &(&str, Vec<(f64, f64)>)| {
        let point = |&(age, value): &(f64, f64)| ChartPoint { x: age, y: scale * value, range: None };
        Series::measured((*name).to_owned(), points.iter().map(point).collect())
    };
    let mut sheet = Table::captioned(format_args!("{what} over age")).numbers(["age, s"]);
    sheet = sheet.numbers(arms.iter().map(|(name, _)| *name));
    let longest = arms.iter().map(|(_, points)| points).max_by_key(|points| points.len())?;
    for (place, (age, _)) in longest.iter().enumerate() {
        let value = |(_, points): &(&str, Vec<(f64, f64)>)| match points.get(place) {
            Some((_, value)) => CellValue::from(unit.text(scale * value)),
            None => numbers::ABSENT.into(),
        };
        sheet.push([numbers::fixed(*age, 1).into()].into_iter().chain(arms.iter().map(value)));
    }
    let of = if several { format!("{}: ", cell_text(&own.cell)) } else { String::new() };
    let tick = |value| Tick { value, label: numbers::figure_short(value) };
    Some(LineChart {
        title: format!("{of}{what} over the age of sessions"),
        caption: CAPTION.to_owned(),
        x_name: "age of the sessions, seconds at work",
        y_name,
        x_ticks: round_ticks(0.0, end, 6.0).into_iter().map(tick).collect(),
        y_spacing: Spacing::Linear,
        unit,
        markers: longest.len() <= 20,
        series: arms.iter().map(series).collect(),
        data: sheet,
    })
}

/// What was tested for a change with the age of sessions: a line for each cell, arm and quantity.
#[must_use]
pub fn aging(data: &ReportData) -> Table {
    let mut table = Table::new([
        "workload",
        "cell",
        "arm",
        "quantity",
        "claimed",
        "first_age_s",
        "last_age_s",
        "first",
        "last",
        "base_first",
        "base_last",
        "change_pct",
        "low_pct",
        "high_pct",
        "lives",
        "rounds",
    ]);
    table.optional(["cell", "base_first", "base_last", "low_pct", "high_pct"]);
    for own in &data.aging {
        let levels = results::data::levels(&own.cell);
        let (change, interval) = own.change_pct();
        table.push([
            (&own.cell.workload).into(),
            Some(levels).filter(|levels| !levels.is_empty()).into(),
            (&own.arm).into(),
            own.quantity.name().into(),
            if own.is_claimed { "yes" } else { "no" }.into(),
            CellValue::Real(own.own.first_age_s),
            CellValue::Real(own.own.last_age_s),
            CellValue::Real(own.own.first),
            CellValue::Real(own.own.last),
            numbers::real_cell(own.of_base.map(|base| base.first)),
            numbers::real_cell(own.of_base.map(|base| base.last)),
            CellValue::Real(change),
            numbers::real_cell(interval.map(|(low, _)| low)),
            numbers::real_cell(interval.map(|(_, high)| high)),
            (own.lives as u64).into(),
            (own.rounds as u64).into(),
        ]);
    }
    table
}
