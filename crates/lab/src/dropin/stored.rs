//! A run of the drop-in in a results file: collectors, a verdict, a record.

use std::path::{Path, PathBuf};

use results::{ExperimentId, Finished, Store};
use server::Stop;
use server::settings::recorded;
use spec::shell::PrintedCommand;
use spec::{Class, Doubt, Error, Setting};
use workloads::Workload;
use workloads::pgbench::{self, Pgbench};

use crate::bench;
use crate::collectors::{self, Collector, Watched};
use crate::error::of_sql;
use crate::known_host::KnownHost;
use crate::measure::{Keep, Measured};
use crate::plan::single_run;
use crate::runner::{
    Identity, Judged, Results, Stage, Surroundings, judge_and_record, plan_of, planned, texts,
};
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
        let target = TargetAccess::url(bench::at(Some(dsn), None, None, None)?);
        let mut stage = Stage::read_only(&target)?;
        let settings = recorded(stage.control()?).map_err(of_sql)?;
        let at = Surroundings::of(&stage)?;
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
        run.settings = self.settings;
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
        };
        judge_and_record(&mut run, setup, &mut measured, &judged);
        let doubts = run.doubts.clone();
        let clients = crate::words::count(setup.clients as usize, "client");
        let question = format!("How fast is {} with {clients}?", setup.workload);
        let identity = Identity {
            name: "pgbench",
            question: &question,
            plan: plan_of(&self.target.spec, options, &scripts, setup, setup.threads).into(),
            seed: setup.seed,
        };
        let mut results = Results::next_round(&self.path, &identity, self.at)?.made_by(Some(self.command));
        results.add_texts(texts::of_workload("pgbench", workload));
        results.keep(&mut [Finished { run, seconds: measured.seconds }])?;
        let id = results.id().ok_or_else(|| Error::new(Class::Internal, "the run was not stored"))?;
        Ok((id, doubts))
    }
}
