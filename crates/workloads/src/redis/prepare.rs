//! Sets the initial state of Redis for runs: limits, and every key written, so that GET finds something.

use protocol::redis::{Limits, RedisAnswer, RedisConnection};
use script::Random;
use spec::{Error, bytes, count};

use super::keys::{Keys, Values};
use super::limits;
use super::options::RedisOptions;
use super::wire::Wire;
use crate::error;
use crate::place::Site;

/// Bytes of commands sent before their answers are read.
const BATCH: usize = 256 * 1024;

/// Before the first run: sets the state of all runs.
///
/// # Errors
/// When Redis does not answer or refuses, for example because it is out of memory.
pub(super) fn begin(options: &RedisOptions, site: &Site<'_>, seed: u64) -> Result<(), Error> {
    let mut control = site.redis()?;
    set_limits(options, site, &mut *control)?;
    if options.fills() { fill(options, &mut *control, seed) } else { Ok(()) }
}

/// Before each run: restores that state, if a run or another workload changed it.
///
/// # Errors
/// As [`begin`].
pub(super) fn again(options: &RedisOptions, site: &Site<'_>, seed: u64) -> Result<(), Error> {
    let mut control = site.redis()?;
    set_limits(options, site, &mut *control)?;
    if options.fills() && (options.resets_before_each_run() || !is_filled(options, &mut *control)?) {
        fill(options, &mut *control, seed)?;
    }
    Ok(())
}

/// After the last run: restores our Redis' initial limits.
pub(super) fn restore_limits(site: &Site<'_>) -> Result<(), Error> {
    match site.limits_at_start() {
        Some(at_start) => limits::set(&mut *site.redis()?, at_start).map(drop),
        None => Ok(()),
    }
}

/// Sets the limits of the workload. Where memory is limited, data of others would use a part of it.
fn set_limits(
    options: &RedisOptions,
    site: &Site<'_>,
    control: &mut dyn RedisConnection,
) -> Result<(), Error> {
    let Some(at_start) = site.limits_at_start() else {
        return match options.memory {
            None => Ok(()),
            Some(_) => Err(error::missing_error(
                "redis.memory sets a limit of a Redis that pgdyno starts, and this one is not its own",
                "write managed = { redis = true } in [target], or leave redis.memory out",
            )),
        };
    };
    if options.memory.is_some()
        && let RedisAnswer::Error(problem) = control.one(&[b"FLUSHALL"]).map_err(error::redis)?
    {
        return Err(error::redis_answer("FLUSHALL", problem));
    }
    limits::set(control, &options.limits(at_start)).map(drop)
}

/// A key that marks the others as written, and is evicted or deleted with them.
fn mark(options: &RedisOptions) -> Vec<u8> {
    format!("{}filled:{}", Keys::new(options).prefix(), options.used_keys()).into_bytes()
}

fn is_filled(options: &RedisOptions, control: &mut dyn RedisConnection) -> Result<bool, Error> {
    Ok(matches!(control.one(&[b"GET", &mark(options)]).map_err(error::redis)?, RedisAnswer::Value(_)))
}

/// Writes all keys of a workload.
fn fill(options: &RedisOptions, control: &mut dyn RedisConnection, seed: u64) -> Result<(), Error> {
    let mut random = Random::new(seed);
    let keys = Keys::new(options);
    let wire = Wire::new(options, &keys);
    let values = Values::new(options.value_bytes, &mut random);
    let (mut out, mut waiting) = (Vec::new(), 0);
    let all = options.used_keys();
    // The first keys are the most requested: written last, they are the last to be evicted.
    for (number, key) in (0..all).rev().enumerate() {
        wire.set(&mut out, key, values.draw(&mut random));
        waiting += 1;
        if out.len() >= BATCH || key == 0 {
            let answers = control.ask(&out, waiting).map_err(error::redis)?;
            let refused = answers.into_iter().enumerate().find_map(|(at, answer)| match answer {
                RedisAnswer::Error(problem) => Some((at, problem)),
                _ => None,
            });
            if let Some((at, problem)) = refused {
                let written = (number + 1 - waiting + at) as u64;
                return Err(not_written(options, control, written, problem));
            }
            out.clear();
            waiting = 0;
        }
    }
    if !options.resets_before_each_run() {
        control.one(&[b"SET", &mark(options), b"1"]).map_err(error::redis)?;
    }
    Ok(())
}

/// Why the keys could not be written; if it is memory, the limit and the required size.
fn not_written(
    options: &RedisOptions,
    control: &mut dyn RedisConnection,
    written: u64,
    problem: String,
) -> Error {
    let all = options.used_keys();
    let what = format!("{} of {} bytes", count(all, "key"), options.value_bytes);
    if !problem.starts_with("OOM") {
        return error::redis_answer(format!("writing {what}"), problem);
    }
    let limit = control.info().ok().and_then(|info| Limits::of(&info)).map(|limits| limits.memory_bytes);
    let limit = limit.map_or_else(|| "unknown".to_owned(), bytes);
    error::redis_full(
        format!(
            "its memory (maxmemory) is {limit}, and {what} take {} for the values alone; it refused after {written} of \
             them: {problem}",
            bytes(options.value_bytes.of(all))
        ),
        match options.memory {
            Some(_) => {
                "give redis.memory more, take fewer redis.keys or smaller redis.value_bytes, or let it evict: \
                        redis.eviction = \"allkeys-lru\""
            }
            None => "raise maxmemory there, or take fewer redis.keys or smaller redis.value_bytes",
        },
    )
}
