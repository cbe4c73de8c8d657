//! Writes blobs of a PBF file: <https://wiki.openstreetmap.org/wiki/PBF_Format>. Without metadata (versions,
//! times, users), which loads do not need.

use std::collections::HashMap;
use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::object::{Bbox, Object, ObjectKind, Tag};

/// Most objects in a block, as in other writers.
const MOST_OBJECTS: usize = 8000;
/// A block is full beyond this many bytes, uncompressed; the format allows 32 MiB and recommends half of it.
const FULL_BYTES: usize = 8 * 1024 * 1024;
/// Nanodegrees in the unit of coordinates, 1e-7 degrees.
const NANODEGREES: i64 = 100;

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

/// Collects objects for a blob. Push objects of one kind until it [is full](Self::is_full), take the blob,
/// continue.
#[derive(Debug, Default)]
pub struct BlobBuilder {
    objects: usize,
    strings: Strings,
    dense: Dense,
    /// Ways or relations, encoded as fields of a group.
    group: Vec<u8>,
}

#[derive(Debug, Default)]
struct Dense {
    ids: Deltas,
    lats: Deltas,
    lons: Deltas,
    /// Key and value of each tag, and 0 after each node.
    tags: Vec<u8>,
    tagged: bool,
}

impl BlobBuilder {
    /// Whether it contains no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects == 0
    }

    /// Whether its blob must be taken before more is pushed.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.objects >= MOST_OBJECTS || self.group.len() >= FULL_BYTES
    }

    /// Adds an object of the same kind as those before.
    pub fn push(&mut self, object: &Object) {
        self.objects += 1;
        let mut message = Vec::new();
        match object {
            Object::Node(node) => {
                let dense = &mut self.dense;
                dense.ids.push(node.id);
                dense.lats.push(i64::from(node.lat));
                dense.lons.push(i64::from(node.lon));
                for text in node.tags.iter().flat_map(|(key, value)| [key, value]) {
                    dense.tagged = true;
                    put_varint(&mut dense.tags, self.strings.index(text));
                }
                dense.tags.push(0);
            }
            Object::Way(way) => {
                self.put_id_and_tags(&mut message, way.id, &way.tags);
                put_bytes(&mut message, 8, &Deltas::of(way.nodes.iter().copied()).bytes);
                put_bytes(&mut self.group, 3, &message);
            }
            Object::Relation(relation) => {
                self.put_id_and_tags(&mut message, relation.id, &relation.tags);
                let members = || relation.members.iter();
                let mut roles = Vec::new();
                members().for_each(|member| put_varint(&mut roles, self.strings.index(&member.role)));
                put_bytes(&mut message, 8, &roles);
                put_bytes(&mut message, 9, &Deltas::of(members().map(|member| member.id)).bytes);
                let kinds = members().map(|member| match member.kind {
                    ObjectKind::Nodes => 0,
                    ObjectKind::Ways => 1,
                    ObjectKind::Relations => 2,
                });
                put_bytes(&mut message, 10, &kinds.collect::<Vec<u8>>());
                put_bytes(&mut self.group, 4, &message);
            }
        }
    }

    fn put_id_and_tags(&mut self, message: &mut Vec<u8>, id: i64, tags: &[Tag]) {
        put_number(message, 1, id as u64);
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for (key, value) in tags {
            put_varint(&mut keys, self.strings.index(key));
            put_varint(&mut values, self.strings.index(value));
        }
        put_bytes(message, 2, &keys);
        put_bytes(message, 3, &values);
    }

    /// The blob of the pushed objects; the block is then empty.
    pub fn take_blob(&mut self) -> Vec<u8> {
        let Self { strings, dense, mut group, .. } = std::mem::take(self);
        if !dense.ids.bytes.is_empty() {
            let mut nodes = Vec::new();
            put_bytes(&mut nodes, 1, &dense.ids.bytes);
            put_bytes(&mut nodes, 8, &dense.lats.bytes);
            put_bytes(&mut nodes, 9, &dense.lons.bytes);
            if dense.tagged {
                put_bytes(&mut nodes, 10, &dense.tags);
            }
            put_bytes(&mut group, 2, &nodes);
        }
        let mut table = Vec::with_capacity(strings.listed.len() + 2);
        put_bytes(&mut table, 1, b"");
        table.extend_from_slice(&strings.listed);
        let mut block = Vec::with_capacity(table.len() + group.len() + 16);
        put_bytes(&mut block, 1, &table);
        put_bytes(&mut block, 2, &group);
        blob("OSMData", &block)
    }
}

/// The strings of a block in order of first use. The format requires an empty one at 0.
#[derive(Debug, Default)]
struct Strings {
    found: HashMap<Box<str>, u64>,
    /// As fields of a table.
    listed: Vec<u8>,
}

impl Strings {
    fn index(&mut self, text: &str) -> u64 {
        if let Some(index) = self.found.get(text) {
            return *index;
        }
        let index = self.found.len() as u64 + 1;
        self.found.insert(text.into(), index);
        put_bytes(&mut self.listed, 1, text.as_bytes());
        index
    }
}

/// A block with its length and kind before it. Compressed fast: coordinates hardly shrink with more effort.
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

/// Appends a varint (<https://protobuf.dev/programming-guides/encoding/>).
fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a zigzag varint.
fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_varint(out, (value << 1 ^ value >> 63) as u64);
}

fn put_number(out: &mut Vec<u8>, field: u64, value: u64) {
    put_varint(out, field << 3);
    put_varint(out, value);
}

/// Appends a field of bytes: a string, a message, or packed numbers.
fn put_bytes(out: &mut Vec<u8>, field: u64, value: &[u8]) {
    put_varint(out, field << 3 | 2);
    put_varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// Numbers stored as differences to the number before.
#[derive(Debug, Default)]
struct Deltas {
    bytes: Vec<u8>,
    last: i64,
}

impl Deltas {
    fn of(values: impl Iterator<Item = i64>) -> Self {
        let mut deltas = Self::default();
        values.for_each(|value| deltas.push(value));
        deltas
    }

    fn push(&mut self, value: i64) {
        put_signed(&mut self.bytes, value.wrapping_sub(self.last));
        self.last = value;
    }
}

#[cfg(test)]
mod tests {
    use super::super::object::Way;
    use super::*;

    #[test]
    fn blocks_are_full_at_as_many_objects_as_others_write() {
        let mut block = BlobBuilder::default();
        for id in 0..8000 {
            assert!(!block.is_full());
            let tags = vec![("highway".to_owned(), "path".to_owned())];
            block.push(&Object::Way(Way { id, tags, nodes: vec![1, 2] }));
        }
        assert!(block.is_full());
        block.take_blob();
        assert!(!block.is_full() && block.is_empty());
    }
}
