//! What identifies a feature on both sides: its id, or an attribute that holds one.
//!
//! Ids that number rows identify nothing: equal features then have different ones.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::features::KeyedFeature;
use super::shape::Shape;
use crate::mvt::GeometryKind;

/// Least share of features that have an id, and of ids that are unique.
const MOST: f64 = 0.9;
/// Least share of the ids of the side with fewer of them that the other side has.
const SHARED: f64 = 0.5;

/// Where a feature's id is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Identity {
    FeatureId,
    /// By the hash of its name.
    Attribute(u64),
}

/// Equal for the same feature on both sides.
pub(super) type Key = (GeometryKind, u64);

impl Identity {
    /// What identifies the features of both sides, if anything does.
    pub(super) fn of(sides: [&[KeyedFeature<'_>]; 2]) -> Option<Self> {
        let attributes: BTreeSet<Self> = sides[0]
            .iter()
            .flat_map(|known| known.identifiers.iter().map(|name| Self::Attribute(*name)))
            .collect();
        [Self::FeatureId].into_iter().chain(attributes).find(|identity| identity.identifies(sides))
    }

    pub(super) fn key(self, known: &KeyedFeature<'_>) -> Option<Key> {
        let id = match self {
            Self::FeatureId => known.feature.id?,
            Self::Attribute(name) => known.attribute(name)?,
        };
        Some((known.feature.kind, id))
    }

    /// Hash of the attributes that are not the id.
    pub(super) fn rest(self, known: &KeyedFeature<'_>) -> u64 {
        match self {
            Self::FeatureId => known.attributes,
            Self::Attribute(name) => known.attributes_without(name),
        }
    }

    /// Whether its shape and the attributes besides the id tell it from others: many points lie in one place.
    pub(super) fn is_telling(self, known: &KeyedFeature<'_>) -> bool {
        known.feature.kind != GeometryKind::Point || self == Self::FeatureId && known.has_attributes()
    }

    fn identifies(self, sides: [&[KeyedFeature<'_>]; 2]) -> bool {
        let [own, base] = sides.map(|side| self.keys(side));
        let (Some(own), Some(base)) = (own, base) else { return false };
        let shared = own.intersection(&base).count();
        share(shared, own.len().min(base.len())) >= SHARED && !self.numbers_rows(sides)
    }

    /// The different keys of a side; `None` if they are not ids.
    fn keys(self, side: &[KeyedFeature<'_>]) -> Option<HashSet<Key>> {
        let with_key = side.iter().filter_map(|known| self.key(known)).count();
        let keys: HashSet<Key> = side.iter().filter_map(|known| self.key(known)).collect();
        (share(with_key, side.len()) >= MOST && share(keys.len(), with_key) >= MOST).then_some(keys)
    }

    /// Whether features that are equal except for their id mostly have other ids. Features without any other
    /// attribute show this for a feature id only: an attribute can be all that tells a moved one.
    fn numbers_rows(self, sides: [&[KeyedFeature<'_>]; 2]) -> bool {
        let mut places: HashMap<(Shape, u64), [Vec<Key>; 2]> = HashMap::new();
        for (side, features) in sides.into_iter().enumerate() {
            for known in features {
                let shows = self == Self::FeatureId || known.has_more_than_one_attribute();
                if let Some(key) = self.key(known).filter(|_| shows) {
                    places.entry((known.shape(), self.rest(known))).or_default()[side].push(key);
                }
            }
        }
        let only_ones = places.values().filter_map(|keys| match keys {
            [own, base] if own.len() == 1 && base.len() == 1 => Some(own == base),
            _ => None,
        });
        let (equal, other): (Vec<bool>, Vec<bool>) = only_ones.partition(|is_equal| *is_equal);
        other.len() > equal.len()
    }
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
