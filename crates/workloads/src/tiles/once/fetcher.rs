//! Asks for tiles over one connection: from the database, or from a web server.

use protocol::http::{HttpConnection, HttpConnector};
use protocol::postgres::sql::{Sql, SqlError, long};
use spec::{Class, Error};
use tile::Tile;

use super::super::fetch::{in_hex, of_hex};
use super::super::layer::{Style, TileLayer};
use crate::error;
use crate::http::Web;
use crate::jobs::{BoxedSql, Runtime};

/// How long a server is waited for that is not there, such as one that recovers from a crash.
const PATIENCE_US: u64 = 60_000_000;
const PAUSE_US: u64 = 1_000_000;
/// Attempts for a tile at which connections end; other tiles may be the cause.
const ATTEMPTS: u32 = 3;
/// Tiles in a row at which connections end, until the server is called lost.
const IN_A_ROW: u32 = 20;
/// A statement that was prepared on another connection of a pooler, or is there already.
const NOT_OURS: [&str; 2] = ["26000", "42P05"];

/// Where tiles come from.
#[derive(Clone, Copy)]
pub(super) enum TileOrigin<'a> {
    Database { layer: &'a TileLayer, style: Style },
    Web { web: &'a Web, http: &'a (dyn HttpConnector + Sync) },
}

/// Why there is no tile.
pub(super) enum NoTile {
    /// This one failed; others may not.
    Failed(String),
    /// The server is gone.
    Lost(Error),
    Stopped,
}

pub(super) struct Fetcher<'a> {
    origin: TileOrigin<'a>,
    runtime: &'a dyn Runtime,
    sql: Option<PreparedSql>,
    http: Option<Box<dyn HttpConnection + Send + 'a>>,
    /// Tiles in a row at which the connection ended.
    in_a_row: u32,
}

/// A connection with the statement of one zoom, if it can be prepared.
struct PreparedSql {
    sql: BoxedSql,
    zoom: Option<u8>,
    prepares: bool,
}

impl<'a> Fetcher<'a> {
    pub(super) fn new(origin: TileOrigin<'a>, runtime: &'a dyn Runtime) -> Self {
        Self { origin, runtime, sql: None, http: None, in_a_row: 0 }
    }

    /// The bytes of a tile, and the time from request to answer, µs. A tile at which the connection ends has failed, if
    /// the server is still there.
    pub(super) fn fetch(&mut self, tile: Tile) -> Result<(Vec<u8>, u64), NoTile> {
        let mut attempts = 0;
        loop {
            if self.runtime.stopped() {
                return Err(NoTile::Stopped);
            }
            let lost = match self.attempt(tile) {
                Err(NoTile::Lost(error)) => error,
                // The stop cancelled the statement.
                Err(NoTile::Failed(_)) if self.runtime.stopped() => return Err(NoTile::Stopped),
                answered => {
                    self.in_a_row = 0;
                    return answered;
                }
            };
            (self.sql, self.http) = (None, None);
            self.reconnect()?;
            attempts += 1;
            if attempts == ATTEMPTS {
                self.in_a_row += 1;
                return Err(match self.in_a_row {
                    IN_A_ROW.. => NoTile::Lost(lost),
                    _ => NoTile::Failed(format!("the connection ended at it {ATTEMPTS} times: {lost}")),
                });
            }
        }
    }

    /// Connects, unless it is connected.
    pub(super) fn connect(&mut self) -> Result<(), Error> {
        match self.origin {
            TileOrigin::Database { .. } if self.sql.is_none() => {
                let sql = self.runtime.connect().map_err(error::sql_error("connecting"))?;
                self.sql = Some(PreparedSql { sql, zoom: None, prepares: true });
            }
            TileOrigin::Web { web, http } if self.http.is_none() => self.http = Some(web.control_by(http)?),
            TileOrigin::Database { .. } | TileOrigin::Web { .. } => {}
        }
        Ok(())
    }

    fn reconnect(&mut self) -> Result<(), NoTile> {
        let until_us = self.runtime.now_us().saturating_add(PATIENCE_US);
        while let Err(error) = self.connect() {
            if self.runtime.stopped() {
                return Err(NoTile::Stopped);
            }
            if self.runtime.now_us() >= until_us {
                return Err(NoTile::Lost(error));
            }
            self.runtime.sleep_us(PAUSE_US);
        }
        Ok(())
    }

    fn attempt(&mut self, tile: Tile) -> Result<(Vec<u8>, u64), NoTile> {
        match self.origin {
            TileOrigin::Database { layer, style } => self.ask_database(layer, style, tile),
            TileOrigin::Web { web, .. } => self.ask_web(web, tile),
        }
    }

    fn ask_database(
        &mut self,
        layer: &TileLayer,
        style: Style,
        tile: Tile,
    ) -> Result<(Vec<u8>, u64), NoTile> {
        self.connect().map_err(NoTile::Lost)?;
        let Some(own) = self.sql.as_mut() else { unreachable!("it was just opened") };
        own.prepare(layer, style, tile.z).map_err(no_tile)?;
        let statement = own.statement(layer, style, tile);
        let start = self.runtime.now_us();
        let rows = match long(&mut *own.sql).rows(&statement) {
            Err(error) if own.prepares && NOT_OURS.iter().any(|code| error.is(code)) => {
                own.prepares = false;
                let statement = own.statement(layer, style, tile);
                long(&mut *own.sql).rows(&statement)
            }
            answered => answered,
        };
        let took = self.runtime.now_us().saturating_sub(start);
        let content = of_hex(rows.map_err(no_tile)?).map_err(NoTile::Failed)?;
        Ok((content, took))
    }

    fn ask_web(&mut self, web: &'a Web, tile: Tile) -> Result<(Vec<u8>, u64), NoTile> {
        let of_class = |error: Error| match error.class() {
            Class::Unreachable => NoTile::Lost(error),
            _ => NoTile::Failed(error.to_string()),
        };
        self.connect().map_err(of_class)?;
        let Some(connection) = self.http.as_deref_mut() else { unreachable!("it was just opened") };
        let path = web.url().path(tile.z, tile.x, tile.y);
        let start = self.runtime.now_us();
        let got = web.ask(&path, connection).map_err(of_class)?;
        Ok((got.body, self.runtime.now_us().saturating_sub(start)))
    }
}

impl PreparedSql {
    /// As tile servers do: once for each connection and zoom.
    fn prepare(&mut self, layer: &TileLayer, style: Style, z: u8) -> Result<(), SqlError> {
        if !self.prepares || self.zoom == Some(z) {
            return Ok(());
        }
        if self.zoom.take().is_some() {
            // A pooler may have given the connection to others.
            let _ = self.sql.execute("DEALLOCATE pgdyno_once");
        }
        let text = in_hex(&layer.prepared(z, style));
        match self.sql.execute(&format!("PREPARE pgdyno_once (integer, integer, integer) AS {text}")) {
            Err(error) if NOT_OURS.iter().any(|code| error.is(code)) => self.prepares = false,
            Err(error) => return Err(error),
            Ok(()) => self.zoom = Some(z),
        }
        Ok(())
    }

    fn statement(&self, layer: &TileLayer, style: Style, tile: Tile) -> String {
        match self.prepares {
            true => format!("EXECUTE pgdyno_once ({}, {}, {})", tile.z, tile.x, tile.y),
            false => in_hex(&layer.literal(tile, style)),
        }
    }
}

fn no_tile(error: SqlError) -> NoTile {
    match Class::of_sqlstate(error.sqlstate.as_deref()) {
        Class::Unreachable => NoTile::Lost(error::sql_error("making it")(error)),
        _ => NoTile::Failed(error.text),
    }
}
