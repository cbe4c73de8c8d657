//! The land is divided into cells, a municipality each; 3 x 3 of them are a county, 3 x 3 counties a state,
//! and so on. Cell n is at the same place for any number of cells.

use crate::extract::Bbox;

/// Patches along a side of a cell.
pub(super) const PATCHES: i32 = 24;
/// Sides of a patch, east and north, in 1e-7 degrees: about 140 m at the middle of the land.
pub(super) const PATCH: (i32, i32) = (18_400, 12_500);
/// South-western corner of cell 0 in 1e-7 degrees: 8° E, 47° N.
const ORIGIN: (i32, i32) = (80_000_000, 470_000_000);

/// The order in which the nine parts of a county or a state are added: the middle, then around it.
const AROUND: [(i32, i32); 9] =
    [(0, 0), (1, 0), (-1, 0), (0, 1), (1, 1), (-1, 1), (0, -1), (1, -1), (-1, -1)];

/// A cell by its position: cells east and north of the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GridCell {
    pub x: i32,
    pub y: i32,
}

impl GridCell {
    /// Cell number `index`: each base-9 digit is a position in a 3 x 3 square, three times as large for each
    /// further digit.
    pub(super) fn nth(mut index: u64) -> Self {
        let (mut cell, mut side) = (Self { x: 0, y: 0 }, 1);
        while index > 0 {
            let (x, y) = AROUND[(index % 9) as usize];
            cell = cell.at_offset(x * side, y * side);
            side *= 3;
            index /= 9;
        }
        cell
    }

    /// The inverse of [`GridCell::nth`].
    pub(super) fn index(self) -> u64 {
        let (Self { mut x, mut y }, mut index, mut unit) = (self, 0, 1);
        while (x, y) != (0, 0) {
            let digit = ((x + 1).rem_euclid(3) - 1, (y + 1).rem_euclid(3) - 1);
            index += unit * AROUND.iter().position(|at| *at == digit).expect("all nine are listed") as u64;
            unit *= 9;
            (x, y) = ((x - digit.0) / 3, (y - digit.1) / 3);
        }
        index
    }

    /// The cell this many cells east and north of it.
    pub(super) fn at_offset(self, x: i32, y: i32) -> Self {
        Self { x: self.x + x, y: self.y + y }
    }

    /// Longitude and latitude, in 1e-7 degrees, of a position in it, in patches from its south-western
    /// corner.
    pub(super) fn coordinates(self, (x, y): (f64, f64)) -> (i32, i32) {
        let at = |origin, cell, patches: f64, patch| {
            origin + cell * PATCHES * patch + (patches * f64::from(patch)).round() as i32
        };
        (at(ORIGIN.0, self.x, x, PATCH.0), at(ORIGIN.1, self.y, y, PATCH.1))
    }

    pub(super) fn bbox(self) -> Bbox {
        let side = f64::from(PATCHES);
        let ((west, south), (east, north)) = (self.coordinates((0.0, 0.0)), self.coordinates((side, side)));
        Bbox { west, south, east, north }
    }

    /// The cell that owns the node at vertex (`i`, `j`) of the lattice of patches, and the vertex in that
    /// cell's coordinates. Of the cells that touch it, the first owns it: an extract with any of the others
    /// has that one, too.
    pub(super) fn owner(self, (i, j): (i32, i32)) -> (Self, (i32, i32)) {
        let reach = |at: i32| -i32::from(at == 0)..=i32::from(at == PATCHES);
        let cells = reach(i).flat_map(|x| reach(j).map(move |y| self.at_offset(x, y)));
        let owner = cells.min_by_key(|cell| cell.index()).expect("it is one of them");
        (owner, (i + (self.x - owner.x) * PATCHES, j + (self.y - owner.y) * PATCHES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_has_one_number() {
        for n in (0..5000).chain(1_249_000..1_250_000) {
            assert_eq!(GridCell::nth(n).index(), n, "{:?}", GridCell::nth(n));
        }
        assert_eq!(GridCell::nth(0), GridCell { x: 0, y: 0 });
        for x in -13..=13 {
            for y in -13..=13 {
                let cell = GridCell { x, y };
                assert_eq!(GridCell::nth(cell.index()), cell);
                // A state.
                assert_eq!(cell.index() < 81, x.abs() <= 4 && y.abs() <= 4);
            }
        }
    }

    #[test]
    fn cells_agree_on_whose_a_vertex_is() {
        for n in 0..400 {
            let cell = GridCell::nth(n);
            for (i, j) in [(0, 0), (0, 5), (5, 0), (PATCHES, PATCHES), (PATCHES, 7), (3, 3)] {
                let (owner, (oi, oj)) = cell.owner((i, j));
                assert!(owner.index() <= n, "an earlier one");
                assert_eq!(
                    (cell.x * PATCHES + i, cell.y * PATCHES + j),
                    (owner.x * PATCHES + oi, owner.y * PATCHES + oj)
                );
                let (x, y) = (i32::from(i == PATCHES), i32::from(j == PATCHES));
                let seen_beside = cell.at_offset(x, y).owner((i - x * PATCHES, j - y * PATCHES));
                assert_eq!(seen_beside, (owner, (oi, oj)));
            }
        }
    }

    /// The largest scale stays within web maps.
    #[test]
    fn the_land_has_sane_coordinates() {
        for n in (0..1_250_000).step_by(501).chain([1_249_999]) {
            let Bbox { west, south, .. } = GridCell::nth(n).bbox();
            assert!((300_000_000..640_000_000).contains(&south), "{south}");
            assert!((-410_000_000..570_000_000).contains(&west), "{west}");
        }
    }
}
