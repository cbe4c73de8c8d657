//! What is printed of an experiment that only does jobs: the phases and amounts of each, or what a probe found.

mod probed;
pub(super) mod quantity;

use ::report::tables::amounts;
use lab::execute::{DoneJob, Outcome, UnstoredJobs};
use results::{CellValue, Store, Table};
use server::home::results_option;
use spec::plan::Plan;
use spec::{Error, Run, shell};
use workloads::probe::Probed;

use super::print;
use crate::exit::{CommandFailure, ExitResult, INPUT_OUTPUT, INVALID, SAME_OR_BETTER};
use crate::options::OutputFormat;
use crate::print::{data, talk};

/// Prints finished jobs, and where they are stored.
pub(super) fn conclude(outcome: &Outcome, plan: &Plan, format: OutputFormat) -> ExitResult {
    let found = outcome.jobs.iter().map(|job| print_one(job, plan, format));
    let found: Vec<Found> = found.collect::<anyhow::Result<_>>()?;
    let which = Store::open_read_only(&outcome.results)?.called(outcome.experiment)?;
    let option = results_option(&outcome.results);
    let which = format!("{}{option}", shell::word(&which));
    let tables = ["jobs", "sizes"].map(|table| format!("pgdyno table {table} -e {which}"));
    let prepared = tables.into_iter().filter(|_| found.contains(&Found::Prepared));
    let probed = found.iter().any(|found| *found != Found::Prepared);
    let to_try: Vec<String> =
        prepared.chain(probed.then(|| format!("pgdyno probe --compare{option}"))).collect();
    let results = outcome.results.display();
    talk(&format!("results: {results}, experiment {} (try: {})", outcome.experiment.0, to_try.join(", ")));
    Ok(if found.contains(&Found::Nothing) { INVALID } else { SAME_OR_BETTER })
}

/// Prints jobs that were done and could not be stored, so that they are not lost; other errors stay.
pub(super) fn print_unstored(error: Error, plan: &Plan, format: OutputFormat) -> anyhow::Error {
    let Some(UnstoredJobs(jobs)) = error.attached() else { return error.into() };
    if let Err(failed) = jobs.iter().try_for_each(|job| print_one(job, plan, format).map(drop)) {
        return failed;
    }
    not_stored(&error)
}

/// The error if a printed result was not stored.
pub(super) fn not_stored(error: &Error) -> anyhow::Error {
    let what = format!("the result above is not stored: {error}");
    CommandFailure::with_code(INPUT_OUTPUT, what, error.hint().map(str::to_owned))
}

#[derive(PartialEq)]
enum Found {
    Prepared,
    Probed,
    /// A probe without any figure.
    Nothing,
}

fn print_one(job: &DoneJob, plan: &Plan, format: OutputFormat) -> anyhow::Result<Found> {
    if let Some(probed) = Probed::of(&job.run) {
        let read_only = plan.content.probe.as_ref().is_some_and(|asked| asked.read_only);
        probed::print(&job.server, &probed, read_only, format)?;
        return Ok(if probed.is_empty() { Found::Nothing } else { Found::Probed });
    }
    print(phases(&job.run), format)?;
    if format.is_for_people() {
        let amounts: Vec<String> =
            amounts(&job.run).iter().map(|(name, amount)| format!("{name} {amount}")).collect();
        data(&format!("\n{}\n", amounts.join(", ")))?;
    }
    Ok(Found::Prepared)
}

/// The phases of a job, and all of it.
fn phases(run: &Run) -> Table {
    let mut table = Table::new(["phase", "item", "ms", "count"]);
    for phase in &run.phases {
        let ms = phase.duration_us as f64 / 1e3;
        table.push(vec![phase.name.clone().into(), phase.item.clone().into(), ms.into(), phase.count.into()]);
    }
    let whole = vec!["all".into(), "".into(), (run.measured_s * 1e3).into(), CellValue::Null];
    table.push(whole);
    table
}
