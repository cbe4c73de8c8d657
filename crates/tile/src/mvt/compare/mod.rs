//! Are two tiles the same map? Whatever the order of their features, their ids, and how their layers are called.
//!
//! Features are the same when their geometry is of one kind and nowhere farther apart than a tolerance; what finds no partner as a whole is
//! tried by its parts, since servers join and split multi features differently.

mod distance;
mod matching;
mod shape;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Serialize;

use super::{Broken, Feature, Layer, Value, decode_with_attributes};
use distance::Work;
use matching::{Item, pairs};
use shape::Shape;

/// How far apart vertices may be and the map still look the same, in pixels of 256 a tile's side.
pub const TOLERANCE_PX: f64 = 1.0;
/// The greatest tolerance that is taken, in pixels.
const MOST_TOLERANCE_PX: f64 = 64.0;
/// Distances computed for a tile at most: about half a second.
const MOST_WORK: u64 = 50_000_000;

/// What is told of a tile, or of one of its layers. Of each side: features = matched + by parts + only there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Difference {
    /// Features of one's own, and of the base.
    pub here: u64,
    pub there: u64,
    /// Pairs of whole features.
    pub matched: u64,
    /// Features all of whose parts are parts of other features there; and the other way round.
    pub by_parts_here: u64,
    pub by_parts_there: u64,
    /// Features that are not there, or a part of which is not; and the other way round.
    pub only_here: u64,
    pub only_there: u64,
    /// Features of one's own that have a partner with other attributes; ids are none. Numbers with a fraction are compared as 32 bits hold them.
    pub attributes_differ: u64,
    /// The greatest distance of what was matched, in pixels; overstated by 1/256 of the tolerance at most.
    pub farthest_px: f64,
    /// The bound on the work was reached: what is only on one side may have a partner that was not found.
    pub gave_up: bool,
}

impl Difference {
    fn add(&mut self, other: &Self) {
        self.here += other.here;
        self.there += other.there;
        self.matched += other.matched;
        self.by_parts_here += other.by_parts_here;
        self.by_parts_there += other.by_parts_there;
        self.only_here += other.only_here;
        self.only_there += other.only_there;
        self.attributes_differ += other.attributes_differ;
        self.farthest_px = self.farthest_px.max(other.farthest_px);
        self.gave_up |= other.gave_up;
    }
}

/// A pair of layers; a layer that only one side has is a pair with none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LayerDifference {
    pub here: Option<String>,
    pub there: Option<String>,
    pub difference: Difference,
}

/// How two tiles differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TileDifference {
    pub bytes_here: u64,
    pub bytes_there: u64,
    /// Byte by byte.
    pub identical: bool,
    /// All layers together.
    pub total: Difference,
    /// In the order of their names.
    pub layers: Vec<LayerDifference>,
}

impl TileDifference {
    /// Whether every feature of either side is on the other.
    #[must_use]
    pub fn is_the_same_map(&self) -> bool {
        self.total.only_here == 0 && self.total.only_there == 0
    }
}

/// Which of two tiles is none, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Incomparable {
    #[error("the tile: {0}")]
    Own(Broken),
    #[error("the base's tile: {0}")]
    Base(Broken),
}

/// Compares two tiles within [`TOLERANCE_PX`].
///
/// # Errors
/// [`Incomparable`]: one of both is no tile.
pub fn compare(own: &[u8], base: &[u8]) -> Result<TileDifference, Incomparable> {
    compare_within(own, base, TOLERANCE_PX)
}

/// Compares two tiles within a tolerance in pixels (256 a tile's side); 0 to 64 are taken.
///
/// # Errors
/// [`Incomparable`]: one of both is no tile.
pub fn compare_within(own: &[u8], base: &[u8], tolerance_px: f64) -> Result<TileDifference, Incomparable> {
    let ours = decode_with_attributes(own).map_err(Incomparable::Own)?;
    let theirs = decode_with_attributes(base).map_err(Incomparable::Base)?;
    let tolerance = tolerance_px.clamp(0.0, MOST_TOLERANCE_PX);
    let mut work = Work::new(MOST_WORK);
    let layers: Vec<_> = layer_pairs(&ours, &theirs)
        .into_iter()
        .map(|[here, there]| LayerDifference {
            here: here.first().map(|layer| layer.name.clone()),
            there: there.first().map(|layer| layer.name.clone()),
            difference: layer_difference(&here, &there, tolerance, &mut work),
        })
        .collect();
    let mut total = Difference::default();
    layers.iter().for_each(|layer| total.add(&layer.difference));
    Ok(TileDifference {
        bytes_here: own.len() as u64,
        bytes_there: base.len() as u64,
        identical: own == base,
        total,
        layers,
    })
}

/// Layers of one name on both sides; of one layer on each side those two.
fn layer_pairs<'a>(ours: &'a [Layer], theirs: &'a [Layer]) -> Vec<[Vec<&'a Layer>; 2]> {
    if let ([own], [base]) = (ours, theirs) {
        return vec![[vec![own], vec![base]]];
    }
    let mut pairs: BTreeMap<&str, [Vec<&Layer>; 2]> = BTreeMap::new();
    for (side, layers) in [ours, theirs].into_iter().enumerate() {
        for layer in layers {
            pairs.entry(&layer.name).or_default()[side].push(layer);
        }
    }
    pairs.into_values().collect()
}

/// A feature with what is needed of its layer.
struct Known<'a> {
    feature: &'a Feature,
    extent: u32,
    attributes: u64,
}

fn known<'a>(layers: &[&'a Layer]) -> Vec<Known<'a>> {
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
            Known { feature, extent: layer.extent, attributes: hash(&pairs) }
        }));
    }
    found
}

fn hash<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The same for a whole number in any of its encodings.
fn value_hash(value: &Value) -> u64 {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Text(text) => hash(&(0, text)),
        Value::Whole(whole) => hash(&(1, whole)),
        Value::Real(real) if real.fract() == 0.0 && real.abs() <= EXACT => hash(&(1, *real as i128)),
        Value::Real(real) => hash(&(2, (*real as f32).to_bits())),
        Value::Truth(truth) => hash(&(3, truth)),
        Value::Unknown => hash(&4),
    }
}

fn layer_difference(here: &[&Layer], there: &[&Layer], tolerance: f64, work: &mut Work) -> Difference {
    let (own, base) = (known(here), known(there));
    let (own_whole, base_whole) = (whole(&own), whole(&base));
    let mut difference =
        Difference { here: own.len() as u64, there: base.len() as u64, ..Difference::default() };
    let (mut own_left, mut base_left) = (vec![true; own.len()], vec![true; base.len()]);
    for pair in pairs(&own_whole, &base_whole, tolerance, work) {
        (own_left[pair.own], base_left[pair.base]) = (false, false);
        difference.matched += 1;
        difference.attributes_differ += u64::from(own[pair.own].attributes != base[pair.base].attributes);
        difference.farthest_px = difference.farthest_px.max(pair.distance);
    }
    if own_left.contains(&true) && base_left.contains(&true) {
        by_parts(&mut difference, (&own, &own_left), (&base, &base_left), tolerance, work);
    }
    difference.only_here = difference.here - difference.matched - difference.by_parts_here;
    difference.only_there = difference.there - difference.matched - difference.by_parts_there;
    difference.gave_up = work.gave_up;
    difference
}

fn whole(features: &[Known<'_>]) -> Vec<Item> {
    let item = |(number, known): (usize, &Known<'_>)| Item {
        shape: Shape::new(known.feature.kind, &known.feature.parts, known.extent),
        attributes: known.attributes,
        feature: number,
    };
    features.iter().enumerate().map(item).collect()
}

/// The parts of those features that are left.
fn parts((features, left): (&[Known<'_>], &[bool])) -> Vec<Item> {
    let numbered = features.iter().enumerate().filter(|(number, _)| left[*number]);
    numbered
        .flat_map(|(number, known)| {
            known.feature.parts.chunks(1).map(move |part| Item {
                shape: Shape::new(known.feature.kind, part, known.extent),
                attributes: known.attributes,
                feature: number,
            })
        })
        .collect()
}

fn by_parts(
    difference: &mut Difference,
    own: (&[Known<'_>], &[bool]),
    base: (&[Known<'_>], &[bool]),
    tolerance: f64,
    work: &mut Work,
) {
    let (own_parts, base_parts) = (parts(own), parts(base));
    let (mut own_found, mut base_found) = (vec![0; own.0.len()], vec![0; base.0.len()]);
    let mut differ = vec![false; own.0.len()];
    for pair in pairs(&own_parts, &base_parts, tolerance, work) {
        let (our, their) = (&own_parts[pair.own], &base_parts[pair.base]);
        own_found[our.feature] += 1;
        base_found[their.feature] += 1;
        differ[our.feature] |= our.attributes != their.attributes;
        difference.farthest_px = difference.farthest_px.max(pair.distance);
    }
    let all = |(features, _): (&[Known<'_>], &[bool]), found: &[usize], number: usize| {
        found[number] > 0 && found[number] == features[number].feature.parts.len()
    };
    for number in (0..own.0.len()).filter(|&number| all(own, &own_found, number)) {
        difference.by_parts_here += 1;
        difference.attributes_differ += u64::from(differ[number]);
    }
    difference.by_parts_there =
        (0..base.0.len()).filter(|&number| all(base, &base_found, number)).count() as u64;
}
