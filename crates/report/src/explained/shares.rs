//! Where the time of explained transactions goes, in short: a line for each arm and script.

use results::{CellValue, Table};
use spec::StatementPart;

use super::Explained;
use crate::numbers::real_cell;
use results::ReportData;
use results::data::levels;

/// The median share of each part, with the median of the whole; [`plans`](super::plans) has all figures
/// with their spread.
#[must_use]
pub fn plan_shares(data: &ReportData) -> Table {
    let mut all = Explained::all(data);
    // Zooms ascend, as in the table of their times.
    all.sort_by_key(|own| (own.cell.clone(), own.map.as_ref().and_then(|map| map.zoom)));
    let parts: Vec<StatementPart> = StatementPart::ALL
        .into_iter()
        .filter(|part| all.iter().any(|own| own.part(*part).is_some()))
        .collect();
    let mut table = Table::new(["workload", "cell", "arm", "script", "median_ms"])
        .named(parts.iter().map(|part| format!("{}_pct", part.name())));
    table.optional(["arm"]);
    for own in &all {
        let shares = parts.iter().map(|part| real_cell(own.part(*part).map(|own| 100.0 * own.share.median)));
        let head: [CellValue; 5] = [
            own.cell.workload.as_str().into(),
            levels(&own.cell).into(),
            own.arm.clone().into(),
            own.script.as_str().into(),
            real_cell(Some(own.total_ms.median)),
        ];
        table.push(head.into_iter().chain(shares));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explained::tests::{data, run};

    #[test]
    fn a_line_for_each_arm_and_a_column_for_each_part_that_there_is() {
        let index = (StatementPart::Index, "Index Scan", "i");
        let scan = (StatementPart::SeqScan, "Seq Scan", "");
        let table = plan_shares(&data(vec![run("b", 1, index, &[1.0]), run("a", 1, scan, &[1.0, 2.0, 9.0])]));
        let has = |name: &str| table.at(name);
        let [scans, indexes] =
            ["seq_scan_pct", "index_pct"].map(|name| has(name).unwrap_or_else(|| panic!("{table:?}")));
        assert_eq!((has("joins_pct"), table.rows.len()), (None, 2));
        // The base first; the median of the three, twice as long with its planning.
        assert_eq!(table.rows[0][2..5], ["a".into(), "a.sql".into(), CellValue::Real(2.2)]);
        let share =
            |value: &CellValue| matches!(value, CellValue::Real(share) if (share - 100.0 / 1.1).abs() < 1e-9);
        assert!(share(&table.rows[0][scans]) && share(&table.rows[1][indexes]), "{table:?}");
        assert_eq!((&table.rows[0][indexes], &table.rows[1][scans]), (&CellValue::Null, &CellValue::Null));
    }
}
