//! `pgdyno bench`: one run of pgbench scripts, or pgbench's tables.

pub(super) mod against;
pub(super) mod against_args;
mod args;
pub(super) mod asked;
mod given;
mod show;
mod tables;
#[cfg(test)]
mod tests;
mod watched;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::Until;
use lab::bench;
use lab::target_spec::TargetAccess;
use results::{ExperimentId, Store};
use script::{Seed, Weighted};
use spec::{Error, Profile, ProfileError, Reason, shell};
use workloads::Preparation;
use workloads::pgbench::init::{self, InitOptions, parse_steps};
use workloads::pgbench::{self, ScriptSource};

use args::BenchArgs;
pub(super) use args::{BenchArgs as Args, Conduct, Scripts, TableArgs, TargetArgs};
pub(super) use given::Given;

use self::against::base::{BaseServer, BaseWorkload};
use self::args::{PartitionMethod, QueryProtocolArg, ScriptChoice};
use self::asked::BenchRequest;
use self::watched::Watched;
use super::jobs::not_stored;
use super::{print, signals};
use crate::commands::typed;
use crate::exit::{
    CommandFailure, ExitResult, GUARD, INTERRUPTED, INVALID, SAME_OR_BETTER, UNREACHABLE, USAGE, of_class,
};
use crate::options::OutputFormat;
use crate::print::{data, talk, warning};
use crate::progress::Screen;

// The same bounds as in experiment files: larger values are typing errors.
const MONTH_S: f64 = 30.0 * 86_400.0;
const MOST_CLIENTS: f64 = 100_000.0;
const MOST_THREADS: f64 = 1024.0;
const LEAST_LIMIT_MS: f64 = 0.001;
const DAY_MS: f64 = 1e3 * 86_400.0;

pub(crate) fn run(args: &Args) -> ExitResult {
    match args.against.is_asked() {
        true => against::run(args),
        false => alone(args),
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
        Some(_) => args.given.is_ours(&results)?,
        None => args.given.check(args.tables.initialize, &results)?,
    }
    let server = BaseServer::of(&BenchRequest::of(args))?;
    if args.tables.initialize { tables::run(args, &server) } else { measure(args, server.access()) }
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

fn measure(args: &Args, target: TargetAccess) -> ExitResult {
    let options = options(args, target)?;
    let stop = signals::listen_at_once()?;
    let mut screen = Watched::new(Screen::new(args.output.verbose), &args.conduct, &options);
    let _measuring = args.output.measuring(&mut screen);
    let mut done = bench::run(&options, &mut screen, &stop)?;
    drop(screen);
    done.remarks.iter().for_each(|remark| warning(remark));
    match args.output.format.format {
        OutputFormat::Text => data(&show::text(&options, &done))?,
        format => print(&show::table(&done, &options, format == OutputFormat::Json), format)?,
    }
    let refused = refused(&done).map(|(error, said)| {
        done.run.doubts.retain(|doubt| Some(doubt.reason) != said);
        error
    });
    for doubt in &done.run.doubts {
        warning(&format!("{}: {}", doubt.reason.text(), doubt.detail));
    }
    let code = match done.run.validity {
        _ if done.measured.interrupted => INTERRUPTED,
        spec::Validity::Invalid => INVALID,
        _ => SAME_OR_BETTER,
    };
    let id = done.stored.as_ref().and_then(|stored| stored.as_ref().ok()).copied();
    match (stored(done.stored), options.results) {
        (Ok(()), Some(path)) => told_where(&path, &["runs"], id),
        (Ok(()), None) => {}
        (Err(not_stored), _) => {
            // One error ends the program; the other is shown as a warning.
            if let Some(refused) = refused {
                warning(&refused.to_string());
            }
            return Err(not_stored);
        }
    }
    match (refused, done.lost) {
        (Some(refused), _) => Err(refused),
        (None, Some(lost)) => Err(without_counters(&lost)),
        (None, None) => Ok(code),
    }
}

/// The result was measured, but the server's counters are missing.
fn without_counters(lost: &Error) -> anyhow::Error {
    let what = format!("the result above is without the server's counters: {lost}");
    CommandFailure::with_code(of_class(lost.class()), what, lost.hint().map(str::to_owned))
}

/// Why a run has no valid figures: first clients that aborted, whose message is the error; then a script that
/// does nothing. Also returns the doubt that this error covers.
fn refused(done: &bench::Benched) -> Option<(anyhow::Error, Option<Reason>)> {
    if let Some(abort) = done.measured.aborts.first() {
        let more = done.measured.aborts.len() - 1;
        let others = match more {
            0 => String::new(),
            more => format!(" (and {})", lab::words::count(more, "more client")),
        };
        let code = if abort.lost { UNREACHABLE } else { GUARD };
        let place = done.gave_up_at.as_ref().map(|place| format!("{place}\n")).unwrap_or_default();
        return Some((CommandFailure::with_code(code, format!("{place}{abort}{others}"), None), None));
    }
    let empty = done.run.doubts.iter().find(|doubt| doubt.reason == Reason::EmptyResults);
    let empty = empty.filter(|_| !done.measured.interrupted)?;
    let what = format!("{}: {}", empty.reason.text(), empty.detail);
    let hint = Some("pgdyno bench --may-be-empty, if that is right".into());
    Some((CommandFailure::with_code(GUARD, what, hint), Some(empty.reason)))
}

/// Prints where the result is stored, and commands that show it.
pub(super) fn told_where(results: &Path, tables: &[&str], id: Option<ExperimentId>) {
    let which = id.and_then(|id| Store::open_read_only(results).ok()?.called(id).ok());
    let which = which.map(|which| format!(" -e {}", shell::word(&which))).unwrap_or_default();
    let tables: Vec<String> = tables.iter().map(|table| format!("pgdyno table {table}{which}")).collect();
    talk(&format!("results: {} (try: {})", results.display(), tables.join(", ")));
}

/// An error if the printed result was not stored.
pub(super) fn stored(stored: Option<Result<ExperimentId, Error>>) -> anyhow::Result<()> {
    match stored {
        Some(Err(error)) => Err(not_stored(&error)),
        _ => Ok(()),
    }
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
    within("--client", Some(f64::from(args.load.client)), 1.0, MOST_CLIENTS)?;
    within("--jobs", Some(f64::from(args.load.jobs)), 1.0, MOST_THREADS)?;
    within("--latency-limit (ms)", args.pace.latency_limit, LEAST_LIMIT_MS, DAY_MS)
}

/// Data for a private server: pgbench's tables if a script uses them, and the user's SQL files.
fn preparation(args: &Args) -> anyhow::Result<Preparation> {
    if args.target.managed.is_none() {
        return Ok(Preparation::default());
    }
    let asked = BenchRequest::of(args);
    let asks_tables = BaseWorkload::of(&asked).asks_pgbench_tables();
    asked.tables_fit(asks_tables)?;
    let makes_tables = asks_tables || args.tables.scale.is_some();
    let pgbench = makes_tables.then(|| args.tables.options()).transpose()?;
    Ok(Preparation { pgbench, sql: args.target.prepare.clone(), ..Preparation::default() })
}

fn options(args: &Args, target: TargetAccess) -> anyhow::Result<bench::BenchOptions> {
    check_bounds(args)?;
    let until = match (args.load.time, args.load.transactions) {
        (Some(seconds), _) => Until::Elapsed(seconds.saturating_mul(1_000_000_000)),
        (None, transactions) => Until::PerClient(transactions.unwrap_or(10)),
    };
    Ok(bench::BenchOptions {
        target,
        pg_bin: None,
        prepare: preparation(args)?,
        workload: workload(args)?,
        scripts: args.scripts.in_order.iter().map(source).collect::<anyhow::Result<_>>()?,
        clients: args.load.client,
        threads: args.load.jobs,
        until,
        warmup: Duration::from_secs_f64(args.load.warmup.unwrap_or(0.0)),
        rate: rate(args)?,
        promise: args.pace.latency_limit.map(|ms| Duration::from_secs_f64(ms / 1e3)),
        statements: args.conduct.report_per_command,
        driver: args.conduct.driver.into(),
        waiting: args.conduct.wait.into(),
        seed: seed(args.conduct.random_seed.as_deref())?,
        results: Some(args.output.results.path()),
        command: Some(typed::command()),
    })
}

/// The rate asked for; a changing one must fit into the run.
fn rate(args: &Args) -> anyhow::Result<Option<Profile>> {
    let Some(written) = &args.pace.rate else { return Ok(None) };
    let profile: Profile = written.parse().map_err(|error: ProfileError| {
        CommandFailure::with_code(USAGE, format!("--rate {}", error.what()), Some(error.advice().to_owned()))
    })?;
    match args.load.time {
        _ if profile.is_constant() => {}
        None => return Err(usage("--rate: a rate that changes needs a duration (-T)")),
        Some(seconds) if profile.lasts_s() > seconds as f64 => {
            let needed = profile.lasts_s();
            return Err(usage(&format!(
                "--rate \"{profile}\" takes {needed} s, and the run lasts {seconds} s (-T)"
            )));
        }
        Some(_) => {}
    }
    Ok(Some(profile))
}

pub(super) fn seed(given: Option<&str>) -> anyhow::Result<u64> {
    match given.map(Seed::parse).transpose() {
        Ok(Some(Seed::Value(seed))) => Ok(seed),
        Ok(None | Some(Seed::Time | Seed::Strong)) => Ok(fresh_seed()),
        Err(_) => Err(usage("--random-seed: write a number, time or rand")),
    }
}

fn workload(args: &Args) -> anyhow::Result<pgbench::PgbenchOptions> {
    if args.conduct.max_tries == 0 && args.load.time.is_none() && args.pace.latency_limit.is_none() {
        return Err(usage("--max-tries 0 needs a bound: a duration (-T) or a latency limit (-L)"));
    }
    let define = args.scripts.define.iter().map(|pair| match pair.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err(usage(&format!("-D {pair}: write NAME=VALUE"))),
    });
    Ok(pgbench::PgbenchOptions {
        mode: match args.scripts.mode {
            QueryProtocolArg::Simple => pgbench::QueryProtocol::Simple,
            QueryProtocolArg::Extended => pgbench::QueryProtocol::Extended,
            QueryProtocolArg::Prepared => pgbench::QueryProtocol::Prepared,
        },
        define: define.collect::<anyhow::Result<_>>()?,
        scale: args.tables.scale,
        max_tries: args.conduct.max_tries,
        reconnect: args.conduct.connect,
        reconnect_lost: args.conduct.reconnect,
        continue_on_error: args.conduct.continue_on_error,
        vacuum: !args.conduct.no_vacuum,
        latency_limit_ms: args.pace.latency_limit,
        may_be_empty: args.conduct.may_be_empty,
        ..pgbench::PgbenchOptions::default()
    })
}

fn source(argument: &ScriptChoice) -> anyhow::Result<ScriptSource> {
    match argument {
        ScriptChoice::Builtin(name) => {
            let weighted = Weighted::parse(name).map_err(|error| usage(&format!("-b {name}: {error}")))?;
            script::Builtin::find(&weighted.name).map_err(|error| {
                let known: Vec<_> = script::BUILTINS.iter().map(|builtin| builtin.name).collect();
                CommandFailure::with_code(
                    USAGE,
                    format!("-b {name}: {error}"),
                    Some(format!("one of {}", known.join(", "))),
                )
            })?;
            Ok(ScriptSource::Builtin(name.clone()))
        }
        ScriptChoice::File(name) => {
            let weighted = Weighted::parse(name).map_err(|error| usage(&format!("-f {name}: {error}")))?;
            if weighted.name == "-" {
                let mut text = Vec::new();
                std::io::stdin()
                    .read_to_end(&mut text)
                    .map_err(|error| usage(&format!("-f -: standard input cannot be read: {error}")))?;
                return Ok(ScriptSource::Text { name: weighted.name, text, weight: weighted.weight });
            }
            let path = PathBuf::from(&weighted.name);
            Ok(ScriptSource::File { path, shown: weighted.name, weight: weighted.weight })
        }
    }
}

/// A random seed; it is recorded with the run.
pub(super) fn fresh_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // The standard library seeds its hasher with the system's randomness.
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}
