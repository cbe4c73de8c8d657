//! Are two tiles the same map? Whatever the order of their features, their ids, and how their layers are called.
//!
//! Features are the same when their geometry is of one kind and nowhere farther apart than a tolerance; what finds no partner as a whole is
//! tried by its parts, since servers join and split multi features differently. Of a dense map a moved feature lies where another one
//! was: so what has the same attributes in one place is paired first, then what alone has its attributes or id, wherever it is; places
//! alone tell only of what is left.

mod distance;
mod features;
mod layer;
mod matching;
mod shape;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Broken, Layer, decode_with_attributes};
use distance::Work;
use layer::layer_difference;

/// How far apart vertices may be and the map still look the same, in pixels of 256 a tile's side.
pub const TOLERANCE_PX: f64 = 1.0;
/// The greatest tolerance that is taken, in pixels.
const MOST_TOLERANCE_PX: f64 = 64.0;
/// Distances computed for a tile at most: about half a second.
const MOST_WORK: u64 = 50_000_000;

/// What is told of a tile, or of one of its layers. Of each side: features = matched + by parts + moved + only there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Difference {
    /// Features of one's own, and of the base.
    pub here: u64,
    pub there: u64,
    /// Pairs of whole features in one place.
    pub matched: u64,
    /// Features all of whose parts are parts of other features there; and the other way round.
    pub by_parts_here: u64,
    pub by_parts_there: u64,
    /// Pairs of whole features with the same id or attributes whose geometry is farther apart than the tolerance.
    pub moved: u64,
    /// Features that are not there, or a part of which is not; and the other way round.
    pub only_here: u64,
    pub only_there: u64,
    /// Features of one's own (matched or by parts) whose partner has other attributes; ids are none. Numbers with a fraction are compared
    /// as 32 bits hold them.
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
        self.moved += other.moved;
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
    /// Whether every feature of either side is on the other, and in its place.
    #[must_use]
    pub fn is_the_same_map(&self) -> bool {
        self.total.moved == 0 && self.total.only_here == 0 && self.total.only_there == 0
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
