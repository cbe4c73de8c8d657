//! A plan as a table, for `--dry-run`.

use std::collections::BTreeSet;

use engine::Until;
use results::{CellValue, LongTable, Table};
use spec::plan::{Plan, PlannedRun, SHOWN_APART};

use super::restarts::arms_need_restart;
use super::setups::{Setups, copy_of};
use super::{jobs_of, levels, setups, turns};
use crate::factors::SETTINGS;
use crate::setup::Setup;

/// Columns around the columns of further factors.
const FIRST: [&str; 5] = ["step", "round", "workload", "clients", "rate_per_s"];
const LAST: [&str; 4] = ["arm", "warmup_s", "duration_s", "seed"];

/// A rate as requested: a measured figure would have decimals.
fn rate(asked: Option<f64>) -> CellValue {
    match asked {
        Some(rate) if rate.fract() == 0.0 => CellValue::Int(rate as i64),
        other => other.into(),
    }
}

fn of_clients(run: &PlannedRun, value: CellValue) -> CellValue {
    if run.is_job() { CellValue::Null } else { value }
}

/// Nobody reads more runs than this.
pub const MOST_READ: usize = 1000;

/// One row per step in order: switches of settings, and runs, at most so many; without runs the jobs. People do not see
/// the seed of each run: 19 digits that follow from the plan's.
#[must_use]
pub fn table(plan: &Plan, most: usize) -> LongTable<'_> {
    if plan.content.has_only_jobs() {
        return of_jobs(plan).into();
    }
    let further = further_factors(plan);
    let copy = plan.copies().map(|_| "copy");
    let columns = FIRST.into_iter().chain(further.iter().copied()).chain(copy).chain(LAST);
    let mut table = Table::new(columns);
    table.hide(["seed"]);
    table.optional(["rate_per_s"]);
    LongTable::new(table.columns, move |take| each_step(plan, (&further, most), take))
}

fn each_step(plan: &Plan, (further, most): (&[&str], usize), take: &mut dyn FnMut(&[CellValue])) {
    let has_copies = plan.copies().is_some();
    let width = FIRST.len() + further.len() + usize::from(has_copies) + LAST.len();
    let (mut in_force, mut before, mut setups) = (None, None, Setups::of(plan));
    for run in plan.runs.iter().take(most) {
        if plan.restarts_servers(before.replace(run), run) {
            let mut row = vec![CellValue::Null; width];
            (row[0], row[1]) = ("restart all".into(), run.round.into());
            take(&row);
        }
        let state = plan.content.state_of(run);
        // Arms in turn on one server set their settings per connection.
        let in_turn = || plan.content.compared() == SETTINGS && turns::takes_turns(plan, run);
        let switches = !run.beside && !state.is_empty() && !has_copies && !in_turn();
        if switches && in_force.as_ref() != Some(&state) {
            take(&switch(plan, run, &state, further.len()));
            in_force = Some(state);
        }
        let step = if run.beside { "run beside the grid" } else { "run" };
        let first = [
            CellValue::from(step),
            run.round.into(),
            run.workload.clone().into(),
            of_clients(run, u64::from(run.clients).into()),
            rate(run.rate),
        ];
        let levels = further.iter().map(|key| CellValue::from(run.factors.get(*key).cloned()));
        let setup = setups.without_load(run);
        let [warmup_s, duration_s] = lengths(plan, run, setup);
        let last = [
            run.arm.clone().into(),
            of_clients(run, warmup_s.into()),
            of_clients(run, duration_s.into()),
            run.seed.into(),
        ];
        let copy = has_copies.then(|| CellValue::from(copy_of(plan, run, setup)));
        take(&first.into_iter().chain(levels).chain(copy).chain(last).collect::<Vec<_>>());
    }
}

/// One row per job in order.
fn of_jobs(plan: &Plan) -> Table {
    let mut table = Table::new(["step", "server", "job"]);
    for at in setups::sites(plan) {
        let server = levels::target(&plan.content, &at).called();
        if plan.content.probe.is_some() {
            table.push(["probe", server.as_str(), "probe"].map(CellValue::from));
        }
        for job in jobs_of(levels::preparation(&plan.content, &at)).jobs() {
            table.push(["prepare".into(), CellValue::from(server.as_str()), job.name().into()]);
        }
    }
    table
}

/// Warm-up and measured part, seconds.
fn lengths(plan: &Plan, run: &PlannedRun, setup: &Setup) -> [f64; 2] {
    match setup {
        Setup { warmup, until: Until::Elapsed(length_ns), .. } if plan.content.calibrate.is_some() => {
            [warmup.as_secs_f64(), *length_ns as f64 / 1e9]
        }
        _ => [turns::warmup_s(plan, run, setup), plan.content.measure.duration_s],
    }
}

fn further_factors(plan: &Plan) -> Vec<&str> {
    let keys = plan.runs.iter().flat_map(|run| run.factors.keys()).map(String::as_str);
    // The mean of a changing rate means little.
    let changing = plan.runs.iter().any(|run| run.changing_rate().is_some());
    let apart = |key: &&str| SHOWN_APART.contains(key) && !(changing && *key == "rate");
    let further: BTreeSet<&str> = keys.filter(|key| !apart(key)).collect();
    further.into_iter().collect()
}

fn switch(plan: &Plan, run: &PlannedRun, state: &str, further: usize) -> Vec<CellValue> {
    let step = if arms_need_restart(&plan.content.arms) { "switch, restart" } else { "switch" };
    let mut row = vec![CellValue::Null; FIRST.len() + further + LAST.len()];
    (row[0], row[1]) = (step.into(), run.round.into());
    row[FIRST.len() + further] = state.to_owned().into();
    row
}
