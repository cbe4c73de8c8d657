//! Storing what was not planned by an experiment file.

use std::path::Path;

use record::{Experiment, Host, Run, Target};
use results::{ExperimentId, Finished, Spool, Store};
use sha2::{Digest, Sha256};

use crate::error::LabError;
use crate::execute::{Progress, Stage, Step, Tell};
use crate::experiment::{TargetSpec, without_secrets};
use target::host;

/// Sees whether something can be stored: better known before the work than behind it.
pub(crate) fn try_results(path: Option<&Path>, mut progress: &mut dyn Progress) -> Result<(), LabError> {
    let Some(path) = path else { return Ok(()) };
    progress.step(Step::Results, path.display().to_string());
    Ok(Store::try_out(path)?)
}

fn hash_of(name: &str, identity: &serde_json::Value) -> String {
    let digest = Sha256::digest(format!("{name} {identity}"));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What earlier builds stored of the same under another identity, which knew how the URL was written, goes on.
fn adopt_former(
    store: &Store,
    name: &str,
    identity: &serde_json::Value,
    target: &TargetSpec,
) -> Result<(), LabError> {
    let hash = hash_of(name, identity);
    let mut former = identity.clone();
    for target in target.former_identities() {
        former["target"] = target;
        store.adopt(&hash_of(name, &former), &hash)?;
    }
    Ok(())
}

/// Where a run was measured, asked before it: a server that is gone afterwards takes nothing with it.
#[derive(Debug)]
pub(crate) struct Surroundings {
    host: Host,
    target: Target,
}

impl Surroundings {
    /// Those of a stage.
    pub(crate) fn of(stage: &Stage) -> Result<Self, LabError> {
        Ok(Self {
            host: host::describe(stage.target.data_folder().as_deref()),
            target: stage.target.record(stage.versions())?,
        })
    }
}

/// Stores a run under the experiment of the same identity, as its next round.
pub(crate) fn keep(
    path: &Path,
    at: &Surroundings,
    name: &str,
    question: &str,
    (identity, target): (&serde_json::Value, &TargetSpec),
    run: &mut Run,
    seconds: Spool,
) -> Result<ExperimentId, LabError> {
    let mut store = Store::create_or_open(path)?;
    let hash = hash_of(name, identity);
    adopt_former(&store, name, identity, target)?;
    let plan_json = without_secrets(identity).to_string();
    let before = match store.newest_with_hash(&hash)? {
        Some(id) => store.finished_runs(id)?.len() as u32,
        None => 0,
    };
    let experiment = Experiment {
        hash,
        name: name.to_owned(),
        question: question.to_owned(),
        file_text: String::new(),
        plan_json,
        seed: run.seed,
        order_scheme: "single".to_owned(),
        rounds: before + 1,
        compare_factor: None,
        base: None,
        arms: Vec::new(),
        margin: 0.03,
        taste: None,
        created_at: jiff::Timestamp::now().to_string(),
    };
    let (id, invocation) = store.begin_experiment(&experiment, &at.host, &at.target, false)?;
    if run.round > 0 {
        run.round = before + 1;
    }
    (run.sequence, run.invocation) = (before, invocation);
    store.store(id, &[Finished { run: run.clone(), seconds }])?;
    Ok(id)
}
