//! What the options of a tile server come to.

use std::thread;

use spec::plan::tile_server::{TileServerKind, TileServerOptions};
use spec::{Class, Error};

/// Connections to the database that no more clients than these get by themselves: half of what PostgreSQL takes as it is
/// installed.
const MOST_CONNECTIONS: u32 = 50;
/// Workers, connections and megabytes that can be asked for.
const WORKERS: u32 = 256;
const CONNECTIONS: u32 = 10_000;
const CACHE_MB: u32 = 1_000_000;

/// The path of a table's tiles, with `{z}/{x}/{y}` in it.
pub(super) fn tile_path(kind: TileServerKind, schema: &str, table: &str) -> String {
    kind.tiles_of_source().replace("{source}", &source(schema, table))
}

/// The path of what it says about a table.
pub(super) fn description_path(kind: TileServerKind, schema: &str, table: &str) -> String {
    match kind {
        TileServerKind::Tipg => format!("/collections/{}?f=json", source(schema, table)),
        TileServerKind::Martin => format!("/{}", source(schema, table)),
    }
}

pub(super) fn health_path(kind: TileServerKind) -> &'static str {
    match kind {
        TileServerKind::Tipg => "/healthz",
        TileServerKind::Martin => "/health",
    }
}

/// `SCHEMA.TABLE` as a part of a path.
fn source(schema: &str, table: &str) -> String {
    protocol::percent_encoded(format!("{schema}.{table}").as_bytes())
}

/// An option that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("option {name} of the tile server {kind}: {why}")]
pub struct OptionError {
    pub kind: TileServerKind,
    pub name: &'static str,
    pub why: String,
}

impl From<OptionError> for Error {
    fn from(error: OptionError) -> Self {
        Self::new(Class::BadInput, error.to_string())
    }
}

/// Whether there can be such a one.
///
/// # Errors
/// What cannot be.
pub fn check(options: &TileServerOptions) -> Result<(), OptionError> {
    let wrong = |name, why: String| Err(OptionError { kind: options.kind, name, why });
    for (name, value, least, most) in [
        ("workers", options.workers, 1, WORKERS),
        ("connections", options.connections, 1, CONNECTIONS),
        ("cache_mb", options.cache_mb, 0, CACHE_MB),
    ] {
        if value.is_some_and(|value| !(least..=most).contains(&value)) {
            return wrong(name, format!("it takes {least} to {most}"));
        }
    }
    match (options.kind, options.cache_mb) {
        (TileServerKind::Tipg, Some(_)) => wrong("cache_mb", "it keeps no tiles; martin does".to_owned()),
        _ => Ok(()),
    }
}

/// How many processes or threads answer.
pub(super) fn workers(options: &TileServerOptions) -> u32 {
    let cpus = || thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32);
    options.workers.unwrap_or_else(|| cpus().min(WORKERS))
}

/// How many connections each pool has; TiPg has one for each worker.
pub(super) fn pool(options: &TileServerOptions, clients: u32) -> u32 {
    let all = options.connections.unwrap_or(clients.min(MOST_CONNECTIONS)).max(1);
    match options.kind {
        TileServerKind::Tipg => all.div_ceil(workers(options)),
        TileServerKind::Martin => all,
    }
}

/// In words, for so many clients.
pub(super) fn words(options: &TileServerOptions, clients: u32) -> String {
    let count = |number: u32, one: &str| format!("{number} {one}{}", if number == 1 { "" } else { "s" });
    let workers = workers(options);
    let connections = match options.kind {
        TileServerKind::Tipg => pool(options, clients) * workers,
        TileServerKind::Martin => pool(options, clients),
    };
    let cache = match (options.kind, options.cache_mb.unwrap_or(0)) {
        (TileServerKind::Tipg, _) => String::new(),
        (TileServerKind::Martin, 0) => ", no cache".to_owned(),
        (TileServerKind::Martin, megabytes) => format!(", a cache of {megabytes} MB"),
    };
    format!("{}, {} to the database{cache}", count(workers, "worker"), count(connections, "connection"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_options_are_named() {
        let wrong = |change: &dyn Fn(&mut TileServerOptions), kind| {
            let mut options = TileServerOptions::usual(kind);
            change(&mut options);
            check(&options).err().map(|error| error.to_string()).unwrap_or_default()
        };
        let none = "option workers of the tile server tipg: it takes 1 to 256";
        assert_eq!(wrong(&|o| o.workers = Some(0), TileServerKind::Tipg), none);
        let many = "option connections of the tile server martin: it takes 1 to 10000";
        assert_eq!(wrong(&|o| o.connections = Some(10_001), TileServerKind::Martin), many);
        let cache = "option cache_mb of the tile server tipg: it keeps no tiles; martin does";
        assert_eq!(wrong(&|o| o.cache_mb = Some(64), TileServerKind::Tipg), cache);
        assert_eq!(wrong(&|o| o.cache_mb = Some(64), TileServerKind::Martin), "");
    }

    #[test]
    fn pools_hold_what_clients_need() {
        let of = |kind, workers, connections, clients| {
            let options =
                TileServerOptions { workers: Some(workers), connections, ..TileServerOptions::usual(kind) };
            (pool(&options, clients), words(&options, clients))
        };
        let text = |text: &str| text.to_owned();
        assert_eq!(
            of(TileServerKind::Tipg, 2, None, 5),
            (3, text("2 workers, 6 connections to the database"))
        );
        assert_eq!(
            of(TileServerKind::Martin, 1, None, 5),
            (5, text("1 worker, 5 connections to the database, no cache"))
        );
        assert_eq!(of(TileServerKind::Martin, 2, None, 1000).0, 50);
        assert_eq!(of(TileServerKind::Martin, 2, Some(1), 1000).0, 1);
        let cached = TileServerOptions {
            cache_mb: Some(64),
            workers: Some(1),
            ..TileServerOptions::usual(TileServerKind::Martin)
        };
        assert_eq!(words(&cached, 1), "1 worker, 1 connection to the database, a cache of 64 MB");
    }

    #[test]
    fn names_of_tables_are_written_into_paths() {
        let path = tile_path(TileServerKind::Tipg, "public", "a b/c");
        assert_eq!(path, "/collections/public.a%20b%2Fc/tiles/WebMercatorQuad/{z}/{x}/{y}");
        assert_eq!(tile_path(TileServerKind::Martin, "osm", "roads"), "/osm.roads/{z}/{x}/{y}");
    }
}
