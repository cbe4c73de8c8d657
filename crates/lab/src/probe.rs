//! The speed of a server's hardware: `pgdyno probe`. Stored as an experiment of one job; probing the same
//! server again adds a round.

use std::path::PathBuf;

use results::ExperimentId;
use server::Stop;
use spec::plan::SinglePlan;
use spec::{Class, Error, Run};
use workloads::jobs::Job;
use workloads::probe;

use crate::error::{explain, stopped};
use crate::jobs;
use crate::runner::{
    ExperimentStep, Identity, Progress, ProgressExt, Results, Stage, Surroundings, try_results,
};
use crate::target_spec::TargetAccess;

/// Options of a probe of one server.
#[derive(Debug, Clone)]
pub struct ProbeRunOptions {
    pub target: TargetAccess,
    pub pg_bin: Option<PathBuf>,
    pub probe: probe::ProbeOptions,
    pub results: PathBuf,
}

/// A finished probe.
#[derive(Debug)]
pub struct Done {
    pub run: Run,
    /// The probed server, without its password.
    pub server: String,
    pub stored: Result<ExperimentId, Error>,
}

/// Probes a server.
///
/// # Errors
/// [`Error`], with what to try.
pub fn run(options: &ProbeRunOptions, progress: &mut dyn Progress, stop: &Stop) -> Result<Done, Error> {
    explain(stop, once(options, progress, stop))
}

fn once(options: &ProbeRunOptions, mut progress: &mut dyn Progress, stop: &Stop) -> Result<Done, Error> {
    let token = uuid::Uuid::new_v4().simple().to_string();
    let job = probe::Probe::new(options.probe.clone(), &token[..12]);
    try_results(Some(&options.results), &mut *progress)?;
    progress.step(ExperimentStep::Target, "make, start or reach the server");
    let mut stage = Stage::open(&options.target, options.pg_bin.clone(), &mut *progress, stop)?;
    let at = Surroundings::of(&stage)?;
    let record = match jobs::alone(&mut stage, &job, &mut *progress, stop) {
        Ok(record) => record,
        Err(_) if stop.at_once() => {
            return Err(stopped());
        }
        Err(error) => return Err(stage.explain(error)),
    };
    // Keep what was measured even if the user stops now.
    let _concluding = stop.concluding();
    let server = at.target.dsn_redacted.clone();
    let mut block = [record.to_run(&job.name(), 0, false)];
    // Runs of one server are rounds of one experiment, whatever their rights were.
    let plan = SinglePlan { target: options.target.spec.identity(), prepare: None, load: None };
    let question = format!("What is the hardware of {server} worth?");
    let identity = Identity { name: "probe", question: &question, plan: plan.into(), seed: 0 };
    let stored = store(options, &identity, at, &mut block, progress);
    let [finished] = block;
    Ok(Done { run: finished.run, server, stored })
}

fn store(
    options: &ProbeRunOptions,
    identity: &Identity<'_>,
    at: Surroundings,
    block: &mut [results::Finished],
    mut progress: &mut dyn Progress,
) -> Result<ExperimentId, Error> {
    progress.step(ExperimentStep::Store, options.results.display().to_string());
    let mut results = Results::next_round(&options.results, identity, at)?;
    results.keep(block)?;
    results.id().ok_or_else(|| Error::new(Class::Internal, "the probe was not stored"))
}
