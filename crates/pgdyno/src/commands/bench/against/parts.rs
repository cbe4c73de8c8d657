//! Parts of an experiment that all commands make alike.

use spec::experiment::{Experiment, Seed, Users};
use toml::{Table, Value};
use workloads::pgbench::init::InitOptions;

use super::base::{BaseServer, BaseWorkload, Folder, plain};
use super::made::MadeExperiment;
use super::usage;
use super::values::{changed, toml_table};
use crate::commands::bench::asked::BenchRequest;

/// Connections that a private server allows by default, without pgdyno's and superusers'.
pub(in crate::commands) const ROOM: u32 = 90;

/// What takes several query protocols.
pub(in crate::commands) const SEVERAL_MODES: &str =
    "two sides with each: pgdyno bench --against 'KIND: WHAT'; otherwise one command for each";

/// An experiment with its question, target, data and one workload of pgbench scripts.
///
/// `saved_by` is the first line of its file; the question contains the workload's name.
pub(in crate::commands) fn of_scripts(
    asked: &BenchRequest<'_>,
    saved_by: &'static str,
    question: impl FnOnce(&str) -> String,
    folder: &Folder,
) -> anyhow::Result<MadeExperiment> {
    let (server, workload) = (BaseServer::of(asked)?, BaseWorkload::of(asked)?);
    asked.scripts.mode.only("-M", SEVERAL_MODES)?;
    asked.tables_fit(workload.asks_pgbench_tables())?;
    let mut made = MadeExperiment::new(&plain(&workload.name).replace(' ', "-"), saved_by, &[&server]);
    let experiment = &mut made.experiment;
    experiment.question = Some(question(&workload.name));
    let mut target = server.target();
    asked.target.replicas.put(&mut target)?;
    experiment.target = Some(target);
    if server.is_managed() {
        experiment.prepare = prepared(asked, workload.asks_pgbench_tables(), folder)?;
    }
    experiment.workload.insert(&workload.name, workload.value(asked, folder)?);
    asked.conduct.choose_generator(experiment);
    experiment.load.users = users(asked, None, folder)?;
    if asked.users.is_asked() {
        for key in ["files", "builtin", "scripts"] {
            made.origins.add(&["workload", "*", "pgbench", key], "--users");
        }
    }
    Ok(made)
}

/// The table of users, if clients are users; each does this many sessions, unless the run has a duration.
///
/// # Errors
/// What is wrong with their texts.
pub(in crate::commands) fn users(
    asked: &BenchRequest<'_>,
    sessions: Option<u64>,
    folder: &Folder,
) -> anyhow::Result<Option<Users>> {
    Ok(asked.users()?.map(|users| users.table(&|file| folder.path(file), sessions, asked.conduct.connect)))
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
pub(super) fn prepared(args: &BenchRequest<'_>, asks_tables: bool, folder: &Folder) -> anyhow::Result<Table> {
    let makes_tables = asks_tables || args.tables.scale.is_some();
    let tables = makes_tables.then(|| pgbench_tables(&args.tables.options()?)).transpose()?;
    let files: Vec<Value> = args.target.prepare.iter().map(|file| folder.value(file)).collect();
    Ok(toml_table([
        ("pgbench", tables.map(Value::Table)),
        ("sql", (!files.is_empty()).then_some(Value::Array(files))),
    ]))
}

/// The table `prepare.pgbench`: the scale, and what differs from the defaults.
pub(in crate::commands) fn pgbench_tables(options: &InitOptions) -> anyhow::Result<Table> {
    let mut tables = changed(options, &InitOptions::default())?;
    tables.insert("scale".to_owned(), Value::Integer(options.scale.into()));
    Ok(tables)
}
