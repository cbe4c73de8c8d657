//! Single measurements and single jobs, without an experiment file: `pgdyno bench`, `pgdyno bench -i`,
//! `pgdyno osm load`. Each is stored as an experiment of one cell; a repetition adds a round.

mod connection;
mod job;

use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::EngineResult;
use results::ExperimentId;
use server::Stop;
use spec::plan::{Arm, Placement, PlannedPreparation, SinglePlan, TargetSpec, Waiting};
use spec::shell::PrintedCommand;
use spec::{Class, Error, Profile, Run};
use workloads::pgbench::{self, Pgbench, ScriptSource};
use workloads::{ClientWorkload, Preparation, ScriptInfo, StatementInfo, Workload};

pub use connection::at;
pub use job::{KeepIn, Kept, initialize, load_osm};

use crate::error::explain;
use crate::facts;
use crate::jobs;
use crate::lateness::judge_by_host;
use crate::measure::Keep;
use crate::plan::{preparation, single_run};
use crate::runner::{
    ExperimentStep, Identity, MeasuredRun, Progress, ProgressExt, Ready, Results, RunSteps, Runner, Stage,
    Surroundings, plan_of, texts, try_results,
};
use crate::setup::{At, Cache, ConnectionPath, Counting, Load, Server, Setup};
use crate::target_spec::TargetAccess;

/// Options of one run of pgbench scripts.
#[derive(Debug, Clone)]
pub struct BenchOptions {
    pub target: TargetAccess,
    pub pg_bin: Option<PathBuf>,
    /// Data to prepare on a managed target; existing data from the same source are kept.
    pub prepare: Preparation,
    pub workload: pgbench::PgbenchOptions,
    /// In order; if empty, tpcb-like.
    pub scripts: Vec<ScriptSource>,
    /// At least 1.
    pub clients: u32,
    /// At least 1; never more than clients are used.
    pub threads: u32,
    pub until: engine::Until,
    pub warmup: Duration,
    /// Open load: transactions per second; `None` is a closed load.
    pub rate: Option<Profile>,
    /// Slower transactions are late; under a rate, transactions that are already too late are skipped.
    pub promise: Option<Duration>,
    /// Whether the latency of each statement is measured.
    pub statements: bool,
    pub driver: engine::DriverChoice,
    pub waiting: Waiting,
    pub seed: u64,
    /// Results file; `None` to store nothing.
    pub results: Option<PathBuf>,
    /// The command to repeat it, without passwords; stored with the run.
    pub command: Option<PrintedCommand>,
}

/// The result of one run.
#[derive(Debug)]
pub struct Benched {
    pub run: Run,
    pub measured: EngineResult,
    pub scripts: Vec<ScriptInfo>,
    /// In the order of `measured.statements`; empty if not requested.
    pub statements: Vec<StatementInfo>,
    /// pgbench's scale if its tables are used, else the value given.
    pub scale: u64,
    /// Its experiment in the results file, or why it could not be stored; `None` if not requested.
    pub stored: Option<Result<ExperimentId, Error>>,
    /// Where in its script the first client was aborted, as text.
    pub gave_up_at: Option<String>,
    /// Why the server's counters are missing from the result.
    pub lost: Option<Error>,
    /// For example, tables that could not be vacuumed.
    pub remarks: Vec<String>,
}

/// Measures once.
///
/// # Errors
/// [`Error`], with what to try.
pub fn run(options: &BenchOptions, progress: &mut dyn Progress, stop: &Stop) -> Result<Benched, Error> {
    explain(stop, once(options, progress, stop))
}

fn once(options: &BenchOptions, mut progress: &mut dyn Progress, stop: &Stop) -> Result<Benched, Error> {
    let mut workload = open(options)?;
    let prepare = facts::preparation(&options.prepare)?;
    try_results(options.results.as_deref(), &mut *progress)?;
    jobs::foresee([(options.target.spec.clone(), &prepare)].into_iter())?;
    progress.step(ExperimentStep::Target, "reach the server");
    let mut stage = Stage::open(&options.target, options.pg_bin.clone(), progress, stop)?;
    stage.lets_through(&workload)?;
    jobs::prepare(&mut stage, &prepare, true, &mut *progress, stop).map_err(|error| stage.explain(error))?;
    progress.step(ExperimentStep::Guard, "does it do something?");
    stage.with_site(|site| workload.check(site))?;
    stage.with_site(|site| workload.prepare(site, options.seed))?;
    let scripts = workload.scripts();
    let statements = if options.statements { workload.statements() } else { Vec::new() };
    let (scale, positions) = (workload.scale(), workload.clone());
    let setup = setup(options, &scripts);
    let at = Surroundings::of(&stage)?;

    let mut runner = Runner::new([(At::default(), stage)], progress, stop);
    runner.add(&setup.asked(), Ready::without_facts(workload));
    if setup.load.profile().is_some() {
        judge_by_host(&mut runner, options.seed);
    }
    let keep = options.results.as_deref().map_or(Keep::Counters, Keep::Distributions);
    let MeasuredRun { finished, measured, lost, .. } =
        runner.run(&single_run(&setup), &setup, RunSteps::FULL, keep)?;
    // Keep what was measured even if the user stops now.
    let _concluding = stop.concluding();
    let mut block = [finished];
    let stored = options.results.as_deref().map(|path| {
        runner.progress.step(ExperimentStep::Store, path.display().to_string());
        let question = question(options, &scripts);
        let identity = Identity {
            name: "bench",
            question: &question,
            plan: plan(options, &scripts, &setup, &prepare).into(),
            seed: options.seed,
        };
        let mut results = Results::next_round(path, &identity, at)?.made_by(options.command.clone());
        results.add_texts(texts::of_workload("bench", &positions));
        results.keep(&mut block)?;
        results.id().ok_or_else(|| Error::new(Class::Internal, "the run was not stored"))
    });
    let [finished] = block;
    let remarks = finished.run.events.iter().filter(|event| event.kind == "remark");
    Ok(Benched {
        statements,
        scale,
        gave_up_at: measured.aborts.first().and_then(|abort| positions.statement_position(abort.statement?)),
        remarks: remarks.map(|event| event.detail.clone()).collect(),
        run: finished.run,
        measured,
        scripts,
        stored,
        lost,
    })
}

fn open(options: &BenchOptions) -> Result<Pgbench, Error> {
    if options.scripts.is_empty() {
        return Pgbench::open(&options.workload, Path::new(""));
    }
    Pgbench::with_scripts(&options.workload, &options.scripts)
}

/// The content of the plan identifies the run.
fn plan(
    options: &BenchOptions,
    scripts: &[ScriptInfo],
    setup: &Setup,
    prepare: &PlannedPreparation,
) -> SinglePlan {
    let plan = plan_of(&options.target.spec, &options.workload, scripts, setup, options.threads);
    let prepared = options.prepare != Preparation::default();
    SinglePlan { prepare: prepared.then(|| preparation::portable(prepare)), ..plan }
}

/// Most clients that the default `max_connections` of a private server allows; pgdyno and superusers use the
/// rest.
const ROOM: u32 = 90;

/// Raises `max_connections` of a private server if there are more clients; other servers stay unchanged.
fn room(options: &BenchOptions) -> Option<Arm> {
    let is_managed = matches!(options.target.spec, TargetSpec::Managed { .. });
    (is_managed && options.clients > ROOM).then(|| Arm {
        name: None,
        settings: [("max_connections".to_owned(), (options.clients + 10).to_string())].into(),
        weakens: Vec::new(),
    })
}

/// As in pgbench: a timeline per thread, and transactions that are open at the end are completed.
fn setup(options: &BenchOptions, scripts: &[ScriptInfo]) -> Setup {
    let names: Vec<_> = scripts.iter().map(|script| script.name.as_str()).collect();
    Setup {
        server: Server::Target(At::default()),
        connection: ConnectionPath::Direct,
        changes: None,
        cache: Cache::AsLeft,
        arm: room(options),
        workload: names.join(", "),
        options: std::collections::BTreeMap::new(),
        load: options.rate.clone().map_or(Load::Closed, Load::Rate),
        clients: options.clients,
        threads: options.threads.min(options.clients).max(1),
        promise: options.promise,
        sought: None,
        warmup: options.warmup,
        until: options.until,
        statements: options.statements,
        transactions: false,
        driver: options.driver,
        placement: Placement::default(),
        seed: options.seed,
        waiting: options.waiting,
        counting: Counting::BENCH,
    }
}

fn question(options: &BenchOptions, scripts: &[ScriptInfo]) -> String {
    let names: Vec<_> = scripts.iter().map(|script| script.name.as_str()).collect();
    format!(
        "How fast is {} with {}?",
        names.join(", "),
        crate::words::count(options.clients as usize, "client")
    )
}
