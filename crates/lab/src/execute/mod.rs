//! Carrying out a plan: servers, data, guards, then run after run, each stored as it ends.
//!
//! The steps and their order are in [`Step`]. Whatever happens, settings are put back, what was started is
//! stopped, and finished runs stay in the results file; the same command goes on where it stopped.

mod arms;
mod aside;
mod book;
mod crew;
mod event;
mod look;
mod measure;
mod pace;
mod prepare;
mod programs;
mod recording;
mod series;
mod session;
mod shape;
mod stage;

use std::path::PathBuf;

use engine::EngineError;
use record::RunKey;
use results::{ExperimentId, Store};

pub(crate) use self::recording::{counts, fill, planned};
pub(crate) use event::Tell;
pub use event::{LabEvent, Progress, Step};
pub use look::{Looked, look};
pub(crate) use measure::{Taken, counted, events, measure, own_figures};
pub(crate) use prepare::prepare;
pub(crate) use series::Series;
pub(crate) use stage::Stage;

use self::session::Session;
use crate::error::{Class, LabError};
use crate::experiment::ExperimentFile;
use crate::plan::{Plan, diff};
use target::Stop;
use target::settings::Machine;

/// How an experiment is carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Results file; made if it is not there.
    pub results: PathBuf,
    /// Measure a finished experiment again, as a new one.
    pub again: bool,
    /// Folder with PostgreSQL's programs, for managed targets.
    pub pg_bin: Option<PathBuf>,
}

/// What became of an experiment that ran to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Its number in the results file.
    pub experiment: ExperimentId,
    /// The results file.
    pub results: PathBuf,
    /// Runs of the plan, all stored.
    pub runs: usize,
    /// Runs done in this session.
    pub done_now: usize,
    /// Of these, invalid ones.
    pub invalid: usize,
    /// Of these, suspect ones.
    pub suspect: usize,
}

/// Carries out an experiment, or what is left of it.
///
/// # Errors
/// [`LabError`], with what to try; runs finished before it are stored.
pub fn run(
    file: &ExperimentFile,
    options: &Options,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<Outcome, LabError> {
    let plan = Plan::expand(file, Machine::here())?;
    let store = Store::create_or_open(&options.results)?;
    let (plan, known, stored) = stored(&store, plan, options)?;
    let before = (known, stored.len());
    let opened = Session::open(file, plan, store, options, before, progress, stop);
    let mut session = crate::error::explain(stop, opened)?;
    let result = session.carry_out(&stored);
    let closed = session.close();
    let outcome = result?;
    closed?;
    Ok(outcome)
}

/// A plan with the randomness it began with, its number in the file, and the runs that are done.
type Stored = (Plan, Option<ExperimentId>, Vec<RunKey>);

/// What is stored of the plan already. An experiment that an earlier build stored under another identity is found too,
/// and goes on under its present one.
fn stored(store: &Store, plan: Plan, options: &Options) -> Result<Stored, LabError> {
    let hash = plan.hash();
    for former in plan.former_hashes() {
        store.adopt(&former, &hash)?;
    }
    if options.again {
        let repetition = store.experiments()?.iter().filter(|known| known.hash == hash).count();
        return Ok((plan.repeated(repetition as u64), None, Vec::new()));
    }
    let Some(id) = store.newest_with_hash(&hash)? else { return Ok((plan, None, Vec::new())) };
    let plan = plan.with_seed(store.experiment(id)?.experiment.seed);
    let finished = store.finished_runs(id)?;
    if plan.remaining(&finished).is_empty() {
        let results = options.results.clone();
        return Err(LabError::Finished { name: plan.name, runs: plan.runs.len(), results });
    }
    let stored = plan.runs.iter().map(crate::plan::PlannedRun::key).filter(|key| finished.contains(key));
    let stored = stored.collect();
    Ok((plan, Some(id), stored))
}

/// What the newest experiment of the same name was, where this one is another.
fn changes(store: &Store, plan: &Plan) -> Option<(ExperimentId, Vec<String>)> {
    let hash = plan.hash();
    let known = store.experiments().ok()?;
    let last = known.iter().rev().find(|known| known.name == plan.name && known.runs > 0)?;
    if last.hash == hash {
        return None;
    }
    let before: Plan = serde_json::from_str(&store.experiment(last.id).ok()?.experiment.plan_json).ok()?;
    Some((last.id, diff(&before, plan)))
}

/// Why the load could not start, by the words of the client that gave up.
pub(crate) fn setup_class(error: &EngineError) -> Class {
    match error {
        EngineError::SetupTimeout { .. } => Class::Unreachable,
        EngineError::Plan(_) | EngineError::SocketPath { .. } => Class::Usage,
        EngineError::OpenFiles { .. } | EngineError::Driver { .. } | EngineError::System { .. } => {
            Class::Missing
        }
        EngineError::Setup { .. } => Class::Refused,
    }
}

/// What to try when the load could not start.
pub(crate) fn setup_hint(error: &EngineError) -> &'static str {
    match error {
        EngineError::Setup { message, .. }
            if message.contains("too many") || message.contains("connection slots") =>
        {
            "use fewer clients, or raise max_connections on the server"
        }
        _ => "",
    }
}
