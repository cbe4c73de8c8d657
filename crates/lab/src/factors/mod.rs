//! What can be varied or compared: a file for each factor, and the list. A level of a factor is a change of a
//! [`Setup`].

mod by_hand;
mod cache;
mod change;
mod clients;
mod connection;
mod data;
mod mode;
mod option;
mod placement;
mod promise;
mod rate;
mod rate_per_client;
mod replicas;
mod replication;
mod server;
mod settings;
mod storage;
mod threads;
mod version;
mod workload;

use std::borrow::Cow;
use std::collections::BTreeMap;

use toml::Value;
use workloads::{Preparation, Spec};

pub(crate) use self::connection::ways;
pub(crate) use self::data::with_data;
pub(crate) use self::option::with_options;
pub(crate) use self::placement::{FREE, KEY as PLACEMENT, NAMES as PLACES, own as own_placement};
pub(crate) use self::replicas::NAME as REPLICAS;
pub(crate) use self::replication::NAME as REPLICATION;
pub(crate) use self::settings::NAME as SETTINGS;
pub(crate) use self::storage::NAME as STORAGE;
pub(crate) use self::version::VERSION;
use crate::setup::Setup;
use spec::experiment::value::text;
use spec::plan::{Arm, Cpus, Named};

/// What the names of levels mean.
#[derive(Debug, Clone)]
pub struct LevelNames<'a> {
    pub workloads: BTreeMap<&'a str, Cow<'a, Spec>>,
    pub preparation: Option<Cow<'a, Preparation>>,
    pub arms: &'a [Arm],
    pub named: &'a Named,
    /// CPUs that pgdyno may use, if they matter.
    pub cpus: Option<&'a Cpus>,
}

impl LevelNames<'_> {
    fn asks_postgres(&self, workload: &str) -> bool {
        self.workloads.get(workload).is_none_or(|spec| spec.needs_postgres())
    }

    fn is_job(&self, workload: &str) -> bool {
        self.workloads.get(workload).is_some_and(|spec| spec.is_job())
    }
}

impl Default for LevelNames<'_> {
    fn default() -> Self {
        static NOTHING: Named = Named {
            servers: BTreeMap::new(),
            builds: BTreeMap::new(),
            poolers: BTreeMap::new(),
            changes: BTreeMap::new(),
            placements: BTreeMap::new(),
            storages: BTreeMap::new(),
            by_hand: BTreeMap::new(),
        };
        Self { workloads: BTreeMap::new(), preparation: None, arms: &[], named: &NOTHING, cpus: None }
    }
}

/// A level that is one of these names, or the name of a table `[TABLE.NAME]`.
fn name_of<'n>(
    value: &Value,
    names: &[&'n str],
    table: &str,
    tables: impl Iterator<Item = &'n String>,
) -> Result<String, String> {
    let level = text(value)?;
    let known: Vec<&str> = names.iter().copied().chain(tables.map(String::as_str)).collect();
    if known.contains(&&*level) {
        return Ok(level);
    }
    let known = if known.is_empty() { String::new() } else { format!("{}, and ", known.join(", ")) };
    Err(format!("cannot be \"{level}\"\nknown here: {known}the name of a table [{table}.NAME]"))
}

/// Something varied or compared. Its key is its name in experiment files and results: one for most factors,
/// many for those which cover all options of a kind.
pub trait Factor: Sync {
    /// Its key, or the pattern of its keys (`WORKLOAD.OPTION`).
    fn name(&self) -> &'static str;

    /// Its levels, for the reference page; empty if `[factors]` does not list them.
    fn levels(&self) -> &'static str {
        ""
    }

    /// What it varies, and the default, for the reference page; empty if `[factors]` does not list its levels.
    fn meaning(&self) -> &'static str {
        ""
    }

    fn is(&self, key: &str, _known: &LevelNames<'_>) -> bool {
        key == self.name()
    }

    /// Whether a change of level is so expensive that runs of one level are grouped.
    fn is_dear(&self) -> bool {
        false
    }

    /// Whether `[factors]` lists its levels; else their tables do.
    fn in_grid(&self) -> bool {
        true
    }

    /// Whether this key can be varied.
    ///
    /// # Errors
    /// What is wrong with the key; advice is on a separate line.
    fn exists(&self, _key: &str, _known: &LevelNames<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Converts a level of the file to the text that plans and results keep.
    ///
    /// # Errors
    /// What it must be.
    fn read(&self, key: &str, value: &Value, known: &LevelNames<'_>) -> Result<String, String>;

    /// Whether its levels matter for this workload: cells of others omit it.
    fn concerns(&self, _key: &str, _workload: &str, _known: &LevelNames<'_>) -> bool {
        true
    }

    /// Applies a level, as written in the file, to a setup. `known` explains names.
    ///
    /// # Errors
    /// As text, when it is not a level of this factor.
    fn apply(&self, key: &str, level: &str, setup: &mut Setup, known: &LevelNames<'_>) -> Result<(), String>;
}

/// All factors, in the order in which levels are applied.
pub const FACTORS: [&dyn Factor; 20] = [
    &self::server::ServerFactor,
    &version::VersionFactor,
    &storage::StorageFactor,
    &replicas::ReplicasFactor,
    &replication::ReplicationFactor,
    &workload::WorkloadFactor,
    &data::DataFactor,
    &change::ChangeFactor,
    &by_hand::ByHandFactor,
    &option::OptionFactor,
    &mode::ModeFactor,
    &clients::ClientsFactor,
    &threads::ThreadsFactor,
    &rate::RateFactor,
    &rate_per_client::RatePerClientFactor,
    &promise::PromiseFactor,
    &connection::ConnectionFactor,
    &cache::CacheFactor,
    &placement::PlacementFactor,
    &settings::SettingsFactor,
];

/// Factors that decide only how much is asked at once, in the order in which they are applied. They may be set for one
/// workload alone, and change nothing else of a setup.
pub(crate) const OF_LOAD: [&str; 5] = ["clients", "threads", "rate", "rate_per_client", "promise"];

/// For a key such as `reporting.clients`: the only workload with these levels, and the factor they belong to;
/// `None` for other keys.
pub(crate) fn of_a_workload<'k>(key: &'k str, known: &LevelNames<'_>) -> Option<(&'k str, &'k str)> {
    let (workload, own) = key.split_once('.')?;
    let spec = known.workloads.get(workload)?;
    (OF_LOAD.contains(&own) && !spec.option_names().contains(&own)).then_some((workload, own))
}

/// The factor of this key; `reporting.clients` gives the factor `clients`.
#[must_use]
pub fn factor(key: &str, known: &LevelNames<'_>) -> Option<&'static dyn Factor> {
    FACTORS.get(position(key, known)).copied()
}

/// Position of a factor in the list, by its key.
pub(crate) fn position(key: &str, known: &LevelNames<'_>) -> usize {
    let key = of_a_workload(key, known).map_or(key, |(_, own)| own);
    FACTORS.iter().position(|factor| factor.is(key, known)).unwrap_or(FACTORS.len())
}

/// Names of the factors whose levels `[factors]` lists.
pub(crate) fn names() -> Vec<&'static str> {
    FACTORS.into_iter().filter(|factor| factor.in_grid()).map(|factor| factor.name()).collect()
}

/// Names of all, which users' factors cannot have.
pub(crate) fn taken() -> Vec<&'static str> {
    FACTORS.into_iter().map(|factor| factor.name()).collect()
}
