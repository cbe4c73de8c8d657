//! `\shell` and `\setshell`: run on another thread, while this one serves its other clients.

use std::sync::{Arc, Mutex, PoisonError};

use engine::{Io, MessageLevel};
use script::{AssignmentTarget, ScriptCommand, Shell, Value, Variables, shell_result};

use crate::pgbench::{self, ShellCommand, ShellDone};

/// pgbench's message for a command that could not be run.
pub(super) const FAILED: &str = "execution of meta-command failed";

/// Receives the end of a client's shell command.
#[derive(Debug, Default)]
pub(super) struct Shells {
    done: Arc<Mutex<Option<ShellDone>>>,
}

impl Shells {
    /// Starts a command; its end wakes the client.
    pub(super) fn start(&self, runner: &dyn pgbench::Shell, command: ShellCommand, io: &Io<'_>) {
        let (slot, waker) = (Arc::clone(&self.done), io.waker());
        runner.start(
            command,
            Box::new(move |done| {
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
                waker.wake();
            }),
        );
    }

    /// The end of the command, once.
    pub(super) fn take(&self) -> Option<ShellDone> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// `\shell` ended; otherwise the causes of its failure.
pub(super) fn ended(
    shell: &Shell,
    done: &ShellDone,
    variables: &Variables,
    stopping: bool,
) -> Result<(), Vec<String>> {
    match done {
        ShellDone::Ended { success: true, .. } => Ok(()),
        // The end of the run may have killed it.
        _ if stopping => Err(Vec::new()),
        _ => Err(vec![format!("{}: could not launch shell command", shell.name(variables))]),
    }
}

/// `\setshell` ended: its variable is set; otherwise the causes of its failure.
pub(super) fn set(
    (command, target, shell): (&ScriptCommand, &AssignmentTarget, &Shell),
    done: &ShellDone,
    variables: &mut Variables,
    debug: bool,
    io: &mut Io<'_>,
) -> Result<(), Vec<String>> {
    let name = shell.name(variables);
    let output = match done {
        ShellDone::NotStarted => return Err(vec![format!("{name}: could not launch shell command")]),
        ShellDone::Ended { output, .. } if output.is_empty() => {
            return Err(match io.stopping {
                true => Vec::new(),
                false => vec![format!("{name}: could not read result of shell command")],
            });
        }
        ShellDone::Ended { output, .. } => output,
    };
    let number = shell_result(&name, output).map_err(|error| vec![error.to_string()])?;
    target
        .store(variables, "setshell", Value::Int(i64::from(number)))
        .map_err(|error| vec![error.to_string()])?;
    if debug {
        let parameter = command.words.get(3).map_or("(null)", String::as_str);
        let value = String::from_utf8_lossy(output);
        io.say(
            MessageLevel::Debug,
            format!("{name}: shell parameter name: \"{parameter}\", value: \"{value}\""),
        );
    }
    Ok(())
}
