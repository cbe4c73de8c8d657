//! `\sleep`.

use std::time::Duration;

use crate::error::EvalError;
use crate::number::leading_int;
use crate::symbols::Slot;
use crate::variables::Variables;

/// Unit of a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SleepUnit {
    Microseconds,
    Milliseconds,
    /// `s`, and the default.
    Seconds,
}

impl SleepUnit {
    /// Ignores case.
    pub(crate) fn parse(word: &[u8]) -> Option<Self> {
        [(&b"us"[..], Self::Microseconds), (b"ms", Self::Milliseconds), (b"s", Self::Seconds)]
            .into_iter()
            .find_map(|(name, unit)| word.eq_ignore_ascii_case(name).then_some(unit))
    }

    fn microseconds(self) -> i64 {
        match self {
            Self::Microseconds => 1,
            Self::Milliseconds => 1_000,
            Self::Seconds => 1_000_000,
        }
    }
}

/// The argument of `\sleep`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sleep {
    /// As written, for messages.
    pub(crate) command: String,
    pub(crate) amount: Amount,
    pub(crate) unit: SleepUnit,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Amount {
    Number(i64),
    Variable(Slot),
}

impl Sleep {
    /// The pause; 0 for a negative number. (pgbench counts in 32 bits and skips pauses over 35 minutes.)
    ///
    /// # Errors
    /// The variable is unset or does not start with a number.
    pub fn duration(&self, variables: &Variables) -> Result<Duration, EvalError> {
        let number = match self.amount {
            Amount::Number(number) => number,
            Amount::Variable(slot) => self.number_in(slot, variables)?,
        };
        let microseconds = number.saturating_mul(self.unit.microseconds());
        Ok(Duration::from_micros(microseconds.max(0).unsigned_abs()))
    }

    fn number_in(&self, slot: Slot, variables: &Variables) -> Result<i64, EvalError> {
        let name = || variables.symbols().display_name(slot);
        let mut text = Vec::new();
        if !variables.append_text(slot, &mut text) {
            return Err(EvalError::UndefinedArgument { command: self.command.clone(), name: name() });
        }
        let number = leading_int(&text);
        if number == 0 && !text.first().is_some_and(u8::is_ascii_digit) {
            return Err(EvalError::SleepTime {
                command: self.command.clone(),
                value: String::from_utf8_lossy(&text).into_owned(),
                name: name(),
            });
        }
        Ok(number)
    }
}
