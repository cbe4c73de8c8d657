//! An experiment: what was planned, where, and on what.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::plan::Recorded;

/// An experiment: the plan it expanded to, and the file it came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Identity: hash of the expanded plan without rounds and comments, hex.
    pub hash: String,
    /// File name without folder and ending.
    pub name: String,
    pub question: String,
    /// The file's text, without the credentials of addresses.
    pub file_text: String,
    /// What was to be done.
    #[serde(default)]
    pub plan: Recorded,
    pub seed: u64,
    pub order_scheme: OrderScheme,
    pub rounds: u32,
    /// The factor compared (`settings`, ...); `None` when nothing is.
    pub compare_factor: Option<String>,
    pub base: Option<String>,
    /// All arms in file order, base first; empty when nothing is compared.
    pub arms: Vec<Arm>,
    /// Margin for "same", as a share (0.03 = 3 %).
    pub margin: f64,
    /// Whether the plan calls itself a taste, not a measurement (short runs, few rounds); shown in the report.
    pub taste: Option<String>,
    /// UTC, RFC 3339.
    pub created_at: String,
    /// The control of two experiments that are compared; never stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<ControlArm>,
}

/// Which arm is the control of two experiments: a level of the factor that both compare.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlArm {
    pub factor: String,
    pub arm: String,
    /// Whether it is the base of both.
    pub is_base: bool,
}

/// How arms are interleaved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OrderScheme {
    /// Nothing is compared.
    Single,
    /// The arms of a cell next to each other, their order swapped every round.
    Pairs,
    /// All cells in one arm, then in the next; the order of the arms is swapped every round.
    HalfRounds,
    /// No pgdyno planned the runs: they were brought in from elsewhere, and do not alternate.
    Imported,
    /// Never stored: two experiments, each measured at its own time, are compared.
    Apart,
}

/// One level of the compared factor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm {
    pub name: String,
    /// What it sets, by name.
    pub settings: BTreeMap<String, String>,
    /// What in it weakens crash safety, e.g. `full_page_writes = off`; empty when nothing does.
    pub unsafe_settings: Vec<String>,
    /// What is measured, where the arms are on their own servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
}

/// The machine that pgdyno (and a managed target) ran on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Stable identity of the machine (hash of the machine id, never the id itself).
    pub uuid: String,
    pub name: String,
    pub cpu: String,
    /// Logical CPUs usable by this process.
    pub cores: u32,
    /// Memory usable by this process (the cgroup's limit where there is one), bytes.
    pub memory_bytes: u64,
    /// Operating system, kernel, virtualisation and other facts, by name.
    pub facts: BTreeMap<String, String>,
}

/// What was measured. Never holds a password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// `managed`, `url`, `sink` (no server: the load generator's own) or `imported`.
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
