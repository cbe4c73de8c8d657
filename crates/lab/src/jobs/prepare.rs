//! Putting data on the target, once: each job leaves its record beside the data, and is not done again while the
//! fingerprint of what it was made from stays the same.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use protocol::postgres::sql::{Sql, SqlError, long, quote_literal};
use record::{Artifact, Phase, Relation, Run, RunEvent, RunKey, RunKind};
use results::{Finished, Spool};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use workloads::jobs::{JobReport, PhaseTimer, relation_sizes};
use workloads::{WorkloadError, pgbench};

use super::programs::Programs;
use crate::collectors::Counters;
use crate::error::{Class, LabError};
use crate::plan::PlannedPreparation;
use crate::runner::{LabEvent, Progress, Stage, Step, Tell};
use target::Stop;
use target::child::Overseen;
use target::control::Control;
use target::host::{self, HostSample};

/// Where records of prepared data are kept: in the database, so that they go where the data goes.
const RECORDS: &str = "CREATE SCHEMA IF NOT EXISTS pgdyno; CREATE TABLE IF NOT EXISTS pgdyno.prepared \
     (job text PRIMARY KEY, fingerprint text NOT NULL, record text NOT NULL)";

/// Patience with a server that answered just before.
const CONNECTING: Duration = Duration::from_secs(30);

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
}

impl JobRecord {
    /// As a run to be stored.
    pub(crate) fn to_run(&self, name: &str, sequence: u32, reused: bool) -> Finished {
        let factors = BTreeMap::from([("workload".to_owned(), name.to_owned())]);
        let key = RunKey { workload: name.to_owned(), factors, arm: None, round: 0 };
        let mut run = Run { sequence, load: "job".to_owned(), ..Run::new(RunKind::Job, key) };
        run.started_at.clone_from(&self.started_at);
        run.measured_s = self.elapsed_us as f64 / 1e6;
        run.phases.clone_from(&self.phases);
        run.figures.clone_from(&self.figures);
        run.relations.clone_from(&self.relations);
        if !self.log.is_empty() {
            run.artifacts.push(Artifact {
                name: format!("log/{name}"),
                media_type: "text/plain".to_owned(),
                caption: format!("what {name} said"),
                bytes: self.log.clone().into_bytes(),
            });
        }
        let event = |kind: &str, detail: String| RunEvent { time_us: 0, kind: kind.to_owned(), detail };
        for (program, version) in &self.versions {
            run.events.push(event("version", format!("{program} {version}")));
        }
        run.events.extend(self.remarks.iter().map(|remark| event("remark", remark.clone())));
        if reused {
            let detail =
                format!("the data was there already; these figures are those of {}", self.started_at);
            run.events.push(event("reused", detail));
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

/// Does what is to be prepared, in order: OSM, pgbench's tables, SQL files. With `reuse`, what is there already and
/// was made from the same is left as it is.
pub(crate) fn prepare(
    stage: &mut Stage,
    plan: &PlannedPreparation,
    reuse: bool,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<Vec<Done>, LabError> {
    let mut jobs =
        Jobs { stage, reuse, progress, stop, done: Vec::new(), remarks: Vec::new(), changed: false };
    if let Some(options) = &plan.osm {
        let what = format!("load {} with osm2pgsql", options.extract.display());
        let print = fingerprint(&[&portable(options), &input(plan, &options.extract)]);
        let table = format!("{}_point", options.prefix);
        jobs.job("osm", &what, &print, Some(&table), |jobs| jobs.load_osm(options))?;
    }
    if let Some(options) = &plan.pgbench {
        let what = format!("make pgbench's tables, scale {}", options.scale);
        let print = fingerprint(&[&json(options)]);
        jobs.job("pgbench -i", &what, &print, Some("pgbench_accounts"), |jobs| jobs.make_tables(options))?;
    }
    for path in &plan.sql {
        let name = format!("sql {}", path.file_name().unwrap_or_default().to_string_lossy());
        let print = fingerprint(&[&input(plan, path)]);
        jobs.job(&name, &format!("run {}", path.display()), &print, None, |jobs| jobs.run_sql(path))?;
    }
    Ok(jobs.done)
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("options are plain data")
}

/// OSM options without what only says where files lie.
fn portable(options: &workloads::osm::Options) -> String {
    let mut options = options.clone();
    options.extract = Path::new("").to_owned();
    options.program = None;
    options.style = options.style.map(|style| style.file_name().unwrap_or_default().into());
    json(&options)
}

fn input(plan: &PlannedPreparation, path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    plan.inputs.get(name.as_ref()).cloned().unwrap_or_default()
}

fn fingerprint(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

struct Jobs<'a> {
    stage: &'a mut Stage,
    reuse: bool,
    progress: &'a mut dyn Progress,
    stop: &'a Stop,
    done: Vec<Done>,
    /// What is to be remembered of the job under way.
    remarks: Vec<String>,
    /// An earlier job was done anew: what builds on its data must be done again, too.
    changed: bool,
}

impl Jobs<'_> {
    fn job(
        &mut self,
        name: &str,
        what: &str,
        print: &str,
        table: Option<&str>,
        work: impl FnOnce(&mut Self) -> Result<JobReport, LabError>,
    ) -> Result<(), LabError> {
        if self.stop.soon() {
            return Err(LabError::Interrupted { kept: 0, planned: 0 });
        }
        // SQL files may build on what came before them.
        let stale = !self.reuse || self.changed && table.is_none();
        let found = if stale { None } else { self.found(name, print, table)? };
        let (record, reused) = match found {
            Some(record) => (record, true),
            None => (self.carry_out(name, what, print, work)?, false),
        };
        self.changed |= !reused;
        let took = Duration::from_micros(record.elapsed_us);
        self.progress.event(LabEvent::JobFinished { what: what.to_owned(), took, reused });
        self.done.push(Done { name: name.to_owned(), record, reused });
        Ok(())
    }

    /// The record of data that is there and was made from the same.
    fn found(&mut self, name: &str, print: &str, table: Option<&str>) -> Result<Option<JobRecord>, LabError> {
        let control = self.stage.control()?;
        if control.scalar("SELECT to_regclass('pgdyno.prepared')")?.is_none() {
            return Ok(None);
        }
        if let Some(table) = table
            && control.scalar(&format!("SELECT to_regclass({})", quote_literal(table)))?.is_none()
        {
            return Ok(None);
        }
        let query = format!(
            "SELECT record FROM pgdyno.prepared WHERE job = {} AND fingerprint = {}",
            quote_literal(name),
            quote_literal(print)
        );
        Ok(control.scalar(&query)?.and_then(|text| serde_json::from_str(&text).ok()))
    }

    fn carry_out(
        &mut self,
        name: &str,
        what: &str,
        print: &str,
        work: impl FnOnce(&mut Self) -> Result<JobReport, LabError>,
    ) -> Result<JobRecord, LabError> {
        let mut progress: &mut dyn Progress = &mut *self.progress;
        progress.step(Step::Prepare, what);
        // A job that is broken off must not look like one that was done.
        forget(self.stage.control()?, name)?;
        let server = self.stage.target.postmaster();
        let before = (Counters::take(self.stage.control()?)?, HostSample::take(server));
        let started_at = jiff::Timestamp::now().to_string();
        let report = match work(self) {
            Ok(report) => report,
            Err(error) => return Err(self.explain(error)),
        };
        let host = HostSample::take(server);
        let control = self.stage.control()?;
        let mut figures = Counters::take(control)?.since(&before.0);
        figures.extend(host.figures_since(&before.1));
        figures.extend(report.figures);
        let record = JobRecord {
            started_at,
            elapsed_us: report.elapsed_us,
            phases: report.phases.into_iter().map(phase).collect(),
            figures,
            versions: report.versions,
            relations: relations(control)?,
            log: report.log,
            remarks: std::mem::take(&mut self.remarks),
        };
        remember(control, name, print, &record)?;
        Ok(record)
    }

    /// A job's own words, unless the server died or its disk is full: that says more.
    fn explain(&mut self, error: LabError) -> LabError {
        if self.stop.at_once() {
            return LabError::Interrupted { kept: 0, planned: 0 };
        }
        self.stage.close_control();
        self.stage.explain(error)
    }

    fn load_osm(&mut self, options: &workloads::osm::Options) -> Result<JobReport, LabError> {
        if let Some(doubt) = workloads::osm::check_extract(&options.extract)?.doubt {
            let mut progress: &mut dyn Progress = &mut *self.progress;
            progress.warn(doubt.clone());
            self.remarks.push(doubt);
        }
        self.stage.target.ensure_extension("postgis")?;
        if options.hstore {
            self.stage.target.ensure_extension("hstore")?;
        }
        let database = self.stage.target.for_programs();
        let env = self.stage.target.environment_for_programs();
        let overseen =
            Overseen::new(&self.stage.watchdog, self.stop, env).working_on(self.stage.target.place());
        let mut programs = Programs::new(overseen);
        let loaded = workloads::osm::load(options, &database, Path::new(""), host::cores(), &mut programs);
        match programs.dead_server {
            Some(why) => Err(LabError::failed(
                Class::Unreachable,
                format!("osm2pgsql was stopped, because its server does not answer: {why}"),
                "see to the server (its log, its disk, the network), then load again",
            )),
            None => Ok(loaded?),
        }
    }

    fn make_tables(&mut self, options: &pgbench::init::InitOptions) -> Result<JobReport, LabError> {
        let place = self.stage.control()?.place().clone();
        let control = Control::open(&place, Some(CONNECTING))?;
        let stop = self.stop;
        let report = super::initialize(
            control,
            options,
            &pgbench::init::Loading::default(),
            &|| stop.at_once(),
            &mut |_: &pgbench::init::Event| {},
        );
        Ok(report.map_err(WorkloadError::from)?)
    }

    fn run_sql(&mut self, path: &Path) -> Result<JobReport, LabError> {
        let text = std::fs::read_to_string(path).map_err(|source| LabError::Io {
            doing: "read",
            path: path.to_owned(),
            source,
        })?;
        let start = Instant::now();
        let mut clock = || start.elapsed().as_micros() as u64;
        let mut timer = PhaseTimer::new(&mut clock);
        let control = self.stage.control()?;
        long(control)
            .query(&text)
            .map_err(|error| WorkloadError::Sql { doing: format!("running {}", path.display()), error })?;
        timer.end("sql", &path.file_name().unwrap_or_default().to_string_lossy(), 0, None);
        Ok(timer.finish())
    }
}

fn forget(sql: &mut dyn Sql, name: &str) -> Result<(), SqlError> {
    sql.execute(RECORDS)?;
    sql.execute(&format!("DELETE FROM pgdyno.prepared WHERE job = {}", quote_literal(name)))
}

fn remember(sql: &mut dyn Sql, name: &str, print: &str, record: &JobRecord) -> Result<(), SqlError> {
    let [name, print, record] = [name, print, &json(record)].map(quote_literal);
    sql.execute(&format!("INSERT INTO pgdyno.prepared VALUES ({name}, {print}, {record})"))
}

fn phase(phase: workloads::jobs::JobPhase) -> Phase {
    Phase {
        name: phase.name,
        item: phase.item,
        start_us: phase.start_us,
        duration_us: phase.duration_us,
        count: phase.count,
        source: phase.source.to_owned(),
    }
}

/// Sizes of the user's tables; our own records are none of them.
fn relations(sql: &mut dyn Sql) -> Result<Vec<Relation>, LabError> {
    let sizes = relation_sizes(sql)?;
    let theirs = sizes.into_iter().filter(|size| !size.table.starts_with("pgdyno."));
    Ok(theirs
        .map(|size| Relation {
            name: size.name,
            kind: size.kind,
            table: size.table,
            bytes: size.bytes,
            rows: size.rows,
        })
        .collect())
}
