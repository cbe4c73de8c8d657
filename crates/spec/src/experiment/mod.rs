//! An experiment as written: in a file, or by a command's arguments. Every key is a field;
//! `docs/experiment.md` explains them. Only types are checked here.

mod size;
mod storage;
mod tables;
pub mod value;
mod values;

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use toml::{Table, Value};

pub use self::size::Size;
pub use self::storage::StorageTable;
pub use self::tables::Tables;
use self::value::time;
pub use self::values::{BoundedDuration, Share, ValueList, Whole};
use crate::Prices;
pub use crate::plan::CellOrder;
use crate::plan::change::{Change, ChangeStep};
use crate::plan::topology::Replication;
use crate::plan::{AskedCounting, AskedDriver, Placement, ProbeOptions, Waiting, WorkMetric, pooler};
use crate::users::{Session, UserArrivals, UserConnection};

/// 30 days, the longest part of a run, µs.
const LONGEST: u64 = 30 * A_DAY;
/// Shortest measured part of a run, µs.
const SHORTEST: u64 = 1_000;
/// Longest pause of a user, and longest promise, µs.
const A_DAY: u64 = 24 * 3600 * 1_000_000;
/// Most planned looks at a verdict: each makes the intervals wider.
pub const MOST_LOOKS: u64 = 10;
const MAX_SEED: u64 = i64::MAX as u64;
/// Shortest and longest probe, µs.
const PROBE_TIMES: [u64; 2] = [2_000_000, 3600 * 1_000_000];
/// Least and greatest space of a probe, bytes.
const PROBE_SPACES: [u64; 2] = [64 << 20, 1 << 40];

/// The seed of all randomness.
pub type Seed = Whole<0, MAX_SEED>;
/// A pause of a user.
pub type Pause = BoundedDuration<0, A_DAY>;
/// A promise: slower transactions are late.
pub type Promise = BoundedDuration<1, A_DAY>;
/// The time of a probe.
pub type ProbeTime = BoundedDuration<{ PROBE_TIMES[0] }, { PROBE_TIMES[1] }>;
/// The space of a probe.
pub type ProbeSpace = Size<{ PROBE_SPACES[0] }, { PROBE_SPACES[1] }>;
/// Time of a calibration.
pub type CalibrationTime = BoundedDuration<{ 5 * 1_000_000 }, { 3600 * 1_000_000 }>;
/// The length of a run or of a part.
pub type PartLength = BoundedDuration<SHORTEST, LONGEST>;

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// An experiment. Reading what is written gives the same experiment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Experiment {
    pub question: Option<String>,
    pub taste: Option<String>,
    pub seed: Option<Seed>,
    pub target: Option<TargetChoice>,
    #[serde(skip_serializing_if = "is_default")]
    pub server: Tables<TargetChoice>,
    #[serde(skip_serializing_if = "is_default")]
    pub version: Tables<Version>,
    /// Options of the preparation jobs, read by their own types.
    #[serde(skip_serializing_if = "is_default")]
    pub prepare: Table,
    /// Each server is probed once, before anything is prepared.
    pub probe: Option<ProbeTable>,
    /// By name: a table with the kind of the workload and its options, read by the workload's own type.
    #[serde(skip_serializing_if = "is_default")]
    pub workload: Tables<Value>,
    #[serde(skip_serializing_if = "is_default")]
    pub factors: BTreeMap<String, ValueList>,
    pub beside: Option<Beside>,
    pub compare: Option<Compare>,
    #[serde(skip_serializing_if = "is_default")]
    pub settings: Tables<Tables<Value>>,
    #[serde(skip_serializing_if = "is_default")]
    pub change: Tables<Tables<ChangeTable>>,
    #[serde(skip_serializing_if = "is_default")]
    pub pooler: Tables<PoolerTable>,
    #[serde(skip_serializing_if = "is_default")]
    pub placement: Tables<Placement>,
    #[serde(skip_serializing_if = "is_default")]
    pub storage: Tables<StorageTable>,
    /// Levels of a factor that only a person can set.
    #[serde(skip_serializing_if = "is_default")]
    pub by_hand: BTreeMap<String, ValueList>,
    #[serde(skip_serializing_if = "is_default")]
    pub load: LoadShape,
    #[serde(skip_serializing_if = "is_default")]
    pub measure: Measure,
    pub prices: Option<Prices>,
    pub calibrate: Option<Calibrate>,
    pub full: Option<Full>,
}

/// A server: a private one, or one by URL.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TargetChoice {
    pub managed: Option<Managed>,
    /// Variables (`$NAME`) are replaced when it is read.
    pub url: Option<String>,
    pub redis: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    pub change_server: bool,
    #[serde(skip_serializing_if = "ValueList::is_empty")]
    pub tile_servers: ValueList,
    /// The number of replicas of a managed server, or the URLs of the replicas of a server given by URL.
    #[serde(skip_serializing_if = "ValueList::is_empty")]
    pub replicas: ValueList,
    pub replication: Option<Replication>,
}

/// A build of PostgreSQL: a folder of programs, or a commit that pgdyno builds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Version {
    pub bin: Option<String>,
    /// A branch, tag or commit; `.` for the working tree with its changes.
    pub git: Option<String>,
    /// Folder of the repository; the file's own if it is missing.
    pub source: Option<String>,
    /// Options of configure or meson, or variables of make.
    #[serde(skip_serializing_if = "ValueList::is_empty")]
    pub configure: ValueList,
    /// Options of initdb.
    #[serde(skip_serializing_if = "ValueList::is_empty")]
    pub initdb: ValueList,
    /// Settings that only servers of this build have.
    #[serde(skip_serializing_if = "is_default")]
    pub settings: Tables<Value>,
}

/// A private server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Managed {
    pub name: Option<String>,
    /// Major version, as a number or a text.
    pub version: Option<Value>,
    #[serde(skip_serializing_if = "ValueList::is_empty")]
    pub extensions: ValueList,
    #[serde(skip_serializing_if = "is_default")]
    pub redis: bool,
}

/// A pooler between clients and server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PoolerTable {
    #[serde(skip_serializing_if = "is_default")]
    pub kind: pooler::PoolerKind,
    /// Of PgBouncer, which needs it.
    pub pool_mode: Option<pooler::PoolMode>,
    /// Of PgBouncer, which needs it.
    pub pool_size: Option<u32>,
    /// Of Pgpool-II.
    pub balance: Option<pooler::Balance>,
    #[serde(skip_serializing_if = "is_default")]
    pub settings: BTreeMap<String, String>,
}

/// A probe of a server's hardware.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProbeTable {
    pub time: Option<ProbeTime>,
    pub space: Option<ProbeSpace>,
    #[serde(skip_serializing_if = "is_default")]
    pub read_only: bool,
    pub backends: Option<Whole<1, 1024>>,
}

impl From<ProbeTable> for ProbeOptions {
    fn from(written: ProbeTable) -> Self {
        let usual = Self::default();
        Self {
            time: written.time.map_or(usual.time, |time| time.0),
            space_bytes: written.space.map_or(usual.space_bytes, |space| space.0),
            read_only: written.read_only,
            backends: written.backends.map(|backends| backends.0 as u32),
        }
    }
}

/// Workloads that run once a round outside the grid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beside {
    pub workload: ValueList,
    pub clients: Option<ValueList>,
}

/// What to compare.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    pub factor: String,
    pub base: Value,
    /// Smallest change that matters; 3 % by default.
    pub margin: Option<Share>,
    pub metric: Option<WorkMetric>,
    /// How often the verdict may be looked at while rounds are added; 1 by default.
    pub looks: Option<Whole<1, MOST_LOOKS>>,
    pub take_apart: Option<String>,
    /// Two arms may be the same: A against A, to see random differences alone.
    #[serde(default, skip_serializing_if = "is_default")]
    pub same: bool,
}

/// The shape of the load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoadShape {
    pub rate: Option<Value>,
    pub users: Option<Users>,
    pub promise: Option<Promise>,
    /// The former name of `promise`.
    pub limit: Option<Promise>,
    pub bound: Option<Share>,
    pub search: Option<Search>,
}

/// The search for the highest rate at which a promise is kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// `"p99 < 20ms"`.
    pub promise: String,
    pub lowest: Option<Value>,
    pub highest: Option<Value>,
    /// Width between the bounds of the limit; 3 % by default.
    pub width: Option<Share>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub grow_clients: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub confirm: Vec<String>,
}

/// Clients that are users: they pause between transactions, or do sessions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Users {
    /// Scripts in order, with think times between them.
    pub session: Option<Session>,
    pub arrivals: Option<UserArrivals>,
    pub connection: Option<UserConnection>,
    /// Sessions of each user, in place of a duration.
    pub sessions: Option<Whole<1, MAX_SEED>>,
    /// Share of the registered people who are active at a time.
    pub active_share: Option<Share>,
    /// Without a session: the pause after each transaction.
    pub think: Option<Pause>,
    /// Without a session: between the first starts of two clients.
    pub ramp: Option<Pause>,
}

/// How runs are measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Measure {
    pub warmup: Option<BoundedDuration<0, LONGEST>>,
    pub duration: Option<LengthOrBounds>,
    /// Transactions of each client, in place of a duration.
    pub transactions: Option<Whole<1, MAX_SEED>>,
    pub budget: Option<PartLength>,
    pub rounds: Option<Whole<1, 10_000>>,
    /// Sets of each level of a factor that is set by hand.
    pub sets: Option<Whole<1, 1_000>>,
    pub threads: Option<Whole<1, 1024>>,
    pub order: Option<CellOrder>,
    /// `true`, `false` or a length.
    pub slices: Option<Value>,
    /// Whether the sessions of arms that take turns are kept from round to round.
    pub keep_sessions: Option<bool>,
    pub repeat_disturbed: Option<Whole<0, 2>>,
    pub explain: Option<bool>,
    /// Longest time for the check of a workload before its runs, and for the plans after one, each.
    pub check_time: Option<BoundedDuration<0, LONGEST>>,
    /// Whether each script is executed once before the first run; true by default.
    pub try_first: Option<bool>,
    pub counting: Option<AskedCounting>,
    pub driver: Option<AskedDriver>,
    pub wait: Option<Waiting>,
}

/// Least and greatest length.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    pub from: PartLength,
    pub to: PartLength,
}

/// A calibration of this host: it chooses its runs itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Calibrate {
    /// Approximate time of all its measurements together.
    pub time: Option<CalibrationTime>,
    /// Numbers of clients, all on one thread.
    #[serde(skip_serializing_if = "ValueList::is_empty")]
    pub clients: ValueList,
}

/// The longer form of an experiment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Full {
    #[serde(skip_serializing_if = "is_default")]
    pub factors: BTreeMap<String, ValueList>,
    #[serde(skip_serializing_if = "is_default")]
    pub measure: Measure,
}

impl Experiment {
    /// As TOML.
    ///
    /// # Panics
    /// Never: all of its values are valid TOML.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("an experiment is plain data")
    }
}

/// A level of a user's factor.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChangeTable {
    #[serde(rename = "do")]
    pub do_: Option<ChangeStepValue>,
    pub undo: Option<ChangeStepValue>,
    /// SQL that returns true while the change is in force.
    pub check: Option<String>,
}

impl From<ChangeTable> for Change {
    fn from(written: ChangeTable) -> Self {
        let step = |step: Option<ChangeStepValue>| {
            step.map(|step| match step {
                ChangeStepValue::Sql(sql) => ChangeStep::Sql(sql),
                ChangeStepValue::Command { command } => ChangeStep::Command(command),
            })
        };
        Self { do_: step(written.do_), undo: step(written.undo), check: written.check }
    }
}

/// `"DROP INDEX i"`, or `{ command = "…" }`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ChangeStepValue {
    Sql(String),
    Command { command: String },
}

impl<'de> Deserialize<'de> for ChangeStepValue {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = ChangeStepValue;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text of SQL, or { command = \"…\" }")
            }

            fn visit_str<E: de::Error>(self, sql: &str) -> Result<ChangeStepValue, E> {
                Ok(ChangeStepValue::Sql(sql.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ChangeStepValue, A::Error> {
                #[derive(Deserialize)]
                #[serde(deny_unknown_fields)]
                struct OfShell {
                    command: String,
                }
                let OfShell { command } = OfShell::deserialize(MapAccessDeserializer::new(map))?;
                Ok(ChangeStepValue::Command { command })
            }
        }

        source.deserialize_any(Either)
    }
}

/// `"10s"`, or `{ from = "1s", to = "10s" }`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum LengthOrBounds {
    Fixed(PartLength),
    Bounds(Bounds),
}

impl<'de> Deserialize<'de> for LengthOrBounds {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = LengthOrBounds;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a length of time such as \"10s\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<LengthOrBounds, E> {
                let fixed = time(&Value::from(text), SHORTEST, LONGEST).map_err(E::custom)?;
                Ok(LengthOrBounds::Fixed(BoundedDuration(fixed)))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LengthOrBounds, A::Error> {
                Bounds::deserialize(MapAccessDeserializer::new(map)).map(LengthOrBounds::Bounds)
            }
        }

        source.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All shipped experiments, written and read again.
    #[test]
    fn what_is_written_is_read_again() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let files: Vec<_> =
            files.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect();
        assert!(files.len() > 10);
        for path in files {
            let read: Experiment = toml::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            let again: Experiment = toml::from_str(&read.to_toml()).unwrap();
            assert_eq!(read, again, "{}", path.display());
        }
    }

    proptest::proptest! {
        #[test]
        fn lengths_shares_and_names_are_read_again(
            us in 1_000_u64..1_000_000_000_000, percent in 0.001_f64..99.9, name in ".{1,12}", text in ".{0,20}",
        ) {
            let mut written = Experiment { question: Some(text.clone()), ..Experiment::default() };
            written.measure.duration = Some(LengthOrBounds::Fixed(PartLength::seconds(us as f64 / 1e6)));
            written.load.bound = Some(Share::percent(percent));
            for (at, name) in [name.clone(), format!("a{name}"), text].into_iter().enumerate() {
                let settings = [("work_mem".to_owned(), Value::Integer(at as i64))];
                written.settings.insert(&name, settings.into_iter().collect());
            }
            let mut read: Experiment = toml::from_str(&written.to_toml()).unwrap();
            // The order of tables comes from their lines, which only the reader with positions knows.
            read.settings.sort_by_name(str::to_owned);
            written.settings.sort_by_name(str::to_owned);
            proptest::prop_assert_eq!(read, written);
        }
    }
}
