//! Encodes tiles for tests; features share no values.

use super::{AttributeValue, GeometryKind};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EncodedFeature {
    pub(crate) id: Option<u64>,
    pub(crate) kind: GeometryKind,
    pub(crate) parts: Vec<Vec<(i32, i32)>>,
    pub(crate) tags: Vec<(String, AttributeValue)>,
}

impl EncodedFeature {
    pub(crate) fn new(kind: GeometryKind, parts: Vec<Vec<(i32, i32)>>) -> Self {
        Self { id: None, kind, parts, tags: Vec::new() }
    }
}

/// A tile of these layers: name, extent, features.
pub(crate) fn encode(layers: &[(&str, u32, &[EncodedFeature])]) -> Vec<u8> {
    let mut tile = Vec::new();
    for (name, extent, features) in layers {
        write_bytes(&mut tile, 3, &layer(name, *extent, features));
    }
    tile
}

fn layer(name: &str, extent: u32, features: &[EncodedFeature]) -> Vec<u8> {
    let (mut layer, mut tail, mut tag) = (Vec::new(), Vec::new(), 0);
    write_bytes(&mut layer, 1, name.as_bytes());
    for feature in features {
        let mut tags = Vec::new();
        for (key, value) in &feature.tags {
            (0..2).for_each(|_| write_varint(&mut tags, tag));
            tag += 1;
            write_bytes(&mut tail, 3, key.as_bytes());
            write_bytes(&mut tail, 4, &written(value));
        }
        let mut message = Vec::new();
        if let Some(id) = feature.id {
            write_number(&mut message, 1, id);
        }
        write_bytes(&mut message, 2, &tags);
        write_number(&mut message, 3, feature.kind as u64 + 1);
        write_bytes(&mut message, 4, &geometry(feature));
        write_bytes(&mut layer, 2, &message);
    }
    layer.extend(tail);
    write_number(&mut layer, 5, extent.into());
    write_number(&mut layer, 15, 2);
    layer
}

fn geometry(feature: &EncodedFeature) -> Vec<u8> {
    let (mut commands, mut at) = (Vec::new(), (0, 0));
    let mut point = |commands: &mut Vec<u8>, (x, y): (i32, i32)| {
        for step in [x - at.0, y - at.1] {
            write_varint(commands, u64::from(((step << 1) ^ (step >> 31)) as u32));
        }
        at = (x, y);
    };
    for part in &feature.parts {
        write_varint(&mut commands, 1 << 3 | 1);
        point(&mut commands, part[0]);
        if part.len() > 1 {
            write_varint(&mut commands, (part.len() as u64 - 1) << 3 | 2);
            part[1..].iter().for_each(|&to| point(&mut commands, to));
        }
        if feature.kind == GeometryKind::Polygon {
            write_varint(&mut commands, 1 << 3 | 7);
        }
    }
    commands
}

fn written(value: &AttributeValue) -> Vec<u8> {
    let mut message = Vec::new();
    match value {
        AttributeValue::Text(text) => write_bytes(&mut message, 1, text.as_bytes()),
        AttributeValue::Real(real) => {
            message.push(3 << 3 | 1);
            message.extend(real.to_le_bytes());
        }
        AttributeValue::Whole(whole) if *whole < 0 => write_number(&mut message, 4, *whole as i64 as u64),
        AttributeValue::Whole(whole) => write_number(&mut message, 5, *whole as u64),
        AttributeValue::Truth(truth) => write_number(&mut message, 7, u64::from(*truth)),
        AttributeValue::Unknown => {}
    }
    message
}

fn write_varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

fn write_number(to: &mut Vec<u8>, field: u64, value: u64) {
    write_varint(to, field << 3);
    write_varint(to, value);
}

fn write_bytes(to: &mut Vec<u8>, field: u64, content: &[u8]) {
    write_varint(to, field << 3 | 2);
    write_varint(to, content.len() as u64);
    to.extend(content);
}
