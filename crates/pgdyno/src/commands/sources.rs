//! Builds from git that an experiment names: looked up, told, and built before it begins.

use lab::execute::{self, ExecutionOptions};
use lab::experiment::ExperimentFile;
use lab::sources;
use server::Stop;
use server::source_build::{BuildInUse, BuildProgress, BuildStep};

use crate::print::warning;
use crate::progress::Screen;
use report::numbers;

/// The experiment with its builds, and what keeps them in the cache.
pub(super) struct Built {
    pub(super) file: ExperimentFile,
    _in_use: Vec<BuildInUse>,
}

/// What decides whether something is built.
pub(super) struct Allowed {
    pub(super) dry_run: bool,
    /// Whether the user made the experiment, or agreed to what its file takes.
    pub(super) consents: bool,
}

/// Builds what an experiment names from git; a dry run only says what would be built. `None` if it names nothing, or nothing
/// may be executed.
///
/// # Errors
/// When it cannot be built; or, before minutes are spent, when the experiment cannot be carried out or is finished.
pub(super) fn built(
    Allowed { dry_run, consents }: Allowed,
    (file, options): (&ExperimentFile, &ExecutionOptions),
    screen: &mut Screen,
    stop: &Stop,
) -> anyhow::Result<Option<Built>> {
    if !sources::has_any(file) {
        return Ok(None);
    }
    if dry_run && !consents {
        warning(
            "its sources are not looked at without consent, so commits and builds are not known: --allow-commands",
        );
        return Ok(None);
    }
    let mut file = file.clone();
    let found = sources::look(&mut file, options.pg_bin.as_deref())?;
    for doubt in found.doubts() {
        warning(&doubt);
    }
    for line in found.words()? {
        screen.line(&line);
    }
    if dry_run {
        return Ok(Some(Built { file, _in_use: Vec::new() }));
    }
    if !found.are_built()?
        && let Some(error) = execute::planned(&file, options, true, stop)?.fails
    {
        return Err(error.into());
    }
    let in_use = found.ensure(stop, &mut |what, way, progress| tell(screen, what, way, progress))?;
    for (name, build) in found.names().zip(&in_use).filter(|(_, build)| !build.strays.is_empty()) {
        let strays = build.strays.join(", ");
        warning(&format!("the build of {name} left processes running, which were ended: {strays}"));
    }
    Ok(Some(Built { file, _in_use: in_use }))
}

fn tell(screen: &mut Screen, what: &str, way: &str, progress: BuildProgress) {
    let BuildProgress { step, elapsed, begins } = progress;
    let (doing, took) = (step.words(), numbers::duration(elapsed.as_secs_f64().floor()));
    let how = if step == BuildStep::Export { format!(" by {way}") } else { String::new() };
    let after = if begins { ", after" } else { "," };
    screen.now(&format!("building {what}{how}: {doing}{after} {took}"), begins);
}
