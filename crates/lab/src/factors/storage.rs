//! Storage of a managed server, by the name of a table `[storage.NAME]`. Each level is a separate managed
//! server.

use toml::Value;

use super::{Factor, Known};
use crate::setup::{Server, Setup};

pub(crate) const NAME: &str = spec::plan::STORAGE;

pub(super) struct Storages;

impl Factor for Storages {
    fn name(&self) -> &'static str {
        NAME
    }

    fn read(&self, _key: &str, value: &Value, known: &Known<'_>) -> Result<String, String> {
        super::name_of(value, &[], NAME, known.named.storages.keys())
    }

    /// Only PostgreSQL has it.
    fn concerns(&self, _key: &str, workload: &str, known: &Known<'_>) -> bool {
        known.workloads.get(workload).is_none_or(|spec| !spec.needs_redis())
    }

    fn apply(&self, _key: &str, level: &str, setup: &mut Setup, known: &Known<'_>) -> Result<(), String> {
        if !known.named.storages.contains_key(level) {
            return Err(format!("there is no storage {level:?}"));
        }
        if let Server::Target(at) = &mut setup.server {
            at.storage = Some(level.to_owned());
        }
        Ok(())
    }
}
