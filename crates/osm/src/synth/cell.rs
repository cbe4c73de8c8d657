//! A whole cell.

use super::grid::Cell;
use super::net::Net;
use super::piece::Piece;
use super::site::Site;
use super::{blocks, boundaries, land, places, roads, streets, tracks, waterways};

/// Draws all objects of cell number `index`, the same whatever else is drawn.
///
/// What may not be missing comes first: blocks and land use end where a cell's ids do.
pub(super) fn draw(seed: u64, index: u64) -> Piece {
    let site = Site::of(seed, Cell::nth(index));
    let mut piece = Piece::new(seed, site.cell, site.ground);
    let mut net = Net::new();
    boundaries::draw(&site, &mut piece);
    places::draw(&site, &mut piece);
    waterways::draw(&site, &mut piece);
    tracks::draw(&site, &mut piece);
    roads::draw(&site, &mut net, &mut piece);
    streets::draw(&site, &mut net, &mut piece);
    land::draw(&site, &net, &mut piece);
    blocks::draw(&site, &net, &mut piece);
    piece.finish();
    piece
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else dense cells would lose blocks: a whole state, and cells at the edge of the largest scale, which are the
    /// widest and the narrowest.
    #[test]
    fn ids_do_not_run_out() {
        for seed in [1, 7] {
            let far = (1_249_000..1_250_000).step_by(50);
            let most = (0..81).chain(far).map(|index| draw(seed, index).ids_taken()).fold(0.0, f64::max);
            assert!((0.3..0.75).contains(&most), "{most}");
        }
    }
}
