//! Single tiles, fetched outside of the timed part to see what they hold.

use std::time::{Duration, Instant};

use protocol::postgres::sql::{Sql, long};
use record::TileSample;
use tile::{Tile, mvt};

use super::layer::{Layer, Style};
use crate::error::WorkloadError;

/// When the tiles of a zoom have taken so long, no further one of it is fetched.
const ENOUGH: Duration = Duration::from_secs(5);

/// A tile that was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Taste {
    pub(super) tile: Tile,
    pub(super) bytes: Vec<u8>,
}

impl Taste {
    /// What it holds; rows that were made into features are not known yet.
    pub(super) fn held(&self, script: u32) -> TileSample {
        let measured = mvt::measure(&self.bytes).ok();
        TileSample {
            script,
            tiles: 1,
            empty: u64::from(self.bytes.is_empty()),
            features_in: None,
            features_out: measured.as_ref().map(mvt::Measured::features),
            vertices: measured.as_ref().map(mvt::Measured::vertices),
            bytes: self.bytes.len() as u64,
        }
    }
}

/// Fetches tiles of one zoom, until they take too long; at least one.
pub(super) fn fetch(
    sql: &mut dyn Sql,
    layer: &Layer,
    style: Style,
    tiles: &[Tile],
) -> Result<Vec<Taste>, WorkloadError> {
    let start = Instant::now();
    let mut tastes = Vec::new();
    for tile in tiles {
        tastes.push(Taste { tile: *tile, bytes: one(sql, layer, style, *tile)? });
        if start.elapsed() > ENOUGH {
            break;
        }
    }
    Ok(tastes)
}

/// Fetches a tile.
pub(super) fn one(
    sql: &mut dyn Sql,
    layer: &Layer,
    style: Style,
    tile: Tile,
) -> Result<Vec<u8>, WorkloadError> {
    let query =
        format!("SELECT encode(answer.tile, 'hex') FROM ({}) AS answer (tile)", layer.literal(tile, style));
    let rows = long(sql)
        .rows(&query)
        .map_err(WorkloadError::sql(format!("making tile {tile} of {}", layer.shown)))?;
    if rows.len() > 1 {
        return Err(WorkloadError::Missing {
            what: format!("{} returned {} rows for tile {tile}", layer.shown, rows.len()),
            hint: "a tile is one row; let ST_AsMVT aggregate all features of it".to_owned(),
        });
    }
    let hex = rows.into_iter().next().and_then(|row| row.into_iter().next().flatten());
    Ok(from_hex(&hex.unwrap_or_default()))
}

/// Rows that are made into features of a tile; `None` where the server does not tell, as of what happens inside of a function.
pub(super) fn features_in(
    sql: &mut dyn Sql,
    layer: &Layer,
    style: Style,
    tile: Tile,
) -> Result<Option<u64>, WorkloadError> {
    let query = format!("EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON) {}", layer.literal(tile, style));
    let said = long(sql)
        .rows(&query)
        .map_err(WorkloadError::sql(format!("explaining tile {tile} of {}", layer.shown)))?;
    let said: Vec<String> = said.into_iter().flatten().flatten().collect();
    let plan = crate::explain::read(&said.join("\n")).ok();
    Ok(plan.and_then(|plan| plan.rows_into("st_asmvt")).map(|rows| rows.round() as u64))
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
