//! Counts a tile's contents without building its geometry.

use super::wire::{Field, each_field, field, skip_varints, varint};
use super::{Broken, decode, signature};

/// The contents of a tile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TileContents {
    pub layers: Vec<MeasuredLayer>,
}

/// The contents of a layer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MeasuredLayer {
    pub name: String,
    /// Features of a known kind.
    pub features: u64,
    /// Points of all features, rings without a repeated last one.
    pub vertices: u64,
    /// Bytes of the layer in the tile, including its header.
    pub bytes: u64,
}

impl TileContents {
    /// Features of all layers.
    #[must_use]
    pub fn features(&self) -> u64 {
        self.layers.iter().map(|layer| layer.features).sum()
    }

    /// Vertices of all layers.
    #[must_use]
    pub fn vertices(&self) -> u64 {
        self.layers.iter().map(|layer| layer.vertices).sum()
    }
}

/// Counts a tile's contents, in the order of its layers.
pub fn measure(bytes: &[u8]) -> Result<TileContents, Broken> {
    signature::refuse(bytes)?;
    let mut measured = TileContents::default();
    let mut rest = bytes;
    while !rest.is_empty() {
        let before = rest.len();
        if let (3, Field::Bytes(content)) = field(&mut rest)? {
            let mut found = layer(content)?;
            found.bytes = (before - rest.len()) as u64;
            measured.layers.push(found);
        }
    }
    if measured.layers.is_empty() && !bytes.is_empty() {
        return Err(Broken::NoLayer);
    }
    Ok(measured)
}

fn layer(bytes: &[u8]) -> Result<MeasuredLayer, Broken> {
    let mut layer = MeasuredLayer::default();
    each_field(bytes, |number, field| {
        match (number, field) {
            (1, Field::Bytes(name)) => layer.name = String::from_utf8_lossy(name).into_owned(),
            (2, Field::Bytes(bytes)) => {
                if let Some(vertices) = feature(bytes)? {
                    layer.features += 1;
                    layer.vertices += vertices;
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(layer)
}

/// Vertices of a feature of a known kind.
fn feature(bytes: &[u8]) -> Result<Option<u64>, Broken> {
    let mut known = false;
    let mut geometry: &[u8] = &[];
    each_field(bytes, |number, field| {
        match (number, field) {
            (3, Field::Number(kind)) => known = decode::geometry_kind(kind).is_some(),
            (4, Field::Bytes(bytes)) => geometry = bytes,
            _ => {}
        }
        Ok(())
    })?;
    if known { vertices(geometry).map(Some) } else { Ok(None) }
}

fn vertices(mut bytes: &[u8]) -> Result<u64, Broken> {
    let mut vertices = 0;
    while !bytes.is_empty() {
        let command = varint(&mut bytes)? as u32;
        let (id, repeat) = (command & 7, command >> 3);
        match id {
            1 | 2 => {
                skip_varints(&mut bytes, 2 * repeat as usize)?;
                vertices += u64::from(repeat);
            }
            7 => {}
            other => return Err(Broken::Command(other)),
        }
    }
    Ok(vertices)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MALTA: &[u8] = include_bytes!("../../../report/tests/data/malta-14-8851-6439.mvt");

    /// The same counts from what was decoded; without names and bytes.
    fn slowly(bytes: &[u8]) -> Result<Vec<(u64, u64)>, Broken> {
        let counted = |layer: &decode::Layer| {
            let parts = layer.features.iter().flat_map(|feature| &feature.parts);
            (layer.features.len() as u64, parts.map(|part| part.len() as u64).sum())
        };
        Ok(decode::decode(bytes)?.iter().map(counted).collect())
    }

    fn quickly(bytes: &[u8]) -> Result<Vec<(u64, u64)>, Broken> {
        Ok(measure(bytes)?.layers.iter().map(|layer| (layer.features, layer.vertices)).collect())
    }

    #[test]
    fn counts_are_those_of_what_is_decoded() {
        let measured = measure(MALTA).unwrap();
        assert_eq!(quickly(MALTA), slowly(MALTA));
        assert_eq!(measured.features(), 4322);
        assert_eq!(measured.layers.iter().map(|layer| layer.bytes).sum::<u64>(), MALTA.len() as u64);
        assert_eq!(measure(&[]), Ok(TileContents::default()));
    }

    proptest! {
        /// Also for broken tiles: both fail alike (except for overlong numbers, which are skipped).
        #[test]
        fn a_changed_tile_is_counted_as_it_is_decoded(changes in proptest::collection::vec((0..4000_usize, any::<u8>()), 1..4)) {
            let mut bytes = MALTA.to_vec();
            changes.iter().for_each(|&(at, byte)| bytes[at] = byte);
            if let Ok(slowly) = slowly(&bytes) {
                prop_assert_eq!(quickly(&bytes), Ok(slowly));
            }
        }

        #[test]
        fn any_bytes_are_measured_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = measure(&bytes);
            let _ = vertices(&bytes);
        }
    }
}
