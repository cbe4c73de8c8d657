//! Reads the blobs and fields of OSM's PBF format: <https://wiki.openstreetmap.org/wiki/PBF_Format>.

use std::io::{self, Read, Seek, SeekFrom};

use super::object::ObjectKind;

/// Longest blob header that the format allows.
const LONGEST_HEADER: u32 = 64 * 1024;
/// Longest blob that the format allows, compressed and uncompressed.
const LONGEST_BLOB: u64 = 32 * 1024 * 1024;

/// Position of a blob's data in a file.
pub(super) struct Blob {
    start: u64,
    pub end: u64,
    pub is_data: bool,
}

impl Blob {
    /// The blob at a position in a file of this length; the first blob must be the header.
    pub(super) fn at(file: &mut (impl Read + Seek), at: u64, length: u64) -> Result<Self, PbfError> {
        let mut size = [0; 4];
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut size)?;
        let size = u32::from_be_bytes(size);
        if size == 0 || size > LONGEST_HEADER {
            return Err(PbfError::NotPbf);
        }
        let mut header = vec![0; size as usize];
        file.read_exact(&mut header)
            .map_err(|error| if at == 0 { PbfError::NotPbf } else { error.into() })?;
        let (kind, data_size) = blob_header(&header).ok_or(PbfError::NotPbf)?;
        let right_kind = if at == 0 { kind == b"OSMHeader" } else { kind != b"OSMHeader" };
        if !right_kind || data_size > LONGEST_BLOB {
            return Err(PbfError::NotPbf);
        }
        let start = at + 4 + u64::from(size);
        let blob = Self { start, end: start + data_size, is_data: kind == b"OSMData" };
        if blob.end > length { Err(PbfError::CutShort) } else { Ok(blob) }
    }

    /// The block in it; `None` for an unknown compression.
    pub(super) fn read(&self, file: &mut (impl Read + Seek)) -> Option<Vec<u8>> {
        let mut blob = vec![0; usize::try_from(self.end - self.start).ok()?];
        file.seek(SeekFrom::Start(self.start)).ok()?;
        file.read_exact(&mut blob).ok()?;
        unpacked(&blob)
    }
}

pub(super) enum PbfError {
    NotPbf,
    CutShort,
    Io(io::Error),
}

impl PbfError {
    pub(super) fn in_words(&self, at: u64, length: u64) -> String {
        match self {
            Self::NotPbf if at == 0 => {
                "is not an OSM extract in PBF (no OSMHeader at its start); pgdyno takes .osm.pbf files"
                    .to_owned()
            }
            Self::NotPbf => format!("is damaged at byte {at} of {length}; get the extract again"),
            Self::CutShort => {
                format!(
                    "is cut short: the block at byte {at} goes beyond its {length} bytes; get the extract again"
                )
            }
            Self::Io(error) => error.to_string(),
        }
    }
}

impl From<io::Error> for PbfError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof { Self::CutShort } else { Self::Io(error) }
    }
}

pub(super) enum Field<'a> {
    Number(u64, u64),
    Bytes(u64, &'a [u8]),
}

/// The numbers and bytes among the fields of a message, in order; `None` at another type, or where the
/// message is cut.
pub(super) fn fields(mut bytes: &[u8]) -> impl Iterator<Item = Option<Field<'_>>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let field = field(&mut bytes);
        if field.is_none() {
            bytes = &[];
        }
        Some(field)
    })
}

fn field<'a>(bytes: &mut &'a [u8]) -> Option<Field<'a>> {
    let key = varint(bytes)?;
    match key & 7 {
        0 => Some(Field::Number(key >> 3, varint(bytes)?)),
        2 => {
            let length = usize::try_from(varint(bytes)?).ok()?;
            let (value, rest) = bytes.split_at_checked(length)?;
            *bytes = rest;
            Some(Field::Bytes(key >> 3, value))
        }
        _ => None,
    }
}

pub(super) fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Packed numbers; `None` where they are cut.
pub(super) fn numbers(mut packed: &[u8]) -> impl Iterator<Item = Option<u64>> {
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

/// Packed numbers, stored as differences to the number before.
pub(super) fn sums(packed: &[u8]) -> impl Iterator<Item = Option<i64>> {
    let mut sum = 0_i64;
    numbers(packed).map(move |difference| {
        sum = sum.wrapping_add(signed(difference?));
        Some(sum)
    })
}

/// A signed number from its zigzag coding.
pub(super) fn signed(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Type and data size of a BlobHeader message: fields 1 (bytes) and 3 (varint); others are skipped.
fn blob_header(bytes: &[u8]) -> Option<(&[u8], u64)> {
    let (mut kind, mut size) = (None, None);
    for field in fields(bytes) {
        match field? {
            Field::Bytes(1, value) => kind = Some(value),
            Field::Number(3, value) => size = Some(value),
            _ => {}
        }
    }
    Some((kind?, size?))
}

/// The contents of a Blob message: raw (field 1) or zlib (3); `None` for others.
fn unpacked(blob: &[u8]) -> Option<Vec<u8>> {
    for field in fields(blob) {
        match field? {
            Field::Bytes(1, raw) => return Some(raw.to_vec()),
            Field::Bytes(3, packed) => {
                let mut block = Vec::new();
                let reader = flate2::read::ZlibDecoder::new(packed);
                reader.take(LONGEST_BLOB).read_to_end(&mut block).ok()?;
                return Some(block);
            }
            _ => {}
        }
    }
    None
}

/// The last kind of objects in a block of data (OSMData), in the order of a sorted file; `None` when there
/// are none, or for another block.
pub(super) fn last_kind(block: &[u8]) -> Option<ObjectKind> {
    let mut last = None;
    for field in fields(block) {
        let Field::Bytes(2, group) = field? else { continue };
        for field in fields(group) {
            last = last.max(match field? {
                Field::Bytes(1 | 2, _) => Some(ObjectKind::Nodes),
                Field::Bytes(3, _) => Some(ObjectKind::Ways),
                Field::Bytes(4, _) => Some(ObjectKind::Relations),
                _ => None,
            });
        }
    }
    last
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write;

    use super::*;

    /// A field of bytes.
    pub(crate) fn bytes(number: u8, value: &[u8]) -> Vec<u8> {
        let length = u8::try_from(value.len()).unwrap();
        assert!(length < 128);
        [&[number << 3 | 2, length], value].concat()
    }

    pub(crate) fn packed(block: &[u8], zlib: bool) -> Vec<u8> {
        if !zlib {
            return bytes(1, block);
        }
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(block).unwrap();
        [vec![2 << 3, u8::try_from(block.len()).unwrap()], bytes(3, &encoder.finish().unwrap())].concat()
    }

    #[test]
    fn blocks_say_what_is_in_them() {
        let block =
            [bytes(1, b"strings"), bytes(2, &bytes(2, b"dense")), bytes(2, &bytes(3, b"way"))].concat();
        assert_eq!(last_kind(&block), Some(ObjectKind::Ways));
        assert_eq!(last_kind(&bytes(1, b"strings")), None);
        for zlib in [false, true] {
            assert_eq!(unpacked(&packed(&block, zlib)).unwrap(), block);
        }
        assert_eq!(unpacked(&bytes(4, b"lzma")), None);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = (blob_header(&bytes), unpacked(&bytes), last_kind(&bytes));
            let _ = (numbers(&bytes).count(), sums(&bytes).count());
        }
    }
}
