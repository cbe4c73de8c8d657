//! An experiment's place in the results file, created with its first run.

use std::path::{Path, PathBuf};

use engine::Until;
use results::{ExperimentId, Finished, Store};
use server::host;
use sha2::{Digest, Sha256};
use spec::plan::{Fact, Recorded, SingleEnd, SingleLoad, SinglePlan, TargetSpec, WorkloadOptions};
use spec::{Artifact, Error, ExperimentRecord, Host, MeasuredTarget, RunKey, Text};
use workloads::{ScriptInfo, pgbench};

use crate::event::{ExperimentStep, Progress, ProgressExt};
use crate::experiment::without_credentials;
use crate::setup::Setup;
use crate::stage::Stage;

/// Checks before the work whether results can be stored.
pub(crate) fn try_results(path: Option<&Path>, mut progress: &mut dyn Progress) -> Result<(), Error> {
    let Some(path) = path else { return Ok(()) };
    progress.step(ExperimentStep::Results, path.display().to_string());
    Store::try_out(path)
}

/// Where runs are measured, read before them, since the server may be unavailable afterwards.
#[derive(Debug)]
pub(crate) struct Surroundings {
    pub(crate) host: Host,
    pub(crate) target: MeasuredTarget,
}

impl Surroundings {
    pub(crate) fn of(stage: &Stage) -> Result<Self, Error> {
        let host = host::describe(stage.target.data_folder().as_deref());
        Ok(Self { host, target: stage.target.record(stage.versions())? })
    }
}

/// The identity of unplanned runs: runs of one identity are rounds of one experiment.
#[derive(Debug)]
pub(crate) struct Identity<'a> {
    pub(crate) name: &'a str,
    pub(crate) question: &'a str,
    /// All that identifies it except the command and the seed.
    pub(crate) plan: Recorded,
    pub(crate) seed: u64,
}

/// The plan of a run of pgbench scripts; `threads` as requested.
pub(crate) fn plan_of(
    target: &TargetSpec,
    options: &pgbench::PgbenchOptions,
    scripts: &[ScriptInfo],
    setup: &Setup,
    threads: u32,
) -> SinglePlan {
    let script = |script: &ScriptInfo| (script.name.clone(), script.text_hash.clone(), script.weight);
    let load = SingleLoad {
        workload: WorkloadOptions::of(options),
        scripts: scripts.iter().map(script).collect(),
        clients: setup.clients,
        threads,
        until: match setup.until {
            Until::Elapsed(time) => SingleEnd::Elapsed(time as f64 / 1e9),
            Until::PerClient(count) => SingleEnd::PerClient(count),
            Until::Caller => SingleEnd::Told,
        },
        warmup_s: setup.warmup.as_secs_f64(),
        rate: setup.load.profile().cloned(),
        promise_s: setup.promise.map(|promise| promise.as_secs_f64()),
    };
    SinglePlan { target: target.identity(), prepare: None, load: Some(load) }
}

impl Identity<'_> {
    /// Distinguishes it from other runs of the same command, 64 hex digits.
    fn hash(&self) -> String {
        // serde_json sorts the keys of objects, so equal plans give equal texts.
        let plan = serde_json::to_value(&self.plan).expect("plans are plain data");
        spec::hex(&Sha256::digest(format!("{} {plan}", self.name)))
    }

    fn experiment(&self, round: u32) -> ExperimentRecord {
        ExperimentRecord {
            hash: self.hash(),
            name: self.name.to_owned(),
            question: self.question.to_owned(),
            file_text: String::new(),
            plan: without_credentials(&self.plan),
            seed: self.seed,
            order_scheme: spec::OrderScheme::Single,
            rounds: round,
            compare_factor: None,
            base: None,
            arms: Vec::new(),
            margin: 0.03,
            taste: None,
            created_at: jiff::Timestamp::now().to_string(),
            control: None,
        }
    }
}

/// An experiment's place in a results file. Without a run nothing is stored.
#[derive(Debug)]
pub(crate) struct Results {
    store: Store,
    path: PathBuf,
    experiment: ExperimentRecord,
    at: Surroundings,
    /// Begin again, even if runs are stored.
    again: bool,
    /// Its number, if earlier invocations stored runs of it.
    known: Option<ExperimentId>,
    /// Its number and this invocation's, from this invocation's first run on.
    begun: Option<(ExperimentId, u32)>,
    texts: Vec<Text>,
    /// What was learnt, and is not stored yet.
    facts: Vec<Fact>,
    /// For unplanned runs: their round, and the number of runs before them.
    numbers: Option<(u32, u32)>,
    command: Option<spec::shell::PrintedCommand>,
}

impl Results {
    /// For a planned experiment, in a writable file; `known` is the experiment of earlier invocations.
    pub(crate) fn of_experiment(
        mut store: Store,
        path: &Path,
        (experiment, at): (ExperimentRecord, Surroundings),
        known: Option<ExperimentId>,
        again: bool,
    ) -> Result<Self, Error> {
        store.check_writable()?;
        let (path, begun, numbers, command) = (path.to_owned(), None, None, None);
        let (texts, facts) = (Vec::new(), Vec::new());
        Ok(Self { store, path, experiment, at, again, known, begun, texts, facts, numbers, command })
    }

    pub(crate) fn made_by(self, command: Option<spec::shell::PrintedCommand>) -> Self {
        Self { command, ..self }
    }

    /// For unplanned runs: the next round of the same identity.
    pub(crate) fn next_round(path: &Path, identity: &Identity<'_>, at: Surroundings) -> Result<Self, Error> {
        let store = Store::create_or_open(path)?;
        let known = store.newest_with_hash(&identity.hash())?;
        let before = known.map(|id| store.finished_runs(id)).transpose()?.unwrap_or_default();
        let jobs = before.iter().filter(|run| run.round == 0).count() as u32;
        let round = before.iter().map(|run| run.round).fold(jobs, u32::max) + 1;
        let numbers = Some((round, before.len() as u32));
        let experiment = identity.experiment(round);
        let (path, begun, again, command) = (path.to_owned(), None, false, None);
        let (texts, facts) = (Vec::new(), Vec::new());
        Ok(Self { store, path, experiment, at, again, known, begun, texts, facts, numbers, command })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn id(&self) -> Option<ExperimentId> {
        self.begun.map(|(id, _)| id).or(self.known)
    }

    /// Stored and valid runs.
    pub(crate) fn finished(&self) -> Result<Vec<RunKey>, Error> {
        Ok(self.id().map(|id| self.store.finished_runs(id)).transpose()?.unwrap_or_default())
    }

    pub(crate) fn artifact(&self, name: &str) -> Result<Option<Artifact>, Error> {
        Ok(self.id().map(|id| self.store.artifact(id, name)).transpose()?.flatten())
    }

    /// Usual duration of a job with an input of so many bytes, seconds.
    pub(crate) fn usual_job_s(&self, input_bytes: u64) -> Result<Option<f64>, Error> {
        self.store.usual_job_s(input_bytes)
    }

    /// Stores runs of this invocation that belong together, and returns their numbers.
    pub(crate) fn keep(&mut self, block: &mut [Finished]) -> Result<Vec<i64>, Error> {
        let (id, invocation) = match self.begun {
            Some(begun) => begun,
            None => {
                let Surroundings { host, target } = &self.at;
                self.store.begin_experiment(&self.experiment, host, target, self.again)?
            }
        };
        self.begun = Some((id, invocation));
        self.store.keep_texts(id, &std::mem::take(&mut self.texts))?;
        self.store.keep_facts(id, &std::mem::take(&mut self.facts))?;
        if let Some(command) = self.command.take() {
            self.store.keep_command(id, &command)?;
        }
        for Finished { run, .. } in &mut *block {
            run.invocation = invocation;
            if let Some((round, sequence)) = &mut self.numbers {
                // Jobs have no round.
                run.round = run.round.min(1) * *round;
                run.sequence = *sequence;
                *sequence += 1;
            }
        }
        self.store.store(id, block)
    }

    pub(crate) fn add_texts(&mut self, texts: Vec<Text>) {
        self.texts.extend(texts);
    }

    pub(crate) fn add_facts(&mut self, facts: Vec<Fact>) {
        self.facts.extend(facts);
    }

    pub(crate) fn supersede(&mut self, runs: &[i64], why: &str) -> Result<(), Error> {
        self.store.supersede(runs, why)
    }

    pub(crate) fn set_aside(&mut self, runs: &[i64], why: &str) -> Result<(), Error> {
        self.store.set_aside(runs, why)
    }
}
