//! Putting data on the target, once: each job leaves its record beside the data, and is not done again while the
//! fingerprint of what it was made from stays the same.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use protocol::postgres::sql::{Sql, SqlError, quote_literal};
use results::{Finished, Spool};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use spec::{Artifact, Load, Phase, Relation, Run, RunEvent, RunKey, RunKind, Sample};
use workloads::jobs::{Job, JobReport, relation_sizes};

use super::failed::succeeded;
use super::fill_in::fill_in;
use super::run::run;
use super::size::fits_on;
use crate::collectors::{CPU_OTHERS_PCT, Counters};
use crate::error::LabError;
use crate::event::{LabEvent, Progress, Step, Tell};
use crate::plan::{PlannedPreparation, jobs_of};
use crate::stage::Stage;
use server::Stop;
use server::host::{HostSample, OtherPrograms};

/// Where records of prepared data are kept: in the database, so that they go where the data goes.
const RECORDS: &str = "CREATE SCHEMA IF NOT EXISTS pgdyno; CREATE TABLE IF NOT EXISTS pgdyno.prepared \
     (job text PRIMARY KEY, fingerprint text NOT NULL, record text NOT NULL)";

/// What a job left, as it is kept beside the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct JobRecord {
    started_at: String,
    elapsed_us: u64,
    phases: Vec<Phase>,
    figures: BTreeMap<String, f64>,
    versions: BTreeMap<String, String>,
    relations: Vec<Relation>,
    log: String,
    #[serde(default)]
    remarks: Vec<String>,
    /// Tables that it made, where it says which; earlier builds did not keep them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tables: Vec<String>,
    /// Hashes of all that it read, in order: more than what its data are told by. Earlier builds did not keep them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    read: Vec<String>,
    /// What single figures were made of, and files: kept with the run, not beside the data.
    #[serde(skip)]
    samples: Vec<Sample>,
    #[serde(skip)]
    artifacts: Vec<Artifact>,
}

impl JobRecord {
    /// Of a job that left nothing on the target.
    pub(super) fn of(started_at: String, report: JobReport, remarks: Vec<String>) -> Self {
        Self {
            started_at,
            elapsed_us: report.elapsed_us,
            phases: report.phases,
            figures: report.figures,
            versions: report.versions,
            relations: Vec::new(),
            log: report.log,
            remarks,
            tables: report.tables,
            read: Vec::new(),
            samples: report.samples,
            artifacts: report.artifacts,
        }
    }

    /// What the job gave back.
    fn report(&self) -> JobReport {
        JobReport {
            phases: self.phases.clone(),
            elapsed_us: self.elapsed_us,
            figures: self.figures.clone(),
            versions: self.versions.clone(),
            log: self.log.clone(),
            samples: self.samples.clone(),
            artifacts: self.artifacts.clone(),
            ..JobReport::default()
        }
    }

    /// Whether nothing of what it read is another one now; of what an earlier build kept it is not known.
    fn was_made_of(&self, read: &[String]) -> bool {
        self.read.is_empty() || self.read == read
    }

    pub(crate) fn to_run(&self, name: &str, sequence: u32, reused: bool) -> Finished {
        let factors = BTreeMap::from([("workload".to_owned(), name.to_owned())]);
        let key = RunKey { workload: name.to_owned(), factors, arm: None, round: 0 };
        let mut run = Run { sequence, load: Load::Job, ..Run::new(RunKind::Job, key) };
        run.started_at.clone_from(&self.started_at);
        run.relations.clone_from(&self.relations);
        fill_in(&mut run, self.report());
        run.events.extend(self.remarks.iter().map(|remark| RunEvent {
            time_us: 0,
            kind: "remark".to_owned(),
            detail: remark.clone(),
        }));
        if reused {
            let detail =
                format!("the data was there already; these figures are those of {}", self.started_at);
            run.events.push(RunEvent { time_us: 0, kind: "reused".to_owned(), detail });
        }
        Finished { run, seconds: Spool::default() }
    }
}

/// A job that was done, or found done.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) name: String,
    pub(crate) record: JobRecord,
    pub(crate) reused: bool,
}

/// Does what is to be prepared, in order. With `reuse`, what is there already and
/// was made from the same is left as it is.
pub(crate) fn prepare(
    stage: &mut Stage,
    plan: &PlannedPreparation,
    reuse: bool,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<Vec<Done>, LabError> {
    let mut jobs = Jobs { stage, plan, reuse, progress, stop, done: Vec::new(), changed: false };
    for job in jobs_of(plan).jobs() {
        jobs.job(&*job)?;
    }
    Ok(jobs.done)
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("options are plain data")
}

/// What tells data from data that was made from something else; kept beside the data, so later builds must find it.
fn fingerprint(parts: &[String]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    spec::hex(&hash.finalize())
}

struct Jobs<'a> {
    stage: &'a mut Stage,
    plan: &'a PlannedPreparation,
    reuse: bool,
    progress: &'a mut dyn Progress,
    stop: &'a Stop,
    done: Vec<Done>,
    /// A job was done again: what builds on its data must be done again, too.
    changed: bool,
}

impl Jobs<'_> {
    fn job(&mut self, job: &dyn Job) -> Result<(), LabError> {
        if self.stop.soon() {
            return Err(LabError::Interrupted { kept: 0, planned: 0, again: false });
        }
        let print = fingerprint(&job.made_from(&self.plan.inputs));
        let stale = !self.reuse || self.changed && job.builds_on_earlier();
        let found = if stale { None } else { self.found(job, &print)? };
        let (record, reused) = match found {
            Some(record) => (record, true),
            None => (self.carry_out(job, &print)?, false),
        };
        self.changed |= !reused;
        let took = Duration::from_micros(record.elapsed_us);
        self.progress.event(LabEvent::JobFinished { what: job.what(), took, reused });
        self.done.push(Done { name: job.name(), record, reused });
        Ok(())
    }

    /// The record of data that is there and was made from the same.
    fn found(&mut self, job: &dyn Job, print: &str) -> Result<Option<JobRecord>, LabError> {
        let read = self.read_by(job);
        let control = self.stage.control()?;
        if control.scalar("SELECT to_regclass('pgdyno.prepared')")?.is_none() {
            return Ok(None);
        }
        if let Some(table) = job.table()
            && control.scalar(&format!("SELECT to_regclass({})", quote_literal(&table)))?.is_none()
        {
            return Ok(None);
        }
        let query = format!(
            "SELECT record FROM pgdyno.prepared WHERE job = {} AND fingerprint = {}",
            quote_literal(&job.name()),
            quote_literal(print)
        );
        let record: Option<JobRecord> =
            control.scalar(&query)?.and_then(|text| serde_json::from_str(&text).ok());
        let Some(record) = record.filter(|record| record.was_made_of(&read)) else { return Ok(None) };
        let there: BTreeSet<String> =
            relations(control)?.into_iter().map(|relation| relation.table).collect();
        Ok(record.tables.iter().all(|table| there.contains(table)).then_some(record))
    }

    /// Hashes of the files that a job reads, sorted: what they are called is no part of it.
    fn read_by(&self, job: &dyn Job) -> Vec<String> {
        let names = job.files().into_iter().map(|(name, _)| name);
        let mut read: Vec<String> = names.filter_map(|name| self.plan.inputs.get(&name).cloned()).collect();
        read.sort();
        read
    }

    fn carry_out(&mut self, job: &dyn Job, print: &str) -> Result<JobRecord, LabError> {
        let mut progress: &mut dyn Progress = &mut *self.progress;
        let made = super::extracts::make(job, &mut *progress, self.stop)?;
        if let Some(fill) = job.fill().filter(|fill| fill.bytes > 0) {
            progress.note(fits_on(self.stage, &job.what(), &fill)?);
        }
        progress.step(Step::Prepare, job.what());
        // A job that is broken off must not look like one that was done.
        forget(self.stage.control()?, &job.name())?;
        let read = self.read_by(job);
        let server = self.stage.postmaster()?;
        let under_test = self.stage.processes();
        let others = || OtherPrograms::take(under_test.as_deref()?);
        let before = (Counters::take(self.stage.control()?)?, HostSample::take(server), others());
        let started_at = jiff::Timestamp::now().to_string();
        let mut remarks: Vec<String> = made.iter().map(|made| made.words.clone()).collect();
        let report = self.run(job, &mut remarks).and_then(|report| succeeded(report, &job.name()));
        let report = match report {
            Ok(report) => report,
            Err(error) => return Err(self.explain(error)),
        };
        let (host, now) = (HostSample::take(server), others());
        let control = self.stage.control()?;
        let mut figures = Counters::take(control)?.since(&before.0);
        figures.extend(host.figures_since(&before.1));
        let others_pct = now.zip(before.2).and_then(|(now, before)| now.pct_since(&before));
        figures.extend(others_pct.map(|pct| (CPU_OTHERS_PCT.to_owned(), pct)));
        figures.extend(report.figures);
        figures.extend(made.map(|made| ("extract_made_s".to_owned(), made.took.as_secs_f64())));
        let report = JobReport { figures, ..report };
        let relations = relations(control)?;
        let mut record = JobRecord { relations, read, ..JobRecord::of(started_at, report, remarks) };
        // What it made meanwhile and is gone is none of its tables.
        let there: BTreeSet<&String> = record.relations.iter().map(|relation| &relation.table).collect();
        record.tables.retain(|table| there.contains(table) && !table.ends_with(OF_ALL_LOADS));
        remember(control, &job.name(), print, &record)?;
        Ok(record)
    }

    /// A job's own words, unless the server died or its disk is full: that says more.
    fn explain(&mut self, error: LabError) -> LabError {
        if self.stop.at_once() {
            return LabError::Interrupted { kept: 0, planned: 0, again: false };
        }
        self.stage.close_control();
        self.stage.explain(error)
    }

    fn run(&mut self, job: &dyn Job, remarks: &mut Vec<String>) -> Result<JobReport, LabError> {
        run(self.stage, job, &mut *self.progress, self.stop, remarks)
    }
}

fn forget(sql: &mut dyn Sql, name: &str) -> Result<(), SqlError> {
    sql.execute(RECORDS)?;
    sql.execute(&format!("DELETE FROM pgdyno.prepared WHERE job = {}", quote_literal(name)))
}

/// What osm2pgsql keeps once for all loads of a database.
const OF_ALL_LOADS: &str = "osm2pgsql_properties";

/// Keeps the record. Of other jobs whose tables it made again nothing is left.
fn remember(sql: &mut dyn Sql, name: &str, print: &str, record: &JobRecord) -> Result<(), SqlError> {
    if !record.tables.is_empty() {
        let tables: Vec<String> = record.tables.iter().map(|table| quote_literal(table)).collect();
        sql.execute(&format!(
            "DELETE FROM pgdyno.prepared WHERE job <> {} AND (record::json -> 'tables')::jsonb ?| ARRAY[{}]",
            quote_literal(name),
            tables.join(", ")
        ))?;
    }
    let [name, print, record] = [name, print, &json(record)].map(quote_literal);
    // Another pgdyno may have done the same job meanwhile.
    sql.execute(&format!(
        "INSERT INTO pgdyno.prepared VALUES ({name}, {print}, {record}) \
         ON CONFLICT (job) DO UPDATE SET fingerprint = EXCLUDED.fingerprint, record = EXCLUDED.record"
    ))
}

/// Sizes of the user's tables; our own records are none of them.
fn relations(sql: &mut dyn Sql) -> Result<Vec<Relation>, LabError> {
    let sizes = relation_sizes(sql)?;
    Ok(sizes.into_iter().filter(|size| !size.table.starts_with("pgdyno.")).collect())
}
