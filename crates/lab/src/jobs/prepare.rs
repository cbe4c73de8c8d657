//! Puts data on the target, once: each job stores its record next to the data, and is not repeated while the
//! fingerprint of its inputs stays the same.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use protocol::postgres::sql::{Sql, SqlError, quote_literal};
use results::{Finished, Spool};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use spec::figures::{self, Figures};
use spec::plan::{PlannedPreparation, ProbeOptions};
use spec::{Artifact, Error, OfferedLoad, Phase, Relation, Run, RunEvent, RunKey, RunKind, Sample};
use workloads::jobs::{Job, JobReport, relation_sizes};
use workloads::probe::Probe;

use super::report::fill_in;
use super::report::succeeded;
use super::run::run;
use super::size::fits_on;
use crate::collectors::Counters;
use crate::error::{of_sql, stopped};
use crate::event::{ExperimentStep, LabEvent, Progress, ProgressExt};
use crate::plan::jobs_of;
use crate::stage::Stage;
use server::Stop;
use server::host::{HostSample, OtherPrograms};

/// Records of prepared data: in the database, so that they move with the data.
const RECORDS: &str = "CREATE SCHEMA IF NOT EXISTS pgdyno; CREATE TABLE IF NOT EXISTS pgdyno.prepared \
     (job text PRIMARY KEY, fingerprint text NOT NULL, record text NOT NULL)";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct JobRecord {
    started_at: String,
    elapsed_us: u64,
    phases: Vec<Phase>,
    figures: Figures,
    versions: BTreeMap<String, String>,
    relations: Vec<Relation>,
    log: String,
    #[serde(default)]
    remarks: Vec<String>,
    /// Its tables, if it lists them; earlier builds did not store them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tables: Vec<String>,
    /// Hashes of all inputs, in order: more than the fingerprint of its data covers. Earlier builds did not
    /// store them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    read: Vec<String>,
    /// SHA-256 over the files of the PostgreSQL that made the data; earlier builds did not store it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    build: Option<String>,
    /// The origin of single figures, and files: stored with the run, not next to the data.
    #[serde(skip)]
    samples: Vec<Sample>,
    #[serde(skip)]
    artifacts: Vec<Artifact>,
}

impl JobRecord {
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
            build: None,
            samples: report.samples,
            artifacts: report.artifacts,
        }
    }

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

    /// Versions of the programs that made it, by name.
    pub(crate) fn versions(&self) -> &BTreeMap<String, String> {
        &self.versions
    }

    /// Whether all inputs are unchanged; unknown for the records of an earlier build.
    fn was_made_of(&self, read: &[String]) -> bool {
        self.read.is_empty() || self.read == read
    }

    pub(crate) fn to_run(&self, name: &str, sequence: u32, reused: bool) -> Finished {
        let factors = BTreeMap::from([("workload".to_owned(), name.to_owned())]);
        let key = RunKey { workload: name.to_owned(), factors, arm: None, round: 0 };
        let mut run = Run { sequence, load: OfferedLoad::Job, ..Run::new(RunKind::Job, key) };
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
pub(crate) struct PreparedJob {
    pub(crate) name: String,
    pub(crate) record: JobRecord,
    pub(crate) reused: bool,
}

/// Does the preparation, in order. With `reuse`, existing data from the same inputs stay unchanged.
pub(crate) fn prepare(
    stage: &mut Stage,
    plan: &PlannedPreparation,
    reuse: bool,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<Vec<PreparedJob>, Error> {
    let mut jobs = Jobs { stage, plan, reuse, progress, stop, done: Vec::new(), changed: false };
    for job in jobs_of(plan).jobs() {
        jobs.job(&*job)?;
    }
    Ok(jobs.done)
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("options are plain data")
}

/// Distinguishes data from different inputs; stored next to the data, so later builds must compute the same.
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
    done: Vec<PreparedJob>,
    /// A job was repeated: jobs that build on its data must be repeated too.
    changed: bool,
}

impl Jobs<'_> {
    fn job(&mut self, job: &dyn Job) -> Result<(), Error> {
        if self.stop.soon() {
            return Err(stopped());
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
        self.done.push(PreparedJob { name: job.name(), record, reused });
        Ok(())
    }

    fn found(&mut self, job: &dyn Job, print: &str) -> Result<Option<JobRecord>, Error> {
        let read = self.read_by(job);
        let control = self.stage.control()?;
        if control.scalar("SELECT to_regclass('pgdyno.prepared')").map_err(of_sql)?.is_none() {
            return Ok(None);
        }
        if let Some(table) = job.table_name()
            && control
                .scalar(&format!("SELECT to_regclass({})", quote_literal(&table)))
                .map_err(of_sql)?
                .is_none()
        {
            return Ok(None);
        }
        let query = format!(
            "SELECT record FROM pgdyno.prepared WHERE job = {} AND fingerprint = {}",
            quote_literal(&job.name()),
            quote_literal(print)
        );
        let record: Option<JobRecord> =
            control.scalar(&query).map_err(of_sql)?.and_then(|text| serde_json::from_str(&text).ok());
        let Some(record) = record.filter(|record| record.was_made_of(&read)) else { return Ok(None) };
        let build = self.stage.target.build_tree()?;
        if record.build.is_some() && record.build != build {
            self.progress.note(format!("{}: another build of PostgreSQL made the data", job.what()));
            return Ok(None);
        }
        let control = self.stage.control()?;
        let there: BTreeSet<String> =
            relations(control)?.into_iter().map(|relation| relation.table).collect();
        Ok(record.tables.iter().all(|table| there.contains(table)).then_some(record))
    }

    /// Sorted hashes of the files that a job reads, without their names.
    fn read_by(&self, job: &dyn Job) -> Vec<String> {
        let names = job.files().into_iter().map(|(name, _)| name);
        let mut read: Vec<String> = names.filter_map(|name| self.plan.inputs.get(&name).cloned()).collect();
        read.sort();
        read
    }

    fn carry_out(&mut self, job: &dyn Job, print: &str) -> Result<JobRecord, Error> {
        let mut progress: &mut dyn Progress = &mut *self.progress;
        let made = super::extracts::make(job, &mut *progress, self.stop)?;
        if let Some(fill) = job.fill().filter(|fill| fill.bytes > 0) {
            progress.note(fits_on(self.stage, &job.what(), &fill)?);
        }
        progress.step(ExperimentStep::Prepare, job.what());
        // An interrupted job must not look like a finished one.
        forget(self.stage.control()?, &job.name()).map_err(of_sql)?;
        let read = self.read_by(job);
        let server = self.stage.postmaster()?;
        let under_test = self.stage.processes();
        let others = || OtherPrograms::take(under_test.as_deref()?);
        let before =
            (Counters::take(self.stage.control()?).map_err(of_sql)?, HostSample::take(server), others());
        let started_at = jiff::Timestamp::now().to_string();
        let mut remarks: Vec<String> = made.iter().map(|made| made.words.clone()).collect();
        let report = self.run(job, &mut remarks).and_then(|report| succeeded(report, &job.name()));
        let report = match report {
            Ok(report) => report,
            Err(error) => return Err(self.explain(error)),
        };
        let (host, now) = (HostSample::take(server), others());
        let build = self.stage.target.build_tree()?;
        let control = self.stage.control()?;
        let mut figures = Counters::take(control).map_err(of_sql)?.since(&before.0);
        figures.append(host.figures_since(&before.1));
        let others_pct = now.zip(before.2).and_then(|(now, before)| now.pct_since(&before));
        figures.extend(others_pct.map(|pct| (figures::CPU_OTHERS_PCT, pct)));
        figures.append(report.figures);
        figures.extend(made.map(|made| (figures::EXTRACT_MADE_S, made.took.as_secs_f64())));
        let report = JobReport { figures, ..report };
        let relations = relations(control)?;
        let mut record = JobRecord { relations, read, build, ..JobRecord::of(started_at, report, remarks) };
        // Tables that the job dropped again are not its tables.
        let there: BTreeSet<&String> = record.relations.iter().map(|relation| &relation.table).collect();
        record.tables.retain(|table| there.contains(table) && !table.ends_with(OF_ALL_LOADS));
        remember(control, &job.name(), print, &record).map_err(of_sql)?;
        Ok(record)
    }

    /// The job's own error, unless the server died or its disk is full: that is the cause.
    fn explain(&mut self, error: Error) -> Error {
        if self.stop.at_once() {
            return stopped();
        }
        self.stage.close_control();
        self.stage.explain(error)
    }

    fn run(&mut self, job: &dyn Job, remarks: &mut Vec<String>) -> Result<JobReport, Error> {
        run(self.stage, job, &mut *self.progress, self.stop, remarks)
    }
}

/// Probes the hardware of a server. Nothing remains on it, so no record is stored there.
pub(crate) fn probe(
    stage: &mut Stage,
    options: &ProbeOptions,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<PreparedJob, Error> {
    let token = uuid::Uuid::new_v4().simple().to_string();
    let job = Probe::new(options.clone(), &token[..12]);
    let started_at = jiff::Timestamp::now().to_string();
    let mut remarks = Vec::new();
    let report = succeeded(run(stage, &job, &mut *progress, stop, &mut remarks)?, &job.name())?;
    let took = Duration::from_micros(report.elapsed_us);
    progress.event(LabEvent::JobFinished { what: job.what(), took, reused: false });
    let record = JobRecord::of(started_at, report, remarks);
    Ok(PreparedJob { name: job.name(), record, reused: false })
}

fn forget(sql: &mut dyn Sql, name: &str) -> Result<(), SqlError> {
    sql.execute(RECORDS)?;
    sql.execute(&format!("DELETE FROM pgdyno.prepared WHERE job = {}", quote_literal(name)))
}

/// osm2pgsql keeps one for all loads of a database.
const OF_ALL_LOADS: &str = "osm2pgsql_properties";

/// Stores the record. Records of other jobs whose tables it replaced are removed.
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
    // Another pgdyno may have done the same job in the meantime.
    sql.execute(&format!(
        "INSERT INTO pgdyno.prepared VALUES ({name}, {print}, {record}) \
         ON CONFLICT (job) DO UPDATE SET fingerprint = EXCLUDED.fingerprint, record = EXCLUDED.record"
    ))
}

/// Sizes of the user's tables, without pgdyno's own records.
fn relations(sql: &mut dyn Sql) -> Result<Vec<Relation>, Error> {
    let sizes = relation_sizes(sql)?;
    Ok(sizes.into_iter().filter(|size| !size.table.starts_with("pgdyno.")).collect())
}
