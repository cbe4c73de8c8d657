//! The land is cut into cells, a municipality each; 3 x 3 of them are a county, 3 x 3 counties a state. States lie in a
//! spiral around the first, so that cell n is at the same place however many there are.

/// Patches, the blocks of a town, along a side of a cell.
pub(super) const PATCHES: i32 = 24;
/// Sides of a patch in 1e-7 degrees: about 140 m at the middle of the land.
const PATCH_LON: i32 = 18_400;
const PATCH_LAT: i32 = 12_500;
/// South-western corner of cell 0 in 1e-7 degrees: 47° N, 8° E.
const ORIGIN_LON: i32 = 80_000_000;
const ORIGIN_LAT: i32 = 470_000_000;
/// Vertices of a cell's lattice along a side and in all.
pub(super) const ACROSS: i32 = PATCHES + 1;
pub(super) const VERTICES: i64 = (ACROSS * ACROSS) as i64;

/// Ids set aside for a cell, by kind. The densest of cells takes about half of them.
pub(super) const NODE_IDS: i64 = 1 << 16;
pub(super) const WAY_IDS: i64 = 1 << 13;
pub(super) const RELATION_IDS: i64 = 1 << 10;

/// A county's cells, and a state's counties, in the order in which they are added: the middle, then around it.
const AROUND: [(i32, i32); 9] =
    [(0, 0), (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)];

/// A cell by its place: cells east and north of the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    pub x: i32,
    pub y: i32,
}

impl Cell {
    /// Cell number `index`.
    pub(super) fn nth(index: u64) -> Self {
        let (state_x, state_y) = spiral(index / 81);
        let county = AROUND[(index / 9 % 9) as usize];
        let cell = AROUND[(index % 9) as usize];
        Self { x: 9 * state_x + 3 * county.0 + cell.0, y: 9 * state_y + 3 * county.1 + cell.1 }
    }

    /// Which one it is: the inverse of [`Cell::nth`].
    pub(super) fn index(self) -> u64 {
        let (state, county) = (self.state(), self.county());
        let digit = |x, y| AROUND.iter().position(|at| *at == (x, y)).expect("all nine are listed") as u64;
        let in_state = digit(county.0 - 3 * state.0, county.1 - 3 * state.1);
        let in_county = digit(self.x - 3 * county.0, self.y - 3 * county.1);
        (spiral_index(state) * 9 + in_state) * 9 + in_county
    }

    /// Place of its county: counties east and north of the first.
    pub(super) fn county(self) -> (i32, i32) {
        ((self.x + 1).div_euclid(3), (self.y + 1).div_euclid(3))
    }

    /// Place of its state.
    pub(super) fn state(self) -> (i32, i32) {
        ((self.x + 4).div_euclid(9), (self.y + 4).div_euclid(9))
    }

    /// The one so many cells east and north of it.
    pub(super) fn beside(self, x: i32, y: i32) -> Self {
        Self { x: self.x + x, y: self.y + y }
    }

    /// Longitude and latitude of its south-western corner, in 1e-7 degrees.
    pub(super) fn corner(self) -> (i32, i32) {
        lattice(self.x * PATCHES, self.y * PATCHES)
    }

    /// The cell that has the object at vertex (`i`, `j`), and the vertex as that one counts: of the cells that touch
    /// it, the one that comes first, which is there wherever one of the others is.
    pub(super) fn owner(self, i: i32, j: i32) -> (Self, i32, i32) {
        let reach = |at: i32| match at {
            0 => [0, -1],
            PATCHES => [0, 1],
            _ => [0, 0],
        };
        let mut first = (self.index(), self);
        for x in reach(i) {
            for y in reach(j) {
                let cell = self.beside(x, y);
                let index = cell.index();
                if index < first.0 {
                    first = (index, cell);
                }
            }
        }
        let owner = first.1;
        (owner, i + (self.x - owner.x) * PATCHES, j + (self.y - owner.y) * PATCHES)
    }
}

/// Longitude and latitude of a vertex of the lattice over all the land, before it is moved from its place.
pub(super) fn lattice(x: i32, y: i32) -> (i32, i32) {
    (ORIGIN_LON + x * PATCH_LON, ORIGIN_LAT + y * PATCH_LAT)
}

/// Sides of a patch, east and north, in 1e-7 degrees.
pub(super) const PATCH: (i32, i32) = (PATCH_LON, PATCH_LAT);

/// The n-th place of a square spiral: ring after ring, each from below its north-eastern corner counterclockwise.
fn spiral(n: u64) -> (i32, i32) {
    let ring = (n.isqrt() as i32 + 1) / 2;
    if ring == 0 {
        return (0, 0);
    }
    let along = (n - inside(ring)) as i32;
    let (side, step) = (along / (2 * ring), along % (2 * ring));
    match side {
        0 => (ring, 1 - ring + step),
        1 => (ring - 1 - step, ring),
        2 => (-ring, ring - 1 - step),
        _ => (1 - ring + step, -ring),
    }
}

/// The inverse of [`spiral`].
fn spiral_index((x, y): (i32, i32)) -> u64 {
    let ring = x.abs().max(y.abs());
    if ring == 0 {
        return 0;
    }
    let (side, step) = if x == ring && y > -ring {
        (0, y - 1 + ring)
    } else if y == ring {
        (1, ring - 1 - x)
    } else if x == -ring {
        (2, ring - 1 - y)
    } else {
        (3, x - 1 + ring)
    };
    inside(ring) + (side * 2 * ring + step) as u64
}

/// Places within a ring.
fn inside(ring: i32) -> u64 {
    let side = (2 * ring - 1) as u64;
    side * side
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_has_one_number() {
        for n in 0..5000 {
            assert_eq!(Cell::nth(n).index(), n, "{:?}", Cell::nth(n));
        }
        assert_eq!(Cell::nth(0), Cell { x: 0, y: 0 });
        // Nine are a county, 81 a state, and states touch.
        assert!((0..9).all(|n| Cell::nth(n).county() == (0, 0)));
        assert!((0..81).all(|n| Cell::nth(n).state() == (0, 0)));
        assert_eq!(Cell::nth(81).state(), (1, 0));
        for n in 1..500 {
            let (a, b) = (spiral(n - 1), spiral(n));
            assert_eq!((a.0 - b.0).abs() + (a.1 - b.1).abs(), 1, "{a:?} {b:?}");
        }
    }

    #[test]
    fn cells_agree_on_whose_a_vertex_is() {
        for n in 0..400 {
            let cell = Cell::nth(n);
            for (i, j) in [(0, 0), (0, 5), (5, 0), (PATCHES, PATCHES), (PATCHES, 7), (3, 3)] {
                let (owner, oi, oj) = cell.owner(i, j);
                assert!(owner.index() <= n, "an earlier one");
                assert_eq!(
                    (cell.x * PATCHES + i, cell.y * PATCHES + j),
                    (owner.x * PATCHES + oi, owner.y * PATCHES + oj)
                );
                let (x, y) = (i32::from(i == PATCHES), i32::from(j == PATCHES));
                let seen_beside = cell.beside(x, y).owner(i - x * PATCHES, j - y * PATCHES);
                assert_eq!(seen_beside, (owner, oi, oj));
            }
        }
    }

    /// The largest scale stays where there are people.
    #[test]
    fn the_land_has_sane_coordinates() {
        for n in (0..1_250_000).step_by(501).chain([1_249_999]) {
            let (lon, lat) = Cell::nth(n).corner();
            assert!((300_000_000..640_000_000).contains(&lat), "{lat}");
            assert!((-200_000_000..360_000_000).contains(&lon), "{lon}");
        }
    }
}
