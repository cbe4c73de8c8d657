//! Do two tiles show the same map? The order of their features does not matter; other ids and names of layers
//! are reported, since styles use them.
//!
//! Features with unique ids match by them, in any place; without ids, features match when their geometries have
//! the same kind and are within a tolerance. A feature without a match is tried by its parts, since servers
//! join and split multi features differently. On a dense map a moved feature may lie where another one was. So
//! features with the same attributes in the same place match first, then features with unique attributes, in
//! any place; place alone applies only to the rest.

mod distance;
mod features;
mod identity;
mod layer;
mod matching;
mod shape;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Broken, Layer, decode_with_attributes};
use distance::DistanceBudget;
use layer::layer_difference;

/// Distance of vertices at which the map still looks the same, in pixels of 256 per tile.
pub const TOLERANCE_PX: f64 = 1.0;
/// Largest allowed tolerance, in pixels.
const MOST_TOLERANCE_PX: f64 = 64.0;
/// Most distances computed for a tile: about half a second.
const MOST_WORK: u64 = 50_000_000;

/// Differences of a tile or a layer. For each side: features = matched + by parts + moved + only there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Difference {
    /// Own features, and features of the base.
    pub here: u64,
    pub there: u64,
    /// Pairs of whole features in one place.
    pub matched: u64,
    /// Features all of whose parts are parts of other features on the other side; and the reverse.
    pub by_parts_here: u64,
    pub by_parts_there: u64,
    /// Pairs of whole features with the same id or attributes whose distance exceeds the tolerance.
    pub moved: u64,
    /// Features that are missing on the other side, wholly or in part; and the reverse.
    pub only_here: u64,
    pub only_there: u64,
    /// Own features (matched or by parts) whose partner has other attributes; ids do not count. Numbers with
    /// a fraction are compared as 32-bit floats.
    pub attributes_differ: u64,
    /// Pairs of whole features in one place with other feature ids, or an id on one side only.
    pub ids_differ: u64,
    /// Greatest distance of matched features, in pixels; overestimated by at most 1/256 of the tolerance.
    pub farthest_px: f64,
    /// The work limit was reached: features on one side only may have a partner that was not found.
    pub gave_up: bool,
}

impl Difference {
    fn add(&mut self, other: &Self) {
        self.here += other.here;
        self.there += other.there;
        self.matched += other.matched;
        self.by_parts_here += other.by_parts_here;
        self.by_parts_there += other.by_parts_there;
        self.moved += other.moved;
        self.only_here += other.only_here;
        self.only_there += other.only_there;
        self.attributes_differ += other.attributes_differ;
        self.ids_differ += other.ids_differ;
        self.farthest_px = self.farthest_px.max(other.farthest_px);
        self.gave_up |= other.gave_up;
    }
}

/// A pair of layers, or a layer that only one side has.
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
    pub identical: bool,
    pub total: Difference,
    /// By name.
    pub layers: Vec<LayerDifference>,
}

impl TileDifference {
    /// Layers whose name differs: own, and of the base.
    pub fn renamed(&self) -> impl Iterator<Item = (&str, &str)> {
        let both =
            self.layers.iter().filter_map(|layer| Some((layer.here.as_deref()?, layer.there.as_deref()?)));
        both.filter(|(here, there)| here != there)
    }

    /// Whether every feature of either side is on the other, in its place.
    #[must_use]
    pub fn is_the_same_map(&self) -> bool {
        self.total.moved == 0 && self.total.only_here == 0 && self.total.only_there == 0
    }
}

/// Which of two tiles is invalid, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Incomparable {
    #[error("the tile: {0}")]
    Own(Broken),
    #[error("the base's tile: {0}")]
    Base(Broken),
}

/// Compares two tiles within [`TOLERANCE_PX`].
pub fn compare(own: &[u8], base: &[u8]) -> Result<TileDifference, Incomparable> {
    compare_within(own, base, TOLERANCE_PX)
}

/// Compares two tiles within a tolerance in pixels (256 per tile), limited to 0..64.
pub fn compare_within(own: &[u8], base: &[u8], tolerance_px: f64) -> Result<TileDifference, Incomparable> {
    let ours = decode_with_attributes(own).map_err(Incomparable::Own)?;
    let theirs = decode_with_attributes(base).map_err(Incomparable::Base)?;
    let tolerance = tolerance_px.clamp(0.0, MOST_TOLERANCE_PX);
    let mut work = DistanceBudget::new(MOST_WORK);
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

/// Layers with the same name on both sides; if each side has one other, those two.
fn layer_pairs<'a>(ours: &'a [Layer], theirs: &'a [Layer]) -> Vec<[Vec<&'a Layer>; 2]> {
    let mut pairs: BTreeMap<&str, [Vec<&Layer>; 2]> = BTreeMap::new();
    for (side, layers) in [ours, theirs].into_iter().enumerate() {
        for layer in layers {
            pairs.entry(&layer.name).or_default()[side].push(layer);
        }
    }
    let lone = |side: usize| -> Vec<&str> {
        let lone = pairs.iter().filter(|(_, sides)| sides[1 - side].is_empty());
        lone.map(|(name, _)| *name).collect()
    };
    if let ([own], [base]) = (&lone(0)[..], &lone(1)[..])
        && let Some([_, there]) = pairs.remove(base)
        && let Some(pair) = pairs.get_mut(own)
    {
        pair[1] = there;
    }
    pairs.into_values().collect()
}
