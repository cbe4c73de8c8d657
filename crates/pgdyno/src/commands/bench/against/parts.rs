//! Parts of an experiment that all commands make alike.

use spec::experiment::{Experiment, Seed};
use toml::{Table, Value};

use super::base::{BaseServer, BaseWorkload, Folder, plain};
use super::made::MadeExperiment;
use super::usage;
use super::values::{flag, toml_table};
use crate::commands::bench::args::PartitionMethod;
use crate::commands::bench::asked::BenchRequest;

/// Connections that a private server allows by default, without pgdyno's and superusers'.
pub(in crate::commands) const ROOM: u32 = 90;

/// An experiment with its question, seed, target, data and one workload of pgbench scripts.
///
/// `saved_by` is the first line of its file; the question contains the workload's name.
pub(in crate::commands) fn of_scripts(
    asked: &BenchRequest<'_>,
    saved_by: &'static str,
    question: impl FnOnce(&str) -> String,
    folder: &Folder,
) -> anyhow::Result<MadeExperiment> {
    let (server, workload) = (BaseServer::of(asked)?, BaseWorkload::of(asked));
    asked.tables_fit(workload.asks_pgbench_tables())?;
    let mut made = MadeExperiment::new(&plain(&workload.name), saved_by, &[&server]);
    let experiment = &mut made.experiment;
    experiment.question = Some(question(&workload.name));
    experiment.seed = seed(asked.conduct.random_seed.as_deref())?;
    experiment.target = Some(server.target());
    if server.is_managed() {
        experiment.prepare = prepared(asked, workload.asks_pgbench_tables(), folder);
    }
    experiment.workload.insert(&workload.name, workload.value(asked, folder)?);
    asked.conduct.choose_generator(experiment);
    Ok(made)
}

/// Raises a private server's `max_connections` if its default is too low.
pub(in crate::commands) fn make_room(experiment: &mut Experiment, connections: u32) {
    let is_managed = experiment.target.as_ref().is_some_and(|target| target.managed.is_some());
    if is_managed && connections > ROOM {
        experiment.settings.insert("room", [room(connections)].into_iter().collect());
    }
}

/// The setting that allows these connections, and pgdyno's.
pub(in crate::commands) fn room(connections: u32) -> (String, Value) {
    ("max_connections".to_owned(), Value::Integer(i64::from(connections) + 10))
}

pub(in crate::commands) fn seed(text: Option<&str>) -> anyhow::Result<Option<Seed>> {
    let Some(text) = text else { return Ok(None) };
    let seed = text.parse::<u64>().ok().filter(|seed| i64::try_from(*seed).is_ok());
    let hint = "without it the seed is made from the plan";
    seed.map(|seed| Some(Seed::new(seed)))
        .ok_or_else(|| usage("--random-seed must be a number from 0 to 2^63 - 1 here", hint))
}

/// pgbench's tables if scripts need them, and other data for a private server.
pub(super) fn prepared(args: &BenchRequest<'_>, asks_tables: bool, folder: &Folder) -> Table {
    let of = args.tables;
    let is_hash = of.partition_method == PartitionMethod::Hash;
    let tables = (asks_tables || of.scale.is_some()).then(|| {
        toml_table([
            ("scale", Some(Value::Integer(of.scale.unwrap_or(1).into()))),
            ("steps", (of.init_steps != "dtgvp").then(|| of.init_steps.as_str().into())),
            ("fillfactor", (of.fillfactor != 100).then(|| Value::Integer(of.fillfactor.into()))),
            ("unlogged", flag(of.unlogged_tables)),
            ("foreign_keys", flag(of.foreign_keys)),
            ("quiet", flag(of.quiet)),
            ("partitions", (of.partitions > 0).then(|| Value::Integer(of.partitions.into()))),
            ("partition_method", is_hash.then(|| "hash".into())),
            ("tablespace", of.tablespace.as_deref().map(Value::from)),
            ("index_tablespace", of.index_tablespace.as_deref().map(Value::from)),
        ])
    });
    let files: Vec<Value> = args.target.prepare.iter().map(|file| folder.value(file)).collect();
    toml_table([
        ("pgbench", tables.map(Value::Table)),
        ("sql", (!files.is_empty()).then_some(Value::Array(files))),
    ])
}
