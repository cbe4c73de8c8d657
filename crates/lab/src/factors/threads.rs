//! Threads of the load generator.

use toml::Value;

use super::{Factor, LevelNames};
use crate::setup::Setup;
use spec::experiment::value::whole_number;

const MOST: u64 = 1024;

pub(super) struct ThreadsFactor;

impl Factor for ThreadsFactor {
    fn name(&self) -> &'static str {
        "threads"
    }

    fn levels(&self) -> &'static str {
        "numbers"
    }

    fn meaning(&self) -> &'static str {
        "Threads of the load generator. Default: `measure.threads`."
    }

    fn read(&self, _key: &str, value: &Value, _known: &LevelNames<'_>) -> Result<String, String> {
        whole_number(value, 1, MOST).map(|threads| threads.to_string())
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
        let threads = level.parse().ok().filter(|threads| *threads > 0);
        setup.threads = threads.ok_or_else(|| format!("invalid number of threads {level:?}"))?;
        Ok(())
    }
}
