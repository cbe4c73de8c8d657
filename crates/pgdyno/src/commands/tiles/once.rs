//! `--once`: its options as a table of the workload.

use std::path::PathBuf;

use toml::Value;

use super::args::TilesArgs;
use crate::commands::bench::against::base::Folder;
use crate::commands::bench::against::usage;
use crate::commands::bench::against::values::{flag, toml_table};
use crate::options::AnswerMetric;

/// Rounds of a comparison: each is a pass over all tiles.
pub(super) const ROUNDS_COMPARED: u32 = 3;

/// The table, if `--once` was given.
///
/// # Errors
/// Options of a load, or a file for several passes.
pub(super) fn options(args: &TilesArgs, folder: &Folder) -> anyhow::Result<Option<Value>> {
    if !args.tiles.once {
        return Ok(None);
    }
    let load = &args.load;
    if load.rate.is_some() || load.latency_limit.is_some() {
        let what =
            "--rate and --latency-limit are of a load, and --once asks for each tile as soon as it can";
        return Err(usage(what, "leave them out"));
    }
    if args.arms.metric == Some(AnswerMetric::Cpu) {
        let what = "--metric cpu is CPU time per transaction, and --once is a job without transactions";
        return Err(usage(what, "leave it out: passes are compared by the time they take"));
    }
    let is_compared = !args.arms.against.is_empty();
    let passes = is_compared || load.rounds.is_some_and(|rounds| rounds > 1);
    if passes && args.tiles.mbtiles.is_some() {
        let what = "--mbtiles: one pass over the tiles fills the file, and several are asked for";
        return Err(usage(what, "leave --against and --rounds out, or --mbtiles"));
    }
    let file = |path: &PathBuf| Value::from(folder.path(&path.to_string_lossy()));
    let resumes = !passes && args.tiles.mbtiles.is_none();
    let connections = (load.clients != 1).then(|| Value::Integer(load.clients.into()));
    let options = toml_table([
        ("connections", connections),
        ("mbtiles", args.tiles.mbtiles.as_ref().map(file)),
        ("resume", flag(resumes)),
        ("at_most_s", load.duration.map(|seconds| Value::Float(seconds as f64))),
    ]);
    Ok(Some(options.into()))
}
