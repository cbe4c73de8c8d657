//! The offered rate, transactions per second.

use spec::{Profile, ProfileError};
use toml::Value;

use super::{Factor, LevelNames};
use crate::setup::{Load, Setup};
use spec::experiment::value::number;

pub(super) struct RateFactor;

impl Factor for RateFactor {
    fn name(&self) -> &'static str {
        "rate"
    }

    fn levels(&self) -> &'static str {
        "rates"
    }

    fn meaning(&self) -> &'static str {
        "Offered rates, transactions per second over all clients, or [rates that \
         change](#rates-that-change). Makes the load open."
    }

    fn read(&self, _key: &str, value: &Value, _known: &LevelNames<'_>) -> Result<String, String> {
        let [least, most] = Profile::BOUNDS;
        match value {
            Value::String(text) => profile(text).map(|rate| rate.to_string()),
            number_or_not => number(number_or_not, least, most).map(|rate| rate.to_string()),
        }
    }

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
        setup.load = Load::Rate(profile(level)?);
        Ok(())
    }
}

fn profile(text: &str) -> Result<Profile, String> {
    text.parse().map_err(|error: ProfileError| error.to_string())
}
