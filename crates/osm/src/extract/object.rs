//! Nodes, ways and relations.

/// Kinds of objects, in the order of a sorted file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    Nodes,
    Ways,
    Relations,
}

/// A rectangle of coordinates in 1e-7 degrees, including its edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bbox {
    pub west: i32,
    pub south: i32,
    pub east: i32,
    pub north: i32,
}

impl Bbox {
    /// The smallest box that contains both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            west: self.west.min(other.west),
            south: self.south.min(other.south),
            east: self.east.max(other.east),
            north: self.north.max(other.north),
        }
    }
}

/// Key and value.
pub type Tag = (String, String);

/// A node: a point with an id and a position.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Node {
    pub id: i64,
    /// In 1e-7 degrees, north of the equator: -900,000,000 to 900,000,000.
    pub lat: i32,
    /// In 1e-7 degrees, east of Greenwich: -1,800,000,000 to 1,800,000,000.
    pub lon: i32,
    pub tags: Vec<Tag>,
}

/// A line, or an area if its first node is its last.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Way {
    pub id: i64,
    pub tags: Vec<Tag>,
    /// Ids, in order.
    pub nodes: Vec<i64>,
}

/// A group of objects: an area with holes, a boundary, a bus line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Relation {
    pub id: i64,
    pub tags: Vec<Tag>,
    pub members: Vec<Member>,
}

/// A part of a relation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Member {
    pub kind: ObjectKind,
    pub id: i64,
    /// Such as `outer`; may be empty.
    pub role: String,
}

/// One object of an extract.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Object {
    Node(Node),
    Way(Way),
    Relation(Relation),
}

impl Object {
    /// The sort key of a sorted file.
    #[must_use]
    pub fn key(&self) -> (ObjectKind, i64) {
        match self {
            Self::Node(node) => (ObjectKind::Nodes, node.id),
            Self::Way(way) => (ObjectKind::Ways, way.id),
            Self::Relation(relation) => (ObjectKind::Relations, relation.id),
        }
    }

    /// In file order.
    #[must_use]
    pub fn tags(&self) -> &[Tag] {
        match self {
            Self::Node(node) => &node.tags,
            Self::Way(way) => &way.tags,
            Self::Relation(relation) => &relation.tags,
        }
    }
}
