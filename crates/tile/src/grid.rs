//! The web map's grid of tiles: 2^z by 2^z squares over the world in EPSG:3857, counted from the north-west.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Half the side of the world in EPSG:3857, metres.
pub const HALF_WORLD_M: f64 = 20_037_508.342_789_244;
/// Pixels of a tile's side on the map.
pub const PIXELS: f64 = 256.0;
/// Highest supported zoom.
pub const MOST_ZOOM: u8 = 22;

/// Tolerance for an edge on the line between two tiles, in tiles: far less than a pixel, far more than the
/// rounding of metres.
const ON_THE_LINE: f64 = 1e-6;

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
    /// The tile of a point; points outside the world are moved to its edge.
    #[must_use]
    pub fn at(z: u8, x_m: f64, y_m: f64) -> Self {
        let side = side_m(z);
        let last = f64::from(last_index(z));
        let x = ((x_m + HALF_WORLD_M) / side).floor().clamp(0.0, last);
        let y = ((HALF_WORLD_M - y_m) / side).floor().clamp(0.0, last);
        Self { z, x: x as u32, y: y as u32 }
    }

    /// West, south, east and north in metres of EPSG:3857.
    #[must_use]
    pub fn bounds_m(self) -> [f64; 4] {
        let side = side_m(self.z);
        let west = f64::from(self.x) * side - HALF_WORLD_M;
        let north = HALF_WORLD_M - f64::from(self.y) * side;
        [west, north - side, west + side, north]
    }

    /// West, south, east and north in degrees of longitude and latitude (EPSG:4326).
    #[must_use]
    pub fn bounds_degrees(self) -> [f64; 4] {
        let [west, south, east, north] = self.bounds_m().map(|metres| metres / HALF_WORLD_M);
        let latitude = |share: f64| (share * std::f64::consts::PI).sinh().atan().to_degrees();
        [west * 180.0, latitude(south), east * 180.0, latitude(north)]
    }

    /// The tile one zoom lower that contains this one; `None` at zoom 0.
    #[must_use]
    pub fn parent(self) -> Option<Self> {
        let z = self.z.checked_sub(1)?;
        Some(Self { z, x: self.x / 2, y: self.y / 2 })
    }

    /// The four tiles one zoom higher: north-west, north-east, south-west, south-east; `None` at the highest
    /// zoom.
    #[must_use]
    pub fn children(self) -> Option<[Self; 4]> {
        (self.z < MOST_ZOOM).then(|| {
            let (z, x, y) = (self.z + 1, self.x.wrapping_mul(2), self.y.wrapping_mul(2));
            [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(east, south)| Self { z, x: x | east, y: y | south })
        })
    }
}

/// Column and row of the last tile of a zoom.
fn last_index(z: u8) -> u32 {
    ((1_u64 << z.min(31)) - 1) as u32
}

/// Side of a tile, metres of EPSG:3857.
#[must_use]
pub fn side_m(z: u8) -> f64 {
    2.0 * HALF_WORLD_M / f64::from(z).exp2()
}

/// Area that this many square pixels cover at a zoom, square metres of EPSG:3857.
#[must_use]
pub fn area_m2(z: u8, square_pixels: f64) -> f64 {
    square_pixels * (side_m(z) / PIXELS).powi(2)
}

/// The tiles that a map of this size in pixels shows, even in part, row by row from the north-west. They end
/// at the edge of the world. At most 257 by 257.
#[must_use]
pub fn viewport(z: u8, [x_m, y_m]: [f64; 2], [width_px, height_px]: [u16; 2]) -> Vec<Tile> {
    let columns = range_in_view(z, x_m + HALF_WORLD_M, width_px);
    let rows = range_in_view(z, HALF_WORLD_M - y_m, height_px);
    let (Some((west, east)), Some((north, south))) = (columns, rows) else { return Vec::new() };
    (north..=south).flat_map(|y| (west..=east).map(move |x| Tile { z, x, y })).collect()
}

/// First and last column (or row) around a centre given in metres from the edge.
fn range_in_view(z: u8, centre_m: f64, pixels: u16) -> Option<(u32, u32)> {
    let centre = Some(centre_m / side_m(z)).filter(|centre| centre.is_finite())?;
    let half = f64::from(pixels) / PIXELS / 2.0;
    let first = (centre - half + ON_THE_LINE).floor().max(0.0);
    let end = (centre + half - ON_THE_LINE).ceil().min(f64::from(last_index(z)) + 1.0);
    (first < end && pixels > 0).then(|| (first as u32, end as u32 - 1))
}

impl fmt::Display for Tile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}/{}", self.z, self.x, self.y)
    }
}

/// Why a text is not a tile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TileError {
    #[error("\"{0}\" is not a tile z/x/y (zoom 0 to {most})", most = MOST_ZOOM)]
    NoTile(String),
    #[error("tile {0} is outside the world (x and y go up to {last})", last = last_index(.0.z))]
    Outside(Tile),
}

impl FromStr for Tile {
    type Err = TileError;

    /// Three numbers separated by slashes, commas or blanks.
    fn from_str(text: &str) -> Result<Self, TileError> {
        let mut numbers = text
            .trim()
            .split(['/', ' ', ',', '\t'])
            .filter(|part| !part.is_empty())
            .map(|number| number.parse::<u32>().ok());
        let three = [numbers.next(), numbers.next(), numbers.next()].map(Option::flatten);
        let tile = match (three, numbers.next()) {
            ([Some(z), Some(x), Some(y)], None) if z <= MOST_ZOOM.into() => Self { z: z as u8, x, y },
            _ => return Err(TileError::NoTile(text.to_owned())),
        };
        if tile.x > last_index(tile.z) || tile.y > last_index(tile.z) {
            return Err(TileError::Outside(tile));
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

    /// Valletta, 35.8989 N 14.5146 E.
    const VALLETTA: [f64; 2] = [1_615_757.9, 4_289_470.9];

    fn written(tiles: &[Tile]) -> Vec<String> {
        tiles.iter().map(Tile::to_string).collect()
    }

    #[test]
    fn points_fall_into_known_tiles() {
        let cases = [
            (14, VALLETTA[0], VALLETTA[1], "14/8852/6438"),
            (0, 0.0, 0.0, "0/0/0"),
            (2, -HALF_WORLD_M, HALF_WORLD_M, "2/0/0"),
            (2, HALF_WORLD_M, -HALF_WORLD_M, "2/3/3"),
            (2, 1e12, f64::NEG_INFINITY, "2/3/3"),
        ];
        for (z, x, y, wanted) in cases {
            assert_eq!(Tile::at(z, x, y).to_string(), wanted);
        }
    }

    #[test]
    fn tiles_are_read_strictly() {
        let valletta = Tile { z: 14, x: 8851, y: 6439 };
        for right in ["14/8851/6439", " 14 8851 6439", "/14/8851/6439", "14, 8851, 6439\r"] {
            assert_eq!(right.parse(), Ok(valletta), "{right}");
        }
        for wrong in
            ["", "14/1", "14/a/1", "23/0/0", "1/2/0", "1/0/-1", "14/8851/6439/1", "14/8851/99999999999"]
        {
            assert!(wrong.parse::<Tile>().is_err(), "{wrong}");
        }
        assert_eq!(
            "3/8/0".parse::<Tile>().unwrap_err().to_string(),
            "tile 3/8/0 is outside the world (x and y go up to 7)"
        );
    }

    #[test]
    fn areas_shrink_by_four_each_zoom() {
        assert!((area_m2(12, 4.0) - 4.0 * 38.218_514_142_6_f64.powi(2)).abs() < 1e-3);
        assert!((area_m2(12, 4.0) / area_m2(13, 4.0) - 4.0).abs() < 1e-9);
    }

    #[test]
    fn bounds_are_those_that_others_give() {
        // From the documentation of Mapbox' mercantile.
        let tile = Tile { z: 10, x: 486, y: 332 };
        let metres =
            [-1_017_529.720_532_266_3, 7_005_300.768_279_833, -978_393.962_050_256, 7_044_436.526_761_846];
        let degrees = [-9.140_625, 53.120_405_283_106_57, -8.789_062_5, 53.330_872_983_017_05];
        let near = |found: [f64; 4], wanted: [f64; 4]| {
            found.iter().zip(wanted).all(|(found, wanted)| (found - wanted).abs() < 1e-8 * wanted.abs())
        };
        assert!(near(tile.bounds_m(), metres), "{:?}", tile.bounds_m());
        assert!(near(tile.bounds_degrees(), degrees), "{:?}", tile.bounds_degrees());
        let world = [-180.0, -85.051_128_779_806_59, 180.0, 85.051_128_779_806_59];
        assert!(near(Tile { z: 0, x: 0, y: 0 }.bounds_degrees(), world));
    }

    #[test]
    fn maps_show_the_tiles_they_touch() {
        let middle = [0.0, 0.0];
        assert_eq!(written(&viewport(1, middle, [256, 256])), ["1/0/0", "1/1/0", "1/0/1", "1/1/1"]);
        assert_eq!(viewport(1, middle, [65535, 65535]).len(), 4);
        assert_eq!(written(&viewport(0, [1e7, -1e7], [1, 1])), ["0/0/0"]);
        assert!(viewport(3, [1e9, 0.0], [512, 512]).is_empty());
        assert!(viewport(3, [f64::NAN, 0.0], [512, 512]).is_empty());
        assert!(viewport(3, middle, [0, 512]).is_empty());
        // A map as large as a tile, on a tile, shows only that tile.
        let tile = Tile::at(14, VALLETTA[0], VALLETTA[1]);
        let [west, south, east, north] = tile.bounds_m();
        let centre = [(west + east) / 2.0, (south + north) / 2.0];
        assert_eq!(viewport(14, centre, [256, 256]), [tile]);
        assert_eq!(viewport(14, centre, [258, 256]).len(), 3);
        // A screen, by the definition: every tile whose square overlaps it.
        let metres = |pixels: f64| pixels * side_m(14) / PIXELS;
        let overlaps = |tile: &Tile| {
            let [west, south, east, north] = tile.bounds_m();
            (west - metres(960.0) < VALLETTA[0] && VALLETTA[0] < east + metres(960.0))
                && (south - metres(540.0) < VALLETTA[1] && VALLETTA[1] < north + metres(540.0))
        };
        let around = (6400..6500).flat_map(|y| (8800..8900).map(move |x| Tile { z: 14, x, y }));
        assert_eq!(viewport(14, VALLETTA, [1920, 1080]), around.filter(overlaps).collect::<Vec<_>>());
    }

    proptest::proptest! {
        #[test]
        fn tiles_survive_the_way(z in 0_u8..=22, x in proptest::num::u32::ANY, y in proptest::num::u32::ANY) {
            let tile = Tile { z, x: x % (last_index(z) + 1), y: y % (last_index(z) + 1) };
            proptest::prop_assert_eq!(tile.to_string().parse(), Ok(tile));
            let [west, south, east, north] = tile.bounds_m();
            proptest::prop_assert_eq!(Tile::at(z, f64::midpoint(west, east), f64::midpoint(south, north)), tile);
            for child in tile.children().into_iter().flatten() {
                proptest::prop_assert_eq!(child.parent(), Some(tile));
            }
        }

        #[test]
        fn a_tile_that_is_none_is_no_panic(z: u8, x: u32, y: u32) {
            let tile = Tile { z, x, y };
            let _ = (tile.bounds_m(), tile.bounds_degrees(), tile.parent(), tile.children());
            let _ = viewport(z, [f64::from(x), f64::from(y)], [300, 300]);
        }
    }
}
