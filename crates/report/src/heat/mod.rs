//! Maps of where tiles are slow: rectangles at their place on the web map's grid, coloured by their mean
//! time.

mod draw;
mod scale;

use std::collections::{BTreeMap, BTreeSet};

use ::tile::Tile;
use results::StoredTile;

use crate::places::{self, PlaceFigures};

pub(crate) use draw::{LATITUDE, LONGITUDE, degrees, range};
pub(crate) use scale::HeatScale;

/// Rectangles of a map, at most: more are merged into the larger tiles that contain them.
const MOST: usize = 2000;

/// Columns and rows, at most: a rectangle must be visible.
const MOST_ACROSS: u32 = 150;

/// The same if less than this share of the map is filled: distant dots need to be larger.
const MOST_ACROSS_SPARSE: u32 = 50;
const SPARSE: f64 = 0.1;

/// Tiles of one zoom: a map of each arm, on one scale.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Heat {
    pub(crate) zoom: u8,
    /// Zoom of the rectangles: at most `zoom`.
    shown_zoom: u8,
    /// First column and row, and the number of each.
    first: [u32; 2],
    size: [u32; 2],
    scale: HeatScale,
    maps: Vec<Map>,
}

#[derive(Debug, Clone, PartialEq)]
struct Map {
    /// Empty if nothing is compared.
    arm: String,
    tiles: usize,
    all: PlaceFigures,
    spots: Vec<Spot>,
}

#[derive(Debug, Clone, PartialEq)]
struct Spot {
    tile: Tile,
    step: usize,
    mean_us: f64,
    requests: u64,
}

impl Heat {
    /// Maps of tiles of one zoom, arms in this order; `None` without any.
    pub(crate) fn of(tiles: &[&StoredTile], arms: &[Option<&str>]) -> Option<Self> {
        let zoom = tiles.first()?.figures.z;
        let asked: BTreeSet<Tile> = tiles.iter().map(|tile| places::tile_of(tile)).collect();
        let mut shown = asked;
        while !is_seen(&shown) {
            shown = shown.iter().map(|tile| tile.parent()).collect::<Option<_>>()?;
        }
        let shown_zoom = shown.first()?.z;
        let (first, size) = extent(&shown)?;
        let of_arm = |arm: &Option<&str>| {
            let own = tiles.iter().copied().filter(|tile| tile.of.arm.as_deref() == *arm);
            (arm.unwrap_or_default().to_owned(), own.collect::<Vec<_>>())
        };
        let of_arms = arms.iter().map(of_arm).filter(|(_, own)| !own.is_empty());
        let found: Vec<(String, Vec<&StoredTile>, BTreeMap<Tile, PlaceFigures>)> = of_arms
            .map(|(arm, own)| {
                let spots =
                    places::added(own.iter().copied(), |tile| within(places::tile_of(tile), shown_zoom));
                (arm, own, spots)
            })
            .collect();
        let scale =
            HeatScale::over(found.iter().flat_map(|(.., spots)| spots.values().map(PlaceFigures::mean_us)))?;
        let maps = found.into_iter().map(|(arm, own, spots)| Map::new(arm, &own, &spots, scale)).collect();
        Some(Self { zoom, shown_zoom, first, size, scale, maps })
    }

    pub(crate) fn sum_us(&self) -> f64 {
        self.maps.iter().map(|map| map.all.sum_us()).sum()
    }

    pub(crate) fn maps(&self) -> usize {
        self.maps.len()
    }
}

impl Map {
    fn new(
        arm: String,
        tiles: &[&StoredTile],
        spots: &BTreeMap<Tile, PlaceFigures>,
        scale: HeatScale,
    ) -> Self {
        let mut all = PlaceFigures::default();
        spots.values().for_each(|spot| all.add(spot));
        let spot = |(tile, figures): (&Tile, &PlaceFigures)| Spot {
            tile: *tile,
            step: scale.step(figures.mean_us()),
            mean_us: figures.mean_us(),
            requests: figures.requests,
        };
        let asked: BTreeSet<Tile> = tiles.iter().map(|tile| places::tile_of(tile)).collect();
        Self { arm, tiles: asked.len(), all, spots: spots.iter().map(spot).collect() }
    }
}

/// The tile of a lower zoom that contains this one.
fn within(mut tile: Tile, zoom: u8) -> Tile {
    while let Some(parent) = tile.parent().filter(|parent| parent.z >= zoom) {
        tile = parent;
    }
    tile
}

fn is_seen(tiles: &BTreeSet<Tile>) -> bool {
    let Some((_, size)) = extent(tiles) else { return true };
    let across = size.into_iter().max().unwrap_or(0);
    let filled = tiles.len() as f64 / size.into_iter().map(f64::from).product::<f64>();
    let most = if filled < SPARSE { MOST_ACROSS_SPARSE } else { MOST_ACROSS };
    tiles.len() <= MOST && across <= most
}

fn extent(tiles: &BTreeSet<Tile>) -> Option<([u32; 2], [u32; 2])> {
    let ends = |of: fn(&Tile) -> u32| Some((tiles.iter().map(of).min()?, tiles.iter().map(of).max()?));
    let ((west, east), (north, south)) = (ends(|tile| tile.x)?, ends(|tile| tile.y)?);
    Some(([west, north], [(east - west).saturating_add(1), (south - north).saturating_add(1)]))
}

#[cfg(test)]
mod tests {
    use maud::Render;

    use super::*;
    use crate::places::tests::stored;

    fn heat(tiles: &[StoredTile]) -> Heat {
        Heat::of(&tiles.iter().collect::<Vec<_>>(), &[None]).expect("a map")
    }

    #[test]
    fn tiles_stand_at_their_place() {
        let tiles = [((14, 8851, 6439), 100.0), ((14, 8853, 6440), 107.0)];
        let heat = heat(&tiles.map(|(place, mean)| stored("", "roads", place, mean)));
        assert_eq!((heat.first, heat.size, heat.shown_zoom), ([8851, 6439], [3, 2], 14));
        let drawn = heat.render().0;
        for wanted in [
            "<title>z14/8851/6439: 100 µs, 2 requests</title>",
            "class=\"h0\"",
            "class=\"h6\"",
            "z14",
            "2 tiles, mean 104 µs",
        ] {
            assert!(drawn.contains(wanted), "{wanted} in {drawn}");
        }
    }

    #[test]
    fn many_tiles_are_drawn_as_their_parents_with_the_mean_over_requests() {
        let place = |number: u32| (16, 30_000 + number % 100, 20_000 + number / 100);
        let mut tiles: Vec<_> = (0..5000).map(|number| stored("", "roads", place(number), 100.0)).collect();
        tiles[0].figures.requests = 10;
        tiles[0].figures.mean_us = 900.0;
        let heat = heat(&tiles);
        assert_eq!((heat.zoom, heat.shown_zoom), (16, 15));
        assert_eq!((heat.maps[0].spots.len(), heat.maps[0].tiles), (1250, 5000));
        let first = &heat.maps[0].spots[0];
        assert_eq!((first.requests, first.mean_us), (16, (9000.0 + 600.0) / 16.0));
        let drawn = heat.render().0;
        assert!(drawn.len() < 40_000, "{} bytes", drawn.len());
        assert!(drawn.contains("drawn as tiles of z15"), "{drawn}");
    }

    #[test]
    fn places_far_apart_are_still_seen() {
        let heat = heat(&[(14, 0, 0), (14, 16_383, 16_383)].map(|place| stored("", "roads", place, 1.0)));
        assert_eq!((heat.shown_zoom, heat.size), (5, [32, 32]));
    }

    #[test]
    fn arms_share_a_scale() {
        let tiles = [stored("old", "roads", (3, 1, 1), 700.0), stored("new", "roads", (3, 1, 1), 100.0)];
        let refs: Vec<_> = tiles.iter().collect();
        let heat = Heat::of(&refs, &[Some("old"), Some("new"), Some("third")]).expect("maps");
        let steps: Vec<_> = heat.maps.iter().map(|map| (map.arm.as_str(), map.spots[0].step)).collect();
        assert_eq!(steps, [("old", 6), ("new", 0)]);
    }
}
