//! The objects of one cell while they are drawn.

use std::collections::HashSet;

use super::grid::{GridCell, PATCHES};
use super::rng::{Draws, StreamKey};
use crate::extract::{Member, Node, Object, ObjectKind, Relation, Way};

/// Ids reserved for a cell, by kind. The densest cells take about half of them.
const NODE_IDS: i64 = 1 << 16;
const WAY_IDS: i64 = 1 << 13;
const RELATION_IDS: i64 = 1 << 10;

/// Vertices of a cell's lattice. Their nodes come first, then the settlement's node, to which others refer as
/// well.
const ACROSS: i32 = PATCHES + 1;
const VERTICES: i64 = (ACROSS * ACROSS) as i64;
/// Ids of ways to which others refer: one for each side of the cell.
const SIDES: i64 = 4;
/// Node ids reserved for mandatory objects: more than any feature takes.
const SPARE: i64 = 6000;

/// Keys and values.
pub(super) type Tags<'a> = [(&'static str, &'a str)];

pub(super) struct MapPiece {
    cell: GridCell,
    index: i64,
    objects: Vec<Object>,
    /// Moves the vertices of the lattice, so that two seeds have no places in common.
    draws: Draws,
    vertices: HashSet<(i32, i32)>,
    nodes: i64,
    ways: i64,
    relations: i64,
}

impl MapPiece {
    pub(super) fn new(seed: u64, cell: GridCell) -> Self {
        Self {
            cell,
            index: cell.index() as i64,
            objects: Vec::new(),
            draws: Draws::new(seed, StreamKey::Lattice, cell.index()),
            vertices: HashSet::new(),
            nodes: VERTICES + 1,
            ways: SIDES,
            relations: 0,
        }
    }

    /// Whether ids are left for another feature of any size.
    pub(super) fn has_room(&self) -> bool {
        self.nodes < NODE_IDS - SPARE && self.ways < WAY_IDS - 100 && self.relations < RELATION_IDS - 10
    }

    /// A new node at a position in patches from the cell's corner.
    pub(super) fn node(&mut self, at: (f64, f64), tags: &Tags<'_>) -> i64 {
        self.nodes += 1;
        assert!(self.nodes <= NODE_IDS, "features end while there is room");
        self.put_node(self.nodes - 1, at, tags)
    }

    /// The node of the cell's settlement.
    pub(super) fn place_node(&mut self, at: (f64, f64), tags: &Tags<'_>) {
        self.put_node(VERTICES, at, tags);
    }

    pub(super) fn place_id(cell: GridCell) -> i64 {
        cell.index() as i64 * NODE_IDS + VERTICES + 1
    }

    fn put_node(&mut self, id: i64, at: (f64, f64), tags: &Tags<'_>) -> i64 {
        let id = self.index * NODE_IDS + id + 1;
        let (lon, lat) = self.cell.coordinates(at);
        self.objects.push(Object::Node(Node { id, lat, lon, tags: owned(tags) }));
        id
    }

    /// The node at a vertex of the lattice, which may belong to another cell.
    pub(super) fn vertex(&mut self, at: (i32, i32)) -> i64 {
        let (owner, (i, j)) = self.cell.owner(at);
        let id = i64::from(j * ACROSS + i);
        if self.vertices.insert(at) && owner == self.cell {
            let mut moved = |at: i32| match at {
                1..PATCHES => f64::from(at) + self.draws.between(-0.04, 0.04),
                // On a side of the cell.
                _ => f64::from(at),
            };
            let place = (moved(i), moved(j));
            self.put_node(id, place, &[]);
        }
        owner.index() as i64 * NODE_IDS + id + 1
    }

    /// Whether a way goes through a vertex.
    pub(super) fn has_vertex(&self, at: (i32, i32)) -> bool {
        self.vertices.contains(&at)
    }

    /// A new way through nodes.
    pub(super) fn way(&mut self, nodes: Vec<i64>, tags: &Tags<'_>) -> i64 {
        self.ways += 1;
        assert!(self.ways <= WAY_IDS, "features end while there is room");
        self.put_way(self.ways - 1, nodes, tags)
    }

    /// The way along a side of the cell, 0 to 3.
    pub(super) fn side_way(&mut self, side: i64, nodes: Vec<i64>, tags: &Tags<'_>) {
        self.put_way(side, nodes, tags);
    }

    pub(super) fn side_id(cell: GridCell, side: i64) -> i64 {
        cell.index() as i64 * WAY_IDS + side + 1
    }

    fn put_way(&mut self, id: i64, nodes: Vec<i64>, tags: &Tags<'_>) -> i64 {
        let id = self.index * WAY_IDS + id + 1;
        self.objects.push(Object::Way(Way { id, tags: owned(tags), nodes }));
        id
    }

    /// A new relation with the kind, id and role of each member.
    pub(super) fn relation(&mut self, members: &[(ObjectKind, i64, &str)], tags: &Tags<'_>) {
        self.relations += 1;
        assert!(self.relations <= RELATION_IDS, "features end while there is room");
        let id = self.index * RELATION_IDS + self.relations;
        let members =
            members.iter().map(|(kind, id, role)| Member { kind: *kind, id: *id, role: (*role).to_owned() });
        let relation = Relation { id, tags: owned(tags), members: members.collect() };
        self.objects.push(Object::Relation(relation));
    }

    /// The largest used share of a kind's ids.
    #[cfg(test)]
    pub(super) fn ids_taken(&self) -> f64 {
        let shares = [(self.nodes, NODE_IDS), (self.ways, WAY_IDS), (self.relations, RELATION_IDS)];
        shares.into_iter().map(|(taken, of)| taken as f64 / of as f64).fold(0.0, f64::max)
    }

    /// The objects, sorted by kind and id.
    pub(super) fn finish(mut self) -> Vec<Object> {
        self.objects.sort_unstable_by_key(Object::key);
        self.objects
    }
}

fn owned(tags: &Tags<'_>) -> Vec<(String, String)> {
    tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}
