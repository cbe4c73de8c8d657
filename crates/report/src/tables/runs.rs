//! Every run with its figures and doubts.

use record::{Run, Validity};
use results::Table;
use results::comparison::Cell;

use super::{levels, real};
use crate::arrivals::{self, InTime};
use crate::data::ReportData;

/// Every run in order of execution, with its validity and doubts. Response times in µs; where a load is open, what became
/// of its arrivals; where there is a promise, how much was late.
#[must_use]
pub fn runs(data: &ReportData) -> Table {
    let mut table =
        Table::new(&["run", "round", "workload", "cell", "arm", "tps", "p99_us", "validity", "doubts"]);
    for run in &data.runs {
        table.push(vec![
            run.sequence.into(),
            run.round.into(),
            run.workload.clone().into(),
            levels(&Cell::of(run)),
            run.arm.clone().into(),
            real(run.tps()),
            real(run.response_us(0.99)),
            validity(run.validity).into(),
            doubts(run).into(),
        ]);
    }
    let of_runs: Vec<_> = data.runs.iter().map(InTime::of).collect();
    arrivals::insert(&mut table, "p99_us", &of_runs);
    table
}

/// A run's validity as a word.
pub(crate) fn validity(of: Validity) -> &'static str {
    match of {
        Validity::Valid => "valid",
        Validity::Suspect => "suspect",
        Validity::Invalid => "invalid",
    }
}

/// A run's doubts with their figures: `throttled: CPU probe 12 % slower; steal: 4 %`.
pub(crate) fn doubts(run: &Run) -> String {
    let each: Vec<String> = run
        .doubts
        .iter()
        .map(|doubt| match doubt.detail.as_str() {
            "" => doubt.reason.text().to_owned(),
            detail => format!("{}: {detail}", doubt.reason.text()),
        })
        .collect();
    each.join("; ")
}
