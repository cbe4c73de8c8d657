//! Features of a layer with keys for matching.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::shape::Shape;
use crate::mvt::{AttributeValue, Feature, GeometryKind, Layer};

/// Names of attributes that hold ids, in lower case; others end in `id`.
const NAMES_OF_IDS: [&str; 2] = ["pk", "key"];

/// A feature with its keys.
pub(super) struct KeyedFeature<'a> {
    pub(super) feature: &'a Feature,
    extent: u32,
    /// Hash of the attributes, independent of their order.
    pub(super) attributes: u64,
    /// Hashes of the names and values of its attributes, sorted.
    pairs: Vec<(u64, u64)>,
    /// Hashes of the names of its attributes that may hold an id.
    pub(super) identifiers: Vec<u64>,
}

impl KeyedFeature<'_> {
    /// Equal for features with the same kind and attributes.
    pub(super) fn description(&self) -> (GeometryKind, u64) {
        (self.feature.kind, self.attributes)
    }

    /// Hash of the value of an attribute, by the hash of its name.
    pub(super) fn attribute(&self, name: u64) -> Option<u64> {
        self.pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1)
    }

    /// Hash of the other attributes.
    pub(super) fn attributes_without(&self, name: u64) -> u64 {
        hash(&self.pairs.iter().filter(|pair| pair.0 != name).collect::<Vec<_>>())
    }

    pub(super) fn has_attributes(&self) -> bool {
        !self.pairs.is_empty()
    }

    pub(super) fn has_more_than_one_attribute(&self) -> bool {
        self.pairs.len() > 1
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
        let ids: Vec<u64> = layer.keys.iter().filter(|key| may_identify(key)).map(hash).collect();
        let values: Vec<u64> = layer.values.iter().map(value_hash).collect();
        found.extend(layer.features.iter().map(|feature| {
            let pair =
                |&(key, value): &(u32, u32)| Some((*keys.get(key as usize)?, *values.get(value as usize)?));
            let mut pairs: Vec<_> = feature.tags.iter().filter_map(pair).collect();
            pairs.sort_unstable();
            pairs.dedup();
            let identifiers = pairs.iter().map(|pair| pair.0).filter(|name| ids.contains(name)).collect();
            KeyedFeature { feature, extent: layer.extent, attributes: hash(&pairs), pairs, identifiers }
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

/// Whether an attribute of this name may hold ids.
fn may_identify(name: &str) -> bool {
    let name = name.to_lowercase();
    NAMES_OF_IDS.contains(&name.as_str()) || name.ends_with("id")
}
