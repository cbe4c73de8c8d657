//! One run in one invocation: a further round of its experiment. It is shown and stored even if it was interrupted, or
//! if the server could not be asked after it.

use std::rc::Rc;

use engine::{EngineResult, Until};
use results::{ExperimentId, Store};
use server::Stop;
use spec::plan::{Facts, PlannedRun};
use spec::{Class, Doubt, Error, Reason, Run, RunEvent, Validity};
use workloads::{ScriptInfo, StatementInfo};

use super::carry_out::Execution;
use super::guard::Guard;
use super::{ExecutionOptions, with_servers};
use crate::error::explain;
use crate::experiment::ExperimentFile;
use crate::lateness::judge_by_host;
use crate::measure::Keep;
use crate::plan::setups;
use crate::runner::{CrashedRun, ExperimentStep, LabEvent, MeasuredRun, Progress, ProgressExt, RunSteps};
use crate::setup::Setup;

/// The result of one run.
#[derive(Debug)]
pub struct OneRun {
    pub run: Run,
    pub measured: EngineResult,
    pub scripts: Vec<ScriptInfo>,
    /// In the order of `measured.statements`.
    pub statements: Vec<StatementInfo>,
    /// Value of pgbench's `:scale`, if there is one.
    pub scale: Option<u64>,
    /// Where in its script the first client was aborted, as text.
    pub aborted_at: Option<String>,
    /// Its experiment in the results file, or why it could not be stored.
    pub stored: Result<ExperimentId, Error>,
    /// Why the server's counters are missing from the result.
    pub lost: Option<Error>,
    /// For example, tables that could not be vacuumed.
    pub remarks: Vec<String>,
}

/// Measures a further round of an experiment with one run a round; `facts` come from [`super::planned`].
///
/// # Errors
/// [`Error`], with what to try.
pub fn run_once(
    file: &ExperimentFile,
    facts: Facts,
    options: &ExecutionOptions,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<OneRun, Error> {
    progress
        .event(LabEvent::Step { step: ExperimentStep::Results, what: options.results.display().to_string() });
    Store::try_out(&options.results)?;
    with_servers(file, facts, options, progress, stop, |execution, jobs| {
        execution.keep_jobs(jobs)?;
        execution.further_round(options.statements)
    })
}

impl Execution<'_> {
    fn further_round(&mut self, statements: bool) -> Result<OneRun, Error> {
        let plan = Rc::clone(&self.plan);
        let run = plan.runs.last().ok_or_else(|| Error::new(Class::Internal, "no run is planned"))?;
        let measured = self.measure_once(run, statements).map_err(|error| self.runner.explain(error));
        explain(self.runner.stop(), measured)
    }

    fn measure_once(&mut self, run: &PlannedRun, statements: bool) -> Result<OneRun, Error> {
        let setup = Setup { statements, ..setups::setup(&self.plan, run) };
        let mut guard = Guard::new(&self.plan, self.file.folder(), &mut self.runner, &self.results);
        guard.look(std::slice::from_ref(run))?;
        let texts = guard.texts;
        self.results.add_texts(texts);
        if setup.load.profile().is_some() {
            judge_by_host(&mut self.runner, run.seed);
        }
        let keep = Keep::Distributions(self.results.path());
        let done = self.runner.run(run, &setup, RunSteps::FULL, keep)?;
        let of = CrashedRun { run, setup: &setup };
        let done = self.runner.with_crashes(&[of], Ok(vec![done]))?.pop();
        let MeasuredRun { finished, measured, lost, .. } =
            done.ok_or_else(|| Error::new(Class::Internal, "the run is gone"))?;
        let missing = || Error::new(Class::Internal, format!("no workload {}", setup.asked()));
        let ready = self.runner.ready(&setup.asked()).ok_or_else(missing)?;
        let clients = ready.workload.clients().ok_or_else(missing)?;
        let abort = measured.aborts.first().and_then(|abort| clients.statement_position(abort.statement?));
        let (scale, statements) = (clients.scale(), clients.statements());
        let scripts = ready.scripts.clone();
        // Keep what was measured even if the user stops now.
        let _concluding = self.runner.stop().concluding();
        self.runner.progress.step(ExperimentStep::Store, self.results.path().display().to_string());
        let mut block = [finished];
        if measured.interrupted {
            mark_interrupted(&mut block[0].run, &setup);
        }
        let stored = self.results.keep(&mut block).and_then(|_| {
            self.results.id().ok_or_else(|| Error::new(Class::Internal, "the run was not stored"))
        });
        let [finished] = block;
        let remarks = finished.run.events.iter().filter(|event| event.kind == RunEvent::REMARK);
        Ok(OneRun {
            remarks: remarks.map(|event| event.detail.clone()).collect(),
            run: finished.run,
            measured,
            scripts,
            statements,
            scale,
            aborted_at: abort,
            stored,
            lost,
        })
    }
}

/// A part of a round is shown and stored, and counts in no mean.
fn mark_interrupted(run: &mut Run, setup: &Setup) {
    let detail = match setup.until {
        Until::Elapsed(ns) => format!("after {:.1} of {:.1} s", run.measured_s, ns as f64 / 1e9),
        Until::PerClient(_) | Until::PerUser(_) | Until::Caller => format!("after {:.1} s", run.measured_s),
    };
    // Others compare with the whole run.
    run.doubts = vec![Doubt { reason: Reason::Interrupted, detail }];
    run.validity = Validity::Invalid;
    // The mean rate until then.
    run.offered_rate = setup.load.profile().map(|profile| profile.mean(run.measured_s));
}
