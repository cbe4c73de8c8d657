//! Reads every object of a PBF file, in file order. Metadata (versions, times, users) are skipped.

use std::io::{Read, Seek, SeekFrom};

use super::object::{Bbox, Member, Node, Object, ObjectKind, Relation, Tag, Way};
use super::pbf::{Blob, Field, fields, numbers, signed, sums, varint};

/// The first block of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Header {
    pub bbox: Option<Bbox>,
    /// Features that a reader must support, such as `DenseNodes`.
    pub required_features: Vec<String>,
    /// Features that may help, such as `Sort.Type_then_ID`.
    pub optional_features: Vec<String>,
    pub writing_program: String,
}

/// Calls `each` with each object; one block is in memory at a time. `None` where the file ends early, or has
/// an unknown compression or encoding; the objects before that were passed on.
pub fn read(input: &mut (impl Read + Seek), each: &mut dyn FnMut(Object)) -> Option<Header> {
    let length = input.seek(SeekFrom::End(0)).ok()?;
    let (mut at, mut header) = (0, Header::default());
    while at < length {
        let blob = Blob::at(input, at, length).ok()?;
        let block = blob.read(input)?;
        if at == 0 {
            header = read_header(&block)?;
        } else if blob.is_data {
            read_block(&block, each)?;
        }
        at = blob.end;
    }
    Some(header)
}

pub(super) fn read_header(block: &[u8]) -> Option<Header> {
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

/// The parts of a block that its objects refer to.
struct PrimitiveBlock<'a> {
    strings: Vec<&'a [u8]>,
    /// Nanodegrees per unit, and of coordinate 0.
    granularity: i64,
    lat_offset: i64,
    lon_offset: i64,
}

fn read_block(bytes: &[u8], each: &mut dyn FnMut(Object)) -> Option<()> {
    let mut block = PrimitiveBlock { strings: Vec::new(), granularity: 100, lat_offset: 0, lon_offset: 0 };
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
            let Field::Bytes(kind, message) = field? else { continue };
            match kind {
                1 => each(block.node(&ObjectFields::of(message)?)?),
                2 => block.dense_nodes(&ObjectFields::of(message)?, each)?,
                3 => each(block.way(&ObjectFields::of(message)?)?),
                4 => each(block.relation(&ObjectFields::of(message)?)?),
                _ => {}
            }
        }
    }
    Some(())
}

/// The fields 1 to 10 of an object.
#[derive(Default)]
struct ObjectFields<'a> {
    numbers: [u64; 11],
    bytes: [&'a [u8]; 11],
}

impl<'a> ObjectFields<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let mut message = Self::default();
        for field in fields(bytes) {
            match field? {
                Field::Number(field @ 1..=10, value) => message.numbers[field as usize] = value,
                Field::Bytes(field @ 1..=10, value) => message.bytes[field as usize] = value,
                _ => {}
            }
        }
        Some(message)
    }
}

impl PrimitiveBlock<'_> {
    fn string(&self, index: u64) -> Option<String> {
        self.strings.get(usize::try_from(index).ok()?).map(|string| text(string))
    }

    /// In 1e-7 degrees.
    fn coordinate(&self, value: i64, offset: i64) -> Option<i32> {
        i32::try_from(value.checked_mul(self.granularity)?.checked_add(offset)? / 100).ok()
    }

    fn tags(&self, message: &ObjectFields<'_>) -> Option<Vec<Tag>> {
        numbers(message.bytes[2])
            .zip(numbers(message.bytes[3]))
            .map(|(key, value)| Some((self.string(key?)?, self.string(value?)?)))
            .collect()
    }

    fn object(&self, id: i64, lat: i64, lon: i64, tags: Vec<Tag>) -> Option<Object> {
        let (lat, lon) = (self.coordinate(lat, self.lat_offset)?, self.coordinate(lon, self.lon_offset)?);
        Some(Object::Node(Node { id, lat, lon, tags }))
    }

    fn node(&self, message: &ObjectFields<'_>) -> Option<Object> {
        let [id, lat, lon] = [1, 8, 9].map(|field| signed(message.numbers[field]));
        self.object(id, lat, lon, self.tags(message)?)
    }

    fn dense_nodes(&self, message: &ObjectFields<'_>, each: &mut dyn FnMut(Object)) -> Option<()> {
        let [ids, lats, lons, mut indexes] = [1, 8, 9, 10].map(|field| message.bytes[field]);
        for ((id, lat), lon) in sums(ids).zip(sums(lats)).zip(sums(lons)) {
            let mut tags = Vec::new();
            while !indexes.is_empty() {
                let key = varint(&mut indexes)?;
                if key == 0 {
                    break;
                }
                tags.push((self.string(key)?, self.string(varint(&mut indexes)?)?));
            }
            each(self.object(id?, lat?, lon?, tags)?);
        }
        Some(())
    }

    fn way(&self, message: &ObjectFields<'_>) -> Option<Object> {
        let nodes = sums(message.bytes[8]).collect::<Option<_>>()?;
        Some(Object::Way(Way { id: message.numbers[1] as i64, tags: self.tags(message)?, nodes }))
    }

    fn relation(&self, message: &ObjectFields<'_>) -> Option<Object> {
        let [roles, ids, kinds] = [8, 9, 10].map(|field| message.bytes[field]);
        let members = sums(ids).zip(numbers(roles)).zip(numbers(kinds)).map(|((id, role), kind)| {
            let kind = match kind? {
                0 => ObjectKind::Nodes,
                1 => ObjectKind::Ways,
                2 => ObjectKind::Relations,
                _ => return None,
            };
            Some(Member { kind, id: id?, role: self.string(role?)? })
        });
        let members = members.collect::<Option<_>>()?;
        Some(Object::Relation(Relation { id: message.numbers[1] as i64, tags: self.tags(message)?, members }))
    }
}

/// Strings are UTF-8 by the format; invalid bytes are replaced.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::pbf::tests::{bytes, packed};
    use super::super::write::{self, header_blob};
    use super::*;

    fn tags() -> impl Strategy<Value = Vec<Tag>> {
        vec(("[a-c:ü]{1,3}", "[x-z \"é]{0,3}"), 0..4)
    }

    fn node() -> impl Strategy<Value = Object> {
        let degrees = |most: i32| -most..=most;
        (any::<i64>(), degrees(900_000_000), degrees(1_800_000_000), tags())
            .prop_map(|(id, lat, lon, tags)| Object::Node(Node { id, lat, lon, tags }))
    }

    fn way() -> impl Strategy<Value = Object> {
        (any::<i64>(), tags(), vec(any::<i64>(), 0..9))
            .prop_map(|(id, tags, nodes)| Object::Way(Way { id, tags, nodes }))
    }

    fn relation() -> impl Strategy<Value = Object> {
        let kind = prop_oneof![Just(ObjectKind::Nodes), Just(ObjectKind::Ways), Just(ObjectKind::Relations)];
        let member =
            (kind, any::<i64>(), "[a-b]{0,2}").prop_map(|(kind, id, role)| Member { kind, id, role });
        (any::<i64>(), tags(), vec(member, 0..5))
            .prop_map(|(id, tags, members)| Object::Relation(Relation { id, tags, members }))
    }

    fn read_all(file: &[u8]) -> Option<(Header, Vec<Object>)> {
        let mut objects = Vec::new();
        let header = read(&mut Cursor::new(file), &mut |object| objects.push(object))?;
        Some((header, objects))
    }

    const BBOX: Bbox = Bbox { west: -1_799_999_999, south: -5, east: 7, north: 900_000_000 };

    proptest! {
        /// One block is reused, as in a writer.
        #[test]
        fn what_is_written_is_read(
            nodes in vec(node(), 0..20),
            more_nodes in vec(node(), 0..3),
            ways in vec(way(), 0..9),
            relations in vec(relation(), 0..9),
        ) {
            let mut file = header_blob(BBOX);
            let mut block = write::BlobBuilder::default();
            for part in [&nodes, &more_nodes, &ways, &relations] {
                part.iter().for_each(|object| block.push(object));
                file.extend(block.take_blob());
                prop_assert!(block.is_empty());
            }
            let (header, objects) = read_all(&file).unwrap();
            prop_assert_eq!(header.bbox, Some(BBOX));
            prop_assert_eq!(objects, [nodes, more_nodes, ways, relations].concat());
        }

        #[test]
        fn any_bytes_are_survived(bytes in vec(any::<u8>(), 0..200)) {
            let _ = read_all(&bytes);
            let _ = (read_header(&bytes), read_block(&bytes, &mut |_| ()));
        }
    }

    /// As others write them: nodes one by one, with other units and offsets.
    #[test]
    fn plain_nodes_and_other_units_are_read() {
        let node = [8, 6, 8 << 3, 4, 9 << 3, 3];
        let strings = bytes(1, b"");
        // Granularity 1000, latitude from 2,000,000 nanodegrees on.
        let units = [0x88, 0x01, 0xe8, 0x07, 0x98, 0x01, 0x80, 0x89, 0x7a];
        let block = [bytes(1, &bytes(1, &strings)), bytes(2, &bytes(1, &node)), units.to_vec()].concat();
        let blob = packed(&block, true);
        let header = [bytes(1, b"OSMData"), vec![3 << 3, u8::try_from(blob.len()).unwrap()]].concat();
        let first = header_blob(BBOX);
        let file = [&first, &(header.len() as u32).to_be_bytes()[..], &header, &blob].concat();
        let (_, objects) = read_all(&file).unwrap();
        assert_eq!(objects, [Object::Node(Node { id: 3, lat: 20_020, lon: -20, tags: Vec::new() })]);
        // A part of it is an error.
        assert_eq!(read_all(&file[..file.len() - 3]), None);
        assert_eq!(read_all(&[&file[..file.len() - 3], &[9, 9, 9]].concat()), None);
    }
}
