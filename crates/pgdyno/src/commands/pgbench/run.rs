//! A run: connect, look at the tables, vacuum, put the load on, report.

use std::sync::Arc;

use ::report::pgbench as report;
use engine::{EngineError, Time, Until};
use lab::dropin::{Recorder, ShellRunner};
use lab::measure::{Keep, Measured, NotStarted, measure};
use lab::setup::{Counting, Load, Server, Setup};
use target::control::Connector;
use target::settings::{left_behind, left_behind_at};
use workloads::pgbench::{Group, HostPolicy, Manner, Options, Pgbench, ScriptSource, Vacuuming, vacuum};
use workloads::{ClientWorkload, Places};

use super::args::{
    self, Fault, Format, Length, LogAsked, Origin, RunSettings, ScriptAsked, ScriptText, Vacuum,
};
use super::log::Log;
use super::progress::Ticker;
use super::talk::{Level, Talk};
use super::watch::Watch;
use super::{connection, fault, left, password, summary};
use crate::commands::signals;
use crate::print;

/// Some client gave up.
const ABORTED: u8 = 2;
/// Ctrl-C: as a shell tells it of a program that died of SIGINT.
const INTERRUPTED: u8 = 130;

/// Carries a run out; gives its exit code.
///
/// # Errors
/// When it did not start.
pub(super) fn run(settings: &RunSettings, talk: &Talk) -> Result<u8, Fault> {
    let options = workload_options(settings);
    let mut workload = Pgbench::with_manner(&options, &sources(settings), manner(settings))
        .map_err(|error| fault([error.to_string()]))?;
    let mut connector = connection::connector(&settings.connection, talk)?;
    let prepared = prepare(settings, talk, &mut connector, &mut workload)?;
    let setup = setup(settings, &workload);
    let stop = signals::listen_silently(INTERRUPTED)
        .map_err(|error| fault([format!("could not listen to signals: {error}")]))?;
    let mut recorder = open_recorder(settings, &connector)?;
    let to_end = engine::Stop::from(stop.flag());
    let mut watch = Watch {
        talk,
        log: open_log(settings, &workload, &setup)?,
        ticker: settings.progress.map(|asked| {
            Ticker::new(
                asked,
                settings.rate.is_some(),
                settings.latency_limit_us.is_some(),
                settings.max_tries != 1,
            )
        }),
        exit_on_abort: settings.exit_on_abort,
        stop: &to_end,
        aborted: None,
    };
    let (keep, mut collectors) = match &mut recorder {
        None => (Keep::Nothing, Vec::new()),
        Some(recorder) => recorder.watch().map_err(|error| lab_fault(&error))?,
    };
    let measured = measure(&workload, &prepared.places, &setup, keep, &mut watch, &mut collectors, &stop);
    drop(collectors);
    let measured = measured.map_err(not_started)?;
    let ran = Ran { options: &options, workload: &workload, setup: &setup, prepared: &prepared, recorder };
    conclude(settings, talk, ran, watch, measured)
}

/// What is known before the load.
struct Prepared {
    places: Places,
    server_version: String,
}

fn prepare(
    settings: &RunSettings,
    talk: &Talk,
    connector: &mut Connector,
    workload: &mut Pgbench,
) -> Result<Prepared, Fault> {
    let mut control = connector
        .connect(&mut password::ask)
        .map_err(|words| fault([words, "could not create connection for setup".to_owned()]))?;
    left::check(&left_behind(&mut control), settings.allow_changed_settings, talk)?;
    let server_version = control.reported("server_version").unwrap_or("unknown").to_owned();
    if settings.format == Format::Text {
        print_data(&report::banner(args::VERSION, &server_version))?;
    }
    talk.say(Level::Debug, &describe(settings, connector));
    let database = connector.config().dbname.clone();
    let tables = workload.count_tables(&mut control, &database).map_err(|error| {
        let mut fault = fault([error.message]);
        fault.lines.extend(error.hint.map(|hint| (Level::Hint, hint)));
        fault
    })?;
    if let (Some(tables), Some(_)) = (tables, settings.scale) {
        let count = tables.scale;
        let text = format!("scale option ignored, using count from pgbench_branches table ({count})");
        talk.say(Level::Warning, &text);
    }
    if settings.vacuum != Vacuum::Nothing {
        vacuum(&mut control, settings.vacuum == Vacuum::All, &mut |told| say_vacuuming(talk, &told));
    }
    control.take_notices().iter().for_each(|notice| talk.say(Level::Plain, notice));
    let mut places = Places { postgres: Some(control.place().clone()), ..Places::default() };
    if settings.reconnect_lost {
        places.postgres_again = connector.places_from(control.place());
        places.session = connector.config().target_session_attrs;
    }
    drop(control);
    if settings.hosts != args::HostPolicy::First {
        places.postgres_all = connector.servers(&mut password::ask).map_err(|words| fault([words]))?;
        for server in &places.postgres_all {
            left::check(&left_behind_at(&server.place), settings.allow_changed_settings, talk)?;
        }
    }
    Ok(Prepared { places, server_version })
}

fn say_vacuuming(talk: &Talk, told: &Vacuuming<'_>) {
    match told {
        Vacuuming::Begins(text) => print::talk_as_is(text),
        Vacuuming::Failed(error) => {
            talk.say(Level::Error, &error.text);
            talk.say(Level::Detail, Vacuuming::DETAIL);
        }
        Vacuuming::Ends => print::talk_as_is("end.\n"),
    }
}

fn describe(settings: &RunSettings, connector: &Connector) -> String {
    let config = connector.config();
    let (host, port) = connection::first_host(config);
    let (what, how_many) = match settings.length {
        Length::Transactions(count) => ("nxacts", count),
        Length::Seconds(seconds) => ("duration", seconds),
    };
    let (clients, database) = (settings.clients, &config.dbname);
    format!("pghost: {host} pgport: {port} nclients: {clients} {what}: {how_many} dbName: {database}")
}

fn workload_options(settings: &RunSettings) -> Options {
    Options {
        mode: settings.mode,
        define: settings.define.iter().cloned().collect(),
        scale: settings.scale,
        max_tries: settings.max_tries,
        reconnect: settings.reconnect,
        reconnect_lost: settings.reconnect_lost,
        continue_on_error: settings.continue_on_error,
        vacuum: settings.vacuum != Vacuum::Nothing,
        latency_limit_ms: settings.latency_limit_us.map(|us| us as f64 / 1e3),
        ..Options::default()
    }
}

fn sources(settings: &RunSettings) -> Vec<ScriptSource> {
    settings.scripts.iter().map(source).collect()
}

fn source(script: &ScriptAsked) -> ScriptSource {
    match &script.origin {
        Origin::Builtin(builtin) => ScriptSource::Builtin(format!("{}@{}", builtin.name, script.weight)),
        Origin::File(file) => text_source(file, script.weight),
    }
}

fn text_source(file: &ScriptText, weight: u32) -> ScriptSource {
    ScriptSource::Text { name: file.name.clone(), text: file.text.clone(), weight }
}

fn manner(settings: &RunSettings) -> Manner {
    let group =
        |group: &args::Group| Group { clients: group.clients as usize, scripts: group.scripts.clone() };
    Manner {
        verbose_errors: settings.verbose_errors,
        debug: settings.debug,
        shell: Some(Arc::new(ShellRunner)),
        startup: settings.startup.as_ref().map(|file| text_source(file, 1)),
        groups: settings.groups.iter().map(group).collect(),
        hosts: match settings.hosts {
            args::HostPolicy::First => HostPolicy::First,
            args::HostPolicy::RoundRobin => HostPolicy::RoundRobin,
            args::HostPolicy::Random => HostPolicy::Random,
            args::HostPolicy::ReadWrite => HostPolicy::ReadWrite { reads: settings.read_scripts.clone() },
        },
    }
}

fn setup(settings: &RunSettings, workload: &Pgbench) -> Setup {
    let names: Vec<_> = workload.scripts().into_iter().map(|script| script.name).collect();
    let clients = settings.clients;
    Setup {
        server: Server::Target,
        arm: None,
        workload: names.join(", "),
        load: settings.rate.map_or(Load::Closed, Load::Rate),
        clients,
        threads: settings.threads.clamp(1, clients.max(1)),
        promise: settings.latency_limit_us.map(std::time::Duration::from_micros),
        warmup: settings.warmup,
        until: match settings.length {
            Length::Transactions(count) => Until::PerClient(count.into()),
            Length::Seconds(seconds) => Until::Elapsed(Time::from(seconds) * 1_000_000_000),
        },
        statements: settings.per_command,
        transactions: settings.log.is_some(),
        driver: settings.driver,
        seed: settings.seed,
        counting: Counting::PGBENCH,
    }
}

fn open_log(settings: &RunSettings, workload: &Pgbench, setup: &Setup) -> Result<Option<Log>, Fault> {
    let Some(asked) = &settings.log else { return Ok(None) };
    let asked: &LogAsked = asked;
    let format = report::LogFormat {
        lag: settings.rate.is_some(),
        limit: settings.latency_limit_us.is_some(),
        retries: settings.max_tries != 1,
        detailed: settings.failures_detailed,
        other: settings.continue_on_error || settings.reconnect_lost,
    };
    let samples = workload.log_sampling(setup.clients());
    Log::create(asked, format, setup.clients as usize, samples).map(Some).map_err(|problem| fault([problem]))
}

fn open_recorder(settings: &RunSettings, connector: &Connector) -> Result<Option<Recorder>, Fault> {
    let Some(path) = &settings.results else { return Ok(None) };
    Recorder::open(path, &connector.dsn()).map(Some).map_err(|error| lab_fault(&error))
}

fn not_started(reason: NotStarted) -> Fault {
    match reason {
        // A client that was connected says itself what it could not do.
        NotStarted::Engine(EngineError::Setup { message, .. })
            if message.contains(" aborted in startup script ") =>
        {
            fault([message])
        }
        NotStarted::Engine(EngineError::Setup { client, message }) => {
            fault([message, format!("could not create connection for client {client}")])
        }
        other => lab_fault(&other.into()),
    }
}

fn lab_fault(error: &lab::LabError) -> Fault {
    let mut fault = fault([error.to_string()]);
    fault.lines.extend(error.hint().map(|hint| (Level::Hint, hint)));
    fault
}

/// What a run was made of.
struct Ran<'a> {
    options: &'a Options,
    workload: &'a Pgbench,
    setup: &'a Setup,
    prepared: &'a Prepared,
    recorder: Option<Recorder>,
}

fn conclude(
    settings: &RunSettings,
    talk: &Talk,
    ran: Ran<'_>,
    watch: Watch<'_>,
    recorded: Measured,
) -> Result<u8, Fault> {
    let measured = &recorded.engine;
    let Watch { log, aborted, .. } = watch;
    if let Some(note) = &measured.driver_note {
        talk.say(Level::Debug, note);
    }
    let log_problem = log.map_or(Ok(()), Log::finish).err();
    if let (true, Some(client)) = (settings.exit_on_abort, aborted) {
        let thread = thread_of(client, ran.setup.clients as usize, ran.setup.threads as usize);
        talk.say(Level::Error, &format!("Run was aborted due to an error in thread {thread}"));
        return Ok(ABORTED);
    }
    let facts = summary::report(settings, ran.workload, &ran.prepared.server_version, measured);
    print_data(&match settings.format {
        Format::Text => report::text(&facts),
        Format::Json => report::json(&facts),
        Format::Lines => report::lines(&facts),
    })?;
    let interrupted = measured.interrupted && aborted.is_none();
    let mut code = 0;
    if aborted.is_some() {
        talk.say(Level::Error, "Run was aborted; the above results are incomplete.");
        code = ABORTED;
    }
    if interrupted {
        talk.say(Level::Info, "stopped before its end; the report is of what was done until then");
        code = INTERRUPTED;
    }
    if let Some(recorder) = ran.recorder {
        let stored = recorder.store(ran.workload, ran.options, ran.setup, recorded);
        let (_, doubts) = stored.map_err(|error| lab_fault(&error))?;
        for doubt in doubts {
            talk.say(Level::Warning, &format!("{}: {}", doubt.reason.text(), doubt.detail));
        }
    }
    match log_problem {
        Some(problem) => Err(fault([problem])),
        None => Ok(code),
    }
}

/// Clients are dealt to threads in order, the larger shares first.
fn thread_of(client: usize, clients: usize, threads: usize) -> usize {
    let (each, larger) = (clients / threads, clients % threads);
    let of_larger = larger * (each + 1);
    if client < of_larger { client / (each + 1) } else { larger + (client - of_larger) / each.max(1) }
}

fn print_data(text: &str) -> Result<(), Fault> {
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
