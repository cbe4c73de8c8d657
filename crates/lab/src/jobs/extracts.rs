//! Synthetic extracts for jobs: created before a job begins, so that their time does not count for it, and
//! kept.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use osm::synth::{KeepError, SynthError, SynthProgress as Cells};
use server::Stop;
use server::child::Account;
use server::home::{Home, HomeFolder};
use spec::{Class, Error};
use workloads::jobs::Job;

use crate::error::stopped;
use crate::event::{ExperimentStep, LabEvent, Progress, ProgressExt};

const TOLD_EVERY: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Made {
    pub(crate) words: String,
    pub(crate) took: Duration,
}

/// Creates the input of a job, unless it exists or is not synthetic.
pub(crate) fn make(
    job: &dyn Job,
    mut progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<Option<Made>, Error> {
    let Some(synthetic) = job.synthetic() else { return Ok(None) };
    let home = Home::locate()?;
    let what = format!("make a {}", synthetic.words());
    if synthetic.path_in(&home.path(HomeFolder::Extracts)).is_file() {
        return Ok(None);
    }
    let account = Account::unprivileged()?;
    let folder = home.make_part(HomeFolder::Extracts, account.as_ref())?;
    progress.step(ExperimentStep::Prepare, what.clone());
    let began = Instant::now();
    let mut next = began + TOLD_EVERY;
    let mut told = |Cells { kind, cells, of_cells }: Cells| {
        if Instant::now() >= next {
            next = Instant::now() + TOLD_EVERY;
            let kind = format!("{kind:?}").to_lowercase();
            progress.step(
                ExperimentStep::Prepare,
                format!("{what}: {kind}, {} %", 100 * cells / of_cells.max(1)),
            );
        }
    };
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let made = synthetic.keep(folder.path(), threads, &mut told, &|| stop.at_once());
    let Some(made) = made.map_err(not_made)? else { return Ok(None) };
    let took = began.elapsed();
    progress.event(LabEvent::JobFinished { what, took, reused: false });
    let words = format!(
        "the {} ({} nodes, {} ways, {} relations) was made first, in {:.1} s that are none of the load's",
        synthetic.words(),
        made.nodes,
        made.ways,
        made.relations,
        took.as_secs_f64()
    );
    Ok(Some(Made { words, took }))
}

pub(crate) fn input_bytes(job: &dyn Job) -> u64 {
    job.input_bytes(&folder())
}

/// The folder of synthetic extracts; without a home an empty path.
pub(super) fn folder() -> PathBuf {
    Home::locate().map(|home| home.path(HomeFolder::Extracts)).unwrap_or_default()
}

fn not_made(error: KeepError) -> Error {
    let what = format!("cannot make {error}");
    match error.source {
        SynthError::Stopped => stopped(),
        SynthError::Io(_) => Error::new(Class::Io, what).with_hint("about 5 MB are needed for each 1 of its scale: free some space, ask for less, or name another folder with PGDYNO_HOME"),
    }
}
