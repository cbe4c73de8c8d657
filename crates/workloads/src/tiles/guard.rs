//! Proves that tiles hold something: an empty query shows a splendid rate.

use super::check::Layer;
use super::grid::Tile;
use super::prepare::{Picked, spread};
use super::query::{Style, literal};
use crate::error::WorkloadError;
use crate::workload::Guarded;
use protocol::postgres::sql::{Sql, long};

/// Tiles probed for each layer and zoom.
const PROBES: usize = 6;

/// Tiles looked at when the first ones are all empty, before the layer is called empty.
const PATIENCE: usize = 500;

/// Makes a sample of the picked tiles; where all of it is empty, goes on until one holds something.
pub(super) fn probe(
    sql: &mut dyn Sql,
    layers: &[(Layer, Picked)],
    style: Style,
) -> Result<Guarded, WorkloadError> {
    let mut guarded = Guarded::default();
    let mut sample = Sample::default();
    for (layer, picked) in layers {
        let mut one = Sample::default();
        for tile in spread(picked, PROBES) {
            one.add(length(sql, layer, tile, style)?);
        }
        let mut more = picked.zooms.iter().flatten().take(PATIENCE);
        while one.bytes == 0
            && let Some(tile) = more.next()
        {
            one.add(length(sql, layer, *tile, style)?);
        }
        if one.bytes == 0 {
            let what = format!("all {} probed tiles of {} are empty", one.tiles, layer.shown);
            guarded.empty.get_or_insert(what);
        }
        sample.join(&one);
    }
    if sample.empty > 0 && guarded.empty.is_none() {
        guarded.notes.push(format!("{} of {} probed tiles are empty", sample.empty, sample.tiles));
    }
    guarded.rows = sample.tiles - sample.empty;
    guarded.bytes = sample.bytes;
    guarded.figures.extend(sample.figures().map(|(name, value)| (name.to_owned(), value)));
    Ok(guarded)
}

/// Bytes of a tile.
pub(super) fn length(
    sql: &mut dyn Sql,
    layer: &Layer,
    tile: Tile,
    style: Style,
) -> Result<u64, WorkloadError> {
    let query = format!("SELECT octet_length(({}))", literal(layer, tile, style));
    let length = long(sql)
        .scalar(&query)
        .map_err(WorkloadError::sql(format!("making tile {tile} of {}", layer.shown)))?;
    Ok(length.and_then(|length| length.parse().ok()).unwrap_or(0))
}

/// Tiles that were probed.
#[derive(Debug, Default)]
struct Sample {
    tiles: u64,
    empty: u64,
    bytes: u64,
}

impl Sample {
    fn add(&mut self, bytes: u64) {
        self.tiles += 1;
        self.empty += u64::from(bytes == 0);
        self.bytes += bytes;
    }

    fn join(&mut self, other: &Self) {
        self.tiles += other.tiles;
        self.empty += other.empty;
        self.bytes += other.bytes;
    }

    fn figures(&self) -> [(&'static str, f64); 3] {
        let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        [
            ("probe_tiles", self.tiles as f64),
            ("empty_tiles_pct", 100.0 * share(self.empty, self.tiles)),
            ("tile_bytes_mean", share(self.bytes, self.tiles - self.empty)),
        ]
    }
}
