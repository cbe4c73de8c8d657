//! The streets of a cell: which parts of its lattice are streets, and by which nodes they run, so that others can join.

use super::grid::{ACROSS, PATCHES};
use super::ground::Point;
use super::piece::{Piece, Tags};
use super::rng::Draws;
use super::shape;
use super::site::Site;

pub(super) type Vertex = (i32, i32);

/// How a street runs from one vertex of the lattice to the next.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bends {
    /// Nodes in between: above `scale * k` once in k, at most `most`.
    pub scale: f64,
    pub most: f64,
    /// Metres that they are aside at most.
    pub sway: f64,
}

/// Nodes in between of the part of a street along a side of a patch.
#[derive(Debug, Clone, Default)]
struct Side {
    is_street: bool,
    /// From west to east or from south to north.
    nodes: Vec<(i64, Point)>,
}

#[derive(Debug)]
pub(super) struct Net {
    rows: Vec<Side>,
    columns: Vec<Side>,
    /// Vertices that streets go through.
    visited: Vec<bool>,
    /// Patches that a road goes straight across.
    crossed: Vec<bool>,
}

impl Net {
    pub(super) fn new() -> Self {
        let all = (ACROSS * ACROSS) as usize;
        Self {
            rows: vec![Side::default(); all],
            columns: vec![Side::default(); all],
            visited: vec![false; all],
            crossed: vec![false; all],
        }
    }

    pub(super) fn is_visited(&self, vertex: Vertex) -> bool {
        self.visited[at(vertex)]
    }

    pub(super) fn is_crossed(&self, patch: Vertex) -> bool {
        self.crossed[at(patch)]
    }

    /// Whether a street runs between two vertices that are neighbours in a row or a column.
    pub(super) fn has_street(&self, from: Vertex, to: Vertex) -> bool {
        self.side(from, to).is_street
    }

    /// Makes a way along vertices, each a neighbour of the one before, maybe across a patch. Where no other street runs.
    pub(super) fn street(
        &mut self,
        site: &Site,
        piece: &mut Piece,
        draws: &mut Draws,
        path: &[Vertex],
        bends: Bends,
        tags: &Tags<'_>,
    ) -> i64 {
        let mut nodes = vec![piece.vertex(path[0])];
        self.visited[at(path[0])] = true;
        for pair in path.windows(2) {
            let count = (draws.long_tailed(bends.scale, bends.most + 1.0) - bends.scale) as usize;
            let (from, to) = (site.vertex(pair[0]), site.vertex(pair[1]));
            let bent: Vec<(i64, Point)> = shape::between(draws, from, to, count, bends.sway)
                .into_iter()
                .map(|point| (piece.node(point, &[]), point))
                .collect();
            nodes.extend(bent.iter().map(|(id, _)| *id));
            nodes.push(piece.vertex(pair[1]));
            self.visited[at(pair[1])] = true;
            self.take(pair[0], pair[1], bent);
        }
        piece.way(&nodes, tags)
    }

    fn take(&mut self, from: Vertex, to: Vertex, mut bent: Vec<(i64, Point)>) {
        let first = (from.0.min(to.0), from.1.min(to.1));
        if from.0 != to.0 && from.1 != to.1 {
            self.crossed[at(first)] = true;
            return;
        }
        if first != from {
            bent.reverse();
        }
        let sides = if from.1 == to.1 { &mut self.rows } else { &mut self.columns };
        sides[at(first)] = Side { is_street: true, nodes: bent };
    }

    fn side(&self, from: Vertex, to: Vertex) -> &Side {
        let first = (from.0.min(to.0), from.1.min(to.1));
        if from.1 == to.1 { &self.rows[at(first)] } else { &self.columns[at(first)] }
    }

    /// A node of the streets around a patch that something inside can join, and where it is: the one nearest to a point.
    pub(super) fn joint(
        &self,
        site: &Site,
        piece: &mut Piece,
        (i, j): Vertex,
        to: Point,
    ) -> Option<(i64, Point)> {
        let corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)];
        let mut best: Option<(Option<i64>, Vertex, Point)> = None;
        let mut offer = |id, vertex, point: Point| {
            if best.is_none_or(|(_, _, other)| point.distance(to) < other.distance(to)) {
                best = Some((id, vertex, point));
            }
        };
        for (from, to) in [(0, 1), (3, 2), (0, 3), (1, 2)] {
            let side = self.side(corners[from], corners[to]);
            side.nodes.iter().for_each(|(id, point)| offer(Some(*id), corners[from], *point));
            if side.is_street {
                offer(None, corners[from], site.vertex(corners[from]));
                offer(None, corners[to], site.vertex(corners[to]));
            }
        }
        best.map(|(id, vertex, point)| (id.unwrap_or_else(|| piece.vertex(vertex)), point))
    }
}

fn at((i, j): Vertex) -> usize {
    debug_assert!((0..=PATCHES).contains(&i) && (0..=PATCHES).contains(&j));
    (j * ACROSS + i) as usize
}
