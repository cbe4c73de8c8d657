//! `pgdyno bench`: one run of pgbench scripts, or pgbench's tables.

pub(super) mod against;
pub(super) mod against_args;
mod args;
pub(super) mod asked;
mod given;
mod listed;
mod once;
mod query_protocol;
mod show;
mod tables;
#[cfg(test)]
mod tests;
pub(super) mod user_args;
mod watched;

use std::path::Path;

use results::{ExperimentId, Store};
use script::Weighted;
use server::home::results_option;
use spec::{Error, shell};
use workloads::pgbench::init::{self, InitOptions, parse_steps};

use args::BenchArgs;
pub(super) use args::{BenchArgs as Args, Conduct, Scripts, TableArgs, TargetArgs};
pub(super) use given::Given;

use self::against::base::BaseServer;
use self::args::{PartitionMethod, ScriptChoice};
use self::asked::BenchRequest;
use crate::exit::{CommandFailure, ExitResult, UNREACHABLE, USAGE, of_class};
use crate::print::talk;

// The same bounds as in experiment files: larger values are typing errors.
const MONTH_S: f64 = 30.0 * 86_400.0;
const MOST_CLIENTS: f64 = 100_000.0;
const MOST_THREADS: f64 = 1024.0;
const LEAST_LIMIT_MS: f64 = 0.001;
const DAY_MS: f64 = 1e3 * 86_400.0;

pub(crate) fn run(args: &Args) -> ExitResult {
    match args.against.is_asked() {
        true => against::run(args),
        false => alone(args).map_err(against::of_options),
    }
    .map_err(|error| args.target.or_managed(error))
}

impl TargetArgs {
    /// Adds the advice to use a private server, if no server was named and none was reached.
    pub(in crate::commands) fn or_managed(&self, error: anyhow::Error) -> anyhow::Error {
        let names_server = |text: &String| text.contains("://") || text.contains("host");
        let named = self.host.is_some() || self.dsn.iter().chain(&self.dbname).any(names_server);
        let class = error.downcast_ref::<Error>().map(Error::class);
        let is_absent = matches!(class, Some(spec::Class::Unreachable | spec::Class::Refused));
        if named || self.managed.is_some() || !is_absent || std::env::var_os("PGHOST").is_some() {
            return error;
        }
        let code = class.map_or(UNREACHABLE, of_class);
        let hint = "--managed in place of a database: pgdyno makes a private server; or name yours: postgres://user@host/database";
        CommandFailure::with_code(code, error.to_string(), Some(hint.to_owned()))
    }
}

fn alone(args: &Args) -> ExitResult {
    let results = args.output.results.path().display().to_string();
    match args.target.managed {
        // The options of -i apply to its tables.
        Some(_) if !args.tables.initialize => args.given.is_ours(&results)?,
        _ => args.given.check(args.tables.initialize, &results)?,
    }
    if let Some(option) = args.target.replicas.given().filter(|_| args.tables.initialize) {
        let hint = "make the tables first, then run with it";
        return Err(usage_with(&format!("{option} means nothing when tables are made (-i)"), hint));
    }
    match args.tables.initialize {
        true => tables::run(args, &BaseServer::of(&BenchRequest::of(args))?),
        false => once::measure(args),
    }
}

impl TableArgs {
    /// The steps of `-I`.
    fn steps(&self) -> anyhow::Result<Vec<init::InitStep>> {
        parse_steps(&self.init_steps).map_err(|problem| usage(&format!("-I: {problem}")))
    }

    fn options(&self) -> anyhow::Result<InitOptions> {
        Ok(InitOptions {
            scale: self.scale.unwrap_or(1),
            steps: self.steps()?,
            fillfactor: self.fillfactor,
            unlogged: self.unlogged_tables,
            foreign_keys: self.foreign_keys,
            partitions: self.partitions,
            partition_method: match self.partition_method {
                PartitionMethod::Range => init::PartitionMethod::Range,
                PartitionMethod::Hash => init::PartitionMethod::Hash,
            },
            tablespace: self.tablespace.clone(),
            index_tablespace: self.index_tablespace.clone(),
            quiet: self.quiet,
        })
    }
}

/// Prints where the result is stored, and commands that show it.
pub(super) fn told_where(results: &Path, tables: &[&str], id: Option<ExperimentId>) {
    let which = id.and_then(|id| Store::open_read_only(results).ok()?.called(id).ok());
    let which = which.map(|which| format!(" -e {}", shell::word(&which))).unwrap_or_default();
    let which = format!("{which}{}", results_option(results));
    let tables: Vec<String> = tables.iter().map(|table| format!("pgdyno table {table}{which}")).collect();
    talk(&format!("results: {} (try: {})", results.display(), tables.join(", ")));
}

/// What is wrong with an option: a sentence with it as the subject, or a separate one after a colon.
pub(in crate::commands) fn of_option(option: &str, said: &str) -> String {
    let verbs = ["must ", "cannot ", "has ", "is ", "needs ", "names ", "says ", "stands "];
    let colon = if verbs.iter().any(|verb| said.starts_with(verb)) { "" } else { ":" };
    format!("{option}{colon} {said}")
}

fn usage_with(what: &str, hint: &str) -> anyhow::Error {
    CommandFailure::with_code(USAGE, what, (!hint.is_empty()).then(|| hint.to_owned()))
}

fn usage(problem: &str) -> anyhow::Error {
    CommandFailure::with_code(USAGE, problem, Some("pgdyno bench --help".into()))
}

/// Refuses numbers out of range.
fn check_bounds(args: &Args) -> anyhow::Result<()> {
    let within = |name: &str, value: Option<f64>, least: f64, most: f64| match value {
        Some(value) if !(least..=most).contains(&value) => {
            Err(usage(&format!("{name} must be from {least} to {most}")))
        }
        _ => Ok(()),
    };
    within("--warmup (seconds)", args.load.warmup, 0.0, MONTH_S)?;
    within("--time (seconds)", args.load.time.map(|seconds| seconds as f64), 1.0, MONTH_S)?;
    let most = args.load.client.each().iter().copied().max().map(f64::from);
    within("--client", most, 1.0, MOST_CLIENTS)?;
    within("--jobs", Some(f64::from(args.load.jobs)), 1.0, MOST_THREADS)?;
    within("--latency-limit (ms)", args.pace.latency_limit, LEAST_LIMIT_MS, DAY_MS)
}

/// Checks the words of a script's option.
fn check_script(script: &ScriptChoice) -> anyhow::Result<()> {
    match script {
        ScriptChoice::Builtin(name) => {
            let weighted = Weighted::parse(name).map_err(|error| usage(&format!("-b {name}: {error}")))?;
            script::Builtin::find(&weighted.name).map(drop).map_err(|error| {
                let known: Vec<_> = script::BUILTINS.iter().map(|builtin| builtin.name).collect();
                CommandFailure::with_code(
                    USAGE,
                    format!("-b {name}: {error}"),
                    Some(format!("one of {}", known.join(", "))),
                )
            })
        }
        ScriptChoice::File(name) => {
            Weighted::parse(name).map(drop).map_err(|error| usage(&format!("-f {name}: {error}")))
        }
    }
}

/// A random seed; it is recorded with the run.
pub(super) fn fresh_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // The standard library seeds its hasher with the system's randomness.
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}
