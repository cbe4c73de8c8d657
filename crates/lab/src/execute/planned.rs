//! An experiment before it begins: what can be learnt without creating or changing anything, and the plan that
//! follows.

use std::collections::HashSet;

use results::Store;
use server::Stop;
use spec::plan::{Decision, Fact, Facts, Plan};
use spec::{Class, Error, RunKey, RunKeyRef};

use super::look::check_sizes;
use super::offline::check_workloads;
use super::promised::check_promise;
use super::{ExecutionOptions, done, finished, is_finished, servers, stands_alone, stored_or_again};
use crate::experiment::ExperimentFile;
use crate::facts::{self, StoredExperiment};
use crate::plan::{check_division, check_left, check_waiting, resolve};

/// What is known before an experiment begins.
#[derive(Debug)]
pub struct Planned {
    pub plan: Plan,
    pub facts: Facts,
    /// Number of its runs that are stored.
    pub kept: usize,
    /// In a dry run: the error that a run would end with, if that is certain.
    pub fails: Option<Error>,
}

/// Learns what the plan of an experiment depends on, and plans it.
///
/// # Errors
/// When it cannot be carried out here.
pub fn planned(
    file: &ExperimentFile,
    options: &ExecutionOptions,
    dry_run: bool,
    stop: &Stop,
) -> Result<Planned, Error> {
    let mut files = facts::of_files(file)?;
    options.part.into_iter().for_each(|part| files.learn(Fact::Part { part }));
    let all = resolve(file, &files)?;
    let read = |again| facts::of_results(&all, &options.results, again);
    // All files of each PostgreSQL are read for it. Where nothing goes on, a dry run does not need it.
    if !dry_run || read(false).is_ok_and(|stored| stored.id.is_some()) {
        let builds = facts::builds::of_servers(&all, options.pg_bin.as_deref())?;
        builds.into_iter().for_each(|fact| files.learn(fact));
    }
    let usable = if dry_run { Store::check_usable(&options.results) } else { Ok(()) };
    let stored = usable.and_then(|()| match stands_alone(&all, options) {
        // It is read when the round or the jobs begin.
        true => Ok(StoredExperiment::default()),
        false => stored_or_again(&all, options, &files, read).map(|(stored, ..)| stored),
    });
    let (stored, mut fails) = match stored {
        Ok(stored) => (stored, None),
        // A dry run shows the plan before the error.
        Err(error) if dry_run => (StoredExperiment::default(), Some(error)),
        Err(error) => return Err(error),
    };
    let mut facts = stored.facts.followed_by(files);
    let next_round = stored.runs.iter().map(|run| run.round).max().unwrap_or(0) + 1;
    let programs = (options.pg_bin.as_deref(), dry_run);
    for fact in facts::of_programs((&facts, next_round), &all, file, programs, stop)? {
        facts.learn(fact);
    }
    facts.learn(facts::calibration());
    let mut plan = resolve(file, &facts)?;
    check_division(&plan)?;
    check_left(&plan)?;
    check_workloads(&plan, file.folder())?;
    check_promise(file, &plan)?;
    check_placement(&plan)?;
    check_waiting(&plan)?;
    if let Some(fact) = servers::look_for_room(&plan) {
        facts.learn(fact);
        plan = resolve(file, &facts)?;
    }
    servers::can_do_without(file, &plan)?;
    if !dry_run {
        check_sizes(&plan)?;
    }
    if let Some(id) = stored.id.filter(|_| dry_run)
        && let Some(store) = Store::open_if_there(&options.results)?
    {
        let done = done(&store, id, &plan)?;
        if is_finished(&plan, &done) {
            fails = Some(finished(&store, id, &plan, &done, options)?);
        }
    }
    let stored: HashSet<RunKeyRef<'_>> = stored.runs.iter().map(RunKey::borrowed).collect();
    let kept = plan.runs.iter().filter(|run| stored.contains(&run.borrowed_key())).count();
    Ok(Planned { plan, facts, kept, fails })
}

/// The placement that an experiment began with may no longer be available.
fn check_placement(plan: &Plan) -> Result<(), Error> {
    let Some(chosen) = plan.decisions.placement.as_ref().map(Decision::value) else { return Ok(()) };
    let cpus = [&chosen.placement.clients, &chosen.placement.server];
    cpus.into_iter().flatten().try_for_each(server::placement::check).map_err(|error| {
        Error::new(
            Class::Usage,
            format!("this experiment began with {}, which is no longer available: {error}", chosen.words()),
        )
        .with_hint("let pgdyno use those CPUs again, or start again with --again")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::plan::Placement;
    use spec::plan::{ChosenPlacement, Plan};

    #[test]
    fn what_it_began_with_and_cannot_be_had_any_more_is_refused() {
        let placement = Placement { clients: Some([1000].into_iter().collect()), ..Placement::default() };
        let chosen = ChosenPlacement { level: "apart".into(), placement };
        let mut plan = Plan::default();
        plan.decisions.placement = Some(Decision::decided(chosen, ""));
        let error = check_placement(&plan).unwrap_err();
        assert!(
            error.to_string().contains("clients on CPU 1000") && error.hint().unwrap().contains("--again"),
            "{error}"
        );
    }
}
