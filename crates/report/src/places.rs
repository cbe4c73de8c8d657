//! Figures of single tiles by place: the data of maps and GeoPackages.

use std::collections::{BTreeMap, BTreeSet};

use ::tile::Tile;
use results::comparison::{Cell, Level};
use results::{StoredTile, TilesOf};
use spec::TileFigures;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct PlaceFigures {
    pub(crate) requests: u64,
    sum_us: f64,
    pub(crate) max_us: f64,
    sum_bytes: f64,
}

impl PlaceFigures {
    pub(crate) fn of(tile: &TileFigures) -> Self {
        let requests = tile.requests as f64;
        Self {
            requests: tile.requests,
            sum_us: tile.mean_us * requests,
            max_us: tile.max_us,
            sum_bytes: tile.bytes * requests,
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.sum_us += other.sum_us;
        self.max_us = self.max_us.max(other.max_us);
        self.sum_bytes += other.sum_bytes;
    }

    pub(crate) fn sum_us(&self) -> f64 {
        self.sum_us
    }

    pub(crate) fn mean_us(&self) -> f64 {
        self.sum_us / self.requests.max(1) as f64
    }

    pub(crate) fn bytes(&self) -> f64 {
        self.sum_bytes / self.requests.max(1) as f64
    }
}

pub(crate) fn tile_of(tile: &StoredTile) -> Tile {
    let TileFigures { z, x, y, .. } = tile.figures;
    Tile { z, x, y }
}

pub(crate) fn cell(of: &TilesOf) -> Cell {
    let others = of.factors.iter().filter(|(name, _)| *name != "workload");
    let factors = others.map(|(name, level)| (name.clone(), Level(level.clone()))).collect();
    Cell { workload: of.workload.clone(), factors }
}

pub(crate) fn added<'t, K: Ord>(
    tiles: impl IntoIterator<Item = &'t StoredTile>,
    key: impl Fn(&'t StoredTile) -> K,
) -> BTreeMap<K, PlaceFigures> {
    let mut added: BTreeMap<K, PlaceFigures> = BTreeMap::new();
    for tile in tiles {
        added.entry(key(tile)).or_default().add(&PlaceFigures::of(&tile.figures));
    }
    added
}

fn layers<'t>(tiles: &[&'t StoredTile]) -> BTreeMap<Option<&'t str>, BTreeSet<&'t str>> {
    let mut layers: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
    for tile in tiles {
        layers.entry(tile.of.arm.as_deref()).or_default().insert(&tile.of.layer);
    }
    layers
}

/// Whether tiles of a cell are distinguished by layer: not if each arm makes its one layer differently,
/// since then the same place is the same question.
pub(crate) fn by_layer(tiles: &[&StoredTile]) -> bool {
    let layers = layers(tiles);
    let is_one_each = layers.values().all(|value| value.len() == 1);
    let all: BTreeSet<_> = layers.values().flatten().collect();
    !(is_one_each && all.len() > 1)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use super::*;

    /// A tile that an arm was asked for twice.
    pub(crate) fn stored(arm: &str, layer: &str, (z, x, y): (u8, u32, u32), mean_us: f64) -> StoredTile {
        let of = TilesOf {
            workload: "map".into(),
            factors: [("clients".to_owned(), "4".to_owned())].into(),
            arm: (!arm.is_empty()).then(|| arm.to_owned()),
            script: format!("{layer}, z{z}"),
            layer: layer.into(),
            cached: None,
        };
        let figures =
            TileFigures { script: 0, z, x, y, requests: 2, mean_us, max_us: 2.0 * mean_us, bytes: 1000.0 };
        StoredTile { of: Arc::new(of), rank_us: figures.mean_us, figures }
    }

    #[test]
    fn means_are_over_requests() {
        let mut busy = stored("", "roads", (14, 1, 2), 300.0);
        busy.figures.requests = 6;
        let tiles = [stored("", "roads", (14, 1, 2), 100.0), busy];
        let found = added(&tiles, tile_of)[&Tile { z: 14, x: 1, y: 2 }];
        assert_eq!((found.requests, found.mean_us(), found.max_us, found.bytes()), (8, 250.0, 600.0, 1000.0));
    }

    #[test]
    fn one_layer_in_two_ways_is_one_question() {
        let tile = |arm, layer| stored(arm, layer, (14, 1, 2), 1.0);
        let is_by_layer = |tiles: &[StoredTile]| by_layer(&tiles.iter().collect::<Vec<_>>());
        assert!(!is_by_layer(&[tile("old", "old.sql"), tile("new", "new.sql")]));
        assert!(is_by_layer(&[tile("old", "roads"), tile("new", "roads")]));
        assert!(is_by_layer(&[tile("", "roads"), tile("", "water")]));
        assert!(is_by_layer(&[tile("old", "roads"), tile("old", "water"), tile("new", "roads + water")]));
    }
}
