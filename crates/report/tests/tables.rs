//! Tables and the summary of seeded data, as they are printed.

mod fixture;

use fixture::{Shape, data, doubt};
use report::format::{Format, print};
use report::{ReportData, summary, tables};
use results::{Reason, Validity};

fn remade(data: ReportData) -> ReportData {
    ReportData::new(data.experiment, data.host, data.target, data.runs)
}

fn sample() -> ReportData {
    let mut data = data(&Shape { extras: true, ..Shape::small() });
    doubt(&mut data.runs[4], Validity::Invalid, Reason::EmptyResults, "0 rows in 174 transactions");
    remade(data)
}

#[test]
fn every_table_as_text() {
    let data = sample();
    for (name, table) in [
        ("runs", tables::runs(&data)),
        ("cells", tables::cells(&data)),
        ("comparison", tables::comparison(data.throughput.as_ref().expect("two arms"))),
        ("crosstab", tables::crosstab(&data)),
        ("phases", tables::phases(&data)),
        ("sizes", tables::sizes(&data)),
    ] {
        insta::assert_snapshot!(name, print(&table, Format::Text));
    }
}

#[test]
fn tables_of_nothing_are_empty() {
    let mut data = data(&Shape { arms: vec![], ..Shape::small() });
    data.runs.clear();
    let data = remade(data);
    for table in [tables::runs(&data), tables::cells(&data), tables::crosstab(&data), tables::sizes(&data)] {
        assert!(table.rows.is_empty() && !table.columns.is_empty());
    }
}

#[test]
fn every_row_is_as_long_as_its_columns() {
    for arms in [vec![], vec![("stock", 0.0)], vec![("stock", 0.0), ("gis", 0.1), ("huge", -0.1)]] {
        let data = data(&Shape { arms, ..Shape::small() });
        for table in
            [tables::runs(&data), tables::cells(&data), tables::crosstab(&data), tables::sizes(&data)]
        {
            assert!(table.rows.iter().all(|row| row.len() == table.columns.len()));
        }
        for table in data.throughput.iter().map(tables::comparison) {
            assert!(table.rows.iter().all(|row| row.len() == table.columns.len()));
        }
    }
}

#[test]
fn summaries() {
    insta::assert_snapshot!("summary_two_arms", summary::text(&remade(data(&Shape::default()))));
    insta::assert_snapshot!("summary_invalid", summary::text(&sample()));
    let three = Shape { arms: vec![("stock", 0.0), ("gis", 0.06), ("huge", -0.2)], ..Shape::small() };
    insta::assert_snapshot!("summary_three_arms", summary::text(&data(&three)));
    let mut one = data(&Shape { arms: vec![], clients: vec![4], rounds: 1, ..Shape::small() });
    one.runs.truncate(1);
    insta::assert_snapshot!("summary_one_run", summary::text(&remade(one)));
}
