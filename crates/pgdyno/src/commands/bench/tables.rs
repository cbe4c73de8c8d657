//! `pgdyno bench -i`: pgbench's tables, as an experiment that only prepares.

use toml::Value;
use workloads::pgbench::init::InitStep;

use super::BenchArgs;
use super::against::base::BaseServer;
use super::against::made::{MadeExperiment, Use};
use super::against::parts::pgbench_tables;
use crate::commands::carry_out::Shown;
use crate::exit::ExitResult;

const NAME: &str = "bench -i";

pub(super) fn run(args: &BenchArgs, server: &BaseServer) -> ExitResult {
    let of = Use {
        nowhere: NAME,
        asked: None,
        save: None,
        dry_run: false,
        again: false,
        same: false,
        report: None,
        pg_bin: None,
        output: &args.output,
        shown: Shown::Answer,
    };
    of.carry_out(|_| made(args, server))
}

fn made(args: &BenchArgs, server: &BaseServer) -> anyhow::Result<MadeExperiment> {
    let mut options = args.tables.options()?;
    if args.conduct.no_vacuum {
        options.steps.retain(|step| *step != InitStep::Vacuum);
    }
    let saved_by = "Made by pgdyno bench -i; docs/reference/experiment.md explains every key.";
    let mut made = MadeExperiment::new(NAME, saved_by, &[server]);
    made.experiment.target = Some(server.target());
    made.experiment.prepare =
        [("pgbench".to_owned(), Value::Table(pgbench_tables(&options)?))].into_iter().collect();
    Ok(made)
}
