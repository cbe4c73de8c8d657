//! What is known of a cell before anything is drawn there.

use super::grid::{ACROSS, Cell, PATCHES};
use super::ground::{Ground, Point, vertex};
use super::rng::{Draws, Layer};
use super::settlement::{Around, Level, Settlement};

/// Lattice lines with such a number, modulo 4, carry rivers and railways; those of 0 carry roads through the country,
/// between the quarters that land use comes in.
const FREE_LINE: u32 = 2;

/// A cell as those see it who draw into it.
#[derive(Debug)]
pub(super) struct Site {
    pub seed: u64,
    pub cell: Cell,
    pub ground: Ground,
    pub settlement: Settlement,
    /// Row that a river takes the place of, and column of a railway.
    pub river: Option<i32>,
    pub railway: Option<i32>,
    vertices: Vec<Point>,
    levels: Vec<Level>,
}

impl Site {
    pub(super) fn of(seed: u64, cell: Cell) -> Self {
        let ground = Ground::of(cell);
        let around = Around::of(seed, cell, &ground);
        let mut vertices = Vec::with_capacity((ACROSS * ACROSS) as usize);
        for j in 0..ACROSS {
            for i in 0..ACROSS {
                let at = vertex(seed, cell.x * PATCHES + i, cell.y * PATCHES + j);
                vertices.push(ground.point(at));
            }
        }
        let (width, height) = ground.patch();
        let mut levels = Vec::with_capacity((PATCHES * PATCHES) as usize);
        for j in 0..PATCHES {
            for i in 0..PATCHES {
                let middle = Point::new((f64::from(i) + 0.5) * width, (f64::from(j) + 0.5) * height);
                let mut level = around.level(middle);
                let (x, y) = (cell.x * PATCHES + i, cell.y * PATCHES + j);
                // Rims are frayed.
                level.density += Draws::at(seed, Layer::Urban, x, y).between(-0.16, 0.16);
                levels.push(level);
            }
        }
        let line = |layer, at| {
            let mut draws = Draws::new(seed, layer, at as u64);
            let line = 4 * draws.below(PATCHES as u32 / 4) + FREE_LINE;
            draws.chance(0.4).then_some(line as i32)
        };
        Self {
            seed,
            cell,
            ground,
            settlement: Settlement::of(seed, cell),
            river: line(Layer::Water, cell.y),
            railway: line(Layer::Track, cell.x),
            vertices,
            levels,
        }
    }

    /// A vertex of the lattice; both numbers 0 to [`PATCHES`].
    pub(super) fn vertex(&self, (i, j): (i32, i32)) -> Point {
        self.vertices[(j * ACROSS + i) as usize]
    }

    /// How urban a patch is; outside the cell not at all.
    pub(super) fn level(&self, i: i32, j: i32) -> Level {
        if i < 0 || j < 0 || i >= PATCHES || j >= PATCHES {
            return Level { density: -1.0, mapped: 0.0 };
        }
        self.levels[(j * PATCHES + i) as usize]
    }

    pub(super) fn is_urban(&self, i: i32, j: i32) -> bool {
        self.level(i, j).density > 0.0
    }

    /// Draws for a patch of it.
    pub(super) fn draws(&self, layer: Layer, i: i32, j: i32) -> Draws {
        Draws::at(self.seed, layer, self.cell.x * PATCHES + i, self.cell.y * PATCHES + j)
    }
}
