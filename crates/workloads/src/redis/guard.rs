//! Proves that the commands write and read values of the right size.

use protocol::redis::{Answer, Control};
use script::Random;

use super::keys::{Keys, Values};
use super::options::{Command, Options};
use crate::error::WorkloadError;
use crate::workload::Guarded;

/// Keys tried.
const PROBES: u64 = 20;

/// Tries a few keys.
///
/// # Errors
/// When Redis does not answer or answers with an error.
pub(super) fn probe(
    options: &Options,
    control: &mut dyn Control,
    seed: u64,
) -> Result<Guarded, WorkloadError> {
    let mut random = Random::new(seed);
    let keys = Keys::new(options.value_bytes, options.keys);
    let mut guarded = Guarded::default();
    let mut name = Vec::new();
    let mut wrong = 0_u64;
    if options.command == Command::Set {
        keys.write(keys.draw(&mut random), &mut name);
        let values = Values::new(options.value_bytes, &mut random);
        let answer = control.one(&[b"SET", &name, values.draw(&mut random)])?;
        count(answer, options, &mut guarded, &mut wrong)?;
        let answer = control.one(&[b"GET", &name])?;
        count(answer, options, &mut guarded, &mut wrong)?;
    } else {
        for _ in 0..PROBES {
            keys.write(keys.draw(&mut random), &mut name);
            let answer = control.one(&[b"GET", &name])?;
            count(answer, options, &mut guarded, &mut wrong)?;
        }
    }
    if wrong > 0 || guarded.bytes == 0 {
        let problem = format!("{wrong} probed keys hold no value of {} bytes", options.value_bytes);
        guarded.empty = Some(problem);
    }
    Ok(guarded)
}

fn count(
    answer: Answer,
    options: &Options,
    guarded: &mut Guarded,
    wrong: &mut u64,
) -> Result<(), WorkloadError> {
    match answer {
        Answer::Value(length) => {
            guarded.rows += 1;
            guarded.bytes += length;
            *wrong += u64::from(length != options.value_bytes);
        }
        Answer::Nil => *wrong += 1,
        Answer::Done(_) => {}
        Answer::Error(problem) => {
            return Err(WorkloadError::Redis { doing: options.command.name().to_owned(), problem });
        }
    }
    Ok(())
}
