//! The workload.

use toml::Value;

use super::{Factor, LevelNames};
use crate::setup::Setup;
use spec::experiment::value::text;

pub(super) struct WorkloadFactor;

impl Factor for WorkloadFactor {
    fn name(&self) -> &'static str {
        "workload"
    }

    fn levels(&self) -> &'static str {
        "names of `[workload.NAME]`"
    }

    fn meaning(&self) -> &'static str {
        "Workloads. Default: all, except those of `[beside]`."
    }

    fn read(&self, _key: &str, value: &Value, _known: &LevelNames<'_>) -> Result<String, String> {
        text(value)
    }

    fn apply(
        &self,
        _key: &str,
        level: &str,
        setup: &mut Setup,
        known: &LevelNames<'_>,
    ) -> Result<(), String> {
        if !known.workloads.contains_key(level) {
            return Err(format!("unknown workload {level:?}"));
        }
        level.clone_into(&mut setup.workload);
        Ok(())
    }
}
