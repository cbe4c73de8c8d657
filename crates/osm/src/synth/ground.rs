//! Metres within a cell, and the coordinates that they are written as.

use super::grid::{Cell, PATCH, PATCHES, lattice};
use super::rng::{Draws, Layer};
use super::trig::cos_degrees;

/// Metres in a degree of latitude, on a sphere as web maps have it.
const METRES: f64 = 111_319.49;

/// A place in a cell, in metres east and north of its south-western corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub x: f64,
    pub y: f64,
}

impl Point {
    pub(super) fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }

    pub(super) fn moved(self, x: f64, y: f64) -> Self {
        Self::new(self.x + x, self.y + y)
    }

    /// The point at a share of the way to another, moved to the left of the way by some metres.
    pub(super) fn towards(self, to: Self, share: f64, aside: f64) -> Self {
        let (x, y) = (to.x - self.x, to.y - self.y);
        let aside = aside / (x * x + y * y).sqrt().max(1e-9);
        Self::new(self.x + x * share - y * aside, self.y + y * share + x * aside)
    }

    pub(super) fn distance(self, to: Self) -> f64 {
        let (x, y) = (to.x - self.x, to.y - self.y);
        (x * x + y * y).sqrt()
    }
}

/// Where a cell is, and how long its metres are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ground {
    lon: i32,
    lat: i32,
    /// 1e-7 degrees in a metre, eastwards and northwards.
    per_metre: (f64, f64),
}

impl Ground {
    pub(super) fn of(cell: Cell) -> Self {
        let (lon, lat) = cell.corner();
        let north = 1e7 / METRES;
        let middle = f64::from(lat + PATCH.1 * PATCHES / 2) / 1e7;
        Self { lon, lat, per_metre: (north / cos_degrees(middle), north) }
    }

    /// Longitude and latitude in 1e-7 degrees.
    pub(super) fn coordinates(&self, at: Point) -> (i32, i32) {
        let rounded = |metres: f64, per_metre: f64| (metres * per_metre).round() as i32;
        (self.lon + rounded(at.x, self.per_metre.0), self.lat + rounded(at.y, self.per_metre.1))
    }

    pub(super) fn point(&self, (lon, lat): (i32, i32)) -> Point {
        Point::new(f64::from(lon - self.lon) / self.per_metre.0, f64::from(lat - self.lat) / self.per_metre.1)
    }

    /// Sides of a patch in metres.
    pub(super) fn patch(&self) -> (f64, f64) {
        (f64::from(PATCH.0) / self.per_metre.0, f64::from(PATCH.1) / self.per_metre.1)
    }
}

/// Longitude and latitude of a vertex of the lattice over all the land: moved by up to a tenth of a patch, alike for
/// each of the cells that it belongs to.
pub(super) fn vertex(seed: u64, x: i32, y: i32) -> (i32, i32) {
    let mut draws = Draws::at(seed, Layer::Lattice, x, y);
    let (lon, lat) = lattice(x, y);
    let mut moved = |side: i32| (draws.below(side as u32 / 5) as i32) - side / 10;
    (lon + moved(PATCH.0), lat + moved(PATCH.1))
}
