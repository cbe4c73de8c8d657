//! Storing what was not planned by an experiment file.

use std::path::Path;

use results::{Experiment, ExperimentId, Run, Store};
use sha2::{Digest, Sha256};

use crate::error::LabError;
use crate::execute::{Progress, Stage, Step, Tell};
use crate::host;

/// Sees whether something can be stored: better known before the work than behind it.
pub(crate) fn try_results(path: Option<&Path>, mut progress: &mut dyn Progress) -> Result<(), LabError> {
    let Some(path) = path else { return Ok(()) };
    progress.step(Step::Results, path.display().to_string());
    Ok(Store::try_out(path)?)
}

/// Stores a run under the experiment of the same identity, as its next round.
pub(crate) fn keep(
    path: &Path,
    stage: &Stage,
    name: &str,
    question: &str,
    identity: &serde_json::Value,
    run: &mut Run,
) -> Result<ExperimentId, LabError> {
    let mut store = Store::create_or_open(path)?;
    let plan_json = identity.to_string();
    let digest = Sha256::digest(format!("{name} {plan_json}"));
    let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
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
    let host = host::describe(stage.target.data_folder().as_deref());
    let target = stage.target.record(stage.versions())?;
    let (id, session) = store.begin_experiment(&experiment, &host, &target, false)?;
    if run.round > 0 {
        run.round = before + 1;
    }
    (run.sequence, run.session) = (before, session);
    store.store_run(id, run)?;
    Ok(id)
}
