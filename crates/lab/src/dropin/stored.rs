//! A run of the drop-in in a results file: collectors, a verdict, a record.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use engine::Until;

use results::{ExperimentId, Finished, Store};
use server::Stop;
use server::settings::recorded;
use spec::plan::{
    Arm, AskedCounting, Content, Decision, Decisions, Fact, Plan, PlannedLoad, PlannedMeasure,
    PlannedWorkload, TargetSpec, WorkloadOptions,
};
use spec::shell::PrintedCommand;
use spec::{Class, Doubt, Error, Setting};
use workloads::pgbench::{self, Pgbench};
use workloads::{ScriptInfo, Workload};

use crate::collectors::{self, Collector, Watched};
use crate::connection;
use crate::error::of_sql;
use crate::execute::record_of;
use crate::known_host::KnownHost;
use crate::measure::{Keep, Measured};
use crate::plan::{identity, single_run};
use crate::runner::{Judged, Results, Stage, Surroundings, judge_and_record, planned, texts};
use crate::setup::Setup;
use crate::target_spec::TargetAccess;
use crate::validity::Probes;

/// A results file, open for one run.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    target: TargetAccess,
    stage: Stage,
    at: Surroundings,
    settings: Vec<Setting>,
    command: PrintedCommand,
}

impl Recorder {
    /// Opens one more connection to the server of `dsn`, to read its settings now and its counters around the
    /// run. The command is stored with the run.
    ///
    /// # Errors
    /// When the server or the results file refuses.
    pub fn open(path: &Path, dsn: &str, command: PrintedCommand) -> Result<Self, Error> {
        // Report an unusable file before the run.
        Store::try_out(path)?;
        let target = TargetAccess::url(connection::at(Some(dsn), None, None, None)?);
        let mut stage = Stage::read_only(&target)?;
        let settings = recorded(stage.control()?).map_err(of_sql)?;
        let at = Surroundings::of(&mut stage)?;
        Ok(Self { path: path.to_owned(), target, stage, at, settings, command })
    }

    /// How the seconds of the run are kept, and its collectors.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn watch(&mut self) -> Result<(Keep<'_>, Vec<Box<dyn Collector + '_>>), Error> {
        let sql = self.stage.control()?;
        Ok((
            Keep::Distributions(&self.path),
            collectors::all(Watched { sql: Some(sql), ..Watched::default() }),
        ))
    }

    /// Stores the run; returns its experiment, and why the run is doubtful, if so.
    ///
    /// # Errors
    /// When the connection is lost or the file cannot be written.
    pub fn store(
        self,
        workload: &Pgbench,
        options: &pgbench::PgbenchOptions,
        setup: &Setup,
        mut measured: Measured,
    ) -> Result<(ExperimentId, Vec<Doubt>), Error> {
        let stop = Stop::of_process();
        // Keep what was measured even if the user stops now.
        let _concluding = stop.concluding();
        if let Some(trouble) = measured.trouble.take().filter(|_| !stop.at_once()) {
            return Err(of_sql(trouble));
        }
        let mut run = planned(&single_run(setup), setup);
        run.settings = self.settings.into();
        let scripts = workload.scripts();
        // The load is pgbench's own, so its results are never rejected.
        let host_lag_us = KnownHost::here().0.lag.map(|lag| lag.p99_us);
        let judged = Judged {
            changed: None,
            probes: Probes::default(),
            host_lag_us,
            scripts: &scripts,
            items: &[],
            may_be_empty: true,
            advice_on_empty: workloads::EMPTY_SCRIPT,
        };
        judge_and_record(&mut run, setup, &mut measured, &judged);
        let doubts = run.doubts.clone();
        let clients = crate::words::count(setup.clients as usize, "client");
        let mut plan = plan_of(&self.target.spec, options, &scripts, setup);
        plan.question = format!("How fast is {} with {clients}?", setup.workload);
        let store = Store::create_or_open(&self.path)?;
        let known = store.newest_with_hash(&identity::hash(&plan.content), &self.at.host.uuid)?;
        let stored = known.map(|id| store.finished_runs(id)).transpose()?.unwrap_or_default();
        run.round = stored.iter().map(|run| run.round).max().unwrap_or(0) + 1;
        run.sequence = stored.len() as u32;
        plan.rounds = run.round;
        let at = (record_of(String::new(), &plan, Vec::new()), self.at);
        let results = Results::of_experiment(&self.path, at, known, false);
        let mut results = results.made_by(Some(self.command));
        results.add_texts(texts::of_workload("pgbench", workload));
        results.add_facts(vec![Fact::Round { round: run.round, seed: run.seed }]);
        results.keep(&mut [Finished { run, seconds: measured.seconds }])?;
        let id = results.id().ok_or_else(|| Error::new(Class::Internal, "the run was not stored"))?;
        Ok((id, doubts))
    }
}

/// The plan of a run of pgbench scripts, without an experiment.
fn plan_of(
    target: &TargetSpec,
    options: &pgbench::PgbenchOptions,
    scripts: &[ScriptInfo],
    setup: &Setup,
) -> Plan {
    let run = single_run(setup);
    let texts = scripts.iter().map(|script| (script.name.clone(), script.text_hash.clone()));
    let spec = WorkloadOptions::of(&BTreeMap::from([("pgbench", options)]));
    let planned = PlannedWorkload { spec, scripts: texts.collect(), levels: BTreeMap::new() };
    let measure = PlannedMeasure {
        load: setup.load.profile().map_or(PlannedLoad::Closed, |_| PlannedLoad::Rate),
        promise_s: setup.promise.map(|promise| promise.as_secs_f64()),
        warmup_s: setup.warmup.as_secs_f64(),
        duration_s: if let Until::Elapsed(ns) = setup.until { ns as f64 / 1e9 } else { 0.0 },
        transactions: if let Until::PerClient(number) = setup.until { Some(number) } else { None },
        counting: AskedCounting::Pgbench,
        threads: setup.threads,
        ..PlannedMeasure::default()
    };
    let content = Content {
        target: target.clone(),
        workloads: [(setup.workload.clone(), planned)].into(),
        factors: run.factors.iter().map(|(key, level)| (key.clone(), vec![level.clone()])).collect(),
        arms: vec![Arm { name: None, settings: BTreeMap::new(), weakens: Vec::new() }],
        measure,
        ..Content::default()
    };
    let seed = Decision::decided(setup.seed, "from the command");
    let decisions = Decisions { seed, ..Decisions::default() };
    Plan { name: "pgbench".to_owned(), content, runs: vec![run], decisions, ..Plan::default() }
}
