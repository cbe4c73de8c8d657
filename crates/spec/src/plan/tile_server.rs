//! What can be chosen about a tile server.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A tile server that pgdyno can start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// TiPg, in Python.
    Tipg,
    /// martin, in Rust.
    Martin,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Tipg, Self::Martin];

    /// As it is written: `tipg`, `martin`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tipg => "tipg",
            Self::Martin => "martin",
        }
    }

    /// Path of the tiles of a table, or of a function that gives tiles: `{source}` stands for `SCHEMA.TABLE`.
    #[must_use]
    pub fn tiles_of_source(self) -> &'static str {
        match self {
            Self::Tipg => "/collections/{source}/tiles/WebMercatorQuad/{z}/{x}/{y}",
            Self::Martin => "/{source}/{z}/{x}/{y}",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// How a tile server is started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    pub kind: Kind,
    /// Processes (TiPg) or threads (martin) that answer, 1 to 256; one for each CPU when `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// Connections to the database, of all workers together, 1 to 10,000; as many as ask it at the same time, but 50 at most,
    /// when `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<u32>,
    /// Its own cache of tiles, MB, which only martin has; none when `None`: every tile is then made by the database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_mb: Option<u32>,
    /// Its program, where it is not the one that is found: of TiPg the Python that it is installed for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<PathBuf>,
}

impl Options {
    /// One as it is without options.
    #[must_use]
    pub fn usual(kind: Kind) -> Self {
        Self { kind, workers: None, connections: None, cache_mb: None, program: None }
    }
}
