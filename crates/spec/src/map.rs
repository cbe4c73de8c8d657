//! What a run says of a map: which part of it a script asks for, single tiles, and what tiles hold.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Of which part of a map a script's requests are.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct MapPart {
    /// Table, function or file that makes it; several of them are joined by ` + `.
    pub layer: String,
    /// Zoom of its tiles; `None` where they have none, as boxes of the map.
    pub zoom: Option<u8>,
    /// Whether a cache in front gave them; `None` where there is none.
    pub cached: Option<bool>,
}

/// Which layer of the base each of an arm's is, by their places: the one of its name; what is left goes by its place, where both
/// have as many of those. What has none is not in it.
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

/// What was asked for of one tile of one script, over the measured part of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TileFigures {
    /// Index into [`crate::Run::scripts`].
    pub script: u32,
    pub z: u8,
    pub x: u32,
    pub y: u32,
    /// How often it came, at least 1.
    pub requests: u64,
    /// Mean time from asking for it until it came, µs.
    pub mean_us: f64,
    /// Longest of these, µs.
    pub max_us: f64,
    /// Mean length as it came, bytes.
    pub bytes: f64,
}

impl TileFigures {
    /// One that came less often may have been slow by chance.
    pub const OFTEN: u64 = 3;

    /// Whether it came often enough to be called slow.
    #[must_use]
    pub fn came_often(&self) -> bool {
        self.requests >= Self::OFTEN
    }
}

/// What tiles of one script hold, over a sample taken beside the measured part; the same sample for all arms.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TileSample {
    /// Index into [`crate::Run::scripts`].
    pub script: u32,
    pub tiles: u64,
    /// Those of them that hold nothing.
    pub empty: u64,
    /// Rows that were made into features, over all of them; `None` where the server does not tell.
    pub features_in: Option<u64>,
    /// Features in them; `None` where they are no vector tiles.
    pub features_out: Option<u64>,
    pub vertices: Option<u64>,
    /// Their length, unpacked.
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

    /// Share of its tiles that hold nothing, 0..=1.
    #[must_use]
    pub fn empty_share(&self) -> f64 {
        self.empty as f64 / self.tiles.max(1) as f64
    }

    /// Mean over its tiles of a sum.
    #[must_use]
    pub fn per_tile(&self, sum: u64) -> f64 {
        sum as f64 / self.tiles.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
