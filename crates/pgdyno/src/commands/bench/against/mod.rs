//! `pgdyno bench … --against 'KIND: WHAT'`: what `bench` would run compared with the same thing changed. The arguments
//! become an experiment, which is run as one from a file is.

mod advice;
pub(in crate::commands) mod base;
pub(in crate::commands) mod file;
pub(in crate::commands) mod kind;
pub(in crate::commands) mod made;
pub(in crate::commands) mod made_args;
mod origins;
pub(in crate::commands) mod parts;
mod saved;
#[cfg(test)]
mod tests;
pub(in crate::commands) mod values;

use self::kind::Change;
use self::made::Use;
use super::against_args::Compare;
use super::asked::Asked;
use super::{BenchArgs, check_bounds};
use crate::commands::run::Shown;
use crate::exit::{Failure, Outcome, USAGE};

/// First line of what is saved.
const SAVED_BY: &str = "Made by pgdyno bench --against; docs/experiment.md explains every key.";

/// What messages call the file that stands nowhere.
const NOWHERE: &str = "--against";

pub(super) fn run(args: &BenchArgs) -> Outcome {
    let own = &args.against;
    has_only_what_can_be_compared(args)?;
    let results = args.output.results.path().display().to_string();
    match args.target.managed {
        // Its tables are made with the options of -i.
        Some(_) => args.given.is_ours(&results)?,
        None => args.given.check(false, &results)?,
    }
    check_bounds(args)?;
    let Some(change) = change(&own.compare)? else {
        return Err(usage("--against says what is compared", ""));
    };
    let of = Use {
        nowhere: NOWHERE,
        asked: Some(Asked::of(args)),
        save: own.save.as_deref(),
        dry_run: own.dry_run,
        again: own.again,
        same: own.same,
        report: own.report.as_deref(),
        output: &args.output,
        shown: Shown::Answer,
    };
    of.carry_out(|folder| file::made(file::of_bench(args, &change), folder))
}

/// What is changed on the other side; none where nothing is compared.
///
/// # Errors
/// More than one, or one that is none.
pub(in crate::commands) fn change(compare: &Compare) -> anyhow::Result<Option<Change>> {
    match &compare.against[..] {
        [] => Ok(None),
        [one] => Change::parse(one).map(Some).map_err(|why| {
            let (why, hint) = why.split_once('\n').unwrap_or((&why, ""));
            usage(why, hint)
        }),
        _ => {
            let hint = "one now and the other later; or --save FILE, and give the file further levels";
            Err(usage("--against stands once: a comparison has two sides", hint))
        }
    }
}

/// Options of `bench` that mean nothing where two sides are compared.
fn has_only_what_can_be_compared(args: &BenchArgs) -> anyhow::Result<()> {
    Asked::of(args).check("with --against")?;
    if args.load.transactions.is_some() {
        let hint = "rounds have a length: -T SECONDS, shared by both sides";
        return Err(usage("-t cannot be had with --against", hint));
    }
    Ok(())
}

/// Wrong usage, with what to write instead where that is known.
pub(in crate::commands) fn usage(what: &str, hint: &str) -> anyhow::Error {
    Failure::with_code(USAGE, what, (!hint.is_empty()).then(|| hint.to_owned()))
}
