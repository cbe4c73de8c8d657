//! Writes every key, so that GET finds something.

use protocol::redis::{Answer, Control};
use record::count;
use script::Random;

use super::keys::{Keys, Values};
use super::options::Options;
use crate::error::WorkloadError;

/// Bytes of commands sent before their answers are read.
const BATCH: usize = 256 * 1024;

/// Writes all keys of a workload.
///
/// # Errors
/// When Redis does not answer or refuses, for example because it is out of memory.
pub(super) fn fill(options: &Options, control: &mut dyn Control, seed: u64) -> Result<(), WorkloadError> {
    let mut random = Random::new(seed);
    let keys = Keys::new(options.value_bytes, options.keys);
    let values = Values::new(options.value_bytes, &mut random);
    let (mut out, mut name, mut waiting) = (Vec::new(), Vec::new(), 0);
    for key in 0..options.keys {
        keys.write(key, &mut name);
        protocol::redis::command(&mut out, &[b"SET", name.as_slice(), values.draw(&mut random)]);
        waiting += 1;
        if out.len() >= BATCH || key + 1 == options.keys {
            let answers = control.ask(&out, waiting)?;
            if let Some(Answer::Error(problem)) =
                answers.into_iter().find(|answer| matches!(answer, Answer::Error(_)))
            {
                let doing = format!(
                    "writing {} of {}",
                    count(options.keys, "key"),
                    count(options.value_bytes, "byte")
                );
                return Err(WorkloadError::Redis { doing, problem });
            }
            out.clear();
            waiting = 0;
        }
    }
    Ok(())
}
