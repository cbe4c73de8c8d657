//! Whether the server of each build runs the programs of that build. A server that runs others would be measured in its
//! name.

use std::path::Path;

use spec::plan::Plan;
use spec::{Class, Error};

use crate::runner::Stage;
use crate::setup::At;

/// # Errors When a server of ours runs another `postgres` than its build's, because it was started before and kept.
pub(super) fn check_programs(plan: &Plan, stages: &mut [(At, Stage)]) -> Result<(), Error> {
    for (at, stage) in stages {
        let build =
            at.version.as_ref().and_then(|level| Some((level, plan.content.named.builds.get(level)?)));
        let Some(((level, build), cluster)) = build.zip(stage.target.cluster().ok()) else { continue };
        let wanted = build.bin.join("postgres");
        let wanted = wanted.canonicalize().unwrap_or(wanted);
        if let Some(what) = differs(level, &wanted, &cluster.running_program()) {
            let hint = format!("remove that server: pgdyno target destroy {}", cluster.name());
            return Err(Error::new(Class::Guard, what).with_hint(hint));
        }
    }
    Ok(())
}

fn differs(level: &str, wanted: &Path, runs: &Path) -> Option<String> {
    let runs = runs.to_string_lossy();
    // The kernel marks a program that was replaced since its start.
    let runs = runs.trim_end_matches(" (deleted)");
    (Path::new(runs) != wanted)
        .then(|| format!("the server of {level} runs {runs}, and not {}", wanted.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As root, copies of all builds were run by the system's PostgreSQL, and so were equal.
    #[test]
    fn a_server_that_runs_other_programs_is_refused() {
        let wanted = Path::new("/builds/v3/bin/postgres");
        for own in ["/builds/v3/bin/postgres", "/builds/v3/bin/postgres (deleted)"] {
            assert_eq!(differs("v3", wanted, Path::new(own)), None);
        }
        let other = Path::new("/usr/lib/postgresql/15/bin/postgres");
        let said =
            "the server of v3 runs /usr/lib/postgresql/15/bin/postgres, and not /builds/v3/bin/postgres";
        assert_eq!(differs("v3", wanted, other).as_deref(), Some(said));
    }
}
