//! The workloads of an experiment, opened, checked and guarded.

use std::collections::BTreeMap;

use record::Artifact;
use workloads::{ClientWorkload, Guarded, Prepared, ScriptInfo};

use super::event::{Progress, Step, Tell};
use super::stage::Stage;
use crate::error::{Class, LabError};
use crate::experiment::ExperimentFile;
use crate::plan::Plan;

/// One workload, ready to be run.
pub(super) struct Opened {
    pub(super) workload: Box<dyn ClientWorkload>,
    pub(super) scripts: Vec<ScriptInfo>,
    pub(super) prepared: Prepared,
    pub(super) guarded: Guarded,
    /// Kept with the workload's first run.
    pub(super) artifacts: Vec<Artifact>,
}

/// Opens the workloads in `names`: each is checked, chooses what it will ask, and proves that it does something.
pub(super) fn open(
    stage: &mut Stage,
    file: &ExperimentFile,
    plan: &Plan,
    names: &[String],
    mut progress: &mut dyn Progress,
) -> Result<BTreeMap<String, Opened>, LabError> {
    let mut opened = BTreeMap::new();
    for name in names {
        let Some(planned) = plan.content.workloads.get(name) else { continue };
        progress.step(Step::Guard, format!("{name}: does it do something?"));
        let workload = planned.spec.open(file.folder())?;
        opened.insert(name.clone(), one(stage, name, workload, plan.seed, &mut *progress)?);
    }
    Ok(opened)
}

/// Makes a workload ready.
pub(super) fn one(
    stage: &mut Stage,
    name: &str,
    mut workload: Box<dyn ClientWorkload>,
    seed: u64,
    mut progress: &mut dyn Progress,
) -> Result<Opened, LabError> {
    let named = |error: LabError| match error {
        LabError::Failed { class, what, hint } => {
            LabError::Failed { class, what: format!("workload {name}: {what}"), hint }
        }
        other => other,
    };
    stage.with_site(|site| workload.check(site)).map_err(named)?;
    let prepared = stage.with_site(|site| workload.prepare(site, seed)).map_err(named)?;
    if !prepared.summary.is_empty() {
        progress.note(format!("{name}: {}", prepared.summary));
    }
    let guarded = stage.with_site(|site| workload.guard(site, seed)).map_err(named)?;
    for note in &guarded.notes {
        progress.note(format!("{name}: {note}"));
    }
    if let Some(why) = &guarded.empty {
        progress.warn(format!("{name} does nothing, so its runs are invalid: {why}"));
    }
    let mut artifacts: Vec<Artifact> =
        stage.with_site(|site| workload.artifacts(site)).map_err(named)?.into_iter().map(artifact).collect();
    if !prepared.json.is_empty() {
        artifacts.push(Artifact {
            name: format!("prepared/{name}"),
            media_type: "application/json".to_owned(),
            caption: format!("what {name} asks for: {} (SHA-256 {})", prepared.summary, prepared.hash),
            bytes: prepared.json.clone().into_bytes(),
        });
    }
    Ok(Opened { scripts: workload.scripts(), workload, prepared, guarded, artifacts })
}

fn artifact(artifact: workloads::Artifact) -> Artifact {
    Artifact {
        name: artifact.name,
        media_type: artifact.media_type,
        caption: artifact.caption,
        bytes: artifact.bytes,
    }
}

/// The data changed since the first session chose what to ask: its runs could not be compared with new ones.
pub(super) fn changed_data(name: &str) -> LabError {
    LabError::failed(
        Class::Guard,
        format!("workload {name}: the data is not what it was when the experiment began"),
        "prepare it anew and add --again to begin the experiment anew",
    )
}
