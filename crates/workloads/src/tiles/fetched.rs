//! The contents of single tiles.

use std::time::{Duration, Instant};

use spec::{Error, TileProbe, TileSample};
use tile::picture::{self, Format};
use tile::{Tile, mvt};

use super::fetch::{Fetch, NotLookedAt};
use super::layer::TileLayer;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FetchedTile {
    pub(super) tile: Tile,
    pub(super) bytes: Vec<u8>,
    /// From the request to the tile.
    pub(super) took: Duration,
}

impl FetchedTile {
    pub(super) fn fetch(from: &mut dyn Fetch, layer: &TileLayer, tile: Tile) -> Result<Self, Error> {
        from.begin()?;
        let start = Instant::now();
        let bytes = from.tile(layer, tile);
        let took = start.elapsed();
        let ended = from.end(bytes.is_err());
        let bytes = bytes?;
        ended.map(|()| Self { tile, bytes, took })
    }

    /// As [`Self::fetch`]; `None` for one that is not looked at.
    pub(super) fn within_time(
        from: &mut dyn Fetch,
        layer: &TileLayer,
        tile: Tile,
    ) -> Result<Option<Self>, Error> {
        looked_at(Self::fetch(from, layer, tile))
    }

    pub(super) fn probe(&self, script: u32) -> TileProbe {
        let (Tile { z, x, y }, us) = (self.tile, self.took.as_secs_f64() * 1e6);
        TileProbe { script, tiles: 1, mean_us: us, z, x, y, max_us: us }
    }

    /// Checks that it is a vector tile, which an empty one is, or a picture.
    ///
    /// # Errors
    /// What it is, and what to try.
    pub(super) fn check(&self, from: &dyn Fetch, layer: &TileLayer) -> Result<(), Error> {
        broken(&self.bytes)
            .map_or(Ok(()), |broken| Err(from.not_a_tile(layer, (self.tile, &self.bytes), &broken)))
    }

    /// Its contents; rows that were made into features are not known yet.
    pub(super) fn held(&self, script: u32) -> TileSample {
        let is_picture = Format::of(&self.bytes).is_some();
        let measured = mvt::measure(&self.bytes).ok().filter(|_| !is_picture);
        TileSample {
            script,
            tiles: 1,
            empty: u64::from(has_contents(&self.bytes) == Some(false)),
            features_in: None,
            features_out: measured.as_ref().map(mvt::TileContents::features),
            vertices: measured.as_ref().map(mvt::TileContents::vertices),
            bytes: self.bytes.len() as u64,
        }
    }
}

/// Why bytes are neither a vector tile, which an empty one is, nor a picture.
pub(super) fn broken(bytes: &[u8]) -> Option<String> {
    match Format::of(bytes) {
        Some(_) => picture::decode(bytes).err().map(|broken| broken.to_string()),
        None => mvt::measure(bytes).err().map(|broken| broken.to_string()),
    }
}

/// Whether there is something to draw: a layer without a feature has only a name, a picture of one colour shows
/// nothing. `None` for what is neither a vector tile nor a picture.
pub(super) fn has_contents(bytes: &[u8]) -> Option<bool> {
    match picture::decode(bytes) {
        Ok(picture) => Some(!picture.is_blank()),
        Err(_) => Some(mvt::measure(bytes).ok()?.features() > 0),
    }
}

/// `None` where a check left something out.
pub(super) fn looked_at<T>(found: Result<T, Error>) -> Result<Option<T>, Error> {
    match found {
        Err(error) if error.attached::<NotLookedAt>().is_some() => Ok(None),
        found => found.map(Some),
    }
}
