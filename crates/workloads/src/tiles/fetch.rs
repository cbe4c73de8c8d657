//! Fetches single tiles outside the timed part, as the clients do.

use std::collections::BTreeMap;

use protocol::http::HttpConnection;
use protocol::postgres::sql::{Sql, long};
use spec::Error;
use tile::Tile;

use super::layer::{Style, TileLayer};
use crate::error;
use crate::http::Web;
use crate::http::body::BodyKind;
use crate::http::delay::delay_words;

pub(super) trait Fetch {
    /// The bytes of a tile, decompressed; none for an empty one.
    fn tile(&mut self, layer: &TileLayer, tile: Tile) -> Result<Vec<u8>, Error>;

    /// Rows that are made into features of a tile; `None` if unknown.
    fn features_in(&mut self, _layer: &TileLayer, _tile: Tile) -> Result<Option<u64>, Error> {
        Ok(None)
    }

    /// The error for bytes that are not a tile.
    fn not_a_tile(&self, layer: &TileLayer, tile: (Tile, &[u8]), broken: &str) -> Error;

    /// What users should know about the way, after some tiles were fetched.
    fn warnings(&mut self) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
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

    fn not_a_tile(&self, layer: &TileLayer, (tile, _): (Tile, &[u8]), broken: &str) -> Error {
        error::missing_error(
            format!("the answer of {} for {tile} is not a vector tile: {broken}", layer.shown),
            "select what ST_AsMVT gives",
        )
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
    webs: &'a BTreeMap<String, Web>,
    control: Box<dyn HttpConnection + 'a>,
    /// Paths of the first layer that were fetched, at most [`REPEATED`].
    paths: Vec<String>,
}

/// Most requests that are repeated to see how the server answers.
const REPEATED: usize = 6;

impl<'a> FromWeb<'a> {
    pub(super) fn new(webs: &'a BTreeMap<String, Web>, control: Box<dyn HttpConnection + 'a>) -> Self {
        Self { webs, control, paths: Vec::new() }
    }

    fn web(&self, layer: &TileLayer) -> Result<&'a Web, Error> {
        self.webs.get(&layer.shown).ok_or_else(|| error::no_server("web"))
    }
}

impl Fetch for FromWeb<'_> {
    fn tile(&mut self, layer: &TileLayer, Tile { z, x, y }: Tile) -> Result<Vec<u8>, Error> {
        let web = self.web(layer)?;
        let path = web.url().path(z, x, y);
        let body = web.ask(&path, &mut *self.control)?.body;
        if self.paths.len() < REPEATED && self.webs.keys().next() == Some(&layer.shown) {
            self.paths.push(path);
        }
        Ok(body)
    }

    fn not_a_tile(&self, layer: &TileLayer, (Tile { z, x, y }, bytes): (Tile, &[u8]), broken: &str) -> Error {
        let asked = self
            .web(layer)
            .map(|web| format!("GET {} of {}", web.url().path(z, x, y), web.url().authority()));
        let kind = BodyKind::of(bytes);
        error::missing_error(
            format!(
                "{} returned {}, and neither a vector tile nor a PNG, JPEG or WebP picture: {broken}",
                asked.unwrap_or_else(|error| error.to_string()),
                kind.words()
            ),
            match kind {
                BodyKind::Gzip => "let the server send Content-Encoding: gzip, or compress tiles once",
                _ => {
                    "look at it with curl -i: is it the path of tiles, and which format does the server send there?"
                }
            },
        )
    }

    fn warnings(&mut self) -> Result<Vec<String>, Error> {
        let Some(web) = self.webs.values().next() else { return Ok(Vec::new()) };
        let delayed = delay_words(web, &std::mem::take(&mut self.paths), &mut *self.control)?;
        Ok(delayed.into_iter().collect())
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
