//! Boundaries: each side of a cell is a way, which both its neighbours refer to; a municipality is made of four, a
//! county and a state of those around their cells.
//!
//! A county's relation comes with the last of its cells, a state's likewise: in a scale that ends amid one it is not
//! there, and it never changes.

use super::grid::{Cell, PATCHES};
use super::names;
use super::piece::Piece;
use super::settlement::Settlement;
use super::site::Site;
use crate::extract::Kind;

/// Sides, counterclockwise from the south: where the neighbour is.
const SIDES: [(i32, i32); 4] = [(0, -1), (1, 0), (0, 1), (-1, 0)];

/// Draws the sides that are this cell's own, and the relations that it completes.
pub(super) fn draw(site: &Site, piece: &mut Piece) {
    for (side, (x, y)) in SIDES.into_iter().enumerate() {
        let neighbour = site.cell.beside(x, y);
        if site.cell.index() > neighbour.index() {
            continue;
        }
        let nodes: Vec<i64> = (0..=PATCHES).map(|along| piece.vertex(vertex_on(side, along))).collect();
        let level = if site.cell.state() != neighbour.state() {
            "4"
        } else if site.cell.county() != neighbour.county() {
            "6"
        } else {
            "8"
        };
        let tags = [("boundary", "administrative"), ("admin_level", level)];
        piece.side_way(side as i64, &nodes, &tags);
    }
    area(site, piece, &[site.cell], "8", site.cell);
    let index = site.cell.index();
    for (cells, level) in [(9, "6"), (81, "4")] {
        if index % cells == cells - 1 {
            let cells: Vec<Cell> = (index + 1 - cells..=index).map(Cell::nth).collect();
            let greatest = cells.iter().max_by_key(|cell| Settlement::of(site.seed, **cell).rank);
            area(site, piece, &cells, level, *greatest.expect("there are nine or more"));
        }
    }
}

/// Vertex of the lattice on a side, counted counterclockwise.
fn vertex_on(side: usize, along: i32) -> (i32, i32) {
    match side {
        0 => (along, 0),
        1 => (PATCHES, along),
        2 => (PATCHES - along, PATCHES),
        _ => (0, PATCHES - along),
    }
}

/// The relation of an area made of cells; its name is that of one of them.
fn area(site: &Site, piece: &mut Piece, cells: &[Cell], level: &'static str, named_as: Cell) {
    let mut members = vec![(Kind::Nodes, Piece::place_id(named_as), "admin_centre")];
    for cell in cells {
        for (side, (x, y)) in SIDES.into_iter().enumerate() {
            let neighbour = cell.beside(x, y);
            if cells.contains(&neighbour) {
                continue;
            }
            let way = if cell.index() < neighbour.index() {
                Piece::side_id(*cell, side as i64)
            } else {
                Piece::side_id(neighbour, (side as i64 + 2) % 4)
            };
            members.push((Kind::Ways, way, "outer"));
        }
    }
    let name = names::place(site.seed, named_as.x, named_as.y);
    let name = match level {
        "4" => format!("State of {name}"),
        "6" => format!("{name} County"),
        _ => name,
    };
    piece.relation(
        members,
        &[("type", "boundary"), ("boundary", "administrative"), ("admin_level", level), ("name", &name)],
    );
}
