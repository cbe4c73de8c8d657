//! Values of the options that pgbench does not have.

use std::path::PathBuf;
use std::time::Duration;

use ::report::pgbench::Percentile;
use engine::DriverChoice;
use spec::plan::Cpus;
use workloads::pgbench::HostPolicy;

use super::fault::ArgumentError;
use super::numbers::integer;
use super::output::PgbenchFormat;

const LONGEST_WARMUP_S: f64 = i32::MAX as f64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GroupOption {
    /// At least 1.
    pub(super) clients: u32,
    /// Script numbers from 1, with the group's weight.
    pub(super) scripts: Vec<(usize, Option<u32>)>,
}

fn invalid(text: &str, option: &str, expected: &str) -> ArgumentError {
    ArgumentError::error(format!("invalid value \"{text}\" for option {option}: expected {expected}"))
}

/// `50,95,99.9`
pub(super) fn percentiles(text: &str) -> Result<Vec<Percentile>, ArgumentError> {
    let mut percentiles = Vec::new();
    for word in text.split(',') {
        let percentile = word.trim().parse::<Percentile>().map_err(|_| {
            invalid(
                text,
                "--percentiles",
                "numbers from 1 to 100 with at most three decimals, such as 50,95,99.9",
            )
        })?;
        if !percentiles.contains(&percentile) {
            percentiles.push(percentile);
        }
    }
    Ok(percentiles)
}

/// `text`, `json` or `lines`
pub(super) fn parse_format(text: &str) -> Result<PgbenchFormat, ArgumentError> {
    match text {
        "text" => Ok(PgbenchFormat::Text),
        "json" => Ok(PgbenchFormat::Json),
        "lines" => Ok(PgbenchFormat::Lines),
        _ => Err(invalid(text, "--format", "text, json or lines")),
    }
}

pub(super) fn results(text: &str) -> Result<PathBuf, ArgumentError> {
    if text.is_empty() { Err(invalid(text, "--results", "the name of a file")) } else { Ok(text.into()) }
}

/// Seconds, with optional decimals.
pub(super) fn warmup(text: &str) -> Result<Duration, ArgumentError> {
    let seconds =
        text.trim().parse::<f64>().ok().filter(|seconds| (0.0..=LONGEST_WARMUP_S).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| invalid(text, "--warmup", "seconds, 0 or more"))
}

/// `COUNT=SCRIPT[@W],...`
pub(super) fn group(text: &str) -> Result<GroupOption, ArgumentError> {
    let fault = || {
        let expected =
            "COUNT=SCRIPT[@W],..., such as 8=1,2@3: clients, then numbers of scripts with their weights";
        invalid(text, "--group", expected)
    };
    let (count, list) = text.split_once('=').ok_or_else(fault)?;
    let clients = integer(count, "--group", 1, i32::MAX).map_err(|_| fault())?.cast_unsigned();
    let mut scripts = Vec::new();
    for word in list.split(',') {
        let (number, weight) = match word.split_once('@') {
            Some((number, weight)) => {
                (number, Some(integer(weight, "--group", 0, i32::MAX).map_err(|_| fault())?.cast_unsigned()))
            }
            None => (word, None),
        };
        scripts.push((script_number(number).ok_or_else(fault)?, weight));
    }
    Ok(GroupOption { clients, scripts })
}

/// `first`, `round-robin`, `random` or `read-write`
pub(super) fn hosts(text: &str) -> Result<HostPolicy, ArgumentError> {
    match text {
        "first" => Ok(HostPolicy::First),
        "round-robin" => Ok(HostPolicy::RoundRobin),
        "random" => Ok(HostPolicy::Random),
        "read-write" => Ok(HostPolicy::ReadWrite { reads: Vec::new() }),
        _ => Err(invalid(text, "--hosts", "first, round-robin, random or read-write")),
    }
}

/// `auto`, `portable` or `io_uring`
pub(super) fn driver(text: &str) -> Result<DriverChoice, ArgumentError> {
    match text {
        "auto" => Ok(DriverChoice::Auto),
        "portable" => Ok(DriverChoice::Portable),
        "io_uring" => Ok(DriverChoice::IoUring),
        _ => Err(invalid(text, "--driver", "auto, portable or io_uring")),
    }
}

/// CPUs, such as `0,2-3`.
pub(super) fn cpus(text: &str) -> Result<Cpus, ArgumentError> {
    text.parse().map_err(|_| invalid(text, "--client-cpus", "numbers of CPUs, such as 0,2-3"))
}

/// Script numbers, from 1.
pub(super) fn read_scripts(text: &str) -> Result<Vec<usize>, ArgumentError> {
    let numbers: Option<Vec<usize>> = text.split(',').map(script_number).collect();
    numbers.ok_or_else(|| invalid(text, "--read-script", "numbers of scripts, such as 1,3"))
}

fn script_number(text: &str) -> Option<usize> {
    text.trim().parse().ok().filter(|&number| number > 0)
}
