//! Proves that tiles hold something: an empty query shows a splendid rate.

use std::collections::BTreeMap;

use spec::TileSample;
use spec::figures::{self, Figures};
use tile::{Tile, mvt};

use super::fetch::Fetch;
use super::layer::Layer;
use super::taste::{self, Taste};
use crate::answers::SAMPLE;
use crate::error::WorkloadError;
use crate::workload::Guarded;

/// Tiles looked at when the first ones are all empty, before the layer is called empty.
const PATIENCE: usize = 500;

/// One layer at one zoom, as it is counted.
pub(super) struct Part<'a> {
    pub(super) script: u32,
    pub(super) layer: &'a Layer,
    /// Different tiles of the list, spread over it.
    pub(super) tiles: Vec<Tile>,
}

/// Makes a sample of the picked tiles; where all of a layer is empty, goes on until one holds something.
pub(super) fn probe(
    from: &mut dyn Fetch,
    parts: &[Part<'_>],
    all: &BTreeMap<&str, Vec<Tile>>,
) -> Result<Guarded, WorkloadError> {
    let mut guarded = Guarded::default();
    let mut held: BTreeMap<&str, TileSample> = BTreeMap::new();
    for part in parts {
        let tiles = &part.tiles[..part.tiles.len().min(SAMPLE as usize)];
        let mut sample = TileSample { script: part.script, ..TileSample::default() };
        for taste in taste::several(from, part.layer, tiles)? {
            is_a_tile(part.layer, &taste)?;
            let features_in = from.features_in(part.layer, taste.tile)?;
            sample.add(&TileSample { features_in, ..taste.held(part.script) });
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
        let tiles = all.get(shown).map_or(&[][..], |tiles| &tiles[..tiles.len().min(PATIENCE)]);
        for tile in tiles {
            let taste = Taste { tile: *tile, bytes: from.tile(part.layer, *tile)? };
            is_a_tile(part.layer, &taste)?;
            sample.add(&taste.held(part.script));
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

/// Something that is not empty must be a vector tile.
fn is_a_tile(layer: &Layer, taste: &Taste) -> Result<(), WorkloadError> {
    match mvt::measure(&taste.bytes) {
        Ok(_) => Ok(()),
        Err(broken) => Err(WorkloadError::missing(
            format!("what {} gives for {} is no vector tile: {broken}", layer.shown, taste.tile),
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
