//! Maps parts of an experiment to the options they come from, for error messages.

use lab::experiment::{FileProblems, Problem};

use super::advice::own;
use crate::commands::bench::of_option;
use crate::exit::{BAD_INPUT, CommandFailure, USAGE};

/// Options by the parts of an experiment that they make; `*` is any name.
const USUAL: &[(&str, &str)] = &[
    ("seed", "--random-seed"),
    ("target.url", "DBNAME"),
    ("target.managed", "--managed"),
    ("target.change_server", "--change-server"),
    ("target.replicas", "--replicas"),
    ("target.replication", "--replication"),
    ("server.base", "DBNAME"),
    ("server.other", "--against 'url: …'"),
    ("server.*.change_server", "--change-server"),
    ("version", "--against 'version: …'"),
    ("version.*.git", "--against 'build: git …'"),
    ("version.*.source", "--source"),
    ("version.*.configure", "--configure"),
    ("version.*.initdb", "--against 'build: …; initdb: …'"),
    ("version.*.settings", "--against 'build: …; settings: …'"),
    ("prepare.sql", "--prepare"),
    ("prepare.osm", "--osm"),
    ("prepare.pgbench.scale", "-s"),
    ("prepare.pgbench.steps", "-I"),
    ("prepare.pgbench.fillfactor", "-F"),
    ("prepare.pgbench.partitions", "--partitions"),
    ("prepare.pgbench.tablespace", "--tablespace"),
    ("prepare.pgbench.index_tablespace", "--index-tablespace"),
    ("workload.*.pgbench.builtin", "-b"),
    ("workload.*.pgbench.files", "-f"),
    ("workload.*.pgbench.scripts", "-f"),
    ("workload.*.pgbench.mode", "-M"),
    ("workload.*.pgbench.target", "--target"),
    ("workload.*.pgbench.define", "-D"),
    ("workload.*.pgbench.variables", "--variables"),
    ("workload.*.pgbench.scale", "-s"),
    ("workload.*.pgbench.max_tries", "--max-tries"),
    ("workload.*.pgbench.latency_limit_ms", "-L"),
    ("workload.*.tiles", "LAYER"),
    ("workload.*.tiles.zooms", "--zooms"),
    ("workload.*.tiles.picker", "--picker"),
    ("workload.*.tiles.pick_from", "--pick-from"),
    ("workload.*.tiles.columns", "--columns"),
    ("workload.*.tiles.bounds", "--bounds"),
    ("workload.*.tiles.tiles_per_zoom", "--tiles"),
    ("workload.*.tiles.min_pixels", "--min-pixels"),
    ("workload.*.tiles.variant", "--variant"),
    ("workload.*.tiles.via", "--via"),
    ("workload.*.tiles.once", "--once"),
    ("workload.*.tiles.once.mbtiles", "--mbtiles"),
    ("workload.*.tiles.empty_status", "--empty-status"),
    ("factors.clients", "-c"),
    ("factors.mode", "-M"),
    ("factors.rate", "-R"),
    ("factors.rate_per_client", "--rate-per-client"),
    ("factors.promise", "-L"),
    ("factors.version", "--against 'version: …'"),
    ("settings", "--against 'settings: …'"),
    ("change", "--against 'sql: …'"),
    ("change.*.*.undo", "--undo"),
    ("compare.margin", "--margin"),
    ("compare.metric", "--metric"),
    ("load.users", "--users"),
    ("load.users.arrivals", "--arrivals"),
    ("load.users.active_share", "--active-share"),
    ("load.users.sessions", "--sessions"),
    ("load.rate", "-R"),
    ("load.promise", "-L"),
    ("load.bound", "--bound"),
    ("load.search.promise", "--promise"),
    ("load.search.lowest", "--lowest"),
    ("load.search.highest", "--highest"),
    ("load.search.width", "--width"),
    ("load.search.confirm", "--confirm"),
    ("measure.duration", "-T"),
    ("measure.warmup", "--warmup"),
    ("measure.rounds", "--rounds"),
    ("measure.slices", "--slices"),
    ("measure.keep_sessions", "--keep-sessions"),
    ("measure.check_time", "--check-time"),
    ("measure.threads", "-j"),
];

/// Options with file names: problems in those files are not wrong usage.
const OF_FILES: [&str; 8] =
    ["-f", "--users", "--variables", "--prepare", "LAYER", "--trace", "--osm", "--sql"];

#[derive(Debug)]
pub(in crate::commands) struct Origins {
    options: Vec<(Vec<String>, &'static str)>,
    /// Whether wrong options are bad input: another program's own.
    pub(in crate::commands) are_input: bool,
}

impl Origins {
    /// Common to all commands.
    pub(super) fn usual() -> Self {
        let steps = |path: &str| path.split('.').map(str::to_owned).collect();
        let options = USUAL.iter().map(|(path, option)| (steps(path), *option)).collect();
        Self { options, are_input: false }
    }

    /// Adds a part that comes from another option in this command.
    pub(in crate::commands) fn add(&mut self, path: &[&str], option: &'static str) {
        self.options.push((path.iter().map(|step| (*step).to_owned()).collect(), option));
    }

    /// The option of a part, or of the nearest part around it; the last added wins.
    fn option(&self, path: &[String]) -> Option<&'static str> {
        let is_above = |above: &[String]| {
            above.len() <= path.len()
                && above.iter().zip(path).all(|(above, step)| above == "*" || above == step)
        };
        let above = self.options.iter().filter(|(above, _)| is_above(above));
        above.max_by_key(|(above, _)| above.len()).map(|(_, option)| *option)
    }

    /// Problems of an experiment in terms of options; `otherwise` names parts without an option.
    pub(super) fn told(&self, found: &FileProblems, otherwise: &'static str) -> anyhow::Error {
        let option = |problem: &Problem| self.option(&problem.path).unwrap_or(otherwise);
        let told = |problem: &Problem| of_option(option(problem), &own(&problem.said));
        let of_file = |option: &str| OF_FILES.contains(&option) || option.starts_with("--against");
        let code = match self.are_input || found.problems.iter().any(|problem| of_file(option(problem))) {
            true => BAD_INPUT,
            false => USAGE,
        };
        let all: Vec<String> = found.problems.iter().map(told).collect();
        let [only] = &found.problems[..] else {
            return CommandFailure::with_code(code, all.join("\n"), None);
        };
        CommandFailure::with_code(code, all.join("\n"), only.hint.as_deref().map(own))
    }
}
