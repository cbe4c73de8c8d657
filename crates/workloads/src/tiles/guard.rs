//! Proves that tiles hold something: an empty query shows a splendid rate.

use super::check::Layer;
use super::prepare::{Picked, spread};
use super::query::{Style, literal};
use crate::error::WorkloadError;
use crate::sql::Sql;
use crate::workload::Guarded;

/// Tiles probed for each layer and zoom.
const PROBES: usize = 6;

/// Makes a sample of the picked tiles.
pub(super) fn probe(
    sql: &mut dyn Sql,
    layers: &[(Layer, Picked)],
    style: Style,
) -> Result<Guarded, WorkloadError> {
    let mut guarded = Guarded::default();
    let (mut probed, mut empty) = (0_u32, 0_u32);
    for (layer, picked) in layers {
        let before = guarded.bytes;
        for tile in spread(picked, PROBES) {
            let query = format!("SELECT octet_length(({}))", literal(layer, tile, style));
            let length = sql
                .scalar(&query)
                .map_err(WorkloadError::sql(format!("making tile {tile} of {}", layer.shown)))?;
            let length: u64 = length.and_then(|length| length.parse().ok()).unwrap_or(0);
            probed += 1;
            empty += u32::from(length == 0);
            guarded.rows += u64::from(length > 0);
            guarded.bytes += length;
        }
        if guarded.bytes == before {
            let what = format!("all probed tiles of {} are empty", layer.shown);
            guarded.empty.get_or_insert(what);
        }
    }
    let full = f64::from((probed - empty).max(1));
    let figures = [
        ("probe_tiles", f64::from(probed)),
        ("empty_tiles_pct", 100.0 * f64::from(empty) / f64::from(probed.max(1))),
        ("tile_bytes_mean", guarded.bytes as f64 / full),
    ];
    guarded.figures.extend(figures.map(|(name, value)| (name.to_owned(), value)));
    if empty > 0 && guarded.empty.is_none() {
        guarded.notes.push(format!("{empty} of {probed} probed tiles are empty"));
    }
    Ok(guarded)
}
