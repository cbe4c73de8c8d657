//! Which data are in memory when a run begins. Its levels restart the server before each run, so that only
//! the memory differs; a cold run has no warm-up, which would fill the cache.

use std::time::Duration;

use toml::Value;

use super::{Factor, LevelNames};
use crate::setup::{Cache, Setup};
use spec::experiment::value::text;

const WARM: &str = "warm";
const COLD: &str = "cold";

pub(super) struct CacheFactor;

impl Factor for CacheFactor {
    fn name(&self) -> &'static str {
        "cache"
    }

    fn levels(&self) -> &'static str {
        "`\"warm\"`, `\"cold\"`"
    }

    fn meaning(&self) -> &'static str {
        "Managed servers are restarted before each run: `warm` reads all files once, `cold` drops the page \
         cache and leaves out the warm-up. Default: what earlier runs left in memory."
    }

    fn exists(&self, key: &str, known: &LevelNames<'_>) -> Result<(), String> {
        match known.workloads.keys().any(|workload| self.concerns(key, workload, known)) {
            true => Ok(()),
            false => Err("no workload of this file queries PostgreSQL\nthe cache is its server's".to_owned()),
        }
    }

    fn read(&self, _key: &str, value: &Value, _known: &LevelNames<'_>) -> Result<String, String> {
        let level = text(value)?;
        match level.as_str() {
            WARM | COLD => Ok(level),
            _ => Err(format!("cannot be \"{level}\"\nknown here: {WARM}, {COLD}")),
        }
    }

    fn concerns(&self, _key: &str, workload: &str, known: &LevelNames<'_>) -> bool {
        known.workloads.get(workload).is_none_or(|spec| !spec.needs_redis())
    }

    fn apply(&self, key: &str, level: &str, setup: &mut Setup, known: &LevelNames<'_>) -> Result<(), String> {
        if !self.concerns(key, &setup.workload, known) {
            return Ok(());
        }
        match level {
            WARM => setup.cache = Cache::Warm,
            COLD => (setup.cache, setup.warmup) = (Cache::Cold, Duration::ZERO),
            _ => return Err(format!("unknown cache {level:?}")),
        }
        Ok(())
    }
}
