//! Options of a tile server.

use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A tile server that pgdyno can start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TileServerKind {
    /// TiPg, in Python.
    Tipg,
    /// martin, in Rust.
    Martin,
}

impl TileServerKind {
    /// Both kinds, as `doctor` lists them.
    pub const ALL: [Self; 2] = [Self::Tipg, Self::Martin];

    /// The name: `tipg`, `martin`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tipg => "tipg",
            Self::Martin => "martin",
        }
    }

    /// Path of the tiles of a table, or of a function that returns tiles; `{source}` is `SCHEMA.TABLE`.
    #[must_use]
    pub fn tiles_of_source(self) -> &'static str {
        match self {
            Self::Tipg => "/collections/{source}/tiles/WebMercatorQuad/{z}/{x}/{y}",
            Self::Martin => "/{source}/{z}/{x}/{y}",
        }
    }
}

impl fmt::Display for TileServerKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// How a tile server is started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TileServerOptions {
    pub kind: TileServerKind,
    /// Processes (TiPg) or threads (martin) that answer, 1 to 256; `None`: one for each CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// Connections to the database over all workers, 1 to 10,000; `None`: the number of concurrent requests,
    /// at most 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<u32>,
    /// Its cache of tiles, MB, only in martin; `None`: no cache, so the database makes every tile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_mb: Option<u32>,
    /// Its program, if not the one found automatically; for TiPg, the Python in which it is installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<PathBuf>,
}

impl TileServerOptions {
    /// The defaults of this kind.
    #[must_use]
    pub fn usual(kind: TileServerKind) -> Self {
        Self { kind, workers: None, connections: None, cache_mb: None, program: None }
    }
}
