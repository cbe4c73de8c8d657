//! Rivers through a whole row of cells, and streams that run into them.

use super::grid::PATCHES;
use super::ground::Point;
use super::names;
use super::piece::Piece;
use super::rng::{Draws, Layer};
use super::shape;
use super::site::Site;

/// Metres that water runs aside of its line: little between the blocks of a town.
fn sway(site: &Site, i: i32, j: i32) -> f64 {
    if [(i, j), (i, j - 1), (i - 1, j), (i - 1, j - 1)].iter().any(|(i, j)| site.is_urban(*i, *j)) {
        6.0
    } else {
        35.0
    }
}

pub(super) fn draw(site: &Site, piece: &mut Piece) {
    let Some(row) = site.river else { return };
    let name = names::nature(&mut Draws::new(site.seed, Layer::Name, site.cell.y as u64), "River");
    let mut draws = Draws::at(site.seed, Layer::Water, site.cell.x, site.cell.y);
    let mut nodes = vec![piece.vertex((0, row))];
    let mut springs = Vec::new();
    for i in 0..PATCHES {
        let (from, to) = (site.vertex((i, row)), site.vertex((i + 1, row)));
        let count = draws.long_tailed(5.0, 40.0) as usize;
        let sway = sway(site, i, row);
        let bends = shape::between(&mut draws, from, to, count, sway);
        nodes.extend(bends.into_iter().map(|at| piece.node(at, &[])));
        let is_end = i + 1 == PATCHES;
        nodes.push(if is_end { piece.vertex((PATCHES, row)) } else { piece.node(to, &[]) });
        if (i + 1) % 4 == 2 && site.railway != Some(i + 1) && draws.chance(0.5) {
            springs.push((i + 1, *nodes.last().expect("one was pushed")));
        }
        if nodes.len() > 60 || is_end {
            piece.way(&nodes, &[("waterway", "river"), ("name", &name)]);
            nodes = nodes.split_off(nodes.len() - 1);
        }
    }
    for (column, mouth) in springs {
        stream(site, piece, &mut draws, (column, row), mouth);
    }
}

/// A stream to a node of the river, from the north, through the country.
fn stream(site: &Site, piece: &mut Piece, draws: &mut Draws, (column, row): (i32, i32), mouth: i64) {
    let length = 1 + draws.below(8) as i32;
    let mut points: Vec<Point> = Vec::new();
    for j in row..(row + length).min(PATCHES - 1) {
        let sway = sway(site, column, j);
        if sway < 10.0 {
            break;
        }
        let count = draws.long_tailed(7.0, 40.0) as usize;
        let (from, to) = (site.vertex((column, j)), site.vertex((column, j + 1)));
        points.extend(shape::between(draws, from, to, count, sway * 0.6));
        points.push(to);
    }
    if points.is_empty() {
        return;
    }
    let mut nodes: Vec<i64> = points.iter().rev().map(|at| piece.node(*at, &[])).collect();
    nodes.push(mouth);
    piece.way(&nodes, &[("waterway", "stream")]);
}
