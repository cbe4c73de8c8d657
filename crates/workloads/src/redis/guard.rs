//! Checks that the commands write and read values of the right size.

use protocol::redis::{RedisAnswer, RedisConnection};
use script::Random;
use spec::{Error, figures};

use super::keys::{Keys, Values};
use super::options::{RedisCommand, RedisOptions};
use super::wire::Wire;
use crate::error;
use crate::workload::Guarded;

/// Number of keys to try.
const PROBES: u64 = 20;
/// Number of keys to look for where some may be gone.
const LOOKS: usize = 1000;

/// Tries a few keys.
///
/// # Errors
/// When Redis does not answer or answers with an error.
pub(super) fn probe(
    options: &RedisOptions,
    control: &mut dyn RedisConnection,
    seed: u64,
) -> Result<Guarded, Error> {
    let mut random = Random::new(seed);
    let keys = Keys::new(options);
    let mut guarded = Guarded::default();
    let mut wrong = 0_u64;
    if options.command == RedisCommand::Set {
        let key = keys.draw(&mut random);
        let values = Values::new(options.value_bytes, &mut random);
        let mut out = Vec::new();
        let wire = Wire::new(options, &keys);
        wire.set(&mut out, key, values.draw(&mut random));
        wire.append_get(&mut out, key);
        for answer in control.ask(&out, 2).map_err(error::redis)? {
            count(answer, options, &mut guarded, &mut wrong)?;
        }
    } else if options.may_miss() {
        return look(options, &keys, control, &mut random);
    } else {
        for _ in 0..PROBES {
            let name = keys.name(keys.draw(&mut random));
            let answer = control.one(&[b"GET", name.as_bytes()]).map_err(error::redis)?;
            count(answer, options, &mut guarded, &mut wrong)?;
        }
    }
    if wrong > 0 || guarded.bytes == 0 {
        let problem = format!("{wrong} probed keys hold no value of {} bytes", options.value_bytes);
        guarded.empty = Some(problem);
    }
    Ok(guarded)
}

/// Number of existing keys that clients would use.
fn look(
    options: &RedisOptions,
    keys: &Keys,
    control: &mut dyn RedisConnection,
    random: &mut Random,
) -> Result<Guarded, Error> {
    let mut out = Vec::new();
    for _ in 0..LOOKS {
        let name = keys.name(keys.draw(random));
        protocol::redis::command(&mut out, &["STRLEN", &name]);
    }
    let mut guarded = Guarded::default();
    for answer in control.ask(&out, LOOKS).map_err(error::redis)? {
        let length = match answer {
            RedisAnswer::Done(length) => length.parse().unwrap_or(0),
            RedisAnswer::Error(problem) => {
                return Err(error::redis_answer("STRLEN", problem));
            }
            _ => 0,
        };
        if options.value_bytes.range().contains(&length) {
            guarded.rows += 1;
            guarded.bytes += length;
        }
    }
    guarded.figures.set(figures::PROBE_HIT_PCT, 100.0 * guarded.rows as f64 / LOOKS as f64);
    if guarded.rows == 0 {
        let gone = "not one of 1000 keys that clients may ask for is there: all were evicted or have expired";
        guarded.empty = Some(gone.to_owned());
    }
    Ok(guarded)
}

/// Keys in the database; `None` where the server does not report it.
pub fn number_of_keys(control: &mut dyn RedisConnection) -> Result<Option<u64>, Error> {
    match control.one(&[b"DBSIZE"]).map_err(error::redis)? {
        RedisAnswer::Done(count) => Ok(count.parse().ok()),
        RedisAnswer::Value(_) | RedisAnswer::Nil | RedisAnswer::Error(_) => Ok(None),
    }
}

fn count(
    answer: RedisAnswer,
    options: &RedisOptions,
    guarded: &mut Guarded,
    wrong: &mut u64,
) -> Result<(), Error> {
    match answer {
        RedisAnswer::Value(length) => {
            guarded.rows += 1;
            guarded.bytes += length;
            *wrong += u64::from(!options.value_bytes.range().contains(&length));
        }
        RedisAnswer::Nil => *wrong += 1,
        RedisAnswer::Done(_) => {}
        RedisAnswer::Error(problem) => {
            return Err(error::redis_answer(options.command.name(), problem));
        }
    }
    Ok(())
}
