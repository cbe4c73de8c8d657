//! The web map's grid of tiles: 2^z by 2^z squares over the world in EPSG:3857, counted from the north-west.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Half the side of the world in EPSG:3857, metres.
const HALF_WORLD: f64 = 20_037_508.342_789_244;
/// Pixels of a tile's side on the map.
const PIXELS: f64 = 256.0;

/// One tile; written as `[z, x, y]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "(u8, u32, u32)", into = "(u8, u32, u32)")]
pub struct Tile {
    /// Zoom, 0..=22.
    pub z: u8,
    /// Column from the west, below 2^z.
    pub x: u32,
    /// Row from the north, below 2^z.
    pub y: u32,
}

impl Tile {
    /// The tile that a point lies in; points outside the world go to its edge.
    #[must_use]
    pub fn at(z: u8, x_m: f64, y_m: f64) -> Self {
        let side = side_m(z);
        let last = f64::from(last(z));
        let x = ((x_m + HALF_WORLD) / side).floor().clamp(0.0, last);
        let y = ((HALF_WORLD - y_m) / side).floor().clamp(0.0, last);
        Self { z, x: x as u32, y: y as u32 }
    }
}

/// Column and row of the last tile of a zoom.
fn last(z: u8) -> u32 {
    ((1_u64 << z.min(31)) - 1) as u32
}

/// Side of a tile, metres of EPSG:3857.
fn side_m(z: u8) -> f64 {
    2.0 * HALF_WORLD / f64::from(z).exp2()
}

/// Area that this many square pixels cover at a zoom, square metres of EPSG:3857.
pub(super) fn area_m2(z: u8, square_pixels: f64) -> f64 {
    square_pixels * (side_m(z) / PIXELS).powi(2)
}

impl fmt::Display for Tile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}/{}", self.z, self.x, self.y)
    }
}

impl FromStr for Tile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut numbers = text.trim().trim_start_matches('/').split(['/', ' ', ',', '\t']).map(str::trim);
        let mut next = || numbers.next().and_then(|number| number.parse::<u32>().ok());
        let tile = match (next(), next(), next()) {
            (Some(z), Some(x), Some(y)) if z <= 22 => Self { z: z as u8, x, y },
            _ => return Err(format!("\"{text}\" is not a tile z/x/y")),
        };
        if tile.x > last(tile.z) || tile.y > last(tile.z) {
            return Err(format!("tile {tile} is outside the world (x and y go up to {})", last(tile.z)));
        }
        Ok(tile)
    }
}

impl From<(u8, u32, u32)> for Tile {
    fn from((z, x, y): (u8, u32, u32)) -> Self {
        Self { z, x, y }
    }
}

impl From<Tile> for (u8, u32, u32) {
    fn from(tile: Tile) -> Self {
        (tile.z, tile.x, tile.y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_fall_into_known_tiles() {
        // Valletta, 35.8989 N 14.5146 E, and the corners of the world.
        let cases = [
            (14, 1_615_757.9, 4_289_470.9, "14/8852/6438"),
            (0, 0.0, 0.0, "0/0/0"),
            (2, -HALF_WORLD, HALF_WORLD, "2/0/0"),
            (2, HALF_WORLD, -HALF_WORLD, "2/3/3"),
            (2, 1e12, f64::NEG_INFINITY, "2/3/3"),
        ];
        for (z, x, y, wanted) in cases {
            assert_eq!(Tile::at(z, x, y).to_string(), wanted);
        }
    }

    #[test]
    fn tiles_are_read_strictly() {
        assert_eq!("14/8851/6439".parse(), Ok(Tile { z: 14, x: 8851, y: 6439 }));
        assert_eq!(" 14 8851 6439".parse(), Ok(Tile { z: 14, x: 8851, y: 6439 }));
        for wrong in ["", "14/1", "14/a/1", "23/0/0", "1/2/0", "1/0/-1"] {
            assert!(wrong.parse::<Tile>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn areas_shrink_by_four_each_zoom() {
        assert!((area_m2(12, 4.0) - 4.0 * 38.218_514_142_6_f64.powi(2)).abs() < 1e-3);
        assert!((area_m2(12, 4.0) / area_m2(13, 4.0) - 4.0).abs() < 1e-9);
    }

    proptest::proptest! {
        #[test]
        fn tiles_survive_the_way(z in 0_u8..=22, x in proptest::num::u32::ANY, y in proptest::num::u32::ANY) {
            let tile = Tile { z, x: x % (last(z) + 1), y: y % (last(z) + 1) };
            proptest::prop_assert_eq!(tile.to_string().parse(), Ok(tile));
        }
    }
}
