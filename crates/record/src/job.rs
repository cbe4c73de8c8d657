//! What a job did, and what it left.

use serde::{Deserialize, Serialize};

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
