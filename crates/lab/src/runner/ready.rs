//! A workload, opened, checked and guarded.

use std::time::Duration;

use spec::{Artifact, Class, Error};
use workloads::{CheckTime, ClientWorkload, GuardAgain, Guarded, Prepared, ScriptInfo, Site, TileItem, Work};

use super::checked::Checked;

use crate::event::{ExperimentStep, Progress, ProgressExt};
use crate::jobs::Files;
use crate::stage::Stage;
use crate::words;

/// Share of the time for checks that the guard may take; the rest is for sample tiles.
const OF_GUARD: f64 = 0.8;
/// Requests at which the connection ends, until the guard gives up.
const MOST_ENDED: u32 = 16;

pub(crate) struct Ready {
    pub(crate) workload: Work,
    pub(crate) scripts: Vec<ScriptInfo>,
    pub(crate) items: Vec<TileItem>,
    pub(crate) prepared: Prepared,
    pub(crate) guarded: Guarded,
    pub(crate) artifacts: Vec<Artifact>,
    pub(crate) files: Files,
}

impl Ready {
    /// A workload without facts.
    pub(crate) fn without_facts(workload: impl ClientWorkload + 'static) -> Self {
        let workload = Work::Clients(Box::new(workload));
        let (prepared, guarded, artifacts, files) = Default::default();
        Self { scripts: workload.scripts(), items: Vec::new(), workload, prepared, guarded, artifacts, files }
    }

    /// A workload that was checked, chose its requests (or reuses the stored choice), and, with `try_first`,
    /// proved that it does something.
    pub(crate) fn guarded(
        stage: &mut Stage,
        name: &str,
        mut workload: Work,
        (seed, try_first, check_time): (u64, bool, Duration),
        chosen: Option<&Prepared>,
        mut progress: &mut dyn Progress,
    ) -> Result<Self, Error> {
        let asked = if try_first { "does it do something?" } else { "is there what it needs?" };
        progress.step(ExperimentStep::Guard, format!("{name}: {asked}"));
        let named = |error: Error| {
            let what = format!("workload {name}: {error}");
            error.in_words(what)
        };
        if workload.clients().is_some() {
            stage.start_tile_servers()?;
        }
        stage.with_site(|site| workload.check(site)).map_err(named)?;
        let prepared = match chosen {
            Some(chosen) => workload.adopt(chosen).map_err(named)?,
            None => stage.with_site(|site| workload.prepare(site, seed)).map_err(named)?,
        };
        if !prepared.summary.is_empty() && try_first {
            progress.note(format!("{name}: {}", prepared.summary));
        }
        let checked = Checked::new(&mut *progress);
        let hears = |note| checked.hear(note);
        let mut guarded = match try_first {
            true => {
                let time = CheckTime::begin(check_time.mul_f64(OF_GUARD), &hears);
                guard(stage, &mut workload, seed, time).map_err(named)?
            }
            false => {
                let work = |site: &mut Site<'_>| workload.guard_on_replica(site, seed);
                stage.with_site_and_replica(CheckTime::begin(check_time, &hears), work).map_err(named)?;
                Guarded::default()
            }
        };
        let time = CheckTime::begin(check_time.mul_f64(1.0 - OF_GUARD), &hears);
        let mut artifacts = stage.with_site_for(time, |site| workload.artifacts(site)).map_err(named)?;
        guarded.warnings.extend(checked.not_looked_words("checked", check_time));
        for warning in &guarded.warnings {
            progress.warn(words::of_workload(name, warning));
        }
        for note in &guarded.notes {
            progress.note(words::of_workload(name, note));
        }
        if !prepared.json.is_empty() {
            artifacts.push(Artifact {
                name: format!("prepared/{name}"),
                media_type: "application/json".to_owned(),
                caption: format!("what {name} asks for: {} (SHA-256 {})", prepared.summary, prepared.hash),
                bytes: prepared.json.clone().into_bytes(),
            });
        }
        let files = workload.job().map(Files::of).transpose()?.unwrap_or_default();
        let items = workload.clients().map(ClientWorkload::items).unwrap_or_default();
        Ok(Self { scripts: workload.scripts(), items, workload, prepared, guarded, artifacts, files })
    }
}

/// Guards a workload. A request at which the connection ends is left out, over another connection.
fn guard(stage: &mut Stage, workload: &mut Work, seed: u64, time: CheckTime<'_>) -> Result<Guarded, Error> {
    let search_path = stage.looks_by();
    for _ in 0..MOST_ENDED {
        match stage.with_site_and_replica(time, |site| workload.guard(site, seed)) {
            Err(error) if error.attached::<GuardAgain>().is_some() => {
                stage.wait_until_back();
                stage.look_by(search_path.as_deref())?;
            }
            guarded => return guarded,
        }
    }
    stage.with_site_and_replica(time, |site| workload.guard(site, seed))
}

/// The data changed since the first invocation chose the requests: its runs could not be compared with new
/// ones.
pub(crate) fn changed_data(name: &str) -> Error {
    Error::new(
        Class::Guard,
        format!("workload {name}: the data is not what it was when the experiment began"),
    )
    .with_hint("prepare it again and add --again to start a new experiment")
}
