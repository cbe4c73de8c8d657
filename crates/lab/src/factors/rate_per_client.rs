//! The offered rate per client, transactions per second: clients and rate grow together.

use spec::Profile;
use toml::Value;

use super::{Factor, LevelNames};
use crate::setup::{Load, Setup};
use spec::experiment::value::number;

pub(super) struct RatePerClientFactor;

impl Factor for RatePerClientFactor {
    fn name(&self) -> &'static str {
        "rate_per_client"
    }

    fn levels(&self) -> &'static str {
        "numbers"
    }

    fn meaning(&self) -> &'static str {
        "Offered rates for each client: `clients = [3, 8]` with `rate_per_client = 1` offers 3 and 8 per \
         second."
    }

    fn read(&self, _key: &str, value: &Value, _known: &LevelNames<'_>) -> Result<String, String> {
        let [least, most] = Profile::BOUNDS;
        number(value, least, most).map(|rate| rate.to_string())
    }

    /// Clients come before it in the list.
    fn concerns(&self, _key: &str, workload: &str, known: &LevelNames<'_>) -> bool {
        !known.is_job(workload)
    }

    fn apply(
        &self,
        _key: &str,
        level: &str,
        setup: &mut Setup,
        _known: &LevelNames<'_>,
    ) -> Result<(), String> {
        let rate = level.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0);
        let rate = rate.ok_or_else(|| format!("invalid rate {level:?}"))?;
        setup.load = Load::Rate(Profile::Constant(rate * f64::from(setup.clients)));
        Ok(())
    }
}
