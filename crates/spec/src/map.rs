//! Map data of a run: the part of the map that a script asks for, single tiles, and the content of tiles.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// The part of a map that a script asks for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct MapPart {
    /// Table, function or file that it comes from; several are joined by ` + `.
    pub layer: String,
    /// `None` for requests without a zoom, such as boxes.
    pub zoom: Option<u8>,
    /// Whether a cache answered; `None` without a cache.
    pub cached: Option<bool>,
}

/// Maps the indexes of an arm's layers to the base's: by name, then the rest in order if both have the same
/// number of them. Layers without a counterpart are missing.
#[must_use]
pub fn same_layers(base: &[&str], arm: &[&str]) -> BTreeMap<usize, usize> {
    let (mut same, mut taken) = (BTreeMap::new(), BTreeSet::new());
    for (at, name) in arm.iter().enumerate() {
        let namesake = (0..base.len()).find(|of_base| base[*of_base] == *name && !taken.contains(of_base));
        if let Some(of_base) = namesake {
            same.insert(at, of_base);
            taken.insert(of_base);
        }
    }
    let left: Vec<usize> = (0..arm.len()).filter(|at| !same.contains_key(at)).collect();
    let left_of_base: Vec<usize> = (0..base.len()).filter(|at| !taken.contains(at)).collect();
    if left.len() == left_of_base.len() {
        same.extend(left.into_iter().zip(left_of_base));
    }
    same
}

/// Requests for one tile of one script, over the measured part of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TileFigures {
    /// Index into [`crate::Run::scripts`].
    pub script: u32,
    pub z: u8,
    pub x: u32,
    pub y: u32,
    /// At least 1.
    pub requests: u64,
    /// Mean time from request to answer, µs.
    pub mean_us: f64,
    pub max_us: f64,
    /// Mean length as received, bytes.
    pub bytes: f64,
}

impl TileFigures {
    /// Fewest requests for which a tile's mean alone ranks it among slow ones.
    pub const OFTEN: u64 = 3;

    /// Whether it was requested often enough to rank by its own mean.
    #[must_use]
    pub fn came_often(&self) -> bool {
        self.requests >= Self::OFTEN
    }

    /// The time that ranks it among slow tiles, where a tile of its zoom takes `zoom_us` on average, µs. A stall
    /// of the machine makes a single request slow, but not a zoom.
    #[must_use]
    pub fn rank_us(&self, zoom_us: f64) -> f64 {
        if self.came_often() { self.mean_us } else { self.mean_us.min(zoom_us) }
    }
}

/// Content of the tiles of one script, over a sample taken outside the measured part; the same sample for all
/// arms.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TileSample {
    /// Index into [`crate::Run::scripts`].
    pub script: u32,
    pub tiles: u64,
    pub empty: u64,
    /// Rows made into features, over all tiles; `None` if the server does not report it.
    pub features_in: Option<u64>,
    /// Features in the tiles; `None` if they are not vector tiles.
    pub features_out: Option<u64>,
    pub vertices: Option<u64>,
    /// Uncompressed.
    pub bytes: u64,
}

impl TileSample {
    /// Adds tiles of the same script.
    pub fn add(&mut self, other: &Self) {
        let sum = |own: Option<u64>, other: Option<u64>| Some(own? + other?);
        let first = self.tiles == 0;
        let joined = |own, other| if first { other } else { sum(own, other) };
        self.features_in = joined(self.features_in, other.features_in);
        self.features_out = joined(self.features_out, other.features_out);
        self.vertices = joined(self.vertices, other.vertices);
        self.tiles += other.tiles;
        self.empty += other.empty;
        self.bytes += other.bytes;
    }

    /// Share of empty tiles, 0..=1.
    #[must_use]
    pub fn empty_share(&self) -> f64 {
        self.empty as f64 / self.tiles.max(1) as f64
    }

    /// Mean per tile of a sum.
    #[must_use]
    pub fn per_tile(&self, sum: u64) -> f64 {
        sum as f64 / self.tiles.max(1) as f64
    }
}

/// Times of the tiles of one script that were requested once each before the measured part, one at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TileProbe {
    /// Index into [`crate::Run::scripts`].
    pub script: u32,
    /// At least 1.
    pub tiles: u64,
    pub mean_us: f64,
    /// The slowest of them.
    pub z: u8,
    pub x: u32,
    pub y: u32,
    pub max_us: f64,
}

impl TileProbe {
    /// Adds tiles of the same script.
    pub fn add(&mut self, other: &Self) {
        let sum = self.mean_us * self.tiles as f64 + other.mean_us * other.tiles as f64;
        self.tiles += other.tiles;
        self.mean_us = sum / self.tiles.max(1) as f64;
        if other.max_us > self.max_us {
            (self.z, self.x, self.y, self.max_us) = (other.z, other.x, other.y, other.max_us);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_of_two_probes_is_kept() {
        let probe =
            |tiles, mean_us, x, max_us| TileProbe { script: 0, tiles, mean_us, z: 3, x, y: 1, max_us };
        let mut sum = probe(1, 40.0, 5, 40.0);
        sum.add(&probe(3, 20.0, 6, 30.0));
        assert_eq!(sum, probe(4, 25.0, 5, 40.0));
        sum.add(&probe(1, 75.0, 7, 75.0));
        assert_eq!(sum, probe(5, 35.0, 7, 75.0));
    }

    #[test]
    fn what_one_tile_does_not_tell_the_sum_does_not_tell() {
        let one = |features_in| TileSample {
            tiles: 1,
            features_in,
            features_out: Some(2),
            bytes: 10,
            ..TileSample::default()
        };
        let mut sum = TileSample::default();
        sum.add(&one(Some(3)));
        sum.add(&TileSample { tiles: 1, empty: 1, ..one(Some(4)) });
        assert_eq!((sum.features_in, sum.features_out, sum.bytes), (Some(7), Some(4), 20));
        assert!((sum.empty_share() - 0.5).abs() < 1e-12);
        sum.add(&one(None));
        assert_eq!((sum.features_in, sum.tiles), (None, 3));
    }

    #[test]
    fn layers_are_the_same_by_name_and_then_by_place() {
        for (base, arm, wanted) in [
            (&["a", "b"][..], &["b", "a"][..], &[(0, 1), (1, 0)][..]),
            (&["a", "b"], &["b", "c"], &[(0, 1), (1, 0)]),
            (&["old.sql"], &["new.sql"], &[(0, 0)]),
            (&["a"], &["c", "a"], &[(1, 0)]),
            (&["a", "b"], &["ab"], &[]),
            (&["a", "a"], &["a", "a"], &[(0, 0), (1, 1)]),
        ] {
            assert_eq!(same_layers(base, arm), wanted.iter().copied().collect(), "{base:?} {arm:?}");
        }
    }
}
