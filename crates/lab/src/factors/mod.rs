//! What can be varied or compared: a file for each factor, and the list. A level of a factor is a change of a [`Setup`].

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
pub(crate) use self::settings::NAME as SETTINGS;
pub(crate) use self::storage::NAME as STORAGE;
use crate::setup::Setup;
use crate::values::text;
use spec::plan::{Arm, Named};

/// What the names of levels stand for.
#[derive(Debug, Clone)]
pub struct Known<'a> {
    pub workloads: BTreeMap<&'a str, Cow<'a, Spec>>,
    /// What is put on the target first.
    pub preparation: Option<Cow<'a, Preparation>>,
    /// Settings by their names.
    pub arms: &'a [Arm],
    pub named: &'a Named,
}

impl Known<'_> {
    /// Whether a workload is done once to its end, and no clients ask for it.
    fn is_job(&self, workload: &str) -> bool {
        self.workloads.get(workload).is_some_and(|spec| spec.is_job())
    }
}

impl Default for Known<'_> {
    /// Nothing.
    fn default() -> Self {
        static NOTHING: Named = Named {
            servers: BTreeMap::new(),
            builds: BTreeMap::new(),
            poolers: BTreeMap::new(),
            changes: BTreeMap::new(),
            placements: BTreeMap::new(),
            storages: BTreeMap::new(),
        };
        Self { workloads: BTreeMap::new(), preparation: None, arms: &[], named: &NOTHING }
    }
}

/// A level that is one of these names, or that of a table `[TABLE.NAME]`.
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

/// Something varied or compared. Its key is what experiment files and results call it: one name for most factors, many for
/// those that stand for all of a kind.
pub trait Factor: Sync {
    /// Its key, or what its keys are made of (`WORKLOAD.OPTION`).
    fn name(&self) -> &'static str;

    fn is(&self, key: &str, _known: &Known<'_>) -> bool {
        key == self.name()
    }

    /// Whether going from one level to another costs so much that runs of one level stand together.
    fn is_dear(&self) -> bool {
        false
    }

    /// Whether `[factors]` lists its levels; else they are their own tables.
    fn in_grid(&self) -> bool {
        true
    }

    /// Whether there is anything to vary under this key.
    ///
    /// # Errors
    /// What is wrong with the key; advice follows on its own line.
    fn exists(&self, _key: &str, _known: &Known<'_>) -> Result<(), String> {
        Ok(())
    }

    /// A level as the file has it, to the text that plans and results keep.
    ///
    /// # Errors
    /// What it must be.
    fn read(&self, key: &str, value: &Value, known: &Known<'_>) -> Result<String, String>;

    /// Whether its level is any difference to this workload: cells of others do without it.
    fn concerns(&self, _key: &str, _workload: &str, _known: &Known<'_>) -> bool {
        true
    }

    /// Brings a setup to a level, as it is written in the file. `known` has what names stand for.
    ///
    /// # Errors
    /// In words, when it is no level of this factor.
    fn apply(&self, key: &str, level: &str, setup: &mut Setup, known: &Known<'_>) -> Result<(), String>;
}

/// The list. Levels are applied in its order.
pub const FACTORS: [&dyn Factor; 17] = [
    &self::server::OneOfServers,
    &version::Version,
    &storage::Storages,
    &workload::Workload,
    &data::PreparedData,
    &change::OwnChange,
    &option::WorkloadOption,
    &mode::QueryMode,
    &clients::Clients,
    &threads::Threads,
    &rate::Rate,
    &rate_per_client::RatePerClient,
    &promise::Promise,
    &connection::Way,
    &cache::Caches,
    &placement::Places,
    &settings::Settings,
];

/// Factors that a workload may have for itself: how it is asked.
const OF_A_WORKLOAD: [&str; 5] = ["clients", "threads", "rate", "rate_per_client", "promise"];

/// What `reporting.clients` says: the workload whose cells alone have these levels, and the factor that they are levels of;
/// `None` for keys that are no such thing.
pub(crate) fn of_a_workload<'k>(key: &'k str, known: &Known<'_>) -> Option<(&'k str, &'k str)> {
    let (workload, own) = key.split_once('.')?;
    let spec = known.workloads.get(workload)?;
    (OF_A_WORKLOAD.contains(&own) && !spec.option_names().contains(&own)).then_some((workload, own))
}

/// The factor of this key; that of `reporting.clients` is the one of `clients`.
#[must_use]
pub fn factor(key: &str, known: &Known<'_>) -> Option<&'static dyn Factor> {
    FACTORS.get(place(key, known)).copied()
}

/// Place of a factor in the list, by its key.
pub(crate) fn place(key: &str, known: &Known<'_>) -> usize {
    let key = of_a_workload(key, known).map_or(key, |(_, own)| own);
    FACTORS.iter().position(|factor| factor.is(key, known)).unwrap_or(FACTORS.len())
}

/// Names of those whose levels `[factors]` lists.
pub(crate) fn names() -> Vec<&'static str> {
    FACTORS.into_iter().filter(|factor| factor.in_grid()).map(|factor| factor.name()).collect()
}

/// Names of all, which one's own cannot have.
pub(crate) fn taken() -> Vec<&'static str> {
    FACTORS.into_iter().map(|factor| factor.name()).collect()
}
