//! Writes pages made from seeded data, to look at: `cargo run -p pgdyno-report --example sample_page FOLDER`.

#[path = "../tests/fixture/mod.rs"]
mod fixture;

use std::process::ExitCode;

use fixture::{Shape, data, doubt};
use report::{ReportData, html};
use results::{Reason, Validity};

fn main() -> ExitCode {
    let Some(folder) = std::env::args().nth(1) else { return ExitCode::from(64) };
    let mut whole = data(&Shape::default());
    doubt(&mut whole.runs[7], Validity::Invalid, Reason::EmptyResults, "0 rows in 174 transactions");
    doubt(&mut whole.runs[30], Validity::Suspect, Reason::Steal, "4.1 % of CPU time taken by the hypervisor");
    let three = Shape { arms: vec![("stock", 0.0), ("gis", 0.06), ("huge pages", -0.2)], ..Shape::small() };
    let mut one = data(&Shape { arms: vec![], clients: vec![4], rounds: 1, ..Shape::small() });
    one.runs.truncate(1);
    for (name, data) in [("whole", whole), ("three", data(&three)), ("one", one)] {
        let data = ReportData::new(data.experiment, data.host, data.target, data.runs);
        if std::fs::write(format!("{folder}/{name}.html"), html::page(&data)).is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
