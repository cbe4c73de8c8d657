//! What a commit on the primary waits for: nothing, or its replicas.

use spec::experiment::value::text;
use spec::plan::topology::{Replication, Topology};
use toml::Value;

use super::option::advice;
use super::{Factor, LevelNames};
use crate::setup::Setup;

pub(crate) const NAME: &str = "replication";

pub(super) struct ReplicationFactor;

impl Factor for ReplicationFactor {
    fn name(&self) -> &'static str {
        NAME
    }

    fn levels(&self) -> &'static str {
        "`\"async\"`, `\"sync\"`, `\"remote_apply\"`"
    }

    fn meaning(&self) -> &'static str {
        "What a commit waits for."
    }

    /// Replicas are made again.
    fn is_dear(&self) -> bool {
        true
    }

    fn read(&self, _key: &str, value: &Value, _known: &LevelNames<'_>) -> Result<String, String> {
        let level = text(value)?;
        let names = Replication::ALL.map(Replication::name);
        match Replication::of_name(&level) {
            Some(_) => Ok(level),
            None => Err(format!("cannot be \"{level}\"{}", advice(&level, names.iter().copied()))),
        }
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
        let replication = Replication::of_name(level);
        let replication = replication.ok_or_else(|| format!("invalid replication {level:?}"))?;
        setup.topology = Topology { replication, ..setup.topology };
        Ok(())
    }
}
