//! The longest allowed time of a transaction.

use toml::Value;

use super::{Factor, LevelNames};
use crate::setup::Setup;
use spec::experiment::value::time;

/// µs.
const LEAST: u64 = 1;
/// An hour is always kept: the histograms end there.
const MOST: u64 = 3_600_000_000 - 1;

pub(super) struct PromiseFactor;

impl Factor for PromiseFactor {
    fn name(&self) -> &'static str {
        "promise"
    }

    fn levels(&self) -> &'static str {
        "times"
    }

    fn meaning(&self) -> &'static str {
        "Values of `load.promise`, each in its own runs."
    }

    fn read(&self, _key: &str, value: &Value, _known: &LevelNames<'_>) -> Result<String, String> {
        time(value, LEAST, MOST).map(|promise| format!("{promise:?}"))
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
        setup.promise = Some(time(&Value::from(level), LEAST, MOST)?);
        Ok(())
    }
}
