//! Every object of a PBF file, in the order of the file. Metadata (versions, times, users) are passed over.

use std::io::{self, Read};

use super::object::{Kind, Member, Node, Object, Relation, Way};
use super::pbf::{Field, blob_header, fields, unpacked, varint};
use super::write::Bbox;

/// Longest blob header that the format allows.
const LONGEST_HEADER: u32 = 64 * 1024;
/// Longest blob that the format allows.
const LONGEST_BLOB: u64 = 32 * 1024 * 1024;

/// What the first block says of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Header {
    pub bbox: Option<Bbox>,
    /// Features without which a reader cannot read it, such as `DenseNodes`.
    pub required_features: Vec<String>,
    /// Features that may help, such as `Sort.Type_then_ID`.
    pub optional_features: Vec<String>,
    pub writing_program: String,
}

/// Why a file cannot be read to its end.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Bytes that are no PBF, or pack or encode in a way that we do not know.
    #[error("the blob at byte {at} is no PBF that can be read")]
    NotPbf { at: u64 },
}

/// Gives each object to `each`, one after another; one block is in memory at a time.
///
/// # Errors
/// [`ReadError`] where the file breaks off or cannot be understood; what came before was given.
pub fn read(mut input: impl Read, each: &mut dyn FnMut(Object)) -> Result<Header, ReadError> {
    let (mut at, mut header) = (0, Header::default());
    while let Some(size) = length(&mut input)? {
        let broken = || ReadError::NotPbf { at };
        if size > LONGEST_HEADER {
            return Err(broken());
        }
        let mut head = vec![0; size as usize];
        input.read_exact(&mut head)?;
        let (kind, data_size) = blob_header(&head).ok_or_else(broken)?;
        if data_size > LONGEST_BLOB {
            return Err(broken());
        }
        let mut blob = vec![0; data_size as usize];
        input.read_exact(&mut blob)?;
        let block = unpacked(&blob).ok_or_else(broken)?;
        match kind {
            b"OSMHeader" => header = read_header(&block).ok_or_else(broken)?,
            b"OSMData" => read_block(&block, each).ok_or_else(broken)?,
            _ => {}
        }
        at += 4 + u64::from(size) + data_size;
    }
    Ok(header)
}

/// Length of the next blob header; `None` at the end of the file.
fn length(input: &mut impl Read) -> Result<Option<u32>, io::Error> {
    let mut size = [0; 4];
    if input.read(&mut size[..1])? == 0 {
        return Ok(None);
    }
    input.read_exact(&mut size[1..])?;
    Ok(Some(u32::from_be_bytes(size)))
}

fn read_header(block: &[u8]) -> Option<Header> {
    let mut header = Header::default();
    for field in fields(block) {
        match field? {
            Field::Bytes(1, bbox) => header.bbox = Some(read_bbox(bbox)?),
            Field::Bytes(4, feature) => header.required_features.push(text(feature)),
            Field::Bytes(5, feature) => header.optional_features.push(text(feature)),
            Field::Bytes(16, program) => header.writing_program = text(program),
            _ => {}
        }
    }
    Some(header)
}

fn read_bbox(bytes: &[u8]) -> Option<Bbox> {
    let mut edges = [0; 4];
    for field in fields(bytes) {
        if let Field::Number(number @ 1..=4, value) = field? {
            edges[number as usize - 1] = i32::try_from(signed(value) / 100).ok()?;
        }
    }
    let [west, east, north, south] = edges;
    Some(Bbox { west, south, east, north })
}

/// What all objects of a block are read by.
struct Block<'a> {
    strings: Vec<&'a [u8]>,
    /// Nanodegrees in a unit, and those of coordinate 0.
    granularity: i64,
    lat_offset: i64,
    lon_offset: i64,
}

fn read_block(bytes: &[u8], each: &mut dyn FnMut(Object)) -> Option<()> {
    let mut block = Block { strings: Vec::new(), granularity: 100, lat_offset: 0, lon_offset: 0 };
    for field in fields(bytes) {
        match field? {
            Field::Bytes(1, table) => {
                for string in fields(table) {
                    if let Field::Bytes(1, string) = string? {
                        block.strings.push(string);
                    }
                }
            }
            Field::Number(17, granularity) => block.granularity = granularity as i64,
            Field::Number(19, offset) => block.lat_offset = offset as i64,
            Field::Number(20, offset) => block.lon_offset = offset as i64,
            _ => {}
        }
    }
    for field in fields(bytes) {
        let Field::Bytes(2, group) = field? else { continue };
        for field in fields(group) {
            match field? {
                Field::Bytes(1, node) => each(Object::Node(block.node(node)?)),
                Field::Bytes(2, nodes) => block.dense_nodes(nodes, each)?,
                Field::Bytes(3, way) => each(Object::Way(block.way(way)?)),
                Field::Bytes(4, relation) => each(Object::Relation(block.relation(relation)?)),
                _ => {}
            }
        }
    }
    Some(())
}

impl Block<'_> {
    fn string(&self, index: u64) -> Option<String> {
        self.strings.get(usize::try_from(index).ok()?).map(|string| text(string))
    }

    /// In 1e-7 degrees.
    fn coordinate(&self, value: i64, offset: i64) -> Option<i32> {
        i32::try_from(value.checked_mul(self.granularity)?.checked_add(offset)? / 100).ok()
    }

    fn tags(&self, keys: &[u8], values: &[u8]) -> Option<Vec<(String, String)>> {
        numbers(keys)
            .zip(numbers(values))
            .map(|(key, value)| Some((self.string(key?)?, self.string(value?)?)))
            .collect()
    }

    fn node(&self, bytes: &[u8]) -> Option<Node> {
        let (mut id, mut lat, mut lon, mut keys, mut values) = (0, 0, 0, [].as_slice(), [].as_slice());
        for field in fields(bytes) {
            match field? {
                Field::Number(1, value) => id = signed(value),
                Field::Bytes(2, packed) => keys = packed,
                Field::Bytes(3, packed) => values = packed,
                Field::Number(8, value) => lat = signed(value),
                Field::Number(9, value) => lon = signed(value),
                _ => {}
            }
        }
        Some(Node {
            id,
            lat: self.coordinate(lat, self.lat_offset)?,
            lon: self.coordinate(lon, self.lon_offset)?,
            tags: self.tags(keys, values)?,
        })
    }

    fn dense_nodes(&self, bytes: &[u8], each: &mut dyn FnMut(Object)) -> Option<()> {
        let mut columns: [&[u8]; 4] = [&[]; 4];
        for field in fields(bytes) {
            match field? {
                Field::Bytes(1, packed) => columns[0] = packed,
                Field::Bytes(number @ 8..=10, packed) => columns[number as usize - 7] = packed,
                _ => {}
            }
        }
        let [ids, lats, lons, mut tags] = columns;
        for ((id, lat), lon) in sums(ids).zip(sums(lats)).zip(sums(lons)) {
            let mut node = Node {
                id: id?,
                lat: self.coordinate(lat?, self.lat_offset)?,
                lon: self.coordinate(lon?, self.lon_offset)?,
                tags: Vec::new(),
            };
            while !tags.is_empty() {
                let key = varint(&mut tags)?;
                if key == 0 {
                    break;
                }
                let value = varint(&mut tags)?;
                node.tags.push((self.string(key)?, self.string(value)?));
            }
            each(Object::Node(node));
        }
        Some(())
    }

    fn way(&self, bytes: &[u8]) -> Option<Way> {
        let (mut id, mut keys, mut values) = (0, [].as_slice(), [].as_slice());
        let mut nodes = Vec::new();
        for field in fields(bytes) {
            match field? {
                Field::Number(1, value) => id = value as i64,
                Field::Bytes(2, packed) => keys = packed,
                Field::Bytes(3, packed) => values = packed,
                Field::Bytes(8, packed) => nodes = sums(packed).collect::<Option<_>>()?,
                _ => {}
            }
        }
        Some(Way { id, tags: self.tags(keys, values)?, nodes })
    }

    fn relation(&self, bytes: &[u8]) -> Option<Relation> {
        let (mut id, mut keys, mut values) = (0, [].as_slice(), [].as_slice());
        let (mut roles, mut ids, mut kinds) = ([].as_slice(), [].as_slice(), [].as_slice());
        for field in fields(bytes) {
            match field? {
                Field::Number(1, value) => id = value as i64,
                Field::Bytes(2, packed) => keys = packed,
                Field::Bytes(3, packed) => values = packed,
                Field::Bytes(8, packed) => roles = packed,
                Field::Bytes(9, packed) => ids = packed,
                Field::Bytes(10, packed) => kinds = packed,
                _ => {}
            }
        }
        let members = sums(ids)
            .zip(numbers(roles))
            .zip(numbers(kinds))
            .map(|((id, role), kind)| {
                let kind = match kind? {
                    0 => Kind::Nodes,
                    1 => Kind::Ways,
                    2 => Kind::Relations,
                    _ => return None,
                };
                Some(Member { kind, id: id?, role: self.string(role?)? })
            })
            .collect::<Option<_>>()?;
        Some(Relation { id, tags: self.tags(keys, values)?, members })
    }
}

/// Strings are UTF-8 by the format; what is not is shown as far as it goes.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn signed(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Numbers packed together; `None` where they are cut.
fn numbers(mut packed: &[u8]) -> impl Iterator<Item = Option<u64>> {
    std::iter::from_fn(move || {
        if packed.is_empty() {
            return None;
        }
        let number = varint(&mut packed);
        if number.is_none() {
            packed = &[];
        }
        Some(number)
    })
}

/// Numbers packed as differences, each to the one before.
fn sums(packed: &[u8]) -> impl Iterator<Item = Option<i64>> {
    let mut sum = 0_i64;
    numbers(packed).map(move |difference| {
        sum = sum.wrapping_add(signed(difference?));
        Some(sum)
    })
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::object::{Member, Node, Object, Relation, Way};
    use super::super::pbf::tests::{bytes, packed};
    use super::super::write::{Bbox, Block, header_blob};
    use super::*;

    fn tags() -> impl Strategy<Value = Vec<(String, String)>> {
        vec(("[a-c:ü]{1,3}", "[x-z \"é]{0,3}"), 0..4)
    }

    fn node() -> impl Strategy<Value = Node> {
        let degrees = |most: i32| -most..=most;
        (any::<i64>(), degrees(900_000_000), degrees(1_800_000_000), tags())
            .prop_map(|(id, lat, lon, tags)| Node { id, lat, lon, tags })
    }

    fn way() -> impl Strategy<Value = Way> {
        (any::<i64>(), tags(), vec(any::<i64>(), 0..9)).prop_map(|(id, tags, nodes)| Way { id, tags, nodes })
    }

    fn relation() -> impl Strategy<Value = Relation> {
        let kind = prop_oneof![Just(Kind::Nodes), Just(Kind::Ways), Just(Kind::Relations)];
        let member =
            (kind, any::<i64>(), "[a-b]{0,2}").prop_map(|(kind, id, role)| Member { kind, id, role });
        (any::<i64>(), tags(), vec(member, 0..5)).prop_map(|(id, tags, members)| Relation {
            id,
            tags,
            members,
        })
    }

    fn pairs(tags: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> + Clone {
        tags.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    fn push(block: &mut Block, object: &Object) {
        match object {
            Object::Node(node) => block.push_node(node.id, node.lat, node.lon, pairs(&node.tags)),
            Object::Way(way) => block.push_way(way.id, pairs(&way.tags), way.nodes.iter().copied()),
            Object::Relation(relation) => {
                let members = relation.members.iter();
                let members = members.map(|member| (member.kind, member.id, member.role.as_str()));
                block.push_relation(relation.id, pairs(&relation.tags), members);
            }
        }
    }

    fn read_all(file: &[u8]) -> Result<(Header, Vec<Object>), ReadError> {
        let mut objects = Vec::new();
        let header = read(file, &mut |object| objects.push(object))?;
        Ok((header, objects))
    }

    const BBOX: Bbox = Bbox { west: -1_799_999_999, south: -5, east: 7, north: 900_000_000 };

    proptest! {
        /// One block is used again and again, as a writer does.
        #[test]
        fn what_is_written_is_read(
            nodes in vec(node(), 0..20),
            more_nodes in vec(node(), 0..3),
            ways in vec(way(), 0..9),
            relations in vec(relation(), 0..9),
        ) {
            let mut file = header_blob(BBOX);
            let mut written = Vec::new();
            let mut dense = Block::new(Kind::Nodes);
            for nodes in [nodes, more_nodes] {
                let nodes: Vec<Object> = nodes.into_iter().map(Object::Node).collect();
                nodes.iter().for_each(|node| push(&mut dense, node));
                file.extend(dense.take_blob());
                written.extend(nodes);
                prop_assert!(dense.is_empty());
            }
            for (kind, objects) in [
                (Kind::Ways, ways.into_iter().map(Object::Way).collect::<Vec<_>>()),
                (Kind::Relations, relations.into_iter().map(Object::Relation).collect()),
            ] {
                let mut block = Block::new(kind);
                objects.iter().for_each(|object| push(&mut block, object));
                file.extend(block.take_blob());
                written.extend(objects);
            }
            let (header, objects) = read_all(&file).unwrap();
            prop_assert_eq!(header.bbox, Some(BBOX));
            prop_assert_eq!(objects, written);
        }

        #[test]
        fn any_bytes_are_survived(bytes in vec(any::<u8>(), 0..200)) {
            let _ = read_all(&bytes);
            let _ = (read_header(&bytes), read_block(&bytes, &mut |_| ()));
        }
    }

    #[test]
    fn blocks_are_full_at_as_many_objects_as_others_write() {
        let mut block = Block::new(Kind::Ways);
        for id in 0..8000 {
            assert!(!block.is_full());
            block.push_way(id, [("highway", "path")].into_iter(), [1, 2].into_iter());
        }
        assert!(block.is_full());
        block.take_blob();
        assert!(!block.is_full() && block.is_empty());
    }

    /// As others write them: nodes one by one, in units and from a zero of their own.
    #[test]
    fn plain_nodes_and_other_units_are_read() {
        let node = [&[8, 6, 8 << 3, 4, 9 << 3, 3][..]].concat();
        let strings = bytes(1, b"");
        // Granularity 1000, latitude from 2,000,000 nanodegrees on.
        let units = [0x88, 0x01, 0xe8, 0x07, 0x98, 0x01, 0x80, 0x89, 0x7a];
        let block = [bytes(1, &bytes(1, &strings)), bytes(2, &bytes(1, &node)), units.to_vec()].concat();
        let blob = packed(&block, true);
        let header = [bytes(1, b"OSMData"), vec![3 << 3, u8::try_from(blob.len()).unwrap()]].concat();
        let file = [&(header.len() as u32).to_be_bytes(), header.as_slice(), &blob].concat();
        let (_, objects) = read_all(&file).unwrap();
        assert_eq!(objects, [Object::Node(Node { id: 3, lat: 20_020, lon: -20, tags: Vec::new() })]);
        // And half of it is an error.
        assert!(matches!(read_all(&file[..file.len() - 3]), Err(ReadError::Io(_))));
        let damaged = [&file[..file.len() - 3], &[9, 9, 9]].concat();
        assert!(matches!(read_all(&damaged), Err(ReadError::NotPbf { at: 0 })));
    }
}
