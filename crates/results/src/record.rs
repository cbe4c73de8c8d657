//! What is kept of an experiment: plain records, written by `lab`, read by `report`.
//!
//! Nothing here is derived: percentiles, means and comparisons are made when reading.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stats::Histogram;

use crate::spool::Spool;

/// The machine that pgdyno (and a managed target) ran on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Stable identity of the machine (hash of the machine id, never the id itself).
    pub uuid: String,
    /// Host name.
    pub name: String,
    /// CPU model.
    pub cpu: String,
    /// Logical CPUs usable by this process.
    pub cores: u32,
    /// Memory usable by this process (the cgroup's limit where there is one), bytes.
    pub memory_bytes: u64,
    /// Operating system, kernel, virtualisation and other facts, by name.
    pub facts: BTreeMap<String, String>,
}

/// What was measured. Never holds a password.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// `managed` or `url`.
    pub kind: String,
    /// Connection string without secrets.
    pub dsn_redacted: String,
    /// `server_version`, e.g. `15.18 (Debian 15.18-0+deb12u1)`.
    pub server_version: String,
    /// `postgis_full_version()`, where there is PostGIS.
    pub postgis_version: Option<String>,
    /// Versions of other programs (osm2pgsql, redis, pgdyno itself) by name.
    pub versions: BTreeMap<String, String>,
}

/// One setting as the server reported it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Name in `pg_settings`.
    pub name: String,
    /// Value as `SHOW` prints it.
    pub value: String,
    /// Where it came from (`pg_settings.source`).
    pub source: String,
}

/// An experiment: the plan it expanded to, and the file it came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Identity: hash of the expanded plan without rounds and comments, hex.
    pub hash: String,
    /// File name without folder and ending.
    pub name: String,
    /// The question it asks.
    pub question: String,
    /// The file's text, secrets removed.
    pub file_text: String,
    /// The expanded plan, JSON.
    pub plan_json: String,
    /// Seed of all randomness.
    pub seed: u64,
    /// How arms are interleaved: `pairs`, `half-rounds` or `single` (nothing compared).
    pub order_scheme: String,
    /// Rounds planned.
    pub rounds: u32,
    /// The factor compared (`settings`, ...); `None` when nothing is.
    pub compare_factor: Option<String>,
    /// Base arm.
    pub base: Option<String>,
    /// All arms in file order, base first; empty when nothing is compared.
    pub arms: Vec<Arm>,
    /// Margin for "same", as a share (0.03 = 3 %).
    pub margin: f64,
    /// Whether the plan calls itself a taste, not a measurement (short runs, few rounds); shown in the report.
    pub taste: Option<String>,
    /// UTC, RFC 3339.
    pub created_at: String,
}

/// One level of the compared factor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm {
    /// Name in the experiment file.
    pub name: String,
    /// What it sets, by name.
    pub settings: BTreeMap<String, String>,
    /// What in it weakens crash safety, e.g. `full_page_writes = off`; empty when nothing does.
    pub unsafe_settings: Vec<String>,
}

/// What kind of thing a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunKind {
    /// Clients driven by the engine.
    Client,
    /// A program or SQL run once to its end (OSM load, `pgbench -i`).
    Job,
}

/// Whether a run can be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Validity {
    /// Nothing speaks against it.
    Valid,
    /// Shown with its reasons, still compared.
    Suspect,
    /// Excluded from comparisons, with its whole pair.
    Invalid,
}

/// A reason for doubt; the wording for people is in [`Reason::text`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Open load: less than 99 % of the offered rate was done in time.
    Overloaded,
    /// The load generator used most of its CPU.
    ClientSaturated,
    /// Arrivals started late for reasons of the generator.
    ScheduleLate,
    /// Throughput stepped down and the host shows why.
    Throttled,
    /// The hypervisor took CPU time.
    Steal,
    /// Throughput changed level within the run.
    Unsteady,
    /// Open load: a queue was left at the end.
    BacklogAtEnd,
    /// Transactions failed or clients gave up.
    Errors,
    /// The workload returned nothing.
    EmptyResults,
    /// The server did not take the asked settings.
    SettingsNotApplied,
    /// Too short to mean anything.
    TooShort,
    /// Cache or data state was not alike.
    CacheStateDiffers,
    /// A part of a distributed run was lost.
    RankLost,
    /// Measured by another program, and brought in.
    Imported,
}

impl Reason {
    /// In words, for reports.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Overloaded => "overloaded",
            Self::ClientSaturated => "client saturated",
            Self::ScheduleLate => "schedule late",
            Self::Throttled => "throttled",
            Self::Steal => "CPU steal",
            Self::Unsteady => "unsteady",
            Self::BacklogAtEnd => "backlog at end",
            Self::Errors => "errors",
            Self::EmptyResults => "empty results",
            Self::SettingsNotApplied => "settings not applied",
            Self::TooShort => "too short",
            Self::CacheStateDiffers => "cache state differs",
            Self::RankLost => "rank lost",
            Self::Imported => "imported",
        }
    }
}

/// A doubt with its figure, e.g. `(ClientSaturated, "thread 0 busy 97 % of the time")`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubt {
    /// Which.
    pub reason: Reason,
    /// The figure behind it, in words.
    pub detail: String,
}

/// One measurement of one cell and arm, or one job; stored as it ends.
#[derive(Debug, Clone)]
pub struct Run {
    /// Identity across files.
    pub uuid: String,
    /// Kind.
    pub kind: RunKind,
    /// The workload's name in the experiment file (`polygons`, `tpcb`; for `bench`: the script names).
    pub workload: String,
    /// All factors but the compared one, `workload` and `clients` among them: name to level.
    pub factors: BTreeMap<String, String>,
    /// Arm; `None` for runs beside the grid and experiments without comparison.
    pub arm: Option<String>,
    /// Round, from 1; 0 for preparation jobs.
    pub round: u32,
    /// Position in the order of execution over the whole experiment, from 0.
    pub sequence: u32,
    /// 1 or 2 (or more): which arm of its pair came first.
    pub position_in_pair: u32,
    /// Counts the invocations of `pgdyno run` that the experiment took, from 1.
    pub session: u32,
    /// UTC, RFC 3339.
    pub started_at: String,
    /// Load: `closed`, `rate`, `users`.
    pub load: String,
    /// Offered rate, transactions per second; open load only.
    pub offered_rate: Option<f64>,
    /// Clients; 0 for jobs.
    pub clients: u32,
    /// Threads; 0 for jobs.
    pub threads: u32,
    /// I/O driver.
    pub driver: String,
    /// Seed of this run.
    pub seed: u64,
    /// Warm-up, seconds.
    pub warmup_s: f64,
    /// Length of the measured part, seconds.
    pub measured_s: f64,
    /// Whether it can be believed.
    pub validity: Validity,
    /// Why not.
    pub doubts: Vec<Doubt>,
    /// Counters over all scripts, by name: `due ok late failed skipped unfinished retried retries
    /// rows bytes queries changes affected`; in open load also `drained`: those of them that were started only when the
    /// measured part was over.
    pub counts: BTreeMap<String, u64>,
    /// Other single figures by name with unit last: `client_cpu_us_per_tx`, `start_lag_p99_us`, `wal_bytes`,
    /// `checkpoints`, `steal_pct`, `server_cpu_s`, `connect_ms`, `promise_ms`, ...
    pub figures: BTreeMap<String, f64>,
    /// Hash of the settings set in force (see [`Setting`]); stored once per distinct set.
    pub settings: Vec<Setting>,
    /// Per script name.
    pub scripts: Vec<ScriptRecord>,
    /// Per second (in long runs: per step of several) and script.
    pub series: Vec<SeriesPoint>,
    /// Response times of these seconds, until the run is stored; never read back.
    pub seconds: Spool,
    /// Phases of a job.
    pub phases: Vec<Phase>,
    /// Sizes of relations after the run (jobs: after loading).
    pub relations: Vec<Relation>,
    /// Files kept with it (sample tiles, plans, logs).
    pub artifacts: Vec<Artifact>,
    /// Things that happened, in order.
    pub events: Vec<RunEvent>,
}

/// One script's figures in a run.
#[derive(Debug, Clone)]
pub struct ScriptRecord {
    /// File or builtin name.
    pub name: String,
    /// Hash of its text, hex.
    pub text_hash: String,
    /// Weight.
    pub weight: u32,
    /// Counters as in [`Run::counts`].
    pub counts: BTreeMap<String, u64>,
    /// From intended start to end.
    pub response: Histogram,
    /// From actual start to end.
    pub service: Histogram,
}

/// One second of one script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeriesPoint {
    /// Index into [`Run::scripts`].
    pub script: u32,
    /// µs since the start of the measured part.
    pub start_us: i64,
    /// Length, µs.
    pub length_us: u64,
    /// Succeeded within the limit.
    pub ok: u64,
    /// Succeeded, late.
    pub late: u64,
    /// Failed.
    pub failed: u64,
    /// Skipped.
    pub skipped: u64,
}

/// One phase of a job, e.g. reading nodes, clustering a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// What: `node`, `way`, `relation`, `cluster`, `index`, `analyze`, `create tables`, ...
    pub name: String,
    /// On what: a table or index; empty for the whole.
    pub item: String,
    /// µs since the job's start.
    pub start_us: u64,
    /// Duration, µs.
    pub duration_us: u64,
    /// Objects processed, where counted.
    pub count: Option<u64>,
    /// How it was timed: `stamped` (our clock at the line), `reported` (the program's own figure).
    pub source: String,
}

/// Size of a table or an index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relation {
    /// Name.
    pub name: String,
    /// `table` or `index`.
    pub kind: String,
    /// The table an index belongs to; the name itself for tables.
    pub table: String,
    /// Bytes on disk of the relation itself (a table without its indexes, with TOAST).
    pub bytes: u64,
    /// Estimated rows.
    pub rows: u64,
}

/// A file kept with a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Name, e.g. `tile/14/8851/6439`.
    pub name: String,
    /// `application/vnd.mapbox-vector-tile`, `application/json`, `text/plain`.
    pub media_type: String,
    /// What it shows, in words.
    pub caption: String,
    /// Content.
    pub bytes: Vec<u8>,
}

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEvent {
    /// µs since the start of the measured part.
    pub time_us: i64,
    /// `restart`, `checkpoint`, `abort`, `notice`, ...
    pub kind: String,
    /// In words.
    pub detail: String,
}
