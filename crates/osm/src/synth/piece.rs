//! The objects of one cell while they are drawn.

use std::ops::Range;

use super::grid::{ACROSS, Cell, NODE_IDS, RELATION_IDS, VERTICES, WAY_IDS};
use super::ground::{Ground, Point, vertex};
use crate::extract::{Block, Kind};

/// Keys and values.
pub(super) type Tags<'a> = [(&'static str, &'a str)];

/// The nodes of a cell that others refer to, after those of its lattice.
const PLACE: i64 = VERTICES;
const FIRST_NODE: i64 = VERTICES + 1;
/// Ids of ways that others refer to: a side of the cell each.
const FIRST_WAY: i64 = 4;
/// Room left for what may not be missing.
const SPARE: i64 = 6000;

struct Node {
    id: i64,
    lon: i32,
    lat: i32,
    tags: Range<u32>,
}

struct Way {
    id: i64,
    tags: Range<u32>,
    nodes: Range<u32>,
}

struct Relation {
    id: i64,
    tags: Range<u32>,
    members: Vec<(Kind, i64, &'static str)>,
}

/// A cell's objects; text and ids of all of them side by side.
pub(super) struct Piece {
    seed: u64,
    cell: Cell,
    ground: Ground,
    index: i64,
    nodes: Vec<Node>,
    ways: Vec<Way>,
    relations: Vec<Relation>,
    next_node: i64,
    next_way: i64,
    /// Vertices of the lattice that ways here go through, and their tags.
    lattice: Vec<Option<Range<u32>>>,
    tags: Vec<(&'static str, Range<u32>)>,
    text: String,
    refs: Vec<i64>,
}

impl Piece {
    pub(super) fn new(seed: u64, cell: Cell, ground: Ground) -> Self {
        Self {
            seed,
            cell,
            ground,
            index: cell.index() as i64,
            nodes: Vec::new(),
            ways: Vec::new(),
            relations: Vec::new(),
            next_node: FIRST_NODE,
            next_way: FIRST_WAY,
            lattice: vec![None; VERTICES as usize],
            tags: Vec::new(),
            text: String::new(),
            refs: Vec::new(),
        }
    }

    /// Whether there are ids left for another feature, however large. What is drawn first is there in any case.
    pub(super) fn has_room(&self) -> bool {
        self.next_node < NODE_IDS - SPARE
            && self.next_way < WAY_IDS - 100
            && (self.relations.len() as i64) < RELATION_IDS - 10
    }

    /// A new node.
    pub(super) fn node(&mut self, at: Point, tags: &Tags<'_>) -> i64 {
        let id = self.next_node;
        assert!(id < NODE_IDS, "features end while there is room");
        self.next_node += 1;
        self.put_node(id, self.ground.coordinates(at), tags)
    }

    /// The node of the cell's settlement.
    pub(super) fn place_node(&mut self, at: Point, tags: &Tags<'_>) {
        self.put_node(PLACE, self.ground.coordinates(at), tags);
    }

    /// Id of the node of a cell's settlement.
    pub(super) fn place_id(cell: Cell) -> i64 {
        cell.index() as i64 * NODE_IDS + PLACE + 1
    }

    fn put_node(&mut self, id: i64, (lon, lat): (i32, i32), tags: &Tags<'_>) -> i64 {
        let id = self.index * NODE_IDS + id + 1;
        let tags = self.put_tags(tags);
        self.nodes.push(Node { id, lon, lat, tags });
        id
    }

    /// The node at a vertex of the lattice, which may be that of another cell.
    pub(super) fn vertex(&mut self, (i, j): (i32, i32)) -> i64 {
        let (owner, i, j) = self.cell.owner(i, j);
        let at = j * ACROSS + i;
        if owner == self.cell {
            self.lattice[at as usize].get_or_insert(0..0);
        }
        owner.index() as i64 * NODE_IDS + i64::from(at) + 1
    }

    /// Tags a vertex that a way goes through; that of another cell is left alone.
    pub(super) fn tag_vertex(&mut self, (i, j): (i32, i32), tags: &Tags<'_>) {
        let (owner, i, j) = self.cell.owner(i, j);
        if owner == self.cell {
            self.lattice[(j * ACROSS + i) as usize] = Some(self.put_tags(tags));
        }
    }

    /// A new way through nodes.
    pub(super) fn way(&mut self, nodes: &[i64], tags: &Tags<'_>) -> i64 {
        let id = self.next_way;
        assert!(id < WAY_IDS, "features end while there is room");
        self.next_way += 1;
        self.put_way(id, nodes, tags)
    }

    /// The way along a side of the cell, 0 to 3.
    pub(super) fn side_way(&mut self, side: i64, nodes: &[i64], tags: &Tags<'_>) {
        self.put_way(side, nodes, tags);
    }

    /// Id of the way along a side of a cell that has it.
    pub(super) fn side_id(cell: Cell, side: i64) -> i64 {
        cell.index() as i64 * WAY_IDS + side + 1
    }

    fn put_way(&mut self, id: i64, nodes: &[i64], tags: &Tags<'_>) -> i64 {
        let id = self.index * WAY_IDS + id + 1;
        let start = self.refs.len() as u32;
        self.refs.extend_from_slice(nodes);
        let tags = self.put_tags(tags);
        self.ways.push(Way { id, tags, nodes: start..self.refs.len() as u32 });
        id
    }

    /// A new closed way with nodes of its own at these points, each named once.
    pub(super) fn ring(&mut self, points: &[Point], tags: &Tags<'_>) -> i64 {
        let mut nodes: Vec<i64> = points.iter().map(|at| self.node(*at, &[])).collect();
        nodes.extend(nodes.first().copied());
        self.way(&nodes, tags)
    }

    /// A new open way with nodes of its own.
    pub(super) fn line(&mut self, points: &[Point], tags: &Tags<'_>) -> i64 {
        let nodes: Vec<i64> = points.iter().map(|at| self.node(*at, &[])).collect();
        self.way(&nodes, tags)
    }

    /// A new relation.
    pub(super) fn relation(&mut self, members: Vec<(Kind, i64, &'static str)>, tags: &Tags<'_>) {
        let id = self.relations.len() as i64;
        assert!(id < RELATION_IDS, "features end while there is room");
        let id = self.index * RELATION_IDS + id + 1;
        let tags = self.put_tags(tags);
        self.relations.push(Relation { id, tags, members });
    }

    fn put_tags(&mut self, tags: &Tags<'_>) -> Range<u32> {
        let start = self.tags.len() as u32;
        for (key, value) in tags {
            let from = self.text.len() as u32;
            self.text.push_str(value);
            self.tags.push((key, from..self.text.len() as u32));
        }
        start..self.tags.len() as u32
    }

    /// The largest share of a kind's ids that is taken.
    #[cfg(test)]
    pub(super) fn ids_taken(&self) -> f64 {
        let share = |taken: i64, of: i64| taken as f64 / of as f64;
        share(self.next_node, NODE_IDS)
            .max(share(self.next_way, WAY_IDS))
            .max(share(self.relations.len() as i64, RELATION_IDS))
    }

    /// Gives ids to the lattice and sorts. To be called once all is drawn.
    pub(super) fn finish(&mut self) {
        for (at, tags) in std::mem::take(&mut self.lattice).into_iter().enumerate() {
            let Some(tags) = tags else { continue };
            let (i, j) = (at as i32 % ACROSS, at as i32 / ACROSS);
            let side = super::grid::PATCHES;
            let (lon, lat) = vertex(self.seed, self.cell.x * side + i, self.cell.y * side + j);
            self.nodes.push(Node { id: self.index * NODE_IDS + at as i64 + 1, lon, lat, tags });
        }
        self.nodes.sort_unstable_by_key(|node| node.id);
        self.ways.sort_unstable_by_key(|way| way.id);
    }

    /// Writes the objects of a kind, by id, and gives every blob that is full to `blob`; returns how many they were.
    pub(super) fn write(&self, kind: Kind, block: &mut Block, blob: &mut dyn FnMut(Vec<u8>)) -> u64 {
        let count = match kind {
            Kind::Nodes => self.nodes.len(),
            Kind::Ways => self.ways.len(),
            Kind::Relations => self.relations.len(),
        };
        for at in 0..count {
            match kind {
                Kind::Nodes => {
                    let node = &self.nodes[at];
                    block.push_node(node.id, node.lat, node.lon, self.tags_of(&node.tags));
                }
                Kind::Ways => {
                    let way = &self.ways[at];
                    let nodes = &self.refs[span(&way.nodes)];
                    block.push_way(way.id, self.tags_of(&way.tags), nodes.iter().copied());
                }
                Kind::Relations => {
                    let relation = &self.relations[at];
                    let members = relation.members.iter().copied();
                    block.push_relation(relation.id, self.tags_of(&relation.tags), members);
                }
            }
            if block.is_full() {
                blob(block.take_blob());
            }
        }
        count as u64
    }

    fn tags_of(&self, tags: &Range<u32>) -> impl Iterator<Item = (&str, &str)> + Clone {
        self.tags[span(tags)].iter().map(|(key, value)| (*key, &self.text[span(value)]))
    }
}

fn span(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}
