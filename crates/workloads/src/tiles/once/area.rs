//! The tiles that are asked for, in order, without a list of them all: a pyramid may have millions.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tile::Tile;

use crate::hash::sha256_hex;

/// Tiles by zoom, the lowest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Area {
    pub(super) zooms: Vec<ZoomArea>,
    /// Whether it is a box at each zoom, which has more tiles at the next zooms.
    pub(super) is_pyramid: bool,
}

/// Tiles of one zoom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum ZoomArea {
    /// From the first to the last tile of a box, row by row.
    Box {
        from: Tile,
        to: Tile,
    },
    List(Vec<Tile>),
}

impl Area {
    /// All tiles that touch a box in metres of the map: left, bottom, right and top.
    pub(super) fn of_box([left, bottom, right, top]: [f64; 4], zooms: impl IntoIterator<Item = u8>) -> Self {
        let of_zoom = |z| ZoomArea::Box { from: Tile::at(z, left, top), to: Tile::at(z, right, bottom) };
        let zooms: BTreeSet<u8> = zooms.into_iter().collect();
        Self { zooms: zooms.into_iter().map(of_zoom).collect(), is_pyramid: true }
    }

    /// The tiles of a list, each once.
    pub(super) fn of_list(tiles: impl IntoIterator<Item = Tile>) -> Self {
        let mut zooms: BTreeMap<u8, BTreeSet<Tile>> = BTreeMap::new();
        for tile in tiles {
            zooms.entry(tile.z).or_default().insert(tile);
        }
        let zooms = zooms.into_values().map(|tiles| ZoomArea::List(tiles.into_iter().collect()));
        Self { zooms: zooms.collect(), is_pyramid: false }
    }

    pub(super) fn count(&self) -> u64 {
        self.zooms.iter().map(ZoomArea::count).sum()
    }

    /// SHA-256 of its tiles, hex.
    pub(super) fn hash(&self) -> String {
        sha256_hex(serde_json::to_string(self).unwrap_or_default().as_bytes())
    }

    /// West, south, east and north in degrees; `None` without tiles. Those of the highest zoom: the one tile of a low
    /// zoom is mostly empty.
    pub(super) fn bounds_degrees(&self) -> Option<[f64; 4]> {
        let corners = self.zooms.last().into_iter().flat_map(|zoom| match zoom {
            ZoomArea::Box { from, to } => vec![*from, *to],
            ZoomArea::List(tiles) => tiles.clone(),
        });
        corners.map(Tile::bounds_degrees).reduce(|[west, south, east, north], [w, s, e, n]| {
            [west.min(w), south.min(s), east.max(e), north.max(n)]
        })
    }
}

impl ZoomArea {
    pub(super) fn z(&self) -> u8 {
        match self {
            Self::Box { from, .. } => from.z,
            Self::List(tiles) => tiles.first().map_or(0, |tile| tile.z),
        }
    }

    pub(super) fn count(&self) -> u64 {
        match self {
            Self::Box { from, to } => columns(from, to) * (u64::from(to.y - from.y) + 1),
            Self::List(tiles) => tiles.len() as u64,
        }
    }

    /// The tile at this place of the order.
    pub(super) fn tile(&self, at: u64) -> Option<Tile> {
        match self {
            Self::Box { from, to } => (at < self.count()).then(|| {
                let columns = columns(from, to);
                Tile { z: from.z, x: from.x + (at % columns) as u32, y: from.y + (at / columns) as u32 }
            }),
            Self::List(tiles) => tiles.get(usize::try_from(at).ok()?).copied(),
        }
    }

    /// Some tiles, spread over it.
    pub(super) fn spread(&self, most: u64) -> Vec<Tile> {
        let step = (self.count() / most.max(1)).max(1);
        // From the middle, where a box around the data has most of them.
        let middle = (0..most).map(|number| (self.count() / 2 + number * step) % self.count().max(1));
        middle.take(self.count().min(most) as usize).filter_map(|at| self.tile(at)).collect()
    }
}

fn columns(from: &Tile, to: &Tile) -> u64 {
    u64::from(to.x - from.x) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_has_each_of_its_tiles_once() {
        let tile = Tile { z: 5, x: 17, y: 12 };
        let [west, south, east, north] = tile.bounds_m();
        let inside = [west + 1.0, south + 1.0, east - 1.0, north - 1.0];
        let area = Area::of_box(inside, [5, 6, 7]);
        assert_eq!(area.zooms.iter().map(ZoomArea::count).collect::<Vec<_>>(), [1, 4, 16]);
        assert_eq!(area.count(), 21);
        let tiles: Vec<Tile> = (0..4).filter_map(|at| area.zooms[1].tile(at)).collect();
        assert_eq!(tiles, tile.children().unwrap());
        assert_eq!(area.zooms[1].tile(4), None);
        assert_eq!(area.zooms[2].spread(5).len(), 5);
        let bounds = area.bounds_degrees().unwrap();
        assert!((bounds[0] - tile.bounds_degrees()[0]).abs() < 1e-9);
        // The tile of z4 reaches farther.
        let low = Area::of_box(inside, [4, 7]).bounds_degrees().unwrap();
        assert!((low[0] - bounds[0]).abs() < 1e-9);
    }

    #[test]
    fn a_list_is_sorted_by_zoom_without_repetitions() {
        let tiles = [(7, 1, 2), (3, 0, 1), (7, 1, 2), (7, 0, 9)].map(Tile::from);
        let area = Area::of_list(tiles);
        assert_eq!((area.zooms.len(), area.count(), area.zooms[0].z()), (2, 3, 3));
        assert_eq!(area.zooms[1].tile(0), Some(Tile { z: 7, x: 0, y: 9 }));
        let stored = serde_json::to_string(&area).unwrap();
        assert_eq!(serde_json::from_str::<Area>(&stored).unwrap(), area);
    }
}
