//! Fetches single tiles outside the timed part, as the clients do.

use std::collections::BTreeMap;

use protocol::http::HttpConnection;
use protocol::postgres::sql::{Sql, long};
use spec::Error;
use tile::Tile;

use super::layer::{Style, TileLayer};
use crate::error;
use crate::http::Web;

pub(super) trait Fetch {
    /// The bytes of a tile, decompressed; none for an empty one.
    fn tile(&mut self, layer: &TileLayer, tile: Tile) -> Result<Vec<u8>, Error>;

    /// Rows that are made into features of a tile; `None` if unknown.
    fn features_in(&mut self, _layer: &TileLayer, _tile: Tile) -> Result<Option<u64>, Error> {
        Ok(None)
    }
}

pub(super) struct FromDatabase<'a> {
    pub(super) sql: &'a mut dyn Sql,
    pub(super) style: Style,
}

impl Fetch for FromDatabase<'_> {
    fn tile(&mut self, layer: &TileLayer, tile: Tile) -> Result<Vec<u8>, Error> {
        let query = format!(
            "SELECT encode(answer.tile, 'hex') FROM ({}) AS answer (tile)",
            layer.literal(tile, self.style)
        );
        let rows = long(self.sql)
            .rows(&query)
            .map_err(error::sql_error(format!("making tile {tile} of {}", layer.shown)))?;
        if rows.len() > 1 {
            return Err(error::missing_error(
                format!("{} returned {} rows for tile {tile}", layer.shown, rows.len()),
                "a tile is one row; let ST_AsMVT aggregate all features of it",
            ));
        }
        let hex = rows.into_iter().next().and_then(|row| row.into_iter().next().flatten());
        Ok(from_hex(&hex.unwrap_or_default()))
    }

    /// A function's work is unknown.
    fn features_in(&mut self, layer: &TileLayer, tile: Tile) -> Result<Option<u64>, Error> {
        let query = format!("EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON) {}", layer.literal(tile, self.style));
        let lines = long(self.sql)
            .rows(&query)
            .map_err(error::sql_error(format!("explaining tile {tile} of {}", layer.shown)))?;
        let lines: Vec<String> = lines.into_iter().flatten().flatten().collect();
        let plan = crate::explain::read(&lines.join("\n")).ok();
        Ok(plan.and_then(|plan| plan.rows_into("st_asmvt")).map(|rows| rows.round() as u64))
    }
}

pub(super) struct FromWeb<'a> {
    /// By the shown name of the layer.
    pub(super) webs: &'a BTreeMap<String, Web>,
    pub(super) control: Box<dyn HttpConnection + 'a>,
}

impl Fetch for FromWeb<'_> {
    fn tile(&mut self, layer: &TileLayer, tile: Tile) -> Result<Vec<u8>, Error> {
        let web = self.webs.get(&layer.shown).ok_or_else(|| error::no_server("web"))?;
        let Tile { z, x, y } = tile;
        Ok(web.ask(&web.url().path(z, x, y), &mut *self.control)?.body)
    }
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks_exact(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_is_read() {
        assert_eq!(from_hex("1a00ff"), [0x1a, 0, 0xff]);
        assert_eq!(from_hex(""), [0_u8; 0]);
    }
}
