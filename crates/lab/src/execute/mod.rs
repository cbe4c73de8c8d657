//! Carries out a plan: servers, data, guards, then run after run, each stored as it ends.
//!
//! The steps and their order are in [`crate::runner::ExperimentStep`]. In every case settings are restored, started
//! servers are stopped, and finished runs stay in the results file; the same command continues.

mod arms;
mod calibration;
mod carry_out;
mod failed_arms;
mod guard;
mod look;
mod offline;
mod once;
mod planned;
mod programs;
mod promised;
mod room;
mod server_data;
mod servers;
mod sets;
mod shared;
mod stored_arms;
mod suspended;
mod users;

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use results::{ExperimentId, RunParts, Store};
use server::Stop;
use server::change::ChangeFailure;
use server::home::results_option;

pub use self::calibration::UnstoredRuns;
pub(crate) use self::carry_out::record_of;
use self::carry_out::{Execution, light};
pub use self::failed_arms::FailedArm;
pub use self::look::{Looked, look, look_at_sizes};
pub use self::once::{OneRun, run_once};
pub use self::planned::{Planned, planned};
use self::servers::PreparedServers;
pub use self::sets::{SetsSoFar, sets_so_far};
pub use self::suspended::SuspendedRuns;
use crate::error::explain;
use crate::experiment::ExperimentFile;
use crate::facts::{self, StoredExperiment};
use crate::jobs::PreparedJob;
use crate::plan::{diff, identity, jobs_of, levels, resolve};
use crate::runner::{FailedChange, LabEvent, Progress, Results, Stage, texts};
use crate::setup::At;
use crate::strategies::{self, PastRun};
use crate::words;
use spec::plan::{Fact, Facts, Plan, PlannedRun};
use spec::{Class, Doubt, Error, ExperimentPart, Reason, Run, RunKey, RunKeyRef, RunKind};

/// Options of carrying out an experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionOptions {
    pub results: PathBuf,
    /// Measure a finished experiment again, as a new one.
    pub again: bool,
    /// Measure one further round, with this seed; it is not compared with other invocations, so a server of another
    /// version begins the experiment again.
    pub further_round: Option<u64>,
    /// The part of the experiment that is measured here.
    pub part: Option<ExperimentPart>,
    /// How long to wait for the other parts of a load, before each run.
    pub patience: Duration,
    /// The level that the machine is at, if a factor is set by hand.
    pub level: Option<String>,
    /// Measure the latency of each statement of a further round. It is shown, and not stored.
    pub statements: bool,
    pub pg_bin: Option<PathBuf>,
    /// The command to repeat it, without passwords; stored with the experiment.
    pub command: Option<spec::shell::PrintedCommand>,
}

/// The result of a completed experiment.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub experiment: ExperimentId,
    pub results: PathBuf,
    pub runs: usize,
    pub done_now: usize,
    /// Disturbed runs that were measured again in this invocation and are excluded.
    pub repeated: usize,
    pub invalid: usize,
    pub suspect: usize,
    /// The jobs that were done now, if there are only jobs.
    pub jobs: Vec<DoneJob>,
}

/// A finished job.
#[derive(Debug, Clone)]
pub struct DoneJob {
    /// The server that it was done on, without its password.
    pub server: String,
    pub run: Run,
}

/// Attached to the error of an experiment that is finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FinishedExperiment {
    pub experiment: ExperimentId,
}

/// Attached to the error of an experiment whose jobs were done and could not be stored.
#[derive(Debug)]
pub struct UnstoredJobs(pub Vec<DoneJob>);

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
    // No file stays open while servers are prepared or runs are measured.
    let store = Store::create_or_open(&options.results)?;
    let plan = resolve(file, &facts)?;
    // Until the end, and before stored data are read. A calibration and jobs are not continued, so another process may do the same.
    let goes_on = plan.content.calibrate.is_none() && !plan.content.has_only_jobs();
    let _alone = goes_on.then(|| store.alone_with(&identity::hash(&plan.content))).transpose()?;
    drop(store);
    with_servers(file, facts, options, progress, stop, |execution, jobs| {
        // Keep what jobs found even if the user stops now.
        let _concluding = execution.plan.content.has_only_jobs().then(|| stop.concluding());
        execution.keep_jobs(jobs)?;
        execution.carry_out()
    })
}

/// Opens the servers of an experiment, prepared, and closes them after the work.
fn with_servers<T>(
    file: &ExperimentFile,
    facts: Facts,
    options: &ExecutionOptions,
    progress: &mut dyn Progress,
    stop: &Stop,
    work: impl FnOnce(&mut Execution<'_>, &[(At, Vec<PreparedJob>)]) -> Result<T, Error>,
) -> Result<T, Error> {
    let began = Instant::now();
    let begun = Invocation::of(file, facts, options)?;
    let servers = explain(stop, PreparedServers::open(file, begun, options, progress, stop))?;
    let PreparedServers { begun, stages, templates, jobs, surroundings, targets, storages } = servers;
    let plan = &begun.plan;
    let arms = stored_arms::arms(plan, (&targets, &storages), stop)?;
    let rounds = options.further_round.filter(|_| options.level.is_none()).map(|_| plan.rounds);
    let text = file.text_of(&plan.content, rounds);
    let at = (record_of(text, plan, arms), surroundings);
    let results = Results::of_experiment(&options.results, at, begun.known, begun.again);
    let mut results = results.made_by(options.command.clone());
    results.add_facts(begun.facts.all()[begun.stored_facts..].to_vec());
    let content = &plan.content;
    for prepare in [&content.prepare].into_iter().chain(content.data.values()) {
        results.add_texts(texts::of_preparation(&jobs_of(prepare), file.folder()));
    }
    let mut execution = Execution::begin(file, &begun, stages, results, progress, stop, began);
    let result = work(&mut execution, &jobs);
    // Suspended runs may have their cause in the copies.
    let is_suspended = |error: &Error| error.attached::<SuspendedRuns>().is_some() && !error.is_stopped();
    let goes_on = matches!(&result, Err(error) if !is_suspended(error));
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
    /// What was learnt before it, without what is stored.
    given: Facts,
    /// Number of the facts that are stored already.
    stored_facts: usize,
    again: bool,
    known: Option<ExperimentId>,
    done: Vec<PastRun>,
    /// Disturbed runs that are excluded, once for each repetition.
    superseded: Vec<RunKey>,
    /// The parts of PostgreSQL that differ from those with which the same experiment began.
    changed_build: Option<String>,
    /// How long to wait for other parts of a load.
    patience: Duration,
}

impl Invocation {
    /// Reads what is stored, now that no other process carries out the experiment.
    fn of(file: &ExperimentFile, facts: Facts, options: &ExecutionOptions) -> Result<Self, Error> {
        let plan = resolve(file, &facts)?;
        let patience = options.patience;
        let store = Store::open_if_there(&options.results)?;
        let stored_runs = |again| match &store {
            Some(store) => facts::stored(store, &plan, again),
            None => Ok(facts::first(0)),
        };
        let (stored, again, changed_build) = stored_or_again(&plan, options, &facts, stored_runs)?;
        let StoredExperiment { id: known, facts: stored, runs, .. } = stored;
        let stored_facts = if known.is_some() { stored.all().len() } else { 0 };
        let (given, mut facts) = (facts.clone(), stored.followed_by(facts));
        if let Some(seed) = options.further_round {
            let last = runs.iter().map(|run| run.round).fold(facts.last_round(), u32::max);
            facts.learn(Fact::Round { round: last + 1, seed });
        }
        if let Some(level) = &options.level {
            let started = resolve(file, &facts)?;
            sets::begin(&mut facts, &started, (&runs, options.further_round.is_some()), level)?;
        }
        let plan = resolve(file, &facts)?;
        let Some((id, store)) = known.zip(store.as_ref()) else {
            let (done, superseded) = (Vec::new(), Vec::new());
            return Ok(Self {
                plan,
                facts,
                given,
                stored_facts,
                again,
                known,
                done,
                superseded,
                changed_build,
                patience,
            });
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
        if !plan.content.has_only_jobs() && is_finished(&plan, &done) {
            if plan.copies().is_some() {
                servers::remove_left(&plan)?;
            }
            return Err(finished(store, id, &plan, &done, options)?);
        }
        let superseded = store.superseded_runs(id)?;
        Ok(Self { plan, facts, given, stored_facts, again, known, done, superseded, changed_build, patience })
    }

    /// The servers must have the versions that the experiment began with. Further rounds and jobs begin again with other versions.
    fn with_versions(
        mut self,
        file: &ExperimentFile,
        options: &ExecutionOptions,
        targets: &BTreeMap<At, spec::MeasuredTarget>,
    ) -> Result<Self, Error> {
        for (at, target) in targets {
            match self.check_version(at, &target.server_version) {
                Err(_) if stands_alone(&self.plan, options) && !self.again => {
                    let again = ExecutionOptions { again: true, ..options.clone() };
                    return Self::of(file, self.given, &again)?.with_versions(file, &again, targets);
                }
                checked => checked?,
            }
        }
        Ok(self)
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

    /// A further round on other prepared data begins the experiment again.
    fn with_data(
        mut self,
        file: &ExperimentFile,
        options: &ExecutionOptions,
        targets: &BTreeMap<At, spec::MeasuredTarget>,
        stages: &mut [(At, Stage)],
    ) -> Result<Self, Error> {
        if options.further_round.is_none() {
            return Ok(self);
        }
        for (at, stage) in &mut *stages {
            let (server, Some(sha256)) = (at.to_string(), stage.data_made_from()?) else { continue };
            if self.facts.data(&server).is_some_and(|began| began != sha256) && !self.again {
                let options = &ExecutionOptions { again: true, ..options.clone() };
                let again = Self::of(file, self.given, options)?.with_versions(file, options, targets)?;
                return again.with_data(file, options, targets, stages);
            }
            self.facts.learn(Fact::Data { server, sha256 });
        }
        Ok(self)
    }

    /// Prepared data must be made by the versions that the experiment began with.
    fn check_data(&mut self, at: &At, job: &PreparedJob) -> Result<(), Error> {
        for (program, version) in job.record.versions() {
            let on = if *at == At::default() { String::new() } else { format!(" on {at}") };
            let data = Some(format!("{}{on}", job.name));
            let fact = Fact::ProgramVersion { program: program.clone(), data, version: version.clone() };
            facts::check_program(&self.facts, &fact)?;
            self.facts.learn(fact);
        }
        Ok(())
    }

    /// Adds a fact; the plan follows.
    fn learn(&mut self, file: &ExperimentFile, fact: Fact) -> Result<(), Error> {
        self.learn_all(file, [fact])
    }

    fn learn_all(
        &mut self,
        file: &ExperimentFile,
        facts: impl IntoIterator<Item = Fact>,
    ) -> Result<(), Error> {
        facts.into_iter().for_each(|fact| self.facts.learn(fact));
        self.plan = resolve(file, &self.facts)?;
        Ok(())
    }
}

/// Whether this invocation adds a round or does jobs again: its runs are not paired with earlier ones.
fn stands_alone(plan: &Plan, options: &ExecutionOptions) -> bool {
    options.further_round.is_some() || plan.content.has_only_jobs()
}

/// What is stored of an experiment, and whether it begins again. A calibration never goes on: the machine may have
/// changed. Further rounds and jobs begin again on another host, and so does an experiment that several others began,
/// each for itself.
fn stored_or_again(
    plan: &Plan,
    options: &ExecutionOptions,
    now: &Facts,
    read: impl Fn(bool) -> Result<StoredExperiment, Error>,
) -> Result<(StoredExperiment, bool, Option<String>), Error> {
    let again = options.again || plan.content.calibrate.is_some();
    let stored = read(again)?;
    if stored.id.is_some() && !stored.is_of_others {
        check_part(stored.facts.part(), options)?;
    }
    let by_hand = plan.content.by_hand().map(|(factor, _)| factor);
    match facts::check_host(&stored, by_hand) {
        Err(_) if stands_alone(plan, options) || stored.is_of_others => return Ok((read(true)?, true, None)),
        checked => checked?,
    }
    // Another machine that is set by hand has its own files.
    let is_here = stored.host.as_ref().is_some_and(|began| began.uuid == server::host::describe(None).uuid);
    match facts::builds::changed(&stored.facts, now).filter(|_| is_here) {
        None => Ok((stored, again, None)),
        changed => Ok((read(true)?, true, changed)),
    }
}

/// A results file has one part of an experiment, or the whole.
fn check_part(began: Option<ExperimentPart>, options: &ExecutionOptions) -> Result<(), Error> {
    if began == options.part {
        return Ok(());
    }
    let words = |part: Option<ExperimentPart>| match part {
        None => "whole".to_owned(),
        Some(part) if part.shared => format!("as {} of a shared load", part.words()),
        Some(part) => format!("as {}", part.words()),
    };
    let what = format!(
        "this experiment was begun {} in {}, and is to be measured {} now",
        words(began),
        options.results.display(),
        words(options.part)
    );
    Err(Error::new(Class::Usage, what)
        .with_hint("give each part its own file (--results), or start again with --again"))
}

/// Whether no run is left. With a growing number of clients, a finished search is finished with the clients it
/// had.
fn is_finished(plan: &Plan, done: &[PastRun]) -> bool {
    strategies::of(plan, &[]).left(done).is_empty()
}

/// The error for an experiment of which no run is left.
fn finished(
    store: &Store,
    id: ExperimentId,
    plan: &Plan,
    done: &[PastRun],
    options: &ExecutionOptions,
) -> Result<Error, Error> {
    let name = name_in_results(&plan.name, &store.experiment(id)?.experiment.name);
    // The preparation is round 0.
    let measured = store.finished_runs(id)?.iter().filter(|run| run.round > 0).count();
    let runs = strategies::of(plan, &[]).planned(done).max(measured);
    let called = format!("{}{}", store.called(id)?, results_option(&options.results));
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
            "see it with pgdyno compare -e {called} or pgdyno report -e {called}; add --again to measure it again, or a larger \
             --rounds to extend it"
        ),
    };
    Ok(Error::new(Class::Usage, what).with_hint(hint).attach(FinishedExperiment { experiment: id }))
}

/// The stored runs of a plan, in order; for a search with their figures, which decide the next trials.
fn done(store: &Store, id: ExperimentId, plan: &Plan) -> Result<Vec<PastRun>, Error> {
    let searches = plan.content.measure.search.is_some();
    let runs: Vec<Run> = if searches {
        // Strategies read figures, counts, doubts and slices.
        let all = store.runs_with(id, RunParts::NONE)?.into_iter();
        all.filter(|run| run.kind == RunKind::Client && run.set_aside.is_none()).map(light).collect()
    } else {
        let planned: HashSet<RunKeyRef<'_>> = plan.runs.iter().map(PlannedRun::borrowed_key).collect();
        let all = store.finished_runs(id)?.into_iter().filter(|key| planned.contains(&key.borrowed()));
        let crashed: HashSet<RunKey> = store.crashed_runs(id)?.into_iter().collect();
        // Crashes decide which arms go on.
        let doubts =
            |key: &RunKey| crashed.get(key).map(|_| Doubt { reason: Reason::Crashed, detail: String::new() });
        all.map(|key| Run {
            doubts: doubts(&key).into_iter().collect(),
            ..Run::of_identity(String::new(), RunKind::Client, key)
        })
        .collect()
    };
    Ok(runs.into_iter().map(|run| PastRun { run, cause: None, number: 0, in_turn: false }).collect())
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
    // Jobs of one name are different jobs.
    if plan.content.has_only_jobs() {
        return None;
    }
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
