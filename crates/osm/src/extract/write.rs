//! Blobs of a PBF file, written: <https://wiki.openstreetmap.org/wiki/PBF_Format>. No metadata (versions, times, users),
//! which loads do without.

use std::collections::HashMap;
use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::encode::{Deltas, put_bytes, put_number, put_signed, put_varint};
use super::object::Kind;

/// Most objects in a block, as other writers have it.
const MOST_OBJECTS: usize = 8000;
/// A block is full beyond as many bytes, unpacked; the format allows 32 MiB and recommends half of it.
const FULL_BYTES: usize = 8 * 1024 * 1024;
/// Nanodegrees in the unit of coordinates, 1e-7 degrees.
const NANODEGREES: i64 = 100;

/// A rectangle of coordinates in 1e-7 degrees, its edges included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bbox {
    pub west: i32,
    pub south: i32,
    pub east: i32,
    pub north: i32,
}

impl Bbox {
    /// The smallest that holds both.
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

/// The first blob of a file whose objects are sorted by kind, then by id, without history.
#[must_use]
pub fn header_blob(bbox: Bbox) -> Vec<u8> {
    let mut edges = Vec::new();
    for (field, edge) in [(1, bbox.west), (2, bbox.east), (3, bbox.north), (4, bbox.south)] {
        put_varint(&mut edges, field << 3);
        put_signed(&mut edges, i64::from(edge) * NANODEGREES);
    }
    let mut header = Vec::new();
    put_bytes(&mut header, 1, &edges);
    put_bytes(&mut header, 4, b"OsmSchema-V0.6");
    put_bytes(&mut header, 4, b"DenseNodes");
    put_bytes(&mut header, 5, b"Sort.Type_then_ID");
    put_bytes(&mut header, 16, b"pgdyno");
    blob("OSMHeader", &header)
}

/// Objects of one kind on their way into a blob.
///
/// Push objects until it [is full](Self::is_full), take the blob, go on.
#[derive(Debug)]
pub struct Block {
    kind: Kind,
    objects: usize,
    strings: Strings,
    dense: Dense,
    /// Ways or relations as fields of a group.
    group: Vec<u8>,
    /// One way or relation, and a packed field of it; kept for their room.
    message: Vec<u8>,
    packed: Vec<u8>,
    deltas: Deltas,
}

/// Nodes, column by column.
#[derive(Debug, Default)]
struct Dense {
    ids: Deltas,
    lats: Deltas,
    lons: Deltas,
    /// Key and value of each tag, and 0 after each node.
    tags: Vec<u8>,
    tagged: bool,
}

impl Block {
    /// An empty one for objects of a kind.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            objects: 0,
            strings: Strings::default(),
            dense: Dense::default(),
            group: Vec::new(),
            message: Vec::new(),
            packed: Vec::new(),
            deltas: Deltas::default(),
        }
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects == 0
    }

    /// Whether its blob is to be taken before more is pushed.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.objects >= MOST_OBJECTS || self.group.len() >= FULL_BYTES
    }

    /// Adds a node; coordinates in 1e-7 degrees.
    ///
    /// # Panics
    /// In a block of another kind.
    pub fn push_node<'a>(
        &mut self,
        id: i64,
        lat: i32,
        lon: i32,
        tags: impl Iterator<Item = (&'a str, &'a str)>,
    ) {
        assert_eq!(self.kind, Kind::Nodes);
        self.objects += 1;
        let dense = &mut self.dense;
        dense.ids.push(id);
        dense.lats.push(i64::from(lat));
        dense.lons.push(i64::from(lon));
        for (key, value) in tags {
            dense.tagged = true;
            put_varint(&mut dense.tags, self.strings.index(key).into());
            put_varint(&mut dense.tags, self.strings.index(value).into());
        }
        dense.tags.push(0);
    }

    /// Adds a way through the nodes of these ids.
    ///
    /// # Panics
    /// In a block of another kind.
    pub fn push_way<'a>(
        &mut self,
        id: i64,
        tags: impl Iterator<Item = (&'a str, &'a str)> + Clone,
        nodes: impl Iterator<Item = i64>,
    ) {
        assert_eq!(self.kind, Kind::Ways);
        self.begin(id, tags);
        nodes.for_each(|node| self.deltas.push(node));
        put_bytes(&mut self.message, 8, &self.deltas.bytes);
        put_bytes(&mut self.group, 3, &self.message);
    }

    /// Adds a relation; of each member its kind, id and role.
    ///
    /// # Panics
    /// In a block of another kind.
    pub fn push_relation<'a>(
        &mut self,
        id: i64,
        tags: impl Iterator<Item = (&'a str, &'a str)> + Clone,
        members: impl Iterator<Item = (Kind, i64, &'a str)> + Clone,
    ) {
        assert_eq!(self.kind, Kind::Relations);
        self.begin(id, tags);
        self.packed.clear();
        for (_, member, role) in members.clone() {
            put_varint(&mut self.packed, self.strings.index(role).into());
            self.deltas.push(member);
        }
        put_bytes(&mut self.message, 8, &self.packed);
        put_bytes(&mut self.message, 9, &self.deltas.bytes);
        self.packed.clear();
        self.packed.extend(members.map(|(kind, ..)| match kind {
            Kind::Nodes => 0,
            Kind::Ways => 1,
            Kind::Relations => 2,
        }));
        put_bytes(&mut self.message, 10, &self.packed);
        put_bytes(&mut self.group, 4, &self.message);
    }

    /// What ways and relations begin with.
    fn begin<'a>(&mut self, id: i64, tags: impl Iterator<Item = (&'a str, &'a str)> + Clone) {
        self.objects += 1;
        self.deltas.clear();
        self.message.clear();
        put_number(&mut self.message, 1, id as u64);
        for (field, of_value) in [(2, false), (3, true)] {
            self.packed.clear();
            for (key, value) in tags.clone() {
                let text = if of_value { value } else { key };
                put_varint(&mut self.packed, self.strings.index(text).into());
            }
            if !self.packed.is_empty() {
                put_bytes(&mut self.message, field, &self.packed);
            }
        }
    }

    /// What was pushed as a blob, and an empty block again.
    pub fn take_blob(&mut self) -> Vec<u8> {
        if self.kind == Kind::Nodes {
            self.message.clear();
            put_bytes(&mut self.message, 1, &self.dense.ids.bytes);
            put_bytes(&mut self.message, 8, &self.dense.lats.bytes);
            put_bytes(&mut self.message, 9, &self.dense.lons.bytes);
            if self.dense.tagged {
                put_bytes(&mut self.message, 10, &self.dense.tags);
            }
            put_bytes(&mut self.group, 2, &self.message);
        }
        let mut block = Vec::with_capacity(self.group.len() + 4096);
        put_bytes(&mut block, 1, &self.strings.table());
        put_bytes(&mut block, 2, &self.group);
        self.clear();
        blob("OSMData", &block)
    }

    fn clear(&mut self) {
        self.objects = 0;
        self.strings.clear();
        self.group.clear();
        let dense = &mut self.dense;
        for column in [&mut dense.ids, &mut dense.lats, &mut dense.lons] {
            column.clear();
        }
        dense.tags.clear();
        dense.tagged = false;
    }
}

/// The strings of a block in the order in which they come first. The format wants nothing at 0.
#[derive(Debug, Default)]
struct Strings {
    found: HashMap<Box<str>, u32>,
    /// As fields of a table.
    listed: Vec<u8>,
}

impl Strings {
    fn index(&mut self, text: &str) -> u32 {
        if let Some(index) = self.found.get(text) {
            return *index;
        }
        let index = self.found.len() as u32 + 1;
        self.found.insert(text.into(), index);
        put_bytes(&mut self.listed, 1, text.as_bytes());
        index
    }

    fn table(&self) -> Vec<u8> {
        let mut table = Vec::with_capacity(self.listed.len() + 2);
        put_bytes(&mut table, 1, b"");
        table.extend_from_slice(&self.listed);
        table
    }

    fn clear(&mut self) {
        self.found.clear();
        self.listed.clear();
    }
}

/// A block with its length and kind before it. Packed fast: coordinates hardly shrink more by trying harder.
fn blob(kind: &str, block: &[u8]) -> Vec<u8> {
    let mut packer = ZlibEncoder::new(Vec::with_capacity(block.len() / 2), Compression::fast());
    let packed = packer.write_all(block).and_then(|()| packer.finish()).expect("a Vec takes any bytes");
    let mut data = Vec::with_capacity(packed.len() + 16);
    put_number(&mut data, 2, block.len() as u64);
    put_bytes(&mut data, 3, &packed);
    let mut header = Vec::new();
    put_bytes(&mut header, 1, kind.as_bytes());
    put_number(&mut header, 3, data.len() as u64);
    let mut out = Vec::with_capacity(4 + header.len() + data.len());
    out.extend_from_slice(&(header.len() as u32).to_be_bytes());
    out.extend_from_slice(&header);
    out.extend_from_slice(&data);
    out
}
