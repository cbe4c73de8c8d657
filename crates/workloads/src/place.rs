//! Where clients and checks of a workload connect.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::check_time::CheckTime;
use crate::error;
use protocol::http;
use protocol::postgres::conninfo::TargetSession;
use protocol::postgres::sql::Sql;
use protocol::postgres::{HostName, Place, PlaceWithRole};
use protocol::redis::{self, ControlError, Limits};
use protocol::{Address, percent_encoded};
use spec::Error;

/// A PostgreSQL server and its replacements.
#[derive(Debug, Clone)]
pub struct PostgresPlace {
    pub place: Place,
    /// Where a client that lost this server looks for it, in order, starting with the server itself; only
    /// there when empty.
    pub again: Vec<Place>,
    /// Which of these to accept, as far as a server reports it.
    pub wanted: TargetSession,
    /// All servers, if clients are spread over several; otherwise empty.
    pub all: Vec<PlaceWithRole>,
    /// The servers that scripts can name.
    pub targets: TargetPlaces,
}

/// The servers of a target that scripts can name (`target = "replica"`).
#[derive(Debug, Clone, Default)]
pub struct TargetPlaces {
    /// The server itself, without a pooler.
    pub primary: Option<Place>,
    pub pooler: Option<Place>,
    pub replicas: Vec<Place>,
}

impl TargetPlaces {
    fn all(&self) -> impl Iterator<Item = &Place> {
        self.primary.iter().chain(&self.pooler).chain(&self.replicas)
    }
}

impl From<Place> for PostgresPlace {
    fn from(place: Place) -> Self {
        Self {
            place,
            again: Vec::new(),
            wanted: TargetSession::Any,
            all: Vec::new(),
            targets: TargetPlaces::default(),
        }
    }
}

/// Where one of a target's servers is.
#[derive(Debug, Clone)]
pub enum ServerPlace {
    Postgres(Box<PostgresPlace>),
    Redis(Address),
    /// A tile server in front of PostgreSQL.
    Http(HttpPlace),
}

/// A tile server: its address, and its paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpPlace {
    pub address: SocketAddr,
    /// Path of the tiles of a table, or of a function that makes tiles, with `{source}` for `SCHEMA.TABLE`,
    /// and `{z}/{x}/{y}` for the tile.
    pub tiles: String,
}

impl HttpPlace {
    /// The URL of a table's tiles, with `{z}/{x}/{y}` in it.
    #[must_use]
    pub fn tiles_of(&self, schema: &str, table: &str) -> String {
        let source = percent_encoded(format!("{schema}.{table}").as_bytes());
        format!("http://{}{}", self.address, self.tiles.replace("{source}", &source))
    }
}

/// Where clients connect: the servers of a target by name.
#[derive(Debug, Clone, Default)]
pub struct Places(BTreeMap<String, ServerPlace>);

impl Places {
    /// Name of the measured PostgreSQL server.
    pub const POSTGRES: &'static str = "postgres";
    /// Name of the measured Redis server.
    pub const REDIS: &'static str = "redis";

    /// Adds a server.
    #[must_use]
    pub fn with(mut self, name: &str, place: ServerPlace) -> Self {
        self.0.insert(name.to_owned(), place);
        self
    }

    /// The looked-up names, whose addresses may change; may contain duplicates.
    #[must_use]
    pub fn names(&self) -> Vec<Arc<HostName>> {
        let postgres = self.0.values().filter_map(|server| match server {
            ServerPlace::Postgres(postgres) => Some(postgres),
            ServerPlace::Redis(_) | ServerPlace::Http(_) => None,
        });
        let places = postgres.flat_map(|postgres| {
            let several = postgres.all.iter().map(|server| &server.place);
            let named = postgres.targets.all();
            std::iter::once(&postgres.place).chain(&postgres.again).chain(several).chain(named)
        });
        places.filter_map(|place| Some(Arc::clone(place.named.as_ref()?.name()))).collect()
    }

    /// The PostgreSQL server.
    pub fn postgres(&self) -> Result<&PostgresPlace, Error> {
        match self.0.get(Self::POSTGRES) {
            Some(ServerPlace::Postgres(place)) => Ok(place),
            _ => Err(error::no_server("PostgreSQL")),
        }
    }

    /// The Redis server.
    pub fn redis(&self) -> Result<&Address, Error> {
        match self.0.get(Self::REDIS) {
            Some(ServerPlace::Redis(address)) => Ok(address),
            _ => Err(error::no_server("Redis")),
        }
    }

    /// A tile server by its name, `tipg` or `martin`.
    pub fn tile_server(&self, name: &str) -> Result<&HttpPlace, Error> {
        match self.0.get(name) {
            Some(ServerPlace::Http(place)) => Ok(place),
            _ => Err(error::no_tile_server(name)),
        }
    }
}

impl From<PostgresPlace> for Places {
    fn from(place: PostgresPlace) -> Self {
        Self::default().with(Self::POSTGRES, ServerPlace::Postgres(Box::new(place)))
    }
}

impl From<Place> for Places {
    fn from(place: Place) -> Self {
        PostgresPlace::from(place).into()
    }
}

impl From<Address> for Places {
    fn from(redis: Address) -> Self {
        Self::default().with(Self::REDIS, ServerPlace::Redis(redis))
    }
}

/// What a workload can use outside the timed part of a run.
#[derive(Default)]
pub struct Site<'a> {
    pub sql: Option<&'a mut dyn Sql>,
    /// A replica of it, where scripts go to one.
    pub replica: Option<&'a mut dyn Sql>,
    pub redis: Option<&'a dyn RedisServer>,
    /// Tile servers by name, `tipg` and `martin`.
    pub tile_servers: BTreeMap<&'static str, HttpPlace>,
    pub http: Option<&'a dyn http::HttpConnector>,
    /// How long a check or an explanation may take.
    pub time: CheckTime<'a>,
    /// Describes an arm's effects on answers, in any words: equal texts mean equal answers. Empty where
    /// nothing is done.
    pub state: String,
}

/// Opens control connections to a Redis server.
pub trait RedisServer {
    /// Opens one.
    ///
    /// # Errors
    /// When nobody answers there.
    fn control(&self) -> Result<Box<dyn redis::RedisConnection + '_>, ControlError>;

    /// Its limits at the start, if it is ours and they may be changed.
    fn limits_at_start(&self) -> Option<&Limits> {
        None
    }
}

impl<'a> Site<'a> {
    /// A site with PostgreSQL only.
    pub fn postgres(sql: &'a mut dyn Sql) -> Self {
        Self { sql: Some(sql), ..Self::default() }
    }

    /// The control connection.
    pub fn sql(&mut self) -> Result<&mut (dyn Sql + 'a), Error> {
        match self.sql.as_mut() {
            Some(sql) => Ok(&mut **sql),
            None => Err(error::no_server("PostgreSQL")),
        }
    }

    /// A tile server by its name.
    pub fn tile_server(&self, name: &str) -> Result<&HttpPlace, Error> {
        self.tile_servers.get(name).ok_or_else(|| error::no_tile_server(name))
    }

    /// A control connection to the Redis server.
    ///
    /// # Errors
    /// When the target has none, or nobody answers there.
    pub fn redis(&self) -> Result<Box<dyn redis::RedisConnection + 'a>, Error> {
        let server = self.redis.ok_or_else(|| error::no_server("Redis"))?;
        server.control().map_err(error::redis)
    }

    /// The Redis server's limits at its start, if it is ours and they may be changed.
    #[must_use]
    pub fn limits_at_start(&self) -> Option<&'a Limits> {
        self.redis.and_then(|server| server.limits_at_start())
    }

    /// Connections to web servers.
    pub fn http(&self) -> Result<&'a dyn http::HttpConnector, Error> {
        self.http.ok_or_else(|| error::no_server("web"))
    }
}

impl std::fmt::Debug for Site<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Site")
            .field("sql", &self.sql.is_some())
            .field("redis", &self.redis.is_some())
            .field("http", &self.http.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_server_is_found_by_its_name_and_a_missing_one_is_an_error() {
        let tiles = "/collections/{source}/tiles/WebMercatorQuad/{z}/{x}/{y}".to_owned();
        let tipg = HttpPlace { address: ([127, 0, 0, 1], 8000).into(), tiles };
        let places = Places::default().with("tipg", ServerPlace::Http(tipg.clone()));
        let url = places.tile_server("tipg").unwrap().tiles_of("osm", "a b");
        assert_eq!(url, "http://127.0.0.1:8000/collections/osm.a%20b/tiles/WebMercatorQuad/{z}/{x}/{y}");
        let site = Site { tile_servers: [("tipg", tipg)].into(), ..Site::default() };
        assert!(site.tile_server("tipg").is_ok());
        let message = [places.tile_server("martin").map(drop), site.tile_server("martin").map(drop)];
        for message in message {
            let wanted = "the workload goes through martin, and the target has none; write tile_servers = [\"martin\"] \
                          in [target]";
            assert_eq!(message.unwrap_err().to_string(), wanted);
        }
    }
}
