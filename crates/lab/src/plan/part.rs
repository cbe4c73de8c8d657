//! Parts of an experiment that may not be available on a machine, and the runs that are left out for it.

use std::collections::{BTreeMap, BTreeSet};

use spec::plan::{Decision, Facts, Needed, NotRun, Plan, PlannedRun, Scheme};
use spec::{Class, Error};

use super::{calibration, setups};
use crate::setup::Server;

/// The server of a calibration, as a part that may not be available.
pub(crate) const CALIBRATED: &str = "the server";

/// The server of a run, as text.
pub(crate) fn of_server(plan: &Plan, run: &PlannedRun) -> String {
    match setups::setup(plan, run).server {
        Server::Sink => "the sink".to_owned(),
        Server::Target(_) if plan.content.calibrate.is_some() => CALIBRATED.to_owned(),
        Server::Target(at) => at.template().to_string(),
    }
}

/// The levels of a run, without its clients, as text.
pub(crate) fn of_cell(plan: &Plan, run: &PlannedRun) -> String {
    if plan.content.calibrate.is_some() {
        return calibration::needs_words(run);
    }
    let arm = run.arm.iter().map(|arm| format!("{} {arm}", plan.content.compared()));
    let cell = run.factors.iter().filter(|(key, _)| *key != "clients");
    let levels = cell.map(|(key, level)| format!("{key} {level}"));
    levels.chain(arm).collect::<Vec<_>>().join(", ")
}

/// The arm of a run, as text; `None` if nothing is compared.
pub(crate) fn of_arm(plan: &Plan, run: &PlannedRun) -> Option<String> {
    Some(format!("{} {}", plan.content.compared(), run.arm.as_ref()?))
}

/// Whether something is left to compare without one of the arms, or without one of its cells.
pub(crate) fn may_lack_an_arm(plan: &Plan) -> bool {
    // Levels that are set by hand are measured one after the other, so no other arm is available.
    if plan.content.compare.is_none() || plan.content.scheme == Scheme::Sets {
        return false;
    }
    let of_grid = || plan.runs.iter().filter(|run| !run.beside);
    let arms: BTreeSet<_> = of_grid().map(|run| &run.arm).collect();
    let cells: BTreeSet<_> = of_grid().map(|run| of_cell(plan, run)).collect();
    arms.len() > 2 || cells.len() > arms.len()
}

/// Why a run is left out: its arm, or that in its cell, failed the checks.
fn failed(plan: &Plan, facts: &Facts, run: &PlannedRun) -> Option<NotRun> {
    let mut parts = of_arm(plan, run).into_iter().chain([of_cell(plan, run)]);
    parts.find_map(|what| Some(NotRun { why: facts.failed(&what)?.to_owned(), what }))
}

/// Leaves out the runs that are not possible, until what they need is found.
pub(super) fn leave_out(plan: &mut Plan, facts: &Facts) {
    let parts = |run: &PlannedRun| [of_server(plan, run), of_cell(plan, run)];
    let is_early = |run: &&PlannedRun| {
        parts(run).iter().all(|part| {
            facts.missing(part).is_none() && facts.found_from(part).is_none_or(|from| from <= run.round)
        })
    };
    let block = |run: &PlannedRun| (run.round, run.factors.clone());
    // Blocks that were measured when a later arm was not available.
    let begun: BTreeSet<_> = plan.runs.iter().filter(is_early).map(block).collect();
    let may_fail = may_lack_an_arm(plan);
    let missing = |run: &PlannedRun| {
        let failed = failed(plan, facts, run).filter(|_| may_fail);
        failed.or_else(|| {
            parts(run).into_iter().find_map(|what| {
                if let Some(why) = facts.missing(&what) {
                    let why = why.to_owned();
                    return Some(NotRun { what, why });
                }
                let from = facts
                    .found_from(&what)
                    .filter(|from| run.round < *from && begun.contains(&block(run)))?;
                let why = format!("rounds before {from} were measured when it was not available");
                Some(NotRun { what, why })
            })
        })
    };
    let found: Vec<Option<NotRun>> = plan.runs.iter().map(missing).collect();
    let unique: BTreeSet<NotRun> = found.iter().flatten().cloned().collect();
    let is_found =
        |run: &PlannedRun| facts.was_found(&of_server(plan, run)) && facts.was_found(&of_cell(plan, run));
    // A calibration never goes on, so what is missing stays missing.
    let is_missing = |run: &PlannedRun| parts(run).iter().any(|part| facts.missing(part).is_some());
    let is_known = |run: &PlannedRun| is_found(run) || plan.content.calibrate.is_some() && is_missing(run);
    let is_open = may_fail && !facts.are_checked();
    plan.decisions.left_out = match plan.runs.iter().all(is_known) {
        true if is_open => Decision::open(
            unique.into_iter().collect(),
            "an arm that fails its checks is left out",
            [Needed::Checks],
        ),
        true if unique.is_empty() => Decision::decided(Vec::new(), "all of it can be run here"),
        true if plan.content.calibrate.is_some() => {
            Decision::decided(unique.into_iter().collect(), "a calibration measures what this host has")
        }
        true => Decision::decided(unique.into_iter().collect(), "a pair is of one time"),
        false => Decision::open(
            unique.into_iter().collect(),
            "what is not available is left out until it is",
            [Some(Needed::Programs), is_open.then_some(Needed::Checks)].into_iter().flatten(),
        ),
    };
    if found.iter().all(Option::is_none) {
        return;
    }
    let mut kept = found.iter().map(Option::is_none);
    plan.keep(|_| kept.next().unwrap_or(true));
    if plan.content.compare.is_some() && plan.content.scheme != Scheme::Sets {
        // A base run without another arm to compare with is useless.
        let cell = |run: &PlannedRun| (run.round, run.factors.clone());
        let mut arms: BTreeMap<_, usize> = BTreeMap::new();
        plan.runs.iter().for_each(|run| *arms.entry(cell(run)).or_default() += 1);
        plan.keep(|run| run.beside || arms[&cell(run)] > 1);
    }
}

/// Checks that runs are left.
///
/// # Errors
/// [`Class::Missing`] if no run is left or, for a comparison, nothing to compare.
pub fn check_left(plan: &Plan) -> Result<(), Error> {
    if plan.not_run().is_empty() {
        return Ok(());
    }
    nothing_left(plan).map_or(Ok(()), |what| {
        let why = plan.not_run().iter().map(|NotRun { what, why }| format!("not run: {what}: {why}"));
        let told: Vec<String> = std::iter::once(what.to_owned()).chain(why).collect();
        Err(Error::new(Class::Missing, told.join("\n")))
    })
}

fn nothing_left(plan: &Plan) -> Option<&'static str> {
    let arms: BTreeSet<&String> = plan.runs.iter().filter_map(|run| run.arm.as_ref()).collect();
    match &plan.content.compare {
        _ if plan.runs.is_empty() => Some("nothing of this experiment can be run here"),
        Some(compare) if !arms.contains(&compare.base) => Some("the base arm cannot be run here"),
        Some(_) if arms.len() < 2 => Some("there is only one arm that can be run here"),
        _ => None,
    }
}
