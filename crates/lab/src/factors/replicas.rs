//! The number of replicas.

use spec::experiment::value::whole_number;
use spec::plan::topology::{MOST_REPLICAS, Topology};
use toml::Value;

use super::{Factor, LevelNames};
use crate::setup::Setup;

pub(crate) const NAME: &str = "replicas";

pub(super) struct ReplicasFactor;

impl Factor for ReplicasFactor {
    fn name(&self) -> &'static str {
        NAME
    }

    /// A replica begins with a base backup.
    fn is_dear(&self) -> bool {
        true
    }

    fn read(&self, _key: &str, value: &Value, _known: &LevelNames<'_>) -> Result<String, String> {
        whole_number(value, 0, MOST_REPLICAS.into()).map(|replicas| replicas.to_string())
    }

    fn concerns(&self, _key: &str, workload: &str, known: &LevelNames<'_>) -> bool {
        known.asks_postgres(workload)
    }

    fn apply(
        &self,
        _key: &str,
        level: &str,
        setup: &mut Setup,
        _known: &LevelNames<'_>,
    ) -> Result<(), String> {
        let replicas = level.parse().ok().filter(|replicas| *replicas <= MOST_REPLICAS);
        let replicas = replicas.ok_or_else(|| format!("invalid number of replicas {level:?}"))?;
        setup.topology = Topology { replicas, ..setup.topology };
        Ok(())
    }
}
