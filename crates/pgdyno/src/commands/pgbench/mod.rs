//! `pgdyno pgbench …`, or the program called by a link named `pgbench`: the drop-in.
//!
//! Arguments, messages on both streams, files and exit codes are pgbench's (`docs/reference/pgbench.md`);
//! [`lab::measure`] does the run.

mod args;
mod connection;
mod init;
mod left;
mod log;
mod progress;
mod run;
mod summary;
mod talk;
mod watch;

#[cfg(test)]
pub(super) use self::args::names;
pub(super) use self::args::{OptionMode, ProgressLines, described, mode_of};
pub(super) use self::progress::Ticker;
pub(super) use self::summary::losses;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use self::args::{ArgumentError, CommandLine, PgbenchCommand, Process};
use self::talk::{LogLevel, NAME, Talk};
use crate::print;

/// The drop-in's arguments if the drop-in was called, with the name it was called by.
pub(crate) fn arguments(all: &[OsString]) -> Option<(String, &[OsString])> {
    let (program, rest) = all.split_first()?;
    let called = program.to_string_lossy().into_owned();
    if Path::new(program).file_name() == Some(OsStr::new(NAME)) {
        return Some((called, rest));
    }
    match rest.split_first() {
        Some((command, rest)) if command == NAME => Some((format!("{called} {NAME}"), rest)),
        _ => None,
    }
}

pub(crate) fn main(called: String, arguments: &[OsString]) -> u8 {
    // Without a value `-h` can only mean help; pgbench uses it for the host.
    if arguments == ["-h"] {
        return show(args::help()).unwrap_or(1);
    }
    let line = args::parse(arguments.iter().cloned(), &Process { called });
    line.and_then(|line| carry_out(&line)).unwrap_or_else(|fault| {
        let talk = Talk::from_environment(false);
        fault.lines.iter().for_each(|(level, text)| talk.say(*level, text));
        fault.exit
    })
}

fn carry_out(line: &CommandLine) -> Result<u8, ArgumentError> {
    let talk = Talk::from_environment(line.debug);
    line.messages.iter().for_each(|(level, text)| talk.say(*level, text));
    match &line.command {
        PgbenchCommand::Help => show(args::help()),
        PgbenchCommand::Version => show(&args::version()),
        PgbenchCommand::ListScripts => {
            print::talk_as_is(&args::list_text());
            Ok(0)
        }
        PgbenchCommand::ShowScript(builtin) => {
            print::talk_as_is(&args::show_text(builtin));
            Ok(0)
        }
        PgbenchCommand::Initialize(settings) => init::initialize(settings, &talk),
        PgbenchCommand::Run(settings) => run::run(settings, &talk),
    }
}

fn show(text: &str) -> Result<u8, ArgumentError> {
    print::data(text).map_err(|error| fault([format!("could not write to standard output: {error}")]))?;
    Ok(0)
}

/// An error with pgbench's exit code.
fn fault(lines: impl IntoIterator<Item = String>) -> ArgumentError {
    ArgumentError { lines: lines.into_iter().map(|line| (LogLevel::Error, line)).collect(), exit: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drop_in_is_called_by_its_name_or_as_a_command() {
        let of = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(Into::into).collect();
            arguments(&words).map(|(called, rest)| (called, rest.len()))
        };
        assert_eq!(of(&["/opt/bin/pgbench", "-c", "4"]), Some(("/opt/bin/pgbench".to_owned(), 2)));
        assert_eq!(of(&["pgdyno", "pgbench", "-i"]), Some(("pgdyno pgbench".to_owned(), 1)));
        assert_eq!(of(&["pgdyno", "bench", "pgbench"]), None);
        assert_eq!(of(&["pgbench-18"]), None);
        assert_eq!(of(&[]), None);
    }
}
