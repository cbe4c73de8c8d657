//! `pgdyno tiles`: the speed of map tiles, where their time goes, and which of several ways to make them is
//! faster. The arguments become an experiment, which runs like one from a file.

mod against;
mod args;
mod file;
mod layers;
mod once;
#[cfg(test)]
mod tests;
mod trace;
mod ways;
mod zooms;

pub(super) use args::TilesArgs as Args;

use self::against::Against;
use super::bench::against::made::Use;
use super::bench::against::usage;
use super::carry_out::Shown;
use crate::exit::ExitResult;

const SAVED_BY: &str = "Made by pgdyno tiles; docs/reference/experiment.md explains every key.";

/// The name in messages for the unsaved file.
const NOWHERE: &str = "tiles";

pub(crate) fn run(args: &Args) -> ExitResult {
    let against = Against::read(&args.arms.against)?.looked_up(&args.arms.builds)?;
    if args.save.is_some() && args.tiles.via.as_ref().is_some_and(ways::has_login) {
        let what = "--via: a user and a password stand in the URL, which no file is to hold";
        return Err(usage(what, "leave --save out, or user and password"));
    }
    let of = Use {
        nowhere: NOWHERE,
        asked: None,
        save: args.save.as_deref(),
        dry_run: args.dry_run,
        again: args.again,
        same: args.arms.same,
        report: args.report.as_deref(),
        pg_bin: None,
        output: &args.output,
        shown: Shown::Tiles,
    };
    of.carry_out(|folder| file::made(args, &against, folder))
}
