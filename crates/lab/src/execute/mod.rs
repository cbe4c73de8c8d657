//! Carries out a plan: servers, data, guards, then run after run, each stored as it ends.
//!
//! The steps and their order are in [`crate::runner::Step`]. In every case settings are restored, started
//! servers are stopped, and finished runs stay in the results file; the same command continues.

mod arms;
mod carry_out;
mod guard;
mod look;
mod planned;
mod promised;
mod room;
mod server_data;
mod servers;
mod shared;
mod stored_arms;
mod suspended;

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Instant;

use results::{ExperimentId, Store};
use server::Stop;
use server::change::ChangeFailure;

use self::carry_out::{Execution, light, record_of};
pub use self::look::{Looked, look, look_at_sizes};
pub use self::planned::{Planned, planned};
use self::servers::PreparedServers;
pub use self::suspended::SuspendedRuns;
use crate::error::explain;
use crate::experiment::ExperimentFile;
use crate::facts::{self, StoredExperiment};
use crate::plan::{diff, identity, jobs_of, levels, resolve};
use crate::runner::{FailedChange, LabEvent, Progress, Results, texts};
use crate::setup::At;
use crate::strategies::{self, Done};
use crate::words;
use spec::plan::{Fact, Facts, Plan, PlannedRun};
use spec::{Class, Error, Run, RunKey, RunKind};

/// Options of carrying out an experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionOptions {
    pub results: PathBuf,
    /// Measure a finished experiment again, as a new one.
    pub again: bool,
    pub pg_bin: Option<PathBuf>,
    /// The command to repeat it, without passwords; stored with the experiment.
    pub command: Option<spec::shell::PrintedCommand>,
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

/// Carries out an experiment, or the rest of it; `facts` are those of [`planned`].
///
/// # Errors
/// [`Error`], with what to try; runs finished before it are stored.
pub fn run(
    file: &ExperimentFile,
    facts: Facts,
    options: &ExecutionOptions,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<Outcome, Error> {
    let began = Instant::now();
    let mut store = Store::create_or_open(&options.results)?;
    let plan = resolve(file, &facts)?;
    // Until the end, and before stored data are read.
    let _alone = store.alone_with(&identity::hash(&plan.content))?;
    let begun = Invocation::of(file, &store, (plan, facts), options)?;
    let servers = explain(stop, PreparedServers::open(file, begun, &mut store, options, progress, stop))?;
    let PreparedServers { begun, stages, templates, jobs, surroundings, targets, storages } = servers;
    let plan = &begun.plan;
    let arms = stored_arms::arms(plan, (&targets, &storages), stop)?;
    let at = (record_of(file, plan, arms), surroundings);
    let results = Results::of_experiment(store, &options.results, at, begun.known, options.again)?;
    let mut results = results.made_by(options.command.clone());
    results.add_facts(begun.facts.all()[begun.stored_facts..].to_vec());
    let content = &plan.content;
    for prepare in [&content.prepare].into_iter().chain(content.data.values()) {
        results.add_texts(texts::of_preparation(&jobs_of(prepare), file.folder()));
    }
    let mut execution = Execution::begin(file, &begun, stages, results, progress, stop, began);
    let result = execution.keep_jobs(&jobs).and_then(|()| execution.carry_out());
    // Suspended runs may have their cause in the copies.
    let goes_on = matches!(&result, Err(error) if error.attached::<SuspendedRuns>().is_none());
    let closed = execution.close(goes_on);
    drop(templates);
    if goes_on && begun.plan.copies().is_some() && !levels::is_on_made_storage(&begun.plan.content) {
        let text = "the copies that arms stood on stay, for the same command to go on with; without it they go with: \
                    pgdyno target destroy NAME";
        progress.event(LabEvent::Note { text: text.to_owned() });
    }
    // Otherwise report the first error.
    if let (Err(error), Err(left)) = (&result, &closed)
        && error.is_stopped()
    {
        let hint = left.hint().map(|hint| format!(" (try: {hint})")).unwrap_or_default();
        progress.event(LabEvent::Warning { text: format!("{left}{hint}") });
    }
    let outcome = result?;
    closed?;
    Ok(outcome)
}

/// An experiment that begins or goes on: what is known, the plan that follows, and the stored runs.
struct Invocation {
    plan: Plan,
    facts: Facts,
    /// Number of the facts that are stored already.
    stored_facts: usize,
    again: bool,
    known: Option<ExperimentId>,
    done: Vec<Done>,
    /// Disturbed runs that are excluded, once for each repetition.
    superseded: Vec<RunKey>,
}

impl Invocation {
    /// Reads what is stored, now that no other process carries out the experiment.
    fn of(
        file: &ExperimentFile,
        store: &Store,
        (plan, facts): (Plan, Facts),
        options: &ExecutionOptions,
    ) -> Result<Self, Error> {
        let StoredExperiment { id: known, facts: stored, .. } = facts::stored(store, &plan, options.again)?;
        let stored_facts = if known.is_some() { stored.all().len() } else { 0 };
        let facts = stored.followed_by(facts);
        let plan = resolve(file, &facts)?;
        let again = options.again;
        let Some(id) = known else {
            let (done, superseded) = (Vec::new(), Vec::new());
            return Ok(Self { plan, facts, stored_facts, again, known, done, superseded });
        };
        let began = store.experiment(id)?.experiment.seed;
        if began != plan.seed() {
            let what = format!(
                "{}: experiment {} began with seed {began}, and its facts give {}: something else changed the file",
                options.results.display(),
                id.0,
                plan.seed()
            );
            return Err(Error::new(Class::BadInput, what).with_hint("start again: --again"));
        }
        let done = done(store, id, &plan)?;
        if is_finished(&plan, &done) {
            if plan.copies().is_some() {
                servers::remove_left(&plan)?;
            }
            return Err(finished(store, id, &plan, &done, options)?);
        }
        let superseded = store.superseded_runs(id)?;
        Ok(Self { plan, facts, stored_facts, again, known, done, superseded })
    }

    /// A server must have the version that the experiment began with.
    fn check_version(&mut self, at: &At, version: &str) -> Result<(), Error> {
        let server = at.to_string();
        match self.facts.server_version(&server).filter(|began| *began != version) {
            None => {
                self.facts.learn(Fact::ServerVersion { server, version: version.to_owned() });
                Ok(())
            }
            Some(began) => {
                let on = if server.is_empty() { String::new() } else { format!(" on {server}") };
                let what =
                    format!("this experiment began with PostgreSQL {began}{on}, and that is {version} now");
                Err(Error::new(Class::Usage, what)
                    .with_hint("give it that version again (--pg-bin), or start again with --again"))
            }
        }
    }

    /// Adds a fact; the plan follows.
    fn learn(&mut self, file: &ExperimentFile, fact: Fact) -> Result<(), Error> {
        self.facts.learn(fact);
        self.plan = resolve(file, &self.facts)?;
        Ok(())
    }
}

/// Whether no run is left. With a growing number of clients, a finished search is finished with the clients it
/// had.
fn is_finished(plan: &Plan, done: &[Done]) -> bool {
    strategies::of(plan, &[]).left(done).is_empty()
}

/// The error for an experiment of which no run is left.
fn finished(
    store: &Store,
    id: ExperimentId,
    plan: &Plan,
    done: &[Done],
    options: &ExecutionOptions,
) -> Result<Error, Error> {
    let name = name_in_results(&plan.name, &store.experiment(id)?.experiment.name);
    // The preparation is round 0.
    let measured = store.finished_runs(id)?.iter().filter(|run| run.round > 0).count();
    let runs = strategies::of(plan, &[]).planned(done).max(measured);
    let called = store.called(id)?;
    let what = format!(
        "experiment {name} is finished: {} in {}",
        words::count_of_all(runs),
        options.results.display()
    );
    let hint = match plan.content.measure.search.is_some() {
        true => format!(
            "see it with pgdyno table limits -e {called} or pgdyno report -e {called}; add --again to search again"
        ),
        false => format!(
            "see it with pgdyno compare -e {called} or pgdyno report -e {called}; add --again to measure it anew, or a larger \
             --rounds to extend it"
        ),
    };
    Ok(Error::new(Class::Usage, what).with_hint(hint))
}

/// The stored runs of a plan, in order; for a search with their figures, which decide the next trials.
fn done(store: &Store, id: ExperimentId, plan: &Plan) -> Result<Vec<Done>, Error> {
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
fn other_name(store: &Store, begun: &Invocation) -> Result<Option<String>, Error> {
    let Some(id) = begun.known else { return Ok(None) };
    let name = store.experiment(id)?.experiment.name;
    Ok((name != begun.plan.name).then(|| format!("{name}, number {}", id.0)))
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
fn placed(file: &ExperimentFile, error: Error) -> Error {
    let Some(FailedChange { name, level }) = error.attached() else { return error };
    let part = error.attached().and_then(|failure: &ChangeFailure| failure.part);
    match file.line_of_change(name, level, part) {
        Some(line) => {
            let what = format!("{}:{line}: {error}", file.path.display());
            error.in_words(what)
        }
        None => error,
    }
}
