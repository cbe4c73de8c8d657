//! `\shell` and `\setshell`: run by whoever was handed in for it, while the thread serves its other clients.

use std::sync::{Arc, Mutex, PoisonError};

use engine::{Io, Level, Step};
use script::{Action, Command, Shell, Target, Value, shell_result};

use super::run::Flow;
use super::{PgbenchClient, State};
use crate::pgbench::shell::{ShellCommand, ShellDone};

const FAILED: &str = "execution of meta-command failed";

/// Where the end of a client's shell command is put.
#[derive(Debug, Default)]
pub(super) struct Shells {
    done: Arc<Mutex<Option<ShellDone>>>,
}

impl Shells {
    fn take(&self) -> Option<ShellDone> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl PgbenchClient {
    /// Starts the command of `\shell` or `\setshell` (`name`).
    pub(super) fn start_shell(&mut self, shell: &Shell, name: &'static str, io: &mut Io<'_>) -> Flow {
        let mut text = Vec::new();
        if let Err(error) = shell.append_command(&self.variables, &mut text) {
            return self.meta_failed(name, &error, FAILED);
        }
        let Some(runner) = &self.program.manner.shell else {
            // Refused when the scripts were read.
            return Flow::Abort(Vec::new(), self.command_failed(name, FAILED));
        };
        let (slot, waker) = (Arc::clone(&self.shells.done), io.waker());
        runner.start(
            ShellCommand { text, capture: name == "setshell" },
            Box::new(move |done| {
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
                waker.wake();
            }),
        );
        self.state = State::Shell;
        Flow::Pause(Step::Wait)
    }

    /// Someone woke the client: its command ended, or it is an old call.
    pub(super) fn woken(&mut self, io: &mut Io<'_>) -> Step {
        if self.state != State::Shell {
            return Step::Wait;
        }
        let Some(done) = self.shells.take() else { return Step::Wait };
        let program = Arc::clone(&self.program);
        let command = &program.scripts.scripts()[self.running].commands[self.cursor.command()];
        let (name, ended) = match &command.action {
            Action::SetShell { target, shell } => {
                ("setshell", self.set_shell_ended(command, target, shell, &done, io))
            }
            Action::Shell(shell) => ("shell", self.shell_ended(shell, &done, io)),
            _ => return Step::Wait,
        };
        match ended {
            Ok(()) => {
                self.end_command(io);
                self.advance(io)
            }
            Err(causes) => {
                let message = self.command_failed(name, FAILED);
                self.give_up(causes, message, io)
            }
        }
    }

    fn shell_ended(&self, shell: &Shell, done: &ShellDone, io: &Io<'_>) -> Result<(), Vec<String>> {
        match done {
            ShellDone::Ended { success: true, .. } => Ok(()),
            // The end of the run may have killed it.
            _ if io.stopping => Err(Vec::new()),
            _ => Err(vec![format!("{}: could not launch shell command", shell.name(&self.variables))]),
        }
    }

    fn set_shell_ended(
        &mut self,
        command: &Command,
        target: &Target,
        shell: &Shell,
        done: &ShellDone,
        io: &mut Io<'_>,
    ) -> Result<(), Vec<String>> {
        let name = shell.name(&self.variables);
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
            .store(&mut self.variables, "setshell", Value::Int(i64::from(number)))
            .map_err(|error| vec![error.to_string()])?;
        if self.program.manner.debug {
            let parameter = command.words.get(3).map_or("(null)", String::as_str);
            let value = String::from_utf8_lossy(output);
            io.say(
                Level::Debug,
                format!("{name}: shell parameter name: \"{parameter}\", value: \"{value}\""),
            );
        }
        Ok(())
    }
}
