//! OSM's PBF format below its objects, read: <https://wiki.openstreetmap.org/wiki/PBF_Format>.

use std::io::Read;

use super::object::Kind;

/// Longest block, unpacked, that the format allows.
const LONGEST_BLOCK: u64 = 32 * 1024 * 1024;

/// One field of a message: its number and what is in it.
pub(super) enum Field<'a> {
    Number(u64, u64),
    Bytes(u64, &'a [u8]),
}

/// The fields of a message that are numbers or bytes, in order; `None` at one that is neither, or is cut.
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

/// Type and data size of a BlobHeader message: fields 1 (bytes) and 3 (varint); others are passed over.
pub(super) fn blob_header(bytes: &[u8]) -> Option<(&[u8], u64)> {
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

/// What is packed in a Blob message: as it is (field 1) or by zlib (3); `None` for what else there is.
pub(super) fn unpacked(blob: &[u8]) -> Option<Vec<u8>> {
    for field in fields(blob) {
        match field? {
            Field::Bytes(1, raw) => return Some(raw.to_vec()),
            Field::Bytes(3, packed) => {
                let mut block = Vec::new();
                let reader = flate2::read::ZlibDecoder::new(packed);
                reader.take(LONGEST_BLOCK).read_to_end(&mut block).ok()?;
                return Some(block);
            }
            _ => {}
        }
    }
    None
}

/// Whether a header block (OSMHeader) says that its objects are sorted: nodes, then ways, then relations.
pub(super) fn is_sorted(header: &[u8]) -> bool {
    fields(header).flatten().any(|field| matches!(field, Field::Bytes(5, b"Sort.Type_then_ID")))
}

/// The last kind of objects in a block of data (OSMData), in the order of a sorted file; `None` when there are none, or
/// it is no such block.
pub(super) fn last_kind(block: &[u8]) -> Option<Kind> {
    let mut last = None;
    for field in fields(block) {
        let Field::Bytes(2, group) = field? else { continue };
        for field in fields(group) {
            last = last.max(match field? {
                Field::Bytes(1 | 2, _) => Some(Kind::Nodes),
                Field::Bytes(3, _) => Some(Kind::Ways),
                Field::Bytes(4, _) => Some(Kind::Relations),
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

    /// A Blob message, packed or not.
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
        assert_eq!(last_kind(&block), Some(Kind::Ways));
        assert_eq!(last_kind(&bytes(1, b"strings")), None);
        for zlib in [false, true] {
            assert_eq!(unpacked(&packed(&block, zlib)).unwrap(), block);
        }
        assert_eq!(unpacked(&bytes(4, b"lzma")), None);
        assert!(is_sorted(&[bytes(4, b"DenseNodes"), bytes(5, b"Sort.Type_then_ID")].concat()));
        assert!(!is_sorted(&bytes(4, b"DenseNodes")));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = (blob_header(&bytes), unpacked(&bytes), is_sorted(&bytes), last_kind(&bytes));
        }
    }
}
