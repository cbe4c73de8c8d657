//! Single measurements and single jobs, without an experiment file: `pgdyno bench`, `pgdyno bench -i`,
//! `pgdyno osm load`. Each is stored as an experiment of one cell; doing the same again adds a round.

mod connection;
mod job;
mod keep;
mod single;

use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::Measured;
use record::Run;
use results::ExperimentId;
use workloads::pgbench::{self, Pgbench, ScriptSource};
use workloads::{ClientWorkload, Crew, ScriptInfo, StatementInfo};

pub use connection::at;
pub use job::{Kept, initialize, load_osm};

pub(crate) use self::keep::{Surroundings, keep, try_results};
pub(crate) use self::single::Single;
use crate::collect::{probe_ms, settle};
use crate::error::LabError;
use crate::execute::{Progress, Series, Stage, Step, Taken, Tell, measure};
use crate::experiment::TargetSpec;
use target::Stop;

/// One run of pgbench scripts.
#[derive(Debug, Clone)]
pub struct Options {
    /// What is measured; see [`at`].
    pub target: TargetSpec,
    /// Folder with PostgreSQL's programs, for managed targets.
    pub pg_bin: Option<PathBuf>,
    /// Protocol, variables, tries, vacuum and the like.
    pub workload: pgbench::Options,
    /// The scripts in order; with none it is tpcb-like.
    pub scripts: Vec<ScriptSource>,
    /// Clients; at least 1.
    pub clients: u32,
    /// Threads; at least 1, never more than clients are used.
    pub threads: u32,
    /// End of the measured part.
    pub until: engine::Until,
    /// Load before anything counts.
    pub warmup: Duration,
    /// Open load: transactions per second; closed when `None`.
    pub rate: Option<f64>,
    /// Slower transactions are late; under a rate, hopeless ones are skipped.
    pub limit: Option<Duration>,
    /// Whether the latency of each statement is measured.
    pub statements: bool,
    /// Which driver moves the bytes.
    pub driver: engine::DriverChoice,
    /// Seed of all randomness.
    pub seed: u64,
    /// Where the run is stored; not at all when `None`.
    pub results: Option<PathBuf>,
}

/// What one run gave.
#[derive(Debug)]
pub struct Benched {
    /// The run as it is stored.
    pub run: Run,
    /// All that was measured, statements included.
    pub measured: Measured,
    /// The scripts, in the order of `measured.scripts`.
    pub scripts: Vec<ScriptInfo>,
    /// The statements, in the order of `measured.statements`; empty when they were not asked for.
    pub statements: Vec<StatementInfo>,
    /// pgbench's scale, where its tables are used, else the value given.
    pub scale: u64,
    /// Its experiment in the results file, or why it could not be stored; `None` where that was not asked for.
    pub stored: Option<Result<ExperimentId, LabError>>,
    /// Where in its script the first client gave up, in words.
    pub gave_up_at: Option<String>,
    /// Why the server could not be asked about the run: its counters are not in the result.
    pub lost: Option<LabError>,
    /// Remarks, such as tables that could not be vacuumed.
    pub remarks: Vec<String>,
}

/// Measures once.
///
/// # Errors
/// [`LabError`], with what to try.
pub fn run(options: &Options, progress: &mut dyn Progress, stop: &Stop) -> Result<Benched, LabError> {
    crate::error::explain(stop, once(options, progress, stop))
}

fn once(options: &Options, mut progress: &mut dyn Progress, stop: &Stop) -> Result<Benched, LabError> {
    let mut workload = open(options)?;
    try_results(options.results.as_deref(), &mut *progress)?;
    progress.step(Step::Target, "reach the server");
    let mut stage = Stage::open(&options.target, options.pg_bin.clone(), progress, stop)?;
    progress.step(Step::Guard, "does it do something?");
    stage.with_site(|site| workload.check(site))?;
    stage.with_site(|site| workload.prepare(site, options.seed))?;
    progress.step(Step::Reset, "the workload's own data, autovacuum, a checkpoint");
    let remarks = stage.with_site(|site| workload.reset(site))?;
    let control = stage.control()?;
    let settled = settle(control, &|| stop.soon())?;
    let single = single(options, &workload);
    let mut record = single.record();
    record.figures.insert("autovacuum_wait_s".to_owned(), settled.autovacuum_s);
    record.figures.extend(settled.checkpoint_s.map(|seconds| ("checkpoint_before_s".to_owned(), seconds)));
    record.figures.extend(probe_ms(control).map(|ms| ("probe_ms".to_owned(), ms)));
    record.settings = stage.recorded()?;

    let at = Surroundings::of(&stage)?;
    let mut taken = take(options, &workload, &mut stage, &mut *progress, stop)?;
    let lost = taken.lost.take();
    // What was measured is kept, also if the user has seen enough.
    let _concluding = stop.concluding();
    let measured = taken.measured.clone();
    let scripts = workload.scripts();
    let seconds = single.fill(&mut record, taken, &scripts);
    let stored = match &options.results {
        Some(path) => {
            progress.step(Step::Store, path.display().to_string());
            Some(keep(
                path,
                &at,
                "bench",
                &question(options, &scripts),
                (&identity(options, &scripts), &options.target),
                &mut record,
                seconds,
            ))
        }
        None => None,
    };
    Ok(Benched {
        statements: if options.statements { workload.statements() } else { Vec::new() },
        scale: workload.scale(),
        gave_up_at: measured.aborts.first().and_then(|abort| workload.locate(&abort.to_string())),
        run: record,
        measured,
        scripts,
        stored,
        lost,
        remarks,
    })
}

fn open(options: &Options) -> Result<Pgbench, LabError> {
    if options.scripts.is_empty() {
        return Ok(Pgbench::open(&options.workload, Path::new(""))?);
    }
    Ok(Pgbench::with_scripts(&options.workload, &options.scripts)?)
}

fn take(
    options: &Options,
    workload: &Pgbench,
    stage: &mut Stage,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<Taken, LabError> {
    let plan = engine_plan(options, workload);
    let crew = Crew {
        clients: options.clients as usize,
        threads: plan.threads,
        seed: options.seed,
        statements: options.statements,
    };
    let series = Series::of(plan.until, options.results.as_deref())?;
    measure(stage, workload, &plan, crew, series, progress, stop)
}

/// As pgbench does it: a timeline per thread, and transactions that are open at the end are waited for.
fn engine_plan(options: &Options, workload: &Pgbench) -> engine::Plan {
    let nanoseconds = |duration: Duration| duration.as_nanos() as engine::Time;
    engine::Plan {
        threads: options.threads.min(options.clients).max(1) as usize,
        driver: options.driver,
        load: match options.rate {
            None => engine::Load::Closed,
            Some(per_second) => engine::Load::Rate(engine::Rate {
                per_second,
                arrivals: engine::Arrivals::Poisson,
                timeline: engine::Timeline::PerThread,
            }),
        },
        warmup: nanoseconds(options.warmup),
        until: options.until,
        limit: options.limit.map(nanoseconds),
        skip_late: options.rate.is_some() && options.limit.is_some(),
        drain: nanoseconds(Duration::from_secs(60)),
        count_drained: false,
        transactions: false,
        gaps: None,
        connect_timeout: nanoseconds(Duration::from_secs(60)),
        seed: options.seed,
        scripts: workload.scripts().len(),
        statements: if options.statements { workload.statements().len() } else { 0 },
    }
}

fn single(options: &Options, workload: &Pgbench) -> Single {
    let names: Vec<_> = workload.scripts().into_iter().map(|script| script.name).collect();
    Single {
        workload: names.join(", "),
        clients: options.clients,
        threads: options.threads.min(options.clients).max(1),
        rate: options.rate,
        limit: options.limit,
        warmup: options.warmup,
        seed: options.seed,
        may_be_empty: options.workload.may_be_empty,
    }
}

fn question(options: &Options, scripts: &[ScriptInfo]) -> String {
    let names: Vec<_> = scripts.iter().map(|script| script.name.as_str()).collect();
    format!(
        "How fast is {} with {}?",
        names.join(", "),
        crate::words::count(options.clients as usize, "client")
    )
}

/// Everything but the seed that makes a run comparable with another one.
fn identity(options: &Options, scripts: &[ScriptInfo]) -> serde_json::Value {
    let until = match options.until {
        engine::Until::Elapsed(time) => serde_json::json!({ "elapsed_s": time as f64 / 1e9 }),
        engine::Until::PerClient(count) => serde_json::json!({ "per_client": count }),
    };
    let scripts: Vec<_> =
        scripts.iter().map(|script| (&script.name, &script.text_hash, script.weight)).collect();
    serde_json::json!({
        "target": options.target.identity(),
        "workload": options.workload,
        "scripts": scripts,
        "clients": options.clients,
        "threads": options.threads,
        "until": until,
        "warmup_s": options.warmup.as_secs_f64(),
        "rate": options.rate,
        "limit_s": options.limit.map(|limit| limit.as_secs_f64()),
    })
}
