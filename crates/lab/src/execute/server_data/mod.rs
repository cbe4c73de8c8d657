//! The data of compared servers: the tables that a workload reads, and the server's configuration. A
//! difference of the data looks like a difference of speed.

mod ask;
mod built;
mod differ;

use std::collections::{BTreeMap, BTreeSet};

pub(super) use ask::ask;
pub(super) use built::build_words;
pub(super) use differ::{Differences, Names};

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct ServerData {
    /// By name: the tables in its texts, also through views and functions.
    pub(super) tables: BTreeMap<String, ServerTable>,
    /// `version()`: with the compiler, since two builds of one version differ in it.
    pub(super) version: String,
    /// Settings that may affect speed, as `SHOW` prints them.
    pub(super) settings: BTreeMap<String, String>,
    /// Number of keys in its Redis, if the workload uses it.
    pub(super) redis_keys: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct ServerTable {
    /// `None` if they were never counted.
    pub(super) rows: Option<Rows>,
    /// With TOAST, without indexes.
    pub(super) bytes: u64,
    pub(super) index_bytes: u64,
    /// Definitions without names: `UNIQUE USING btree (aid)`.
    pub(super) indexes: BTreeSet<String>,
    /// Its other properties: `unlogged`, `column v numeric`, `option fillfactor=70`, `trigger t`.
    pub(super) forms: BTreeSet<String>,
    pub(super) has_statistics: bool,
    /// Seconds, if the server knows it.
    pub(super) statistics_age_s: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rows {
    pub(super) count: f64,
    /// Whether they were counted; else the planner's estimate.
    pub(super) is_exact: bool,
}
