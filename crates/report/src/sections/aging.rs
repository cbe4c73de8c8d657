//! Figures over the age of sessions, for cells in which something changes with it.

use results::aging::{Aging, LifeEnds, course_over_age};
use results::data::cell_text;
use results::{CellValue, ReportData, Table};
use spec::AgingQuantity;

use crate::block::Block;
use crate::chart::axis::{Spacing, Tick, round_ticks};
use crate::chart::line::{AxisUnit, ChartPoint, LineChart, Series};
use crate::numbers;

const CAPTION: &str = "Mean over the lives of the sessions. Age is time at work since a session connected, the warm-up included; the time that \
    an arm was held does not count.";

/// A chart of each quantity that changes with age, a line for each arm; below them what was tested.
pub(super) fn blocks(data: &ReportData) -> Vec<Block> {
    let tested = data.aging();
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
    Block::group("charts", charts)
        .into_iter()
        .chain(Block::details("What was tested", vec![tests(data).into()]))
        .collect()
}

const TESTED: &str = "First and last are means over the first and the last tenth of a life. \"By the ends\" is their change, beyond that of the \
    base; \"by all points\" is the change by a fit through the whole life, which is what is tested. They differ where the course is no line \
    or the host disturbed an end. CPU is the server's per transaction, memory the private memory of the backends. Intervals hold together \
    for all lines.";

/// What was tested, for people; empty without any.
#[must_use]
pub fn aging_in_words(data: &ReportData) -> Vec<Block> {
    let table = tests(data);
    if table.rows.is_empty() { Vec::new() } else { vec![table.into()] }
}

fn tests(data: &ReportData) -> Table {
    let several = data.aging().iter().any(|own| own.cell != data.aging()[0].cell);
    let ages = || data.aging().iter().flat_map(|own| [own.own.first_age_s, own.own.last_age_s]);
    let [least, most] = [ages().reduce(f64::min), ages().reduce(f64::max)].map(Option::unwrap_or_default);
    let caption =
        format!("From {} to {} of age. {TESTED}", numbers::duration(least), numbers::duration(most));
    let mut table = Table::captioned(caption)
        .text(several.then_some("cell"))
        .text(["arm", "quantity"])
        .numbers(["arm: first → last", "base: first → last", "by the ends", "by all points [95 %]"])
        .text(["claimed"]);
    for own in data.aging() {
        let ends = |of: LifeEnds| {
            let [first, last] = [of.first, of.last].map(|value| written(own.quantity, value));
            CellValue::from(format!("{first} → {last}"))
        };
        let what = match own.quantity {
            AgingQuantity::Throughput => "throughput",
            AgingQuantity::Cpu => "CPU",
            AgingQuantity::Memory => "memory",
        };
        let row = [
            own.arm.clone().into(),
            what.into(),
            ends(own.own),
            own.of_base.map_or(numbers::ABSENT.into(), ends),
            by_ends(own).into(),
            by_all_points(own).into(),
            if own.is_claimed { "yes" } else { "no" }.into(),
        ];
        table.push(several.then(|| cell_text(&own.cell).into()).into_iter().chain(row));
    }
    table
}

fn written(quantity: AgingQuantity, value: f64) -> String {
    match quantity {
        AgingQuantity::Throughput => numbers::tps(value),
        AgingQuantity::Cpu => numbers::latency_us(value),
        AgingQuantity::Memory => numbers::bytes(value.max(0.0).round() as u64),
    }
}

/// Memory grows by addition: bytes, with a sign.
fn signed_bytes(bytes: f64) -> String {
    let sign = match bytes.round() {
        0.0 => "",
        ..0.0 => "-",
        _ => "+",
    };
    format!("{sign}{}", numbers::bytes(bytes.abs().round() as u64))
}

fn by_ends(own: &Aging) -> String {
    match own.quantity {
        AgingQuantity::Memory => {
            let grown = |of: LifeEnds| of.last - of.first;
            signed_bytes(grown(own.own) - own.of_base.map_or(0.0, grown))
        }
        AgingQuantity::Throughput | AgingQuantity::Cpu => {
            let ratio = |of: LifeEnds| of.last / of.first;
            numbers::change(100.0 * (ratio(own.own) / own.of_base.map_or(1.0, ratio) - 1.0))
        }
    }
}

/// Of memory, a share of the base's or of what it began with, as bytes.
fn by_all_points(own: &Aging) -> String {
    let (change, interval) = own.change_pct();
    match own.quantity {
        AgingQuantity::Memory => {
            let of = own.of_base.map_or(own.own.first, |base| base.first);
            let bytes = |pct: f64| signed_bytes(of * pct / 100.0);
            let interval = interval.map(|(low, high)| format!(" [{}, {}]", bytes(low), bytes(high)));
            format!("{}{}", bytes(change), interval.unwrap_or_default())
        }
        AgingQuantity::Throughput | AgingQuantity::Cpu => numbers::change_with_interval(change, interval),
    }
}

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
            let own_runs = data.runs_of(&own.cell).filter(|run| run.arm.as_deref() == Some(arm));
            (arm, course_over_age(own_runs, own.quantity))
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

/// What was tested for a change with the age of sessions: a line for each cell, arm and quantity, for programs. The
/// change is by a fit through the whole life; of memory it is a share of the base's, or of what the base began with.
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
    for own in data.aging() {
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

#[cfg(test)]
mod tests {
    use results::comparison::Cell;
    use stats::Estimate;

    use super::*;

    fn aging(quantity: AgingQuantity, own: [f64; 2], base: [f64; 2], change: f64) -> Aging {
        let ends = |[first, last]: [f64; 2]| LifeEnds { first, last, first_age_s: 1.0, last_age_s: 11.0 };
        Aging {
            cell: Cell { workload: "reads".into(), factors: [].into() },
            arm: "new".into(),
            quantity,
            own: ends(own),
            of_base: Some(ends(base)),
            change: Estimate { log_ratio: change, standard_error: None, df: 3.0, n: 4, lines: 1 },
            is_claimed: false,
            lives: 1,
            rounds: 4,
            is_kept: true,
            changes_data: false,
            clients: 4,
        }
    }

    /// A row had 16.4 MB, 219 MB, and a change of "32 times"; another had ends that fell by 3 % and a change of +8 %.
    #[test]
    fn changes_agree_with_the_ends_in_their_row() {
        let leak = aging(AgingQuantity::Memory, [8e6, 20e6], [8e6, 9e6], 1.4);
        assert_eq!(by_ends(&leak), "+10.5 MB");
        assert_eq!(by_all_points(&leak), "+10.7 MB");
        let none = aging(AgingQuantity::Memory, [8e6, 8e6], [8e6, 8e6], 0.0);
        assert_eq!(by_ends(&none), "0 bytes");
        let tps = aging(AgingQuantity::Throughput, [1000.0, 1200.0], [1000.0, 1250.0], 0.08);
        assert_eq!((by_ends(&tps), by_all_points(&tps)), ("-4.0 %".into(), "+8.3 %".into()));
    }
}
