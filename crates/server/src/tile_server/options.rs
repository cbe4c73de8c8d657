//! What can be chosen about a tile server.

use std::path::PathBuf;
use std::{fmt, thread};

use serde::{Deserialize, Serialize};
use spec::{Class, Error};

/// Connections to the database that no more clients than these get by themselves: half of what PostgreSQL takes as it is
/// installed.
const MOST_CONNECTIONS: u32 = 50;
/// Workers, connections and megabytes that can be asked for.
const WORKERS: u32 = 256;
const CONNECTIONS: u32 = 10_000;
const CACHE_MB: u32 = 1_000_000;

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

    /// The path of a table's tiles, with `{z}/{x}/{y}` in it.
    pub(super) fn tile_path(self, schema: &str, table: &str) -> String {
        self.tiles_of_source().replace("{source}", &source(schema, table))
    }

    /// The path of what it says about a table.
    pub(super) fn description_path(self, schema: &str, table: &str) -> String {
        match self {
            Self::Tipg => format!("/collections/{}?f=json", source(schema, table)),
            Self::Martin => format!("/{}", source(schema, table)),
        }
    }

    pub(super) fn health_path(self) -> &'static str {
        match self {
            Self::Tipg => "/healthz",
            Self::Martin => "/health",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// `SCHEMA.TABLE` as a part of a path.
fn source(schema: &str, table: &str) -> String {
    protocol::percent_encoded(format!("{schema}.{table}").as_bytes())
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

/// An option that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("option {name} of the tile server {kind}: {why}")]
pub struct OptionError {
    pub kind: Kind,
    pub name: &'static str,
    pub why: String,
}

impl From<OptionError> for Error {
    fn from(error: OptionError) -> Self {
        Self::new(Class::BadInput, error.to_string())
    }
}

impl Options {
    /// One as it is without options.
    #[must_use]
    pub fn usual(kind: Kind) -> Self {
        Self { kind, workers: None, connections: None, cache_mb: None, program: None }
    }

    /// Whether there can be such a one.
    pub fn check(&self) -> Result<(), OptionError> {
        let wrong = |name, why: String| Err(OptionError { kind: self.kind, name, why });
        for (name, value, least, most) in [
            ("workers", self.workers, 1, WORKERS),
            ("connections", self.connections, 1, CONNECTIONS),
            ("cache_mb", self.cache_mb, 0, CACHE_MB),
        ] {
            if value.is_some_and(|value| !(least..=most).contains(&value)) {
                return wrong(name, format!("it takes {least} to {most}"));
            }
        }
        match (self.kind, self.cache_mb) {
            (Kind::Tipg, Some(_)) => wrong("cache_mb", "it keeps no tiles; martin does".to_owned()),
            _ => Ok(()),
        }
    }

    /// How many processes or threads answer.
    pub(super) fn workers(&self) -> u32 {
        let cpus = || thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32);
        self.workers.unwrap_or_else(|| cpus().min(WORKERS))
    }

    /// How many connections each pool has; TiPg has one for each worker.
    pub(super) fn pool(&self, clients: u32) -> u32 {
        let all = self.connections.unwrap_or(clients.min(MOST_CONNECTIONS)).max(1);
        match self.kind {
            Kind::Tipg => all.div_ceil(self.workers()),
            Kind::Martin => all,
        }
    }

    /// In words, for so many clients.
    pub(super) fn words(&self, clients: u32) -> String {
        let count = |number: u32, one: &str| format!("{number} {one}{}", if number == 1 { "" } else { "s" });
        let workers = self.workers();
        let connections = match self.kind {
            Kind::Tipg => self.pool(clients) * workers,
            Kind::Martin => self.pool(clients),
        };
        let cache = match (self.kind, self.cache_mb.unwrap_or(0)) {
            (Kind::Tipg, _) => String::new(),
            (Kind::Martin, 0) => ", no cache".to_owned(),
            (Kind::Martin, megabytes) => format!(", a cache of {megabytes} MB"),
        };
        format!("{}, {} to the database{cache}", count(workers, "worker"), count(connections, "connection"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_options_are_named() {
        let wrong = |change: &dyn Fn(&mut Options), kind| {
            let mut options = Options::usual(kind);
            change(&mut options);
            options.check().err().map(|error| error.to_string()).unwrap_or_default()
        };
        let none = "option workers of the tile server tipg: it takes 1 to 256";
        assert_eq!(wrong(&|o| o.workers = Some(0), Kind::Tipg), none);
        let many = "option connections of the tile server martin: it takes 1 to 10000";
        assert_eq!(wrong(&|o| o.connections = Some(10_001), Kind::Martin), many);
        let cache = "option cache_mb of the tile server tipg: it keeps no tiles; martin does";
        assert_eq!(wrong(&|o| o.cache_mb = Some(64), Kind::Tipg), cache);
        assert_eq!(wrong(&|o| o.cache_mb = Some(64), Kind::Martin), "");
    }

    #[test]
    fn pools_hold_what_clients_need() {
        let of = |kind, workers, connections, clients| {
            let options = Options { workers: Some(workers), connections, ..Options::usual(kind) };
            (options.pool(clients), options.words(clients))
        };
        let words = |text: &str| text.to_owned();
        assert_eq!(of(Kind::Tipg, 2, None, 5), (3, words("2 workers, 6 connections to the database")));
        assert_eq!(
            of(Kind::Martin, 1, None, 5),
            (5, words("1 worker, 5 connections to the database, no cache"))
        );
        assert_eq!(of(Kind::Martin, 2, None, 1000).0, 50);
        assert_eq!(of(Kind::Martin, 2, Some(1), 1000).0, 1);
        let cached = Options { cache_mb: Some(64), workers: Some(1), ..Options::usual(Kind::Martin) };
        assert_eq!(cached.words(1), "1 worker, 1 connection to the database, a cache of 64 MB");
    }

    #[test]
    fn names_of_tables_are_written_into_paths() {
        let path = Kind::Tipg.tile_path("public", "a b/c");
        assert_eq!(path, "/collections/public.a%20b%2Fc/tiles/WebMercatorQuad/{z}/{x}/{y}");
        assert_eq!(Kind::Martin.tile_path("osm", "roads"), "/osm.roads/{z}/{x}/{y}");
    }
}
