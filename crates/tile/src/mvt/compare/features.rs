//! Features of a layer with keys for matching.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::shape::Shape;
use crate::mvt::{AttributeValue, Feature, GeometryKind, Layer};

/// A feature with its keys.
pub(super) struct KeyedFeature<'a> {
    pub(super) feature: &'a Feature,
    extent: u32,
    /// Hash of the attributes, independent of their order.
    pub(super) attributes: u64,
}

impl KeyedFeature<'_> {
    /// Equal for features with the same kind and attributes.
    pub(super) fn description(&self) -> (GeometryKind, u64) {
        (self.feature.kind, self.attributes)
    }

    /// Equal for features with the same kind and id.
    pub(super) fn identity(&self) -> Option<(GeometryKind, u64)> {
        self.feature.id.map(|id| (self.feature.kind, id))
    }

    pub(super) fn has_several_parts(&self) -> bool {
        self.feature.parts.len() > 1
    }

    pub(super) fn shape(&self) -> Shape {
        self.shape_of(&self.feature.parts)
    }

    pub(super) fn shape_of(&self, parts: &[Vec<(i32, i32)>]) -> Shape {
        Shape::new(self.feature.kind, parts, self.extent)
    }
}

pub(super) fn known<'a>(layers: &[&'a Layer]) -> Vec<KeyedFeature<'a>> {
    let mut found = Vec::new();
    for layer in layers {
        let keys: Vec<u64> = layer.keys.iter().map(hash).collect();
        let values: Vec<u64> = layer.values.iter().map(value_hash).collect();
        found.extend(layer.features.iter().map(|feature| {
            let pair =
                |&(key, value): &(u32, u32)| Some((*keys.get(key as usize)?, *values.get(value as usize)?));
            let mut pairs: Vec<_> = feature.tags.iter().filter_map(pair).collect();
            pairs.sort_unstable();
            pairs.dedup();
            KeyedFeature { feature, extent: layer.extent, attributes: hash(&pairs) }
        }));
    }
    found
}

fn hash<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Equal for a whole number in any of its encodings.
fn value_hash(value: &AttributeValue) -> u64 {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        AttributeValue::Text(text) => hash(&(0, text)),
        AttributeValue::Whole(whole) => hash(&(1, whole)),
        AttributeValue::Real(real) if real.fract() == 0.0 && real.abs() <= EXACT => hash(&(1, *real as i128)),
        AttributeValue::Real(real) => hash(&(2, (*real as f32).to_bits())),
        AttributeValue::Truth(truth) => hash(&(3, truth)),
        AttributeValue::Unknown => hash(&4),
    }
}
