//! Carries out a plan: servers, data, guards, then run after run, each stored as it ends.
//!
//! The steps and their order are in [`crate::runner::Step`]. In every case settings are restored, started
//! servers are stopped, and finished runs stay in the results file; the same command continues.

mod arms;
mod available;
mod carry_out;
mod ground;
mod guard;
mod held;
mod look;
mod placement;
mod promised;
mod room;
mod shared;
mod stored_arms;

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Instant;

use results::{ExperimentId, Store};
use server::Stop;
use server::change::ChangeFailure;

pub use self::available::leave_out;
use self::carry_out::{Experiment, light, record_of};
use self::ground::Ground;
pub use self::ground::look_for_room;
pub use self::look::{Looked, check_sizes, look, look_at_sizes};
pub use self::placement::choose_placement;
pub use self::promised::check_promise;
use crate::error::{LabError, explain};
use crate::experiment::ExperimentFile;
use crate::plan::{Plan, PlannedRun, Standing, diff, identity, jobs_of, levels, revised};
use crate::runner::{LabEvent, Progress, Results, texts};
use crate::strategies::{self, Done};
use spec::{Run, RunKey, RunKind};

/// Options of carrying out an experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    pub results: PathBuf,
    /// Measure a finished experiment again, as a new one.
    pub again: bool,
    pub pg_bin: Option<PathBuf>,
    /// The command to repeat it, without passwords; stored with the experiment.
    pub command: Option<spec::shell::Command>,
}

/// The result of a completed experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub experiment: ExperimentId,
    pub results: PathBuf,
    pub runs: usize,
    pub done_now: usize,
    /// Disturbed runs that were measured again in this invocation and are excluded.
    pub repeated: usize,
    pub invalid: usize,
    pub suspect: usize,
}

/// Carries out an experiment, or the rest of it, by the plan of its file.
///
/// # Errors
/// [`LabError`], with what to try; runs finished before it are stored.
pub fn run(
    file: &ExperimentFile,
    plan: Plan,
    options: &Options,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<Outcome, LabError> {
    let began = Instant::now();
    let mut store = Store::create_or_open(&options.results)?;
    // Until the end, and before stored data are read.
    let _alone = store.alone_with(&identity::hash(&plan.content))?;
    let stored = stored(&store, plan, options)?;
    let ground = explain(stop, Ground::lay(file, stored, &mut store, options, progress, stop))?;
    let Ground { stored, stages, templates, jobs, surroundings, targets, storages } = ground;
    let arms = stored_arms::arms(&stored.plan, (&targets, &storages), stop)?;
    let at = (record_of(file, &stored.plan, arms), surroundings);
    let results = Results::of_experiment(store, &options.results, at, stored.known, options.again)?;
    let mut results = results.made_by(options.command.clone());
    let content = &stored.plan.content;
    for prepare in [&content.prepare].into_iter().chain(content.data.values()) {
        results.add_texts(texts::of_preparation(&jobs_of(prepare), file.folder()));
    }
    let mut experiment = Experiment::begin(file, &stored, stages, results, progress, stop, began);
    let result = experiment.keep_jobs(&jobs).and_then(|()| experiment.carry_out());
    // Suspended runs may have their cause in the copies.
    let goes_on = matches!(&result, Err(error) if !matches!(error, LabError::SetAside { .. }));
    let closed = experiment.close(goes_on);
    drop(templates);
    if goes_on && stored.plan.copies().is_some() && !levels::is_on_made_storage(&stored.plan.content) {
        let text = "the copies that arms stood on stay, for the same command to go on with; without it they go with: \
                    pgdyno target destroy NAME";
        progress.event(LabEvent::Note { text: text.to_owned() });
    }
    // Otherwise report the first error.
    if let (Err(LabError::Interrupted { .. }), Err(left)) = (&result, &closed) {
        let hint = left.hint().map(|hint| format!(" (try: {hint})")).unwrap_or_default();
        progress.event(LabEvent::Warning { text: format!("{left}{hint}") });
    }
    let outcome = result?;
    closed?;
    Ok(outcome)
}

/// A plan with the seed it began with, and what is stored of it.
struct Stored {
    plan: Plan,
    /// Where arms would run if it began now.
    wanted: Option<Standing>,
    again: bool,
    known: Option<ExperimentId>,
    done: Vec<Done>,
    /// Disturbed runs that are excluded, once for each repetition.
    superseded: Vec<RunKey>,
}

impl Stored {
    fn begun(plan: Plan, wanted: Option<Standing>, options: &Options) -> Self {
        Self { plan, wanted, again: options.again, known: None, done: Vec::new(), superseded: Vec::new() }
    }
}

fn stored(store: &Store, plan: Plan, options: &Options) -> Result<Stored, LabError> {
    let hash = identity::hash(&plan.content);
    if options.again {
        let repetition = store.experiments()?.iter().filter(|known| known.hash == hash).count();
        let plan = revised::repeated(plan, repetition as u64);
        let wanted = plan.standing.clone();
        return Ok(Stored::begun(plan, wanted, options));
    }
    let wanted = plan.standing.clone();
    let Some(id) = store.newest_with_hash(&hash)? else {
        return Ok(Stored::begun(plan, wanted, options));
    };
    let begun = store.experiment(id)?.experiment;
    // Where its arms run was decided when it began.
    let before = begun.plan.plan();
    let plan = revised::sliced_so(
        revised::standing_so(
            revised::with_seed(plan, begun.seed),
            before.and_then(|plan| plan.standing.clone()),
        ),
        before.and_then(|plan| plan.slicing.clone()),
    );
    let done = done(store, id, &plan)?;
    // With a growing number of clients, a finished search is finished with the clients it had.
    if strategies::of(&plan, &[], None).left(&done).is_empty() {
        let results = options.results.clone();
        let plan = Plan { name: name_in_results(&plan.name, &begun.name), ..plan };
        if plan.copies().is_some() {
            ground::remove_left(&plan)?;
        }
        // The preparation is round 0.
        let measured = store.finished_runs(id)?.iter().filter(|run| run.round > 0).count();
        let runs = strategies::of(&plan, &[], None).planned(&done).max(measured);
        let searched = plan.content.measure.search.is_some();
        return Err(LabError::Finished {
            name: plan.name,
            called: store.called(id)?,
            runs,
            searched,
            results,
        });
    }
    let superseded = store.superseded_runs(id)?;
    Ok(Stored { known: Some(id), done, superseded, ..Stored::begun(plan, wanted, options) })
}

/// The stored runs of a plan, in order; for a search with their figures, which decide the next trials.
fn done(store: &Store, id: ExperimentId, plan: &Plan) -> Result<Vec<Done>, LabError> {
    let searches = plan.content.measure.search.is_some();
    let runs: Vec<Run> = if searches {
        let all = store.runs(id)?.into_iter();
        all.filter(|run| run.kind == RunKind::Client && run.set_aside.is_none()).map(light).collect()
    } else {
        let planned: HashSet<RunKey> = plan.runs.iter().map(PlannedRun::key).collect();
        let all = store.finished_runs(id)?.into_iter().filter(|key| planned.contains(key));
        all.map(|key| Run::new(RunKind::Client, key)).collect()
    };
    Ok(runs.into_iter().map(|run| Done { run, cause: None, number: 0, in_turn: false }).collect())
}

/// The name of an experiment in the results file, whatever the present file is called.
fn name_in_results(here: &str, stored: &str) -> String {
    if here == stored { stored.to_owned() } else { format!("{stored} (here {here})") }
}

/// Name and number of the experiment to continue, if it began under another name.
fn other_name(store: &Store, stored: &Stored) -> Result<Option<String>, LabError> {
    let Some(id) = stored.known else { return Ok(None) };
    let name = store.experiment(id)?.experiment.name;
    Ok((name != stored.plan.name).then(|| format!("{name}, number {}", id.0)))
}

/// What differs from the newest experiment of the same name, if it is another one.
fn changes(store: &Store, plan: &Plan) -> Option<(ExperimentId, Vec<String>)> {
    let hash = identity::hash(&plan.content);
    let known = store.experiments().ok()?;
    let last = known.iter().rev().find(|known| known.name == plan.name && known.runs > 0)?;
    if last.hash == hash {
        return None;
    }
    let before = store.experiment(last.id).ok()?.experiment;
    Some((last.id, diff(before.plan.plan()?, plan)))
}

/// An error of a user's change with the line of its file.
fn placed(file: &ExperimentFile, mut error: LabError) -> LabError {
    if let LabError::OwnChange(change) = &mut error {
        let part = change.source.attached().and_then(|failure: &ChangeFailure| failure.part);
        let line = file.line_of_change(&change.name, &change.level, part);
        change.at = line.map(|line| format!("{}:{line}: ", file.path.display()));
    }
    error
}
