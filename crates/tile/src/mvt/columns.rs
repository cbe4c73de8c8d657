//! Which attributes take how many of a tile's bytes.

use std::collections::BTreeMap;

use super::wire::{Field, each_field, field, varint};
use super::{Broken, signature};

/// Where the bytes of tiles go.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TileBytes {
    /// By attribute: its name, its places in features, and its values. A value that several attributes share
    /// counts for each in equal parts.
    pub columns: BTreeMap<String, f64>,
    pub geometry: u64,
    /// All bytes.
    pub total: u64,
}

impl TileBytes {
    /// Adds another tile.
    pub fn add(&mut self, other: &Self) {
        for (name, bytes) in &other.columns {
            *self.columns.entry(name.clone()).or_default() += bytes;
        }
        self.geometry += other.geometry;
        self.total += other.total;
    }
}

/// Counts the bytes of a tile by attribute.
pub fn columns(bytes: &[u8]) -> Result<TileBytes, Broken> {
    signature::refuse(bytes)?;
    let mut counted = TileBytes { total: bytes.len() as u64, ..TileBytes::default() };
    let mut rest = bytes;
    while !rest.is_empty() {
        if let (3, Field::Bytes(content)) = field(&mut rest)? {
            layer(content, &mut counted)?;
        }
    }
    Ok(counted)
}

fn layer(bytes: &[u8], counted: &mut TileBytes) -> Result<(), Broken> {
    let (mut names, mut values) = (Vec::new(), Vec::new());
    // By attribute: bytes in features, and the values it has.
    let mut own: Vec<f64> = Vec::new();
    let mut users: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    each_field(bytes, |number, field| {
        match (number, field) {
            (2, Field::Bytes(feature)) => of_feature(feature, counted, &mut own, &mut users)?,
            (3, Field::Bytes(name)) => names.push(String::from_utf8_lossy(name).into_owned()),
            (4, Field::Bytes(value)) => values.push(framed(value)),
            _ => {}
        }
        Ok(())
    })?;
    own.resize(own.len().max(names.len()), 0.0);
    for (value, keys) in users {
        let size = values.get(value as usize).copied().unwrap_or(0) as f64 / keys.len() as f64;
        for key in keys {
            own[key as usize] += size;
        }
    }
    for (name, bytes) in names.into_iter().zip(own) {
        let size = framed(name.as_bytes()) as f64 + bytes;
        *counted.columns.entry(name).or_default() += size;
    }
    Ok(())
}

fn of_feature(
    bytes: &[u8],
    counted: &mut TileBytes,
    own: &mut Vec<f64>,
    users: &mut BTreeMap<u64, Vec<u64>>,
) -> Result<(), Broken> {
    each_field(bytes, |number, field| {
        match (number, field) {
            (2, Field::Bytes(tags)) => of_tags(tags, own, users)?,
            (4, Field::Bytes(geometry)) => counted.geometry += framed(geometry),
            _ => {}
        }
        Ok(())
    })
}

/// Pairs of an attribute and a value, by their places in the layer.
fn of_tags(mut tags: &[u8], own: &mut Vec<f64>, users: &mut BTreeMap<u64, Vec<u64>>) -> Result<(), Broken> {
    let all = tags.len();
    while !tags.is_empty() {
        let before = tags.len();
        let key = varint(&mut tags)?;
        let value = varint(&mut tags)?;
        // A broken tile must not take more memory than it has bytes.
        if key as usize > all.max(own.len()) + MOST_KEYS {
            return Err(Broken::Truncated);
        }
        if own.len() <= key as usize {
            own.resize(key as usize + 1, 0.0);
        }
        own[key as usize] += (before - tags.len()) as f64;
        let keys = users.entry(value).or_default();
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    Ok(())
}

/// Attributes of a layer, at most.
const MOST_KEYS: usize = 1 << 16;

/// Bytes of a field with its header.
fn framed(content: &[u8]) -> u64 {
    let length = content.len() as u64;
    let of_length = u64::from((64 - length.max(1).leading_zeros()).div_ceil(7));
    1 + of_length + length
}

#[cfg(test)]
mod tests {
    use super::super::encode::{EncodedFeature, encode};
    use super::super::{AttributeValue, GeometryKind};
    use super::*;

    const MALTA: &[u8] = include_bytes!("../../../report/tests/data/malta-14-8851-6439.mvt");

    #[test]
    fn long_values_take_the_bytes() {
        let mut feature = EncodedFeature::new(GeometryKind::Point, vec![vec![(1, 2)]]);
        feature.tags = vec![
            ("note".to_owned(), AttributeValue::Text("x".repeat(200))),
            ("n".to_owned(), AttributeValue::Whole(7)),
        ];
        let tile = encode(&[("a", 4096, &[feature])]);
        let counted = columns(&tile).unwrap();
        // Names 6 and 3 with their headers, two places of a byte each, and the values with theirs.
        assert_eq!(counted.columns, BTreeMap::from([("n".to_owned(), 9.0), ("note".to_owned(), 214.0)]));
        assert_eq!((counted.geometry, counted.total), (5, tile.len() as u64));
    }

    #[test]
    fn parts_are_less_than_the_whole() {
        let counted = columns(MALTA).unwrap();
        let known = counted.columns.values().sum::<f64>() + counted.geometry as f64;
        assert!(known < counted.total as f64 && known > 0.6 * counted.total as f64, "{counted:?}");
        assert!(counted.columns.contains_key("osm_id") || !counted.columns.is_empty());
        let mut twice = counted.clone();
        twice.add(&counted);
        assert_eq!((twice.total, twice.geometry), (2 * counted.total, 2 * counted.geometry));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_counted_or_refused(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = columns(&bytes);
        }

        #[test]
        fn a_changed_tile_is_no_panic(at in 0..4000_usize, byte: u8) {
            let mut bytes = MALTA.to_vec();
            bytes[at] = byte;
            let _ = columns(&bytes);
        }
    }
}
