//! The phases of a job, and the sizes of the relations it made.

use serde::{Deserialize, Serialize};

/// One phase of a job, e.g. reading nodes, clustering a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// `node`, `way`, `relation`, `cluster`, `index`, `analyze`, `create tables`, ...
    pub name: String,
    /// Table or index; empty for the whole job.
    pub item: String,
    /// µs since the job's start.
    pub start_us: u64,
    pub duration_us: u64,
    /// Objects processed, where counted.
    pub count: Option<u64>,
    pub source: PhaseSource,
}

/// How a phase was timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PhaseSource {
    /// By pgdyno's clock when the program printed the line.
    Stamped,
    Reported,
}

impl PhaseSource {
    /// The name in files and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stamped => "stamped",
            Self::Reported => "reported",
        }
    }
}

/// Size of a table or an index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relation {
    pub name: String,
    pub kind: RelationKind,
    /// The table of an index; for tables the same as `name`.
    pub table: String,
    /// Bytes on disk of the relation itself (a table without its indexes, with TOAST).
    pub bytes: u64,
    pub rows: u64,
}

/// The kind of a relation; a materialized view counts as a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RelationKind {
    Table,
    Index,
}

impl RelationKind {
    /// The name in files and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Index => "index",
        }
    }
}
