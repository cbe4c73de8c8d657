//! Whether the server of each build runs the programs of that build. A server that runs others would be measured in its
//! name.

use spec::plan::Plan;
use spec::{Class, Error};

use crate::runner::Stage;
use crate::setup::At;

/// # Errors
/// When a server of ours runs another `postgres` than its build's.
pub(super) fn check_programs(plan: &Plan, stages: &mut [(At, Stage)]) -> Result<(), Error> {
    for (at, stage) in stages {
        let build =
            at.version.as_ref().and_then(|level| Some((level, plan.content.named.builds.get(level)?)));
        let Some(((level, build), cluster)) = build.zip(stage.target.cluster().ok()) else { continue };
        let wanted = build.bin.join("postgres");
        let wanted = wanted.canonicalize().unwrap_or(wanted);
        let runs = cluster.running_program();
        // The kernel marks a program that was replaced since its start.
        let runs = runs.to_string_lossy().trim_end_matches(" (deleted)").to_owned();
        if *wanted.to_string_lossy() != runs {
            let what = format!("the server of {level} runs {runs}, and not {}", wanted.display());
            return Err(Error::new(Class::Guard, what)
                .with_hint("pgdyno target destroy, and measure again; please report it, since this is a mistake of pgdyno"));
        }
    }
    Ok(())
}
