//! The crosstab of any rows, columns and statistic.

use results::cross::{Cross, CrossRequest, CrossUnit, UnknownName};
use results::{CellValue, ReportData, Table};
use spec::count;
use spec::figures::Unit;

use crate::differences::amount;
use crate::numbers;

/// The table: a level of the rows in each row, and a column for each level of the columns.
///
/// # Errors
/// When a factor, a figure or a level is unknown.
pub fn cross(data: &ReportData, asked: &CrossRequest) -> Result<Table, UnknownName> {
    let cross = results::cross::cross(data, asked)?;
    let mut table = Table::captioned(caption(asked, &cross)).text([asked.rows.as_str()]);
    let only = asked.columns.is_none().then_some(asked.value.as_str());
    let heads = cross.columns.iter().map(String::as_str);
    table = match only {
        Some(value) => table.numbers([value]),
        None => table.numbers(heads),
    };
    let by_row = !cross.medians.is_empty() && !cross.across;
    if by_row {
        table = table.numbers(["median"]);
    }
    let changes = !cross.medians.is_empty();
    let shown = |value: &Option<f64>| {
        value.map_or(CellValue::Null, |value| CellValue::worded(value, text(cross.unit, value, changes), ""))
    };
    for (at, row) in cross.rows.iter().enumerate() {
        let median = cross.medians.get(at).filter(|_| by_row).map(&shown);
        table.push([row.into()].into_iter().chain(cross.values[at].iter().map(&shown)).chain(median));
    }
    if cross.across {
        table.push(["median".into()].into_iter().chain(cross.medians.iter().map(shown)));
    }
    Ok(table)
}

fn caption(asked: &CrossRequest, cross: &Cross) -> String {
    let value = match asked.value.as_str() {
        "tps" => "transactions per second".to_owned(),
        "time" => "time of jobs".to_owned(),
        percentile if cross.unit == CrossUnit::Microseconds => format!("{percentile} of response times"),
        name => spec::figures::row(name).map_or(name.to_owned(), |row| format!("{name} ({})", row.label)),
    };
    let across = asked.columns.iter().map(|columns| format!(", {columns} across"));
    let across = across.collect::<String>();
    let invalid = match cross.invalid {
        0 => String::new(),
        runs => format!("; {} left out", count(runs as u64, "invalid run")),
    };
    let statistic = asked.statistic.words();
    let rows = &asked.rows;
    match &asked.change {
        None => format!("{value}: {statistic}, {rows} down{across}{invalid}"),
        Some(from) => format!(
            "{value}: change of the {statistic} from {from}, {rows} down{across}{invalid}; verdicts and their \
             intervals are in pgdyno compare"
        ),
    }
}

fn text(unit: CrossUnit, value: f64, is_change: bool) -> String {
    match unit {
        _ if is_change => numbers::change(value),
        CrossUnit::Rate => numbers::tps(value),
        CrossUnit::Microseconds => numbers::latency_us(value),
        CrossUnit::Of(Unit::Percent) => format!("{} %", numbers::fixed(value, 1)),
        CrossUnit::Of(Unit::Count) if value.fract() == 0.0 => numbers::count(value as u64),
        CrossUnit::Of(unit) => amount(unit, value),
    }
}
