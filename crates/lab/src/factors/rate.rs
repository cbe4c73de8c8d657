//! How many transactions a second are offered.

use toml::Value;

use super::{Factor, Known};
use crate::setup::{Load, Setup};
use crate::values::number;

/// From one in a quarter of an hour to more than any server does, per second.
const LEAST: f64 = 0.001;
const MOST: f64 = 10_000_000.0;

pub(super) struct Rate;

impl Factor for Rate {
    fn name(&self) -> &'static str {
        "rate"
    }

    fn read(&self, _key: &str, value: &Value, _known: &Known<'_>) -> Result<String, String> {
        number(value, LEAST, MOST).map(|rate| rate.to_string())
    }

    fn apply(&self, _key: &str, level: &str, setup: &mut Setup, _known: &Known<'_>) -> Result<(), String> {
        let rate = level.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0);
        setup.load = Load::Rate(rate.ok_or_else(|| format!("{level:?} is no rate"))?);
        Ok(())
    }
}
