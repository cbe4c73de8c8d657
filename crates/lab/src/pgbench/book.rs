//! A run of the drop-in in a results file: counters of the server and the host around it, a verdict, a record.

use std::path::{Path, PathBuf};

use engine::{Measured, Second, Until};
use protocol::postgres::sql::SqlError;
use record::Doubt;
use results::ExperimentId;
use workloads::ClientWorkload;
use workloads::pgbench::{Options, Pgbench};

use super::LoadOptions;
use crate::bench::{Single, Surroundings, keep};
use crate::collect::Counters;
use crate::error::LabError;
use crate::execute::{Series, Stage, Taken, counted, events, own_figures};
use crate::experiment::TargetSpec;
use target::Stop;
use target::host::HostSample;
use target::settings::recorded;

/// What a finished run is entered under.
#[derive(Debug)]
pub struct Entry<'a> {
    /// The scripts.
    pub workload: &'a Pgbench,
    /// How they were run.
    pub options: &'a Options,
    /// The load.
    pub load: &'a LoadOptions,
    /// What was measured.
    pub measured: &'a Measured,
}

/// A results file, open for one run.
#[derive(Debug)]
pub struct Book {
    path: PathBuf,
    target: TargetSpec,
    stage: Stage,
    at: Surroundings,
    settings: Vec<record::Setting>,
    started_at: String,
    series: Series,
    before: Option<(Counters, HostSample)>,
    problem: Option<SqlError>,
}

impl Book {
    /// Connects once more to the server of `dsn`, to read its settings now and its counters around the run.
    ///
    /// # Errors
    /// When the server or the results file refuses.
    pub fn open(path: &Path, dsn: &str, until: Until) -> Result<Self, LabError> {
        // Early: a file that cannot be used is better known before the run.
        results::Store::try_out(path)?;
        let target = TargetSpec::url(dsn.to_owned(), None, false);
        let mut stage = Stage::beside(&target)?;
        let settings = recorded(stage.control()?)?;
        let at = Surroundings::of(&stage)?;
        Ok(Self {
            path: path.to_owned(),
            target,
            stage,
            at,
            settings,
            started_at: jiff::Timestamp::now().to_string(),
            series: Series::of(until, Some(path))?,
            before: None,
            problem: None,
        })
    }

    /// What happens from now on counts.
    pub fn measuring(&mut self) {
        match self.stage.control().map(|control| Counters::take(control)) {
            Ok(Ok(counters)) => self.before = Some((counters, HostSample::take(None))),
            Ok(Err(error)) => self.problem = Some(error),
            // The run goes on; what is missing is said at its end.
            Err(error) => self.problem = Some(SqlError { sqlstate: None, text: error.to_string() }),
        }
    }

    /// One second of load is over.
    pub fn second(&mut self, second: &Second) {
        self.series.add(second);
    }

    /// Stores the run; gives its experiment, and why it may not be believed.
    ///
    /// # Errors
    /// When the server is gone or the file cannot be written.
    pub fn close(mut self, entry: &Entry<'_>) -> Result<(ExperimentId, Vec<Doubt>), LabError> {
        let stop = Stop::of_process();
        // What was measured is kept, also if the user has seen enough.
        let _concluding = stop.concluding();
        if let Some(problem) = self.problem.take().filter(|_| !stop.at_once()) {
            return Err(problem.into());
        }
        let after = HostSample::take(None);
        let mut figures = own_figures(entry.measured);
        if let Some((counters, host)) = self.before.take() {
            figures.extend(after.figures_since(&host));
            match counted(&mut self.stage, entry.measured, &counters) {
                Ok(counted) => figures.extend(counted),
                Err(_) if stop.at_once() => self.stage.close_control(),
                Err(error) => return Err(error),
            }
        }
        let single = single(entry);
        let mut record = single.record();
        record.settings = std::mem::take(&mut self.settings);
        let (series, seconds) = self.series.into_parts();
        let taken = Taken {
            started_at: std::mem::take(&mut self.started_at),
            measured: entry.measured.clone(),
            series,
            seconds,
            events: events(entry.measured, &figures),
            figures,
            changed: None,
            lost: None,
        };
        let seconds = single.fill(&mut record, taken, &entry.workload.scripts());
        let identity = identity(&self.target, entry);
        let identified = (&identity, &self.target);
        let stored =
            keep(&self.path, &self.at, "pgbench", &question(entry), identified, &mut record, seconds)?;
        Ok((stored, record.doubts))
    }
}

fn names(entry: &Entry<'_>) -> String {
    entry.workload.scripts().into_iter().map(|script| script.name).collect::<Vec<_>>().join(", ")
}

fn question(entry: &Entry<'_>) -> String {
    format!("How fast is {} with {}?", names(entry), crate::words::count(entry.load.clients, "client"))
}

fn single(entry: &Entry<'_>) -> Single {
    let load = entry.load;
    Single {
        workload: names(entry),
        clients: load.clients as u32,
        threads: load.crew().threads as u32,
        rate: load.rate,
        limit: load.limit,
        warmup: load.warmup,
        seed: load.seed,
        // It is pgbench's own load, whatever comes of it.
        may_be_empty: true,
    }
}

/// Everything but the seed that makes a run comparable with another one.
fn identity(target: &TargetSpec, entry: &Entry<'_>) -> serde_json::Value {
    let load = entry.load;
    let until = match load.until {
        Until::Elapsed(time) => serde_json::json!({ "elapsed_s": time as f64 / 1e9 }),
        Until::PerClient(count) => serde_json::json!({ "per_client": count }),
    };
    let scripts = entry.workload.scripts();
    let scripts: Vec<_> =
        scripts.iter().map(|script| (&script.name, &script.text_hash, script.weight)).collect();
    serde_json::json!({
        "target": target.identity(),
        "workload": entry.options,
        "scripts": scripts,
        "clients": load.clients,
        "threads": load.crew().threads,
        "until": until,
        "warmup_s": load.warmup.as_secs_f64(),
        "rate": load.rate,
        "limit_s": load.limit.map(|limit| limit.as_secs_f64()),
    })
}
