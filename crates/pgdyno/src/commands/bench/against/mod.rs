//! `pgdyno bench … --against 'KIND: WHAT'`: compares a run of `bench` with the same run under one change. The
//! arguments become an experiment, which runs like one from a file.

mod advice;
pub(in crate::commands) mod base;
pub(in crate::commands) mod builds;
pub(in crate::commands) mod file;
pub(in crate::commands) mod kind;
pub(in crate::commands) mod made;
pub(in crate::commands) mod made_args;
mod origins;
pub(in crate::commands) mod parts;
mod saved;
mod sources;
#[cfg(test)]
mod tests;
pub(in crate::commands) mod values;
pub(in crate::commands) mod written;

use std::path::Path;

pub(super) use self::advice::of_options;
use self::builds::{BuildOrigin, NamedBuild};
use self::kind::AgainstChange;
use self::made::Use;
use super::against_args::{BuildArgs, Compare};
use super::asked::BenchRequest;
use super::{BenchArgs, check_bounds};
use crate::commands::carry_out::Shown;
use crate::exit::{CommandFailure, ExitResult, USAGE};
use spec::plan::WorkMetric;

const SAVED_BY: &str = "Made by pgdyno bench --against; docs/reference/experiment.md explains every key.";

/// The name in messages for the unsaved file.
const NOWHERE: &str = "--against";

pub(super) fn run(args: &BenchArgs) -> ExitResult {
    let own = &args.against;
    has_only_what_can_be_compared(args)?;
    let results = args.output.results.path().display().to_string();
    match args.target.managed {
        // The options of -i apply to its tables.
        Some(_) => args.given.is_ours(&results)?,
        None => args.given.check(false, &results)?,
    }
    check_bounds(args)?;
    let Some(change) = change(&own.compare)? else {
        return Err(usage("--against says what is compared", ""));
    };
    let of = Use {
        nowhere: NOWHERE,
        asked: Some(BenchRequest::of(args)),
        save: own.save.as_deref(),
        dry_run: own.dry_run,
        again: own.again,
        same: own.same,
        report: own.report.as_deref(),
        pg_bin: None,
        output: &args.output,
        shown: Shown::Answer,
    };
    of.carry_out(|folder| {
        let mut made = file::made(file::of_bench(args, &change), folder)?;
        if let Some(compare) = &mut made.experiment.compare {
            compare.metric = own.metric.map(WorkMetric::from);
        }
        Ok(made)
    })
}

/// The change; `None` without a comparison.
///
/// # Errors
/// More than one change, or an invalid one.
pub(in crate::commands) fn change(compare: &Compare) -> anyhow::Result<Option<AgainstChange>> {
    match &compare.against[..] {
        [] => Ok(None),
        [one] => looked_up(parsed(one)?, &compare.builds).map(Some),
        several => {
            let mut builds: Vec<NamedBuild> = Vec::new();
            for one in several {
                match parsed(one)? {
                    AgainstChange::Builds(more) => builds.extend(more),
                    _ => {
                        let hint = "several builds: 'build: A' and 'build: B'; otherwise one now and the other later, or --save FILE, and \
                                    give the file further levels";
                        return Err(usage("--against stands once: a comparison has two sides", hint));
                    }
                }
            }
            looked_up(AgainstChange::Builds(builds::told_apart(builds)), &compare.builds).map(Some)
        }
    }
}

/// The change with the names of its builds; those from git are looked up in the folder of `--source`, else in the
/// current one.
///
/// # Errors
/// As of [`builds::looked_up`]; or the options are for no build from git.
pub(in crate::commands) fn looked_up(
    change: AgainstChange,
    args: &BuildArgs,
) -> anyhow::Result<AgainstChange> {
    let is_git = |build: &NamedBuild| matches!(build.from, BuildOrigin::Git { .. });
    let builds = match change {
        AgainstChange::Builds(builds) if builds.iter().any(is_git) => builds,
        _ if args.is_given() => {
            return Err(usage(
                "--source and --configure are for builds from git",
                "--against 'build: git master'",
            ));
        }
        other => return Ok(other),
    };
    let shared = spec::shell::words(args.configure.as_deref().unwrap_or_default());
    let shared = shared.ok_or_else(|| usage("--configure: a quote is not closed", ""))?;
    let folder = args.source.as_deref().unwrap_or(Path::new("."));
    Ok(AgainstChange::Builds(builds::looked_up(builds, folder, &shared)?))
}

fn parsed(change: &str) -> anyhow::Result<AgainstChange> {
    AgainstChange::parse(change).map_err(|why| {
        let (why, hint) = why.split_once('\n').unwrap_or((&why, ""));
        usage(why, hint)
    })
}

/// Refuses options of `bench` without a meaning in a comparison.
fn has_only_what_can_be_compared(args: &BenchArgs) -> anyhow::Result<()> {
    BenchRequest::of(args).check("with --against")?;
    if args.load.transactions.is_some() {
        let hint = "rounds have a length: -T SECONDS, shared by both sides";
        return Err(usage("-t cannot be used with --against", hint));
    }
    if args.part.is_asked() {
        let hint = "write the experiment with --save FILE, and then: pgdyno run FILE --part K/N";
        return Err(usage("--part and --against cannot be combined", hint));
    }
    Ok(())
}

pub(in crate::commands) fn usage(what: &str, hint: &str) -> anyhow::Error {
    CommandFailure::with_code(USAGE, what, (!hint.is_empty()).then(|| hint.to_owned()))
}
