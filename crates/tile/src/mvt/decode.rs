//! Layers and features of a tile.

use super::wire::{Field, each_field, varint, zigzag};
use super::{Broken, signature};

/// A layer of a vector tile, decoded.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    pub name: String,
    /// 1 or 2.
    pub version: u32,
    /// Coordinates run from 0 to this, with a margin outside; at least 1.
    pub extent: u32,
    pub features: Vec<Feature>,
    /// Names of attributes; empty where not requested.
    pub keys: Vec<String>,
    /// Values of attributes; empty where not requested.
    pub values: Vec<AttributeValue>,
}

impl Layer {
    /// A feature's attributes; invalid indexes are skipped.
    pub fn attributes(&self, feature: &Feature) -> impl Iterator<Item = (&str, &AttributeValue)> {
        let found = |&(key, value): &(u32, u32)| {
            Some((self.keys.get(key as usize)?.as_str(), self.values.get(value as usize)?))
        };
        feature.tags.iter().filter_map(found)
    }
}

/// One feature: its points, lines or rings.
#[derive(Debug, Clone, PartialEq)]
pub struct Feature {
    pub id: Option<u64>,
    pub kind: GeometryKind,
    pub parts: Vec<Vec<(i32, i32)>>,
    /// Indexes into the layer's keys and values; empty where not requested.
    pub tags: Vec<(u32, u32)>,
}

/// Kinds of geometry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GeometryKind {
    Point,
    Line,
    /// Rings without a repeated last point.
    Polygon,
}

/// Decodes all layers without attributes. No bytes are a tile without layers.
pub fn decode(bytes: &[u8]) -> Result<Vec<Layer>, Broken> {
    layers(bytes, false)
}

/// Decodes all layers with attributes.
pub fn decode_with_attributes(bytes: &[u8]) -> Result<Vec<Layer>, Broken> {
    layers(bytes, true)
}

fn layers(bytes: &[u8], attributes: bool) -> Result<Vec<Layer>, Broken> {
    signature::refuse(bytes)?;
    let mut layers = Vec::new();
    each_field(bytes, |number, field| {
        if let (3, Field::Bytes(bytes)) = (number, field) {
            layers.push(layer(bytes, attributes)?);
        }
        Ok(())
    })?;
    if layers.is_empty() && !bytes.is_empty() {
        return Err(Broken::NoLayer);
    }
    Ok(layers)
}

fn layer(bytes: &[u8], attributes: bool) -> Result<Layer, Broken> {
    let mut layer = Layer {
        name: String::new(),
        version: 1,
        extent: 4096,
        features: Vec::new(),
        keys: Vec::new(),
        values: Vec::new(),
    };
    let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    each_field(bytes, |number, field| {
        match (number, field) {
            (1, Field::Bytes(name)) => layer.name = String::from_utf8_lossy(name).into_owned(),
            (2, Field::Bytes(bytes)) => layer.features.extend(feature(bytes, attributes)?),
            (3, Field::Bytes(key)) if attributes => {
                layer.keys.push(String::from_utf8_lossy(key).into_owned())
            }
            (4, Field::Bytes(value)) if attributes => layer.values.push(AttributeValue::read(value)?),
            (5, Field::Number(extent)) => layer.extent = small(extent).max(1),
            (15, Field::Number(version)) => layer.version = small(version),
            _ => {}
        }
        Ok(())
    })?;
    Ok(layer)
}

/// Kind of geometry by its number in the specification.
pub(super) fn geometry_kind(number: u64) -> Option<GeometryKind> {
    match number {
        1 => Some(GeometryKind::Point),
        2 => Some(GeometryKind::Line),
        3 => Some(GeometryKind::Polygon),
        _ => None,
    }
}

/// `None` for a feature of an unknown kind.
fn feature(bytes: &[u8], attributes: bool) -> Result<Option<Feature>, Broken> {
    let (mut id, mut known) = (None, None);
    let (mut geometry, mut tagged): (&[u8], &[u8]) = (&[], &[]);
    each_field(bytes, |number, field| {
        match (number, field) {
            (1, Field::Number(number)) => id = Some(number),
            (2, Field::Bytes(bytes)) if attributes => tagged = bytes,
            (3, Field::Number(number)) => known = geometry_kind(number),
            (4, Field::Bytes(bytes)) => geometry = bytes,
            _ => {}
        }
        Ok(())
    })?;
    let Some(kind) = known else { return Ok(None) };
    Ok(Some(Feature { id, kind, parts: parts(geometry)?, tags: tags(tagged)? }))
}

fn tags(mut bytes: &[u8]) -> Result<Vec<(u32, u32)>, Broken> {
    let mut tags = Vec::new();
    while !bytes.is_empty() {
        tags.push((varint(&mut bytes)? as u32, varint(&mut bytes)? as u32));
    }
    Ok(tags)
}

/// Runs the commands move-to (1), line-to (2) and close-path (7).
fn parts(mut bytes: &[u8]) -> Result<Vec<Vec<(i32, i32)>>, Broken> {
    let mut parts: Vec<Vec<(i32, i32)>> = Vec::new();
    let (mut x, mut y) = (0_i32, 0_i32);
    let step = |bytes: &mut &[u8]| varint(bytes).map(|value| zigzag(u64::from(value as u32)) as i32);
    while !bytes.is_empty() {
        let command = varint(&mut bytes)? as u32;
        let (id, repeat) = (command & 7, command >> 3);
        match id {
            1 | 2 => {
                for _ in 0..repeat {
                    x = x.wrapping_add(step(&mut bytes)?);
                    y = y.wrapping_add(step(&mut bytes)?);
                    match parts.last_mut() {
                        Some(part) if id == 2 => part.push((x, y)),
                        _ => parts.push(vec![(x, y)]),
                    }
                }
            }
            7 => {}
            other => return Err(Broken::Command(other)),
        }
    }
    Ok(parts)
}

/// A value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum AttributeValue {
    Text(String),
    /// Whole numbers of all three encodings.
    Whole(i128),
    Real(f64),
    Truth(bool),
    /// A type outside the specification.
    Unknown,
}

impl AttributeValue {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Broken> {
        let mut value = Self::Unknown;
        each_field(bytes, |number, field| {
            value = match (number, field) {
                (1, Field::Bytes(text)) => Self::Text(String::from_utf8_lossy(text).into_owned()),
                (2, Field::Four(bytes)) => Self::Real(f64::from(f32::from_le_bytes(bytes))),
                (3, Field::Eight(bytes)) => Self::Real(f64::from_le_bytes(bytes)),
                (4, Field::Number(number)) => Self::Whole(i128::from(number as i64)),
                (5, Field::Number(number)) => Self::Whole(i128::from(number)),
                (6, Field::Number(number)) => Self::Whole(i128::from(zigzag(number))),
                (7, Field::Number(number)) => Self::Truth(number != 0),
                _ => return Ok(()),
            };
            Ok(())
        })?;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use geo_types::Geometry;
    use proptest::prelude::*;

    use super::super::encode::{EncodedFeature, encode};
    use super::*;

    const MALTA: &[u8] = include_bytes!("../../../report/tests/data/malta-14-8851-6439.mvt");

    /// Points of a geometry as `mvt-reader` gives them, rings without their repeated last point.
    fn points_of(geometry: &Geometry<f32>) -> usize {
        match geometry {
            Geometry::MultiPoint(points) => points.0.len(),
            Geometry::LineString(line) => line.0.len(),
            Geometry::MultiLineString(lines) => lines.0.iter().map(|line| line.0.len()).sum(),
            Geometry::MultiPolygon(polygons) => polygons
                .0
                .iter()
                .flat_map(|polygon| std::iter::once(polygon.exterior()).chain(polygon.interiors()))
                .map(|ring| ring.0.len() - 1)
                .sum(),
            other => panic!("not in tiles: {other:?}"),
        }
    }

    #[test]
    fn agrees_with_mvt_reader() {
        let layers = decode_with_attributes(MALTA).unwrap();
        let reader = mvt_reader::Reader::new(MALTA.to_vec()).unwrap();
        let metadata = reader.get_layer_metadata().unwrap();
        assert_eq!(layers.len(), metadata.len());
        for (index, layer) in layers.iter().enumerate() {
            assert_eq!((layer.extent, &layer.name), (metadata[index].extent, &metadata[index].name));
            assert_eq!(layer.version, metadata[index].version);
            let theirs = reader.get_features(index).unwrap();
            assert_eq!(layer.features.len(), theirs.len());
            for (ours, theirs) in layer.features.iter().zip(theirs) {
                assert_eq!(ours.parts.iter().map(Vec::len).sum::<usize>(), points_of(&theirs.geometry));
                assert_eq!(ours.id, theirs.id);
                let properties = theirs.properties.unwrap_or_default();
                assert_eq!(layer.attributes(ours).count(), properties.len());
                for (key, value) in layer.attributes(ours) {
                    let AttributeValue::Text(text) = value else { continue };
                    assert_eq!(properties[key], mvt_reader::feature::Value::String(text.clone()));
                }
            }
        }
    }

    #[test]
    fn attributes_are_read_where_they_are_asked_for() {
        let values = [
            AttributeValue::Text("Malta".into()),
            AttributeValue::Whole(-3),
            AttributeValue::Whole(i128::from(u64::MAX)),
            AttributeValue::Real(0.1),
            AttributeValue::Truth(true),
        ];
        let made = EncodedFeature {
            tags: values
                .iter()
                .enumerate()
                .map(|(key, value)| (format!("key {key}"), value.clone()))
                .collect(),
            ..EncodedFeature::new(GeometryKind::Point, vec![vec![(1, -2)]])
        };
        let bytes = encode(&[("place", 512, std::slice::from_ref(&made))]);
        let layers = decode_with_attributes(&bytes).unwrap();
        let found: Vec<AttributeValue> =
            layers[0].attributes(&layers[0].features[0]).map(|(_, value)| value.clone()).collect();
        assert_eq!(found, values);
        assert_eq!((layers[0].name.as_str(), layers[0].extent, layers[0].version), ("place", 512, 2));
        let plain = decode(&bytes).unwrap();
        assert_eq!(plain[0].features[0].parts, made.parts);
        assert_eq!(plain[0].attributes(&plain[0].features[0]).count(), 0);
    }

    #[test]
    fn no_bytes_are_an_empty_tile_but_bytes_without_a_layer_are_none() {
        assert_eq!(decode(&[]), Ok(Vec::new()));
        assert_eq!(decode(&[0x08, 0x01]), Err(Broken::NoLayer));
        assert_eq!(decode(&[0x1a, 0xff, 0xff]), Err(Broken::Truncated));
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
            let _ = layer(&bytes, true);
            let _ = parts(&bytes);
        }

        #[test]
        fn a_cut_or_changed_tile_never_panics(length in 0..MALTA.len(), at in 0..MALTA.len(), byte: u8) {
            let mut bytes = MALTA.to_vec();
            bytes[at] = byte;
            bytes.truncate(length);
            let _ = decode_with_attributes(&bytes);
        }
    }
}
