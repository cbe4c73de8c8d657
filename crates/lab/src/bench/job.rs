//! Single jobs: an OSM load, pgbench's tables.

use std::path::{Path, PathBuf};
use std::time::Duration;

use results::{ExperimentId, Store};
use spec::plan::{PlannedPreparation, SinglePlan};
use spec::shell::PrintedCommand;
use spec::{Class, Error, Run};
use workloads::Preparation;
use workloads::pgbench::init::InitOptions;

use crate::concurrent;
use crate::facts;
use crate::jobs::{foresee, input_bytes, prepare};
use crate::plan::{jobs_of, preparation};
use crate::runner::{
    ExperimentStep, Identity, Progress, ProgressExt, Results, Stage, Surroundings, try_results,
};
use crate::target_spec::TargetAccess;
use crate::validity::{JobEvidence, Machine, judge_job};
use server::Stop;

/// A finished job.
#[derive(Debug)]
pub struct Kept {
    pub run: Run,
    /// Its experiment in the results file, or why it could not be stored; `None` if not requested.
    pub stored: Option<Result<ExperimentId, Error>>,
}

/// Where to store a job.
#[derive(Debug)]
pub struct KeepIn<'a> {
    pub results: &'a Path,
    /// The command to repeat it, without passwords.
    pub command: PrintedCommand,
}

/// Loads an OSM extract, even if its data exist already.
///
/// # Errors
/// [`Error`], with what to try.
pub fn load_osm(
    target: &TargetAccess,
    pg_bin: Option<PathBuf>,
    options: &workloads::osm::OsmOptions,
    results: Option<KeepIn<'_>>,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<Kept, Error> {
    // Checked before a server is created or started.
    options.validate()?;
    if options.has_extract() {
        let tried = std::path::absolute(&options.extract).unwrap_or_else(|_| options.extract.clone());
        osm::extract::check(&tried)?;
    }
    let plan = facts::preparation(&Preparation { osm: vec![options.clone()], ..Preparation::default() })?;
    let synthetic = options.synthetic().map(|synthetic| format!("a {}", synthetic.words()));
    let name = synthetic.or_else(|| plan.inputs.keys().next().cloned()).unwrap_or_default();
    let question = format!("How long does it take to load {name}?");
    crate::error::explain(
        stop,
        single(target, pg_bin, &plan, ("osm load", &question), results, progress, stop),
    )
}

/// Creates and fills pgbench's tables, replacing existing ones.
///
/// # Errors
/// [`Error`], with what to try.
pub fn initialize(
    target: &TargetAccess,
    pg_bin: Option<PathBuf>,
    options: &InitOptions,
    results: Option<KeepIn<'_>>,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<Kept, Error> {
    let plan = facts::preparation(&Preparation { pgbench: Some(options.clone()), ..Preparation::default() })?;
    let question = format!("How long does it take to make pgbench's tables at scale {}?", options.scale);
    crate::error::explain(
        stop,
        single(target, pg_bin, &plan, ("bench -i", &question), results, progress, stop),
    )
}

/// How long the same job took before, by this results file.
fn earlier(plan: &PlannedPreparation, results: Option<&Path>) -> Option<Duration> {
    let store = Store::open_read_only(results?).ok()?;
    let bytes = input_bytes(&**jobs_of(plan).jobs().first()?);
    store.usual_job_s(bytes).ok().flatten().map(Duration::from_secs_f64)
}

fn single(
    target: &TargetAccess,
    pg_bin: Option<PathBuf>,
    plan: &PlannedPreparation,
    (name, question): (&str, &str),
    results: Option<KeepIn<'_>>,
    mut progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<Kept, Error> {
    let path = results.as_ref().map(|keep| keep.results);
    try_results(path, &mut *progress)?;
    if let Some(took) = earlier(plan, path) {
        let took = crate::words::duration(took);
        progress
            .note(format!("earlier ones of the same size took {took} in the mean, with whatever options"));
    }
    foresee([(target.spec.clone(), plan)].into_iter())?;
    progress.step(ExperimentStep::Target, "make, start or reach the server");
    let mut stage = Stage::open(target, pg_bin, progress, stop)?;
    let done = prepare(&mut stage, plan, false, &mut *progress, stop)?;
    let job = done.first().ok_or_else(|| Error::new(Class::Internal, "a job of no kind"))?;
    let mut block = [job.record.to_run(&job.name, 0, false)];
    let run = &mut block[0].run;
    (run.validity, run.doubts) =
        judge_job(&JobEvidence { machine: Machine::of_job(&run.figures), ..JobEvidence::default() });
    concurrent::mark(run, stage.others_measuring());
    let stored = results.map(|KeepIn { results: path, command }| {
        progress.step(ExperimentStep::Store, path.display().to_string());
        let prepare = Some(preparation::portable(plan));
        let plan = SinglePlan { target: target.spec.identity(), prepare, load: None };
        let seed = block[0].run.seed;
        let identity = Identity { name, question, plan: plan.into(), seed };
        // After the job, which may have created the extension whose version is stored.
        let mut results =
            Results::next_round(path, &identity, Surroundings::of(&stage)?)?.made_by(Some(command));
        results.keep(&mut block)?;
        results.id().ok_or_else(|| Error::new(Class::Internal, "the job was not stored"))
    });
    let [finished] = block;
    Ok(Kept { run: finished.run, stored })
}
