//! Areas with holes: multipolygon relations.

use super::ground::Point;
use super::piece::{Piece, Tags};
use crate::extract::Kind;

/// An outer ring of more points is made of several ways.
const LONG_RING: usize = 120;

/// An area with holes, whose tags are those of the relation; `hole_tags` say what is in the holes.
pub(super) fn multipolygon(
    piece: &mut Piece,
    outer: &[Point],
    holes: &[Vec<Point>],
    tags: &Tags<'_>,
    hole_tags: &Tags<'_>,
) {
    let mut members = Vec::new();
    if outer.len() <= LONG_RING {
        members.push((Kind::Ways, piece.ring(outer, &[]), "outer"));
    } else {
        let nodes: Vec<i64> = outer.iter().map(|at| piece.node(*at, &[])).collect();
        let parts: Vec<&[i64]> = nodes.chunks(LONG_RING).collect();
        for (at, part) in parts.iter().enumerate() {
            // To the first node of the next.
            let mut part = part.to_vec();
            part.push(parts[(at + 1) % parts.len()][0]);
            members.push((Kind::Ways, piece.way(&part, &[]), "outer"));
        }
    }
    for hole in holes {
        members.push((Kind::Ways, piece.ring(hole, hole_tags), "inner"));
    }
    let tags: Vec<_> = [("type", "multipolygon")].iter().chain(tags).copied().collect();
    piece.relation(members, &tags);
}
