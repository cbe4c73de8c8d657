//! The contents of single tiles.

use std::time::{Duration, Instant};

use spec::{Error, TileProbe, TileSample};
use tile::picture::{self, Format};
use tile::{Tile, mvt};

use super::fetch::Fetch;
use super::layer::TileLayer;

/// After this time no further tile of a zoom is fetched.
const ENOUGH: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FetchedTile {
    pub(super) tile: Tile,
    pub(super) bytes: Vec<u8>,
    /// From the request to the tile.
    pub(super) took: Duration,
}

impl FetchedTile {
    pub(super) fn fetch(from: &mut dyn Fetch, layer: &TileLayer, tile: Tile) -> Result<Self, Error> {
        let start = Instant::now();
        let bytes = from.tile(layer, tile)?;
        Ok(Self { tile, bytes, took: start.elapsed() })
    }

    pub(super) fn probe(&self, script: u32) -> TileProbe {
        let (Tile { z, x, y }, us) = (self.tile, self.took.as_secs_f64() * 1e6);
        TileProbe { script, tiles: 1, mean_us: us, z, x, y, max_us: us }
    }

    /// Why it is neither a vector tile nor a picture; `None` if it is one of them. An empty one is a vector tile.
    pub(super) fn problem(&self) -> Option<String> {
        match Format::of(&self.bytes) {
            Some(_) => picture::decode(&self.bytes).err().map(|broken| broken.to_string()),
            None => mvt::measure(&self.bytes).err().map(|broken| broken.to_string()),
        }
    }

    /// Its contents; rows that were made into features are not known yet.
    pub(super) fn held(&self, script: u32) -> TileSample {
        let is_blank = picture::decode(&self.bytes).ok().map(|picture| picture.is_blank());
        let measured = mvt::measure(&self.bytes).ok().filter(|_| is_blank.is_none());
        let has_no_feature = || measured.as_ref().is_some_and(|held| held.features() == 0);
        TileSample {
            script,
            tiles: 1,
            // A layer without a feature has a name, and nothing to draw; so has a picture of one colour.
            empty: u64::from(is_blank.unwrap_or_else(has_no_feature)),
            features_in: None,
            features_out: measured.as_ref().map(mvt::TileContents::features),
            vertices: measured.as_ref().map(mvt::TileContents::vertices),
            bytes: self.bytes.len() as u64,
        }
    }
}

/// Fetches tiles of one zoom, until they take too long; at least one.
pub(super) fn several(
    tiles: &[Tile],
    mut fetch: impl FnMut(Tile) -> Result<Vec<u8>, Error>,
) -> Result<Vec<FetchedTile>, Error> {
    let start = Instant::now();
    let mut fetched_tiles = Vec::new();
    for tile in tiles {
        let begun = Instant::now();
        let bytes = fetch(*tile)?;
        fetched_tiles.push(FetchedTile { tile: *tile, bytes, took: begun.elapsed() });
        if start.elapsed() > ENOUGH {
            break;
        }
    }
    Ok(fetched_tiles)
}
