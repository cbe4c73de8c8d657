//! What can only be said when all options are known, in pgbench's order; then the settings.

use std::ffi::OsString;

use workloads::pgbench::Mode as QueryMode;
use workloads::pgbench::init::parse_steps;

use super::gather::{Gathered, Run};
use super::own::GroupAsked;
use super::settings::{
    Group, HostPolicy, InitSettings, Length, LogAsked, Origin, ProgressAsked, RunSettings, ScriptAsked,
    Vacuum,
};
use super::{Ask, Env, Fault, Level};

/// Steps of `-i` when none are given.
const DEFAULT_STEPS: &str = "dtgvp";
/// Transactions per client when neither `-t` nor `-T` is given.
const DEFAULT_TRANSACTIONS: u32 = 10;
/// Start of the names of log files when none is given.
const DEFAULT_LOG_PREFIX: &str = "pgbench_log";
/// Open files that a run needs besides its clients' connections, as pgbench counts.
const FILES_BESIDE_CLIENTS: u64 = 3;

/// Checks that so many clients can have a connection each.
pub(super) fn open_files(clients: u32, env: &dyn Env) -> Result<(), Fault> {
    let needed = u64::from(clients) + FILES_BESIDE_CLIENTS;
    match env.open_files() {
        Some(limit) if limit < needed => {
            let message = format!("need at least {needed} open files, but system limit is {limit}");
            let hint = "Reduce number of clients, or use limit/ulimit to increase the system limit.";
            Err(Fault::error(message).and(Level::Hint, hint))
        }
        _ => Ok(()),
    }
}

/// Looks at all options together.
pub(super) fn finish(gathered: &mut Gathered, others: Vec<OsString>, env: &dyn Env) -> Result<Ask, Fault> {
    if !gathered.initialize {
        gathered.run.scripts.or_default()?;
        gathered.run.scripts.check(gathered.run.mode != QueryMode::Simple)?;
    }
    database(gathered, others, env)?;
    if gathered.initialize {
        return initialization(gathered).map(|settings| Ask::Initialize(Box::new(settings)));
    }
    if gathered.initialization {
        return Err(misplaced(gathered.own_initialization, "benchmarking mode"));
    }
    check_run(&gathered.run)?;
    run(gathered, env).map(|settings| Ask::Run(Box::new(settings)))
}

/// The database is the option, else the argument, else what the environment says; a second argument is wrong.
fn database(gathered: &mut Gathered, others: Vec<OsString>, env: &dyn Env) -> Result<(), Fault> {
    let mut others = others.into_iter().map(|other| other.to_string_lossy().into_owned());
    let database = &mut gathered.connection.database;
    if database.is_none() {
        let variable = |name| env.variable(name).filter(|value| !value.is_empty());
        let environment = || variable("PGDATABASE").or_else(|| variable("PGUSER"));
        *database = others.next().or_else(|| environment().map(|value| value.to_string_lossy().into_owned()));
    }
    match others.next() {
        Some(other) => {
            Err(Fault::error(format!("too many command-line arguments (first is \"{other}\")"))
                .and_see_help())
        }
        None => Ok(()),
    }
}

/// Options of the other mode; one of our own is named.
fn misplaced(own: Option<&str>, mode: &str) -> Fault {
    Fault::error(match own {
        Some(own) => format!("--{own} cannot be used in {mode}"),
        None => format!("some of the specified options cannot be used in {mode}"),
    })
}

fn initialization(gathered: &mut Gathered) -> Result<InitSettings, Fault> {
    if gathered.benchmark {
        return Err(misplaced(gathered.own_benchmark, "initialization (-i) mode"));
    }
    let init = &mut gathered.init;
    if init.partitions == 0 && init.partition_method.is_some() {
        return Err(Fault::error("--partition-method requires greater than zero --partitions"));
    }
    let mut steps = init.steps.take().unwrap_or_else(|| DEFAULT_STEPS.to_owned());
    steps.retain(|step| step != ' ' && !(gathered.no_vacuum && step == 'v'));
    if init.foreign_keys && !steps.contains('f') {
        steps.push('f');
    }
    // No step at all is what parse_steps refuses, but `-n -I v` leaves none.
    let steps = if steps.is_empty() { Vec::new() } else { parse_steps(&steps).map_err(Fault::error)? };
    Ok(InitSettings {
        connection: std::mem::take(&mut gathered.connection),
        debug: gathered.debug,
        steps,
        fillfactor: init.fillfactor,
        quiet: init.quiet,
        scale: gathered.scale.unwrap_or(1),
        tablespace: init.tablespace.take(),
        index_tablespace: init.index_tablespace.take(),
        unlogged: init.unlogged,
        partitions: init.partitions,
        partition_method: init.partition_method.unwrap_or_default(),
        jobs: init.jobs,
        batch: init.batch,
        resume: init.resume,
    })
}

/// Combinations that pgbench refuses.
fn check_run(run: &Run) -> Result<(), Fault> {
    let (seconds, aggregate) = (run.seconds, run.aggregate);
    let wrong = [
        (
            run.transactions > 0 && seconds > 0,
            "specify either a number of transactions (-t) or a duration (-T), not both",
        ),
        (
            run.sampling.is_some() && !run.log,
            "log sampling (--sampling-rate) is allowed only when logging transactions (-l)",
        ),
        (
            run.sampling.is_some() && aggregate > 0,
            "log sampling (--sampling-rate) and aggregation (--aggregate-interval) cannot be used at the same time",
        ),
        (aggregate > 0 && !run.log, "log aggregation is allowed only when actually logging transactions"),
        (
            run.log_prefix.is_some() && !run.log,
            "log file prefix (--log-prefix) is allowed only when logging transactions (-l)",
        ),
    ];
    if let Some((_, message)) = wrong.into_iter().find(|(wrong, _)| *wrong) {
        return Err(Fault::error(message));
    }
    if seconds > 0 && aggregate > seconds {
        return Err(Fault::error(format!(
            "number of seconds for aggregation ({aggregate}) must not be higher than test duration ({seconds})"
        )));
    }
    if seconds > 0 && aggregate > 0 && !seconds.is_multiple_of(aggregate) {
        return Err(Fault::error(format!(
            "duration ({seconds}) must be a multiple of aggregation interval ({aggregate})"
        )));
    }
    if run.progress_timestamp && run.progress == 0 {
        return Err(Fault::error("--progress-timestamp is allowed only under --progress"));
    }
    if run.max_tries == Some(0) && run.latency_limit_us == 0 && seconds == 0 {
        return Err(Fault::error(
            "an unlimited number of transaction tries can only be used with --latency-limit or a duration (-T)",
        ));
    }
    Ok(())
}

fn run(gathered: &mut Gathered, env: &dyn Env) -> Result<RunSettings, Fault> {
    let run = &mut gathered.run;
    let groups = groups(&run.groups, run.scripts.all())?;
    let clients = clients(run.clients, &groups, env)?;
    let read_scripts = read_scripts(run)?;
    let length = match (run.seconds, run.transactions) {
        (0, 0) => Length::Transactions(DEFAULT_TRANSACTIONS),
        (0, transactions) => Length::Transactions(transactions),
        (seconds, _) => Length::Seconds(seconds),
    };
    let log = run.log.then(|| LogAsked {
        prefix: run.log_prefix.take().unwrap_or_else(|| DEFAULT_LOG_PREFIX.to_owned()),
        aggregate: (run.aggregate > 0).then_some(run.aggregate),
        sampling: run.sampling,
    });
    let progress = ProgressAsked { seconds: run.progress, timestamp: run.progress_timestamp };
    Ok(RunSettings {
        connection: std::mem::take(&mut gathered.connection),
        debug: gathered.debug,
        scripts: run.scripts.take(),
        clients,
        threads: run.threads.unwrap_or(1).min(clients),
        length,
        scale: gathered.scale,
        mode: run.mode,
        define: std::mem::take(&mut run.define),
        reconnect: run.reconnect,
        reconnect_lost: run.reconnect_lost,
        allow_changed_settings: run.allow_changed_settings,
        vacuum: match (gathered.no_vacuum, run.vacuum_all) {
            (true, _) => Vacuum::Nothing,
            (false, true) => Vacuum::All,
            (false, false) => Vacuum::Small,
        },
        per_command: run.per_command,
        rate: run.rate,
        latency_limit_us: (run.latency_limit_us > 0).then_some(run.latency_limit_us),
        max_tries: run.max_tries.unwrap_or(1),
        failures_detailed: run.failures_detailed,
        verbose_errors: run.verbose_errors,
        exit_on_abort: run.exit_on_abort,
        continue_on_error: run.continue_on_error,
        progress: (run.progress > 0).then_some(progress),
        log,
        seed: gathered.seed,
        percentiles: std::mem::take(&mut run.percentiles),
        format: run.format,
        results: run.results.take(),
        warmup: run.warmup,
        startup: run.startup.take(),
        groups,
        hosts: run.hosts,
        driver: run.driver,
        read_scripts,
    })
}

/// The groups with their scripts looked up.
fn groups(asked: &[GroupAsked], scripts: &[ScriptAsked]) -> Result<Vec<Group>, Fault> {
    asked.iter().map(|group| group_of(group, scripts)).collect()
}

fn group_of(asked: &GroupAsked, scripts: &[ScriptAsked]) -> Result<Group, Fault> {
    let mut chosen: Vec<(usize, u32)> = Vec::new();
    for &(number, weight) in &asked.scripts {
        let script =
            scripts.get(number - 1).ok_or_else(|| no_such_script("--group", number, scripts.len()))?;
        if chosen.iter().any(|&(index, _)| index == number - 1) {
            return Err(Fault::error(format!("--group names script {number} twice")));
        }
        chosen.push((number - 1, weight.unwrap_or(script.weight)));
    }
    if chosen.iter().all(|&(_, weight)| weight == 0) {
        return Err(Fault::error("total script weight of a group (--group) must not be zero"));
    }
    Ok(Group { clients: asked.clients, scripts: chosen })
}

fn no_such_script(option: &str, number: usize, scripts: usize) -> Fault {
    let plural = if scripts == 1 { "script" } else { "scripts" };
    Fault::error(format!(
        "{option} names script {number}, but there {} {scripts} {plural}",
        if scripts == 1 { "is" } else { "are" }
    ))
    .and(Level::Hint, "Scripts are numbered from 1 in the order of -f, -b, -S and -N.")
}

/// How many clients there are: as `-c` says, else as the groups add up to.
fn clients(given: Option<u32>, groups: &[Group], env: &dyn Env) -> Result<u32, Fault> {
    if groups.is_empty() {
        return Ok(given.unwrap_or(1));
    }
    let sum: u64 = groups.iter().map(|group| u64::from(group.clients)).sum();
    if let Some(given) = given.filter(|&given| u64::from(given) != sum) {
        return Err(Fault::error(format!("groups (--group) have {sum} clients, but -c/--client is {given}")));
    }
    let clients = i32::try_from(sum).map(i32::cast_unsigned);
    let clients = clients.map_err(|_| Fault::error("groups (--group) have too many clients"))?;
    open_files(clients, env)?;
    Ok(clients)
}

/// The scripts that only read: as given, else the builtin ones known to.
fn read_scripts(run: &Run) -> Result<Vec<usize>, Fault> {
    if run.hosts != HostPolicy::ReadWrite {
        return match run.read_scripts.is_empty() {
            true => Ok(Vec::new()),
            false => Err(Fault::error("--read-script is allowed only with --hosts read-write")),
        };
    }
    let scripts = run.scripts.all();
    let only_reads = |script: &ScriptAsked| matches!(&script.origin, Origin::Builtin(builtin) if builtin.name == "select-only");
    let mut chosen: Vec<usize> = Vec::new();
    for &number in &run.read_scripts {
        if number > scripts.len() {
            return Err(no_such_script("--read-script", number, scripts.len()));
        }
        chosen.push(number - 1);
    }
    if chosen.is_empty() {
        chosen = (0..scripts.len()).filter(|&index| only_reads(&scripts[index])).collect();
    }
    if chosen.is_empty() {
        return Err(Fault::error("--hosts read-write needs to know which scripts only read")
            .and(Level::Hint, "Name them with --read-script; the builtin script select-only is known to."));
    }
    chosen.sort_unstable();
    chosen.dedup();
    Ok(chosen)
}
