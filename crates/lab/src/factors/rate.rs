//! How many transactions a second are offered.

use super::{Factor, Known};
use crate::setup::{Load, Setup};

pub(super) struct Rate;

impl Factor for Rate {
    fn name(&self) -> &'static str {
        "rate"
    }

    fn apply(&self, level: &str, setup: &mut Setup, _known: &Known<'_>) -> Result<(), String> {
        let rate = level.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0);
        setup.load = Load::Rate(rate.ok_or_else(|| format!("{level:?} is no rate"))?);
        Ok(())
    }
}
