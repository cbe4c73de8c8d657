//! How statements are sent: pgbench's `-M`. It is the option `mode` of every workload that has it.

use toml::Value;
use workloads::pgbench::QueryProtocol;

use super::{Factor, LevelNames};
use crate::setup::Setup;
use spec::experiment::value::text;

const OPTION: &str = "mode";

pub(super) struct ModeFactor;

impl Factor for ModeFactor {
    fn name(&self) -> &'static str {
        OPTION
    }

    fn levels(&self) -> &'static str {
        "`\"simple\"`, `\"extended\"`, `\"prepared\"`"
    }

    fn meaning(&self) -> &'static str {
        "Query mode of all pgbench workloads."
    }

    fn exists(&self, key: &str, known: &LevelNames<'_>) -> Result<(), String> {
        match known.workloads.keys().any(|workload| self.concerns(key, workload, known)) {
            true => Ok(()),
            false => Err("no workload of this file has a query mode\npgbench scripts have".to_owned()),
        }
    }

    fn read(&self, _key: &str, value: &Value, _known: &LevelNames<'_>) -> Result<String, String> {
        let level = text(value)?;
        let known = QueryProtocol::NAMES.contains(&level.as_str());
        known
            .then(|| level.clone())
            .ok_or_else(|| format!("cannot be \"{level}\"\nknown here: {}", QueryProtocol::NAMES.join(", ")))
    }

    fn concerns(&self, _key: &str, workload: &str, known: &LevelNames<'_>) -> bool {
        known.workloads.get(workload).is_some_and(|spec| spec.option_names().contains(&OPTION))
    }

    fn apply(&self, key: &str, level: &str, setup: &mut Setup, known: &LevelNames<'_>) -> Result<(), String> {
        if self.concerns(key, &setup.workload, known) {
            setup.options.insert(OPTION.to_owned(), level.to_owned());
        }
        Ok(())
    }
}
