//! Checks that tiles have contents: an empty query has a high rate, too.

use std::collections::BTreeMap;

use spec::figures::{self, Figures};
use spec::{Error, TileSample};
use tile::{Tile, mvt};

use super::fetch::Fetch;
use super::fetched::{self, FetchedTile};
use super::layer::TileLayer;
use crate::answers::SAMPLE;
use crate::error;
use crate::workload::Guarded;

/// Tiles to try when the first ones are all empty, before the layer is called empty.
const MOST_PROBES: usize = 500;

/// One layer at one zoom, as it is counted.
pub(super) struct CountedLayer<'a> {
    pub(super) script: u32,
    pub(super) layer: &'a TileLayer,
    /// Different tiles, spread over its list.
    pub(super) tiles: Vec<Tile>,
}

/// Fetches a sample of the picked tiles; where all of a layer is empty, continues until one has contents.
pub(super) fn probe(
    from: &mut dyn Fetch,
    parts: &[CountedLayer<'_>],
    all: &BTreeMap<&str, Vec<Tile>>,
) -> Result<Guarded, Error> {
    let mut guarded = Guarded::default();
    let mut held: BTreeMap<&str, TileSample> = BTreeMap::new();
    for part in parts {
        let tiles = &part.tiles[..part.tiles.len().min(SAMPLE as usize)];
        let mut sample = TileSample { script: part.script, ..TileSample::default() };
        for fetched_tile in fetched::several(from, part.layer, tiles)? {
            is_a_tile(part.layer, &fetched_tile)?;
            let features_in = from.features_in(part.layer, fetched_tile.tile)?;
            sample.add(&TileSample { features_in, ..fetched_tile.held(part.script) });
        }
        held.entry(&part.layer.shown).or_default().add(&sample);
        // Views count all layers together.
        match guarded.samples.iter_mut().find(|known| known.script == part.script) {
            Some(known) => known.add(&sample),
            None => guarded.samples.push(sample),
        }
    }
    for part in parts {
        let shown = part.layer.shown.as_str();
        let Some(sample) = held.get_mut(shown).filter(|sample| sample.empty == sample.tiles) else {
            continue;
        };
        let tiles = all.get(shown).map_or(&[][..], |tiles| &tiles[..tiles.len().min(MOST_PROBES)]);
        for tile in tiles {
            let fetched_tile = FetchedTile { tile: *tile, bytes: from.tile(part.layer, *tile)? };
            is_a_tile(part.layer, &fetched_tile)?;
            sample.add(&fetched_tile.held(part.script));
            if sample.empty < sample.tiles {
                break;
            }
        }
        if sample.empty == sample.tiles {
            let what = format!("all {} probed tiles of {shown} are empty", sample.tiles);
            guarded.empty.get_or_insert(what);
        }
    }
    let mut sum = TileSample::default();
    held.values().for_each(|sample| sum.add(sample));
    if sum.empty > 0 && guarded.empty.is_none() {
        guarded.notes.push(format!("{} of {} probed tiles are empty", sum.empty, sum.tiles));
    }
    guarded.rows = sum.tiles - sum.empty;
    guarded.bytes = sum.bytes;
    guarded.figures = figures(&sum);
    Ok(guarded)
}

/// A tile that is not empty must be a vector tile.
fn is_a_tile(layer: &TileLayer, fetched_tile: &FetchedTile) -> Result<(), Error> {
    match mvt::measure(&fetched_tile.bytes) {
        Ok(_) => Ok(()),
        Err(broken) => Err(error::missing_error(
            format!("the answer of {} for {} is not a vector tile: {broken}", layer.shown, fetched_tile.tile),
            "select what ST_AsMVT gives",
        )),
    }
}

fn figures(sample: &TileSample) -> Figures {
    let full = TileSample { tiles: sample.tiles - sample.empty, ..*sample };
    let mut figures = Figures::from([
        (figures::PROBE_TILES, sample.tiles as f64),
        (figures::EMPTY_TILES_PCT, 100.0 * sample.empty_share()),
        (figures::TILE_BYTES_MEAN, full.per_tile(sample.bytes)),
    ]);
    let features = sample.features_out.map(|features| full.per_tile(features));
    figures.extend(features.map(|features| (figures::TILE_FEATURES_MEAN, features)));
    figures
}
