//! Where the runs of an experiment go: its place in the results file, made with its first run.

use results::Finished;
use std::path::{Path, PathBuf};

use record::{Experiment, Host, Run, RunKey, Target};
use results::{ExperimentId, Store};

use crate::error::LabError;

/// An experiment's place in a results file. An experiment that comes to no run leaves nothing there.
pub(super) struct Book {
    store: Store,
    path: PathBuf,
    experiment: Experiment,
    host: Host,
    target: Target,
    /// Begin anew, whatever is there.
    again: bool,
    /// Its number, where earlier invocations stored runs of it.
    known: Option<ExperimentId>,
    /// Its number and that of this invocation, from its first run on.
    begun: Option<(ExperimentId, u32)>,
}

impl Book {
    /// A place in a file that can be written; `known` is what earlier invocations of the experiment have.
    pub(super) fn open(
        mut store: Store,
        path: &Path,
        (experiment, host, target): (Experiment, Host, Target),
        known: Option<ExperimentId>,
        again: bool,
    ) -> Result<Self, LabError> {
        store.check_writable()?;
        Ok(Self { store, path: path.to_owned(), experiment, host, target, again, known, begun: None })
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The experiment's number, once it has runs.
    pub(super) fn id(&self) -> Option<ExperimentId> {
        self.begun.map(|(id, _)| id).or(self.known)
    }

    /// What is stored and done.
    pub(super) fn finished(&self) -> Result<Vec<RunKey>, LabError> {
        Ok(self.id().map(|id| self.store.finished_runs(id)).transpose()?.unwrap_or_default())
    }

    /// All that is stored.
    pub(super) fn runs(&self) -> Result<Vec<Run>, LabError> {
        Ok(self.id().map(|id| self.store.runs(id)).transpose()?.unwrap_or_default())
    }

    /// Stores a run of this invocation, and gives its number.
    pub(super) fn keep(&mut self, block: &mut [Finished; 1]) -> Result<i64, LabError> {
        let (id, invocation) = match self.begun {
            Some(begun) => begun,
            None => self.store.begin_experiment(&self.experiment, &self.host, &self.target, self.again)?,
        };
        self.begun = Some((id, invocation));
        block[0].run.invocation = invocation;
        Ok(self.store.store(id, block)?[0])
    }

    /// Marks stored runs to be measured again.
    pub(super) fn set_aside(&mut self, runs: &[i64], why: &str) -> Result<(), LabError> {
        Ok(self.store.set_aside(runs, why)?)
    }
}
