//! An experiment as written: in a file, or by a command's arguments. Every key is a field;
//! `docs/reference/experiment.md` lists them with these comments. Only types are checked here.

mod schema;
mod size;
mod storage;
mod tables;
pub mod value;
mod values;

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use toml::{Table, Value};

use self::schema::{Levels, NumberOrText, Options, SlicesValue, TileServerValue};
pub use self::schema::{OneOrMany, Scalar};
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Experiment {
    /// What you want to know, in one sentence: the title of the report. Required, except in a file without workloads.
    pub question: Option<String>,
    /// Why this file is only a short trial; shown in the report. `--full` drops it.
    pub taste: Option<String>,
    /// Seed of order, keys, tiles and arrival times. Default: derived from the plan; `--again` draws a new one.
    pub seed: Option<Seed>,
    /// The server to measure: `managed` or `url`. Required, unless `[server.NAME]` names servers.
    pub target: Option<TargetChoice>,
    /// Servers to compare or vary. Without `[target]` the first one is the target. Each managed server needs its own
    /// `name`.
    #[serde(skip_serializing_if = "is_default")]
    pub server: Tables<TargetChoice>,
    /// Builds of PostgreSQL for the factor `version`. An installed major version, such as 17, needs no table. Building
    /// or running a build needs `--allow-commands`.
    #[serde(skip_serializing_if = "is_default")]
    pub version: Tables<Version>,
    /// Data to load before the first run. It is kept, and loaded again only if options or files changed.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(with = "BTreeMap<String, Options>")]
    pub prepare: Table,
    /// Measure the hardware of each server with SQL, once per invocation, before anything is prepared. An empty table
    /// takes the defaults.
    pub probe: Option<ProbeTable>,
    /// What clients do. Each table has exactly one of the kinds below.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(with = "BTreeMap<String, Options>")]
    pub workload: Tables<Value>,
    /// What to vary. Each value is one level or a list of levels; each combination is a cell.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(with = "BTreeMap<String, Levels>")]
    pub factors: BTreeMap<String, ValueList>,
    /// Workloads that run once per round, outside the grid and in no arm, such as a cache.
    pub beside: Option<Beside>,
    /// What to compare. Without this table, cells are only measured.
    pub compare: Option<Compare>,
    /// Arms: PostgreSQL settings. An empty table keeps the server's own. `"25% of memory"` and `"50% of cores"` are
    /// shares of the machine (managed servers).
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(with = "Tables<BTreeMap<String, Scalar>>")]
    pub settings: Tables<Tables<Value>>,
    /// Levels of your own factor NAME, such as an index. An empty table leaves the server unchanged. All levels are
    /// measured, unless `factors.NAME` lists some.
    #[serde(skip_serializing_if = "is_default")]
    pub change: Tables<Tables<ChangeTable>>,
    /// Poolers for the factor `connection`, started before their runs and stopped afterwards.
    #[serde(skip_serializing_if = "is_default")]
    pub pooler: Tables<PoolerTable>,
    /// CPUs for the factor `placement`.
    #[serde(skip_serializing_if = "is_default")]
    pub placement: Tables<Placement>,
    /// Storage of a managed server's files, for the factor `storage`. Each has its own server, prepared in the same
    /// way.
    #[serde(skip_serializing_if = "is_default")]
    pub storage: Tables<StorageTable>,
    /// One factor that you set between runs, with its levels: `memory = [2133, 3200]`. `--level` gives the current one.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(with = "BTreeMap<String, Levels>")]
    pub by_hand: BTreeMap<String, ValueList>,
    /// How load is offered. Without `rate` and `users`, each client starts its next transaction when the last one ended
    /// (closed load).
    #[serde(skip_serializing_if = "is_default")]
    pub load: LoadShape,
    /// How long and how often runs are measured.
    #[serde(skip_serializing_if = "is_default")]
    pub measure: Measure,
    /// A price list: results then show costs per month and per million transactions.
    pub prices: Option<Prices>,
    /// Calibrate this host as a load generator. Such a file has no workloads, factors or arms; its target is a managed
    /// server with pgbench's tables.
    pub calibrate: Option<Calibrate>,
    /// Keys that `pgdyno run --full` uses in place of the same keys above.
    pub full: Option<Full>,
}

/// A server: a private one, or one by URL.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TargetChoice {
    /// A private server that pgdyno makes, starts, stops and may restart. `{}` takes the defaults.
    pub managed: Option<Managed>,
    /// An existing server: a libpq connection string. Its settings change only with `change_server`. `$NAME` is an
    /// environment variable. A password here is stored nowhere.
    pub url: Option<String>,
    /// With `url`: a Redis server, `"redis://host:port"`.
    pub redis: Option<String>,
    /// With `url`: arms may change settings of the whole server (`ALTER SYSTEM` and a reload), and levels of `[change]`
    /// its data. Former values are restored, also after a crash.
    #[serde(skip_serializing_if = "is_default")]
    pub change_server: bool,
    /// Tile servers to start between clients and database.
    #[serde(skip_serializing_if = "ValueList::is_empty")]
    #[schemars(with = "OneOrMany<TileServerValue>")]
    pub tile_servers: ValueList,
    /// With `managed`: the number of streaming replicas to make, to 8. With `url`: their connection strings.
    #[serde(skip_serializing_if = "ValueList::is_empty")]
    #[schemars(with = "OneOrMany<NumberOrText>")]
    pub replicas: ValueList,
    /// With replicas of a managed server: what a commit waits for.
    #[schemars(extend("default" = Replication::default()))]
    pub replication: Option<Replication>,
}

/// A build of PostgreSQL: a folder of programs, or a commit that pgdyno builds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Version {
    /// Folder with `initdb` and `postgres`. Required without `git`.
    pub bin: Option<String>,
    /// Branch, tag or commit to build; `"."` is the working tree with its changes.
    pub git: Option<String>,
    /// Folder of the git repository: PostgreSQL, or an extension with PGXS. Default: the file's folder.
    pub source: Option<String>,
    /// Options of `configure` or meson, or variables of `make` for an extension, each as one text.
    #[serde(skip_serializing_if = "ValueList::is_empty")]
    #[schemars(with = "OneOrMany<String>")]
    pub configure: ValueList,
    /// Options of `initdb`, each as one text: `["--wal-segsize=64"]`.
    #[serde(skip_serializing_if = "ValueList::is_empty")]
    #[schemars(with = "OneOrMany<String>")]
    pub initdb: ValueList,
    /// Settings of servers of this build alone. An arm's settings take precedence.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(with = "BTreeMap<String, Scalar>")]
    pub settings: Tables<Value>,
}

/// A private server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Managed {
    /// Name under which its data is kept from one experiment to the next.
    #[schemars(extend("default" = "default"))]
    pub name: Option<String>,
    /// Major version of PostgreSQL. Default: the newest of the system.
    #[schemars(with = "NumberOrText")]
    pub version: Option<Value>,
    /// Extensions to create in its database, such as `["postgis"]`.
    #[serde(skip_serializing_if = "ValueList::is_empty")]
    #[schemars(with = "OneOrMany<String>")]
    pub extensions: ValueList,
    /// Also start a private, empty Redis server.
    #[serde(skip_serializing_if = "is_default")]
    pub redis: bool,
}

/// A pooler between clients and server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PoolerTable {
    /// The program; it must be installed.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(extend("default" = pooler::PoolerKind::default()))]
    pub kind: pooler::PoolerKind,
    /// PgBouncer: when a server connection returns to the pool. Required there.
    pub pool_mode: Option<pooler::PoolMode>,
    /// PgBouncer: most connections to the server. Required there.
    pub pool_size: Option<u32>,
    /// Pgpool-II: when it chooses the server for reads.
    #[schemars(extend("default" = pooler::Balance::default()))]
    pub balance: Option<pooler::Balance>,
    /// Further settings of `pgbouncer.ini` or `pgpool.conf`, as texts.
    #[serde(skip_serializing_if = "is_default")]
    pub settings: BTreeMap<String, String>,
}

/// A probe of a server's hardware.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProbeTable {
    /// Maximum time of all parts together, approximately.
    #[schemars(extend("default" = "30s"))]
    pub time: Option<ProbeTime>,
    /// Maximum of scratch data on the server, and of memory of all backends. The data is dropped at the end.
    #[schemars(extend("default" = "256MB"))]
    pub space: Option<ProbeSpace>,
    /// Write nothing, not even temporary tables.
    #[serde(skip_serializing_if = "is_default")]
    pub read_only: bool,
    /// Maximum of concurrent backends. Default: the CPUs of the host, or as many as still add throughput.
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Beside {
    /// Names of the workloads.
    #[schemars(with = "OneOrMany<String>")]
    pub workload: ValueList,
    /// Numbers of clients.
    #[schemars(with = "Option<OneOrMany<u32>>", extend("default" = 1))]
    pub clients: Option<ValueList>,
}

/// What to compare.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    /// `"settings"` compares the tables `[settings.NAME]`; the name of a factor, such as `"connection"` or
    /// `"polygons.min_pixels"`, compares its levels.
    pub factor: String,
    /// The arm that the others are compared with, as in the list of levels.
    #[schemars(with = "Scalar")]
    pub base: Value,
    /// A difference below this share counts as the same.
    #[schemars(extend("default" = "3%"))]
    pub margin: Option<Share>,
    /// The figure that decides the verdict.
    #[schemars(extend("default" = WorkMetric::default()))]
    pub metric: Option<WorkMetric>,
    /// Planned looks at the verdict while rounds are added. More looks make all intervals wider.
    #[schemars(extend("default" = 1))]
    pub looks: Option<Whole<1, MOST_LOOKS>>,
    /// An arm of settings: adds an arm with each of its settings alone (`only NAME`) and one without each (`without
    /// NAME`).
    pub take_apart: Option<String>,
    /// Allow two equal arms (A against A), to see random differences alone.
    #[serde(default, skip_serializing_if = "is_default")]
    pub same: bool,
}

/// The shape of the load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LoadShape {
    /// Open load: transactions per second over all clients, at random times (Poisson); or a [rate that
    /// changes](#rates-that-change).
    #[schemars(with = "NumberOrText")]
    pub rate: Option<Value>,
    /// Clients are users who pause between transactions or do sessions.
    pub users: Option<Users>,
    /// Response time above which a transaction is late. Open load skips arrivals that are already late.
    pub promise: Option<Promise>,
    /// The former name of `promise`.
    #[schemars(extend("deprecated" = true))]
    pub limit: Option<Promise>,
    /// Share of late, skipped, failed and unfinished transactions above which a ladder reports that quality breaks.
    #[schemars(extend("default" = "1%"))]
    pub bound: Option<Share>,
    /// In place of `rate`: search, in each cell, the highest rate (with `users`: number of users) that keeps a promise.
    pub search: Option<Search>,
}

/// The search for the highest rate at which a promise is kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// What must hold: `"p99 < 250ms"`, `"late(250ms) < 1%"`; several are joined by `and`. `"report.sql: p95 < 2s"` is
    /// of one script.
    pub promise: String,
    /// Lowest rate to try, transactions per second (or users). Default: 1 % of the peak.
    #[schemars(with = "Option<f64>")]
    pub lowest: Option<Value>,
    /// Highest rate to try. Default: 120 % of the peak.
    #[schemars(with = "Option<f64>")]
    pub highest: Option<Value>,
    /// Final distance between the highest rate that keeps the promise and the lowest that does not.
    #[schemars(extend("default" = "3%"))]
    pub width: Option<Share>,
    /// Double the clients until throughput rises by less than 10 % or the server accepts no more.
    #[serde(default, skip_serializing_if = "is_default")]
    pub grow_clients: bool,
    /// Shapes in shares of the limit, such as `"ramp 0.5..1 over 10s"`, to try once the limit is known.
    #[serde(default, skip_serializing_if = "is_default")]
    pub confirm: Vec<String>,
}

/// Clients that are users: they pause between transactions, or do sessions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Users {
    /// pgbench scripts in order, with think times: `"login.sql, 5s, search.sql x3, 2s, order.sql"`. Each place is a
    /// script with its own figures.
    pub session: Option<Session>,
    /// When users come: `"spread"` (over the warm-up), `"together"`, `"0.5s apart"`, `"up 60s, hold 5min, down 60s"`, a
    /// share of the users over time (`"ramp 0..1 over 60s"`), or new users who do one session each (`"12 per minute"`).
    #[schemars(extend("default" = UserArrivals::default()))]
    pub arrivals: Option<UserArrivals>,
    /// How long a user keeps a connection.
    #[schemars(extend("default" = UserConnection::default()))]
    pub connection: Option<UserConnection>,
    /// Sessions of each user, in place of `measure.duration`.
    pub sessions: Option<Whole<1, MAX_SEED>>,
    /// Share of the registered people who are active at a time; the result then gives the number of registered people.
    pub active_share: Option<Share>,
    /// Without `session`: the pause after each transaction.
    pub think: Option<Pause>,
    /// Without `session`: time between the first starts of two clients.
    #[schemars(extend("default" = "0s"))]
    pub ramp: Option<Pause>,
}

/// How runs are measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Measure {
    /// Load before the measured part of each run.
    #[schemars(extend("default" = "2s"))]
    pub warmup: Option<BoundedDuration<0, LONGEST>>,
    /// Length of the measured part of a run. With `budget`: its bounds, `{ from = "1s", to = "10s" }`.
    #[schemars(extend("default" = "10s"))]
    pub duration: Option<LengthOrBounds>,
    /// Transactions of each client, in place of a duration. Not with `[compare]` or `load.search`.
    pub transactions: Option<Whole<1, MAX_SEED>>,
    /// Time for all rounds together, from which the length of a run follows.
    pub budget: Option<PartLength>,
    /// Passes over all cells and arms. Made even where something is compared. With `[by_hand]`: rounds of a set,
    /// default 2.
    #[schemars(extend("default" = 8))]
    pub rounds: Option<Whole<1, 10_000>>,
    /// With `[by_hand]`: sets of each level. A set is the rounds between two changes of the level.
    #[schemars(extend("default" = 3))]
    pub sets: Option<Whole<1, 1_000>>,
    /// Threads of the load generator; never more than clients.
    #[schemars(extend("default" = 1))]
    pub threads: Option<Whole<1, 1024>>,
    /// Order of cells in a round.
    #[schemars(extend("default" = CellOrder::default()))]
    pub order: Option<CellOrder>,
    /// Whether the arms of a cell take turns within a run: `false` never, `true` also where an idle server works in the
    /// other arm's time, or the length of a turn (50ms to 1s). Default: turns of 100ms where possible.
    #[schemars(with = "SlicesValue")]
    pub slices: Option<Value>,
    /// Keep the connections of arms in slices from round to round. Default: true where `version` is compared.
    pub keep_sessions: Option<bool>,
    /// How often runs that the machine disturbed are measured again.
    #[schemars(extend("default" = 2))]
    pub repeat_disturbed: Option<Whole<0, 2>>,
    /// Explain a sample of transactions of each cell and arm after its first run. Default: true where something is
    /// compared.
    pub explain: Option<bool>,
    /// Longest time for the check of a workload before its runs, and for the plans after a run.
    #[schemars(extend("default" = "10s"))]
    pub check_time: Option<BoundedDuration<0, LONGEST>>,
    /// Execute each script once before the first run, to check that it does something.
    #[schemars(extend("default" = true))]
    pub try_first: Option<bool>,
    /// The rules at the beginning and end of a run.
    #[schemars(extend("default" = AskedCounting::default()))]
    pub counting: Option<AskedCounting>,
    /// How the load generator moves bytes.
    #[schemars(extend("default" = AskedDriver::default()))]
    pub driver: Option<AskedDriver>,
    /// How threads of the load generator wait for answers.
    #[schemars(extend("default" = Waiting::default()))]
    pub wait: Option<Waiting>,
}

/// Least and greatest length.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// Shortest length.
    pub from: PartLength,
    /// Longest length.
    pub to: PartLength,
}

/// A calibration of this host: it chooses its runs itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Calibrate {
    /// Approximate time of all its measurements together, without those of placements.
    #[schemars(extend("default" = "30s"))]
    pub time: Option<CalibrationTime>,
    /// Numbers of clients, all on one thread.
    #[serde(skip_serializing_if = "ValueList::is_empty")]
    #[schemars(with = "OneOrMany<u32>", extend("default" = [1, 8, 64]))]
    pub clients: ValueList,
}

/// The longer form of an experiment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Full {
    /// Factors that replace those of the same name.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(with = "BTreeMap<String, Levels>")]
    pub factors: BTreeMap<String, ValueList>,
    /// Keys that replace those of `[measure]`. A plain `duration` also replaces a `budget`.
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChangeTable {
    /// SQL that makes the level, sent as one text; or `{ command = "…" }` for `/bin/sh` on pgdyno's machine, which
    /// needs `--allow-commands`.
    #[serde(rename = "do")]
    pub do_: Option<ChangeStepValue>,
    /// Undoes it. Must succeed also after half a `do` and when run twice (`DROP INDEX IF EXISTS`). Required with `do`,
    /// except for SQL on a managed server.
    pub undo: Option<ChangeStepValue>,
    /// A query that must return true while the level is in force.
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
