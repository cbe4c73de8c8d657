//! What servers hold that are compared: the tables that a workload reads, and how each server is set up. A difference of the data
//! looks like a difference of the servers' speed.

mod ask;
mod differ;

use std::collections::{BTreeMap, BTreeSet};

pub(super) use ask::ask;
pub(super) use differ::{Differences, Names};

/// What a server holds for a workload.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Held {
    /// The tables that its texts name, also by views and functions, by their names.
    pub(super) tables: BTreeMap<String, Table>,
    /// `version()`: with the compiler, as two builds of one version differ by it.
    pub(super) version: String,
    /// Settings that may matter for speed, as `SHOW` prints them.
    pub(super) settings: BTreeMap<String, String>,
    /// Keys of its Redis, where the workload asks that.
    pub(super) redis_keys: Option<u64>,
}

/// A table, with all its partitions.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Table {
    /// `None` where they were never counted.
    pub(super) rows: Option<Rows>,
    /// With TOAST, without indexes.
    pub(super) bytes: u64,
    pub(super) index_bytes: u64,
    /// Definitions without names: `UNIQUE USING btree (aid)`.
    pub(super) indexes: BTreeSet<String>,
    /// How it is made, without its indexes: `unlogged`, `column v numeric`, `option fillfactor=70`, `trigger t`.
    pub(super) forms: BTreeSet<String>,
    pub(super) has_statistics: bool,
    /// Their age, seconds, where the server knows it.
    pub(super) statistics_age_s: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rows {
    pub(super) count: f64,
    /// Whether they were counted; else it is the planner's estimate.
    pub(super) is_exact: bool,
}
