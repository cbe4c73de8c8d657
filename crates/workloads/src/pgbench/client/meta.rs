//! Backslash commands that are done at once or after a pause.

use engine::{Io, Step};
use script::{Command, Expression, Sleep, Target};

use super::run::{Flow, name};
use super::{PgbenchClient, State};

impl PgbenchClient {
    pub(super) fn set(
        &mut self,
        command: &Command,
        target: &Target,
        expression: &Expression,
        io: &mut Io<'_>,
    ) -> Flow {
        let value = match self.evaluate(expression, io) {
            Ok(value) => value,
            Err(error) => {
                return self.meta_failed(name(command), &error, "evaluation of meta-command failed");
            }
        };
        match target.store(&mut self.variables, name(command), value) {
            Ok(()) => Flow::Next(true),
            Err(error) => self.meta_failed("set", &error, "assignment of meta-command failed"),
        }
    }

    pub(super) fn sleep(&mut self, sleep: &Sleep, io: &mut Io<'_>) -> Flow {
        match sleep.duration(&self.variables) {
            Ok(pause) => {
                self.state = State::Sleeping;
                let pause = u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX);
                Flow::Pause(Step::Until(io.now.saturating_add(pause)))
            }
            Err(error) => self.meta_failed("sleep", &error, "execution of meta-command failed"),
        }
    }
}
