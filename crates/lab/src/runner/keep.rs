//! An experiment's place in the results file, created with its first run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use results::{ExperimentId, FileId, Finished, Store};
use server::host;
use spec::plan::{Fact, Recorded};
use spec::{Artifact, Error, ExperimentRecord, Host, MeasuredTarget, RunKey, Text};

use crate::stage::Stage;

/// Where runs are measured, read before them, since the server may be unavailable afterwards.
#[derive(Debug)]
pub(crate) struct Surroundings {
    pub(crate) host: Host,
    pub(crate) target: MeasuredTarget,
}

impl Surroundings {
    pub(crate) fn of(stage: &mut Stage) -> Result<Self, Error> {
        let host = host::describe(stage.target.data_folder().as_deref());
        Ok(Self { host, target: stage.described()? })
    }

    /// Only a sink of pgdyno answers.
    pub(crate) fn without_server() -> Self {
        let target = MeasuredTarget {
            kind: "sink".to_owned(),
            dsn_redacted: String::new(),
            server_version: String::new(),
            postgis_version: None,
            versions: BTreeMap::from([("pgdyno".to_owned(), env!("CARGO_PKG_VERSION").to_owned())]),
            build: None,
        };
        Self { host: host::describe(None), target }
    }
}

/// An experiment's place in a results file. Without a run nothing is stored.
#[derive(Debug)]
pub(crate) struct Results {
    /// It is opened whenever something is read or stored. Kept open, SQLite's log of a file that was removed or replaced
    /// would be written into the next file of that name.
    path: PathBuf,
    /// Which file was opened for writing; `None` before.
    file: Option<FileId>,
    experiment: ExperimentRecord,
    /// Its plan changed after the experiment was begun.
    is_planned_anew: bool,
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
    command: Option<spec::shell::PrintedCommand>,
}

impl Results {
    /// `known` is the experiment of earlier invocations.
    pub(crate) fn of_experiment(
        path: &Path,
        (experiment, at): (ExperimentRecord, Surroundings),
        known: Option<ExperimentId>,
        again: bool,
    ) -> Self {
        let (path, file, begun, command) = (path.to_owned(), None, None, None);
        let (texts, facts, is_planned_anew) = (Vec::new(), Vec::new(), false);
        Self { path, file, experiment, is_planned_anew, at, again, known, begun, texts, facts, command }
    }

    pub(crate) fn made_by(self, command: Option<spec::shell::PrintedCommand>) -> Self {
        Self { command, ..self }
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
        Store::open_if_there(&self.path)?.map_or_else(|| Ok(T::default()), |store| read(&store))
    }

    /// Opens the file for writing; it must be the one that runs were stored in.
    fn write<T>(
        &mut self,
        write: impl FnOnce(&mut Self, &mut Store) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if self.file.is_some() && self.file != FileId::of(&self.path) {
            return Err(FileId::gone(&self.path));
        }
        let mut store = Store::create_or_open(&self.path)?;
        // Before the first write: numbers of this file mean nothing in another one.
        self.file = FileId::of(&self.path);
        write(self, &mut store)
    }

    /// Stores runs of this invocation that belong together, and returns their numbers.
    pub(crate) fn keep(&mut self, block: &mut [Finished]) -> Result<Vec<i64>, Error> {
        self.write(|results, store| results.keep_in(store, block))
    }

    fn keep_in(&mut self, store: &mut Store, block: &mut [Finished]) -> Result<Vec<i64>, Error> {
        // The runs that they belong to come next.
        let (id, invocation) = store.without_waiting(|store| self.keep_experiment(store))?;
        for Finished { run, .. } in &mut *block {
            run.invocation = invocation;
        }
        store.store(id, block)
    }

    /// Stores what changed of the experiment; returns its number and this invocation's.
    fn keep_experiment(&mut self, store: &mut Store) -> Result<(ExperimentId, u32), Error> {
        let (id, invocation) = match self.begun {
            Some(begun) => begun,
            None => {
                let Surroundings { host, target } = &self.at;
                store.begin_experiment(&self.experiment, host, target, self.again)?
            }
        };
        self.begun = Some((id, invocation));
        if std::mem::take(&mut self.is_planned_anew) {
            store.keep_plan(id, &self.experiment.plan)?;
        }
        store.keep_texts(id, &std::mem::take(&mut self.texts))?;
        store.keep_facts(id, &std::mem::take(&mut self.facts))?;
        if let Some(command) = self.command.take() {
            store.keep_command(id, &command)?;
        }
        Ok((id, invocation))
    }

    pub(crate) fn add_texts(&mut self, texts: Vec<Text>) {
        self.texts.extend(texts);
    }

    pub(crate) fn add_facts(&mut self, facts: Vec<Fact>) {
        self.facts.extend(facts);
    }

    /// Adds facts, and the plan that follows from them.
    pub(crate) fn learn(&mut self, facts: Vec<Fact>, plan: Recorded) {
        self.add_facts(facts);
        self.experiment.plan = plan;
        self.is_planned_anew = self.begun.is_some();
    }

    pub(crate) fn supersede(&mut self, runs: &[i64], why: &str) -> Result<(), Error> {
        self.write(|_, store| store.supersede(runs, why))
    }

    /// Sets aside what earlier invocations stored of the plan from this place on. Returns the number of runs.
    pub(crate) fn supersede_from(&mut self, place: u32, why: &str) -> Result<usize, Error> {
        let Some(id) = self.known else { return Ok(0) };
        self.write(|_, store| {
            let runs = store.runs_from(id, place)?;
            store.supersede(&runs, why)?;
            Ok(runs.len())
        })
    }

    pub(crate) fn set_aside(&mut self, runs: &[i64], why: &str) -> Result<(), Error> {
        self.write(|_, store| store.set_aside(runs, why))
    }
}
