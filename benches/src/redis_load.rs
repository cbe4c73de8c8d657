//! The load on Redis in a separate process, so that its CPU can be measured: this program, started with a
//! hidden argument.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Context;
use engine::{DriverChoice, Load, RunPlan, StopFlag, Time, Until};
use protocol::Address;
use protocol::redis::ControlError;
use server::redis::RedisControl;
use workloads::redis::{Redis, RedisCommand, RedisOptions, ValueSizes};
use workloads::{ClientWorkload, Clients, Places, RedisServer, Site, Workload};

pub(crate) const WORD: &str = "redis-load";

/// Fills the keys, or runs the load: `fill|GET|SET SOCKET CLIENTS BYTES|LEAST-GREATEST PIPELINE SECONDS`.
/// Prints requests and requests per second.
pub(crate) fn main(arguments: &[OsString]) -> anyhow::Result<()> {
    let word = |index: usize| arguments.get(index).and_then(|word| word.to_str()).context("arguments");
    let number = |index: usize| -> anyhow::Result<u64> { Ok(word(index)?.parse()?) };
    let (what, clients, seconds) = (word(0)?, number(2)? as usize, number(5)?);
    let command = if what == "SET" { RedisCommand::Set } else { RedisCommand::Get };
    let address = Address::Unix(Path::new(word(1)?).to_owned());
    let pipeline = u32::try_from(number(4)?)?;
    let value_bytes = match word(3)?.split_once('-') {
        Some((least, greatest)) => ValueSizes::between(least.parse()?, greatest.parse()?),
        None => ValueSizes::all(number(3)?),
    };
    let mut workload =
        Redis::open(&RedisOptions { value_bytes, keys: 1000, pipeline, ..RedisOptions::new(command) })?;
    if what == "fill" {
        workload.prepare(&mut Site { redis: Some(&RedisAt(address)), ..Site::default() }, 1)?;
        return Ok(());
    }
    let wanted = Clients { count: clients, threads: 1, seed: 1, statements: false };
    let load = workload.clients(&Places::from(address), wanted)?;
    let measured = engine::run(&plan(seconds), load, &mut (), &StopFlag::new())?;
    let done = measured.totals().processed() * u64::from(pipeline);
    println!("{done} {}", done as f64 * 1e9 / measured.elapsed as f64);
    Ok(())
}

struct RedisAt(Address);

impl RedisServer for RedisAt {
    fn control(&self) -> Result<Box<dyn protocol::redis::RedisConnection + '_>, ControlError> {
        Ok(Box::new(RedisControl::connect(&self.0, &|| false)?))
    }
}

/// A closed load on one thread.
pub(crate) fn plan(seconds: u64) -> RunPlan {
    const SECOND: Time = 1_000_000_000;
    RunPlan {
        threads: 1,
        part: engine::LoadPart::WHOLE,
        cpus: None,
        spin: 0,
        driver: DriverChoice::Auto,
        load: Load::Closed,
        warmup: 0,
        until: Until::Elapsed(seconds * SECOND),
        promise: None,
        skip_late: false,
        drain: SECOND,
        count_drained: true,
        transactions: false,
        gaps: None,
        connect_timeout: 10 * SECOND,
        seed: 1,
        scripts: 1,
        statements: 0,
        items: 0,
    }
}
