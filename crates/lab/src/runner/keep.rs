//! An experiment's place in the results file, created with its first run.

use std::path::{Path, PathBuf};

use results::{ExperimentId, Finished, Store};
use server::host;
use sha2::{Digest, Sha256};
use spec::plan::{Fact, Recorded};
use spec::{Artifact, Error, ExperimentRecord, Host, MeasuredTarget, RunKey, Text};

use crate::event::{Progress, ProgressExt, Step};
use crate::experiment::without_credentials;
use crate::stage::Stage;

/// Checks before the work whether results can be stored.
pub(crate) fn try_results(path: Option<&Path>, mut progress: &mut dyn Progress) -> Result<(), Error> {
    let Some(path) = path else { return Ok(()) };
    progress.step(Step::Results, path.display().to_string());
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
    /// `None` to open the file whenever something is read or stored: it is not created before.
    store: Option<Store>,
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
        mut store: Option<Store>,
        path: &Path,
        (experiment, at): (ExperimentRecord, Surroundings),
        known: Option<ExperimentId>,
        again: bool,
    ) -> Result<Self, Error> {
        if let Some(store) = &mut store {
            store.check_writable()?;
        }
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
        let store = Some(store);
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
        let Some(id) = self.id() else { return Ok(Vec::new()) };
        self.read(|store| store.finished_runs(id))
    }

    pub(crate) fn artifact(&self, name: &str) -> Result<Option<Artifact>, Error> {
        let Some(id) = self.id() else { return Ok(None) };
        self.read(|store| store.artifact(id, name))
    }

    /// Usual duration of a job with an input of so many bytes, seconds.
    pub(crate) fn usual_job_s(&self, input_bytes: u64) -> Result<Option<f64>, Error> {
        self.read(|store| store.usual_job_s(input_bytes))
    }

    fn read<T: Default>(&self, read: impl FnOnce(&Store) -> Result<T, Error>) -> Result<T, Error> {
        match &self.store {
            Some(store) => read(store),
            None => Store::open_if_there(&self.path)?.map_or_else(|| Ok(T::default()), |store| read(&store)),
        }
    }

    /// Stores runs of this invocation that belong together, and returns their numbers.
    pub(crate) fn keep(&mut self, block: &mut [Finished]) -> Result<Vec<i64>, Error> {
        match self.store.take() {
            Some(mut store) => {
                let kept = self.keep_in(&mut store, block);
                self.store = Some(store);
                kept
            }
            None => self.keep_in(&mut Store::create_or_open(&self.path)?, block),
        }
    }

    fn keep_in(&mut self, store: &mut Store, block: &mut [Finished]) -> Result<Vec<i64>, Error> {
        let (id, invocation) = match self.begun {
            Some(begun) => begun,
            None => {
                // It was opened before the preparation: since then a newer pgdyno may have changed it.
                Store::try_out(&self.path)?;
                let Surroundings { host, target } = &self.at;
                store.begin_experiment(&self.experiment, host, target, self.again)?
            }
        };
        self.begun = Some((id, invocation));
        store.keep_texts(id, &std::mem::take(&mut self.texts))?;
        store.keep_facts(id, &std::mem::take(&mut self.facts))?;
        if let Some(command) = self.command.take() {
            store.keep_command(id, &command)?;
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
        store.store(id, block)
    }

    pub(crate) fn add_texts(&mut self, texts: Vec<Text>) {
        self.texts.extend(texts);
    }

    pub(crate) fn add_facts(&mut self, facts: Vec<Fact>) {
        self.facts.extend(facts);
    }

    pub(crate) fn supersede(&mut self, runs: &[i64], why: &str) -> Result<(), Error> {
        self.store.as_mut().map_or(Ok(()), |store| store.supersede(runs, why))
    }

    pub(crate) fn set_aside(&mut self, runs: &[i64], why: &str) -> Result<(), Error> {
        self.store.as_mut().map_or(Ok(()), |store| store.set_aside(runs, why))
    }
}
