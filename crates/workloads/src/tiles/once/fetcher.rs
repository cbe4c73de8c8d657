//! Asks for tiles over one connection: from the database, or from a web server.

use protocol::http::{HttpConnection, HttpConnector};
use protocol::postgres::sql::{Sql, SqlError, long};
use spec::{Class, Error};
use tile::Tile;

use super::super::layer::{Style, TileLayer};
use crate::error;
use crate::http::Web;
use crate::jobs::{BoxedSql, Runtime};

/// Attempts to reach a server again before the job ends.
const ATTEMPTS: u32 = 3;
const PAUSE_US: u64 = 1_000_000;
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
    http: Option<Box<dyn HttpConnection + 'a>>,
}

/// A connection with the statement of one zoom, if it can be prepared.
struct PreparedSql {
    sql: BoxedSql,
    zoom: Option<u8>,
    prepares: bool,
}

impl<'a> Fetcher<'a> {
    pub(super) fn new(origin: TileOrigin<'a>, runtime: &'a dyn Runtime) -> Self {
        Self { origin, runtime, sql: None, http: None }
    }

    /// The bytes of a tile, and the time from request to answer, µs.
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
                answered => return answered,
            };
            (self.sql, self.http) = (None, None);
            attempts += 1;
            if attempts == ATTEMPTS {
                return Err(NoTile::Lost(lost));
            }
            self.runtime.sleep_us(PAUSE_US);
        }
    }

    fn attempt(&mut self, tile: Tile) -> Result<(Vec<u8>, u64), NoTile> {
        match self.origin {
            TileOrigin::Database { layer, style } => self.ask_database(layer, style, tile),
            TileOrigin::Web { web, http } => self.ask_web(web, http, tile),
        }
    }

    fn ask_database(
        &mut self,
        layer: &TileLayer,
        style: Style,
        tile: Tile,
    ) -> Result<(Vec<u8>, u64), NoTile> {
        let failed = |error: SqlError| no_tile(error, layer, tile);
        if self.sql.is_none() {
            let sql = self
                .runtime
                .connect()
                .map_err(|error| NoTile::Lost(error::sql_error("connecting")(error)))?;
            self.sql = Some(PreparedSql { sql, zoom: None, prepares: true });
        }
        let Some(own) = self.sql.as_mut() else { unreachable!("it was just opened") };
        own.prepare(layer, style, tile.z).map_err(failed)?;
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
        let first = rows.map_err(failed)?.into_iter().next().and_then(|row| row.into_iter().next().flatten());
        Ok((from_hex(first.unwrap_or_default().as_bytes()), took))
    }

    fn ask_web(
        &mut self,
        web: &'a Web,
        http: &'a (dyn HttpConnector + Sync),
        tile: Tile,
    ) -> Result<(Vec<u8>, u64), NoTile> {
        let of_class = |error: Error| match error.class() {
            Class::Unreachable => NoTile::Lost(error),
            _ => NoTile::Failed(error.to_string()),
        };
        if self.http.is_none() {
            self.http = Some(web.control_by(http).map_err(of_class)?);
        }
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
        let text = hex_of(&layer.prepared(z, style));
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
            false => hex_of(&layer.literal(tile, style)),
        }
    }
}

/// Control connections take text.
fn hex_of(statement: &str) -> String {
    format!("SELECT encode(answer.tile, 'hex') FROM ({statement}) AS answer (tile)")
}

fn no_tile(error: SqlError, layer: &TileLayer, tile: Tile) -> NoTile {
    match Class::of_sqlstate(error.sqlstate.as_deref()) {
        Class::Unreachable => {
            NoTile::Lost(error::sql_error(format!("making tile {tile} of {}", layer.shown))(error))
        }
        _ => NoTile::Failed(error.text),
    }
}

fn from_hex(text: &[u8]) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => byte - b'0',
        _ => (byte | 0x20).wrapping_sub(b'a') + 10,
    };
    text.chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_is_read() {
        assert_eq!(from_hex(b"1a00ffC3"), [0x1a, 0, 0xff, 0xc3]);
        assert!(from_hex(b"").is_empty());
    }
}
