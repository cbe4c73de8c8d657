//! Geometry of Mapbox vector tiles (specification 2.1), without their tags.
//!
//! Reads in one pass, takes memory in proportion to the tile's bytes only, and never panics: a stored tile is
//! foreign data. (Tests hold it against the `mvt-reader` crate, whose memory can grow with the square.)

/// One layer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layer {
    /// Coordinates run from 0 to this, with a margin outside; at least 1.
    pub(super) extent: u32,
    pub(super) features: Vec<Feature>,
}

/// One feature: its points, lines or rings.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Feature {
    pub(super) kind: Kind,
    pub(super) parts: Vec<Vec<(i32, i32)>>,
}

/// Kinds of geometry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Point,
    Line,
    /// Rings without a repeated last point.
    Polygon,
}

/// Why bytes are not a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Broken {
    #[error("the tile ends in the middle of a field")]
    Truncated,
    #[error("not a vector tile (unknown wire type {0})")]
    WireType(u8),
    #[error("unknown drawing command {0}")]
    Command(u32),
    #[error("compressed, not a plain vector tile")]
    Compressed,
}

/// Reads all layers.
pub(super) fn decode(bytes: &[u8]) -> Result<Vec<Layer>, Broken> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return Err(Broken::Compressed);
    }
    let mut layers = Vec::new();
    each_field(bytes, |number, field| {
        if let (3, Field::Bytes(bytes)) = (number, field) {
            layers.push(layer(bytes)?);
        }
        Ok(())
    })?;
    Ok(layers)
}

fn layer(bytes: &[u8]) -> Result<Layer, Broken> {
    let mut layer = Layer { extent: 4096, features: Vec::new() };
    each_field(bytes, |number, field| {
        match (number, field) {
            (2, Field::Bytes(bytes)) => layer.features.extend(feature(bytes)?),
            (5, Field::Number(extent)) => layer.extent = u32::try_from(extent).unwrap_or(u32::MAX).max(1),
            _ => {}
        }
        Ok(())
    })?;
    Ok(layer)
}

fn feature(bytes: &[u8]) -> Result<Option<Feature>, Broken> {
    let mut kind = None;
    let mut geometry: &[u8] = &[];
    each_field(bytes, |number, field| {
        match (number, field) {
            (3, Field::Number(1)) => kind = Some(Kind::Point),
            (3, Field::Number(2)) => kind = Some(Kind::Line),
            (3, Field::Number(3)) => kind = Some(Kind::Polygon),
            (4, Field::Bytes(bytes)) => geometry = bytes,
            _ => {}
        }
        Ok(())
    })?;
    let Some(kind) = kind else { return Ok(None) };
    Ok(Some(Feature { kind, parts: parts(geometry)? }))
}

/// Runs the commands move-to (1), line-to (2) and close-path (7).
fn parts(mut bytes: &[u8]) -> Result<Vec<Vec<(i32, i32)>>, Broken> {
    let mut parts: Vec<Vec<(i32, i32)>> = Vec::new();
    let (mut x, mut y) = (0_i32, 0_i32);
    while !bytes.is_empty() {
        let command = varint(&mut bytes)? as u32;
        let (id, repeat) = (command & 7, command >> 3);
        match id {
            1 | 2 => {
                for _ in 0..repeat {
                    x = x.wrapping_add(zigzag(varint(&mut bytes)?));
                    y = y.wrapping_add(zigzag(varint(&mut bytes)?));
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

fn zigzag(value: u64) -> i32 {
    let value = value as u32;
    (value >> 1) as i32 ^ -((value & 1) as i32)
}

/// A protobuf field's content, as far as tiles need it.
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Other,
}

fn each_field<'a>(
    mut bytes: &'a [u8],
    mut visit: impl FnMut(u64, Field<'a>) -> Result<(), Broken>,
) -> Result<(), Broken> {
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let field = match key & 7 {
            0 => Field::Number(varint(&mut bytes)?),
            1 => take(&mut bytes, 8).map(|_| Field::Other)?,
            2 => {
                let length = varint(&mut bytes)?;
                Field::Bytes(take(&mut bytes, length)?)
            }
            5 => take(&mut bytes, 4).map(|_| Field::Other)?,
            other => return Err(Broken::WireType(other as u8)),
        };
        visit(key >> 3, field)?;
    }
    Ok(())
}

fn take<'a>(bytes: &mut &'a [u8], length: u64) -> Result<&'a [u8], Broken> {
    let length = usize::try_from(length).map_err(|_| Broken::Truncated)?;
    let (taken, rest) = bytes.split_at_checked(length).ok_or(Broken::Truncated)?;
    *bytes = rest;
    Ok(taken)
}

fn varint(bytes: &mut &[u8]) -> Result<u64, Broken> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(Broken::Truncated)?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(Broken::Truncated)
}

#[cfg(test)]
mod tests {
    use geo_types::Geometry;
    use proptest::prelude::*;

    use super::*;

    const MALTA: &[u8] = include_bytes!("../../tests/data/malta-14-8851-6439.mvt");

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
        let layers = decode(MALTA).unwrap();
        let reader = mvt_reader::Reader::new(MALTA.to_vec()).unwrap();
        let metadata = reader.get_layer_metadata().unwrap();
        assert_eq!(layers.len(), metadata.len());
        for (index, layer) in layers.iter().enumerate() {
            assert_eq!(layer.extent, metadata[index].extent);
            let theirs: Vec<usize> = reader
                .get_features(index)
                .unwrap()
                .iter()
                .map(|feature| points_of(&feature.geometry))
                .collect();
            let ours: Vec<usize> =
                layer.features.iter().map(|feature| feature.parts.iter().map(Vec::len).sum()).collect();
            assert_eq!(ours, theirs);
        }
    }

    #[test]
    fn compressed_tiles_are_named() {
        assert_eq!(decode(&[0x1f, 0x8b, 8, 0]), Err(Broken::Compressed));
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
            let _ = parts(&bytes);
        }

        #[test]
        fn a_cut_or_changed_tile_never_panics(length in 0..MALTA.len(), at in 0..MALTA.len(), byte: u8) {
            let mut bytes = MALTA.to_vec();
            bytes[at] = byte;
            bytes.truncate(length);
            let _ = decode(&bytes);
        }
    }
}
