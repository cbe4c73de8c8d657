//! Values of pgbench's options, each checked separately.

use spec::Profile;
use workloads::pgbench::QueryProtocol;
use workloads::pgbench::init::PartitionMethod;

use super::fault::ArgumentError;
use super::numbers::{atof, atoi};
use crate::commands::pgbench::talk::LogLevel;

const STEPS: &str = "dtgGvpf";

pub(super) fn sampling_rate(text: &str) -> Result<f64, ArgumentError> {
    let share = atof(text);
    if share > 0.0 && share <= 1.0 {
        Ok(share)
    } else {
        Err(ArgumentError::error(format!("invalid sampling rate: \"{text}\"")))
    }
}

pub(super) fn max_tries(text: &str) -> Result<u32, ArgumentError> {
    let fault = |_| ArgumentError::error(format!("invalid number of maximum tries: \"{text}\""));
    u32::try_from(atoi(text)).map_err(fault)
}

/// A finite number above 0: `atof` also accepts infinity and NaN.
pub(super) fn positive(text: &str, what: &str) -> Result<f64, ArgumentError> {
    let value = atof(text);
    if value > 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(ArgumentError::error(format!("invalid {what}: \"{text}\"")))
    }
}

/// `-R`: constant as in pgbench.
pub(super) fn rate(text: &str) -> Result<f64, ArgumentError> {
    match text.parse::<Profile>() {
        Ok(profile) if !profile.is_constant() => Err(ArgumentError::error(format!(
            "invalid rate limit: \"{text}\" (pgbench's rate is constant; for one that changes: pgdyno bench -R)"
        ))),
        _ => positive(text, "rate limit"),
    }
}

/// `-L`, milliseconds, converted to whole µs; 0 µs means no limit.
pub(super) fn latency_limit_us(text: &str) -> Result<Option<u64>, ArgumentError> {
    let us = (positive(text, "latency limit")? * 1000.0) as u64;
    Ok(Some(us).filter(|&us| us > 0))
}

/// `-M`
pub(super) fn mode(text: &str) -> Result<QueryProtocol, ArgumentError> {
    text.parse().map_err(|_| ArgumentError::error(format!("invalid query mode (-M): \"{text}\"")))
}

/// `-D`
pub(super) fn definition(text: &str) -> Result<(String, String), ArgumentError> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => (name, value),
        _ => return Err(ArgumentError::error(format!("invalid variable definition: \"{text}\""))),
    };
    let starts = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80;
    let valid = name.bytes().next().is_some_and(starts)
        && name.bytes().all(|byte| starts(byte) || byte.is_ascii_digit());
    if !valid {
        return Err(ArgumentError::error(format!("option: invalid variable name: \"{name}\"")));
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// `-I`
pub(super) fn steps(text: &str) -> Result<String, ArgumentError> {
    if text.is_empty() {
        return Err(ArgumentError::error("no initialization steps specified"));
    }
    if let Some(unknown) = text.chars().find(|letter| *letter != ' ' && !STEPS.contains(*letter)) {
        return Err(ArgumentError::error(format!("unrecognized initialization step \"{unknown}\""))
            .and(LogLevel::Detail, format!("Allowed step characters are: \"{STEPS}\".")));
    }
    Ok(text.to_owned())
}

pub(super) fn partition_method(text: &str) -> Result<PartitionMethod, ArgumentError> {
    if text.eq_ignore_ascii_case("range") {
        Ok(PartitionMethod::Range)
    } else if text.eq_ignore_ascii_case("hash") {
        Ok(PartitionMethod::Hash)
    } else {
        let message = format!("invalid partition method, expecting \"range\" or \"hash\", got: \"{text}\"");
        Err(ArgumentError::error(message))
    }
}
