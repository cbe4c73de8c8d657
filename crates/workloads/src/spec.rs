//! The workload tables of an experiment file.

use serde::{Deserialize, Serialize};

use crate::error::WorkloadError;
use crate::workload::ClientWorkload;
use crate::{pgbench, redis, tiles};

/// One workload of an experiment file, e.g. `tiles = { table = "planet_osm_polygon" }`.
///
/// Unknown keys are errors of the reader; ranges and words are checked by [`Spec::validate`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Spec {
    /// pgbench scripts.
    Pgbench(pgbench::Options),
    /// Map tiles.
    Tiles(tiles::Options),
    /// Redis commands.
    Redis(redis::Options),
}

impl Spec {
    /// `pgbench`, `tiles` or `redis`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Pgbench(_) => "pgbench",
            Self::Tiles(_) => "tiles",
            Self::Redis(_) => "redis",
        }
    }

    /// Whether it asks a PostgreSQL server.
    #[must_use]
    pub fn needs_postgres(&self) -> bool {
        !matches!(self, Self::Redis(_))
    }

    /// Whether it asks a Redis server.
    #[must_use]
    pub fn needs_redis(&self) -> bool {
        matches!(self, Self::Redis(_))
    }

    /// Checks ranges and words, without reading files.
    ///
    /// # Errors
    /// [`WorkloadError::Option`] naming the key, e.g. `tiles.zooms`.
    pub fn validate(&self) -> Result<(), WorkloadError> {
        match self {
            Self::Pgbench(options) => options.validate(),
            Self::Tiles(options) => options.validate(),
            Self::Redis(options) => options.validate(),
        }
    }

    /// The workload it describes; script files and tile lists are read here, relative ones from `folder`.
    ///
    /// # Errors
    /// As [`Spec::validate`], and when files cannot be read or parsed.
    pub fn open(&self, folder: &std::path::Path) -> Result<Box<dyn ClientWorkload>, WorkloadError> {
        self.validate()?;
        Ok(match self {
            Self::Pgbench(options) => Box::new(pgbench::Pgbench::open(options, folder)?),
            Self::Tiles(options) => Box::new(tiles::Tiles::open(options, folder)?),
            Self::Redis(options) => Box::new(redis::Redis::open(options)?),
        })
    }
}
