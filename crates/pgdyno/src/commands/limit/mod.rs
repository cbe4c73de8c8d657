//! `pgdyno limit`: the highest rate of pgbench scripts at which a promise holds.

mod args;
mod file;
#[cfg(test)]
mod tests;

pub(super) use args::LimitArgs as Args;

use super::bench::against::{self, made::MadeExperiment};
use super::carry_out::Shown;
use crate::exit::ExitResult;

const SAVED_BY: &str = "Made by pgdyno limit; docs/reference/experiment.md explains every key.";

/// The name in messages for the unsaved file.
const NOWHERE: &str = "limit";

pub(crate) fn run(args: &Args) -> ExitResult {
    let change = against::change(&args.compare)?;
    let of = args.made.used(NOWHERE, Shown::Answer);
    of.carry_out(|folder| file::made(args, change.as_ref(), folder))
        .map_err(|error| args.made.target.or_managed(error))
}
