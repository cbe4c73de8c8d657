//! `pgdyno ladder`: pgbench scripts at rising rates or numbers of clients, to find where quality breaks.

mod args;
mod file;
#[cfg(test)]
mod tests;

pub(super) use args::LadderArgs as Args;

use super::bench::against::made::MadeExperiment;
use super::bench::against::usage;
use super::carry_out::Shown;
use crate::exit::ExitResult;

const SAVED_BY: &str = "Made by pgdyno ladder; docs/reference/experiment.md explains every key.";

/// The name in messages for the unsaved file.
const NOWHERE: &str = "ladder";

pub(crate) fn run(args: &Args) -> ExitResult {
    let of = args.made.used(NOWHERE, Shown::Ladders);
    of.carry_out(|folder| file::made(args, folder)).map_err(|error| args.made.target.or_managed(error))
}
