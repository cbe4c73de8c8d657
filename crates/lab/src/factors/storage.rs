//! Storage of a managed server, by the name of a table `[storage.NAME]`. Each level is a separate managed
//! server.

use toml::Value;

use super::{Factor, LevelNames};
use crate::setup::{Server, Setup};

pub(crate) const NAME: &str = spec::plan::STORAGE;

pub(super) struct StorageFactor;

impl Factor for StorageFactor {
    fn name(&self) -> &'static str {
        NAME
    }

    fn levels(&self) -> &'static str {
        "names of `[storage.NAME]`"
    }

    fn meaning(&self) -> &'static str {
        "Storage of a managed server's files. Each level has its own server."
    }

    fn read(&self, _key: &str, value: &Value, known: &LevelNames<'_>) -> Result<String, String> {
        super::name_of(value, &[], NAME, known.named.storages.keys())
    }

    /// Only PostgreSQL has it.
    fn concerns(&self, _key: &str, workload: &str, known: &LevelNames<'_>) -> bool {
        known.workloads.get(workload).is_none_or(|spec| !spec.needs_redis())
    }

    fn apply(
        &self,
        _key: &str,
        level: &str,
        setup: &mut Setup,
        known: &LevelNames<'_>,
    ) -> Result<(), String> {
        if !known.named.storages.contains_key(level) {
            return Err(format!("unknown storage {level:?}"));
        }
        if let Server::Target(at) = &mut setup.server {
            at.storage = Some(level.to_owned());
        }
        Ok(())
    }
}
