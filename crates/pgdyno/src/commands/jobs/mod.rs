//! What is printed of an experiment that only does jobs: the phases and amounts of each, or what a probe found.

mod probed;
pub(super) mod quantity;

use ::report::Conclusion;
use ::report::numbers::{duration, tps as rate};
use ::report::tables::amounts;
use lab::execute::{DoneJob, Outcome, UnstoredJobs};
use results::{CellValue, Store, Table};
use server::home::results_option;
use spec::plan::Plan;
use spec::{Error, Phase, Run, shell};
use workloads::Preparation;
use workloads::probe::Probed;

use super::{print, print_conclusion};
use crate::exit::{CommandFailure, ExitResult, INPUT_OUTPUT, INVALID, SAME_OR_BETTER};
use crate::options::OutputFormat;
use crate::print::talk;

/// Prints finished jobs, and where they are stored.
pub(super) fn conclude(outcome: &Outcome, plan: &Plan, format: OutputFormat) -> ExitResult {
    let found = outcome.jobs.iter().zip(names(&outcome.jobs, plan));
    let found = found.map(|(job, name)| print_one(job, &name, plan, format));
    let found: Vec<Found> = found.collect::<anyhow::Result<_>>()?;
    let option = results_option(&outcome.results);
    let which = Store::open_read_only(&outcome.results)?.called(outcome.experiment)?;
    let next = match found.iter().any(|found| *found != Found::Prepared) {
        true => format!("pgdyno probe --compare{option}"),
        false => format!("pgdyno table sizes -e {}{option}", shell::word(&which)),
    };
    talk(&format!("results: {} (try: {next})", outcome.results.display()));
    Ok(if found.contains(&Found::Nothing) { INVALID } else { SAME_OR_BETTER })
}

/// Prints jobs that were done and could not be stored, so that they are not lost; other errors stay.
pub(super) fn print_unstored(error: Error, plan: &Plan, format: OutputFormat) -> anyhow::Error {
    let Some(UnstoredJobs(jobs)) = error.attached() else { return error.into() };
    let mut named = jobs.iter().zip(names(jobs, plan));
    if let Err(failed) = named.try_for_each(|(job, name)| print_one(job, &name, plan, format).map(drop)) {
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

/// What each job does: `load region.osm.pbf with osm2pgsql`.
fn names(jobs: &[DoneJob], plan: &Plan) -> Vec<String> {
    let planned = Preparation::of(&plan.content.prepare.jobs);
    let planned = planned.map(|of| of.jobs().iter().map(|job| job.what()).collect::<Vec<_>>());
    let known = planned.ok().filter(|of| of.len() == jobs.len());
    known.unwrap_or_else(|| jobs.iter().map(|job| format!("do {}", job.run.workload)).collect())
}

fn print_one(job: &DoneJob, name: &str, plan: &Plan, format: OutputFormat) -> anyhow::Result<Found> {
    if let Some(probed) = Probed::of(&job.run) {
        let read_only = plan.content.probe.as_ref().is_some_and(|asked| asked.read_only);
        probed::print(&job.server, &probed, read_only, format)?;
        return Ok(if probed.is_empty() { Found::Nothing } else { Found::Probed });
    }
    print_conclusion(&conclusion(name, &job.run), format)?;
    print(if format.is_for_people() { phases_in_words(&job.run) } else { phases(&job.run) }, format)?;
    Ok(Found::Prepared)
}

/// How long a job took, and what it took besides.
fn conclusion(name: &str, run: &Run) -> Conclusion {
    let amounts = amounts(run).into_iter().map(|(name, amount)| vec![name.to_owned(), amount]);
    Conclusion {
        figures: amounts.collect(),
        ..Conclusion::new(format!("It took {} to {name}.", duration(run.measured_s)))
    }
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

/// The same for people: all of it first, and a phase that lies within another one below it, indented.
fn phases_in_words(run: &Run) -> Table {
    let mut table = Table::captioned("Phases:").text(["phase"]).numbers(["time", "objects"]);
    table.push(["all".into(), duration(run.measured_s).into(), "".into()]);
    push_parts(&mut table, &run.phases, None, 1);
    table
}

fn push_parts(table: &mut Table, phases: &[Phase], of: Option<&Phase>, depth: usize) {
    let mut parts: Vec<&Phase> = phases.iter().filter(|phase| outer(phase, phases) == of).collect();
    parts.sort_by_key(|phase| phase.start_us);
    for phase in parts {
        let name = format!("{:1$}{2} {3}", "", 2 * depth, phase.name, phase.item);
        let count = phase.count.map(|count| rate(count as f64)).unwrap_or_default();
        let took = duration(phase.duration_us as f64 / 1e6);
        table.push([name.trim_end().into(), took.into(), count.into()]);
        push_parts(table, phases, Some(phase), depth + 1);
    }
}

/// The shortest phase of which another one is a part: of the same table, or of the whole job. Others only happen at the
/// same time.
fn outer<'p>(phase: &Phase, phases: &'p [Phase]) -> Option<&'p Phase> {
    let end = |phase: &Phase| phase.start_us + phase.duration_us;
    let table = phase.item.split(' ').next().unwrap_or_default();
    let contains = |outer: &&Phase| {
        outer.name != phase.name
            && outer.item == table
            && outer.duration_us > phase.duration_us
            && outer.start_us <= phase.start_us
            && end(phase) <= end(outer)
    };
    phases.iter().filter(contains).min_by_key(|outer| outer.duration_us)
}

#[cfg(test)]
mod tests {
    use spec::PhaseSource;

    use super::*;

    #[test]
    fn a_phase_is_below_the_one_that_it_is_a_part_of() {
        let phase = |name: &str, item: &str, [start_us, duration_us]: [u64; 2]| Phase {
            name: name.into(),
            item: item.into(),
            start_us,
            duration_us,
            count: None,
            source: PhaseSource::Stamped,
        };
        let phases = [
            phase("read", "", [0, 10_000_000]),
            phase("node", "", [0, 4_000_000]),
            phase("table", "points", [10_000_000, 3_000_000]),
            phase("table", "lines", [10_000_000, 8_000_000]),
            phase("index", "points geometry", [11_000_000, 1_000_000]),
        ];
        let mut table = Table::captioned("").text(["phase"]).numbers(["time", "objects"]);
        push_parts(&mut table, &phases, None, 0);
        let names: Vec<CellValue> = table.rows.into_iter().map(|mut row| row.swap_remove(0)).collect();
        let wanted = ["read", "  node", "table points", "  index points geometry", "table lines"];
        assert_eq!(names, wanted.map(CellValue::from));
    }
}
