//! Railways through a whole column of cells, and power lines through the country.

use super::grid::PATCHES;
use super::names;
use super::piece::Piece;
use super::rng::{Draws, Layer};
use super::shape;
use super::site::Site;

pub(super) fn draw(site: &Site, piece: &mut Piece) {
    let mut draws = Draws::at(site.seed, Layer::Track, site.cell.x, site.cell.y);
    railway(site, piece, &mut draws);
    if draws.chance(0.1) {
        power_line(site, piece, &mut draws);
    }
}

fn railway(site: &Site, piece: &mut Piece, draws: &mut Draws) {
    let Some(column) = site.railway else { return };
    let mut nodes = vec![piece.vertex((column, 0))];
    for j in 0..PATCHES {
        let (from, to) = (site.vertex((column, j)), site.vertex((column, j + 1)));
        let count = draws.below(3) as usize;
        let bends = shape::between(draws, from, to, count, 2.0);
        nodes.extend(bends.into_iter().map(|at| piece.node(at, &[])));
        if j + 1 == PATCHES {
            nodes.push(piece.vertex((column, PATCHES)));
        } else if j + 1 == site.settlement.hub.1 {
            let name = names::place(site.seed, site.cell.x, site.cell.y);
            nodes.push(piece.node(to, &[("railway", "station"), ("name", &name)]));
        } else {
            nodes.push(piece.node(to, &[]));
        }
    }
    let half = nodes.len() / 2;
    for part in [&nodes[..=half], &nodes[half..]] {
        piece.way(part, &[("railway", "rail"), ("gauge", "1435")]);
    }
}

/// A straight line with a tower every 100 m or so.
fn power_line(site: &Site, piece: &mut Piece, draws: &mut Draws) {
    let row = 4 * draws.below(PATCHES as u32 / 4) as i32 + 2;
    let (from, to) = (site.vertex((1, row)), site.vertex((PATCHES - 1, row)));
    let from = from.moved(0.0, 31.0);
    let count = (from.distance(to) / 110.0) as u32;
    let nodes: Vec<i64> = (0..=count)
        .map(|at| from.towards(to, f64::from(at) / f64::from(count), 0.0))
        .map(|at| piece.node(at, &[("power", "tower")]))
        .collect();
    piece.way(&nodes, &[("power", "line"), ("voltage", "110000")]);
}
