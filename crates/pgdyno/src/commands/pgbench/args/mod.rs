//! The drop-in's command line: exactly pgbench 18's, with pgbench 19's `--continue-on-error` and pgdyno's
//! additional options. No library parses it, because compatibility includes getopt's abbreviations, bundles
//! and messages, C's numbers, and the order in which pgbench finds errors.
//!
//! Each option has one line in [`options`], with its syntax and its effect. As in pgbench, options are
//! processed in order, and the first error ends parsing: scripts are read and checked at their `-f`;
//! combinations are checked after the last option.

mod connection;
mod described;
mod env;
mod fault;
mod help;
mod init;
mod load;
mod numbers;
mod options;
mod output;
mod own;
mod parsed;
mod scripts;
#[cfg(test)]
mod tests;
mod tokens;
mod values;

use std::ffi::OsString;

use script::Builtin;

pub(crate) use connection::ConnectionArgs;
pub(crate) use described::command as described;
pub(crate) use env::{Env, Process};
pub(crate) use fault::{ArgumentError, ArgumentMessage};
pub(crate) use help::{VERSION, help, version};
pub(crate) use init::InitSettings;
pub(crate) use load::{PgbenchLength, PgbenchLoadArgs};
pub(crate) use output::{LogFiles, PgbenchFormat, PgbenchOutput, ProgressLines};
pub(crate) use parsed::ServerPreparation;
pub(crate) use scripts::{Origin, ScriptArgument, ScriptText, Scripts};

use self::options::OptionSpec;
#[cfg(test)]
pub(crate) use self::options::names;
pub(crate) use self::options::{OptionMode, mode_of};
use self::parsed::Parsed;
use self::tokens::{ArgumentToken, Tokens};
use super::talk::LogLevel;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PgbenchCommand {
    /// `--help`: [`help()`], on standard output.
    Help,
    /// `--version`: [`version`], on standard output.
    Version,
    /// `-b list`: [`list_text`], on standard error.
    ListScripts,
    /// `--show-script`: [`show_text`], on standard error.
    ShowScript(&'static Builtin),
    /// `-i`
    Initialize(Box<InitSettings>),
    Run(Box<RunSettings>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunSettings {
    pub(crate) connection: ConnectionArgs,
    pub(crate) preparation: ServerPreparation,
    pub(crate) scripts: Scripts,
    pub(crate) workload: workloads::pgbench::PgbenchOptions,
    pub(crate) load: PgbenchLoadArgs,
    pub(crate) output: PgbenchOutput,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CommandLine {
    pub(crate) messages: Vec<ArgumentMessage>,
    pub(crate) debug: bool,
    pub(crate) command: PgbenchCommand,
}

/// Parses a command line without the program's name.
///
/// # Errors
/// pgbench's messages and exit code.
pub(crate) fn parse(
    arguments: impl IntoIterator<Item = OsString>,
    env: &dyn Env,
) -> Result<CommandLine, ArgumentError> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let only = |command| Ok(CommandLine { messages: Vec::new(), debug: false, command });
    match arguments.first().and_then(|first| first.to_str()) {
        Some("--help" | "-?") => return only(PgbenchCommand::Help),
        Some("--version" | "-V") => return only(PgbenchCommand::Version),
        _ => {}
    }
    let mut parsed = Parsed::default();
    let mut seen = Vec::new();
    let mut tokens = Tokens::new(arguments, env.variable("POSIXLY_CORRECT").is_some());
    let taken = take_all(&mut tokens, &mut parsed, &mut seen, env);
    let (messages, debug) = (std::mem::take(&mut parsed.messages), parsed.debug);
    let command = match taken {
        Ok(Some(command)) => Ok(command),
        Ok(None) => decide(parsed, &seen, tokens.others(), env),
        Err(fault) => Err(fault),
    };
    match command {
        Ok(command) => Ok(CommandLine { messages, debug, command }),
        Err(fault) => Err(fault.behind(messages)),
    }
}

/// Processes the options in order; returns a command that ends parsing, such as `--help`.
fn take_all(
    tokens: &mut Tokens,
    parsed: &mut Parsed,
    seen: &mut Vec<&'static OptionSpec>,
    env: &dyn Env,
) -> Result<Option<PgbenchCommand>, ArgumentError> {
    parsed.seed_from_environment(env)?;
    while let Some(token) = tokens.next() {
        match token {
            ArgumentToken::Option(spec, value) => {
                seen.push(spec);
                if let Some(command) = spec.take(parsed, &value, env)? {
                    return Ok(Some(command));
                }
            }
            ArgumentToken::Wrong(text) => {
                let complaint = (LogLevel::Plain, format!("{}: {text}", env.called()));
                return Err(ArgumentError::of(complaint).and_see_help());
            }
        }
    }
    Ok(None)
}

/// Checks combinations in pgbench's order; then builds the settings.
fn decide(
    mut parsed: Parsed,
    seen: &[&'static OptionSpec],
    others: Vec<OsString>,
    env: &dyn Env,
) -> Result<PgbenchCommand, ArgumentError> {
    if !parsed.initialize {
        parsed.scripts.complete(parsed.workload.mode)?;
    }
    parsed.connection.complete(others, env)?;
    if parsed.initialize {
        none_of(seen, OptionMode::Run, "initialization (-i) mode")?;
        let settings = parsed.init.decide(parsed.connection, parsed.preparation.no_vacuum)?;
        return Ok(PgbenchCommand::Initialize(Box::new(settings)));
    }
    none_of(seen, OptionMode::Init, "benchmarking mode")?;
    let Parsed { connection, preparation, scripts, mut workload, load, log, progress, mut output, .. } =
        parsed;
    let length = load.length()?;
    output.log = log.decide(length)?;
    output.progress = progress.decide()?;
    load.check_tries(workload.max_tries)?;
    let groups = scripts.groups()?;
    let load = load.decide(length, &groups, env)?;
    workload.vacuum = !preparation.no_vacuum;
    workload.latency_limit_ms = load.latency_limit_us.map(|us| us as f64 / 1e3);
    let scripts = scripts.decide(groups)?;
    let settings = RunSettings { connection, preparation, scripts, workload, load, output };
    Ok(PgbenchCommand::Run(Box::new(settings)))
}

/// Refuses options of the other mode; the message names pgdyno's own.
fn none_of(seen: &[&'static OptionSpec], mode: OptionMode, here: &str) -> Result<(), ArgumentError> {
    let misplaced = || seen.iter().filter(|spec| spec.mode == mode);
    if misplaced().next().is_none() {
        return Ok(());
    }
    Err(ArgumentError::error(match misplaced().find(|spec| spec.is_own()) {
        Some(own) => format!("--{} cannot be used in {here}", own.long),
        None => format!("some of the specified options cannot be used in {here}"),
    }))
}

pub(crate) fn list_text() -> String {
    format!("{}\n", Builtin::list())
}

pub(crate) fn show_text(builtin: &Builtin) -> String {
    format!("{builtin}\n")
}
