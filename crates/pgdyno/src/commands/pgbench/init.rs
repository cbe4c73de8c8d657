//! `-i`: the tables, with pgbench's messages on standard error.

use std::io::IsTerminal;

use workloads::pgbench::init::{EventPrinter, InitEvent, Remark, remarks};

use super::args::{ArgumentError, InitSettings};
use super::talk::{LogLevel, Talk, foreign};
use super::{connection, fault, left};
use crate::commands::signals;
use crate::print;

/// Ctrl-C: the shell's code for a program that died of SIGINT.
const INTERRUPTED: u8 = 130;

pub(super) fn initialize(settings: &InitSettings, talk: &Talk) -> Result<u8, ArgumentError> {
    let mut connector = connection::connector(&settings.connection, talk)?;
    let mut control = connector
        .connect(&mut connection::ask_password)
        .map_err(|words| fault([words, "could not create connection for initialization".to_owned()]))?;
    // Making tables does not measure, so changed settings are allowed.
    left::check(server::settings::left_behind(&mut control), true, talk)?;
    let stop = signals::listen_silently(INTERRUPTED)
        .map_err(|error| fault([format!("could not listen to signals: {error}")]))?;
    let mut voice = EventPrinter::new(std::io::stderr().is_terminal());
    let stopped = || stop.at_once();
    let mut listener = |event: &InitEvent| print::talk_as_is(&voice.say(&visible(event)));
    let InitSettings { tables, loading, .. } = settings;
    let done = lab::jobs::initialize(control, tables, loading, &stopped, &mut listener);
    match done {
        Ok(_) => Ok(0),
        Err(error) => {
            print::talk_as_is(&voice.wipe());
            Err(refusal(&error))
        }
    }
}

/// Escapes the server's text, so that it cannot control the terminal or pass for a line of ours.
fn visible(event: &InitEvent) -> InitEvent {
    match event.clone() {
        InitEvent::Notice(text) => InitEvent::Notice(foreign(text.trim_end_matches('\n'))),
        InitEvent::Reconnecting { reason, attempt, attempts, wait_us } => {
            let reason = ::report::visible::line(&reason).into_owned();
            InitEvent::Reconnecting { reason, attempt, attempts, wait_us }
        }
        other => other,
    }
}

fn refusal(error: &spec::Error) -> ArgumentError {
    let level = |remark| match remark {
        Remark::Error => LogLevel::Error,
        Remark::Detail => LogLevel::Detail,
        Remark::Hint => LogLevel::Hint,
    };
    let lines = remarks(error).into_iter().map(|(remark, text)| (level(remark), text)).collect();
    ArgumentError { lines, exit: if error.is_stopped() { INTERRUPTED } else { 1 } }
}
