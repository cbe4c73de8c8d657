//! Where people live: a hierarchical Thomas process on the grid. Each cell has a settlement, one of a county's nine is a
//! town, and one of a state's nine towns is a city; around each, urban land thins out with the distance.

use super::grid::{Cell, PATCHES};
use super::ground::{Ground, Point};
use super::rng::{Draws, Layer};

/// Cells within which a city can reach.
const REACH: i32 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Hamlet,
    Village,
    Town,
    City,
}

/// The settlement of a cell.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settlement {
    pub rank: Rank,
    /// Vertex of the cell's lattice where its roads meet.
    pub hub: (i32, i32),
    /// Metres to its rim.
    pub radius: f64,
    /// Share of its buildings and shops that somebody has mapped, 0 to 1: most are mapped little, a few wholly.
    pub mapped: f64,
}

impl Settlement {
    pub(super) fn of(seed: u64, cell: Cell) -> Self {
        let mut draws = Draws::at(seed, Layer::Settlement, cell.x, cell.y);
        let mut middle = || 6 + draws.below(PATCHES as u32 - 11) as i32;
        let hub = (middle(), middle());
        let rank = match (is_seat(seed, cell), is_capital(seed, cell)) {
            (true, true) => Rank::City,
            (true, false) => Rank::Town,
            _ if draws.chance(0.3) => Rank::Hamlet,
            _ => Rank::Village,
        };
        let share = draws.share();
        let radius = match rank {
            Rank::Hamlet => 150.0 + 100.0 * share,
            // Many small ones and few large ones.
            Rank::Village => 440.0 / (1.0 - 0.8 * share * share),
            Rank::Town => 1300.0 + 1200.0 * share,
            Rank::City => 4400.0 + 1000.0 * share,
        };
        let little = draws.share();
        let mapped = match rank {
            Rank::City => 0.45 + 0.3 * little,
            Rank::Town => 0.1 + 0.8 * little * little,
            Rank::Village | Rank::Hamlet => 0.02 + 0.9 * little * little * little,
        };
        Self { rank, hub, radius, mapped }
    }
}

/// Whether a cell has its county's town.
fn is_seat(seed: u64, cell: Cell) -> bool {
    let (x, y) = cell.county();
    let seat = Draws::at(seed, Layer::Seat, x, y).below(9);
    cell == Cell { x: 3 * x - 1 + (seat % 3) as i32, y: 3 * y - 1 + (seat / 3) as i32 }
}

/// Whether a cell's county has its state's city.
fn is_capital(seed: u64, cell: Cell) -> bool {
    let (x, y) = cell.state();
    let mut draws = Draws::at(seed, Layer::Seat, x, y);
    // Other draws than those of the county at the same place.
    draws.bits();
    let capital = draws.below(9);
    cell.county() == (3 * x - 1 + (capital % 3) as i32, 3 * y - 1 + (capital / 3) as i32)
}

/// How urban a place is.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Level {
    /// 1 in the middle of a settlement, 0 at its rim and below that outside.
    pub density: f64,
    /// As in [`Settlement`].
    pub mapped: f64,
}

/// Settlements that may reach into a cell, seen from there.
#[derive(Debug)]
pub(super) struct Around {
    near: Vec<(Point, Settlement)>,
}

impl Around {
    pub(super) fn of(seed: u64, cell: Cell, ground: &Ground) -> Self {
        let (width, height) = ground.patch();
        let side = f64::from(PATCHES);
        let mut near = Vec::new();
        for x in -REACH..=REACH {
            for y in -REACH..=REACH {
                let settlement = Settlement::of(seed, cell.beside(x, y));
                let hub = |cells: i32, patches: i32| f64::from(cells) * side + f64::from(patches);
                let at = Point::new(hub(x, settlement.hub.0) * width, hub(y, settlement.hub.1) * height);
                let nearest = Point::new(at.x.clamp(0.0, side * width), at.y.clamp(0.0, side * height));
                if at.distance(nearest) < settlement.radius * 1.2 {
                    near.push((at, settlement));
                }
            }
        }
        Self { near }
    }

    /// The level of the settlement that is felt the most.
    pub(super) fn level(&self, at: Point) -> Level {
        let mut level = Level { density: -1.0, mapped: 0.0 };
        for (hub, settlement) in &self.near {
            let density = 1.0 - at.distance(*hub) / settlement.radius;
            if density > level.density {
                level = Level { density, mapped: settlement.mapped };
            }
        }
        level
    }
}
