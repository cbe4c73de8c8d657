//! A run: connect, check the tables, vacuum, apply the load, report.
use std::sync::Arc;

use ::report::pgbench as report;
use engine::{NotConnected, Time, Until};
use lab::dropin::{Recorder, ShellRunner};
use lab::measure::{Keep, Measured, Measurement, measure};
use lab::setup::{self, At, ConnectionPath, Counting, Server, Setup};
use server::control::Connector;
use server::settings::{left_behind, left_behind_at};
use spec::Error;
use workloads::pgbench::{DropInOptions, HostPolicy, Pgbench, ScriptSource, Vacuuming, vacuum};
use workloads::{Places, PostgresPlace, Workload};

use super::args::{
    self, ArgumentError, Origin, PgbenchFormat, PgbenchLength, PgbenchLoadArgs, RunSettings, ScriptArgument,
    ScriptText,
};
use super::log::Log;
use super::progress::Ticker;
use super::talk::{LogLevel, Talk};
use super::watch::PgbenchWatch;
use super::{connection, fault, left, summary};
use crate::commands::signals;
use crate::commands::typed;
use crate::print;

const ABORTED: u8 = 2;
/// Ctrl-C: the shell's code for a program that died of SIGINT.
const INTERRUPTED: u8 = 130;

/// Runs the load; returns the exit code. An error if the run did not start.
pub(super) fn run(settings: &RunSettings, talk: &Talk) -> Result<u8, ArgumentError> {
    let sources: Vec<ScriptSource> = settings.scripts.all.iter().map(source).collect();
    let mut workload = Pgbench::with_drop_in_options(&settings.workload, &sources, manner(settings, talk))
        .map_err(|error| fault([error.to_string()]))?;
    if let Some(why) = workload.hidden_variable() {
        talk.say(LogLevel::Warning, &why);
    }
    let mut connector = connection::connector(&settings.connection, talk)?;
    let prepared = prepare(settings, talk, &mut connector, &mut workload)?;
    let setup = setup(settings, &workload);
    let stop = signals::listen_silently(INTERRUPTED)
        .map_err(|error| fault([format!("could not listen to signals: {error}")]))?;
    let mut recorder = open_recorder(settings, &connector)?;
    let to_end = engine::StopFlag::from(stop.flag());
    let mut watch = PgbenchWatch {
        talk,
        log: open_log(settings, &workload, &setup)?,
        ticker: settings.output.progress.map(|lines| {
            let PgbenchLoadArgs { rate, latency_limit_us, .. } = settings.load;
            Ticker::new(lines, rate.is_some(), latency_limit_us.is_some(), settings.workload.max_tries != 1)
        }),
        exit_on_abort: settings.load.exit_on_abort,
        stop: &to_end,
        aborted: None,
    };
    let (keep, mut collectors) = match &mut recorder {
        None => (Keep::Nothing, Vec::new()),
        Some(recorder) => recorder.watch().map_err(|error| lab_fault(&error))?,
    };
    let load = Measurement {
        workload: &workload,
        places: &prepared.places,
        setup: &setup,
        keep,
        observer: &mut watch,
        collectors: &mut collectors,
    };
    let measured = measure(load, &stop);
    drop(collectors);
    let measured = measured.map_err(not_started)?;
    let ran = Ran { workload: &workload, setup: &setup, prepared: &prepared, recorder };
    conclude(settings, talk, ran, watch, measured)
}

struct PreparedRun {
    places: Places,
    server_version: String,
}

fn prepare(
    settings: &RunSettings,
    talk: &Talk,
    connector: &mut Connector,
    workload: &mut Pgbench,
) -> Result<PreparedRun, ArgumentError> {
    let mut control = connector
        .connect(&mut connection::ask_password)
        .map_err(|words| fault([words, "could not create connection for setup".to_owned()]))?;
    left::check(left_behind(&mut control), settings.preparation.allow_changed_settings, talk)?;
    let server_version = control.reported("server_version").unwrap_or("unknown").to_owned();
    if settings.output.format == PgbenchFormat::Text {
        print_data(&report::banner(args::VERSION, &server_version))?;
    }
    talk.say(LogLevel::Debug, &describe(settings, connector));
    let database = connector.config().dbname.clone();
    let tables = workload.count_tables(&mut control, &database).map_err(|error| {
        let mut fault = fault([error.message]);
        fault.lines.extend(error.hint.map(|hint| (LogLevel::Hint, hint)));
        fault
    })?;
    if let (Some(tables), Some(_)) = (tables, settings.workload.scale) {
        let count = tables.scale;
        let text = format!("scale option ignored, using count from pgbench_branches table ({count})");
        talk.say(LogLevel::Warning, &text);
    }
    if !settings.preparation.no_vacuum {
        let accounts = settings.preparation.vacuum_accounts;
        vacuum(&mut control, accounts, &mut |event| say_vacuuming(talk, &event));
    }
    control.take_notices().iter().for_each(|notice| talk.say(LogLevel::Foreign, notice));
    let mut place = PostgresPlace::from(control.place().clone());
    if settings.workload.reconnect_lost {
        place.again = connector.places_from(control.place());
        place.wanted = connector.config().target_session_attrs;
    }
    drop(control);
    if settings.scripts.hosts != HostPolicy::First {
        place.all = connector.servers(&mut connection::ask_password).map_err(|words| fault([words]))?;
        for server in &place.all {
            left::check(left_behind_at(&server.place), settings.preparation.allow_changed_settings, talk)?;
        }
    }
    Ok(PreparedRun { places: place.into(), server_version })
}

fn say_vacuuming(talk: &Talk, event: &Vacuuming<'_>) {
    match event {
        Vacuuming::Begins(text) => print::talk_as_is(text),
        Vacuuming::Failed(error) => {
            talk.say(LogLevel::Error, &error.text);
            talk.say(LogLevel::Detail, Vacuuming::DETAIL);
        }
        Vacuuming::Ends => print::talk_as_is("end.\n"),
    }
}

fn describe(settings: &RunSettings, connector: &Connector) -> String {
    let config = connector.config();
    let (host, port) = connection::first_host(config);
    let (what, how_many) = match settings.load.length {
        PgbenchLength::Transactions(count) => ("nxacts", count),
        PgbenchLength::Seconds(seconds) => ("duration", seconds),
    };
    let (clients, database) = (settings.load.clients, &config.dbname);
    format!("pghost: {host} pgport: {port} nclients: {clients} {what}: {how_many} dbName: {database}")
}

fn source(script: &ScriptArgument) -> ScriptSource {
    match &script.origin {
        Origin::Builtin(builtin) => ScriptSource::Builtin(format!("{}@{}", builtin.name, script.weight)),
        Origin::File(file) => text_source(file, script.weight),
    }
}

fn text_source(file: &ScriptText, weight: u32) -> ScriptSource {
    ScriptSource::Text { name: file.name.clone(), text: file.text.clone(), weight }
}

fn manner(settings: &RunSettings, talk: &Talk) -> DropInOptions {
    let scripts = &settings.scripts;
    DropInOptions {
        verbose_errors: settings.output.verbose_errors,
        debug: talk.says_debug(),
        shell: Some(Arc::new(ShellRunner)),
        startup: scripts.startup.as_ref().map(|file| text_source(file, 1)),
        groups: scripts.groups.clone(),
        hosts: scripts.hosts.clone(),
    }
}

fn setup(settings: &RunSettings, workload: &Pgbench) -> Setup {
    let names: Vec<_> = workload.scripts().into_iter().map(|script| script.name).collect();
    let load = &settings.load;
    Setup {
        server: Server::Target(At::default()),
        connection: ConnectionPath::Direct,
        topology: spec::plan::topology::Topology::default(),
        changes: None,
        cache: setup::Cache::AsLeft,
        arm: None,
        workload: names.join(", "),
        options: std::collections::BTreeMap::new(),
        load: load.rate.map_or(setup::Load::Closed, |rate| setup::Load::Rate(rate.into())),
        clients: load.clients,
        threads: load.threads.clamp(1, load.clients.max(1)),
        promise: load.latency_limit_us.map(std::time::Duration::from_micros),
        sought: None,
        part: engine::LoadPart::WHOLE,
        warmup: load.warmup,
        until: match load.length {
            PgbenchLength::Transactions(count) => Until::PerClient(count.into()),
            PgbenchLength::Seconds(seconds) => Until::Elapsed(Time::from(seconds) * 1_000_000_000),
        },
        statements: settings.output.per_command,
        transactions: settings.output.log.is_some(),
        driver: load.driver,
        placement: spec::plan::Placement {
            alone: load.cpus.is_some(),
            clients: load.cpus.clone(),
            ..spec::plan::Placement::default()
        },
        seed: load.seed,
        waiting: spec::plan::Waiting::Auto,
        counting: Counting::PGBENCH,
    }
}

fn open_log(settings: &RunSettings, workload: &Pgbench, setup: &Setup) -> Result<Option<Log>, ArgumentError> {
    let Some(files) = &settings.output.log else { return Ok(None) };
    let format = report::LogFormat {
        lag: settings.load.rate.is_some(),
        limit: settings.load.latency_limit_us.is_some(),
        retries: settings.workload.max_tries != 1,
        detailed: settings.output.failures_detailed,
        other: settings.workload.continue_on_error || settings.workload.reconnect_lost,
    };
    let samples = workload.log_sampling(setup.clients());
    Log::create(files, format, setup.clients as usize, samples).map(Some).map_err(|problem| fault([problem]))
}

fn open_recorder(settings: &RunSettings, connector: &Connector) -> Result<Option<Recorder>, ArgumentError> {
    let Some(path) = &settings.output.results else { return Ok(None) };
    Recorder::open(path, &connector.dsn(), typed::command()).map(Some).map_err(|error| lab_fault(&error))
}

fn not_started(error: spec::Error) -> ArgumentError {
    match error.attached() {
        // A connected client reports its own error.
        Some(NotConnected::Refused(abort)) if abort.statement.is_some() => fault([abort.to_string()]),
        Some(NotConnected::Refused(abort)) => {
            fault([abort.to_string(), format!("could not create connection for client {}", abort.client)])
        }
        _ => lab_fault(&error),
    }
}

fn lab_fault(error: &Error) -> ArgumentError {
    let mut fault = fault([error.to_string()]);
    fault.lines.extend(error.hint().map(|hint| (LogLevel::Hint, hint.to_owned())));
    fault
}

struct Ran<'a> {
    workload: &'a Pgbench,
    setup: &'a Setup,
    prepared: &'a PreparedRun,
    recorder: Option<Recorder>,
}

fn conclude(
    settings: &RunSettings,
    talk: &Talk,
    ran: Ran<'_>,
    watch: PgbenchWatch<'_>,
    recorded: Measured,
) -> Result<u8, ArgumentError> {
    let measured = &recorded.engine;
    let PgbenchWatch { log, aborted, .. } = watch;
    if let Some(note) = &measured.driver_note {
        talk.say(LogLevel::Debug, note);
    }
    let log_problem = log.map_or(Ok(()), Log::finish).err();
    if let (true, Some(client)) = (settings.load.exit_on_abort, aborted) {
        let thread = thread_of(client, ran.setup.clients as usize, ran.setup.threads as usize);
        talk.say(LogLevel::Error, &format!("Run was aborted due to an error in thread {thread}"));
        return Ok(ABORTED);
    }
    let facts = summary::report(settings, ran.workload, &ran.prepared.server_version, measured);
    print_data(&match settings.output.format {
        PgbenchFormat::Text => report::text(&facts),
        PgbenchFormat::Json => report::json(&facts),
        PgbenchFormat::Lines => report::lines(&facts),
    })?;
    let interrupted = measured.interrupted && aborted.is_none();
    let mut code = 0;
    if aborted.is_some() {
        talk.say(LogLevel::Error, "Run was aborted; the above results are incomplete.");
        code = ABORTED;
    }
    if interrupted {
        talk.say(LogLevel::Info, "stopped before its end; the report is of what was done until then");
        code = INTERRUPTED;
    }
    if let Some(recorder) = ran.recorder {
        let stored = recorder.store(ran.workload, &settings.workload, ran.setup, recorded);
        let (_, doubts) = stored.map_err(|error| lab_fault(&error))?;
        for doubt in doubts {
            talk.say(LogLevel::Warning, &doubt.to_string());
        }
    }
    match log_problem {
        Some(problem) => Err(fault([problem])),
        None => Ok(code),
    }
}

/// Assigns clients to threads in order; the larger shares come first.
fn thread_of(client: usize, clients: usize, threads: usize) -> usize {
    let (each, larger) = (clients / threads, clients % threads);
    let of_larger = larger * (each + 1);
    if client < of_larger { client / (each + 1) } else { larger + (client - of_larger) / each.max(1) }
}

fn print_data(text: &str) -> Result<(), ArgumentError> {
    print::data(text).map_err(|error| fault([format!("could not write to standard output: {error}")]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_told_by_their_clients() {
        let all = |clients, threads| {
            (0..clients).map(|client| thread_of(client, clients, threads)).collect::<Vec<_>>()
        };
        assert_eq!(all(5, 2), [0, 0, 0, 1, 1]);
        assert_eq!(all(7, 3), [0, 0, 0, 1, 1, 2, 2]);
        assert_eq!(all(2, 2), [0, 1]);
    }
}
